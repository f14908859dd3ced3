//go:build linux || darwin

package iostreams

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// The child of TestSystem again, with a real terminal as all three of its streams.
func TestSystemOnATerminal(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "-test.run=^TestSystem$")
	cmd.Env = append(os.Environ(), "IOSTREAMS_TEST_CHILD=1", "COLUMNS=", "NO_COLOR=", "CLICOLOR=", "CLICOLOR_FORCE=", "TERM=xterm")
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 20, Cols: 97})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = terminal.Close() }()
	if _, err := io.WriteString(terminal, "typed\n\x04"); err != nil { // ^D ends the input
		t.Fatal(err)
	}
	var shown strings.Builder
	// Reading ends with an error of its own when the child is gone, so only what was read counts.
	_, _ = io.Copy(&shown, terminal)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v, shown: %q", err, &shown)
	}
	want := `in "typed\n" <nil>, terminals true true true, width 97, colour true, animate true`
	if !strings.Contains(shown.String(), want) {
		t.Errorf("shown: %q, want %q", &shown, want)
	}
}
