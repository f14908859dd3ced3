package baseline

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestFile shows what a file looks like, that it is read back as it was, and that it is written in place of another.
func TestFile(t *testing.T) {
	o, problems := NewOffer(map[Kind][]json.RawMessage{
		Tools: {
			json.RawMessage(`{"name":"b","inputSchema":{"type":"object","properties":{"n":{"maximum":12345678901234567890.50}}}}`),
			json.RawMessage("{\"name\":\"a\",\"description\":\"<b>\u200b\U000e0041 hunter2\"}"),
		},
		Prompts: {},
	}, func(s string) string { return strings.ReplaceAll(s, "hunter2", "***") })
	if problems != nil {
		t.Fatal(problems)
	}
	const want = `{
  "prompts": [],
  "tools": [
    {
      "description": "<b>\u200b\udb40\udc41 ***",
      "name": "a"
    },
    {
      "inputSchema": {
        "properties": {
          "n": {
            "maximum": 12345678901234567890.50
          }
        },
        "type": "object"
      },
      "name": "b"
    }
  ],
  "version": 1
}
`
	one := &File{One: o}
	if got := string(one.Encode()); got != want {
		t.Errorf("got %s", got)
	}
	if got := o.Counts(); got != "2 tools, 0 prompts" {
		t.Error(got)
	}
	path := filepath.Join(t.TempDir(), "b.json")
	if err := os.WriteFile(path, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	for _, f := range []*File{one, {Servers: map[string]Offer{"x": o, "y": {}}}} {
		if err := f.Save(path); err != nil {
			t.Fatal(err)
		}
		got, err := Load(path)
		if err != nil || !reflect.DeepEqual(got, f) {
			t.Errorf("%v\n got %+v\nwant %+v", err, got, f)
		}
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
	if _, err := Load(filepath.Join(t.TempDir(), "gone.json")); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "gone.json") {
		t.Error(err)
	}
	if err := one.Save(filepath.Join(t.TempDir(), "no", "b.json")); err == nil {
		t.Error("written into a directory that is not there")
	}
}

// TestNewOffer shows that definitions which cannot be told apart are left out, and hide no others.
func TestNewOffer(t *testing.T) {
	o, problems := NewOffer(map[Kind][]json.RawMessage{
		Tools: {
			json.RawMessage(`{"name":"a"}`), json.RawMessage(`{"name":"b"}`), json.RawMessage(`{"name":5}`), json.RawMessage(`7`),
			json.RawMessage(`{"name":"b"}`), json.RawMessage(`{"name":"b"}`),
		},
		Prompts: {json.RawMessage(`{"name":"p"}`)},
	}, nil)
	if want := (Offer{Tools: {"a": map[string]any{"name": "a"}}, Prompts: {"p": map[string]any{"name": "p"}}}); !reflect.DeepEqual(o, want) {
		t.Errorf("got %v", o)
	}
	var got []string
	for _, p := range problems {
		got = append(got, strings.TrimSpace(p.Error()+" "+p.Name))
	}
	if want := []string{"tool 3 has no name", "tool 4 is not an object", "two tools are called b b"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
}

// TestParseIsStrict shows that what is no baseline is not taken for an empty one.
func TestParseIsStrict(t *testing.T) {
	for text, want := range map[string]string{
		``:                                     "it is not a JSON object",
		`[]`:                                   "it is not a JSON object",
		`{}`:                                   "it has no version",
		`{"version":"1"}`:                      "its version is not a number",
		`{"version":2}`:                        "is of version 2, and this mcpctl reads version 1",
		`{"version":1,"tool":[]}`:              `unknown key "tool"`,
		`{"version":1,"tools":{}}`:             "tools is not a list",
		`{"version":1,"tools":[7]}`:            "tool 1 is not an object",
		`{"version":1,"resources":[{"u":""}]}`: "resource 1 has no uri",
		`{"version":1,"prompts":[{"name":"a"},{"name":"a"}]}`: "two prompts are called a",
		`{"version":1,"servers":[]}`:                          "more than an object of servers",
		`{"version":1,"servers":{},"tools":[]}`:               "more than an object of servers",
		`{"version":1,"servers":{"a":7}}`:                     "server a: is not an object",
		`{"version":1,"servers":{"a":{"tols":[]}}}`:           `server a: unknown key "tols"`,
		`{"version":1} {}`:                                    "it is not a JSON object",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n got %v\nwant %s", text, err, want)
		}
	}
}
