package transport

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// sseBody reads a server-sent event stream and gives it on event by event in the plainest form: one event a Read, LF
// line ends, no comments. So the SDK's decoder meets only what it understands, and the first reader of a stream never
// takes bytes of the next event away.
//
// See the HTML standard, 9.2.6 "Interpreting an event stream".
type sseBody struct {
	src     io.Closer
	r       *bufio.Reader
	limit   int
	onEvent func(sseEvent) (sseEvent, bool, error) // may change an event, drop it (false), or end the stream
	onEnd   func(error)                            // called once, with io.EOF for an orderly end
	pending []byte
	queue   []sseEvent // further messages of the event that was given out last
	err     error
	done    *bool // set by onEvent when no further event is wanted; nil if all are
	// tooLarge is the message that is given out in place of one over the limit, before the stream ends; nil for none.
	tooLarge []byte
	// onComment is told of each comment, nil if nobody is.
	onComment func()
	// whole reports whether an event needs nothing more, though its blank line has not come, and unended is told of each that
	// was taken so. Both are nil if none is.
	whole   func(sseEvent) bool
	unended func()
	// impatient is set when the blank line of such an event is not waited for, if it has one line of data.
	impatient bool
	// looking is closed when the wait for the byte behind such an event is over, nil if there is none.
	looking chan struct{}
	afterCR bool   // the line before ended with CR: an LF that follows belongs to it
	ignored []byte // the beginning of the first line that is no field of an event, nil if there was none
}

type sseEvent struct {
	name, id, retry string
	hasID           bool
	data            []byte
}

// sseBuffer is how much of a stream is read at a time. Most answers are smaller; what does not fit into it is large, and the
// rest of that comes in pieces of sseLarge.
const (
	sseBuffer = 4 << 10
	sseLarge  = 32 << 10
)

func newSSEBody(src io.ReadCloser, limit int, onEvent func(sseEvent) (sseEvent, bool, error), onEnd func(error)) *sseBody {
	return &sseBody{src: src, r: bufio.NewReaderSize(src, sseBuffer), limit: limit, onEvent: onEvent, onEnd: onEnd}
}

// Read returns the bytes of one event at most.
func (b *sseBody) Read(p []byte) (int, error) {
	if len(b.pending) == 0 {
		var err error
		if b.pending, err = b.read(); err != nil {
			return 0, err
		}
	}
	n := copy(p, b.pending)
	b.pending = b.pending[n:]
	return n, nil
}

// read returns the next event that is kept.
func (b *sseBody) read() ([]byte, error) {
	for {
		if b.err == nil && b.done != nil && *b.done {
			b.err = io.EOF // without a wait for what the server may still say
		}
		if b.err != nil {
			return nil, b.err
		}
		ev, err := b.nextEvent()
		if err != nil {
			b.err = err
			b.onEnd(err)
			if b.tooLarge != nil && errors.Is(err, errTooLarge) {
				b.err = io.EOF
				return sseEvent{data: b.tooLarge}.encode(), nil
			}
			return nil, err
		}
		ev, keep, err := b.onEvent(ev)
		if err != nil {
			b.err = err
			b.onEnd(err)
			return nil, err
		}
		if keep {
			return ev.encode(), nil
		}
	}
}

func (b *sseBody) Close() error { return b.src.Close() }

// nextEvent returns the next message of the latest event, or else the next event.
func (b *sseBody) nextEvent() (sseEvent, error) {
	if len(b.queue) > 0 {
		ev := b.queue[0]
		b.queue = b.queue[1:]
		return ev, nil
	}
	return b.next()
}

// next reads up to the next blank line.
func (b *sseBody) next() (sseEvent, error) {
	var ev sseEvent
	var begun bool
	for {
		line, err := b.line()
		if err != nil {
			// An event without its blank line is incomplete; but many servers end the stream right after the last data line.
			if isEOF(err) && begun && len(ev.data) > 0 {
				return ev, nil
			}
			return sseEvent{}, err
		}
		line = bytes.TrimPrefix(line, []byte("\uFEFF"))
		if len(line) == 0 {
			if begun {
				return ev, nil
			}
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		single := ev.data == nil
		switch string(field) {
		case "data":
			switch {
			case len(ev.data)+1+len(value) > b.limit && ev.data != nil:
				return sseEvent{}, errTooLarge
			case ev.data != nil:
				ev.data = appended(appended(ev.data, []byte{'\n'}), value)
			case len(value) > b.limit:
				return sseEvent{}, errTooLarge
			default: // nearly always it is the only line, and stays where it is
				ev.data = slices.Clip(value)
			}
		case "event":
			ev.name = string(value)
		case "id":
			if fitsHeader(value) { // else it could not be sent back, and the stream would never be opened again
				ev.id, ev.hasID = string(value), true
			}
		case "retry":
			ev.retry = string(value)
		default: // a comment, or a field that the standard tells us to ignore
			if len(field) == 0 && b.onComment != nil {
				b.onComment()
			}
			if b.ignored == nil && len(field) > 0 {
				b.ignored = bytes.Clone(line[:min(len(line), faultBody)])
			}
			continue
		}
		begun = true
		// Servers exist that never send the blank line, and keep the stream open. An event is looked at only when they are
		// silent: to do so at each of its lines would take a time that grows with the square of its length.
		if b.whole != nil && string(field) == "data" && b.r.Buffered() == 0 && (b.impatient && single || !b.goesOn()) && b.whole(ev) {
			b.unended()
			return ev, nil
		}
	}
}

// fitsHeader reports whether a value may stand in a header. See RFC 9110, 5.5.
func fitsHeader(value []byte) bool {
	return !bytes.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == '\x7f' })
}

// goesOn reports whether the stream goes on, or ends, within [unendedTime].
func (b *sseBody) goesOn() bool {
	looking := make(chan struct{})
	go func() {
		_, _ = b.r.Peek(1)
		close(looking)
	}()
	timer := time.NewTimer(unendedTime)
	defer timer.Stop()
	select {
	case <-looking:
		return true
	case <-timer.C:
		b.looking = looking
		return false
	}
}

// line reads a line without its end, which is LF, CRLF or CR. A CR ends the line at once, whatever follows: the stream may
// pause there. The returned bytes are the caller's.
func (b *sseBody) line() ([]byte, error) {
	var line []byte
	if b.looking != nil {
		<-b.looking
		b.looking = nil
	}
	for {
		if _, err := b.r.Peek(1); err != nil {
			if len(line) > 0 {
				return line, nil // the last line may lack its end; the next call returns the error
			}
			return nil, err
		}
		part, _ := b.r.Peek(b.r.Buffered()) // of what is there, all can be had
		if b.afterCR {
			b.afterCR = false
			if part[0] == '\n' {
				_, _ = b.r.Discard(1)
				continue
			}
		}
		n := bytes.IndexByte(part, '\n')
		if n < 0 {
			n = len(part)
		}
		if cr := bytes.IndexByte(part[:n], '\r'); cr >= 0 {
			n, b.afterCR = cr, true
		}
		if len(line)+n > b.limit {
			return nil, errTooLarge
		}
		line = appended(line, part[:n])
		if n < len(part) {
			_, _ = b.r.Discard(n + 1)
			return line, nil
		}
		_, _ = b.r.Discard(n)
		if n == sseBuffer && b.r.Size() == sseBuffer { // nothing is left in it, so it is passed by
			b.r = bufio.NewReaderSize(b.r, sseLarge)
		}
	}
}

func (e sseEvent) encode() []byte {
	var b bytes.Buffer
	if e.name != "" {
		fmt.Fprintf(&b, "event: %s\n", e.name)
	}
	if e.hasID {
		fmt.Fprintf(&b, "id: %s\n", e.id)
	}
	if e.retry != "" {
		fmt.Fprintf(&b, "retry: %s\n", e.retry)
	}
	if e.data != nil {
		for line := range bytes.SplitSeq(e.data, []byte("\n")) {
			fmt.Fprintf(&b, "data: %s\n", line)
		}
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// MaxMessage is the largest message that is accepted, in bytes. It is generous: a picture of 40 MB fits as base64.
const MaxMessage = 64 << 20

var errTooLarge = fmt.Errorf("a message over %d MiB, the largest that is accepted", MaxMessage>>20)

const (
	// growth is how many times larger a buffer becomes that is full, and largeBuffer the size from which on it takes the
	// largest message there can be: what has been read is copied seldom, and the part of such a buffer that nothing was
	// written to takes no memory of the system's.
	growth      = 4
	largeBuffer = 8 << 20
)

// appended returns buf with part behind it. The buffer grows from what is there, never by what is announced.
func appended(buf, part []byte) []byte {
	if len(buf)+len(part) > cap(buf) {
		buf = grown(buf, len(buf)+len(part))
	}
	return append(buf, part...)
}

// grown returns a larger buffer with the same bytes, for at least need of them.
func grown(buf []byte, need int) []byte {
	const least = 512
	size := growth * cap(buf)
	if size > largeBuffer {
		size = MaxMessage + least
	}
	larger := make([]byte, len(buf), max(need, least, size))
	copy(larger, buf)
	return larger
}

// readWhole reads all of a body that is not larger than limit. length is what the body announces, -1 if it does not: one
// that announces too much is not read at all.
func readWhole(r io.Reader, length int64, limit int) ([]byte, error) {
	const first = 32 << 10
	var buf []byte
	switch {
	case length > int64(limit):
		return nil, fmt.Errorf("%w: it has %.1f MiB", errTooLarge, float64(length)/(1<<20))
	case length >= 0:
		buf = make([]byte, 0, length+1) // one more, to see its end
	default:
		buf = make([]byte, 0, first)
	}
	for {
		if len(buf) == cap(buf) {
			buf = grown(buf, len(buf)+1)
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case len(buf) > limit:
			return nil, errTooLarge
		case err == io.EOF: // bare, as readers say it; a wrapped one is a body that broke off
			return buf, nil
		case err != nil:
			return buf, err
		}
	}
}

// readLine reads a line without its end (LF or CRLF). The returned bytes are the caller's.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	line, _, err := readEnded(r, limit)
	return line, err
}

// readEnded is readLine, and reports whether the line had an end.
func readEnded(r *bufio.Reader, limit int) (text []byte, ended bool, err error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > limit {
			return nil, false, errTooLarge
		}
		line = appended(line, part)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && len(line) == 0:
			return nil, false, err
		}
		// The last line may lack its end: it is given out now, and the next call returns the error.
		return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), err == nil, nil
	}
}
