package render

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestMessages(t *testing.T) {
	text := func(role, text string) string {
		return `{"role":"` + role + `","content":{"type":"text","text":"` + text + `"}}`
	}
	for _, tt := range []struct{ raw, pipe, terminal string }{
		{`{"messages":[` + text("user", `a\u001b[2Jb`) + `]}`, "a\x1b[2Jb", "user:\nab\n"},
		{
			`{"description":"All of it","messages":[` + text("user", "a") + `,` + text("assistant", `b\n`) + `]}`,
			"user:\na\n\nassistant:\nb\n", "All of it\n\nuser:\na\n\nassistant:\nb\n",
		},
		{
			`{"messages":[{"role":"us\u001b[31mer","content":[{"type":"text","text":"a"},{"type":"resource_link","uri":"a://b","name":"n"}]}]}`,
			"a\n[link n a://b]\n", "user:\na\n[link n a://b]\n",
		},
		{`{"messages":[{"content":"bare"}]}`, "bare", "message:\nbare\n"},
		{`{"messages":[]}`, "", ""},
	} {
		m, err := ParseMessages(json.RawMessage(tt.raw))
		if err != nil {
			t.Error(tt.raw, err)
			continue
		}
		var pipe, terminal bytes.Buffer
		if err := m.Write(&pipe, Screen{}); err != nil || pipe.String() != tt.pipe {
			t.Errorf("%s\n got %q, %v\nwant %q", tt.raw, pipe.String(), err, tt.pipe)
		}
		if err := m.Write(&terminal, Screen{Terminal: true, Width: 40}); err != nil || terminal.String() != tt.terminal {
			t.Errorf("%s\n got %q, %v\nwant %q", tt.raw, terminal.String(), err, tt.terminal)
		}
	}
	for _, raw := range []string{`null`, `[]`, `{}`, `{"messages":null}`, `{"messages":{}}`} {
		if _, err := ParseMessages(json.RawMessage(raw)); err == nil {
			t.Errorf("%s: no error", raw)
		}
	}
}

func TestMessagesAreCut(t *testing.T) {
	const raw = `{"messages":[{"role":"user","content":{"type":"text","text":"héllo"}},` +
		`{"role":"user","content":{"type":"image","mimeType":"image/png","data":"AAAAAAAA"}},{"role":"user","content":"bare"}]}`
	m, err := ParseMessages(json.RawMessage(raw))
	if err != nil {
		t.Fatal(err)
	}
	if fromText, fromRaw := m.Truncate(7); fromText != 2 || fromRaw != 10 {
		t.Errorf("%d, %d: %s", fromText, fromRaw, m.Raw)
	}
	var b bytes.Buffer
	const want = "user:\nhéllo\n\nuser:\n[image image/png, 6 bytes; --save DIR saves it]\n\nuser:\nba\n"
	if err := m.Write(&b, Screen{}); err != nil || b.String() != want {
		t.Errorf("%q, %v", b.String(), err)
	}
}

func FuzzMessages(f *testing.F) {
	f.Add([]byte(`{"messages":[{"role":"user","content":{"type":"text","text":"x"}},{"content":"y"},7]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := ParseMessages(raw)
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := m.Write(&b, Screen{Terminal: true, Width: 20}); err != nil {
			t.Error(err)
		}
		if bytes.ContainsAny(b.Bytes(), "\x1b\r") {
			t.Errorf("%q acts on a terminal", b.String())
		}
		if m.Truncate(3); !json.Valid(m.Raw) {
			t.Errorf("cut to %s", m.Raw)
		}
	})
}

func TestPage(t *testing.T) {
	var b bytes.Buffer
	p := Page{
		Name: "a://\x1b[2Jb", Title: "A title", Description: "Some words that are more than fits on a line of forty.\n\n- an item that hangs when it goes on below",
		Facts: []Fact{{"type", "text/plain"}, {"meant for", "user"}}, Heading: "Variables:",
		Arguments: []Fact{{"n", "short"}, {"path", "a text that is too long for what is left of the line"}, {"bare", ""}}, Example: "mcpctl read x",
	}
	const want = `a://b  A title

Some words that are more than fits on a
line of forty.

- an item that hangs when it goes on
  below

type       text/plain
meant for  user

Variables:
  n  short
  path
      a text that is too long for what
      is left of the line
  bare

Example:
  mcpctl read x
`
	if err := p.Write(&b, Screen{Terminal: true, Width: 40}); err != nil || b.String() != want {
		t.Errorf("%v\n%s", err, b.String())
	}
}
