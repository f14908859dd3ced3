package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// TestValuesOfArgumentsAreCompleted holds what is offered behind key=, and which keys are.
func TestValuesOfArgumentsAreCompleted(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","required":["sort"],"properties":{
		"sort": {"enum": ["new", "old", "@me", 1], "default": "old"},
		"deep": {"type": "boolean", "description": "Everything below"},
		"maybe": {"type": ["boolean", "null"]},
		"size": {"oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]},
		"tags": {"type": "array", "items": {"enum": ["a", "b"]}},
		"filter": {"type": "object", "properties": {"state": {"enum": ["open", "closed"]}, "limit": {"type": "integer"}}},
		"ref": {"$ref": "#/$defs/level"},
		"text": {"type": "string"}, "a.b": {"type": "string"}, "-x": {"type": "string"}},
		"$defs": {"level": {"enum": ["low", "high"]}}}`)
	for _, c := range []struct{ given, word, want string }{
		{"", "", "sort= deep= maybe= size= tags= filter.state= filter.limit= ref= text="},
		{"sort=new tags=a text:=1", "", "deep= maybe= size= tags= filter.state= filter.limit= ref="},
		{"", "sort=", "sort=new sort=old:the_default sort=@@me sort=1"},
		{"", "sort:=", `sort:="new" sort:="old":the_default sort:="@me" sort:=1`},
		{"", "deep=", "deep=true deep=false"},
		{"", "maybe=", "maybe=true maybe=false maybe=null"},
		{"", "size=", "size=s:Small size=l:Large"},
		{"", "tags=", "tags=a tags=b"},
		{"", "tags[]=", "tags[]=a tags[]=b"},
		{"", "tags:=", ""},
		{"", "tags[]:=", `tags[]:="a" tags[]:="b"`},
		{"", "filter.state=", "filter.state=open filter.state=closed"},
		{"", "ref=", "ref=low ref=high"},
		{"", "text=", ""},
		{"", "nothing=", ""},
	} {
		words, _ := completeArgument(schema, strings.Fields(c.given), c.word)
		var got []string
		for _, w := range words {
			word, about, _ := strings.Cut(w, "\t")
			if about != "" && c.word != "" {
				word += ":" + strings.ReplaceAll(about, " ", "_")
			}
			got = append(got, word)
		}
		if want := strings.Fields(c.want); !slices.Equal(got, want) {
			t.Errorf("after %q, %q: %q, want %q", c.given, c.word, got, want)
		}
	}
	if words, _ := completeArgument(json.RawMessage(`null`), nil, ""); len(words) > 0 {
		t.Errorf("%q", words)
	}
}
