package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// beforeMainFile lists the packages that set something up before main, with the bytes that they allocate for it.
const beforeMainFile = "testdata/before_main.txt"

// beforeMainBound is the number of bytes from which on a package is listed. Smaller ones are many, and cost next to nothing.
const beforeMainBound = 1500

// TestBeforeMain builds mcpctl as it is shipped and compares what is set up before main with the list. Every run pays for that,
// whatever it does: the memory has to be got from the system first. The toolchain counts it (GODEBUG=inittrace=1), and the
// counts, unlike the times, are the same in every run.
func TestBeforeMain(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the list is that of one platform")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	program := filepath.Join(t.TempDir(), "mcpctl")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s\n%s", err, out)
	}
	cmd := exec.CommandContext(ctx, program, "version")
	cmd.Env = []string{"GODEBUG=inittrace=1", "HOME=" + t.TempDir()}
	var trace strings.Builder
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	measured := map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^init (\S+) @.* (\d+) bytes, \d+ allocs$`).FindAllStringSubmatch(trace.String(), -1) {
		bytes, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		measured[m[1]] = bytes
	}
	if len(measured) < 20 {
		t.Fatalf("the trace is not as it used to be:\n%s", trace.String())
	}
	if *update {
		var b strings.Builder
		for _, name := range slices.Sorted(maps.Keys(measured)) {
			if bytes := measured[name]; bytes >= beforeMainBound {
				fmt.Fprintf(&b, "%s %d\n", name, bytes)
			}
		}
		if err := os.WriteFile(beforeMainFile, []byte(b.String()), 0o644); err != nil { //nolint:gosec // it is in the repository
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(beforeMainFile)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]int{}
	for line := range strings.Lines(string(text)) {
		name, bytes, _ := strings.Cut(strings.TrimSpace(line), " ")
		if listed[name], err = strconv.Atoi(bytes); err != nil {
			t.Fatalf("%s: %q", beforeMainFile, line)
		}
	}
	var more []string
	for _, name := range slices.Sorted(maps.Keys(measured)) {
		// A quarter more is another release of the toolchain, or of the dependency.
		if bytes := measured[name]; bytes >= beforeMainBound && bytes > listed[name]+listed[name]/4 {
			more = append(more, fmt.Sprintf("%s: %d bytes, and %d in the list", name, bytes, listed[name]))
		}
	}
	if len(more) > 0 {
		t.Errorf("every run of mcpctl now sets more up before main:\n  %s\n"+
			"A variable of ours with work in it goes into sync.OnceValue. If a dependency does this, look who imports it (go mod why -m, or "+
			"go list -deps), and whether a smaller one, or a few lines, would do. If it has to be: go test ./cmd/mcpctl -run TestBeforeMain -update, "+
			"and say why in docs/performance.md.", strings.Join(more, "\n  "))
	}
	// Ours compile nothing and fill no table.
	for name, bytes := range measured {
		if strings.HasPrefix(name, "github.com/mcpctl/") && bytes > 4<<10 {
			t.Errorf("%s allocates %d bytes before main", name, bytes)
		}
	}
	if gone := slices.DeleteFunc(slices.Sorted(maps.Keys(listed)), func(name string) bool { return measured[name] >= beforeMainBound/2 }); len(gone) > 0 {
		t.Errorf("%s are listed in %s and are not there any more: -update", strings.Join(gone, ", "), beforeMainFile)
	}
}
