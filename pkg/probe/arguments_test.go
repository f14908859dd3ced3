package probe

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// TestNormalArguments shows that nothing is said about what people write.
func TestNormalArguments(t *testing.T) {
	dir := t.TempDir()
	for _, f := range []string{"dist/index.js", "server.py", "a.csv", "server.jar"} {
		path := filepath.Join(dir, f)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range [][]string{
		{"npx", "-y", "@modelcontextprotocol/server-filesystem", "/home/me/projects", "/home/me/a~b"},
		{"npx", "-y", "mcp-remote@latest", "https://api.example/~me/mcp?x=1&y=%20%2F", "--header", "X-Path: /path/to"},
		{"npx", "-y", "figma-developer-mcp", "--figma-api-key=figd_abc$def", "--stdio"},
		{"uvx", "--from", "git+https://github.com/a/b@v1.2", "b", "--key", "name"},
		{"uv", "--directory", "/srv/x", "run", "server.py"},
		{"docker", "run", "-i", "--rm", "-e", "GITHUB_TOKEN", "-v", "/a:/b:ro", "ghcr.io/github/github-mcp-server"},
		{"node", "dist/index.js", "--include=*.ts", "--glob", "src/**/*.ts", "--filter", "*"},
		{"node", "--enable-source-maps", "--max-old-space-size=4096", "dist/index.js"},
		{"node", "--import", "tsx", "dist/index.js"},
		{"node", "-e", "console.log(`${process.env.HOME}`, '$HOME', \"path/to/x\")"},
		{"python3", "server.py", "--pattern", "^foo$", "--template", "{name}: $.data[*]"},
		{"python3", "-u", "-m", "mcp_server", "missing.py"},
		{"python3", "-c", "import os; print('~/x', \"$(date)\")"},
		{"sh", "-c", "cd ~/x && exec node \"$HOME/y.js\" $(date) `date`"},
		{"bash", "-lc", "source ~/.nvm/nvm.sh; npx x"},
		{"cmd", "/c", "npx", "-y", "%APPDATA%\\x"},
		{"java", "-Xmx1g", "-jar", "server.jar"},
		{"deno", "run", "-A", "https://example.com/server.ts"},
		{"deno", "run", "--allow-read=/tmp/*", "npm:@a/b"},
		{"server", "--json", `{"a":"b","c":"${d"}`, "--name", `say "hi" twice`, "--prompt", "use `code` here", "-x", "it's", `{"k":"v"}`, `"a" and "b`, "50%", "%d%%", "100%_%"},
		{"server", "--expr", "a=$b", "--price", "$5", "--money=$1,000", "--tag", "<b>", "-D", "<", "--api-key", "key-your-own", "--your", "--yourself=here"},
		{"server", "--url=http://host/$metadata", "--odata", "/$batch"},
		{"server", dir + "/*.nothing", "--out=" + dir + "/*.csv", "*.csv"},
	} {
		s := config.Server{Command: line[0], Args: line[1:], Cwd: dir, Env: map[string]string{
			"TOKEN": "ghp_abc", "URL": "https://x/path", "KEY": "sk-your", "EMPTY": "", "DOLLAR": "$HOME", "TEMPLATE": "{{x}}",
		}}
		if doubts := doubtfulArguments(s, nil); len(doubts) > 0 {
			t.Errorf("%q: %+v", line, doubts)
		}
	}
}

// TestDoubtfulArguments shows what is noticed, one argument a row.
func TestDoubtfulArguments(t *testing.T) {
	dir := t.TempDir()
	for _, f := range []string{"a.csv", "b.csv"} {
		if err := os.WriteFile(filepath.Join(dir, f), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for arg, words := range map[string]string{
		"$HOME/y":                         "no shell replaces it",
		"--dir=$HOME/y":                   "no shell replaces it",
		"$HOME":                           "no shell replaces it",
		"/a:$PWD":                         "no shell replaces it",
		"${HOME}/x":                       "no shell replaces it",
		"${TOKEN:-none}":                  "no shell replaces it",
		`%APPDATA%\x`:                     "no shell replaces it",
		"--dir=%USERPROFILE%":             "no shell replaces it",
		"~bob/data":                       "~ with a name",
		"--dir=~/data":                    "at the beginning of an argument only",
		"$(pwd)/x":                        "no shell runs it",
		"--token=$(cat token)":            "no shell runs it",
		"`pwd`":                           "no shell runs it",
		"${workspaceFolder}/x":            "placeholder of another client",
		"${input:token}":                  "placeholder of another client",
		"${env:HOME}":                     "placeholder of another client",
		"'/my/path'":                      "keeps its quotes",
		`"/my/path"`:                      "keeps its quotes",
		`--dir="/my/path"`:                "keeps its quotes",
		"<YOUR_KEY>":                      "placeholder",
		"--key=<token>":                   "placeholder",
		"YOUR_API_KEY":                    "placeholder",
		"--figma-api-key=your-api-key":    "placeholder",
		"your-token-here":                 "placeholder",
		"/path/to/server":                 "placeholder",
		"path/to/your/project":            "placeholder",
		"--dir=/path/to/dir":              "placeholder",
		"--api-key=YOUR-FIGMA-KEY":        "placeholder",
		"INSERT_TOKEN_HERE":               "placeholder",
		filepath.Join(dir, "*.csv"):       "files that match",
		"./*.csv":                         "files that match",
		`/Users/<your-username>/projects`: "placeholder",
	} {
		s := config.Server{Command: "server", Args: []string{"ok", arg}, Cwd: dir}
		doubts := doubtfulArguments(s, nil)
		if len(doubts) != 1 || doubts[0].place != "args[1]" || !strings.Contains(doubts[0].said, words) || doubts[0].fix == "" {
			t.Errorf("%q: %+v", arg, doubts)
		}
	}
	for line, place := range map[string]string{
		"node dist/index.js":              "args[0]",
		"node --inspect dist/index.js":    "args[1]",
		"/usr/bin/python3.12 -u srv.py":   "args[1]",
		"java -Xmx1g -jar target/x.jar":   "args[2]",
		"bun run src/index.ts":            "args[1]",
		"tsx src/index.ts":                "args[0]",
		"dotnet bin/Server.dll":           "args[0]",
		"node --import tsx src/server.ts": "args[2]",
	} {
		words := strings.Fields(line)
		doubts := doubtfulArguments(config.Server{Command: words[0], Args: words[1:], Cwd: dir}, nil)
		if len(doubts) != 1 || doubts[0].place != place || !strings.Contains(doubts[0].said, dir) || !strings.Contains(doubts[0].said, "does not exist") {
			t.Errorf("%s: %+v", line, doubts)
		}
	}
	// The value of a variable may be a secret, so it is not shown.
	doubts := doubtfulArguments(config.Server{Command: "server", Env: map[string]string{"TOKEN": "<your-token>"}}, nil)
	if len(doubts) != 1 || doubts[0].place != "env.TOKEN" || strings.Contains(doubts[0].said, "your") {
		t.Errorf("%+v", doubts)
	}
	// In a file a dollar sign is doubled by somebody who means it.
	s := config.Server{Command: "server", Args: []string{"$HOME/y"}}
	if doubts := doubtfulArguments(s, func(int) bool { return true }); len(doubts) != 0 {
		t.Errorf("%+v", doubts)
	}
	if doubts := doubtfulArguments(s, func(int) bool { return false }); len(doubts) != 1 || !strings.Contains(doubts[0].fix, "${NAME}") {
		t.Errorf("%+v", doubts)
	}
}
