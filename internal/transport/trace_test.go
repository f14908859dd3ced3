package transport

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// traced returns what fn had a trace write, without the times.
func traced(fn func(*ConnTrace)) string {
	var b bytes.Buffer
	fn(NewTrace(&b, func(s string) string { return strings.ReplaceAll(s, "sesame", "***") }).Connection("srv"))
	var out strings.Builder
	for line := range strings.Lines(b.String()) {
		_, rest, _ := strings.Cut(line, " ")
		out.WriteString(rest)
	}
	return out.String()
}

func TestTraceLines(t *testing.T) {
	for name, c := range map[string]struct {
		fn   func(*ConnTrace)
		want string
	}{
		"event":   {func(c *ConnTrace) { c.Event("started, pid %d", 7) }, "srv#1 * started, pid 7\n"},
		"masked":  {func(c *ConnTrace) { c.line('<', []byte("open sesame")) }, "srv#1 < open ***\n"},
		"control": {func(c *ConnTrace) { c.line('!', []byte("\x1b[2J\u202ea\tb\xff")) }, "srv#1 ! \\x1b[2J\\u202ea\tb\uFFFD\n"},
		"request": {
			func(c *ConnTrace) {
				r := httptest.NewRequest(http.MethodPost, "http://h/mcp?key=k&flag", nil)
				r.Header = http.Header{"Authorization": {"Bearer k"}, "Cookie": {"id=k"}, "Mcp-Session-Id": {"0123456789abcdef"}, "X": {"sesame"}}
				r.Host = "other"
				c.exchange().request(r, []byte("{}"))
			},
			"srv#1.1 > POST http://h/mcp?key=***&flag\nsrv#1.1 > Authorization: Bearer ***\nsrv#1.1 > Cookie: id=***\n" +
				"srv#1.1 > Mcp-Session-Id: 01234567…\nsrv#1.1 > X: ***\nsrv#1.1 > Host: other\nsrv#1.1 > {}\n",
		},
		"short id":    {func(c *ConnTrace) { c.lines('<', headerLines(http.Header{"Mcp-Session-Id": {"abcd"}})...) }, "srv#1 < Mcp-Session-Id: ****\n"},
		"bare cookie": {func(c *ConnTrace) { c.lines('<', headerLines(http.Header{"Set-Cookie": {"k"}})...) }, "srv#1 < Set-Cookie: ***\n"},
		"no writer":   {func(*ConnTrace) { var c *ConnTrace; c.Event("x"); c.exchange().request(nil, nil) }, ""},
	} {
		if got := traced(c.fn); got != c.want {
			t.Errorf("%s: got\n%swant\n%s", name, got, c.want)
		}
	}
}

// TestTraceBody shows that a body is written down line by line as it is read, whatever the pieces, and that a line
// without an end does not fill the memory.
func TestTraceBody(t *testing.T) {
	long := strings.Repeat("x", 3*maxTraced)
	got := traced(func(c *ConnTrace) {
		body := io.NopCloser(strings.NewReader("data: open ses" + "ame\r\n\r\nlast" + long))
		resp := &http.Response{Proto: "HTTP/1.1", Status: "200 OK", Body: body, Uncompressed: true}
		c.response(resp, 0)
		p := make([]byte, 3)
		for {
			if _, err := resp.Body.Read(p); err != nil {
				break
			}
		}
		_ = resp.Body.Close()
	})
	want := "srv#1 < HTTP/1.1 200 OK (0s)\nsrv#1 < (compressed with gzip; the body is shown as it was before)\nsrv#1 < data: open ***\nsrv#1 < lastxxx"
	if !strings.HasPrefix(got, want) {
		t.Errorf("got\n%.300s", got)
	}
	if len(got) > 2*maxTraced || !strings.Contains(got, "more bytes") {
		t.Errorf("%d bytes of a long line", len(got))
	}
}

func TestTraceLabel(t *testing.T) {
	for name, want := range map[string]string{
		"":                            "server",
		"notes":                       "notes",
		"https://h.example:8443/mcp":  "h.example:8443",
		"npx -y @example/notes ~/doc": "npx_-y_@example/notes_~…",
	} {
		if got := label(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	if got := tracedURL(&url.URL{Scheme: "http", Host: "h", Path: "/m"}); got != "http://h/m" {
		t.Error(got)
	}
}
