package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if file := os.Getenv(editFileVariable); file != "" {
		os.Exit(editAsProcess(file))
	}
	goleak.VerifyTestMain(m)
}

// parse returns the configuration in text, which must have no error of its own.
func parse(t *testing.T, text string) *Config {
	t.Helper()
	cfg, err := Parse("config.yaml", []byte(text))
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	return cfg
}

// entryOf returns the server "s" whose entry has these lines.
func entryOf(t *testing.T, lines ...string) Server {
	t.Helper()
	cfg := parse(t, "servers:\n  s:\n    "+strings.Join(lines, "\n    ")+"\n")
	if len(cfg.Servers) != 1 {
		t.Fatalf("%d servers, want 1", len(cfg.Servers))
	}
	return cfg.Servers[0]
}

func TestParseEveryKey(t *testing.T) {
	cfg := parse(t, `version: 1
defaults: {connect_timeout: 20s, timeout: 120}
servers:
  notes:
    command: npx
    args: [-y, "@modelcontextprotocol/server-filesystem", ~/notes, 8080, 1.50, true, 0x1F, 2025-01-02]
    env: {NOTES_TOKEN: "${NOTES_TOKEN}", PORT: 80}
    inherit_env: [DISPLAY, "SSH_AUTH_SOCK"]
    cwd: ~/work
    transport: stdio
    enabled: false
    wait: 1m
    session_wait: 90
  search:
    url: https://search.example/mcp
    headers: {Authorization: "Bearer ${SEARCH_TOKEN}", X-Version: 2}
    transport: streamable-http
    protocol: 2025-11-25
    connect_timeout: 10s
    skip_preflight: true
    tools: {include: ["search_*"], exclude: [search_admin]}
`)
	want := []Server{
		{
			Name: "notes", Command: "npx",
			Args:       []string{"-y", "@modelcontextprotocol/server-filesystem", "~/notes", "8080", "1.50", "true", "0x1F", "2025-01-02"},
			Env:        map[string]string{"NOTES_TOKEN": "${NOTES_TOKEN}", "PORT": "80"},
			InheritEnv: InheritEnv{Names: []string{"DISPLAY", "SSH_AUTH_SOCK"}}, Cwd: "~/work",
			Transport: TransportStdio, ConnectTimeout: 20 * time.Second, Timeout: 2 * time.Minute,
			Wait: time.Minute, SessionWait: 90 * time.Second,
			Sources: sources("command 5", "args 6", "env 7", "inherit_env 8", "cwd 9", "transport 10", "enabled 11", "wait 12", "session_wait 13",
				"connect_timeout default 2", "timeout default 2"),
		},
		{
			Name: "search", URL: "https://search.example/mcp",
			Headers:   map[string]string{"Authorization": "Bearer ${SEARCH_TOKEN}", "X-Version": "2"},
			Transport: TransportHTTP, Protocol: "2025-11-25", Enabled: true,
			ConnectTimeout: 10 * time.Second, Timeout: 2 * time.Minute, SkipPreflight: true,
			Tools: ToolFilter{Include: []string{"search_*"}, Exclude: []string{"search_admin"}},
			Sources: sources("url 15", "headers 16", "transport 17", "protocol 18", "connect_timeout 19", "skip_preflight 20", "tools 21",
				"tools.include 21", "tools.exclude 21", "timeout default 2"),
		},
	}
	if !reflect.DeepEqual(cfg.Servers, want) { //nolint:govet // the errors inside are nil on both sides
		t.Errorf("got  %+v\nwant %+v", cfg.Servers, want)
	}
	if want := (Defaults{20 * time.Second, 2 * time.Minute}); cfg.Defaults != want || cfg.Path != "config.yaml" {
		t.Errorf("defaults %+v, path %q", cfg.Defaults, cfg.Path)
	}
}

// sources makes Sources of "key line" and "key default line".
func sources(places ...string) map[string]Source {
	m := map[string]Source{}
	for _, place := range places {
		words := strings.Fields(place)
		kind := "entry"
		if len(words) == 3 {
			kind = words[1]
		}
		m[words[0]] = Source{Kind: kind, Detail: "config.yaml:" + words[len(words)-1]}
	}
	return m
}

func TestParseFileErrors(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"syntax", "servers:\n  a: b: c\n", "config.yaml:2: mapping values are not allowed in this context; check the indentation, and put quotes around a value that contains a colon and a space"},
		{"syntax in the first line", "a: [", "config.yaml:1: did not find expected node content; look here and below for a bracket, a brace or a quote that is not closed, and check the indentation"},
		{"a bracket that is not closed", "servers:\n  a: {command: x, args: [y}\n", "config.yaml:2: did not find expected ',' or ']'; look here and below for a bracket, a brace or a quote that is not closed, and check the indentation"},
		{"tab", "servers:\n\ta: 1\n", "config.yaml:2: found character that cannot start any token; YAML is indented with spaces, and this line begins with a tab"},
		{"unknown anchor", "version: 1\nservers:\n  a: *x\n", "config.yaml:3: the alias *x has no anchor &x before it"},
		{"unknown key", "version: 1\nserver: {}\n", `config.yaml:2:1: key "server": unknown key; did you mean "servers"?`},
		{"unknown key like no other", "extras: {}\n", `config.yaml:1:1: key "extras": unknown key; known are version, defaults, servers`},
		{"another client's key", `mcp: {}`, `config.yaml:1:1: key "mcp": unknown key; "mcp" is the key of other clients' files, and there are no servers below it here; mcpctl's own is "servers"`},
		{"two formats", "{\"mcpServers\": {},\n \"servers\": {}}", `config.yaml:2: has the keys "mcpServers" and "servers", in lines 1 and 2, which are those of different formats; keep the servers below one of them`},
		{"repeated key", "version: 1\nservers: {}\nversion: 1\n", `config.yaml:3:1: key "version": is defined twice, in lines 1 and 3; keep one`},
		{"repeated server", "servers:\n  a: {command: x}\n  b: {command: x}\n  a: {command: y}\n", `config.yaml:4:3: the server "a" is defined twice, in lines 2 and 4; rename or remove one`},
		{"second document", "version: 1\n---\nversion: 1\n", "config.yaml:2:1: a second document begins here; keep one document in the file"},
		{"older version", "version: 0\n", `config.yaml:1:10: key "version": this mcpctl reads version 1 only; write version: 1`},
		{"newer version", "version: 2\n", `config.yaml:1:10: key "version": the file is of version 2, and this mcpctl reads version 1; update mcpctl, or use another file with --config; this one is left as it is`},
		{"newer version with more in it", "version: 2\nfleets: {}\nservers: {a: {}}\n", `config.yaml:1:10: key "version": the file is of version 2, and this mcpctl reads version 1; update mcpctl, or use another file with --config; this one is left as it is`},
		{"version as text", "version: \"1\"\n", `config.yaml:1:10: key "version": this mcpctl reads version 1 only; write version: 1`},
		{"list at the top", "- a\n", "config.yaml:1:1: want a mapping, found a list"},
		{"text at the top", "hello\n", "config.yaml:1:1: want a mapping, found text"},
		{"servers is a list", "servers: [a]\n", `config.yaml:1:10: key "servers": want a mapping, found a list`},
		{"default not a duration", "defaults: {timeout: soon}\n", `config.yaml:1:21: key "defaults.timeout": "soon" is not a duration; write 30s, 2m, or a number of seconds`},
		{"default unknown", "defaults: {conect_timeout: 1s}\n", `config.yaml:1:12: key "defaults.conect_timeout": unknown key; did you mean "connect_timeout"?`},
		{"key is a list", "? [a]\n: b\n", "config.yaml:1:3: want text as key, found a list"},
		{"not UTF-8", "servers:\n  a: \xff\n", "config.yaml:2:6: not UTF-8 text; save the file as UTF-8"},
		{"UTF-16", "\xff\xfes\x00", "config.yaml:1: the file is UTF-16; save it as UTF-8"},
		{"control character", "servers:\n  a: \x07\n", `config.yaml:2:6: the control character U+0007; remove it, or write "\x07" in double quotes`},
		{"no character", "servers:\n  a: x\uffff\n", `config.yaml:2:7: U+FFFF, which is no character; remove it`},
		{"two errors", "version: 0\nfoo: 1\n", "config.yaml:1:10: key \"version\": this mcpctl reads version 1 only; write version: 1\n" +
			"config.yaml:2:1: key \"foo\": unknown key; known are version, defaults, servers"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cfg, err := Parse("config.yaml", []byte(test.text))
			if err == nil || err.Error() != test.want {
				t.Errorf("got  %v\nwant %v", err, test.want)
			}
			var e *Error
			if !errors.As(err, &e) || e.File != "config.yaml" || e.Line == 0 || cfg != nil {
				t.Errorf("not an *Error with a place: %#v", err)
			}
		})
	}
}

func TestParseEntryErrors(t *testing.T) {
	tests := []struct{ name, entry, want string }{
		{"unknown key", "conect_timeout: 1s", `3:5: server "s": key "conect_timeout": unknown key; did you mean "connect_timeout"?`},
		{"another client's key", "type: http", `3:5: server "s": key "type": unknown key; write "transport"`},
		{"repeated key", "url: https://x\nurl: https://y", `4:5: server "s": key "url": is defined twice, in lines 3 and 4; keep one`},
		{"repeated variable", "command: x\nenv:\n  A: 1\n  A: 2", `6:7: server "s": key "env.A": is defined twice, in lines 5 and 6; keep one`},
		{"neither", "timeout: 1s", `2:3: server "s": neither command nor url is set; set one of them`},
		{"both", "command: x\nurl: https://x", `4:5: server "s": key "url": command and url are both set; keep one of them`},
		{"headers of a command", "command: x\nheaders: {A: b}", `4:5: server "s": key "headers": headers belong to a url, and this entry starts a command; give the command its values in env or args`},
		{"env of a url", "url: https://x\nenv: {A: b}", `4:5: server "s": key "env": belongs to a command, and this entry has a url; remove it`},
		{"empty", "command: \"\"", `3:14: server "s": key "command": is empty; give it a value, or remove the key`},
		{"command is a list", "command: [npx, -y]", `3:14: server "s": key "command": want text, found a list`},
		{"command is a number", "command: 7", `3:14: server "s": key "command": want text, found a number`},
		{"args is text", "command: x\nargs: -y", `4:11: server "s": key "args": want a list, found text; write [first, second]`},
		{"null argument", "command: x\nargs: [-y, ~]", `4:16: server "s": key "args[1]": want text, found nothing; put quotes around ~ if that text is meant`},
		{"mapping as argument", "command: x\nargs: [{a: b}]", `4:12: server "s": key "args[0]": want text, found a mapping`},
		{"null variable", "command: x\nenv:\n  A:", `5:9: server "s": key "env.A": want text, found nothing; write "" for empty text`},
		{"env is a list", "command: x\nenv: [A=b]", `4:10: server "s": key "env": want a mapping, found a list; write {NAME: value}`},
		{"foreign tag", "command: x\nargs: [!vault a]", `4:12: server "s": key "args[0]": want text, found the tag !vault`},
		{"variable name", "command: x\nenv: {A B: c}", `4:11: server "s": key "env.A B": is not the name of a variable; a name has no =, no white space and no control characters`},
		{"inherited name", "command: x\ninherit_env: [A=b]", `4:19: server "s": key "inherit_env[0]": is not the name of a variable; a name has no =, no white space and no control characters`},
		{"inherit_env is text", "command: x\ninherit_env: HOME", `4:18: server "s": key "inherit_env": want true, false or a list of names, found text`},
		{"NUL", "command: \"a\\0\"", `3:5: server "s": key "command": holds a NUL character, which no program can be given; remove it`},
		{"url without scheme", "url: example.com/mcp", `3:5: server "s": key "url": is not a complete URL; write it as https://host/path`},
		{"url scheme", "url: ftp://example.com", `3:5: server "s": key "url": must begin with http:// or https://; write it as https://host/path`},
		{"url without host", "url: https:///mcp", `3:5: server "s": key "url": has no host; write it as https://host/path`},
		{"url port", "url: https://x:99999/", `3:5: server "s": key "url": the port is not between 1 and 65535`},
		{"url host", "url: https://a b/", `3:5: server "s": key "url": the host name has a character that cannot be in one; write it as https://host/path`},
		{"url escape", "url: https://a/%zz", `3:5: server "s": key "url": has a % that begins no escape; write %25 for a plain one`},
		{"password", "url: https://bob:hunter2@x/", `3:5: server "s": key "url": has a user name or password in it; remove it, and put the credential into headers, as Authorization: Basic`},
		{"password with a variable", "url: https://bob:${PW}@x/", `3:5: server "s": key "url": has a user name or password in it; remove it, and put the credential into headers, as Authorization: Basic`},
		{"transport", "url: https://x\ntransport: htp", `4:16: server "s": key "transport": "htp" is not a transport; write auto, http, sse or stdio`},
		{"stdio with a url", "url: https://x\ntransport: stdio", `4:5: server "s": key "transport": stdio needs a command, and this entry has a url; remove transport, or set command`},
		{"sse with a command", "command: x\ntransport: sse", `4:5: server "s": key "transport": sse needs a url, and this entry starts a command; remove transport, or set url`},
		{"header name", "url: https://x\nheaders: {\"X:Y\": z}", `4:15: server "s": key "headers.X:Y": is not the name of a header; a name has letters, digits and -, and no colon`},
		{"header twice", "url: https://x\nheaders: {x-a: 1, X-A: 2}", `4:15: server "s": key "headers.x-a": is the same header as "X-A"; keep one`},
		{"header of the session", "url: https://x\nheaders: {mcp-session-id: x}", `4:15: server "s": key "headers.mcp-session-id": differs from session to session, and is set by mcpctl; remove it; protocol pins a version`},
		{"header with a line break", "url: https://x\nheaders: {X: \"a\\nb\"}", `4:15: server "s": key "headers.X": the value holds a line break or another control character; remove it; a token read from a file may end in one`},
		{"header without credential", "url: https://x\nheaders: {Authorization: \"Bearer \"}", `4:15: server "s": key "headers.Authorization": nothing follows Bearer; a variable was empty, or the shell expanded it too early; put single quotes around ${…} there`},
		{"protocol", "url: https://x\nprotocol: latest", `4:5: server "s": key "protocol": "latest" is no protocol version; write auto, or a date such as 2025-11-25`},
		{"enabled is text", "url: https://x\nenabled: yes", `4:14: server "s": key "enabled": want true or false, found text`},
		{"milliseconds", "url: https://x\ntimeout: 30000", `4:14: server "s": key "timeout": 30000: write 30s or 30000s`},
		{"zero", "url: https://x\nconnect_timeout: 0", `4:22: server "s": key "connect_timeout": 0: must be more than zero`},
		{"negative", "url: https://x\nwait: -5", `4:11: server "s": key "wait": -5: must be more than zero`},
		{"more than a day", "url: https://x\nsession_wait: 25h", `4:19: server "s": key "session_wait": 25h: more than 24h`},
		{"duration is a boolean", "url: https://x\ntimeout: true", `4:14: server "s": key "timeout": want a duration such as 30s, found the boolean true`},
		{"glob", "url: https://x\ntools: {exclude: [\"a[\"]}", `4:23: server "s": key "tools.exclude[0]": "a[" is no glob; close the bracket, or write \[ for a plain one`},
		{"empty include", "url: https://x\ntools: {include: []}", `4:22: server "s": key "tools.include": is empty; remove it to allow all tools, or set enabled: false`},
		{"unknown key of tools", "url: https://x\ntools: {includes: [a]}", `4:13: server "s": key "tools.includes": unknown key; did you mean "include"?`},
		{"open reference", "url: https://x\nheaders: {X: \"${A\"}", `4:15: server "s": key "headers.X": a ${ has no closing }; write $$ for a plain dollar`},
		{"file without a path", "url: https://x\nheaders: {X: \"${file:}\"}", `4:15: server "s": key "headers.X": ${file:…} is incomplete; write ${file:PATH}`},
		{"file with a default", "url: https://x\nheaders: {X: \"${file:a:-b}\"}", `4:15: server "s": key "headers.X": ${file:…} takes no default, which only a variable has`},
		{"keyring without a user", "url: https://x\nheaders: {X: \"${keyring:a}\"}", `4:15: server "s": key "headers.X": ${keyring:…} is incomplete; write ${keyring:SERVICE/USER}`},
		{"keyring without a service", "url: https://x\nheaders: {X: \"${keyring:/a}\"}", `4:15: server "s": key "headers.X": ${keyring:…} is incomplete; write ${keyring:SERVICE/USER}`},
		{
			"several", "comand: npx\ntimeout: 0\nfoo: 1",
			"3:5: server \"s\": key \"comand\": unknown key; did you mean \"command\"?\n" +
				"config.yaml:4:14: server \"s\": key \"timeout\": 0: must be more than zero\n" +
				"config.yaml:5:5: server \"s\": key \"foo\": unknown key; known are " + strings.Join(entryKeys(), ", "),
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cfg := parse(t, "servers:\n  s:\n    "+strings.ReplaceAll(test.entry, "\n", "\n    ")+"\n  good: {command: x}\n")
			s, _ := cfg.Server("s")
			if want := "config.yaml:" + test.want; s.Err == nil || s.Err.Error() != want {
				t.Errorf("got  %v\nwant %v", s.Err, want)
			}
			if strings.Contains(fmt.Sprint(s.Err), "hunter2") {
				t.Error("the message holds the password")
			}
			if good, ok := cfg.Server("good"); !ok || good.Err != nil {
				t.Errorf("the other entry is broken too: %v", good.Err)
			}
		})
	}
}

func TestParseEntryIsNoMapping(t *testing.T) {
	cfg := parse(t, "servers:\n  a:\n  b: text\n")
	want := []string{
		`config.yaml:2:5: server "a": want a mapping with command or url, found nothing`,
		`config.yaml:3:6: server "b": want a mapping with command or url, found text`,
	}
	for i, s := range cfg.Servers {
		if s.Err == nil || s.Err.Error() != want[i] {
			t.Errorf("got  %v\nwant %v", s.Err, want[i])
		}
	}
}

func TestParseReadsEveryKeyItNames(t *testing.T) {
	for _, key := range entryKeys() {
		s := entryOf(t, key+": {}")
		if s.Err == nil || strings.Contains(s.Err.Error(), "unknown key") || s.Sources[key].Kind != "entry" {
			t.Errorf("%s: %v", key, s.Err)
		}
	}
}

func TestParseServerNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"a": true, "notes-2": true, "über": true, "a.b": true, "8080": true, "demo": true,
		"": false, "a b": false, "-a": false, "a/b": false, "a*": false, "a?": false, "[a": false, "a\tb": false, "a\x01": false,
	} {
		cfg := parse(t, fmt.Sprintf("servers: {%q: {command: x}}\n", name))
		if got := cfg.Servers[0].Err == nil; got != ok {
			t.Errorf("%q: valid %v, want %v: %v", name, got, ok, cfg.Servers[0].Err)
		}
		if got := ValidateName(name) == nil; got != ok {
			t.Errorf("ValidateName(%q) is nil: %v, want %v", name, got, ok)
		}
	}
}

func TestParseTransports(t *testing.T) {
	for word, want := range map[string]Transport{
		"auto": TransportAuto, "http": TransportHTTP, "sse": TransportSSE,
		"streamable-http": TransportHTTP, "streamable_http": TransportHTTP, "streamableHttp": TransportHTTP,
	} {
		if s := entryOf(t, "url: https://x", "transport: "+word); s.Err != nil || s.Transport != want {
			t.Errorf("%s: %q, %v", word, s.Transport, s.Err)
		}
	}
	for _, lines := range [][]string{{"command: x"}, {"command: x", "transport: auto"}, {"command: x", "transport: stdio"}} {
		if s := entryOf(t, lines...); s.Err != nil || s.Transport != TransportStdio {
			t.Errorf("%q: %q, %v", lines, s.Transport, s.Err)
		}
	}
	if s := entryOf(t, "url: https://x"); s.Transport != TransportAuto {
		t.Errorf("a URL has transport %q", s.Transport)
	}
}

func TestParseURLsWithReferences(t *testing.T) {
	for _, u := range []string{"${BASE}", "${BASE}/mcp", "https://${HOST}/mcp", "http://${HOST:-localhost}:${PORT}/", "https://x/?key=${KEY}", "http://[::1]:80/mcp#f//g"} {
		if s := entryOf(t, fmt.Sprintf("url: %q", u)); s.Err != nil {
			t.Errorf("%s: %v", u, s.Err)
		}
	}
}

func TestParseEmptyFiles(t *testing.T) {
	for _, text := range []string{"", "\n", "# nothing yet\n", "\ufeff", "---\n", "null\n", "{}\n", "version: 1\n", "servers:\n", "servers: {}\ndefaults:\n"} {
		if cfg := parse(t, text); len(cfg.Servers) != 0 {
			t.Errorf("%q: %v", text, cfg.Servers)
		}
	}
}

func TestParseToleratesMarkAndCRLF(t *testing.T) {
	cfg := parse(t, "\ufeffversion: 1\r\nservers:\r\n  a:\r\n    command: x\r\n    args: [a, b]\r\n")
	s := cfg.Servers[0]
	if s.Err != nil || s.Command != "x" || !slices.Equal(s.Args, []string{"a", "b"}) || s.Sources["args"].Detail != "config.yaml:5" {
		t.Errorf("%+v", s)
	}
}

func TestParseAnchorsAndMergeKeys(t *testing.T) {
	cfg := parse(t, `servers:
  base: &base
    url: https://base.example/mcp
    headers: &headers {X-A: a, X-B: b}
    timeout: 10s
  same: *base
  own:
    <<: *base
    url: https://own.example/mcp
    headers:
      <<: *headers
      X-B: c
  both:
    <<: [{timeout: 1s, wait: 2s}, *base]
    enabled: &off false
  alias: {command: x, args: &args [a, b], enabled: *off}
  more: {command: y, args: *args}
`)
	for _, s := range cfg.Servers {
		if s.Err != nil {
			t.Fatalf("%s: %v", s.Name, s.Err)
		}
	}
	get := func(name string) Server { s, _ := cfg.Server(name); return s }
	if s := get("same"); s.URL != "https://base.example/mcp" || s.Timeout != 10*time.Second {
		t.Errorf("same: %+v", s)
	}
	own := get("own")
	if own.URL != "https://own.example/mcp" || !maps.Equal(own.Headers, map[string]string{"X-A": "a", "X-B": "c"}) {
		t.Errorf("own: %+v", own)
	}
	if own.Sources["timeout"].Detail != "config.yaml:5" || own.Sources["url"].Detail != "config.yaml:9" {
		t.Errorf("a merged value comes from where it is written: %v", own.Sources)
	}
	if s := get("both"); s.Timeout != time.Second || s.Wait != 2*time.Second || s.Enabled {
		t.Errorf("earlier mappings win: %+v", s)
	}
	if s := get("alias"); s.Enabled || !slices.Equal(get("more").Args, []string{"a", "b"}) {
		t.Errorf("aliases of scalars and lists: %+v", s)
	}
}

func TestParseAliasLoopsAndBombs(t *testing.T) {
	for name, text := range map[string]string{
		"merge of itself":       "servers:\n  a: &a\n    command: x\n    <<: *a\n",
		"list of itself":        "servers:\n  a:\n    command: x\n    args: &a [*a]\n",
		"mapping of itself":     "servers:\n  a: &a\n    command: x\n    env: *a\n",
		"servers in themselves": "servers: &s\n  a: *s\n",
		"merge of text":         "servers:\n  a:\n    command: x\n    <<: text\n",
	} {
		cfg := parse(t, text)
		if cfg.Servers[0].Err == nil {
			t.Errorf("%s: no error", name)
		}
	}

	lists := "servers:\n  a0: &a0 {command: x, args: &l [" + strings.Repeat("a,", 10_000) + "a]}\n"
	for i := range 1000 {
		lists += fmt.Sprintf("  b%d: *a0\n", i)
	}
	merges := "servers:\n  a0: &a0 {command: x}\n"
	for i := range 12 {
		merges += fmt.Sprintf("  a%d: &a%d {<<: [%s]}\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 12), ", "))
	}
	for name, text := range map[string]string{"lists": lists, "merges": merges} {
		start := time.Now()
		_, err := Parse("config.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), "too many values come through aliases") {
			t.Errorf("%s: %.200v", name, err)
		}
		if elapsed := time.Since(start); elapsed > 10*time.Second {
			t.Errorf("%s: took %v", name, elapsed)
		}
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "none", "config.yaml")
	if cfg, err := Load(missing); err != nil || cfg.Path != missing || len(cfg.Servers) != 0 {
		t.Errorf("a missing file is an empty configuration: %+v, %v", cfg, err)
	}
	if _, err := Load(dir); err == nil || err.Error() != dir+": is a directory; name a file, such as "+filepath.Join(dir, "config.yaml") {
		t.Errorf("a directory: %v", err)
	}
	file := filepath.Join(dir, "config.yaml")
	writeText(t, file, "servers: {a: {command: x}}\n")
	cfg, err := Load(file)
	if err != nil || cfg.Path != file || cfg.Servers[0].Sources["command"].Detail != "config.yaml:1" {
		t.Errorf("%+v, %v", cfg, err)
	}
	if runtime.GOOS != "windows" {
		_, err = Load(filepath.Join(file, "below"))
		var e *Error
		if !errors.As(err, &e) || e.File != filepath.Join(file, "below") {
			t.Errorf("a file as directory: %v", err)
		}
	}
}

func TestLoadUnreadable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	writeText(t, file, "version: 1\n")
	if err := os.Chmod(file, 0); err != nil {
		t.Fatal(err)
	}
	if f, err := os.Open(file); err == nil {
		_ = f.Close()
		t.Skip("nothing is unreadable to this user")
	}
	if _, err := Load(file); err == nil || err.Error() != file+": cannot be read: permission denied" || !errors.Is(err, os.ErrPermission) {
		t.Error(err)
	}
}

func TestLoadReader(t *testing.T) {
	cfg, err := LoadReader("-", strings.NewReader("servers: {a: {command: x}}\n"))
	if err != nil || cfg.Path != "-" || cfg.Servers[0].Sources["command"].Detail != "standard input:1" {
		t.Errorf("%+v, %v", cfg, err)
	}
	if _, err := LoadReader("-", strings.NewReader("foo: 1\n")); err == nil || !strings.HasPrefix(err.Error(), "standard input:1:1: ") {
		t.Error(err)
	}
	if _, err := LoadReader("big.yaml", endless{}); err == nil || err.Error() != "big.yaml: is larger than 64 MiB; this is not a configuration file" {
		t.Error(err)
	}
	broken := errors.New("broken pipe")
	if _, err := LoadReader("-", errReader{broken}); !errors.Is(err, broken) || err.Error() != "standard input: cannot be read: broken pipe" {
		t.Error(err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

func TestDefaultPath(t *testing.T) {
	home, xdg := filepath.FromSlash("/home/u"), filepath.FromSlash("/xdg")
	if runtime.GOOS == "windows" {
		home, xdg = `C:\home\u`, `C:\xdg`
	}
	tests := []struct {
		name, goos string
		env        map[string]string
		want       string
	}{
		{"named", "linux", map[string]string{"MCPCTL_CONFIG": "my.yaml", "XDG_CONFIG_HOME": xdg, "HOME": home}, "my.yaml"},
		{"xdg", "linux", map[string]string{"XDG_CONFIG_HOME": xdg, "HOME": home}, filepath.Join(xdg, "mcpctl", "config.yaml")},
		{"xdg on macOS", "darwin", map[string]string{"XDG_CONFIG_HOME": xdg, "HOME": home}, filepath.Join(xdg, "mcpctl", "config.yaml")},
		{"empty is unset", "linux", map[string]string{"MCPCTL_CONFIG": "", "XDG_CONFIG_HOME": "", "HOME": home}, filepath.Join(home, ".config", "mcpctl", "config.yaml")},
		{"macOS", "darwin", map[string]string{"HOME": home}, filepath.Join(home, "Library", "Application Support", "mcpctl", "config.yaml")},
		{"Windows", "windows", map[string]string{"AppData": home}, filepath.Join(home, "mcpctl", "config.yaml")},
		{"relative xdg", "linux", map[string]string{"XDG_CONFIG_HOME": "here", "HOME": home}, "error: XDG_CONFIG_HOME is not an absolute path; correct it, or name the file with --config"},
		{"no home", "linux", nil, "error: no place for the configuration file: HOME is not set; set it, or name the file with --config"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := defaultPath(test.goos, lookupIn(test.env))
			if err != nil {
				got = "error: " + err.Error()
			}
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// lookupIn returns a lookup in a map.
func lookupIn(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}
}

func writeText(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func readText(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func FuzzParse(f *testing.F) {
	f.Add("version: 1\ndefaults: {timeout: 5m}\nservers:\n  a: &a {command: x, args: [1, ~]}\n  b: {<<: *a}\n")
	f.Add("servers:\n  s:\n    url: https://x/?a=b\n    headers: {A: \"${B:-c}\"}\n    tools: {include: [a*]}\n")
	f.Add("a: &a [*a]\n")
	f.Add("servers:\n  a: &a {<<: [*a, *a], command: x}\n  b: &b {<<: [*a, *a, *a]}\n  c: {<<: [*b, *b, *b]}\n")
	f.Add("servers:\n  s:\n    url: https://x\n    oauth: {idp: {client_id: 1}, scopes: [a]}\n    health: {tool: t, args: &a {b: [*a]}, expect: {equals: {c: 1e999}}}\n    smoke: [{tool: t}]\n")
	f.Add("defaults: &d {timeout: 5m}\nservers:\n  s: {<<: *d, command: x, retry: {initial: 99999999999999999999}, keepalive: off}\n")
	f.Add("\ufeff# x\r\n? {a: b}\r\n: - c\r\n---\r\n")
	f.Add("servers:\n  a: |\n    x\n  ? b\n  : {command: \"\\0\"}\n")
	f.Fuzz(func(t *testing.T, text string) {
		start := time.Now()
		cfg, err := Parse("f.yaml", []byte(text))
		// Far more than the longest text that is tried here takes on a busy machine.
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%d bytes took %v", len(text), took)
		}
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Error() == "" {
				t.Fatalf("not an *Error: %v", err)
			}
			return
		}
		if cfg.Format != nil {
			return // see FuzzFormat
		}
		for _, s := range cfg.Servers {
			if s.Transport == "" {
				t.Errorf("%q has no transport", s.Name)
			}
			s.Target()
			s.LiteralSecrets()
			if s.Err != nil {
				continue
			}
			if err := s.Validate(); err != nil {
				t.Errorf("valid in the file, not by itself: %v", err)
			}
			// What was read can be written, and reads the same.
			d, err := newDocument("g.yaml", "")
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Add(s); err != nil {
				t.Errorf("cannot be written: %v", err)
			}
		}
	})
}
