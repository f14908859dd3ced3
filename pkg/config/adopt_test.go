package config

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// adoptAll takes all entries of a file over, and returns our file's text, what was told, and the errors.
func adoptAll(t *testing.T, file, text string, o AdoptOptions) (map[string]Server, map[string]Adoption, map[string]error) {
	t.Helper()
	cfg, err := Parse(file, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	servers, told, errs := map[string]Server{}, map[string]Adoption{}, map[string]error{}
	for _, s := range cfg.Servers {
		out, adoption, err := s.Adopt(o)
		told[s.Name] = adoption
		if err != nil {
			errs[s.Name] = err
			continue
		}
		if out.Foreign != nil {
			t.Errorf("%s: still another client's", s.Name)
		}
		servers[s.Name] = out
	}
	return servers, told, errs
}

func TestAdoptedNames(t *testing.T) {
	for theirs, want := range map[string]string{
		"github": "github", "GitHub (work)": "GitHub-work", "com.example/files": "com.example-files", "@scope/x": "scope-x",
		"  a  b  ": "a-b", "-flag": "flag", "*": "server", "数据 库": "数据-库", "a\u202eb": "a-b", "https://x.example/mcp": "https-x.example-mcp",
		"..": "server", strings.Repeat("x", 100): strings.Repeat("x", 64),
	} {
		got := AdoptedName(theirs, nil)
		if got != want || ValidateName(got) != nil {
			t.Errorf("%q: %q, want %q", theirs, got, want)
		}
		if again := AdoptedName(got, nil); again != got {
			t.Errorf("%q: %q becomes %q", theirs, got, again)
		}
	}
	taken := func(name string) bool { return name == "a" || name == "a-2" }
	if got := AdoptedName("a", taken); got != "a-3" {
		t.Errorf("%q", got)
	}
}

func TestSecretsAreNotAdopted(t *testing.T) {
	const text = `{"mcpServers": {
  "git hub": {"command": "npx", "args": ["-y", "x", "--api-key", "planted-1111", "--header", "Authorization: Bearer planted-2222",
    "postgres://u:planted-3333@db/x", "--token=planted-4444"],
    "env": {
      "GITHUB_TOKEN": "ghp_planted5555aaaa", "LEVEL": "debug", "REF": "${env:REF}"}},
  "search": {"url": "https://s.example/mcp?api_key=planted-6666&q=1#f", "headers": {
      "Authorization": "Bearer planted-7777", "X-Api-Key": "planted-8888"}}
}}`
	servers, told, errs := adoptAll(t, "/p/.cursor/mcp.json", text, AdoptOptions{Variables: map[string]string{}})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	git, search := servers["git hub"], servers["search"]
	wantArgs := []string{
		"-y", "x", "--api-key", "${GIT_HUB_API_KEY}", "--header", "Authorization: Bearer ${GIT_HUB_TOKEN}",
		"postgres://u:${GIT_HUB_PASSWORD}@db/x", "--token=${GIT_HUB_TOKEN_2}",
	}
	if !slices.Equal(git.Args, wantArgs) {
		t.Errorf("args %q", git.Args)
	}
	if git.Env["GITHUB_TOKEN"] != "${GIT_HUB_GITHUB_TOKEN}" || git.Env["LEVEL"] != "debug" || git.Env["REF"] != "${env:REF}" {
		t.Errorf("env %q", git.Env)
	}
	if search.URL != "https://s.example/mcp?api_key=${SEARCH_API_KEY}&q=1#f" {
		t.Errorf("url %q", search.URL)
	}
	if search.Headers["Authorization"] != "Bearer ${SEARCH_TOKEN}" || search.Headers["X-Api-Key"] != "${SEARCH_X_API_KEY}" {
		t.Errorf("headers %q", search.Headers)
	}
	var lines []int
	for _, v := range told["git hub"].Variables {
		if v.File != "/p/.cursor/mcp.json" {
			t.Errorf("%+v", v)
		}
		lines = append(lines, v.Line)
	}
	if !slices.Equal(lines, []int{2, 2, 3, 3, 5}) {
		t.Errorf("lines %v", lines)
	}
	for _, s := range servers {
		if node, err := encode(entryNode(s), 2); err != nil || strings.Contains(node, "planted") {
			t.Errorf("%v: %s", err, node)
		}
	}

	servers, told, _ = adoptAll(t, "/p/.cursor/mcp.json", text, AdoptOptions{LiteralSecrets: true})
	if servers["search"].Headers["Authorization"] != "Bearer planted-7777" || len(told["search"].Variables) > 0 {
		t.Errorf("not copied: %+v, %+v", servers["search"], told["search"])
	}
}

func TestAVariableIsOneServersOnly(t *testing.T) {
	const text = `{"mcpServers": {
		"a": {"command": "x", "env": {"B_KEY": "planted-1111"}},
		"a b": {"command": "x", "env": {"KEY": "planted-2222"}},
		"c": {"url": "https://c.example/", "headers": {"Authorization": "Bearer planted-3333", "X": "${env:C_TOKEN}", "X-Auth": "token ${env:OTHER:-planted-4444}"}}}}`
	servers, _, errs := adoptAll(t, "/p/.cursor/mcp.json", text, AdoptOptions{Variables: map[string]string{}})
	if servers["a"].Env["B_KEY"] != "${A_B_KEY}" || servers["a b"].Env["KEY"] != "${A_B_KEY_2}" {
		t.Errorf("%q %q", servers["a"].Env, servers["a b"].Env)
	}
	if servers["c"].Headers["Authorization"] != "Bearer ${C_TOKEN_2}" {
		t.Errorf("%q, %v", servers["c"].Headers, errs)
	}
}

func TestADefaultThatIsASecretIsNotAdopted(t *testing.T) {
	servers, told, errs := adoptAll(t, "/p/.mcp.json", `{"mcpServers": {"a": {"url": "https://a.example/", "headers": {"Authorization": "Bearer ${A_KEY:-planted-1111}"}}}}`, AdoptOptions{})
	if got := servers["a"].Headers["Authorization"]; got != "Bearer ${A_KEY}" || len(told["a"].Variables) != 1 || told["a"].Variables[0].Name != "A_KEY" {
		t.Errorf("%q, %+v, %v", got, told, errs)
	}
}

func TestPlaceholdersAreAdopted(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, ".vscode", "mcp.json")
	servers, told, errs := adoptAll(t, file, `{"inputs": [{"id": "api-token", "description": "your token"}], "servers": {
	"a": {"command": "node", "args": ["${workspaceFolder}/x.js", "${userHome}/y", "a${userHome}", "${pathSeparator}"], "env": {"T": "x ${input:api-token} $5 ${input:api-token}"}}}}`,
		AdoptOptions{Home: "/home/u"})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	a := servers["a"]
	if !slices.Equal(a.Args, []string{dir + "/x.js", "~/y", "a/home/u", string(filepath.Separator)}) || a.Cwd != dir {
		t.Errorf("%q in %q", a.Args, a.Cwd)
	}
	if a.Env["T"] != "x ${A_API_TOKEN} $5 ${A_API_TOKEN}" {
		t.Errorf("%q", a.Env)
	}
	if v := told["a"].Variables; len(v) != 1 || v[0] != (AdoptedVariable{Name: "A_API_TOKEN", Place: "env.T", About: `${input:api-token}: what VS Code asks for ("your token")`}) {
		t.Errorf("%+v", v)
	}

	servers, told, _ = adoptAll(t, "/u/.config/Code/User/mcp.json", `{"servers": {"a": {"command": "node", "args": ["${workspaceFolder}/x.js"]}}}`, AdoptOptions{})
	if !slices.Equal(servers["a"].Args, []string{"${A_WORKSPACE_FOLDER}/x.js"}) || servers["a"].Cwd != "" || len(told["a"].Variables) != 1 {
		t.Errorf("%+v, %+v", servers["a"], told["a"])
	}
}

func TestWhatAClientPassesOnIsTold(t *testing.T) {
	servers, told, _ := adoptAll(t, "/x/claude_desktop_config.json", `{"mcpServers": {"a": {"command": "node", "args": ["~/x", "${KEY}"], "env": {"K": "${KEY}", "H": "~/x"}}}}`, AdoptOptions{})
	a := servers["a"]
	if !slices.Equal(a.Args, []string{"~/x", "$${KEY}"}) || a.Env["K"] != "$${KEY}" || len(told["a"].Changes) != 3 {
		t.Errorf("%q, %q, %v", a.Args, a.Env, told["a"].Changes)
	}
}

func TestPathsOfProjectsAreAdopted(t *testing.T) {
	const text = `{"mcpServers": {"a": {"command": "bin/server", "args": ["./x", "../y", "@scope/pkg", "run"]}, "b": {"command": "node", "cwd": "sub", "args": ["./x"]}, "c": {"command": "cmd", "args": ["/c", "npx", "x"]}, "d": {"url": "https://d.example/"}}}`
	servers, _, errs := adoptAll(t, "/p/.mcp.json", text, AdoptOptions{})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if a := servers["a"]; a.Command != "/p/bin/server" || !slices.Equal(a.Args, []string{"/p/x", "/y", "@scope/pkg", "run"}) || a.Cwd != "/p" {
		t.Errorf("%+v", a)
	}
	if b := servers["b"]; b.Cwd != "/p/sub" || b.Args[0] != "/p/sub/x" {
		t.Errorf("%+v", b)
	}
	if c := servers["c"]; c.Target() != "cmd /c npx x" {
		t.Errorf("%+v", c)
	}
	_, told, _ := adoptAll(t, "/u/.codeium/windsurf/mcp_config.json", text, AdoptOptions{})
	if len(told["a"].Changes) != 1 || !strings.Contains(told["a"].Changes[0].String(), "mcp_config.json:1: key \"command\": is a relative path") {
		t.Errorf("%v", told["a"].Changes)
	}
}

func TestACommandLineInOneTextIsSplit(t *testing.T) {
	servers, told, errs := adoptAll(t, "/u/.cursor/mcp.json", `{"mcpServers": {
		"a": {"command": "npx -y 'a b' --api-key planted-1111"}, "b": {"command": "/opt/My App/server"}, "c": {"command": "npx -y", "args": ["x"]},
		"d": {"command": "/opt/x --token planted-2222"}}}`, AdoptOptions{})
	if a := servers["a"]; a.Command != "npx" || !slices.Equal(a.Args, []string{"-y", "a b", "--api-key", "${A_API_KEY}"}) {
		t.Errorf("%+v", a)
	}
	if servers["b"].Command != "/opt/My App/server" || servers["c"].Command != "npx -y" {
		t.Errorf("%+v", servers)
	}
	if errs["d"] == nil || !strings.Contains(errs["d"].Error(), `a secret stands in a command line`) {
		t.Errorf("%v", errs)
	}
	for name, adoption := range told {
		if len(adoption.Changes) != 1 || strings.Contains(adoption.Changes[0].String(), "planted") {
			t.Errorf("%s: %v", name, adoption.Changes)
		}
	}
}

func TestAnEnvFileIsAdoptedByItsNames(t *testing.T) {
	dir := t.TempDir()
	writeText(t, filepath.Join(dir, ".env"), "# mine\nTOKEN=planted-1111\nOWN=planted-2222\nPATH=/planted-3333\nTOKEN=planted-4444\nA.B=planted-5555\n")
	if err := os.Mkdir(filepath.Join(dir, ".vscode"), 0o700); err != nil {
		t.Fatal(err)
	}
	const text = `{"servers": {"a": {"command": "x", "env": {"OWN": "here"}, "envFile": "${workspaceFolder}/.env"}, "b": {"command": "x", "envFile": "none.env"}}}`
	servers, told, errs := adoptAll(t, filepath.Join(dir, ".vscode", "mcp.json"), text, AdoptOptions{Variables: map[string]string{}})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	env := servers["a"].Env
	if len(env) != 4 || env["TOKEN"] != "${TOKEN}" || env["OWN"] != "here" || env["PATH"] != "${A_PATH}" || env["A.B"] != "${A_A_B}" {
		t.Errorf("%q", env)
	}
	if v := told["a"].Variables; len(v) != 3 || v[1] != (AdoptedVariable{Name: "TOKEN", Place: "env.TOKEN", File: filepath.Join(dir, ".env"), Line: 5}) {
		t.Errorf("%+v", v)
	}
	if l := told["b"].Losses; len(l) != 1 || !strings.Contains(l[0].Message, "its variables are not taken over") {
		t.Errorf("%v", l)
	}
	servers, _, _ = adoptAll(t, filepath.Join(dir, ".vscode", "mcp.json"), text, AdoptOptions{LiteralSecrets: true})
	if servers["a"].Env["TOKEN"] != "planted-4444" {
		t.Errorf("%q", servers["a"].Env)
	}
}

func TestAnEntryThatIsBrokenIsNotAdopted(t *testing.T) {
	_, told, errs := adoptAll(t, "/u/.cursor/mcp.json", `{"mcpServers": {
	"a": {}, "b": {"url": "https://u:planted-1111@x.example/"}, "ok": {"command": "x", "disabled": true, "trust": true}}}`, AdoptOptions{})
	if len(errs) != 2 || strings.Contains(errs["b"].Error(), "planted") {
		t.Errorf("%v", errs)
	}
	if l := told["ok"].Losses; len(l) != 1 || l[0].String() != `/u/.cursor/mcp.json:2: key "trust": mcpctl has no place for it, and does not use it` {
		t.Errorf("%v", l)
	}
}

func TestASecretInThePathOfAURLIsTold(t *testing.T) {
	_, told, _ := adoptAll(t, "/u/.cursor/mcp.json", `{"mcpServers": {
	"a": {"url": "https://a.example/mcp/s/0f1e2d3c4b5a69788796a5b4c3d2e1f0/mcp"}, "b": {"url": "https://0f1e2d3c4b5a69788796a5b4c3d2e1f0.b.example/mcp"}}}`, AdoptOptions{})
	if len(told["a"].Changes) != 1 || strings.Contains(told["a"].Changes[0].String(), "0f1e") || len(told["b"].Changes) != 0 {
		t.Errorf("%v, %v", told["a"].Changes, told["b"].Changes)
	}
}

func TestDifferencesBetweenEntries(t *testing.T) {
	a := Server{Name: "a", Command: "x", Enabled: true, Env: map[string]string{"A": "1"}}
	b := a.Clone()
	b.Name = "b"
	if !a.Same(b) || !a.SameTarget(b) {
		t.Error("not the same")
	}
	b.Env["A"], b.Enabled = "2", false
	if got := a.Differences(b); !slices.Equal(got, []string{"env", "enabled"}) {
		t.Errorf("%q", got)
	}
}

// FuzzAdopt shows that whatever is in a file, an entry becomes a valid one of ours without a secret in it, or says why not;
// and that what came out is not changed by going through once more.
func FuzzAdopt(f *testing.F) {
	for _, seed := range []string{
		`{"mcpServers": {"a b": {"command": "npx -y x --api-key sk-abcdefgh12345678ABCDEFGH", "env": {"A_TOKEN": "ghp_0123456789abcdef"}}}}`,
		`{"mcpServers": {"a": {"command": "x", "args": ["postgres://u:pass@h/?token=abcd1234", "-H", "Authorization: Bearer abcdefgh", "--token=${X:-abcdefgh}"]}}}`,
		`{"mcpServers": {"a": {"url": "https://h/?api_key=abcd1234&token=$x${env:Y}", "headers": {"Authorization": "Bearer ${env:X:-abcdefgh}", "X-Key": "Basic $$ab${cd"}}}}`,
		`{"inputs": [{"id": "x"}], "servers": {"/": {"command": "${userHome}/x", "args": ["${workspaceFolder}", "${input:x}"], "envFile": "${workspaceFolder}/.env"}}}`,
		`{"context_servers": {"z": {"command": {"path": "./x", "args": ["../y"]}, "source": "custom"}}}`,
		"servers:\n  a: {command: x, env: {TOKEN: abcdefgh}, health: {tool: t}}\n  b: {url: \"https://h/\", proxy: \"http://u:abcdefgh@p:1\"}\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, file := range []string{"/p/.mcp.json", "/p/.cursor/mcp.json", "/p/.vscode/mcp.json", "c.yaml"} {
			cfg, err := Parse(file, []byte(text))
			if err != nil {
				continue
			}
			used := map[string]string{}
			for _, s := range cfg.Servers {
				if s.Foreign != nil && strings.Contains(s.Foreign.EnvFile, "/") {
					continue // nothing is read here
				}
				checkMeansTheSame(t, s)
				out, told, err := s.Adopt(AdoptOptions{Home: "/home/u", File: file, Variables: used})
				if err != nil {
					if err.Error() == "" {
						t.Error("no reason")
					}
					continue
				}
				if err := out.Validate(); err != nil {
					t.Errorf("not valid: %v", err)
				}
				if left := out.LiteralSecrets(); len(left) > 0 {
					t.Errorf("a secret is left: %v in %+v", left, out)
				}
				for _, v := range told.Variables {
					if !validVariable(v.Name) || v.File == "" && v.About == "" {
						t.Errorf("variable %+v", v)
					}
				}
				again, told, err := out.Adopt(AdoptOptions{Home: "/home/u", File: "c.yaml", Variables: used})
				if err != nil || !again.Same(out) || again.Name != out.Name || len(told.Variables) > 0 {
					t.Errorf("once more: %v, %v, %+v, %+v", err, told.Variables, out, again)
				}
			}
		}
	})
}

// checkMeansTheSame wants an entry that is taken over with all that is written out to mean what it did. A command and its
// arguments may mean more than they did.
func checkMeansTheSame(t *testing.T, s Server) {
	t.Helper()
	out, _, err := s.Adopt(AdoptOptions{Home: "/home/u", LiteralSecrets: true})
	if err != nil {
		return
	}
	lookup := environment("A=1", "X=x$y", "Y=${A}", "HOME=/home/u")
	before, _, err := s.Expand(lookup, "/home/u")
	if err != nil {
		return
	}
	after, _, err := out.Expand(lookup, "/home/u")
	if err != nil {
		t.Errorf("%+v became %+v: %v", s, out, err)
		return
	}
	if before.URL != after.URL || !maps.Equal(before.Env, after.Env) || !maps.Equal(before.Headers, after.Headers) || before.Timeout != after.Timeout {
		t.Errorf("%+v became %+v", before, after)
	}
}
