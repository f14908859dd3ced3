package prompt

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestConfirm(t *testing.T) {
	for _, c := range []struct {
		typed string
		want  bool
	}{
		{"y\n", true},
		{"YES\n", true},
		{" yes \r\n", true},
		{"\n", false},
		{"n\n", false},
		{"", false},
		{"yep\n", false},
		{"y", true},
	} {
		var out bytes.Buffer
		a := Asker{In: strings.NewReader(c.typed), Out: &out, Allowed: true}
		got, err := a.Confirm(t.Context(), "Remove notes?")
		if err != nil || got != c.want {
			t.Errorf("Confirm with %q typed = %v, %v; want %v", c.typed, got, err, c.want)
		}
		if want := "Remove notes? [y/N] "; out.String() != want {
			t.Errorf("asked %q, want %q", out.String(), want)
		}
	}
}

func TestNobodyIsAskedWithoutATerminal(t *testing.T) {
	var out bytes.Buffer
	a := Asker{In: strings.NewReader("y\n"), Out: &out}
	if got, err := a.Confirm(t.Context(), "?"); got || !errors.Is(err, ErrNobody) {
		t.Errorf("Confirm = %v, %v; want false, ErrNobody", got, err)
	}
	if out.Len() > 0 {
		t.Errorf("asked %q", out.String())
	}
}

func TestAQuestionEndsWithItsContext(t *testing.T) {
	in, never := io.Pipe()
	defer never.Close() //nolint:errcheck // a pipe's Close does not fail
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := Asker{In: in, Out: io.Discard, Allowed: true}
	if got, err := a.Confirm(ctx, "?"); got || !errors.Is(err, context.Canceled) {
		t.Errorf("Confirm = %v, %v; want false, canceled", got, err)
	}
}
