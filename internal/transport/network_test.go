package transport

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func encoded(status int, contentType, encoding, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", encoding)
		answer(status, contentType, body)(w, r)
	}
}

func TestEncodedAnswers(t *testing.T) {
	const good = `{"jsonrpc":"2.0","id":7,"result":{"ok":true}}`
	for name, handler := range map[string]http.HandlerFunc{
		"JSON":     encoded(200, "application/json", "gzip", gzipped(t, good)),
		"x-gzip":   encoded(200, "application/json", "X-Gzip", gzipped(t, good)),
		"stream":   encoded(200, "text/event-stream", "gzip", gzipped(t, "data: "+good+"\n\n")),
		"no type":  encoded(200, "", "gzip", gzipped(t, good)),
		"identity": encoded(200, "application/json", "identity", good),
		"error":    encoded(404, "application/json", "gzip", gzipped(t, strings.Replace(good, "result", "error", 1))),
	} {
		for _, accept := range []http.Header{nil, {"Accept-Encoding": {"br"}}} {
			if st, _, err := post(t, handler, accept); err != nil || !st.Answered {
				t.Errorf("%s: %+v, %v", name, st, err)
			}
		}
	}
	for name, tt := range map[string]struct {
		handler http.HandlerFunc
		kind    Kind
		words   string
	}{
		"plain":              {encoded(200, "application/json", "gzip", good), KindContent, `Content-Encoding says gzip but the body is not gzip (starts with "{")`},
		"plain stream":       {encoded(200, "text/event-stream", "gzip", "data: "+good+"\n\n"), KindContent, `is not gzip (starts with "d")`},
		"brotli":             {encoded(200, "application/json", "br", "\x0b"), KindContent, "the answer has the Content-Encoding br, which was not asked for"},
		"empty":              {encoded(200, "application/json", "gzip", ""), KindContent, "the answer is empty"},
		"cut short":          {encoded(200, "application/json", "gzip", gzipped(t, good)[:20]), KindSevered, "the answer broke off after"},
		"status, plain":      {encoded(502, "text/html", "gzip", "<title>Bad gateway</title>"), KindStatus, `HTTP 502 Bad Gateway: "Bad gateway"`},
		"status, compressed": {encoded(502, "text/html", "gzip", gzipped(t, "<title>Bad gateway</title>")), KindStatus, `HTTP 502 Bad Gateway: "Bad gateway"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := post(t, tt.handler, nil)
			f, ok := errors.AsType[*Fault](err)
			if !ok || f.Kind != tt.kind || !strings.Contains(f.Error(), tt.words) {
				t.Errorf("%v: %+v", err, f)
			}
		})
	}
}

// TestAcceptEncoding shows that only what can be decoded is asked for.
func TestAcceptEncoding(t *testing.T) {
	for configured, want := range map[string]string{"": "gzip", "br": "gzip", "gzip, br": "gzip", "Identity": "identity"} {
		header := http.Header{}
		if configured != "" {
			header.Set("Accept-Encoding", configured)
		}
		got := ""
		_, _, _ = post(t, func(_ http.ResponseWriter, r *http.Request) {
			got = strings.Join(r.Header.Values("Accept-Encoding"), "|")
		}, header)
		if got != want {
			t.Errorf("%q: %q is sent, want %q", configured, got, want)
		}
	}
}
