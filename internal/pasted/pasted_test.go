package pasted

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestSplit(t *testing.T) {
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
		got, err := splitOn(c.text, false)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("Split(%q) = %q, %v; want %q", c.text, got, err, c.want)
		}
	}
	for text, want := range map[string][]string{
		`C:\bin\a.exe "D:\My Files\x" 'E:\y z' --n \\host\share`: {`C:\bin\a.exe`, `D:\My Files\x`, `E:\y z`, "--n", `\\host\share`},
		`a "say \"hi\""`: {"a", `say "hi"`},
		`a "it's C:\x"`:  {"a", `it's C:\x`},
	} {
		if got, err := splitOn(text, true); err != nil || !slices.Equal(got, want) {
			t.Errorf("on Windows %q is %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"a | b", "a; b", "a && b", "a > f", "$(a)", "`a`", "'a", `"a`, "a $((1+1))", "$'a'"} {
		if got, err := Split(text); err == nil {
			t.Errorf("Split(%q) = %q, want an error", text, got)
		}
	}
}

func TestHeader(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][2]string{
		"X-Key: a":                   {"X-Key", "a"},
		"X-Key:a:b":                  {"X-Key", "a:b"},
		"X-Empty:":                   {"X-Empty", ""},
		"Authorization: Bearer ${T}": {"Authorization", "Bearer ${T}"},
	} {
		name, value, err := Header(in)
		if err != nil || name != want[0] || value != want[1] {
			t.Errorf("Header(%q) = %q, %q, %v", in, name, value, err)
		}
	}
	for _, in := range []string{"", "X-Key", ": a", "X Key: a", "Authorization: Bearer ", "Authorization: basic", "X: a\r\nY: b"} {
		if name, value, err := Header(in); err == nil {
			t.Errorf("Header(%q) = %q, %q, want an error", in, name, value)
		}
	}
}

func TestNameForURL(t *testing.T) {
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
		if got := NameForURL(address); got != want {
			t.Errorf("NameForURL(%q) = %q, want %q", address, got, want)
		}
	}
}

// TestServers holds what each kind of text becomes: NAME, and the URL or the command, with variables and headers.
func TestServers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://search.example/mcp":                                       " https://search.example/mcp",
		"$ npx -y @scope/server-notes ~/notes":                             " npx -y @scope/server-notes ~/notes",
		"TOKEN=x DEBUG=1 npx server":                                       " npx server DEBUG=1 TOKEN=x",
		"env A=b uvx mcp-server-git":                                       " uvx mcp-server-git A=b",
		`{"mcpServers":{"n":{"command":"npx","args":["s"]}}}`:              "n npx s",
		`"n": {"url": "https://h/mcp"},`:                                   "n https://h/mcp",
		`{"url": "https://h/mcp", "headers": {"X-Key": "${K}"}}`:           " https://h/mcp X-Key=${K}",
		`{"mcp":{"n":{"type":"local","command":["c","a"]}}}`:               "n c a",
		`{"mcp":{"servers":{"n":{"command":"c"}}}}`:                        "n c",
		"```json\n{\"mcpServers\":{\"n\":{\"url\":\"https://h/\"}}}\n```":  "n https://h/",
		"```sh\nnpx -y server\n```":                                        " npx -y server",
		"claude mcp add --transport http n https://h/mcp -H 'X-Key: ${K}'": "n https://h/mcp X-Key=${K}",
		"claude mcp add n -s user -e A=b -- npx -y server":                 "n npx -y server A=b",
		`claude mcp add-json n '{"command":"c"}'`:                          "n c",
		"gemini mcp add n npx server --trust":                              "n npx server",
		"codex mcp add n --url https://h/mcp --bearer-token-env-var T":     "n https://h/mcp Authorization=Bearer ${T}",
		`code --add-mcp '{"name":"n","command":"c"}'`:                      "n c",
		"mcpctl add n https://h/mcp":                                       "n https://h/mcp",
		`{"mcpServers":{"a":{"command":"c"},"b":{"url":"https://h/"}}}`:    "a c|b https://h/",
		"":                      "error: a URL, or a command line, is wanted",
		"ws://h/":               "error: the URL of a server begins with http:// or https://",
		"mcp.example/sse":       "error: for a URL, write https:// before it",
		"a | b":                 "error: one command is started, without a shell: no ; | & < > ( )",
		"{}":                    "error: no server in it",
		"A=b":                   "error: no command",
		"claude mcp add n":      "error: a name, and a URL or a command, are wanted",
		"claude mcp add -e A=b": "error: a name, and a URL or a command, are wanted",
		"claude mcp add -e":     "error: -e: nothing after it",
	} {
		found, err := Servers(text)
		var got []string
		for _, s := range found {
			words := append([]string{s.Name}, s.Command, s.URL)
			words = append(words, s.Args...)
			for _, values := range []map[string]string{s.Env, s.Headers} {
				for _, name := range slices.Sorted(maps.Keys(values)) {
					words = append(words, name+"="+values[name])
				}
			}
			got = append(got, words[0]+" "+strings.Join(slices.DeleteFunc(words[1:], func(w string) bool { return w == "" }), " "))
		}
		if err != nil {
			got = []string{"error: " + err.Error()}
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%s\n is %q, want %q", text, strings.Join(got, "|"), want)
		}
	}
}

// TestCommandLineIsReadBack: what is offered for editing means the same when it is read again.
func TestCommandLineIsReadBack(t *testing.T) {
	t.Parallel()
	for _, words := range [][]string{{"npx", "a b", `c"d`, "it's", `e\f`, "`g`"}, {"x", "${HOME}/y", "$$1", "${A:-b c}", ""}} {
		s, err := Target(CommandLine(words))
		if err != nil || s.Command != words[0] || !slices.Equal(s.Args, words[1:]) {
			t.Errorf("%q becomes %q: %q %q, %v", words, CommandLine(words), s.Command, s.Args, err)
		}
	}
}

func TestSuggestName(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"npx -y @modelcontextprotocol/server-filesystem /tmp": "filesystem",
		"uvx mcp-server-git": "git",
		"docker run -i --rm -e TOKEN ghcr.io/x/notes-mcp:1.2": "notes",
		"python -m my_server":        "my_server",
		"/opt/bin/notes.sh":          "notes",
		"https://mcp.linear.app/sse": "linear",
		"http://mcp/":                "server",
	} {
		s, err := Target(text)
		if err != nil {
			t.Error(text, err)
			continue
		}
		if got := SuggestName(s, func(name string) bool { return name == "git" }); got != want && got != want+"-2" {
			t.Errorf("%s is suggested as %q, want %q", text, got, want)
		}
	}
}

func TestUnfinished(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{`: true, `{"a": "}`: true, `{"a": {}}`: false, "```json": true, "```\n{}\n```": false, "// c": true, "npx {": false, `"n": {`: true, "": false,
	} {
		if got := Unfinished(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// FuzzServers: no text breaks the reading, and what is read is a server, or an error.
func FuzzServers(f *testing.F) {
	for _, text := range []string{"https://h/mcp", "A=b npx s", `{"mcpServers":{"n":{"command":"c"}}}`, "claude mcp add n -- c", "```\n{\n```", `"n": {`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		found, err := Servers(text)
		if err == nil && len(found) == 0 {
			t.Errorf("%q is nothing", text)
		}
	})
}
