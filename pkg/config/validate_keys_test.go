package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// mappings returns the keys of every mapping that a file of ours may have, by the path to it: "" for an entry.
func mappings() map[string][]string {
	return map[string][]string{
		"": entryKeys(), "tls": tlsKeys(), "retry": retryKeys(), "breaker": breakerKeys(), "health": healthKeys(),
		"health.expect": expectKeys(), "smoke[0]": smokeKeys(), "smoke[0].expect": expectKeys(),
		"oauth": oauthKeys(), "oauth.idp": idpKeys(), "tools": {"include", "exclude"},
		"env": {"NAME"}, "headers": {"Name"}, "defaults": {"connect_timeout", "timeout"},
	}
}

// within returns a file with the text in the mapping at path, all of it in the third line.
func within(path, text string) string {
	if path == "defaults" {
		return "\n\ndefaults: {" + text + "}\n"
	}
	text = "{" + text + "}"
	if path != "" {
		steps := strings.Split(path, ".")
		for _, step := range slices.Backward(steps) {
			if name, ok := strings.CutSuffix(step, "[0]"); ok {
				text = fmt.Sprintf("{%s: [%s]}", name, text)
			} else {
				text = fmt.Sprintf("{%s: %s}", step, text)
			}
		}
	}
	return "servers:\n  s:\n    " + text + "\n"
}

// errorOf returns the error about a key in a file that says so, and all that is wrong with the file.
func errorOf(text, key, message string) (*Error, error) {
	cfg, err := Parse("config.yaml", []byte(text))
	if err == nil {
		err = cfg.Servers[0].Err
	}
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	for _, one := range all {
		var e *Error
		if errors.As(one, &e) && e.Key == key && strings.Contains(e.Error(), message) {
			return e, err
		}
	}
	return nil, err
}

// TestEveryKeyIsChecked goes through all keys: what is wrong with one is told with its place and its name.
func TestEveryKeyIsChecked(t *testing.T) {
	mapping := map[string]bool{"health.args": true, "smoke[0].args": true, "health.expect": true, "smoke[0].expect": true}
	for path := range mappings() {
		mapping[path] = true
	}
	for path, keys := range mappings() {
		for _, key := range keys {
			full := below(path, key)
			server := "s"
			if path == "defaults" {
				server = ""
			}
			check := func(what, text, key, marked, message string) {
				t.Helper()
				text = within(path, text)
				e, err := errorOf(text, key, message)
				if e == nil {
					t.Errorf("%s %s: no error %q about it: %v", what, key, message, err)
					return
				}
				line := strings.Split(text, "\n")[2]
				if column := strings.LastIndex(line, marked) + 1; e.File != "config.yaml" || e.Line != 3 || e.Column != column || e.Server != server {
					t.Errorf("%s %s: got %v\nwant it in column %d", what, key, e, column)
				}
			}

			wrong, marked := "{q: r}", "{q"
			switch {
			case mapping[full]:
				wrong, marked = "[q]", "[q"
			case key == "equals":
				wrong, marked = "~", "~" // all else can be expected
			}
			check("a wrong type of", key+": "+wrong, full, marked, "want ")
			check("twice", key+": 1, "+key+": 2", full, key+": 2", "is defined twice, in lines 3 and 3; keep one")
			if key == "NAME" || key == "Name" {
				continue // any name is known there
			}
			misspelt := key[:1] + key + "_"
			check("unknown", misspelt+": 1", below(path, misspelt), misspelt, fmt.Sprintf("unknown key; did you mean %q?", key))
			if full := below(path, "qqqqqq"); full != "" {
				check("unlike any", "qqqqqq: 1", full, "qqqqqq", "unknown key; known are "+keys[0]+", ")
			}
		}
	}
}
