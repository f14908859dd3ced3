package config

import (
	"slices"
	"strings"
	"testing"
)

func TestNear(t *testing.T) {
	names := []string{"github", "gitlab", "notes", "notes-work", "search", "x"}
	tests := []struct {
		name string
		want []string
	}{
		{"githb", []string{"github"}},
		{"gihtub", []string{"github"}},
		{"GitHub", []string{"github"}},
		{"note", []string{"notes", "notes-work"}},
		{"notes_work", []string{"notes-work"}},
		{"Git-Hub", []string{"github"}},
		{"work", []string{"notes-work"}},
		{"githab", []string{"github", "gitlab"}},
		{"completely-else", nil},
		{"", nil},
		{"y", nil},
		{strings.Repeat("github", 100), nil},
	}
	for _, test := range tests {
		if got := Near(test.name, names); !slices.Equal(got, test.want) {
			t.Errorf("%.20q: got %q, want %q", test.name, got, test.want)
		}
	}
	if got := Near("server", []string{"server1", "server2", "server3", "server4"}); len(got) != nearMost {
		t.Errorf("not bounded: %q", got)
	}
}

func TestNotFoundNamesTheNearest(t *testing.T) {
	cfg := parse(t, "servers: {github: {command: x}, gitlab: {command: x}, notes: {command: x}}\n")
	for name, want := range map[string]string{
		"github2": `no server "github2"; did you mean "github"?`,
		"gitlub":  `no server "gitlub"; did you mean "github" or "gitlab"?`,
		"zzz":     `no server "zzz"`,
	} {
		if got := cfg.NotFound(name).Error(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestToolFilterAllows(t *testing.T) {
	tests := []struct {
		name             string
		include, exclude []string
		allowed, refused []string
	}{
		{"none", nil, nil, []string{"a", ""}, nil},
		{"exclude", nil, []string{"admin_*"}, []string{"a", "admin"}, []string{"admin_x"}},
		{"include", []string{"search_*", "get"}, nil, []string{"search_x", "get"}, []string{"a", "gets"}},
		{"include wins", []string{"search_*"}, []string{"search_admin"}, []string{"search_admin"}, []string{"admin"}},
		{"malformed matches nothing", []string{"["}, nil, nil, []string{"["}},
	}
	for _, test := range tests {
		f := ToolFilter{test.include, test.exclude}
		for _, name := range test.allowed {
			if !f.Allows(name) {
				t.Errorf("%s: %q is not allowed", test.name, name)
			}
		}
		for _, name := range test.refused {
			if f.Allows(name) {
				t.Errorf("%s: %q is allowed", test.name, name)
			}
		}
	}
}

func TestTargetIsQuotedForAShell(t *testing.T) {
	s := Server{Command: "npx", Args: []string{"-y", "@a/b", "~/x", "a b", "it's", "", "${T}", "a\nb'c", "*"}}
	want := `npx -y @a/b ~/x 'a b' 'it'\''s' '' '${T}' $'a\nb\'c' '*'`
	if got := s.Target(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := (Server{URL: "https://x/?a=${B}"}).Target(); got != "https://x/?a=${B}" {
		t.Error(got)
	}
}
