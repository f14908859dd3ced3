package iostreams

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// env returns a lookup function over NAME=value words.
func env(words ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, word := range words {
			if key, value, ok := strings.Cut(word, "="); ok && key == name {
				return value, true
			}
		}
		return "", false
	}
}

func TestTestStreams(t *testing.T) {
	ios, in, out, errOut := Test()
	in.WriteString("typed")
	if b, err := io.ReadAll(ios.In); string(b) != "typed" || err != nil {
		t.Errorf("In: %q, %v", b, err)
	}
	fmt.Fprint(ios.Out, "result")
	fmt.Fprint(ios.Err, "message")
	if out.String() != "result" || errOut.String() != "message" {
		t.Errorf("out %q, err %q", out, errOut)
	}
	if ios.StdinTTY() || ios.StdoutTTY() || ios.StderrTTY() {
		t.Error("a buffer counts as a terminal")
	}
	if value, ok := ios.LookupEnv("PATH"); ok {
		t.Errorf("PATH is %q, want an empty environment", value)
	}
	if ios.ColorEnabled(true) || ios.ColorEnabled(false) {
		t.Error("a buffer gets colours")
	}
	if got := ios.Width(); got != 80 {
		t.Errorf("Width = %d, want 80", got)
	}
	if ios.CanAnimate() {
		t.Error("a buffer can be animated")
	}
}

func TestWidth(t *testing.T) {
	tests := []struct {
		name           string
		stdout, stderr bool
		columns        int
		env            []string
		want           int
	}{
		{"no terminal", false, false, 120, nil, 80},
		{"output is a terminal", true, false, 120, nil, 120},
		{"only the error stream is", false, true, 120, nil, 120},
		{"terminal that does not know", true, true, 0, nil, 80},
		{"COLUMNS wins", true, true, 120, []string{"COLUMNS=100"}, 100},
		{"COLUMNS without a terminal", false, false, 0, []string{"COLUMNS=100"}, 100},
		{"COLUMNS empty", true, true, 120, []string{"COLUMNS="}, 120},
		{"COLUMNS zero", true, true, 120, []string{"COLUMNS=0"}, 120},
		{"COLUMNS negative", true, true, 120, []string{"COLUMNS=-5"}, 120},
		{"COLUMNS not a number", true, true, 120, []string{"COLUMNS=wide"}, 120},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ios, _, _, _ := Test()
			ios.SetTTY(false, tt.stdout, tt.stderr)
			ios.SetWidth(tt.columns)
			ios.SetEnv(env(tt.env...))
			if got := ios.Width(); got != tt.want {
				t.Errorf("Width = %d, want %d", got, tt.want)
			}
		})
	}
}

// The width is that of the stream that is written to, and a stream that is no terminal is never asked.
func TestWidthAsksOnlyTerminals(t *testing.T) {
	never := func() int { t.Error("asked a stream that is no terminal"); return 1 }
	ios := &IOStreams{stdout: terminal{columns: never}, stderr: terminal{is: true, columns: func() int { return 90 }}}
	if got := ios.Width(); got != 90 {
		t.Errorf("Width = %d, want 90", got)
	}
	ios = &IOStreams{stdout: terminal{is: true, columns: func() int { return 70 }}, stderr: terminal{is: true, columns: func() int { return 90 }}}
	if got := ios.Width(); got != 70 {
		t.Errorf("Width = %d, want 70", got)
	}
	ios = &IOStreams{stdout: terminal{is: true, columns: func() int { return 0 }}, stderr: terminal{is: true, columns: func() int { return 90 }}}
	if got := ios.Width(); got != 90 {
		t.Errorf("Width = %d, want that of the error stream when the output's terminal does not know", got)
	}
}

func TestColorEnabled(t *testing.T) {
	tests := []struct {
		name    string
		mode    string
		tty     bool
		env     []string
		enabled bool
	}{
		{"auto, terminal", "auto", true, nil, true},
		{"auto, pipe", "auto", false, nil, false},
		{"no mode is auto", "", true, nil, true},
		{"always, pipe", "always", false, nil, true},
		{"always beats NO_COLOR and dumb", "always", false, []string{"NO_COLOR=1", "TERM=dumb"}, true},
		{"never, terminal", "never", true, nil, false},
		{"never beats CLICOLOR_FORCE", "never", true, []string{"CLICOLOR_FORCE=1"}, false},
		{"NO_COLOR", "auto", true, []string{"NO_COLOR=1"}, false},
		{"NO_COLOR=0 is set too", "auto", true, []string{"NO_COLOR=0"}, false},
		{"NO_COLOR empty", "auto", true, []string{"NO_COLOR="}, true},
		{"NO_COLOR beats CLICOLOR_FORCE", "auto", true, []string{"NO_COLOR=1", "CLICOLOR_FORCE=1"}, false},
		{"CLICOLOR_FORCE, pipe", "auto", false, []string{"CLICOLOR_FORCE=1"}, true},
		{"CLICOLOR_FORCE=0", "auto", false, []string{"CLICOLOR_FORCE=0"}, false},
		{"CLICOLOR_FORCE empty", "auto", false, []string{"CLICOLOR_FORCE="}, false},
		{"CLICOLOR_FORCE beats TERM=dumb", "auto", true, []string{"CLICOLOR_FORCE=1", "TERM=dumb"}, true},
		{"CLICOLOR=0", "auto", true, []string{"CLICOLOR=0"}, false},
		{"CLICOLOR=1 does not colour a pipe", "auto", false, []string{"CLICOLOR=1"}, false},
		{"TERM=dumb", "auto", true, []string{"TERM=dumb"}, false},
		{"TERM=xterm", "auto", true, []string{"TERM=xterm"}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ios, _, _, _ := Test()
			ios.SetEnv(env(tt.env...))
			if err := ios.SetColor(tt.mode); err != nil {
				t.Fatal(err)
			}
			for _, out := range []bool{true, false} {
				ios.SetTTY(false, out && tt.tty, !out && tt.tty)
				if got := ios.ColorEnabled(out); got != tt.enabled {
					t.Errorf("ColorEnabled(%t) = %t, want %t", out, got, tt.enabled)
				}
			}
		})
	}
}

func TestColorIsDecidedForEachStream(t *testing.T) {
	ios, _, _, _ := Test()
	ios.SetTTY(true, false, true)
	if ios.ColorEnabled(true) || !ios.ColorEnabled(false) {
		t.Errorf("output in a pipe: %t, messages on a terminal: %t", ios.ColorEnabled(true), ios.ColorEnabled(false))
	}
}

// An old Windows console is a terminal, but would show the sequences as text.
func TestConsoleWithoutSequencesHasNoColor(t *testing.T) {
	ios := &IOStreams{stdout: terminal{is: true, plain: true}, stderr: terminal{is: true, plain: true}}
	if ios.ColorEnabled(true) || ios.ColorEnabled(false) || ios.CanAnimate() {
		t.Error("sequences would be written to a console that shows them")
	}
}

func TestSetColorRefusesOtherWords(t *testing.T) {
	ios, _, _, _ := Test()
	if err := ios.SetColor("always"); err != nil {
		t.Fatal(err)
	}
	err := ios.SetColor("yes")
	if err == nil || !strings.Contains(err.Error(), `"yes"`) || !strings.Contains(err.Error(), "auto, always, never") {
		t.Errorf("SetColor(yes) = %v", err)
	}
	if !ios.ColorEnabled(true) {
		t.Error("the refused word changed the mode")
	}
}

func TestCanAnimate(t *testing.T) {
	ios, _, _, _ := Test()
	ios.SetTTY(false, true, false)
	if ios.CanAnimate() {
		t.Error("the error stream is no terminal")
	}
	ios.SetTTY(false, false, true)
	if !ios.CanAnimate() {
		t.Error("the error stream is a terminal")
	}
	if err := ios.SetColor("always"); err != nil {
		t.Fatal(err)
	}
	ios.SetEnv(env("TERM=dumb"))
	if ios.CanAnimate() {
		t.Error("a dumb terminal cannot move its cursor")
	}
}

// A person can be asked only when all six facts allow it.
func TestCanPrompt(t *testing.T) {
	for bits := range 64 {
		bit := func(n int) bool { return bits>>n&1 == 1 }
		stdin, stdout, stderr, noInput, json, ci := bit(0), bit(1), bit(2), bit(3), bit(4), bit(5)
		ios, _, _, _ := Test()
		ios.SetTTY(stdin, stdout, stderr)
		want := stdin && stderr && !noInput && !json && !ci
		if got := ios.CanPrompt(noInput, json, ci); got != want {
			t.Errorf("stdin %t, stdout %t, stderr %t: CanPrompt(%t, %t, %t) = %t", stdin, stdout, stderr, noInput, json, ci, got)
		}
	}
}

func TestCI(t *testing.T) {
	ios, _, _, _ := Test()
	for value, want := range map[string]bool{"CI=true": true, "CI=1": true, "CI=": false, "OTHER=1": false} {
		ios.SetEnv(env(value))
		if got := ios.CI(); got != want {
			t.Errorf("%s: CI() = %t", value, got)
		}
	}
}

// System runs in a child, because what it returns depends on the streams of the process.
func TestSystem(t *testing.T) {
	if os.Getenv("IOSTREAMS_TEST_CHILD") != "" {
		ios := System()
		input, err := io.ReadAll(ios.In)
		fmt.Fprintf(ios.Out, "in %q %v, terminals %t %t %t, width %d, colour %t, animate %t", input, err,
			ios.StdinTTY(), ios.StdoutTTY(), ios.StderrTTY(), ios.Width(), ios.ColorEnabled(true), ios.CanAnimate())
		fmt.Fprint(ios.Err, "message")
		os.Exit(0)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "-test.run=^TestSystem$")
	cmd.Env = append(os.Environ(), "IOSTREAMS_TEST_CHILD=1", "COLUMNS=123", "NO_COLOR=", "CLICOLOR_FORCE=", "TERM=xterm")
	cmd.Stdin = strings.NewReader("typed")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v, stderr: %s", err, &stderr)
	}
	want := `in "typed" <nil>, terminals false false false, width 123, colour false, animate false`
	if string(stdout) != want || stderr.String() != "message" {
		t.Errorf("stdout %q, stderr %q, want %q and %q", stdout, &stderr, want, "message")
	}
}
