package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/internal/uritemplate"
	"github.com/mcpctl/mcpctl/pkg/session"
)

// TestTemplatesAreFilledIn holds which variables may be left out, and what words may give them.
func TestTemplatesAreFilledIn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		template string
		words    []string
		want     string // or what the error says
	}{
		{"a://{b}", []string{"b=x y/z"}, "a://x%20y%2Fz"},
		{"a://{+b}", []string{"b=x/y"}, "a://x/y"},
		{"file:///{path}", []string{"path=ż"}, "file:///%C5%BC"},
		{"a://b{/c,d}", []string{"c=1", "d=2"}, "a://b/1/2"},
		{"a://b{/c*}", []string{"c=1", "c=2"}, "a://b/1/2"},
		{"a://b{/c*}", []string{"c=1"}, "a://b/1"},
		{"a://b{?q,limit}", []string{"q=x&y"}, "a://b?q=x%26y"},
		{"a://b{?q,limit}", nil, "a://b"},
		{"a://{b:3}", []string{"b=abcdef"}, "a://abc"},
		{"a://{b}/{b}", []string{"b=1"}, "a://1/1"},
		{"a://{b.c}", []string{"b.c=1"}, "a://1"},
		{"{x}", []string{`x:=["red","green","blue"]`}, "red,green,blue"},
		{"{x*}", []string{`x:={"semi":";","dot":"."}`}, "semi=%3B,dot=."},
		{"{;x*}", []string{"x=red", "x=green"}, ";x=red;x=green"},
		{"{x}", []string{`x:={"n":1}`}, "must be a string"},
		{"{x}", []string{`x:=[1]`}, "must be a string"},
		{"a b/{x}", []string{"x=1"}, "a%20b/1"},
		{"a://{user-id}", []string{"user-id=7"}, "a://7"},
		{"a://{b}{?b}", nil, "missing required argument b"},
		{"a://{b}", nil, "missing required argument b"},
		{"a://{b}", []string{"b="}, "a://"},
		{"a://{b}", []string{"b=1", "c=2"}, "unknown argument c"},
		{"a://{b}", []string{"b=1", "b=2"}, "given twice"},
		{"a://{b}", []string{"b:=1"}, "must be a string"},
	} {
		u, err := parseTemplate(tt.template)
		if err != nil {
			t.Error(tt.template, err)
			continue
		}
		given, err := toolargs.Build(toolargs.Input{Words: tt.words, Schema: u.schema()})
		if err == nil {
			err = u.check(given)
		}
		got := ""
		if err == nil {
			got, err = u.expand(given)
		}
		if err != nil {
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s %q: %v, want %s", tt.template, tt.words, err, tt.want)
			}
			continue
		}
		if got != tt.want {
			t.Errorf("%s %q: got %s, want %s", tt.template, tt.words, got, tt.want)
		}
	}
	if _, err := parseTemplate("a://b"); !errors.Is(err, uritemplate.ErrNoVariables) {
		t.Error(err)
	}
}

func FuzzParseTemplate(f *testing.F) {
	f.Add("a://{b}{?c*,d:3}", "x")
	f.Fuzz(func(t *testing.T, text, value string) {
		u, err := parseTemplate(text)
		if err != nil {
			return
		}
		values := map[string]string{}
		for _, v := range u.variables {
			values[v.Name] = value
		}
		given, err := json.Marshal(values)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(u.schema()) {
			t.Errorf("%q has the schema %s", text, u.schema())
		}
		_, _ = u.expand(given) // whatever comes of it
	})
}

// FuzzListing holds that no entry of a list breaks the reading of it, and that what is read can be found.
func FuzzListing(f *testing.F) {
	f.Add([]byte(`{"uri":"a","size":1e3,"annotations":{"audience":["user"],"priority":0.5},"arguments":[{"name":"x","required":true}]}`))
	f.Fuzz(func(t *testing.T, item []byte) {
		for _, k := range []kind{resourceKind(), templateKind(), promptKind()} {
			l := readListing(session.List{Items: []json.RawMessage{item}}, k)
			if len(l.items)+len(l.problems) != 1 {
				t.Errorf("%s: %d items, %q", item, len(l.items), l.problems)
			}
			for _, i := range l.items {
				if found, ok := l.find(i.id); !ok || found.id != i.id {
					t.Errorf("%q is not found", i.id)
				}
				if !json.Valid(textSchema(i.arguments, nil)) {
					t.Errorf("%s has the schema %s", item, textSchema(i.arguments, nil))
				}
			}
		}
	})
}

func TestALongListIsReadInNoTime(t *testing.T) {
	var list session.List
	for i := range 5000 {
		list.Items = append(list.Items, json.RawMessage(fmt.Sprintf(`{"uri":"a://%d","name":"n%d"}`, i, i)))
	}
	l := readListing(list, resourceKind())
	if _, ok := l.find("a://4999"); !ok || len(l.items) != 5000 || len(l.problems) != 0 || len(l.mentioning("N49").items) != 111 {
		t.Errorf("%d items, %q, %d with N49", len(l.items), l.problems, len(l.mentioning("N49").items))
	}
}

func TestConcerns(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		told, watched string
		want          bool
	}{
		{"a://b", "a://b", true},
		{"a://b/c", "a://b", true},
		{"a://b", "a://b/", true},
		{"a://b/c", "a://b/", true},
		{"a://bc", "a://b", false},
		{"a://", "a://b", false},
		{"", "a://b", false},
	} {
		if got := concerns(tt.told, tt.watched); got != tt.want {
			t.Errorf("%q concerns %q: %v", tt.told, tt.watched, got)
		}
	}
}

func TestParseCompletion(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"completion":{"values":["a","b"],"total":5,"hasMore":true}}`: "[a b] 5 true",
		`{"completion":{"values":[]}}`:                                 "[] -1 false",
		`{"completion":{"values":["a"],"total":"x","hasMore":"true"}}`: "[a] -1 false",
		`{"completion":{"values":null}}`:                               "it has no completion.values",
		`{"completion":{}}`:                                            "it has no completion.values",
		`{}`:                                                           "it has no completion.values",
		`{"completion":{"values":[1]}}`:                                "completion.values is not a list of texts",
		`[]`:                                                           "it has no list of texts as completion.values",
	} {
		c, err := parseCompletion(json.RawMessage(raw))
		got := fmt.Sprint(c.values, c.total, c.more)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", raw, got, want)
		}
	}
}
