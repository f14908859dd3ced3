package transport

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// pieces gives out its text in pieces of a size.
type pieces struct {
	text []byte
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.text) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.text[:min(p.size, len(p.text))])
	p.text = p.text[n:]
	return n, nil
}

// filtered is what became of a child's output.
type filtered struct {
	messages []string
	noise    Noise
	fault    Kind
}

// filter lets output go through the reader of a child's standard output. One request waits for its answer.
func filter(t *testing.T, output []byte, size int, id string) filtered {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	k := &Child{
		stdout: r, incoming: make(chan jsonrpc.Message), quiet: make(chan struct{}), dead: make(chan struct{}),
		exited: make(chan struct{}), closed: make(chan struct{}), pending: map[string]pendingCall{},
	}
	k.pending[id] = pendingCall{id: json.RawMessage(`"` + id + `"`), ex: &Exchange{}}
	close(k.exited)
	close(k.quiet)
	go func() {
		_, _ = io.Copy(w, struct{ io.Reader }{&pieces{output, size}}) // the other end reads all of it
		_ = w.Close()
	}()
	k.readers.Go(k.readStdout)
	var f filtered
	for {
		select {
		case msg := <-k.incoming:
			encoded, err := jsonrpc.EncodeMessage(msg)
			if err != nil {
				t.Fatal(err)
			}
			f.messages = append(f.messages, string(encoded))
			continue
		case <-k.dead:
		}
		k.readers.Wait()
		f.noise, f.fault = k.Noise(), k.Fault().Kind
		return f
	}
}

// FuzzStdout shows that an answer that is alone on its line comes through whatever stands around it (ST-02), that what is
// no message is counted, and that it does not matter in which pieces the output comes.
func FuzzStdout(f *testing.F) {
	f.Add([]byte("starting\n"), []byte("\x1b[1m{ready}\x1b[0m\n"), uint8(3))
	f.Add([]byte("{\n"), []byte("\n}"), uint8(1))
	f.Add([]byte("{\n\"jsonrpc\": \"2.0\",\n\"method\": \"notifications/a\"\n}\n"), []byte(`[{"jsonrpc":"2.0","method":"a"}]`), uint8(7))
	f.Add([]byte("\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"error\":{},\"id\":null}\r\n"), []byte("[]\n{}\n{\"a\":\"}\"\n"), uint8(64))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}{"jsonrpc":"2.0","id":2,"result":{}}`), []byte(`{"level":"info"}`), uint8(2))
	f.Fuzz(func(t *testing.T, before, after []byte, size uint8) {
		const id = "fuzz-4711"
		answer := `{"jsonrpc":"2.0","id":"` + id + `","result":{"n":12345678901234567890}}`
		output := bytes.Join([][]byte{before, []byte(answer), after}, []byte("\n"))
		whole := filter(t, output, len(output), id)
		found := false
		for _, m := range whole.messages {
			found = found || strings.Contains(m, id) && strings.Contains(m, "12345678901234567890")
		}
		if !found {
			t.Fatalf("%q: the answer is lost: %q", output, whole.messages)
		}
		if lines := bytes.Count(output, []byte("\n")) + 1; whole.noise.Lines > lines+len(whole.messages) {
			t.Fatalf("%q: %d lines, %d of them noise", output, lines, whole.noise.Lines)
		}
		if len(whole.noise.First) > stderrLine {
			t.Fatalf("evidence of %d bytes", len(whole.noise.First))
		}
		blank := len(trimMessage(before))+len(trimMessage(after)) == 0
		if !blank && len(whole.messages) == 1 && whole.noise.Lines == 0 && !bytes.ContainsAny(output, "[\uFEFF") {
			t.Fatalf("%q: something is neither a message nor noise", output)
		}
		if split := filter(t, output, int(size)+1, id); !reflect.DeepEqual(split, whole) {
			t.Fatalf("%q\nin one piece   %+v\nin pieces of %d %+v", output, whole, int(size)+1, split)
		}
	})
}

// readEvents reads a stream through an sseBody, and returns what comes out and how it ended.
func readEvents(text []byte, size, limit int) (out []byte, events []sseEvent, end error) {
	keep := func(ev sseEvent) (sseEvent, bool, error) {
		if ev.name != "" || ev.hasID || ev.retry != "" || ev.data != nil {
			events = append(events, ev)
		}
		return ev, true, nil
	}
	body := newSSEBody(io.NopCloser(&pieces{text, size}), limit, keep, func(err error) { end = err })
	out, _ = io.ReadAll(body) // end says it
	return out, events, end
}

var lineEnd = regexp.MustCompile("\r\n|\r|\n")

// FuzzSSE shows that what a stream is turned into means the same, whatever ends its lines and in whatever pieces it comes.
func FuzzSSE(f *testing.F) {
	f.Add([]byte("event: message\nid: 1\nretry: 10\ndata: {\"a\":\ndata: 1}\n\n"), uint8(1))
	f.Add([]byte(": comment\r\n\r\ndata: a\r\rdata:b\n\rdata\n\n"), uint8(2))
	f.Add([]byte("\xef\xbb\xbfid\nid: \x00\nevent\n\ndata:  two spaces\n\ndata: no end"), uint8(200))
	f.Add([]byte("data: "+strings.Repeat("long ", 40)+"\n\n"), uint8(16))
	f.Add([]byte("data: []\n\nid: 1\ndata: [{},\ndata: [{}], {\"a\": 1}]\n\n"), uint8(200))
	f.Fuzz(func(t *testing.T, text []byte, size uint8) {
		const limit = 128
		out, events, end := readEvents(text, int(size)+1, limit)
		if end == nil || !errors.Is(end, io.EOF) && !errors.Is(end, errTooLarge) {
			t.Fatalf("%q: ended with %v", text, end)
		}
		for _, ev := range events {
			if len(ev.data) > limit {
				t.Fatalf("%q: an event of %d bytes", text, len(ev.data))
			}
		}
		if bytes.ContainsRune(out, '\r') {
			t.Fatalf("%q: a CR in %q", text, out)
		}
		// The prefix of a field counts towards the limit of a line.
		if _, again, _ := readEvents(out, len(out)+1, 2*limit); !reflect.DeepEqual(again, events) {
			t.Fatalf("%q: read as\n%+v, and again as\n%+v", text, events, again)
		}
		lines := lineEnd.Split(string(text), -1)
		for _, eol := range []string{"\n", "\r\n", "\r"} {
			other, _, otherEnd := readEvents([]byte(strings.Join(lines, eol)), len(text)+1, limit)
			if !bytes.Equal(other, out) || !errors.Is(otherEnd, end) {
				t.Fatalf("%q: read as\n%q (%v), with lines that end in %q as\n%q (%v)", text, out, end, eol, other, otherEnd)
			}
		}
	})
}

// FuzzReadLine shows that a line is what stands between two line ends, and never over the limit.
func FuzzReadLine(f *testing.F) {
	f.Add([]byte("a\r\nb\n\nc"), uint8(1))
	f.Add([]byte("\r\r\n"), uint8(2))
	f.Fuzz(func(t *testing.T, text []byte, size uint8) {
		const limit = 64
		r := bufio.NewReaderSize(&pieces{text, int(size) + 1}, 16)
		for want := range bytes.Lines(text) {
			line, err := readLine(r, limit)
			if len(want) > limit {
				if !errors.Is(err, errTooLarge) {
					t.Fatalf("%q: a line of %d: %v", text, len(want), err)
				}
				return
			}
			want = bytes.TrimSuffix(bytes.TrimSuffix(want, []byte("\n")), []byte("\r"))
			if err != nil || !bytes.Equal(line, want) {
				t.Fatalf("%q: %q, %v, want %q", text, line, err, want)
			}
		}
		if line, err := readLine(r, limit); !errors.Is(err, io.EOF) {
			t.Fatalf("%q: %q, %v after the end", text, line, err)
		}
	})
}

// FuzzRedirect shows that no redirect leads to another origin (PF-06).
func FuzzRedirect(f *testing.F) {
	for _, location := range []string{
		"/mcp/", "mcp?x=1", "", "//a.example/mcp", "//b.example/mcp", "https://a.example/mcp", "http://a.example:80/x", "http://a.example:8080/x",
		"HTTP://A.EXAMPLE/x", "http://user:pw@a.example/", "http://a.example@b.example/", `\\b.example\x`, "http:/x", "http:x", "javascript:alert(1)",
		"http://a.example.:80/", "http://a.example%2eb.example/", "http://a.e\u017fample/", "///b.example", "http://[::1]:80/",
	} {
		f.Add("http://a.example/mcp", location, 307, 0)
	}
	f.Add("https://k.example:443/mcp", "https://\u212a.example/", 308, 9)
	f.Add("http://[fe80::1%25en0]/mcp", "http://[fe80::1%25en1]/mcp", 302, 10)
	f.Fuzz(func(t *testing.T, base, location string, status, hop int) {
		endpoint, err := url.Parse(base)
		if err != nil || endpoint.Scheme != "http" && endpoint.Scheme != "https" || endpoint.Host == "" || endpoint.User != nil {
			t.Skip("no endpoint of ours")
		}
		next, fault := redirect(endpoint, endpoint, status, location, hop)
		switch {
		case fault != nil && next != nil, fault == nil && next == nil:
			t.Fatalf("%v and %v", next, fault)
		case fault != nil:
			if fault.Kind != KindRedirect || fault.Error() == "" {
				t.Fatalf("%+v", fault)
			}
			return
		case hop >= maxRedirects, status != 301 && status != 302 && status != 307 && status != 308:
			t.Fatalf("hop %d, status %d: followed", hop, status)
		}
		lower := func(s string) string { // as a name in a URL: other letters have no case there
			b := []byte(s)
			for i, c := range b {
				if c >= 'A' && c <= 'Z' {
					b[i] |= 0x20
				}
			}
			return string(b)
		}
		origin := func(u *url.URL) string { return fmt.Sprint(lower(u.Scheme), " ", lower(u.Hostname()), " ", port(u)) }
		if origin(next) != origin(endpoint) {
			t.Fatalf("from %s to %s", endpoint, next)
		}
	})
}
