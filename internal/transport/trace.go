package transport

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
)

// maxTraced is how much of a line is written down: more is a picture, or a flood.
const maxTraced = 256 << 10

// Trace writes down what goes over the wire, for people to read: a line for each message, header or event, with the
// time, the name and number of the connection, and a sign: ">" sent, "<" received, "!" standard error, "*" an event. It
// is safe for concurrent use. A nil Trace writes nothing.
type Trace struct {
	mask func(string) string
	last atomic.Int64

	mu sync.Mutex
	w  io.Writer
}

// NewTrace returns a trace that writes to w. mask hides secrets; if nil, nothing is hidden.
func NewTrace(w io.Writer, mask func(string) string) *Trace {
	if mask == nil {
		mask = func(s string) string { return s }
	}
	return &Trace{w: w, mask: mask}
}

// Connection returns the trace of the next connection to a server.
func (t *Trace) Connection(server string) *ConnTrace {
	if t == nil {
		return nil
	}
	return &ConnTrace{t: t, name: fmt.Sprintf("%s#%d", label(server), t.last.Add(1))}
}

// ConnTrace is the part of a [Trace] that is about one connection. A nil ConnTrace writes nothing.
type ConnTrace struct {
	t    *Trace
	name string
	last atomic.Int64
}

// Event writes down what happened.
func (c *ConnTrace) Event(format string, args ...any) {
	if c != nil {
		c.lines('*', fmt.Sprintf(format, args...))
	}
}

// exchange returns the trace of the next HTTP request.
func (c *ConnTrace) exchange() *ConnTrace {
	if c == nil {
		return nil
	}
	return &ConnTrace{t: c.t, name: fmt.Sprintf("%s.%d", c.name, c.last.Add(1))}
}

// line writes down raw bytes that are one line.
func (c *ConnTrace) line(sign byte, data []byte) {
	if c == nil {
		return
	}
	lost := max(0, len(data)-2*maxTraced) // more is kept than is shown, so that what is cut is masked whole
	c.lines(sign, string(data[:len(data)-lost]))
	if lost > 0 {
		c.Event("%d more bytes of that line are not shown", lost)
	}
}

// lines writes lines down that belong together.
func (c *ConnTrace) lines(sign byte, lines ...string) {
	var b bytes.Buffer
	now := time.Now().Format("15:04:05.000")
	for _, line := range lines {
		line = c.t.mask(line)
		rest := 0
		if len(line) > maxTraced {
			rest = len(line) - maxTraced
			line = line[:maxTraced]
		}
		fmt.Fprintf(&b, "%s %s %c %s", now, c.name, sign, visible(line))
		if rest > 0 {
			fmt.Fprintf(&b, "… (%d more bytes)", rest)
		}
		b.WriteByte('\n')
	}
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	_, _ = c.t.w.Write(b.Bytes()) // a full disk is no reason to fail the request
}

// request writes an HTTP request down.
func (c *ConnTrace) request(r *http.Request, body []byte) {
	if c == nil {
		return
	}
	lines := append([]string{r.Method + " " + tracedURL(r.URL)}, headerLines(r.Header)...)
	if r.Host != "" && r.Host != r.URL.Host {
		lines = append(lines, "Host: "+r.Host)
	}
	if len(body) > 0 {
		lines = append(lines, strings.Split(string(body), "\n")...)
	}
	c.lines('>', lines...)
}

// response writes the head of an HTTP answer down, and its body as it is read.
func (c *ConnTrace) response(resp *http.Response, elapsed time.Duration) {
	if c == nil {
		return
	}
	lines := []string{fmt.Sprintf("%s %s (%s)", resp.Proto, resp.Status, elapsed.Round(time.Millisecond))}
	if resp.Uncompressed {
		lines = append(lines, "(compressed with gzip; the body is shown as it was before)")
	}
	c.lines('<', append(lines, headerLines(resp.Header)...)...)
	resp.Body = &tracedBody{ReadCloser: resp.Body, lines: traceLines{c: c, sign: '<'}}
}

// bare writes down that there was an HTTP exchange, without what either side said in it.
func (c *ConnTrace) bare(sign byte, format string, args ...any) {
	if c != nil {
		c.lines(sign, fmt.Sprintf(format, args...))
	}
}

// tracedBody writes down what is read through it.
type tracedBody struct {
	io.ReadCloser
	lines traceLines
}

func (b *tracedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.lines.add(p[:n])
	if err != nil {
		b.lines.flush()
	}
	return n, err
}

func (b *tracedBody) Close() error {
	err := b.ReadCloser.Close()
	b.lines.flush()
	return err
}

// traceLines cuts bytes into lines. It keeps a bounded part of a line only.
type traceLines struct {
	c    *ConnTrace
	sign byte

	mu   sync.Mutex // Close may come while a Read is under way
	line []byte
	lost int
}

func (l *traceLines) add(data []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(data) > 0 {
		part, rest, found := bytes.Cut(data, []byte("\n"))
		room := max(0, 2*maxTraced-len(l.line)) // more than is shown, so that what is cut is masked whole
		kept := min(len(part), room)
		l.line = append(l.line, part[:kept]...)
		l.lost += len(part) - kept
		if !found {
			return
		}
		l.write()
		data = rest
	}
}

func (l *traceLines) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.line) > 0 {
		l.write()
	}
}

// write writes the line down; a blank one, which only ends an event, is left out. l.mu is held.
func (l *traceLines) write() {
	line := bytes.TrimSuffix(l.line, []byte("\r"))
	if len(line) > 0 {
		l.c.line(l.sign, line)
	}
	if l.lost > 0 {
		l.c.Event("%d more bytes of that line are not shown", l.lost)
	}
	l.line, l.lost = nil, 0
}

// hiddenHeaders hold credentials that nobody configured: the server's cookies, tokens, and proofs of possession (RFC 9449).
var hiddenHeaders = []string{"Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "Dpop"}

// headerLines returns the lines of a header, sorted. Credentials are hidden, session ids shortened.
func headerLines(h http.Header) []string {
	var lines []string
	for name, values := range h {
		for _, value := range values {
			key := http.CanonicalHeaderKey(name)
			switch {
			case slices.Contains(hiddenHeaders, key):
				value = hiddenCredential(key, value)
			case key == sessionHeader:
				value = ShortID(value)
			}
			lines = append(lines, name+": "+value)
		}
	}
	slices.Sort(lines)
	return lines
}

// hiddenCredential hides a credential and keeps the scheme, or the cookie's name, before it.
func hiddenCredential(key, value string) string {
	sep := " "
	if strings.HasSuffix(key, "Cookie") {
		sep = "="
	}
	if before, _, ok := strings.Cut(value, sep); ok {
		return before + sep + "***"
	}
	return "***"
}

// ShortID makes a session id fit to be shown: enough to tell two apart, too little to use.
func ShortID(id string) string {
	const shown = 8
	if len(id) <= shown {
		return strings.Repeat("*", len(id))
	}
	return id[:shown] + "…"
}

// tracedURL returns a URL with the values of its query hidden: some servers keep keys and session ids there.
func tracedURL(u *url.URL) string {
	text := bareURL(u)
	if u.RawQuery == "" {
		return text
	}
	var names []string
	for part := range strings.SplitSeq(u.RawQuery, "&") {
		name, _, found := strings.Cut(part, "=")
		if found {
			name += "=***"
		}
		names = append(names, name)
	}
	return text + "?" + strings.Join(names, "&")
}

// visible returns text in which nothing moves a cursor or changes a colour.
func visible(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if !strings.ContainsFunc(s, unseen) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\r':
			b.WriteString(`\r`)
		case unseen(r) && r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case unseen(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// unseen reports whether a terminal would not show r as a character: control and format characters.
func unseen(r rune) bool { return r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) }

// label makes a server's name fit for a column: one short word. A URL stands for itself by its host.
func label(name string) string {
	const most = 24 // enough to tell servers apart, and little on a line
	if u, err := url.Parse(name); err == nil && u.Host != "" {
		name = u.Host
	}
	word := []rune(strings.Join(strings.Fields(visible(name)), "_"))
	switch {
	case len(word) == 0:
		return "server"
	case len(word) > most:
		return string(word[:most-1]) + "…"
	}
	return string(word)
}
