package transport

// spanning is a JSON object that spans lines, as some servers print their messages. Each byte of it is looked at once
// while it grows, and it is parsed when its last bracket closes: to try it at each line would take a time that grows with
// the square of its length.
type spanning struct {
	// number is that of its first line.
	number int
	text   []byte
	depth  int
	// broken is set when it cannot become JSON any more: no string spans lines.
	broken bool
}

// add appends a line.
func (s *spanning) add(line []byte) {
	if len(s.text) > 0 {
		s.text = append(s.text, '\n')
	}
	s.text = append(s.text, line...)
	quoted, escaped := false, false
	for _, c := range line {
		switch {
		case escaped:
			escaped = false
		case quoted:
			escaped, quoted = c == '\\', c != '"'
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			s.depth++
		case c == '}' || c == ']':
			s.depth--
		}
	}
	s.broken = s.broken || quoted
}

// over reports whether nothing that follows belongs to it.
func (s *spanning) over() bool { return s.broken || s.depth <= 0 || len(s.text) >= maxPretty }
