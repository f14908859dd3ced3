package config

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// valueFiles makes files in a new directory and returns an environment that reads files, and whose home it is.
func valueFiles(t *testing.T, files map[string]string) Environment {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Environment{Home: dir, ReadFile: ReadValueFile, Keyring: func(service, user string) (string, error) {
		if service == "gh:x/y" && user == "me" {
			return "${K} $$ ring", nil
		}
		return "", errors.New("no such entry")
	}}
}

func TestExpandFiles(t *testing.T) {
	env := valueFiles(t, map[string]string{
		"unix": "one\n", "windows": "two\r\n", "bare": "three", "two": "a\n\n", "mark": byteOrderMark + "four\n", "dollar": "${A} $$ ~\n",
		"return": "five\r",
	})
	for file, want := range map[string]string{
		"unix": "one", "windows": "two", "bare": "three", "two": "a\n", "mark": "four", "dollar": "${A} $$ ~", "return": "five\r",
	} {
		for _, path := range []string{"~/" + file, filepath.Join(env.Home, file), file} {
			s := Server{Name: "s", Command: "x", Env: map[string]string{"E": "<${file:" + path + "}>"}, Dir: env.Home}
			out, secrets, err := s.Expand(env)
			if err != nil || out.Env["E"] != "<"+want+">" || !slices.Contains(secrets, "<"+want+">") {
				t.Errorf("%s: %q, secrets %q, %v", path, out.Env["E"], secrets, err)
			}
		}
	}
}

func TestExpandFileBesideTheConfiguration(t *testing.T) {
	env := valueFiles(t, map[string]string{"config.yaml": "servers:\n  s: {url: https://x/, headers: {A: '${file:token}'}}\n", "token": "hunter22\n"})
	cfg, err := Load(filepath.Join(env.Home, "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s, _ := cfg.Server("s")
	if out, _, err := s.Expand(env); err != nil || out.Headers["A"] != "hunter22" {
		t.Errorf("%q, %v", out.Headers["A"], err)
	}
	theirs := `{"mcpServers": {"s": {"serverUrl": "https://x/", "headers": {"A": "${file:token}"}}}}`
	dir := filepath.Join(env.Home, ".codeium", "windsurf")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"mcp_config.json": theirs, "token": "swordfish\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err = Load(filepath.Join(dir, "mcp_config.json"))
	if err != nil {
		t.Fatal(err)
	}
	out, secrets, err := cfg.Servers[0].Expand(env)
	if err != nil || out.Headers["A"] != "swordfish" || !slices.Contains(secrets, "swordfish") {
		t.Errorf("%q, secrets %q, %v", out.Headers["A"], secrets, err)
	}
}

func TestExpandReportsAllThatIsMissingAtOnce(t *testing.T) {
	env := valueFiles(t, map[string]string{"empty": "\n", "large": strings.Repeat("x", MaxValueSize+1)})
	s := Server{
		Name: "web", URL: "https://${HOST}/mcp", Dir: env.Home,
		Headers: map[string]string{"A": "${file:gone}", "B": "${file:~/gone}", "C": "${keyring:svc/me}", "D": "${file:.}", "E": "${file:large} ${file:empty}"},
		OAuth:   &OAuth{ClientID: "id", ClientSecret: "${SECRET}", PrivateKey: "${file:key.pem}"},
	}
	gone := "no such file or directory"
	if runtime.GOOS == "windows" {
		gone = "The system cannot find the file specified."
	}
	at := func(name string) string { return filepath.Join(env.Home, name) }
	want := `server "web": ` + strings.Join([]string{
		"variable not set: HOST (in url)",
		"file gone (in headers.A): " + at("gone") + ": " + gone,
		"file ~/gone (in headers.B): " + at("gone") + ": " + gone,
		"keyring entry svc/me (in headers.C): no such entry",
		"file . (in headers.D): " + env.Home + ": is a directory",
		"file large (in headers.E): " + at("large") + ": is larger than 1 MiB",
		"file empty (in headers.E): is empty",
		"variable not set: SECRET (in oauth.client_secret)",
		"file key.pem (in oauth.private_key): " + at("key.pem") + ": " + gone,
	}, "; ")
	out, secrets, err := s.Expand(env)
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	var unset *UnsetError
	if !errors.As(err, &unset) || len(unset.Vars) != 9 || out.URL != "" || secrets != nil {
		t.Errorf("%#v, %+v", err, out)
	}
}

func TestExpandOfAnEnvironmentThatKnowsNothing(t *testing.T) {
	_, _, err := Server{Name: "s", Command: "${A}", Args: []string{"${file:/x}", "${keyring:a/b}"}}.Expand(Environment{})
	want := `server "s": variable not set: A (in command); file /x (in args[0]): no files are read here; keyring entry a/b (in args[1]): no keyring is read here`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	_, _, err = Server{Name: "s", Command: "x", Args: []string{"${file:~/x}"}}.Expand(Environment{ReadFile: ReadValueFile})
	if err == nil || !strings.Contains(err.Error(), "file ~/x (in args[0]): the home directory that ~ stands for is not known") {
		t.Error(err)
	}
}

// Each sentence about secrets in the documentation that concerns files and the keyring.
func TestExpandFileAndKeyringAreSecretAnywhere(t *testing.T) {
	env := valueFiles(t, map[string]string{"v": "swordfish\n", "short": "abc"})
	env.Lookup = lookupIn(map[string]string{"V": "plain-value"})
	for _, server := range []Server{
		{Command: "${file:~/v}"},
		{Command: "x", Args: []string{"--to=${file:~/v}"}},
		{Command: "x", Cwd: "/${file:~/v}"},
		{Command: "x", Env: map[string]string{"LEVEL": "${file:~/v}"}},
		{URL: "https://${file:~/v}/"},
		{URL: "https://x/${file:~/v}"},
		{URL: "https://x/?q=${file:~/v}"},
		{URL: "https://x/", Headers: map[string]string{"Accept-Language": "de-${file:~/v}"}},
		{URL: "https://x/", TLS: TLS{CAFile: "/${file:~/v}"}},
		{URL: "https://x/", Proxy: "http://${file:~/v}:1"},
		{URL: "https://x/", OAuth: &OAuth{ClientID: "${file:~/v}"}},
		{URL: "https://x/", OAuth: &OAuth{Scopes: []string{"${file:~/v}"}}},
		{URL: "https://x/", OAuth: &OAuth{PrivateKey: "${file:~/v}"}},
	} {
		if _, secrets, err := server.Expand(env); err != nil || !slices.Contains(secrets, "swordfish") {
			t.Errorf("%+v: %q, %v", server, secrets, err)
		}
	}
	_, secrets, err := Server{Command: "x", Args: []string{"${keyring:gh:x/y/me}"}}.Expand(env)
	if err != nil || !slices.Equal(secrets, []string{"${K} $$ ring"}) {
		t.Errorf("%q, %v", secrets, err)
	}
	for _, server := range []Server{
		{Command: "${V}", Args: []string{"${V}"}, Cwd: "/${V}"},
		{URL: "https://${V}/${V}"},
		{Command: "x", Args: []string{"${file:~/short}"}},
		{URL: "https://x/", OAuth: &OAuth{PrivateKey: "~/${V}.pem"}},
	} {
		if _, secrets, err := server.Expand(env); err != nil || len(secrets) != 0 {
			t.Errorf("%+v: %q, %v", server, secrets, err)
		}
	}
}

func TestExpandRefusesFilesThatNoHeaderCanHold(t *testing.T) {
	env := valueFiles(t, map[string]string{"lines": "a\nb\n", "nul": "a\x00b", "wide": "a\x00b\x00\r\x00\n"})
	for _, test := range []struct {
		server Server
		want   string
	}{
		{Server{URL: "https://x/", Headers: map[string]string{"A": "${file:~/lines}"}}, `key "headers.A": the value holds a line break`},
		{Server{URL: "https://x/", Headers: map[string]string{"A": "${file:~/wide}"}}, `key "headers.A": the value holds a line break or another control character`},
		{Server{Command: "x", Env: map[string]string{"A": "${file:~/nul}"}}, `key "env.A": holds a NUL character`},
		{Server{URL: "https://x/", OAuth: &OAuth{ClientID: "${file:~/lines}"}}, `key "oauth.client_id": holds a line break`},
	} {
		if _, _, err := test.server.Expand(env); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
	s := Server{Command: "x", Env: map[string]string{"KEY": "${file:~/lines}"}}
	if out, _, err := s.Expand(env); err != nil || out.Env["KEY"] != "a\nb" {
		t.Errorf("a variable may have lines: %q, %v", out.Env["KEY"], err)
	}
}

func TestExpandReadsEachSourceOnce(t *testing.T) {
	files, rings := 0, 0
	env := Environment{
		ReadFile: func(string) ([]byte, error) { files++; return []byte("x"), nil },
		Keyring:  func(string, string) (string, error) { rings++; return "", errors.New("locked") },
	}
	s := Server{Command: "x", Args: []string{"${file:/a}", "${file:/a} ${file:/a}", "${keyring:a/b}", "${keyring:a/b}"}}
	if _, _, err := s.Expand(env); err == nil || files != 1 || rings != 1 {
		t.Errorf("read %d files, asked %d times, %v", files, rings, err)
	}
}
