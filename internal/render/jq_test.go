package render

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/mcpctl/mcpctl/internal/stopwatch"
)

func TestFilter(t *testing.T) {
	doc := json.RawMessage(`{"s":"a\nb","n":12345678901234567890123,"f":0.10,"o":{"b":1,"a":"<"},"l":[1,2]}`)
	for _, c := range []struct{ filter, want string }{
		{`.s`, "a\nb\n"},
		{`.n`, "12345678901234567890123\n"},
		{`.n + 1`, "12345678901234567890124\n"},
		{`.f`, "0.10\n"},
		{`.o`, `{"a":"<","b":1}` + "\n"},
		{`.l[]`, "1\n2\n"},
		{`empty`, ""},
		{`.nothing`, "null\n"},
		{`1, halt, 2`, "1\n"},
		{`env`, "{}\n"},
	} {
		f, err := CompileFilter(c.filter)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := f.Apply(t.Context(), &b, Screen{}, doc); err != nil || b.String() != c.want {
			t.Errorf("%s: got %q, %v; want %q", c.filter, b.String(), err, c.want)
		}
	}
}

func TestAFilterThatFailsWritesNothing(t *testing.T) {
	for _, expression := range []string{`1, error("no")`, `.a.b`, `.[0]`, `"x" | halt_error`} {
		f, err := CompileFilter(expression)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := f.Apply(t.Context(), &b, Screen{}, json.RawMessage(`{"a":1}`)); err == nil || b.Len() > 0 {
			t.Errorf("%s: %v, and wrote %q", expression, err, b.String())
		}
	}
}

func TestAFilterEndsWithItsContext(t *testing.T) {
	f, err := CompileFilter(`last(range(1e18))`)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	lap := stopwatch.Start(t)
	if err := f.Apply(ctx, new(bytes.Buffer), Screen{}, json.RawMessage(`{}`)); err == nil {
		t.Error("no error")
	}
	if elapsed := lap.End(); elapsed > 2*time.Second {
		t.Errorf("it took %s", elapsed)
	}
}

func TestFiltersAreCheckedWhenTheyAreCompiled(t *testing.T) {
	for _, expression := range []string{`.[`, `nosuchfunction`, `$x`, `|`, `input`} {
		if _, err := CompileFilter(expression); err == nil {
			t.Errorf("%s: no error", expression)
		}
	}
}
