package main

import (
	"slices"
	"testing"

	"github.com/spf13/pflag"
)

func TestHabitsNameNoCommandOfOurs(t *testing.T) {
	t.Parallel()
	_, root := newTestApp(t)
	for _, h := range habits() {
		for _, c := range root.Commands() {
			if c.Name() == h.typed[0] || c.HasAlias(h.typed[0]) {
				t.Errorf("%q is refused, and a command", h.typed[0])
			}
		}
		if found, _, err := root.Find(h.meant); err != nil || found == root {
			t.Errorf("%q is to become %q, which is no command", h.typed, h.meant)
		}
	}
}

func TestAcceptedWords(t *testing.T) {
	t.Parallel()
	_, root := newTestApp(t)
	for word, want := range map[string]string{
		"ls": "list", "rm": "remove", "show": "get", "describe": "get", "status": "status",
	} {
		found, _, err := root.Find([]string{word})
		if err != nil || found.Name() != want {
			t.Errorf("%q is %v, %v; want %s", word, found.Name(), err, want)
		}
	}
	for command, flags := range acceptedFlags() {
		found, _, err := root.Find([]string{command})
		if err != nil {
			t.Fatal(err)
		}
		for flag := range flags {
			if f := found.Flags().Lookup(flag); f == nil || !f.Hidden {
				t.Errorf("%s has no hidden flag --%s", command, flag)
			}
		}
	}
}

func TestHabitOfCallIsNoFlagOfOurs(t *testing.T) {
	t.Parallel()
	_, root := newTestApp(t)
	call, _, err := root.Find([]string{"call"})
	if err != nil {
		t.Fatal(err)
	}
	call.Flags().VisitAll(func(f *pflag.Flag) {
		if slices.Contains(wholeObject(), f.Name) {
			t.Errorf("--%s is refused, and a flag", f.Name)
		}
	})
}

func TestNameFor(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://search.example/mcp":         "search",
		"https://mcp.linear.app/sse":         "linear",
		"https://api.githubcopilot.com/mcp/": "githubcopilot",
		"http://localhost:3000/mcp":          "local",
		"http://127.0.0.1:3000/mcp":          "local",
		"http://[::1]:3000/mcp":              "local",
		"http://mcp/":                        "NAME",
	} {
		if got := nameFor(address); got != want {
			t.Errorf("nameFor(%q) = %q, want %q", address, got, want)
		}
	}
}

func TestVariableFor(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"gh", "Authorization", "GH_TOKEN"},
		{"my-server", "X-Api-Key", "MY_SERVER_X_API_KEY"},
		{"7seas", "api_key", "MCP_API_KEY"},
	} {
		if got := variableFor(c[0], c[1]); got != c[2] {
			t.Errorf("variableFor(%q, %q) = %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

func TestSplitCommand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want []string
	}{
		{"npx -y server", []string{"npx", "-y", "server"}},
		{`a "b c" 'd e' f\ g ""`, []string{"a", "b c", "d e", "f g", ""}},
		{`a "x'y" 'p"q' a"b"c`, []string{"a", "x'y", `p"q`, "abc"}},
		{`a $HOME/x "${TOKEN}" ${A:-b}`, []string{"a", "${HOME}/x", "${TOKEN}", "${A:-b}"}},
		{`a '$HOME' "\$x" \$y`, []string{"a", "$$HOME", "$$x", "$$y"}},
		{`a "b\"c\\d\e"`, []string{"a", `b"c\d\e`}},
		{`~/bin/server --glob *.go {a,b}`, []string{"~/bin/server", "--glob", "*.go", "{a,b}"}},
		{"a  \t b\n", []string{"a", "b"}},
		{"", nil},
	} {
		got, err := splitCommandOn(c.text, false)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("splitCommand(%q) = %q, %v; want %q", c.text, got, err, c.want)
		}
	}
	for text, want := range map[string][]string{
		`C:\bin\a.exe "D:\My Files\x" 'E:\y z' --n \\host\share`: {`C:\bin\a.exe`, `D:\My Files\x`, `E:\y z`, "--n", `\\host\share`},
		`a "say \"hi\""`: {"a", `say "hi"`},
		`a "it's C:\x"`:  {"a", `it's C:\x`},
	} {
		if got, err := splitCommandOn(text, true); err != nil || !slices.Equal(got, want) {
			t.Errorf("on Windows %q is %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"a | b", "a; b", "a && b", "a > f", "$(a)", "`a`", "'a", `"a`, "a $((1+1))", "$'a'"} {
		if got, err := splitCommand(text); err == nil {
			t.Errorf("splitCommand(%q) = %q, want an error", text, got)
		}
	}
}

func TestParseHeader(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][2]string{
		"X-Key: a":                   {"X-Key", "a"},
		"X-Key:a:b":                  {"X-Key", "a:b"},
		"X-Empty:":                   {"X-Empty", ""},
		"Authorization: Bearer ${T}": {"Authorization", "Bearer ${T}"},
	} {
		name, value, err := parseHeader(in)
		if err != nil || name != want[0] || value != want[1] {
			t.Errorf("parseHeader(%q) = %q, %q, %v", in, name, value, err)
		}
	}
	for _, in := range []string{"", "X-Key", ": a", "X Key: a", "Authorization: Bearer ", "Authorization: basic", "X: a\r\nY: b"} {
		if name, value, err := parseHeader(in); err == nil {
			t.Errorf("parseHeader(%q) = %q, %q, want an error", in, name, value)
		}
	}
}

func TestOutputIsJSONWhereverTheWordStands(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want bool
	}{
		{[]string{"list", "-o", "json"}, true},
		{[]string{"-ojson", "list"}, true},
		{[]string{"list", "--output=json"}, true},
		{[]string{"list", "--json"}, true},
		{[]string{"list", "--nonsense", "-q", ".x"}, true},
		{[]string{"list", "--jq=.x"}, true},
		{[]string{"list", "-o", "text"}, false},
		{[]string{"call", "demo", "echo", "output=json"}, false},
		{[]string{"tools", "--", "server", "-o", "json"}, false},
		{nil, false},
	} {
		a, _ := newTestApp(t, c.args...)
		if got := a.json(); got != c.want {
			t.Errorf("%q: %v, want %v", c.args, got, c.want)
		}
	}
}
