//go:build unix

package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// queries are the sequences that a terminal answers: its colours (OSC 4, 10, 11, 12), what it is (DA, XTVERSION, XTGETTCAP), where
// its cursor is and whether it is well (DSR), its modes (DECRQM), its size (XTWINOPS), and whether it shows images (Kitty).
var queries = regexp.MustCompile(`\x1b\](?:4;\d+|1[0-9]);\?|\x1b\[[>=?]?[0-9;]*c|\x1b\[>[0-9;]*q|\x1bP[+$]q|\x1b\[\??[0-9;]*n|\x1b\[\?[0-9;]*\$p|` +
	`\x1b\[(?:1[1-9]|2[01])t|\x1b_G[^\x1b]*a=q`)

// TestNoTerminalIsAsked holds that no command asks a terminal anything: an answer is waited for, over a slow line for long, and
// what comes too late is typed into the shell. What has to be known is known from the environment and from the kernel. The
// terminal is always the one that controls the process, so that nobody can ask it past the streams.
func TestNoTerminalIsAsked(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("mcpctl")
	if err != nil {
		t.Fatal(err)
	}
	const in, out, errOut = 1, 2, 4
	for _, streams := range []struct {
		name string
		// on are the streams that are the terminal. The others are a pipe, or with file a file.
		on   int
		file bool
		env  []string
	}{
		{name: "stdin alone, the rest in pipes", on: in},
		{name: "none, all in pipes"},
		{name: "stdin alone, stdout in a file", on: in, file: true},
		{name: "stderr alone", on: errOut},
		{name: "all, in CI", on: in | out | errOut, env: []string{"CI=1"}},
		{name: "all", on: in | out | errOut},
		{name: "all, with colours and images asked for", on: in | out | errOut, env: []string{"CLICOLOR_FORCE=1", "COLORTERM=truecolor", "MCPCTL_IMAGES=auto", "TERM_PROGRAM=iTerm.app"}},
	} {
		t.Run(streams.name, func(t *testing.T) {
			t.Parallel()
			for _, args := range [][]string{
				{"version"},
				{"--help"},
				{"list"},
				{"tools", "demo"},
				{"call", "demo", "add", "a=1", "b=2"},
				{"call", "demo", "picture"},
				{"doctor", "demo", "--only", "session"},
				{"call", "nobody", "nothing"},
			} {
				home := t.TempDir()
				control, terminal, err := pty.Open()
				if err != nil {
					t.Fatal(err)
				}
				if err := pty.Setsize(control, &pty.Winsize{Rows: 24, Cols: 80, X: 800, Y: 480}); err != nil {
					t.Fatal(err)
				}
				file, err := os.Create(filepath.Join(home, "out"))
				if err != nil {
					t.Fatal(err)
				}
				cmd := exec.CommandContext(t.Context(), program, args...)
				cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home, "XDG_STATE_HOME="+home, "XDG_DATA_HOME="+home,
					"TERM=xterm-256color", "CI=", "NO_COLOR=", "COLUMNS=")
				cmd.Env = append(cmd.Env, streams.env...)
				var piped bytes.Buffer
				cmd.Stdout, cmd.Stderr = &piped, io.Discard
				if streams.on&in != 0 {
					cmd.Stdin = terminal
				}
				if streams.on&out != 0 {
					cmd.Stdout = terminal
				} else if streams.file {
					cmd.Stdout = file
				}
				if streams.on&errOut != 0 {
					cmd.Stderr = terminal
				}
				cmd.ExtraFiles = []*os.File{terminal} // the fourth, to be controlled by
				cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
				shown := make(chan []byte, 1)
				go func() {
					all, _ := io.ReadAll(control) // ends with an error when nobody has the terminal open
					shown <- all
				}()
				_ = cmd.Run() // some of the commands fail
				_ = terminal.Close()
				_ = file.Close()
				var all []byte
				select {
				case all = <-shown:
				case <-time.After(10 * time.Second):
					t.Fatalf("%q: the terminal is held open", args)
				}
				_ = control.Close()
				if asked := queries.Find(all); asked != nil {
					t.Errorf("%q asks the terminal: %q", args, asked)
				}
				if streams.on&(out|errOut) == 0 && len(all) > 0 {
					t.Errorf("%q writes to a terminal that is not its output: %q", args, all)
				}
				if asked := queries.Find(piped.Bytes()); asked != nil {
					t.Errorf("%q asks a pipe: %q", args, asked)
				}
			}
		})
	}
}
