package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestExpandReferences(t *testing.T) {
	env := map[string]string{"A": "alpha", "EMPTY": "", "DOLLAR": "${A} $$ ~", "_x1": "under"}
	tests := []struct{ name, text, want string }{
		{"plain", "text", "text"},
		{"variable", "${A}", "alpha"},
		{"inside text", "x-${A}-${_x1}", "x-alpha-under"},
		{"env prefix", "${env:A}", "alpha"},
		{"default unused", "${A:-other}", "alpha"},
		{"default of unset", "${NONE:-other}", "other"},
		{"default of empty", "${EMPTY:-other}", "other"},
		{"default of env prefix", "${env:NONE:-a:b}", "a:b"},
		{"default is empty", "[${NONE:-}]", "[]"},
		{"default with a dollar", "${NONE:-$$5 $x}", "$5 $x"},
		{"set but empty", "[${EMPTY}]", "[]"},
		{"dollar", "$$", "$"},
		{"escaped reference", "$${A}", "${A}"},
		{"dollar and reference", "$$${A}", "$alpha"},
		{"other dollars", "$A $ $1 a$", "$A $ $1 a$"},
		{"only once", "${DOLLAR}", "${A} $$ ~"},
		{"braces alone", "{A} }", "{A} }"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			in := Server{
				Name: "s", Command: "c" + test.text, Args: []string{"a", "-" + test.text}, Cwd: "d" + test.text,
				Env: map[string]string{"E": test.text},
			}
			out, _, err := in.Expand(Environment{Lookup: lookupIn(env), Home: "/home/u"})
			if err != nil {
				t.Fatal(err)
			}
			if out.Command != "c"+test.want || out.Args[1] != "-"+test.want || out.Cwd != "d"+test.want || out.Env["E"] != test.want {
				t.Errorf("got %+v, want %q", out, test.want)
			}
			if in.Args[1] != "-"+test.text || in.Env["E"] != test.text {
				t.Error("the original was changed")
			}
			out, _, err = Server{Name: "s", URL: "https://x/#" + test.text, Headers: map[string]string{"H": "h" + test.text}}.Expand(Environment{Lookup: lookupIn(env)})
			if err != nil {
				t.Fatal(err)
			}
			if out.URL != "https://x/#"+test.want || out.Headers["H"] != "h"+test.want {
				t.Errorf("got %+v, want %q", out, test.want)
			}
		})
	}
}

func TestExpandHome(t *testing.T) {
	s := Server{
		Name: "s", Command: "~/bin/${A}", Args: []string{"~", "~/x", "--dir=~/x", "~other", "${T}/x"}, Cwd: "~/work",
		Env: map[string]string{"E": "~/x"},
	}
	out, _, err := s.Expand(Environment{Lookup: lookupIn(map[string]string{"A": "a", "T": "~"}), Home: "/home/$u"})
	if err != nil {
		t.Fatal(err)
	}
	if out.Command != "/home/$u/bin/a" || out.Cwd != "/home/$u/work" || out.Env["E"] != "~/x" ||
		!slices.Equal(out.Args, []string{"/home/$u", "/home/$u/x", "--dir=~/x", "~other", "~/x"}) {
		t.Errorf("%+v", out)
	}
	_, _, err = s.Expand(Environment{Lookup: lookupIn(map[string]string{"A": "a", "T": "~"})})
	if err == nil || !strings.HasPrefix(err.Error(), `server "s": key "command": the home directory that ~ stands for is not known`) {
		t.Error(err)
	}
}

func TestExpandReportsAllUnsetVariables(t *testing.T) {
	s := Server{
		Name: "web", URL: "https://${HOST}/mcp",
		Headers: map[string]string{"Authorization": "Bearer ${TOKEN}", "X-Again": "${TOKEN} ${TOKEN}", "X-Opt": "${OPT:-fallback}"},
	}
	_, _, err := s.Expand(Environment{Lookup: lookupIn(nil)})
	var unset *UnsetError
	if !errors.As(err, &unset) {
		t.Fatalf("not an *UnsetError: %v", err)
	}
	want := []UnsetVar{{Name: "HOST", Place: "url"}, {Name: "TOKEN", Place: "headers.Authorization"}, {Name: "TOKEN", Place: "headers.X-Again"}}
	if unset.Server != "web" || !slices.Equal(unset.Vars, want) {
		t.Errorf("got %+v, want %+v", unset, want)
	}
	if got, want := err.Error(), `server "web": variables not set: HOST (in url), TOKEN (in headers.Authorization), TOKEN (in headers.X-Again); set them, or write ${NAME:-default}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	_, _, err = Server{Name: "s", Command: "x", Args: []string{"a", "${B}"}}.Expand(Environment{Lookup: lookupIn(nil)})
	if got, want := fmt.Sprint(err), `server "s": variable not set: B (in args[1]); set it, or write ${B:-default}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestExpandErrors(t *testing.T) {
	env := map[string]string{"NL": "secret\n", "EMPTY": "", "AUTH": "bob:hunter2@"}
	tests := []struct {
		name   string
		server Server
		want   string
	}{
		{"open", Server{Command: "x", Env: map[string]string{"A": "hunter2${B"}}, `key "env.A": a ${ has no closing }; write $$ for a plain dollar`},
		{"empty name", Server{Command: "${}"}, `key "command": ${} is no variable; a name has letters, digits and _; write $$ for a plain dollar`},
		{"odd name", Server{Command: "${A-B}"}, `key "command": ${A-B} is no variable; a name has letters, digits and _; write $$ for a plain dollar`},
		{"odd text", Server{Command: "${hunter2 !}"}, `key "command": ${} is no variable; a name has letters, digits and _; write $$ for a plain dollar`},
		{"nested", Server{Command: "${A:-${B}}"}, `key "command": the default of ${A:-…} holds another ${; it can only be text`},
		{"file", Server{Cwd: "${file:/run/token}", Command: "x"}, `file /run/token (in cwd): no files are read here`},
		{"keyring", Server{Command: "x", Args: []string{"${keyring:a/b}"}}, `keyring entry a/b (in args[0]): no keyring is read here`},
		{"line break from a variable", Server{URL: "https://x", Headers: map[string]string{"A": "${NL}"}}, `key "headers.A": the value holds a line break or another control character; remove it; a token read from a file may end in one`},
		{"empty credential", Server{URL: "https://x", Headers: map[string]string{"A": "Bearer ${EMPTY}"}}, `key "headers.A": the variable EMPTY is empty; give it a value`},
		{"no host left", Server{URL: "https://${EMPTY}/mcp"}, `key "url": the variable EMPTY is empty; give it a value`},
		{"password from a variable", Server{URL: "https://${AUTH}x/"}, `key "url": has a user name or password in it; remove it, and put the credential into headers, as Authorization: Basic`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.server.Name = "s"
			out, secrets, err := test.server.Expand(Environment{Lookup: lookupIn(env), Home: "/home/u"})
			if want := `server "s": ` + test.want; err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %v", err, want)
			}
			if out.Command != "" || out.URL != "" {
				t.Errorf("values came back with the error: %+v", out)
			}
			if slices.ContainsFunc(secrets, func(s string) bool { return isScheme(strings.TrimSpace(s)) }) {
				t.Errorf("words are secrets: %q", secrets)
			}
		})
	}
}

func TestExpandOfABrokenEntry(t *testing.T) {
	s := entryOf(t, "command: x", "foo: 1")
	if _, _, err := s.Expand(Environment{Lookup: lookupIn(nil)}); !errors.Is(err, s.Err) {
		t.Error(err)
	}
}

func TestExpandSecrets(t *testing.T) {
	env := map[string]string{"T": "tok-12345", "REGION": "eu-west", "ABC": "abc", "U": "a%2Fb+c", "CMD": "npx-special"}
	tests := []struct {
		name   string
		server Server
		want   []string
	}{
		{"header with a secret name", Server{URL: "https://x", Headers: map[string]string{"X-Api-Key": "literal-key"}}, []string{"literal-key"}},
		{"header without", Server{URL: "https://x", Headers: map[string]string{"Accept-Language": "en-GB"}}, nil},
		{"header from a variable", Server{URL: "https://x", Headers: map[string]string{"X-Region": "r ${REGION}"}}, []string{"r eu-west", "eu-west"}},
		{"credential without scheme", Server{URL: "https://x", Headers: map[string]string{"Authorization": "Bearer ${T}"}}, []string{"Bearer tok-12345", "tok-12345"}},
		{"literal credential", Server{URL: "https://x", Headers: map[string]string{"Authorization": "Basic Zm9vOmJhcg=="}}, []string{"Basic Zm9vOmJhcg==", "Zm9vOmJhcg=="}},
		{"default is judged by the name", Server{URL: "https://x", Headers: map[string]string{"X-Region": "${NONE:-eu-north}"}}, nil},
		{"env with a secret name", Server{Command: "x", Env: map[string]string{"DB_PASSWORD": "hunter22", "LEVEL": "debug"}}, []string{"hunter22"}},
		{"env from a variable", Server{Command: "x", Env: map[string]string{"LEVEL": "${REGION}"}}, []string{"eu-west"}},
		{"env that looks like a token", Server{Command: "x", Env: map[string]string{"X": "ghp_0123456789abcdef"}}, []string{"ghp_0123456789abcdef"}},
		{"too short", Server{Command: "x", Env: map[string]string{"TOKEN": "${ABC}"}}, nil},
		{"command, args, cwd, path", Server{Command: "${CMD}", Args: []string{"${T}"}, Cwd: "/${REGION}"}, nil},
		{"host and path", Server{URL: "https://${REGION}.example/${T}"}, nil},
		{"query", Server{URL: "https://x/?api_key=${U}&region=${REGION}#token=none"}, []string{"a%2Fb+c", "a/b c"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, secrets, err := test.server.Expand(Environment{Lookup: lookupIn(env), Home: "/home/u"})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(secrets, test.want) {
				t.Errorf("got %q, want %q", secrets, test.want)
			}
		})
	}
}

// TestExpandSecretsOfWhatCannotBeUsed shows that what is wrong with an entry keeps no secret of it from being masked, and that a
// value with a hole in it is none.
func TestExpandSecretsOfWhatCannotBeUsed(t *testing.T) {
	for address, want := range map[string][]string{
		"https://bob:hunter22@x/mcp":        {"hunter22", "literal-key"},
		"https://hunter22@x/mcp":            {"hunter22", "literal-key"},
		"https://bob:hun%2Fter@x/mcp":       {"hun%2Fter", "hun/ter", "literal-key"},
		"https://bob:hun/ter@x/mcp":         {"hun/ter", "literal-key"},
		"https://x:hunter22/mcp":            {"hunter22", "literal-key"},
		"https://x:99999/?token=hunter22":   {"hunter22", "literal-key"},
		"https://x/?q=ghp_0123456789abcdef": {"ghp_0123456789abcdef", "literal-key"},
		"https://x/":                        {"literal-key"},
		"https://x/?a=${A}&token=hunter22":  {"hunter22", "literal-key"},
		"https://x/?token=${A}":             {"literal-key"},
	} {
		s := Server{Name: "s", URL: address, Headers: map[string]string{"X-Api-Key": "literal-key", "Authorization": "Bearer ${UNSET}", "X-Token": "Bearer ${EMPTY}"}}
		_, secrets, err := s.Expand(Environment{Lookup: lookupIn(map[string]string{"EMPTY": ""})})
		if err == nil || !slices.Equal(secrets, want) {
			t.Errorf("%s: %q, %v; want %q", address, secrets, err, want)
		}
	}
}

func FuzzExpand(f *testing.F) {
	for _, seed := range []string{"${A}", "$${A}", "${A:-b}", "${", "${env:A}x$", "~/${A}", "${file:x}", "$$$${A", "${A:-${B}}", "https://${A}/?k=${B}#x"} {
		f.Add(seed, "value", "other")
	}
	f.Add("${A}${B}", "${B}", "$${A}")
	f.Fuzz(func(t *testing.T, text, a, b string) {
		lookup := lookupIn(map[string]string{"A": a, "B": b})
		s := Server{Name: "s", Command: "x", Env: map[string]string{"E": text}, Args: []string{text}}
		if out, secrets, err := s.Expand(Environment{Lookup: lookup, Home: "/home/u"}); err == nil {
			if !strings.Contains(text, "$") && out.Env["E"] != text {
				t.Errorf("%q became %q", text, out.Env["E"])
			}
			if strings.Contains(text, "${A}") && !strings.Contains(text, "$$") && !strings.Contains(out.Env["E"], a) {
				t.Errorf("%q became %q without %q", text, out.Env["E"], a)
			}
			for _, secret := range secrets {
				if !strings.Contains(out.Env["E"], secret) {
					t.Errorf("the secret %q is not in %q", secret, out.Env["E"])
				}
			}
			// What is expanded and has its dollars doubled expands to itself.
			s.Env["E"], s.Args = strings.ReplaceAll(out.Env["E"], "$", "$$"), nil
			if again, _, err := s.Expand(Environment{Lookup: lookup, Home: "/home/u"}); err != nil || again.Env["E"] != out.Env["E"] {
				t.Errorf("%q became %q, %v", out.Env["E"], again.Env["E"], err)
			}
		}
		w := Server{Name: "s", URL: text, Headers: map[string]string{"H": text}}
		w.LiteralSecrets()
		w.Redacted()
		_, _, _ = w.Expand(Environment{Lookup: lookup})
	})
}
