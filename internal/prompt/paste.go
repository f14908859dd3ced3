package prompt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Paste waits for something that is pasted, while something else may come first. What is pasted is not shown: it may be
// long, and it may be secret. Its fields are set before it is read.
type Paste struct {
	Asker *Asker
	// Status returns the line above: what is waited for. It is asked often.
	Status func() string
	// Question says what may be pasted.
	Question string

	mu      sync.Mutex
	reading bool
	above   []byte
	wake    chan struct{}
}

// statusInterval is how often the line above is brought up to date: it tells seconds.
const statusInterval = 250 * time.Millisecond

// Above writes whole lines above the question. It returns false, and writes nothing, if nothing is asked.
func (p *Paste) Above(lines []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reading {
		return false
	}
	p.above = append(p.above, lines...)
	select {
	case p.wake <- struct{}{}:
	default: // it has not seen the last one yet
	}
	return true
}

// Read returns what was pasted, or typed, when it is entered, or when what was pasted ends its line. It returns
// [ErrNobody] if questions are not allowed, [ErrInterrupted] for Ctrl-C, [io.EOF] at the end of the input, and the cause of
// ctx when that ends first; nothing is left on the screen then.
func (p *Paste) Read(ctx context.Context) (string, error) {
	a := p.Asker
	if !a.Allowed {
		return "", ErrNobody
	}
	t, err := a.open()
	if err != nil {
		return "", err
	}
	defer t.close()
	p.mu.Lock()
	p.wake, p.reading = make(chan struct{}, 1), true
	a.keys.wake = p.wake
	p.mu.Unlock()
	b := &block{t: t}
	defer func() {
		a.keys.wake = nil
		p.mu.Lock()
		defer p.mu.Unlock()
		p.reading = false
		_, _ = a.Out.Write(raw(p.above))
		p.above = nil
	}()
	if a.Dumb {
		_, _ = io.WriteString(a.Out, oneLine(p.Question)+" (it is not shown)\r\n")
	} else {
		b.begin()
		defer b.end("")
	}
	var typed strings.Builder
	shown := ""
	for {
		p.flush(b)
		if lines := p.lines(t, typed.Len()); !a.Dumb && (len(b.widths) == 0 || shown != strings.Join(lines, "\n")) {
			shown = strings.Join(lines, "\n")
			b.draw(lines, len(lines)-1, width(lines[len(lines)-1]))
		}
		k, err := a.keys.next(ctx, statusInterval)
		switch {
		case errors.Is(err, errTick):
			if columns, rows := a.size(); columns != t.columns || rows != t.lines {
				t.columns, t.lines = columns, rows
				shown = ""
			}
		case err != nil:
			return "", err
		case k.is(keyCancel):
			return "", ErrInterrupted
		case k.is(keyEnd4) && typed.Len() == 0:
			return "", io.EOF
		case k.is(keyEnter):
			return typed.String(), nil
		case k.is(keyPaste):
			if typed.WriteString(k.text); strings.HasSuffix(k.text, "\n") {
				return typed.String(), nil
			}
		case k.is(keyText) && typed.Len() < mostPasted:
			typed.WriteString(k.text)
		case k.is(keyBackspace, keyKillStart, keyKillWord, keyEscape, keyAbort):
			typed.Reset() // nobody mends what is not shown
		}
	}
}

// lines are what is shown.
func (p *Paste) lines(t *terminal, typed int) []string {
	a := t.asker
	field := oneLine(p.Question) + " › "
	if typed > 0 {
		field += fmt.Sprintf("(%d characters, not shown)", typed)
	}
	return []string{
		a.paint(Faint, cut(oneLine(p.Status()), t.columns-2)),
		cut(field, t.columns-2),
	}
}

// flush writes what was said meanwhile above the question.
func (p *Paste) flush(b *block) {
	p.mu.Lock()
	above := p.above
	p.above = nil
	p.mu.Unlock()
	if len(above) > 0 {
		b.write(b.up() + eraseBelow + string(raw(above)))
		b.widths, b.at = nil, 0
	}
}
