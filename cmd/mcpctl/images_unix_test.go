//go:build unix

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// noTerminal are the variables by which a terminal could be known, empty.
func noTerminal(set ...string) []string {
	var env []string
	for _, name := range []string{
		"TERM_PROGRAM", "LC_TERMINAL", "KITTY_WINDOW_ID", "GHOSTTY_RESOURCES_DIR", "WEZTERM_PANE", "WEZTERM_EXECUTABLE",
		"KONSOLE_VERSION", "TMUX", "STY", "ZELLIJ", "INSIDE_EMACS", "VIM_TERMINAL", imagesVariable,
	} {
		env = append(env, name+"=")
	}
	return append(env, set...)
}

// TestImagesOnATerminal shows images where the terminal can, with the line below them, and only the line elsewhere.
func TestImagesOnATerminal(t *testing.T) {
	const line = `\[image image/png, 16x16, \d+ bytes; --save DIR saves it\]\n$`
	const (
		kitty = `^\x1b_Ga=T,f=100,q=2,m=0;iVBORw0KGgo[A-Za-z0-9+/]+=*\x1b\\\n`
		iterm = `^\x1b\]1337;File=inline=1;size=\d+:iVBORw0KGgo[A-Za-z0-9+/]+=*\a\n`
		sixel = `^\x1bP0;1q"1;1;16;16#0;2;[!-~]+\x1b\\\n`
		none  = `^`
	)
	for _, c := range []struct {
		name string
		env  []string
		args []string
		want string
	}{
		{"an unknown terminal", nil, nil, none},
		{"kitty", []string{"TERM=xterm-kitty"}, nil, kitty},
		{"iTerm2", []string{"TERM_PROGRAM=iTerm.app"}, nil, iterm},
		{"WezTerm", []string{"TERM_PROGRAM=WezTerm"}, nil, iterm},
		{"foot", []string{"TERM=foot"}, nil, sixel},
		{"tmux in kitty", []string{"TERM=tmux-256color", "TMUX=/tmp/none,1,0", "KITTY_WINDOW_ID=1"}, nil, none},
		{"switched off", []string{"TERM=xterm-kitty"}, []string{"--images", "never"}, none},
		{"switched off by the variable", []string{"TERM=xterm-kitty", imagesVariable + "=never"}, nil, none},
		{"the flag goes before the variable", []string{imagesVariable + "=never"}, []string{"--images=sixel"}, sixel},
		{"no colours", []string{"TERM=xterm-kitty", "NO_COLOR=1"}, nil, kitty},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"call", "demo", "picture"}, c.args...)
			code, out := onTerminalWith(t, 80, t.TempDir(), noTerminal(c.env...), args...).end()
			if out = withoutLive(out); code != codeOK || !regexp.MustCompile(c.want+line).MatchString(out) {
				t.Errorf("exit code %d, terminal %.300q", code, out)
			}
		})
	}
}

// TestImagesOfResourcesAndPrompts holds that those are shown, too.
func TestImagesOfResourcesAndPrompts(t *testing.T) {
	for _, words := range [][]string{{"read", "demo", "demo://picture"}, {"prompt", "demo", "tour"}} {
		for _, mode := range []string{"sixel", "never"} {
			t.Run(words[0]+" "+mode, func(t *testing.T) {
				t.Parallel()
				code, out := onTerminalWith(t, 80, t.TempDir(), noTerminal(), append(slices.Clip(words), "--images", mode)...).end()
				if code != codeOK || strings.Contains(out, "\x1bP0;1q") != (mode == "sixel") {
					t.Errorf("exit code %d, terminal %.300q", code, out)
				}
			})
		}
	}
}

func TestImagesOfAWordThatIsNone(t *testing.T) {
	t.Parallel()
	code, out := onTerminalWith(t, 80, t.TempDir(), noTerminal(imagesVariable+"=yes"), "call", "demo", "picture").end()
	if code != codeUsage || !strings.Contains(out, `MCPCTL_IMAGES: "yes" is not one of auto, kitty, iterm, sixel,`) {
		t.Errorf("exit code %d, terminal %q", code, out)
	}
}

// TestResultsOnATerminal shows the image of an error on standard error's terminal, and what links there are on standard
// output's.
func TestResultsOnATerminal(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	file := filepath.Join(home, "results.json")
	const results = `{"tools":[{"name":"failing"},{"name":"links"},{"name":"structured"}],"results":{
		"failing":{"isError":true,"content":[{"type":"text","text":"bo\u001b[2Jom"},{"type":"image","mimeType":"image/png","data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}]},
		"links":{"content":[{"type":"resource_link","uri":"x://it's here","name":"n"},{"type":"resource_link","uri":"x://evil\u202e","name":"n"}]},
		"structured":{"structuredContent":{"text":"a\u009bb\u202e","id":12345678901234567890}}}}`
	if err := os.WriteFile(file, []byte(results), 0o600); err != nil {
		t.Fatal(err)
	}
	server := "resultserver " + file
	for tool, want := range map[string]string{
		"failing":    `^boom\n\x1b_Ga=T,f=100,q=2,m=0;[A-Za-z0-9+/]+=*\x1b\\\n\[image image/png, 1x1, 70 bytes; --save DIR saves it\]\n$`,
		"links":      `^\[link n x://it's here\]\n\[link n x://evil\]\nmcpctl: hint: mcpctl read --stdio 'resultserver .*results\.json' 'x://it'\\''s here'\n$`,
		"structured": `^\{\n  "text": "a\\u009bb\\u202e",\n  "id": 12345678901234567890\n\}\n$`,
	} {
		_, out := onTerminalWith(t, 80, home, noTerminal("TERM=xterm-kitty"), "call", "--stdio", server, tool).end()
		if out = withoutLive(out); !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("%s: terminal %q", tool, out)
		}
	}
}
