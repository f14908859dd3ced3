package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpctl/mcpctl/internal/farm"
)

// limited is what the test binary does as a program that starts another one with few files: the first word is how many.
func limited() {
	n, err := strconv.ParseUint(os.Args[1], 10, 32)
	if err != nil {
		panic(err)
	}
	limit := syscall.Rlimit{Cur: n, Max: n}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		panic(err)
	}
	path, err := exec.LookPath(os.Args[2])
	if err != nil {
		panic(err)
	}
	panic(syscall.Exec(path, os.Args[2:], os.Environ()))
}

// newFarm starts servers for a test.
func newFarm(t *testing.T, opts farm.Options) *farm.Farm {
	t.Helper()
	f, err := farm.New(t.TempDir(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// runAlone runs a program of this test binary with a home of its own, and returns its output, errors and exit code.
func runAlone(t *testing.T, words ...string) (stdout, stderr []byte, code int) {
	t.Helper()
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home, "XDG_STATE_HOME="+home, "XDG_DATA_HOME="+home)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || !exit.Exited()) {
		t.Fatal(words, err, errs.String())
	}
	return out.Bytes(), errs.Bytes(), cmd.ProcessState.ExitCode()
}

// manyMix is the kind of a server among a thousand: most are quick, some are slow, dead, or hang.
func manyMix(i int) farm.Kind {
	switch i % 50 {
	case 7:
		return farm.Slow
	case 17:
		return farm.Dead
	case 27:
		return farm.Hanging
	}
	return farm.Quick
}

// TestAThousandServersWithFewFiles: with 256 files each of a thousand servers gets its own verdict, in the order of the file,
// and none of them is that this machine has no file left.
func TestAThousandServersWithFewFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	const n = 1000
	f := newFarm(t, farm.Options{Kind: manyMix, Delay: time.Second, Ports: 8})
	file, err := f.Configure(n, "connect_timeout: 5s", "timeout: 5s")
	if err != nil {
		t.Fatal(err)
	}
	out, stderr, code := runAlone(t, "limited", "256", "mcpctl", "list", "--check", "-o", "json", "--config", file)
	if code != codeFailed {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	var doc listDocument
	if err := json.Unmarshal(out, &doc); err != nil || len(doc.Servers) != n {
		t.Fatal(len(doc.Servers), err)
	}
	if bytes.Contains(out, []byte("too many open files")) {
		t.Error("files ran out")
	}
	for i, s := range doc.Servers {
		if s.Name != fmt.Sprintf("s%04d", i) {
			t.Fatalf("server %d is %s", i, s.Name)
		}
		want := stateReady
		if kind := manyMix(i); kind == farm.Dead || kind == farm.Hanging {
			want = stateFailed
		}
		if s.State != want {
			t.Errorf("%s (%s) is %s: %+v", s.Name, manyMix(i), s.State, s.Error)
		}
	}
	if most := f.Counts().MostOpen; most > 256 {
		t.Errorf("%d connections were open at a time", most)
	}
}

// TestServersOfOneOriginShareTheHandshake: only the first ones make a whole one.
func TestServersOfOneOriginShareTheHandshake(t *testing.T) {
	t.Parallel()
	const n, parallel = 40, 4
	f := newFarm(t, farm.Options{TLS: true})
	file, err := f.Configure(n)
	if err != nil {
		t.Fatal(err)
	}
	_, stderr, code := runAlone(t, "mcpctl", "list", "--check", "--parallel", strconv.Itoa(parallel), "-o", "json", "--config", file)
	if code != codeOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	c := f.Counts()
	if whole := c.Handshakes - c.Resumed; c.Handshakes < n || whole > 2*parallel {
		t.Errorf("%d handshakes, %d of them whole", c.Handshakes, whole)
	}
	if c.MostOpen > filesToList*parallel {
		t.Errorf("%d connections were open at a time", c.MostOpen)
	}
}

// peakOf returns the peak memory of a program of this test binary in KiB, which must end with this exit code.
func peakOf(t *testing.T, wanted int, words ...string) int {
	t.Helper()
	_, stderr, code := runAlone(t, append([]string{"peak"}, words...)...)
	_, figure, ok := strings.Cut(string(stderr), "peak ")
	kib, err := strconv.Atoi(strings.TrimSpace(figure))
	if !ok || err != nil || code != wanted {
		t.Fatalf("%v: exit code %d: %s", words, code, stderr)
	}
	return kib
}

// TestMemoryStaysFlat: a thousand servers take little more memory at the peak than a hundred, listed and examined, in whatever
// formats that is written. How many are looked at at a time is set: else it follows from what else this machine does.
func TestMemoryStaysFlat(t *testing.T) {
	notUnderRace(t)
	f := newFarm(t, farm.Options{Ports: 4})
	doctor := []string{"doctor", "--only", "session", "--only", "tools"}
	for _, format := range doctorFormatNames() {
		doctor = append(doctor, "--report", format+"="+filepath.Join(t.TempDir(), "report"))
	}
	for _, c := range []struct {
		words []string
		n     int
		// most is what each of the further servers may add, in KiB.
		most int
	}{
		{[]string{"list", "--check"}, 1000, 30},
		{doctor, 400, 35},
		{append(doctor, "--jq", ".summary"), 400, 60},
	} {
		peak := func(n int) int {
			file, err := f.Configure(n)
			if err != nil {
				t.Fatal(err)
			}
			return peakOf(t, codeOK, append(append([]string{"mcpctl"}, c.words...), "--parallel", "16", "-o", "json", "--config", file)...)
		}
		few := 100
		a, b := peak(few), peak(c.n)
		t.Logf("%d MiB with %d servers, %d MiB with %d: %v", a>>10, few, b>>10, c.n, c.words)
		if more := (b - a) / (c.n - few); more > c.most {
			t.Errorf("%v: each server takes %d KiB more, want at most %d", c.words, more, c.most)
		}
	}
}

// TestServersUnderWayTakeLittleMemory: what a server takes while it is looked at follows from what is held of it and not from what
// else goes on: the connections on which its session is tried, with their goroutines, and garbage of the same size.
func TestServersUnderWayTakeLittleMemory(t *testing.T) {
	notUnderRace(t)
	for _, c := range []struct {
		words []string
		kind  farm.Kind
		code  int
		// most is what each of them may take, in KiB.
		most int
	}{
		{[]string{"doctor"}, farm.Quick, codeOK, 800},
		{[]string{"doctor"}, farm.Hanging, codeFailed, 350},
		{[]string{"list", "--check"}, farm.Hanging, codeFailed, 350},
	} {
		f := newFarm(t, farm.Options{Ports: 4, Kind: func(int) farm.Kind { return c.kind }})
		peak := func(n int) int {
			file, err := f.Configure(n, "connect_timeout: 2s", "timeout: 2s")
			if err != nil {
				t.Fatal(err)
			}
			return peakOf(t, c.code, append(append([]string{"mcpctl"}, c.words...), "--parallel", strconv.Itoa(n), "-o", "json", "--config", file)...)
		}
		const few, many = 16, 192
		a, b := peak(few), peak(many)
		t.Logf("%v, %s: %d MiB with %d at a time, %d MiB with %d", c.words, c.kind, a>>10, few, b>>10, many)
		if each := (b - a) / (many - few); each > c.most {
			t.Errorf("%v, %s: each server takes %d KiB, want at most %d", c.words, c.kind, each, c.most)
		}
	}
}

// TestNothingIsLeftOfManyServersInTheMiddle: when many servers are looked at and somebody interrupts it, there is a whole document
// all the same, and no goroutine or connection is left, while the servers are still there.
func TestNothingIsLeftOfManyServersInTheMiddle(t *testing.T) {
	const n, enough = 400, 100
	f := newFarm(t, farm.Options{Kind: func(int) farm.Kind { return farm.Hanging }, Ports: 8})
	file, err := f.Configure(n, "connect_timeout: 60s")
	if err != nil {
		t.Fatal(err)
	}
	report := filepath.Join(t.TempDir(), "report.json")
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for _, words := range [][]string{{"list", "--check", "-o", "json"}, {"doctor", "--report", "json=" + report}} {
		before := goleak.IgnoreCurrent()
		f.Reset()
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan struct{})
		go func() { // until enough requests are on their way
			defer close(over)
			defer cancel()
			for f.Counts().Requests < enough && ctx.Err() == nil {
				<-tick.C
			}
		}()
		code, out, _ := runHere(ctx, t, "", append(words, "--config", file)...)
		cancel()
		<-over
		if words[0] == "doctor" {
			written, err := os.ReadFile(report)
			if err != nil {
				t.Error(err)
			}
			out = string(written)
		}
		if code != codeInterrupted || !json.Valid([]byte(out)) || !strings.Contains(out, `"class": "interrupted"`) {
			t.Errorf("%v: exit code %d, %d bytes: %.300s", words, code, len(out), out)
		}
		end := time.After(soon) // the server learns of it a moment later
		for f.Counts().Open > 0 {
			select {
			case <-tick.C:
			case <-end:
				t.Fatalf("%v: %d connections are left", words, f.Counts().Open)
			}
		}
		if err := goleak.Find(before); err != nil {
			t.Errorf("%v: %v", words, err)
		}
	}
}
