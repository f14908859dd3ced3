package session

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// lookup finds the file that a command stands for, and says what is known when there is none.
type lookup struct {
	// name is the command, dir where a relative path begins, and env the child's environment.
	name, dir string
	env       []string
	// ours is our own environment, and own what the entry sets.
	ours []string
	own  map[string]string
}

// isPath reports whether the command is a path, which is not looked for on PATH.
func (l lookup) isPath() bool {
	return strings.ContainsRune(l.name, '/') || runtime.GOOS == "windows" && strings.ContainsRune(l.name, '\\')
}

// find finds an executable.
func (l lookup) find() (string, *commandError) {
	if l.isPath() {
		return l.findPath()
	}
	dirs := l.searched()
	found, there := l.onPath(l.name)
	switch {
	case found != "":
		return found, nil
	case there != "":
		return "", &commandError{message: fmt.Sprintf("command %s: %s is not executable", l.name, there), hint: "chmod +x " + there, path: there}
	}
	e := &commandError{message: "command not found: " + l.name, evidence: []string{l.where(dirs)}}
	e.hint = l.advise(e, dirs)
	return "", e
}

// onPath looks for a program on the child's PATH, and returns as well what is there and cannot be executed.
func (l lookup) onPath(name string) (found, there string) {
	for _, d := range l.searched() {
		found, err := executable(filepath.Join(d, name), l.env)
		if err == nil {
			return found, ""
		}
		if os.IsPermission(err) {
			there = cmp.Or(there, filepath.Join(d, name))
		}
	}
	return "", there
}

// findPath finds an executable by its path.
func (l lookup) findPath() (string, *commandError) {
	path := l.name
	if !filepath.IsAbs(path) && l.dir != "" {
		path = filepath.Join(l.dir, path)
	}
	found, err := executable(path, l.env)
	if err == nil {
		return found, nil
	}
	e := &commandError{message: fmt.Sprintf("command %s: %v", l.name, cause(err)), hint: "check the path of the command"}
	if abs, absErr := filepath.Abs(path); absErr == nil && abs != l.name {
		e.evidence = []string{"that is " + abs}
		path = abs
	}
	switch {
	case err == errDirectory: //nolint:errorlint // ours, and never wrapped
		e.path, e.hint = path, "name the program that is in it"
	case os.IsPermission(err):
		if _, err := os.Stat(path); err == nil {
			e.path = path
		}
		e.message, e.hint = fmt.Sprintf("command %s is not executable", l.name), "chmod +x "+path
		if by := interpreterFor(path); by != "" {
			e.hint += fmt.Sprintf(", or start it with its interpreter: command: %s, args: [%q]", by, l.name)
		}
	case windowsPath().MatchString(l.name) && runtime.GOOS != "windows":
		e.hint = "that is a path of Windows, and this is " + runtime.GOOS
	case strings.HasPrefix(l.name, "~"):
		e.hint = "write the whole path: ~ stands for your own home directory only, at the beginning of ~/"
	case !filepath.IsAbs(l.name) && l.dir == "":
		e.hint = "a relative path begins at the directory in which mcpctl is started: give cwd, or the whole path"
	}
	if hint := l.split(); hint != "" {
		e.hint = hint
	}
	return "", e
}

// windowsPath is how absolute paths of Windows begin.
var windowsPath = lazily(`^[A-Za-z]:[\\/]`)

// searched returns the directories in which the command is looked for. A relative one would depend on the working
// directory.
func (l lookup) searched() []string {
	return slices.DeleteFunc(filepath.SplitList(valueOf(l.env, "PATH")), func(d string) bool { return !filepath.IsAbs(d) })
}

// where says where the command was looked for.
func (l lookup) where(dirs []string) string {
	switch _, own := l.own["PATH"]; {
	case len(dirs) == 0 && own:
		return "the PATH that the entry sets in env has no directory"
	case len(dirs) == 0:
		return "PATH is not set"
	case own:
		return "looked in the PATH that the entry sets in env: " + strings.Join(dirs, ", ")
	}
	return "looked in " + strings.Join(dirs, ", ")
}

// advise says what to do about a command that is not on the child's PATH.
func (l lookup) advise(e *commandError, dirs []string) string {
	if hint := l.split(); hint != "" {
		return hint
	}
	if windowsPath().MatchString(l.name) && runtime.GOOS != "windows" {
		return "that is a path of Windows, and this is " + runtime.GOOS
	}
	if name := strings.ToLower(l.name); (name == "cmd" || name == "cmd.exe") && runtime.GOOS != "windows" {
		return "cmd is the Windows shell, and this is " + runtime.GOOS + ": use what follows /c as the command"
	}
	if path, ours := l.elsewhere(dirs); path != "" {
		e.evidence = append(e.evidence, "found at "+path)
		if _, own := l.own["PATH"]; own && ours {
			return fmt.Sprintf("use the full path: %s (the PATH that env sets hides it; it replaces yours)", path)
		}
		return fmt.Sprintf("use the full path: %s (its directory is not on the PATH that the server gets)", path)
	}
	var near []string
	if r, ok := runtimeOf(l.name); ok {
		e.message += fmt.Sprintf(" (it comes with %s)", r.title)
		for _, other := range r.instead {
			if found, _ := l.onPath(other); found != "" {
				near = append(near, other)
			}
		}
		if len(near) == 0 {
			return fmt.Sprintf("install %s: %s", r.title, r.from)
		}
	} else {
		near = nearCommands(l.name, dirs)
	}
	if len(near) > 0 {
		return "did you mean " + strings.Join(near, " or ") + "?"
	}
	return "install it, or give the full path"
}

// split returns the advice for a whole command line in the place of a command, "" if it is none.
func (l lookup) split() string {
	words := strings.Fields(l.name)
	if len(words) < 2 {
		return ""
	}
	first := l
	first.name = words[0]
	there := false
	if first.isPath() {
		_, err := executable(words[0], l.env)
		there = err == nil
	} else {
		found, _ := l.onPath(words[0])
		there = found != ""
	}
	if _, known := runtimeOf(words[0]); !there && !known {
		return ""
	}
	quoted := make([]string, len(words)-1)
	for i, w := range words[1:] {
		quoted[i] = fmt.Sprintf("%q", strings.Trim(w, `"'`))
	}
	return fmt.Sprintf("command holds a whole command line: write command: %s, and args: [%s]", words[0], strings.Join(quoted, ", "))
}

// elsewhere finds the command where the child does not look: on our own PATH, and where programs are usually installed.
// It reports whether it was on our own PATH.
func (l lookup) elsewhere(searched []string) (path string, ours bool) {
	own := filepath.SplitList(valueOf(l.ours, "PATH"))
	home := cmp.Or(valueOf(l.env, "HOME"), valueOf(l.ours, "HOME"), valueOf(l.ours, "USERPROFILE"))
	for i, dir := range slices.Concat(own, usualDirs(home, l.ours)) {
		if !filepath.IsAbs(dir) || slices.Contains(searched, dir) {
			continue
		}
		if found, err := executable(filepath.Join(dir, l.name), l.env); err == nil {
			return found, i < len(own)
		}
	}
	return "", false
}

// usualDirs are the directories in which programs are installed that a shell finds because of what its start files say.
func usualDirs(home string, ours []string) []string {
	var dirs []string
	if filepath.IsAbs(home) {
		for _, dir := range []string{
			".local/bin", "bin", ".cargo/bin", "go/bin", ".bun/bin", ".deno/bin", ".volta/bin", ".asdf/shims", ".pyenv/shims",
			".local/share/mise/shims", ".local/share/fnm/aliases/default/bin", ".nvm/current/bin",
		} {
			dirs = append(dirs, filepath.Join(home, filepath.FromSlash(dir)))
		}
		versions, _ := filepath.Glob(filepath.Join(home, ".nvm", "versions", "node", "*", "bin")) // the pattern is well-formed
		slices.SortFunc(versions, func(a, b string) int {
			return compareVersions(filepath.Base(filepath.Dir(b)), filepath.Base(filepath.Dir(a))) // the newest first
		})
		dirs = append(dirs, versions...)
	}
	if runtime.GOOS == "windows" {
		for _, place := range [][2]string{{"APPDATA", "npm"}, {"PROGRAMFILES", "nodejs"}, {"PROGRAMFILES", `Docker\Docker\resources\bin`}} {
			if root := valueOf(ours, place[0]); root != "" {
				dirs = append(dirs, filepath.Join(root, place[1]))
			}
		}
		return dirs
	}
	return append(dirs, "/opt/homebrew/bin", "/usr/local/bin", "/usr/bin", "/bin", "/home/linuxbrew/.linuxbrew/bin", "/opt/local/bin", "/snap/bin", "/usr/local/go/bin")
}

// numbers finds the numbers in a version.
var numbers = lazily(`\d+`)

// compareVersions compares two versions by their numbers: "v20.1.0" is more than "v9.9.9".
func compareVersions(a, b string) int {
	as, bs := numbers().FindAllString(a, -1), numbers().FindAllString(b, -1)
	return slices.CompareFunc(as, bs, func(x, y string) int {
		x, y = strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
		return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y))
	})
}

// nearCommands returns up to three executables in directories whose names are close to a name.
func nearCommands(name string, dirs []string) []string {
	var names []string
	for _, d := range dirs {
		entries, err := os.ReadDir(d)
		if err != nil {
			continue
		}
		for _, e := range entries {
			// A short name is a part of many longer ones, and none of them is what was meant.
			if 2*len(e.Name()) > len(name) && len(e.Name()) < 2*len(name) {
				names = append(names, e.Name())
			}
		}
	}
	slices.Sort(names)
	near := slices.DeleteFunc(config.Near(name, slices.Compact(names)), func(near string) bool {
		return !slices.ContainsFunc(dirs, func(d string) bool {
			_, err := executable(filepath.Join(d, near), nil)
			return err == nil
		})
	})
	return near[:min(len(near), 3)]
}
