package iostreams

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The protocols by which terminals show pictures.
const (
	picturesKitty = "kitty"
	picturesITerm = "iterm"
	picturesSixel = "sixel"
)

// PictureModes are the values that [IOStreams.Pictures] takes.
func PictureModes() []string {
	return []string{"auto", picturesKitty, picturesITerm, picturesSixel, "never"}
}

// CheckPictureMode returns an error for what is none of the [PictureModes].
func CheckPictureMode(mode string) error {
	if slices.Contains(PictureModes(), mode) {
		return nil
	}
	return fmt.Errorf("%q is not one of %s", mode, strings.Join(PictureModes(), ", "))
}

// Pictures returns the protocol by which the output's terminal shows pictures, or with out false the error stream's: kitty,
// iterm, sixel, or "" for none. A mode other than auto decides for every terminal; a stream that is none has no pictures
// whatever the mode is.
//
// With auto the environment tells; the terminal is never asked. Within tmux and screen auto shows none, as they draw the
// screen themselves, and no variable says what they let through.
func (s *IOStreams) Pictures(mode string, out bool) string {
	t := s.stderr
	if out {
		t = s.stdout
	}
	switch {
	case !t.is || t.plain:
		return ""
	case mode == "never":
		return ""
	case mode == picturesKitty || mode == picturesITerm || mode == picturesSixel:
		return mode
	}
	return s.knownPictures()
}

// knownPictures says what the terminal can do that the environment names. What is nearest to it speaks first: TERM comes
// along through ssh, TERM_PROGRAM is set by the innermost terminal, and the other variables are inherited by whatever is
// started in a window, another terminal among it.
func (s *IOStreams) knownPictures() string {
	if s.Multiplexed() || s.env("ZELLIJ") != "" || s.env("INSIDE_EMACS") != "" || s.env("VIM_TERMINAL") != "" {
		return ""
	}
	term := s.env("TERM")
	switch name, _, _ := strings.Cut(term, "-"); {
	case term == "xterm-kitty", term == "xterm-ghostty", term == "ghostty":
		return picturesKitty
	case term == "wezterm":
		return picturesITerm
	case name == "foot", name == "mlterm", name == "yaft", term == "vt340", term == "contour":
		return picturesSixel
	case term == "", term == "dumb", term == "linux":
		return ""
	}
	switch s.env("TERM_PROGRAM") {
	case "kitty", "ghostty":
		return picturesKitty
	case "iTerm.app", "WezTerm", "mintty":
		return picturesITerm
	case "":
	default:
		return ""
	}
	konsole, _ := strconv.Atoi(s.env("KONSOLE_VERSION"))
	const konsoleSixel = 220400 // 22.04 is the first with pictures
	switch {
	case s.env("LC_TERMINAL") == "iTerm2", s.env("WEZTERM_PANE") != "", s.env("WEZTERM_EXECUTABLE") != "":
		return picturesITerm
	case s.env("KITTY_WINDOW_ID") != "", s.env("GHOSTTY_RESOURCES_DIR") != "":
		return picturesKitty
	case konsole >= konsoleSixel:
		return picturesSixel
	}
	return ""
}

// Tmux reports whether tmux draws the screen.
func (s *IOStreams) Tmux() bool {
	return s.env("TMUX") != "" || strings.HasPrefix(s.env("TERM"), "tmux")
}

// Multiplexed reports whether tmux or screen draws the screen.
func (s *IOStreams) Multiplexed() bool {
	return s.Tmux() || s.env("STY") != "" || strings.HasPrefix(s.env("TERM"), "screen")
}

// The size of a character in pixels where the terminal does not tell: small, so that a picture is rather too small than
// wider than the screen.
const (
	cellWidth  = 8
	cellHeight = 16
)

// Room returns the pixels and the lines there are for one picture on the terminal that is the output, or with out false the
// error stream: its whole width, and its height without two lines for what stands below the picture.
func (s *IOStreams) Room(out bool) (width, height, lines int) {
	t := s.stderr
	if out {
		t = s.stdout
	}
	if t.is && t.lines != nil {
		lines = t.lines()
	}
	const defaultLines, below = 24, 2
	if lines <= 0 {
		lines = defaultLines
	}
	columns := s.Width()
	width, height = columns*cellWidth, lines*cellHeight
	if t.is && t.pixels != nil {
		if w, h := t.pixels(); w > columns && h > lines {
			width, height = w, h
		}
	}
	room := max(lines-below, 1)
	return width, height * room / lines, room
}
