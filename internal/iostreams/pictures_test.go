package iostreams

import (
	"strings"
	"testing"
)

func TestPictures(t *testing.T) {
	for _, c := range []struct {
		name string
		env  []string
		want string
	}{
		{"nothing known", nil, ""},
		{"any terminal", []string{"TERM=xterm-256color"}, ""},
		{"kitty", []string{"TERM=xterm-kitty", "KITTY_WINDOW_ID=1"}, "kitty"},
		{"kitty through ssh", []string{"TERM=xterm-kitty"}, "kitty"},
		{"kitty under another TERM", []string{"TERM=xterm-256color", "KITTY_WINDOW_ID=1"}, "kitty"},
		{"ghostty", []string{"TERM=xterm-ghostty", "TERM_PROGRAM=ghostty"}, "kitty"},
		{"ghostty under another TERM", []string{"TERM=xterm-256color", "GHOSTTY_RESOURCES_DIR=/usr/share/ghostty"}, "kitty"},
		{"iTerm2", []string{"TERM=xterm-256color", "TERM_PROGRAM=iTerm.app"}, "iterm"},
		{"iTerm2 through ssh", []string{"TERM=xterm-256color", "LC_TERMINAL=iTerm2"}, "iterm"},
		{"WezTerm", []string{"TERM=xterm-256color", "TERM_PROGRAM=WezTerm"}, "iterm"},
		{"WezTerm with its own TERM", []string{"TERM=wezterm"}, "iterm"},
		{"mintty", []string{"TERM=xterm", "TERM_PROGRAM=mintty"}, "iterm"},
		{"foot", []string{"TERM=foot"}, "sixel"},
		{"foot-extra", []string{"TERM=foot-extra"}, "sixel"},
		{"mlterm", []string{"TERM=mlterm-256color"}, "sixel"},
		{"Konsole", []string{"TERM=xterm-256color", "KONSOLE_VERSION=230804"}, "sixel"},
		{"Konsole before it had pictures", []string{"TERM=xterm-256color", "KONSOLE_VERSION=210800"}, ""},
		{"Terminal.app", []string{"TERM=xterm-256color", "TERM_PROGRAM=Apple_Terminal"}, ""},
		{"another terminal started in kitty's window", []string{"TERM=xterm-256color", "TERM_PROGRAM=vscode", "KITTY_WINDOW_ID=1"}, ""},
		{"dumb in kitty's window", []string{"TERM=dumb", "KITTY_WINDOW_ID=1"}, ""},
		{"the console", []string{"TERM=linux", "LC_TERMINAL=iTerm2"}, ""},
		{"tmux in kitty", []string{"TERM=tmux-256color", "KITTY_WINDOW_ID=1", "TMUX=/tmp/s,1,0", "TERM_PROGRAM=tmux"}, ""},
		{"tmux whose TERM is kitty's", []string{"TERM=xterm-kitty", "TMUX=/tmp/s,1,0"}, ""},
		{"tmux at the other end of ssh", []string{"TERM=screen-256color", "LC_TERMINAL=iTerm2"}, ""},
		{"screen", []string{"TERM=xterm-kitty", "STY=1.tty"}, ""},
		{"zellij", []string{"TERM=xterm-kitty", "ZELLIJ=0"}, ""},
		{"Emacs", []string{"TERM=xterm-kitty", "INSIDE_EMACS=30.1"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			ios, _, _, _ := Test()
			ios.SetEnv(env(c.env...))
			ios.SetTTY(true, true, false)
			for mode, want := range map[string]string{
				"auto": c.want, "": c.want, "never": "", "kitty": "kitty", "iterm": "iterm", "sixel": "sixel",
			} {
				if got := ios.Pictures(mode, true); got != want {
					t.Errorf("%s: %q, want %q", mode, got, want)
				}
				if got := ios.Pictures(mode, false); got != "" {
					t.Errorf("%s: %q for a stream that is no terminal", mode, got)
				}
			}
		})
	}
	old := &IOStreams{stdout: terminal{is: true, plain: true}}
	if got := old.Pictures("kitty", true); got != "" {
		t.Errorf("%q on a console that prints sequences", got)
	}
}

func TestCheckPictureMode(t *testing.T) {
	for _, mode := range PictureModes() {
		if err := CheckPictureMode(mode); err != nil {
			t.Error(err)
		}
	}
	for _, mode := range []string{"", "always", "Kitty"} {
		if err := CheckPictureMode(mode); err == nil || !strings.Contains(err.Error(), "auto, kitty, iterm, sixel, never") {
			t.Errorf("%q: %v", mode, err)
		}
	}
}

func TestRoom(t *testing.T) {
	ios, _, _, _ := Test()
	ios.SetTTY(true, true, true)
	ios.SetWidth(100)
	if w, h, lines := ios.Room(true); w != 800 || h != 352 || lines != 22 {
		t.Errorf("a terminal that knows its columns only: %d, %d, %d", w, h, lines)
	}
	ios.stdout.lines = func() int { return 50 }
	ios.stdout.pixels = func() (int, int) { return 1800, 2000 }
	if w, h, lines := ios.Room(true); w != 1800 || h != 1920 || lines != 48 {
		t.Errorf("a terminal that knows its pixels: %d, %d, %d", w, h, lines)
	}
	ios.stdout.pixels = func() (int, int) { return 0, 0 }
	ios.stdout.lines = func() int { return 1 }
	if w, h, lines := ios.Room(true); w != 800 || h != 16 || lines != 1 {
		t.Errorf("one line: %d, %d, %d", w, h, lines)
	}
}
