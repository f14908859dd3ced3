package config

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpctl/mcpctl/internal/stopwatch"
)

// edited returns text after a change, or the error.
func edited(text string, change func(*Document) error) (string, error) {
	d, err := newDocument("config.yaml", text)
	if err != nil {
		return "", err
	}
	if err := change(d); err != nil {
		return d.text, err
	}
	return d.text, nil
}

// handWritten has what people write and tools lose.
const handWritten = `# My servers. Ask before you add one.

version: 1
defaults:            # for every server
    timeout: 5m

# --- the list ---
servers:   # sorted by use

    # notes of the team
    notes:
        command: npx
        args: [-y, "@modelcontextprotocol/server-filesystem",   ~/notes]   # keep -y
        # trailing comment of notes

    # search,
    # since May
    search: &search
        url: 'https://search.example/mcp'   # production

        headers:
            # from the vault
            Authorization: "Bearer ${SEARCH_TOKEN}"
        timeout: 30   # seconds
    # a comment on its own

    short: {url: "https://short.example/mcp"}
    copy:
        <<: *search
        url: https://copy.example/mcp

# the end
`

func TestEditsTouchOnlyTheirLines(t *testing.T) {
	replace := func(old, replacement string) string {
		if strings.Count(handWritten, old) != 1 {
			t.Fatalf("%q is not there once", old)
		}
		return strings.Replace(handWritten, old, replacement, 1)
	}
	tests := []struct {
		name   string
		change func(*Document) error
		want   string
	}{
		{
			"disable", func(d *Document) error { return d.SetEnabled("notes", false) },
			replace("# keep -y\n", "# keep -y\n        enabled: false\n"),
		},
		{
			"disable a flow entry", func(d *Document) error { return d.SetEnabled("short", false) },
			replace(`short.example/mcp"}`, `short.example/mcp", enabled: false}`),
		},
		{
			"disable and enable", func(d *Document) error {
				return errors.Join(d.SetEnabled("notes", false), d.SetEnabled("notes", true))
			},
			handWritten,
		},
		{
			"enable what is enabled", func(d *Document) error { return d.SetEnabled("notes", true) },
			handWritten,
		},
		{
			"remove the first", func(d *Document) error { return d.Remove("notes") },
			replace(`    # notes of the team
    notes:
        command: npx
        args: [-y, "@modelcontextprotocol/server-filesystem",   ~/notes]   # keep -y
        # trailing comment of notes

`, ""),
		},
		{
			"remove the last", func(d *Document) error { return d.Remove("copy") },
			replace("    copy:\n        <<: *search\n        url: https://copy.example/mcp\n", ""),
		},
		{
			"add", func(d *Document) error {
				return d.Add(Server{
					Name: "new", Command: "npx", Args: []string{"-y", "@a/b", "8080", "yes", "a b", `C:\x`, "~", "--k=v", "${T}", ""},
					Env: map[string]string{"B": "${B}", "A": "null"}, Cwd: "~/w", Enabled: true, ConnectTimeout: 2 * time.Minute,
				})
			},
			replace("copy.example/mcp\n", `copy.example/mcp
    new:
        command: npx
        args: [-y, "@a/b", "8080", "yes", "a b", 'C:\x', "~", --k=v, "${T}", ""]
        env: {A: "null", B: "${B}"}
        cwd: ~/w
        connect_timeout: 2m
`),
		},
		{
			"add every HTTP key", func(d *Document) error {
				return d.Add(Server{
					Name: "8080", URL: "https://x.example/mcp?a=b&c=${C}", Headers: map[string]string{"Authorization": "Bearer ${T}"},
					Transport: TransportSSE, Protocol: "2025-11-25", Timeout: 90 * time.Second, Wait: time.Second, SessionWait: time.Hour,
					SkipPreflight: true, Tools: ToolFilter{Include: []string{"a_*"}, Exclude: []string{"a_b"}},
				})
			},
			replace("copy.example/mcp\n", `copy.example/mcp
    "8080":
        url: "https://x.example/mcp?a=b&c=${C}"
        headers: {Authorization: "Bearer ${T}"}
        transport: sse
        protocol: 2025-11-25
        enabled: false
        timeout: 1m30s
        wait: 1s
        session_wait: 1h
        skip_preflight: true
        tools: {include: ["a_*"], exclude: [a_b]}
`),
		},
		{
			"replace changes the keys that differ", func(d *Document) error {
				s, _ := d.Server("notes")
				s.Args = []string{"other"}
				s.Timeout = time.Minute
				s.Set("timeout", Source{Kind: "flag", Detail: "--timeout"})
				return d.Replace(s)
			},
			replace(`[-y, "@modelcontextprotocol/server-filesystem",   ~/notes]   # keep -y`, "[other] # keep -y\n        timeout: 1m"),
		},
		{
			"replace a value with a comment", func(d *Document) error {
				s, _ := d.Server("short")
				s.Timeout = time.Second
				return errors.Join(d.Replace(s), func() error {
					s, _ := d.Server("notes")
					s.Env = map[string]string{"A": "b"}
					return d.Replace(s)
				}())
			},
			strings.Replace(replace(`short.example/mcp"}`, `short.example/mcp", timeout: 1s}`), "# keep -y\n", "# keep -y\n        env: {A: b}\n", 1),
		},
		{
			"replace keeps the comment of a value", func(d *Document) error {
				s, _ := d.Server("notes")
				s.Command = "node"
				return d.Replace(s)
			},
			replace("command: npx", "command: node"),
		},
		{
			"replace by another kind", func(d *Document) error {
				return d.Replace(Server{Name: "notes", URL: "https://n.example/", Enabled: true})
			},
			replace(`        command: npx
        args: [-y, "@modelcontextprotocol/server-filesystem",   ~/notes]   # keep -y
`, "        url: https://n.example/\n"),
		},
		{
			"replace with the same", func(d *Document) error { s, _ := d.Server("search"); return d.Replace(s) },
			handWritten,
		},
		{
			"replace what was merged", func(d *Document) error {
				s, _ := d.Server("copy")
				s.Headers["X-New"] = "a, b"
				return d.Replace(s)
			},
			replace("        <<: *search\n        url: https://copy.example/mcp\n",
				"        url: https://copy.example/mcp\n        headers: {Authorization: \"Bearer ${SEARCH_TOKEN}\", X-New: \"a, b\"}\n        timeout: 30s\n"),
		},
		{
			"rename", func(d *Document) error { return d.Rename("search", "find") },
			replace("    search: &search\n", "    find: &search\n"),
		},
		{
			"rename a flow entry to a number", func(d *Document) error { return d.Rename("short", "12") },
			replace("    short: {", "    \"12\": {"),
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := edited(handWritten, test.change)
			if err != nil {
				t.Fatal(err)
			}
			if got != test.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, test.want)
			}
		})
	}
}

func TestEditsOfSmallFiles(t *testing.T) {
	x := Server{Name: "x", Command: "run", Enabled: true}
	add := func(d *Document) error { return d.Add(x) }
	const entry = "servers:\n  x:\n    command: run\n"
	tests := []struct {
		name, text string
		change     func(*Document) error
		want       string
	}{
		{"new file", "", add, "version: 1\n" + entry},
		{"empty mapping", "{}\n", add, "version: 1\n" + entry},
		{"comments only", "# mine\n", add, "# mine\nversion: 1\n" + entry},
		{"comment without line end", "# mine", add, "# mine\nversion: 1\n" + entry},
		{"no version is added to a file", "defaults:\n  timeout: 1m\n", add, "defaults:\n  timeout: 1m\n" + entry},
		{"servers is nothing", "version: 1\nservers:\n  # none yet\n", add, "version: 1\n" + entry + "  # none yet\n"},
		{"servers is empty", "version: 1\nservers: {}   # none\n", add, "version: 1\nservers: # none\n  x:\n    command: run\n"},
		{"no line end", "servers:\n  a:\n    command: b", add, "servers:\n  a:\n    command: b\n  x:\n    command: run\n"},
		{"document markers", "---\nservers:\n  a:\n    command: b\n...\n", add, "---\nservers:\n  a:\n    command: b\n  x:\n    command: run\n...\n"},
		{"set apart by blank lines", "servers:\n\n  a:\n    command: b\n\n  # c\n  c:\n    command: d\n\n# end\n", add, "servers:\n\n  a:\n    command: b\n\n  # c\n  c:\n    command: d\n\n  x:\n    command: run\n\n# end\n"},
		{"servers in flow style", "version: 1\n# all\nservers: {a: {command: b}}\n\n# end\n", add, "version: 1\n# all\nservers: {a: {command: b}, x: {command: run}}\n\n# end\n"},
		{"defaults below", "servers:\n  a:\n    command: b\n\ndefaults:\n  timeout: 1m\n", add, "servers:\n  a:\n    command: b\n  x:\n    command: run\n\ndefaults:\n  timeout: 1m\n"},
		{"block scalar that ends like a comment", "servers:\n  a:\n    command: b\n    args:\n      - |\n        text\n        # no comment\n", add, "servers:\n  a:\n    command: b\n    args:\n      - |\n        text\n        # no comment\n  x:\n    command: run\n"},
		{"comments of values", "servers:\n  a:\n    url: https://x # here\n    timeout: 30 # bare\n    headers: # both\n      # the key\n      A: b # of A\n      B: c\n", func(d *Document) error {
			s, _ := d.Server("a")
			s.URL, s.Timeout, s.Headers["A"], s.Headers["C"] = "https://y", time.Minute, "d", "e"
			return d.Replace(s)
		}, "servers:\n  a:\n    url: https://y # here\n    timeout: 1m # bare\n    headers: # both\n      # the key\n      A: d # of A\n      B: c\n      C: e\n"},
		{"merge keys that are encoded anew", "servers: {a: &a {command: b}, c: {<<: *a}}\n", add, "servers: {a: &a {command: b}, c: {<<: *a}, x: {command: run}}\n"},
		{"list at the key's column", "servers:\n  a:\n    command: b\n    args:\n    - c\n    # d\n    - d\n", func(d *Document) error { return d.SetEnabled("a", false) }, "servers:\n  a:\n    command: b\n    args:\n    - c\n    # d\n    - d\n    enabled: false\n"},
		{"remove the only one", "servers:\n  # why\n  x:\n    command: run\n", func(d *Document) error { return d.Remove("x") }, "servers: {}\n"},
		{"remove one in flow style", "servers: {x: {command: run}, y: {command: run}}\n", func(d *Document) error { return d.Remove("x") }, "servers: {y: {command: run}}\n"},
		{"remove and add", "version: 1\nservers:\n  x:\n    command: other\n", func(d *Document) error { return errors.Join(d.Remove("x"), d.Add(x)) }, "version: 1\n" + entry},
		{"disable an alias", "servers:\n  a: &a\n    command: b\n  c: *a\n  d:\n    command: e\n", func(d *Document) error { return d.SetEnabled("c", false) }, "servers:\n  a: &a\n    command: b\n  c:\n    <<: *a\n    enabled: false\n  d:\n    command: e\n"},
		{"enable against a merge", "servers:\n  a: &a\n    command: b\n    enabled: false\n  c:\n    <<: *a\n", func(d *Document) error { return d.SetEnabled("c", true) }, "servers:\n  a: &a\n    command: b\n    enabled: false\n  c:\n    <<: *a\n    enabled: true\n"},
		{"enable by removing the key", "servers:\n  a:\n    enabled: false   # why\n    command: b\n", func(d *Document) error { return d.SetEnabled("a", true) }, "servers:\n  a:\n    command: b\n"},
		{"replace a broken entry", "servers:\n  # above\n  x:\n    comand: run\n    comand: run\n\n  y:\n    command: run\n", func(d *Document) error { return d.Replace(x) }, "servers:\n  # above\n  x:\n    command: run\n\n  y:\n    command: run\n"},
		{"remove a broken entry", "servers:\n  x: 5\n  y:\n    command: run\n", func(d *Document) error { return d.Remove("x") }, "servers:\n  y:\n    command: run\n"},
		{"quoted names", "servers:\n  \"x y\":\n    command: run\n  'z':\n    command: run\n", func(d *Document) error { return errors.Join(d.Rename("z", "w"), d.Remove("x y")) }, "servers:\n  w:\n    command: run\n"},
		{"long values are written in blocks", "", func(d *Document) error {
			return d.Add(Server{Name: "x", Command: "run", Args: []string{strings.Repeat("a", 50), strings.Repeat("b", 50)}, Env: map[string]string{"A": strings.Repeat("c", 80), "B": "two\nlines"}, InheritEnv: InheritEnv{All: true}, Enabled: true})
		}, "version: 1\nservers:\n  x:\n    command: run\n    args:\n      - " + strings.Repeat("a", 50) + "\n      - " + strings.Repeat("b", 50) + "\n    env:\n      A: " + strings.Repeat("c", 80) + "\n      B: \"two\\nlines\"\n    inherit_env: true\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := edited(test.text, test.change)
			if err != nil {
				t.Fatal(err)
			}
			if got != test.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, test.want)
			}
			parse(t, got)
		})
	}
}

func TestEditErrorsChangeNothing(t *testing.T) {
	const shared = "servers:\n  a: &a\n    command: x\n  b:\n    <<: *a\n    cwd: /\n"
	tests := []struct {
		name, text string
		change     func(*Document) error
		want       string
	}{
		{"add what is there", shared, func(d *Document) error { return d.Add(Server{Name: "a", Command: "x"}) }, `config.yaml: server "a": already exists; replace it, or choose another name`},
		{"add an invalid one", shared, func(d *Document) error { return d.Add(Server{Name: "c"}) }, `server "c": neither command nor url is set; set one of them`},
		{"add what YAML cannot hold", shared, func(d *Document) error { return d.Add(Server{Name: "c", Command: "x", Args: []string{"a\xff"}}) }, `server "c": key "args[0]": is not UTF-8 text, which a file cannot hold`},
		{"replace what is not there", shared, func(d *Document) error { return d.Replace(Server{Name: "aa", Command: "x"}) }, `no server "aa"; did you mean "a"?`},
		{"remove what is not there", shared, func(d *Document) error { return d.Remove("zz") }, `no server "zz"`},
		{"enable what is not there", shared, func(d *Document) error { return d.SetEnabled("zz", true) }, `no server "zz"`},
		{"rename what is not there", shared, func(d *Document) error { return d.Rename("zz", "a") }, `no server "zz"`},
		{"rename to what is there", shared, func(d *Document) error { return d.Rename("a", "b") }, `config.yaml: server "b": already exists; choose another name`},
		{"rename to no name", shared, func(d *Document) error { return d.Rename("a", "a b") }, `server "a b": the name of a server must not hold white space or control characters; use letters, digits, - and _`},
		{"remove an anchor in use", shared, func(d *Document) error { return d.Remove("a") }, `config.yaml: server "a": holds the anchor &a, which line 5 refers to; move the anchor by hand first`},
		{"disable what others merge", shared, func(d *Document) error { return d.SetEnabled("a", false) }, `config.yaml: server "a": the change would change server "b" too, which shares values with it; edit the file by hand`},
		{"remove what was merged", "servers:\n  <<: {a: {command: x}}\n", func(d *Document) error { return d.Remove("a") }, `config.yaml: server "a": comes from a merge key (<<); remove it there by hand`},
		{"rename what was merged", "servers:\n  <<: {a: {command: x}}\n", func(d *Document) error { return d.Rename("a", "b") }, `config.yaml: server "a": is not named here, but through an alias or a merge key (<<); rename it by hand`},
		{"disable what is no mapping", "servers:\n  a: 5\n", func(d *Document) error { return d.SetEnabled("a", false) }, `config.yaml: server "a": is not a mapping, so it cannot be edited; replace or remove it`},
		{"JSON", `{"version": 1, "servers": {}}`, func(*Document) error { return nil }, `config.yaml: is in JSON or flow style, which is read but not edited; write it as block style YAML, or edit it by hand`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := edited(test.text, test.change)
			if err == nil || err.Error() != test.want {
				t.Errorf("got  %v\nwant %v", err, test.want)
			}
			if got != test.text && got != "" {
				t.Errorf("the text was changed:\n%s", got)
			}
		})
	}
	d, err := newDocument("config.yaml", shared)
	if err != nil {
		t.Fatal(err)
	}
	var notFound *NotFoundError
	if err := d.Remove("aa"); !errors.As(err, &notFound) || notFound.Name != "aa" || !slices.Equal(notFound.Near, []string{"a"}) {
		t.Errorf("%#v", err)
	}
	if !d.Has("a") || d.Has("aa") || !slices.Equal(d.Names(), []string{"a", "b"}) {
		t.Errorf("names %q", d.Names())
	}
}

func TestDefaultsAreNotWrittenIntoEntries(t *testing.T) {
	const text = "defaults:\n  timeout: 5m\n  connect_timeout: 10s\nservers:\n  a:\n    command: x\n"
	got, err := edited(text, func(d *Document) error {
		s, _ := d.Server("a")
		s.Cwd = "/w"
		s.ConnectTimeout = 20 * time.Second // its Source still says "default"
		return d.Replace(s)
	})
	if want := text + "    cwd: /w\n    connect_timeout: 20s\n"; err != nil || got != want {
		t.Errorf("got:\n%s%v", got, err)
	}
}

// TestWrittenTextIsReadAsItWas goes through what YAML could misread.
func TestWrittenTextIsReadAsItWas(t *testing.T) {
	values := []string{
		"", " ", "a", "~", "null", "Null", "true", "yes", "No", "on", "y", "0", "1.5", "1e3", "0x1F", "0o17", "012", "1_000", "1:20", "2025-01-02",
		".5", ".inf", ".nan", "-", "--", "---", "...", "- a", "-y", "--flag", "? a", ": a", "a: b", "a:", "a #b", "#a", "&a", "*a", "!a", "%a", "@a", "`a",
		"[a", "{a}", "a]", "a,b", "<<", "=", "|", ">", "'", `"`, `a"b`, `a'b`, `\n`, `C:\dir\`, "\t", "a\nb", "a\r\nb", "\n", " a", "a ", "ünï", "日本", "🙂",
		"\u0085", "\u2028", "\ufeff", "\x1b[0m", "\x7f", "${A}", "$$", "~/x", "/a b/c", "http://x:80/?a=b&c", strings.Repeat("long ", 100),
	}
	for _, value := range values {
		s := Server{Name: "s", Command: "c" + value, Args: []string{value, value + "x"}, Env: map[string]string{"A": value}, Transport: TransportStdio, Enabled: true}
		for _, long := range []string{"", strings.Repeat("x", 100)} {
			s.Env["B"] = long
			s.Args = append(s.Args, long)
			text, err := edited("", func(d *Document) error { return d.Add(s) })
			if err != nil {
				t.Errorf("%q: %v", value, err)
				continue
			}
			got := parse(t, text).Servers[0]
			got.Sources = nil
			if !reflect.DeepEqual(got, s) { //nolint:govet // the error inside is nil on both sides
				t.Errorf("%q: got %+v, want %+v, text:\n%s", value, got, s, text)
			}
		}
	}
}

func TestAddAll(t *testing.T) {
	servers := func(names ...string) []Server {
		var all []Server
		for _, name := range names {
			all = append(all, Server{Name: name, Command: "run", Enabled: true})
		}
		return all
	}
	for _, text := range []string{
		"", "# c\n", "version: 1\nservers:\n", "servers: {}\n", handWritten,
		"servers: {a: {command: x}}\n", "servers:\n  a: {command: x}\n\n  b: {command: y}\n# end\ndefaults:\n  timeout: 1m\n",
	} {
		one, err := edited(text, func(d *Document) error {
			for _, s := range servers("one", "two", "three") {
				if err := d.Add(s); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		all, err := edited(text, func(d *Document) error { return d.AddAll(servers("one", "two", "three")) })
		if err != nil || all != one {
			t.Errorf("%v, together:\n%s\none by one:\n%s", err, all, one)
		}
	}
	for want, names := range map[string][]string{
		`config.yaml: server "notes": already exists; replace it, or choose another name`:                       {"a", "b", "notes"},
		`config.yaml: server "b": already exists; replace it, or choose another name`:                           {"a", "b", "b"},
		`server "-b": the name of a server must not begin with -, as a flag does; use letters, digits, - and _`: {"a", "-b"},
	} {
		d, err := newDocument("config.yaml", handWritten)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.AddAll(servers(names...)); err == nil || err.Error() != want || d.text != handWritten || d.Has("a") {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestAddAllIsLinear compares two sizes, since machines differ: what takes four times as many servers may take more than
// four times as long, but not sixteen times.
func TestAddAllIsLinear(t *testing.T) {
	watch := stopwatch.New(t)
	took := func(n int) time.Duration {
		var all []Server
		for i := range n {
			all = append(all, Server{Name: fmt.Sprintf("s%d", i), Command: "run", Args: []string{"a", "b"}, Env: map[string]string{"A": "b"}, Enabled: true})
		}
		best := time.Duration(math.MaxInt64)
		for range 3 {
			lap := watch.Lap()
			if _, err := edited(handWritten, func(d *Document) error { return d.AddAll(all) }); err != nil {
				t.Fatal(err)
			}
			best = min(best, lap.Took())
		}
		return best
	}
	few, many := took(300), took(1200)
	t.Logf("300 servers in %v, 1200 in %v", few, many)
	if many > 10*few {
		t.Errorf("300 servers take %v, and 1200 take %v", few, many)
	}
}

func FuzzEdit(f *testing.F) {
	f.Add(handWritten, "new", "value", uint8(0))
	f.Add("servers:\n  a: {command: x}\n  b: # c\n    command: |\n      x\n      # y\n", "a", "b: c", uint8(1))
	f.Add("servers:\n  a: &a\n    command: x\n  b: *a\n", "b", "#", uint8(2))
	f.Add("# c\r\n", "a", "\u2028", uint8(3))
	f.Add("servers: {a: {command: x}, b: &b {command: y, env: {A: b}}}\n", "b", "é\n", uint8(4))
	f.Add("? servers\n: ? a\n  : command: x\n", "a", " ", uint8(5))
	f.Fuzz(func(t *testing.T, text, name, value string, op uint8) {
		d, err := newDocument("f.yaml", splitContent([]byte(text)).text)
		if err != nil {
			return
		}
		before, names, old := d.cfg.Servers, d.Names(), *d
		if op < 128 && op%6 != 0 && len(names) > 0 {
			name = names[int(op)/6%len(names)]
		}
		s := Server{Name: name, Command: "c", Args: []string{value}, Env: map[string]string{"E": value}, Enabled: true}
		to := name
		switch op % 6 {
		case 0:
			err = d.Add(s)
		case 1:
			err = d.Replace(s)
		case 2:
			err = d.Remove(name)
		case 3:
			err = d.SetEnabled(name, false)
		case 4:
			err = d.SetEnabled(name, true)
		case 5:
			to = name + "x"
			err = d.Rename(name, to)
		}
		if err != nil && !slices.Equal(names, d.Names()) {
			t.Fatalf("an error changed something: %v", err)
		}
		cfg, parseErr := Parse("f.yaml", []byte(d.text))
		if parseErr != nil {
			t.Fatalf("the text is broken: %v\n%s", parseErr, d.text)
		}
		for _, old := range before {
			if old.Name == name {
				continue
			}
			if now, ok := cfg.Server(old.Name); !ok || !sameEntry(now, old) {
				t.Fatalf("%q changed: %+v, %+v", old.Name, old, now)
			}
		}
		if err == nil && op%6 < 2 {
			if now, ok := cfg.Server(to); !ok || now.Err != nil || !sameEntry(now, s) {
				t.Fatalf("%q: %+v, want %+v, text:\n%s", name, now, s, d.text)
			}
		}
		if err == nil {
			checkOtherLines(t, &old, d, name, to)
			checkUndone(t, &old, d, s, op%6)
		}
	})
}

// checkOtherLines fails the test if an edit of one entry has changed lines of others. Blank lines beside the entry may
// go with it. A text in which entries do not have lines of their own may be laid out anew.
func checkOtherLines(t *testing.T, old, now *Document, name, to string) {
	t.Helper()
	lines := func(d *Document, name string) (before, after string, ok bool) {
		all := strings.Split(strings.TrimSuffix(d.text, "\n"), "\n")
		servers := valueOf(d.tree, "servers")
		if servers == nil || !ownLines(d.tree, all) || !ownLines(servers, all) {
			return "", "", false
		}
		start := nextLine(d.tree, indexOf(d.tree, "servers"), documentEnd(all, d.tree))
		end := start
		if i := indexOf(servers, name); i >= 0 {
			start, end = above(all, servers, i), nextLine(servers, i, end)
		}
		unblank := func(lines []string) string {
			return strings.Join(slices.DeleteFunc(slices.Clone(lines), isBlank), "\n")
		}
		return unblank(all[:start]), unblank(all[end:]), true
	}
	if now.tree == nil || old.tree == nil {
		return
	}
	if laidOut, err := encode(cloneTree(now.tree), indentOf(old.tree)); err == nil && laidOut == now.text {
		return
	}
	before, after, ok := lines(old, name)
	if !ok || indexOf(valueOf(old.tree, "servers"), name) < 0 {
		return
	}
	if !strings.Contains(now.text, "\n") {
		return
	}
	text := strings.Join(slices.DeleteFunc(strings.Split(now.text, "\n"), isBlank), "\n")
	if !strings.HasPrefix(text, before) || !strings.HasSuffix(text, after) {
		t.Fatalf("the edit of %q (%q) changed other lines:\n%q\nbecame\n%q", name, to, old.text, now.text)
	}
}

// checkUndone fails the test if the opposite of an edit does not lead back to what the file meant.
func checkUndone(t *testing.T, old, now *Document, s Server, op uint8) {
	t.Helper()
	back := *now
	var undo func(*Document) error
	was, ok := old.Server(s.Name)
	switch {
	case op == 0:
		undo = func(d *Document) error { return d.Remove(s.Name) }
	case op == 3 && ok && was.Err == nil && was.Enabled:
		undo = func(d *Document) error { return d.SetEnabled(s.Name, true) }
	case op == 4 && ok && was.Err == nil && !was.Enabled:
		undo = func(d *Document) error { return d.SetEnabled(s.Name, false) }
	default:
		return
	}
	if err := undo(&back); err != nil {
		t.Fatalf("cannot be undone: %v\n%q\nbecame\n%q", err, old.text, now.text)
	}
	same := func(a, b Server) bool { return a.Name == b.Name && (a.Err == nil) == (b.Err == nil) && sameEntry(a, b) }
	if !slices.EqualFunc(old.cfg.Servers, back.cfg.Servers, same) || old.cfg.Defaults != back.cfg.Defaults {
		t.Fatalf("undoing gives something else:\n%q\nbecame\n%q\nand\n%q", old.text, now.text, back.text)
	}
}
