package uritemplate_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/mcpctl/mcpctl/internal/uritemplate"
)

// TestExpand has one row of each kind in RFC 6570, 3.2, and those in which servers deviate.
func TestExpand(t *testing.T) {
	t.Parallel()
	text := func(texts ...string) uritemplate.Value { return uritemplate.Value{Texts: texts} }
	values := map[string]uritemplate.Value{
		"w": text("1024"), "h": text("768"), "path": text("/foo/bar"), "v": text("value"), "empty": text(""), "half": text("50%"),
		"done": text("a%20b"), "long": text("abcdef"), "umlaut": text("żółw"), "none": {}, "user-id": text("7"), "b.c": text("1"),
		"list": text("red", "green", "blue"),
		"keys": {Texts: []string{";", "."}, Keys: []string{"semi", "dot"}},
	}
	for template, want := range map[string]string{
		"{w,h}": "1024,768", "{path}": "%2Ffoo%2Fbar", "{+path}/here": "/foo/bar/here", "{+half}": "50%25", "{half}": "50%25",
		"{+done}": "a%20b", "{done}": "a%2520b", "{umlaut:2}": "%C5%BC%C3%B3", "{#path:6}here": "#/foo/bhere",
		"X{.list*}": "X.red.green.blue", "X{.w,empty}": "X.1024.", "{/v:1,w}": "/v/1024", "{/list*}": "/red/green/blue",
		"{;w,empty}": ";w=1024;empty", "{;list*}": ";list=red;list=green;list=blue", "{?w,empty}": "?w=1024&empty=",
		"{?list*}": "?list=red&list=green&list=blue", "?fixed=yes{&w}": "?fixed=yes&w=1024", "{list*}": "red,green,blue",
		"{list}": "red,green,blue", "{/list}": "/red,green,blue", "{?list}": "?list=red,green,blue", "{keys}": "semi,%3B,dot,.",
		"{keys*}": "semi=%3B,dot=.", "{+keys*}": "semi=;,dot=.", "{#keys}": "#semi,;,dot,.", "X{.keys*}": "X.semi=%3B.dot=.",
		"{/keys*}": "/semi=%3B/dot=.", "{;keys}": ";keys=semi,%3B,dot,.", "{?keys*}": "?semi=%3B&dot=.",
		"?fixed=yes{&keys*}": "?fixed=yes&semi=%3B&dot=.", "a{?none*}": "a", "a{?other,w}": "a?w=1024", "a b/{w}": "a%20b/1024",
		"a://{user-id}/{b.c}": "a://7/1", "a://{w}{?w}": "a://1024?w=1024",
	} {
		parsed, err := uritemplate.Parse(template)
		if err != nil {
			t.Error(template, err)
			continue
		}
		if got := parsed.Expand(values); got != want {
			t.Errorf("%s: got %s, want %s", template, got, want)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	parsed, err := uritemplate.Parse("a://{b}{/c*}{?b,d,e*}")
	if want := "[{b true false} {c true true} {d false false} {e false true}]"; err != nil || fmt.Sprint(parsed.Variables) != want {
		t.Errorf("%+v, %v; want %s", parsed, err, want)
	}
	for _, text := range []string{"a://b", ""} {
		if _, err := uritemplate.Parse(text); !errors.Is(err, uritemplate.ErrNoVariables) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"a://{", "a://{b", "a://{}", "a://{!b}", "a://}{b}", "a://{b:0}", "a://{b:x}", "a://{a,}", "a://{a b}", "a://{{a}}"} {
		if _, err := uritemplate.Parse(text); err == nil || errors.Is(err, uritemplate.ErrNoVariables) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func ExampleTemplate_Expand() {
	t, err := uritemplate.Parse("db://{table}{?limit}")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(t.Expand(map[string]uritemplate.Value{"table": {Texts: []string{"order lines"}}}))
	// Output: db://order%20lines
}
