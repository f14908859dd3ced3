package prompt

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/mcpctl/mcpctl/internal/iostreams"
)

const (
	// escapeWait is how long the rest of a key's sequence may be behind its first character: a terminal sends them
	// together, and only a slow line tears them apart. A person does not notice it after Escape.
	escapeWait = 30 * time.Millisecond
	// sizeInterval is how often the size of the terminal is looked at. A signal would tell sooner, on some systems.
	sizeInterval = 150 * time.Millisecond
	// mostPasted bounds what is kept of one paste, in bytes: a person pastes a line, or a snippet.
	mostPasted = 1 << 20
)

// keyKind says what key it is.
type keyKind int

const (
	keyOther keyKind = iota
	keyText          // text holds the character
	keyPaste         // text holds what was pasted
	keyEnter
	keyEscape
	keyCancel // Ctrl-C
	keyEnd4   // Ctrl-D, the end of the input
	keyBackspace
	keyDelete
	keyTab
	keyUp
	keyDown
	keyLeft
	keyRight
	keyHome
	keyEnd
	keyPageUp
	keyPageDown
	keyKillStart // Ctrl-U: everything before the cursor
	keyKillEnd   // Ctrl-K: everything after it
	keyKillWord  // Ctrl-W
	keyResize    // the terminal has another size
	keyBackTab
	keyWordLeft      // Alt-B
	keyWordRight     // Alt-F
	keyKillWordRight // Alt-D
	keyYank          // Ctrl-Y: what was killed last
	keySearch        // Ctrl-R
	keyClear         // Ctrl-L
	keyAbort         // Ctrl-G
	keyWake          // something else has happened
)

// key is a key that was pressed.
type key struct {
	kind keyKind
	text string
}

func (k key) is(kinds ...keyKind) bool { return slices.Contains(kinds, k.kind) }

// keyReader reads keys. A read of a terminal cannot be stopped: when a question ends meanwhile, its result is kept for the
// next one.
type keyReader struct {
	in      io.Reader
	chunks  chan chunk
	reading bool
	buf     []byte
	err     error
	// wake has next return keyWake. If nil, nothing does.
	wake <-chan struct{}
}

type chunk struct {
	data []byte
	err  error
}

// want makes sure that a read is under way.
func (r *keyReader) want() {
	if r.reading || r.err != nil {
		return
	}
	r.reading = true
	go func() {
		b := make([]byte, 4096)
		n, err := r.in.Read(b)
		r.chunks <- chunk{b[:n], err} // there is room for one
	}()
}

func (r *keyReader) got(c chunk) {
	r.reading = false
	r.buf = append(r.buf, c.data...)
	r.err = c.err
}

// next returns the next key. After wait it returns errTick, if nothing was pressed until then.
func (r *keyReader) next(ctx context.Context, wait time.Duration) (key, error) {
	for {
		if ctx.Err() != nil {
			return key{}, context.Cause(ctx)
		}
		if len(r.buf) > 0 {
			k, n := parseKey(r.buf)
			if n == 0 && (r.err != nil || !r.more(ctx)) {
				k, n = alone(r.buf)
			}
			if n > 0 {
				r.buf = r.buf[n:]
				return k, nil
			}
			continue
		}
		if r.err != nil {
			err := r.err
			if !errors.Is(err, io.EOF) {
				err = io.EOF // a terminal that has gone says so in many ways
			}
			return key{}, err
		}
		r.want()
		select {
		case c := <-r.chunks:
			r.got(c)
		case <-ctx.Done():
			return key{}, context.Cause(ctx)
		case <-r.wake:
			return key{kind: keyWake}, nil
		case <-time.After(wait):
			return key{}, errTick
		}
	}
}

// errTick says that nothing was pressed for a while.
var errTick = errors.New("tick")

// more waits a moment for the rest of a sequence. A paste has as long as it takes.
func (r *keyReader) more(ctx context.Context) bool {
	r.want()
	wait := escapeWait
	if strings.HasPrefix(string(r.buf), pasteBegin) {
		wait = time.Minute
	}
	select {
	case c := <-r.chunks:
		r.got(c)
		return true
	case <-ctx.Done():
		return true // next sees it
	case <-time.After(wait):
		return false
	}
}

// What terminals put around what is pasted, when they are asked to, and how they are asked. See the control sequences of
// xterm, "Bracketed Paste Mode".
const (
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
	pasteOn    = "\x1b[?2004h"
	pasteOff   = "\x1b[?2004l"
)

// parseKey returns the key at the beginning of b and its length: 0 if the rest of it is still to come.
func parseKey(b []byte) (key, int) {
	switch c := b[0]; {
	case c == 0x1b:
		return parseEscape(b)
	case c < 0x20 || c == 0x7f:
		return key{kind: controlKey(c)}, 1
	}
	if !utf8.FullRune(b) {
		return key{}, 0
	}
	r, n := utf8.DecodeRune(b)
	return textKey(r), n
}

func textKey(r rune) key {
	text := oneLine(string(r))
	switch {
	case r == ' ':
		text = " "
	case r == utf8.RuneError || text == "":
		return key{}
	}
	return key{kind: keyText, text: text}
}

// alone returns the key that an unfinished sequence is when nothing follows.
func alone(b []byte) (key, int) {
	switch {
	case len(b) == 1 && b[0] == 0x1b:
		return key{kind: keyEscape}, 1
	case strings.HasPrefix(string(b), pasteBegin):
		return pasted(string(b[len(pasteBegin):])), len(b)
	}
	return key{}, len(b)
}

func controlKey(c byte) keyKind {
	switch c {
	case 0x01:
		return keyHome
	case 0x02:
		return keyLeft
	case 0x03:
		return keyCancel
	case 0x04:
		return keyEnd4
	case 0x05:
		return keyEnd
	case 0x06:
		return keyRight
	case 0x07:
		return keyAbort
	case 0x08, 0x7f:
		return keyBackspace
	case '\t':
		return keyTab
	case '\r', '\n':
		return keyEnter
	case 0x0b:
		return keyKillEnd
	case 0x0c:
		return keyClear
	case 0x0e:
		return keyDown
	case 0x10:
		return keyUp
	case 0x12:
		return keySearch
	case 0x15:
		return keyKillStart
	case 0x17:
		return keyKillWord
	case 0x19:
		return keyYank
	}
	return keyOther
}

// parseEscape returns the key of a sequence that begins with Escape. See ECMA-48, 5.4, and the keys of xterm.
func parseEscape(b []byte) (key, int) {
	if len(b) == 1 {
		return key{}, 0
	}
	if b[1] == 0x1b { // pressed twice
		return key{kind: keyEscape}, 1
	}
	if b[1] != '[' && b[1] != 'O' {
		if b[1] < 0x20 {
			return key{kind: keyEscape}, 1 // Escape, and then another key
		}
		_, n := utf8.DecodeRune(b[1:])
		return key{kind: altKey(b[1])}, 1 + n
	}
	end := 2
	for end < len(b) && b[end] >= 0x20 && b[end] <= 0x3f {
		end++
	}
	if end == len(b) {
		return key{}, 0
	}
	seq, n := string(b[2:end+1]), end+1
	if "\x1b["+seq == pasteBegin {
		text, _, closed := strings.Cut(string(b[n:]), pasteEnd)
		switch {
		case closed:
			return pasted(text), n + len(text) + len(pasteEnd)
		case len(b) > mostPasted:
			return pasted(text), len(b)
		}
		return key{}, 0
	}
	return key{kind: sequenceKey(seq)}, n
}

// altKey is a key with Alt.
func altKey(c byte) keyKind {
	switch c {
	case 'b', 'B':
		return keyWordLeft
	case 'f', 'F':
		return keyWordRight
	case 'd', 'D':
		return keyKillWordRight
	case 0x7f:
		return keyKillWord
	}
	return keyOther
}

func sequenceKey(seq string) keyKind {
	switch seq {
	case "A":
		return keyUp
	case "B":
		return keyDown
	case "C":
		return keyRight
	case "D":
		return keyLeft
	case "H", "1~", "7~":
		return keyHome
	case "F", "4~", "8~":
		return keyEnd
	case "3~":
		return keyDelete
	case "5~":
		return keyPageUp
	case "6~":
		return keyPageDown
	case "Z":
		return keyBackTab
	case "1;5D", "1;3D", "5D":
		return keyWordLeft
	case "1;5C", "1;3C", "5C":
		return keyWordRight
	case "M":
		return keyEnter // of the keypad
	}
	return keyOther
}

// pasted is a paste, whose line ends are line feeds.
func pasted(text string) key {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	return key{kind: keyPaste, text: iostreams.Sanitize(text)}
}

// terminal is the terminal while a question stands.
type terminal struct {
	asker *Asker
	// raw is set when keys come one by one, and are not echoed.
	raw   bool
	state *term.State
	fd    int

	columns, lines int
}

// open prepares the terminal for a question. What is returned must be closed.
func (a *Asker) open() (*terminal, error) {
	if a.keys == nil {
		a.keys = &keyReader{in: a.In, chunks: make(chan chunk, 1)}
	}
	t := &terminal{asker: a}
	t.columns, t.lines = a.size()
	f, ok := a.In.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return t, nil
	}
	t.fd = int(f.Fd())
	state, err := term.MakeRaw(t.fd)
	if err != nil {
		return nil, err
	}
	t.raw, t.state = true, state
	return t, nil
}

// close makes the terminal what it was before.
func (t *terminal) close() {
	if t.raw {
		_ = term.Restore(t.fd, t.state) // a terminal that has gone needs nothing
	}
}

// next returns the next key. The error is [io.EOF] at the end of the input.
func (t *terminal) next(ctx context.Context) (key, error) {
	for {
		k, err := t.asker.keys.next(ctx, sizeInterval)
		if !errors.Is(err, errTick) {
			return k, err
		}
		if columns, lines := t.asker.size(); columns != t.columns || lines != t.lines {
			t.columns, t.lines = columns, lines
			return key{kind: keyResize}, nil
		}
	}
}
