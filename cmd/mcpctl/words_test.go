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
