package probe

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/mcpctl/mcpctl/pkg/config"
)

func clientCommand() Check {
	return Check{
		ID: "client.command", Title: "the client finds the command, too", Needs: []string{"command.found"},
		Why: `An application started from the desktop does not read your shell's startup files. What nvm, fnm, asdf, volta,
mise, pyenv, Homebrew or a virtual environment add to PATH there is missing, so it does not find a command that
works in this terminal. The same goes for the interpreter of a script: npx, even with its full path, still looks
for node.`,
		Remedy: `Use the full path of the command in the client's file. For a script, add the directory of its interpreter to
PATH in env.`,
		Applies: func(t *Target) bool {
			return stdio(t) && runtime.GOOS != "windows" && launched(t, config.LaunchDesktop, config.LaunchShell)
		},
		Run: func(_ context.Context, t *Target) Finding {
			path, err := t.dialer().FindCommand(t.expanded)
			if err != nil {
				return failure(err)
			}
			f := t.clientCommand(path, runtime.GOOS)
			f.Data = map[string]any{"path": path}
			return f
		},
	}
}

// clientCommand judges a command that was found at a path here.
func (t *Target) clientCommand(path, goos string) Finding {
	client := format(t)
	dir := filepath.Dir(path)
	if _, own := t.expanded.Env["PATH"]; own {
		return pass("the entry sets PATH itself")
	}
	full := strings.ContainsRune(t.expanded.Command, '/')
	if client.Launch == config.LaunchShell {
		if !full && t.passing(dir) {
			return warn(fmt.Sprintf("%s is on the PATH of this terminal only: %s%s; %s takes the PATH of your login shell", t.expanded.Command, dir, managerOf(dir), client.Title),
				fmt.Sprintf(`use the full path in %s's file: "command": %q`, client.Title, path))
		}
		return pass(client.Title + " takes the PATH of your login shell")
	}
	dirs := desktopPath(goos, t.Environment.Home)
	there := full || slices.Contains(dirs, dir)
	script := interpreter(path)
	if script != "" && findIn(dirs, script) == "" {
		return t.clientScript(path, script, there, goos)
	}
	if there {
		return pass(path)
	}
	if other := t.otherProgram(path, goos); other != "" {
		f := pass(fmt.Sprintf("%s starts %s, and not %s as here", client.Title, other, path))
		f.Note = "they may be of different versions; the full path in the entry makes them the same"
		return f
	}
	return warn(fmt.Sprintf("%s is found only through this terminal's PATH, in %s%s; %s has another (%s)", t.expanded.Command, dir, managerOf(dir), client.Title, shownDesktopPath(goos)),
		fmt.Sprintf(`use the full path in %s's file: "command": %q`, client.Title, path))
}

// otherProgram returns what a desktop client starts in place of the command that was found at a path here, "" if it is the
// same, or none.
func (t *Target) otherProgram(path, goos string) string {
	dirs := desktopPath(goos, t.Environment.Home)
	if _, own := t.expanded.Env["PATH"]; own || format(t).Launch != config.LaunchDesktop || strings.ContainsRune(t.expanded.Command, '/') ||
		slices.Contains(dirs, filepath.Dir(path)) {
		return ""
	}
	return findIn(dirs, t.expanded.Command)
}

// clientScript judges a command that is a script for a program which the client would not find.
func (t *Target) clientScript(path, script string, there bool, goos string) Finding {
	client := format(t)
	dir := filepath.Dir(path)
	// The interpreter is most often beside the script.
	home := dir
	if findIn([]string{dir}, script) == "" {
		if found, err := t.dialer().FindCommand(withCommand(t.expanded, script)); err == nil {
			home = filepath.Dir(found)
		}
	}
	message := fmt.Sprintf("%s is a script for %s, which is found only through this terminal's PATH, in %s%s; %s has another (%s)",
		filepath.Base(path), script, home, managerOf(home), client.Title, shownDesktopPath(goos))
	fix := fmt.Sprintf(`"env": {"PATH": "%s:/usr/bin:/bin"}`, home)
	if !there {
		fix = fmt.Sprintf(`"command": %q, `, path) + fix
	}
	return warn(message, fmt.Sprintf("write into %s's file: %s", client.Title, fix))
}

func withCommand(s config.Server, command string) config.Server {
	s.Command = command
	return s
}
