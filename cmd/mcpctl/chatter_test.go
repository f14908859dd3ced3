package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// startChatter serves the server that says much over HTTP until the test ends, and returns where.
func startChatter(t *testing.T, flags ...string) (url string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "chatter", append([]string{"--http"}, flags...)...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stderr).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
}

// heardFile is where a chatter writes down what it hears.
type heardFile string

func newHeard(t *testing.T) heardFile {
	t.Helper()
	return heardFile(filepath.Join(t.TempDir(), "heard"))
}

// all returns what was heard.
func (h heardFile) all() string {
	raw, _ := os.ReadFile(string(h)) // not there yet: nothing
	return string(raw)
}

// await returns when a text has been heard.
func (h heardFile) await(t *testing.T, text string) {
	t.Helper()
	if !h.heard(text) {
		t.Fatalf("no %q was heard, but\n%s", text, h.all())
	}
}

// heard waits until a text has been heard, and reports false if that takes too long.
func (h heardFile) heard(text string) bool {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(20 * time.Second) // a busy machine
	defer limit.Stop()
	for !strings.Contains(h.all(), text) {
		select {
		case <-tick.C:
		case <-limit.C:
			return false
		}
	}
	return true
}
