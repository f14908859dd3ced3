package main

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/mcpctl/mcpctl/internal/iostreams"
)

func TestTheCommandsOfBROWSER(t *testing.T) {
	t.Parallel()
	spaced := filepath.Join(t.TempDir(), "my browser")
	if err := os.WriteFile(spaced, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		value string
		want  [][]string
	}{
		{"", nil},
		{" ", nil},
		{spaced, [][]string{{spaced}}},
		{"curl -sSL -o /dev/null", [][]string{{"curl", "-sSL", "-o", "/dev/null"}}},
		{"first %s:second --new-tab %s &:third", [][]string{{"first", "%s"}, {"second", "--new-tab", "%s"}, {"third"}}},
		{`curl -x http://proxy.example -A "a: b" 'c:d'`, [][]string{{"curl", "-x", "http://proxy.example", "-A", "a: b", "c:d"}}},
		{`a\:b`, [][]string{{"a:b"}}},
	} {
		got, err := browserCommands(func(string) (string, bool) { return c.value, true })
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: got %q, %v", c.value, got, err)
		}
	}
	for _, value := range []string{"firefox; rm -rf /", "a | b", `"open`} {
		if got, err := browserCommands(func(string) (string, bool) { return value, true }); err == nil {
			t.Errorf("%q: got %q", value, got)
		}
	}
	if got := browserParts(`C:\b.exe %s;D:\c.exe`, true); !reflect.DeepEqual(got, []string{`C:\b.exe %s`, `D:\c.exe`}) {
		t.Errorf("on Windows: %q", got)
	}
}

func TestWhoMayBeAskedToLogIn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name               string
		terminal           bool
		global             globalOptions
		o                  loginFlags
		asked, open, paste bool
	}{
		{name: "a terminal", terminal: true, asked: true, open: true, paste: true},
		{name: "a terminal without a browser", terminal: true, o: loginFlags{noBrowser: true}, asked: true, paste: true},
		{name: "a pipe"},
		{name: "a pipe and --browser", o: loginFlags{browser: true}, asked: true, open: true},
		{name: "a pipe and login", o: loginFlags{waits: true}, asked: true},
		{name: "a pipe and login --browser", o: loginFlags{waits: true, browser: true}, asked: true, open: true},
		{name: "a pipe and login --no-browser", o: loginFlags{waits: true, noBrowser: true}, asked: true, paste: true},
		{name: "JSON", terminal: true, global: globalOptions{json: true}},
		{name: "JSON and login", terminal: true, global: globalOptions{json: true}, o: loginFlags{waits: true}, asked: true},
		{name: "--no-input", terminal: true, global: globalOptions{noInput: true}, o: loginFlags{waits: true, browser: true}},
		{name: "the configuration on standard input", global: globalOptions{config: "-"}, o: loginFlags{waits: true, noBrowser: true}, asked: true},
	} {
		ios, _, _, _ := iostreams.Test()
		ios.SetTTY(c.terminal, c.terminal, c.terminal)
		a := newApp(process{io: ios, lookup: func(string) (string, bool) { return "", false }})
		a.global = c.global
		p := a.person(c.o)
		if c.asked != (p != nil) {
			t.Errorf("%s: asked %t", c.name, p != nil)
		}
		if p != nil && (c.open != (p.Open != nil) || c.paste != (p.Paste != nil)) {
			t.Errorf("%s: opens %t, pastes %t", c.name, p.Open != nil, p.Paste != nil)
		}
	}
}
