package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
)

// interruptedList runs list --check over failed servers that are broken and three that say nothing, and interrupts it once the
// first of those has been contacted.
func interruptedList(t *testing.T, failed int, args ...string) (stdout, stderr string) {
	t.Helper()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	config := "servers:\n"
	for i := range failed {
		config += fmt.Sprintf("  broken%02d: {url: 'http://127.0.0.1/${MCPCTL_TEST_NOT_SET}'}\n", i)
	}
	for i := range 3 {
		config += fmt.Sprintf("  silent%d: {url: 'http://%s/'}\n", i, silent.Addr())
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		if conn, err := silent.Accept(); err == nil {
			defer func() { _ = conn.Close() }()
			cancel()
			<-ctx.Done()
		}
	}()
	code, stdout, stderr := runHere(ctx, t, config, append([]string{"list", "--check", "--config", "-", "--parallel", "1"}, args...)...)
	if code != codeInterrupted {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	return stdout, stderr
}

// TestAnInterruptedListTellsWhatItKnows, and takes nobody for failed who had not been asked.
func TestAnInterruptedListTellsWhatItKnows(t *testing.T) {
	t.Parallel()
	out, errOut := interruptedList(t, 2)
	if strings.Count(out, "\tfailed\t") != 2 || strings.Count(out, "\tunknown") != 3 {
		t.Error(out)
	}
	for _, want := range []string{"mcpctl: hint: mcpctl doctor --config - broken00 broken01\n", "mcpctl: error: interrupted: 3 servers had not answered\n"} {
		if !strings.Contains(errOut, want) {
			t.Errorf("no %q in %q", want, errOut)
		}
	}
	out, _ = interruptedList(t, 2, "-o", "json")
	var doc listDocument
	if err := json.Unmarshal([]byte(out), &doc); err != nil || len(doc.Servers) != 5 {
		t.Fatal(err, out)
	}
	if first, last := doc.Servers[0], doc.Servers[4]; first.State != stateFailed || last.State != stateUnknown || last.Error == nil || last.Error.Class != classInterrupted {
		t.Errorf("%+v\n%+v", first, last)
	}
}

// TestAHintNamesAsManyAsAreRead shows that of many servers that failed the first are named, and how many there are.
func TestAHintNamesAsManyAsAreRead(t *testing.T) {
	t.Parallel()
	_, errOut := interruptedList(t, 3*mostHinted)
	for line := range strings.Lines(errOut) {
		if names := strings.Count(line, " broken"); strings.HasPrefix(line, "mcpctl: hint: mcpctl doctor ") && names != mostHinted {
			t.Errorf("%d names: %s", names, line)
		}
	}
	if want := "mcpctl: note: these are the first of 30 that failed\n"; !strings.Contains(errOut, want) {
		t.Errorf("no %q in %s", want, errOut)
	}
}
