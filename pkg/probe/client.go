package probe

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// fromClient reports whether the entry came from another client's file.
func fromClient(t *Target) bool { return t.Server.Foreign != nil }

// format returns the format of the client's file that the entry came from.
func format(t *Target) config.Format {
	if t.Server.Foreign == nil {
		return config.Format{}
	}
	return t.Server.Foreign.Format
}

// launched reports whether the entry's client is known to start as one of the kinds.
func launched(t *Target, kinds ...config.Launch) bool {
	return fromClient(t) && slices.Contains(kinds, format(t).Launch)
}

// desktopPath returns the directories on the PATH of an application that is started from the desktop, nil where it is
// the same as in a terminal.
func desktopPath(goos, home string) []string {
	switch goos {
	case "darwin":
		// launchd(8): what it starts has this PATH; path_helper(8) adds to it in shells only.
		return []string{"/usr/bin", "/bin", "/usr/sbin", "/sbin"}
	case "linux":
		// environment.d(5) and the login defaults of Debian, Ubuntu and Fedora; their desktop sessions read ~/.profile, which
		// adds the two directories below home, and snapd adds its own. /run/current-system is NixOS's.
		dirs := []string{
			"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/games", "/snap/bin",
			"/run/current-system/sw/bin",
		}
		if home != "" {
			dirs = append(dirs, filepath.Join(home, ".local", "bin"), filepath.Join(home, "bin"))
		}
		return dirs
	}
	return nil
}

// shownDesktopPath is desktopPath as people see it.
func shownDesktopPath(goos string) string {
	if goos == "darwin" {
		return "/usr/bin:/bin:/usr/sbin:/sbin"
	}
	return "the directories of the system"
}

// managers returns parts of paths by which version managers and the like are known. What they put on the PATH is put there by a
// shell's startup files.
func managers() []manager {
	return []manager{
		{"/.nvm/", "nvm"},
		{"/fnm_multishells/", "fnm"},
		{"/.fnm/", "fnm"},
		{"/fnm/", "fnm"},
		{"/.asdf/", "asdf"},
		{"/.volta/", "volta"},
		{"/mise/", "mise"},
		{"/.pyenv/", "pyenv"},
		{"/.rbenv/", "rbenv"},
		{"/.nodenv/", "nodenv"},
		{"/opt/homebrew/", "Homebrew"},
		{"/linuxbrew/", "Homebrew"},
		{"/conda", "conda"},
		{"/miniconda", "conda"},
		{"/.cargo/", "Cargo"},
		{"/.bun/", "Bun"},
		{"/.deno/", "Deno"},
		{"/pnpm/", "pnpm"},
		{"/.nix-profile/", "Nix"},
		{"/venv/", "a virtual environment"},
		{"/.venv/", "a virtual environment"},
	}
}

// manager is a program that puts directories on the PATH, and a part of their paths.
type manager struct{ part, name string }

// managerOf returns who put a directory on the PATH, " (nvm)", "" if that is not known.
func managerOf(dir string) string {
	dir = filepath.ToSlash(dir) + "/"
	for _, m := range managers() {
		if strings.Contains(dir, m.part) {
			return " (" + m.name + ")"
		}
	}
	return ""
}

// passing reports whether a directory is on the PATH of one terminal only, not on that of every login shell.
func (t *Target) passing(dir string) bool {
	dir = filepath.ToSlash(dir) + "/"
	if strings.Contains(dir, "/fnm_multishells/") {
		return true
	}
	for _, name := range []string{"VIRTUAL_ENV", "CONDA_PREFIX", "DIRENV_DIR"} {
		root, ok := t.lookup(name)
		root = strings.TrimPrefix(root, "-") // direnv writes it in front
		if ok && root != "" && strings.HasPrefix(dir, filepath.ToSlash(root)+"/") {
			if base, _ := t.lookup("CONDA_DEFAULT_ENV"); name == "CONDA_PREFIX" && base == "base" {
				continue
			}
			return true
		}
	}
	return false
}

// lookup finds a variable of our own environment.
func (t *Target) lookup(name string) (string, bool) {
	if t.Environment.Lookup == nil {
		return "", false
	}
	return t.Environment.Lookup(name)
}

// findIn returns the path of an executable in one of the directories, "" if there is none.
func findIn(dirs []string, name string) string {
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// interpreter returns the program that a script looks for on the PATH, "" for a program that is no such script.
func interpreter(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // only read from
	const enough = 256
	head, err := io.ReadAll(io.LimitReader(f, enough))
	if err != nil || !bytes.HasPrefix(head, []byte("#!")) {
		return ""
	}
	line, _, _ := strings.Cut(string(head[2:]), "\n")
	words := strings.Fields(line)
	if len(words) < 2 || filepath.Base(words[0]) != "env" {
		return ""
	}
	for _, w := range words[1:] {
		if !strings.HasPrefix(w, "-") && !strings.Contains(w, "=") {
			return w
		}
	}
	return ""
}

// networkNames are the variables by which programs find the way through a proxy and whom they trust. Every child of ours
// gets them.
func networkNames() []string {
	return []string{
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
	}
}

// missingThere returns the variables that a desktop application lacks and the entry would need: those that it refers to,
// and those for the network.
func (t *Target) missingThere() []string {
	var names []string
	add := func(name string) {
		if value, set := t.lookup(name); set && value != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, r := range t.Server.References() {
		if !slices.Contains(everywhere(), r.Name) {
			add(r.Name)
		}
	}
	if stdio(t) {
		for _, name := range networkNames() {
			if _, own := t.expanded.Env[name]; !own {
				add(name)
			}
		}
	}
	return names
}

// fetches reports whether the command gets a package from the network before it starts it.
func (t *Target) fetches() bool {
	switch strings.TrimSuffix(filepath.Base(t.expanded.Command), filepath.Ext(t.expanded.Command)) {
	case "npx", "npm", "pnpm", "pnpx", "yarn", "bunx", "uvx", "uv", "pipx", "docker", "podman", "deno":
		return true
	}
	return false
}

// everywhere are variables that every application has.
func everywhere() []string {
	return []string{"HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "PATH", "LANG", "APPDATA", "USERPROFILE", "LOCALAPPDATA", "TEMP"}
}

// differences returns what is not the same here and at the client, each as a noun.
func (t *Target) differences() []string {
	f := format(t)
	var found []string
	add := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	switch {
	case !stdio(t):
		add("its own login and proxy settings")
	case f.Launch == config.LaunchDesktop:
		if path, err := t.dialer().FindCommand(t.expanded); err == nil {
			if other := t.otherProgram(path, runtime.GOOS); other != "" {
				add("the program: it starts %s, not %s", other, path)
			}
		}
		if runtime.GOOS != "windows" {
			add("its PATH (%s)", shownDesktopPath(runtime.GOOS))
		}
		names := "the variables of this terminal"
		if missing := t.missingThere(); len(missing) > 0 {
			names = strings.Join(missing, ", ")
		}
		add("%s, which it lacks", names)
	case f.Launch == config.LaunchShell:
		add("the PATH and the variables of your login shell, which it takes over when it starts")
	case f.Launch == config.LaunchTerminal:
		add("the shell in which it was started")
	default:
		add("its PATH and its variables")
	}
	if stdio(t) && t.Server.Cwd == "" {
		add("the directory in which it starts servers")
	}
	for _, p := range t.Server.Foreign.Placeholders {
		if text := p.Text; p.Kind == config.PlaceholderEditor && strings.HasPrefix(text, "${workspace") && !slices.Contains(found, text) {
			found = append(found, text)
		}
	}
	if limit := f.StartLimitOf(t.Server); limit > 0 {
		add("its limit of %s for the start", FormatElapsed(limit))
	}
	if f.MostTools > 0 {
		add("the tools of other servers beside these (it takes %d in all)", f.MostTools)
	}
	var keys []string
	for _, n := range t.Server.Foreign.Notes {
		if n.Key != "" {
			keys = append(keys, n.Key)
		}
	}
	if len(keys) > 0 {
		add("what mcpctl does not use of the entry (%s)", strings.Join(keys, ", "))
	}
	return found
}
