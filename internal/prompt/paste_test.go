package prompt

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
)

// written is what a terminal was sent, for a reader beside the writer.
type written struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

func TestWhatIsPastedIsReadAndNotShown(t *testing.T) {
	t.Parallel()
	long := "http://127.0.0.1:1/callback?code=" + strings.Repeat("secret", 3000)
	for _, c := range []struct {
		typed, want string
		err         error
	}{
		{typed: "http://a/?code=secret\r", want: "http://a/?code=secret"},
		{typed: pasteBegin + "http://a/?code=secret" + pasteEnd + "\r", want: "http://a/?code=secret"},
		{typed: pasteBegin + "http://a/?code=secret\r" + pasteEnd, want: "http://a/?code=secret\n"},
		{typed: "wrong\x15http://a/?code=secret\r", want: "http://a/?code=secret"},
		{typed: long + "\r", want: long},
		{typed: "\r", want: ""},
		{typed: "abc\x03", err: ErrInterrupted},
		{typed: "\x04", err: io.EOF},
		{typed: "", err: io.EOF},
	} {
		for _, dumb := range []bool{false, true} {
			out := new(written)
			p := Paste{
				Asker:  &Asker{In: strings.NewReader(c.typed), Out: out, Allowed: true, Dumb: dumb},
				Status: func() string { return "waiting" }, Question: "or paste it",
			}
			got, err := p.Read(t.Context())
			if got != c.want || !errors.Is(err, c.err) {
				t.Errorf("%.40q: got %.40q, %v", c.typed, got, err)
			}
			if text := out.String(); strings.Contains(text, "secret") || !strings.Contains(text, "or paste it") {
				t.Errorf("%.40q: shown is %.200q", c.typed, text)
			}
		}
	}
	if _, err := (&Paste{Asker: new(Asker)}).Read(t.Context()); !errors.Is(err, ErrNobody) {
		t.Errorf("without a terminal: %v", err)
	}
}

func TestAPasteGivesWayToWhatComesFirst(t *testing.T) {
	t.Parallel()
	in, _ := io.Pipe()
	out := new(written)
	p := Paste{
		Asker:  &Asker{In: in, Out: out, Allowed: true},
		Status: func() string { return "waiting" }, Question: "or paste it",
	}
	if p.Above([]byte("before\n")) {
		t.Error("it took a line while nothing was asked")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	came := errors.New("the browser came")
	end := make(chan error, 1)
	go func() {
		_, err := p.Read(ctx)
		end <- err
	}()
	for !p.Above([]byte("a note\n")) { // until it is asked
		select {
		case err := <-end:
			t.Fatal(err)
		default:
		}
	}
	cancel(came)
	if err := <-end; !errors.Is(err, came) {
		t.Errorf("got %v", err)
	}
	if got := out.String(); !strings.Contains(got, "a note\r\n") || !strings.HasSuffix(got, eraseBelow+showCursor+pasteOff+"a note\r\n") && !strings.HasSuffix(got, eraseBelow+showCursor+pasteOff) {
		t.Errorf("shown is %q", got)
	}
}
