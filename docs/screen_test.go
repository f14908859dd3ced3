//go:build linux

package docs_test

import (
	"strconv"
	"strings"
)

// screen is what a terminal shows in the end: lines that were written over are gone. Lines do not wrap.
type screen struct {
	lines   [][]rune
	row, at int
	pending []byte // the beginning of a sequence, or of a character
}

func (s *screen) Write(p []byte) (int, error) {
	text := append(s.pending, p...)
	s.pending = nil
	for len(text) > 0 {
		n := s.one(text)
		if n == 0 {
			s.pending = append([]byte(nil), text...)
			break
		}
		text = text[n:]
	}
	return len(p), nil
}

// one takes one character or sequence, and returns its length; 0 if more is needed.
func (s *screen) one(p []byte) int {
	switch c := p[0]; {
	case c == '\n':
		s.row++
		s.at = 0 // a terminal is sent \r\n
		return 1
	case c == '\r':
		s.at = 0
		return 1
	case c == '\b':
		s.at = max(0, s.at-1)
		return 1
	case c == 0x1b:
		return s.escape(p)
	case c < 0x20 || c == 0x7f:
		return 1
	}
	n := 1
	switch {
	case p[0] >= 0xf0:
		n = 4
	case p[0] >= 0xe0:
		n = 3
	case p[0] >= 0xc0:
		n = 2
	}
	if len(p) < n {
		return 0
	}
	for _, r := range string(p[:n]) {
		line := s.line()
		for len(*line) <= s.at {
			*line = append(*line, ' ')
		}
		(*line)[s.at] = r
		s.at++
	}
	return n
}

func (s *screen) line() *[]rune {
	for len(s.lines) <= s.row {
		s.lines = append(s.lines, nil)
	}
	return &s.lines[s.row]
}

// escape does what a sequence says, as far as it moves or erases.
func (s *screen) escape(p []byte) int {
	if len(p) < 2 {
		return 0
	}
	switch p[1] {
	case ']': // up to BEL or ST
		for i := 2; i < len(p); i++ {
			if p[i] == 7 {
				return i + 1
			}
			if p[i] == 0x1b && i+1 < len(p) {
				return i + 2
			}
		}
		return 0
	case '[':
	default:
		return 2
	}
	for i := 2; i < len(p); i++ {
		if p[i] < 0x40 {
			continue
		}
		n, err := strconv.Atoi(string(p[2:i]))
		count := max(1, n)
		if err != nil {
			count = 1
		}
		switch p[i] {
		case 'A':
			s.row = max(0, s.row-count)
		case 'B':
			s.row += count
		case 'C':
			s.at += count
		case 'D':
			s.at = max(0, s.at-count)
		case 'G':
			s.at = count - 1
		case 'K':
			line := s.line()
			switch n {
			case 0:
				*line = (*line)[:min(s.at, len(*line))]
			case 2:
				*line = nil
			}
		case 'J':
			line := s.line()
			*line = (*line)[:min(s.at, len(*line))]
			s.lines = s.lines[:s.row+1]
		}
		return i + 1
	}
	return 0
}

// last returns the line of the cursor.
func (s *screen) last() string { return strings.TrimRight(string(*s.line()), " ") }

// shown returns the lines without spaces and empty lines at the ends.
func (s *screen) shown() []string {
	var list []string
	for _, line := range s.lines {
		list = append(list, strings.TrimRight(string(line), " "))
	}
	for len(list) > 0 && list[len(list)-1] == "" {
		list = list[:len(list)-1]
	}
	return list
}
