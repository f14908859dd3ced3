package session

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// knownRuntime is a program that runs servers, and that people have to install.
type knownRuntime struct {
	// commands are the programs that come with it.
	commands []string
	title    string
	// from is where to get it.
	from string
	// instead are programs that do the same, under another name.
	instead []string
	// least is the oldest version that is known to do, with the reason; "" if none is known.
	least, why string
}

// knownRuntimes are the runtimes with which servers are started. Minimal versions: "engines" in the package.json of
// @modelcontextprotocol/sdk is node >=18, and "requires-python" of the Python package mcp is >=3.10.
func knownRuntimes() []knownRuntime {
	return []knownRuntime{
		{commands: []string{"node", "npx", "npm"}, title: "Node.js", from: "https://nodejs.org", least: "18", why: "MCP's SDK for JavaScript needs Node.js 18 or newer"},
		{commands: []string{"python", "python3", "py"}, title: "Python", from: "https://www.python.org/downloads", instead: []string{"python3", "python"}, least: "3.10", why: "the Python package mcp needs Python 3.10 or newer"},
		{commands: []string{"uvx", "uv"}, title: "uv", from: "https://docs.astral.sh/uv"},
		{commands: []string{"pipx"}, title: "pipx", from: "https://pipx.pypa.io"},
		{commands: []string{"docker"}, title: "Docker", from: "https://docs.docker.com/get-docker"},
		{commands: []string{"podman"}, title: "Podman", from: "https://podman.io"},
		{commands: []string{"deno"}, title: "Deno", from: "https://deno.com"},
		{commands: []string{"bun", "bunx"}, title: "Bun", from: "https://bun.sh"},
		{commands: []string{"pnpm", "pnpx"}, title: "pnpm", from: "https://pnpm.io"},
		{commands: []string{"yarn"}, title: "Yarn", from: "https://yarnpkg.com"},
		{commands: []string{"tsx"}, title: "tsx", from: "npm install -g tsx"},
		{commands: []string{"dotnet", "dnx"}, title: ".NET", from: "https://dotnet.microsoft.com/download"},
		{commands: []string{"java"}, title: "Java", from: "https://adoptium.net"},
		{commands: []string{"go"}, title: "Go", from: "https://go.dev/dl"},
		{commands: []string{"cargo"}, title: "Rust", from: "https://rustup.rs"},
		{commands: []string{"ruby", "bundle", "gem"}, title: "Ruby", from: "https://www.ruby-lang.org"},
		{commands: []string{"php", "composer"}, title: "PHP", from: "https://www.php.net"},
	}
}

// commandName returns the name of a program without its directory and the endings of Windows.
func commandName(command string) string {
	name := filepath.Base(command)
	switch ext := strings.ToLower(filepath.Ext(name)); ext {
	case ".exe", ".cmd", ".bat":
		name = name[:len(name)-len(ext)]
	}
	return name
}

// runtimeOf returns the runtime that a program comes with.
func runtimeOf(command string) (knownRuntime, bool) {
	name := commandName(command)
	for _, r := range knownRuntimes() {
		if slices.Contains(r.commands, name) || r.title == "Python" && pythonName().MatchString(name) {
			return r, true
		}
	}
	return knownRuntime{}, false
}

// pythonName is how the executables of a certain version are called.
var pythonName = lazily(`^python3?(\.\d+)?$`)

// Runtime is the program that runs a stdio server's code and whose version is known to matter.
type Runtime struct {
	// Title is its name: "Node.js".
	Title string
	// Path is the executable.
	Path string
	// Least is the oldest version that is known to do, and Why says for what.
	Least, Why string

	env []string
	dir string
}

// Runtime returns the program that runs a stdio server's code, if its version is known to matter: the command itself, or
// the one that the first line of its script names. Nothing is started.
func (d *Dialer) Runtime(server config.Server) (Runtime, bool) {
	c, err := childCommand(server, d.environ())
	if err != nil {
		return Runtime{}, false
	}
	path := c.Path
	known, ok := runtimeOf(path)
	if name := commandName(path); !ok || name != "node" && !pythonName().MatchString(name) {
		script, isScript := readShebang(path)
		if !isScript {
			return Runtime{}, false
		}
		if path = script.program; script.byEnv {
			if path, err = (lookup{name: script.program, dir: c.Dir, env: c.Env}).find(); err != nil {
				return Runtime{}, false
			}
		}
		if known, ok = runtimeOf(path); !ok {
			return Runtime{}, false
		}
	}
	if known.least == "" {
		return Runtime{}, false
	}
	return Runtime{Title: known.title, Path: path, Least: known.least, Why: known.why, env: c.Env, dir: c.Dir}, true
}

// Version asks the runtime for its version, in the environment of the server. It ends when ctx does.
func (r Runtime) Version(ctx context.Context) (string, error) {
	const afterKill = 100 * time.Millisecond // what a grandchild may still hold the pipe
	cmd := exec.CommandContext(ctx, r.Path, "--version")
	cmd.Env, cmd.Dir, cmd.WaitDelay = r.env, r.dir, afterKill
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", r.Path, err)
	}
	version := versionNumber().FindString(string(out))
	if version == "" {
		return "", errors.New(r.Path + " --version names no version")
	}
	return version, nil
}

// versionNumber finds a version in what a program says to --version: "v20.1.0", "Python 3.11.7".
var versionNumber = lazily(`\d+(\.\d+)+`)

// Old reports whether a version is older than the runtime has to be.
func (r Runtime) Old(version string) bool { return compareVersions(version, r.Least) < 0 }
