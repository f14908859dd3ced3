package session

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcpctl/mcpctl/internal/transport"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// usualEnv are the variables of our own environment that every child gets: what programs need to find each other, the
// user's files and the network, and no secrets. Names are compared without case on Windows.
var usualEnv = []string{
	"PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TERM", "SHELL", "TMPDIR", "TZ",
	// proxies and certificate authorities
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
	// Windows
	"APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "NUMBER_OF_PROCESSORS", "OS", "PATHEXT",
	"PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP",
	"TMP", "USERNAME", "USERPROFILE", "WINDIR",
}

// usualEnvPrefixes are the beginnings of further such names.
var usualEnvPrefixes = []string{"LC_", "XDG_"}

// childEnv returns the environment of a server's child process: the usual variables of environ, those that the entry
// wants to be passed on, and the entry's own.
func childEnv(server config.Server, environ []string) []string {
	same := func(a, b string) bool { return a == b }
	if runtime.GOOS == "windows" {
		same = strings.EqualFold
	}
	passes := func(name string) bool {
		if server.InheritEnv.All {
			return true
		}
		is := func(other string) bool { return same(name, other) }
		return slices.ContainsFunc(usualEnv, is) || slices.ContainsFunc(server.InheritEnv.Names, is) ||
			slices.ContainsFunc(usualEnvPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
	}
	var env []string
	for _, pair := range environ {
		name, _, ok := strings.Cut(pair, "=")
		if !ok || name == "" || !passes(name) {
			continue
		}
		own := func(other string) bool { return same(name, other) }
		if !slices.ContainsFunc(keys(server.Env), own) {
			env = append(env, pair)
		}
	}
	for _, name := range keys(server.Env) {
		env = append(env, name+"="+server.Env[name])
	}
	return env
}

func keys(m map[string]string) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// commandError is a command that cannot be started.
type commandError struct {
	message, hint string
}

func (e *commandError) Error() string { return e.message }

// childCommand finds the command of a stdio server the way the child itself would: on the child's own PATH.
func childCommand(server config.Server, environ []string) (transport.Command, *commandError) {
	env := childEnv(server, environ)
	if server.Cwd != "" {
		info, err := os.Stat(server.Cwd)
		switch {
		case err != nil:
			return transport.Command{}, &commandError{fmt.Sprintf("cwd %s: %v", server.Cwd, cause(err)), "create the directory, or change cwd"}
		case !info.IsDir():
			return transport.Command{}, &commandError{fmt.Sprintf("cwd %s is not a directory", server.Cwd), "change cwd"}
		}
	}
	path, err := lookCommand(server.Command, server.Cwd, env)
	if err != nil {
		return transport.Command{}, err
	}
	return transport.Command{Path: path, Args: server.Args, Env: env, Dir: server.Cwd}, nil
}

// FindCommand returns the path of the executable that a stdio server's command stands for, found on the child's own
// PATH. The error says where it was looked for.
func (d *Dialer) FindCommand(server config.Server) (string, error) {
	c, err := childCommand(server, d.environ())
	if err != nil {
		return "", &Error{Server: server.Name, Phase: "start", Class: ClassConnect, Message: err.message, Hint: err.hint, Err: err}
	}
	return c.Path, nil
}

// lookCommand finds an executable.
func lookCommand(name, dir string, env []string) (string, *commandError) {
	if strings.ContainsRune(name, '/') || runtime.GOOS == "windows" && strings.ContainsRune(name, '\\') {
		path := name
		if !filepath.IsAbs(path) && dir != "" {
			path = filepath.Join(dir, path)
		}
		found, err := executable(path, env)
		if err != nil {
			hint := "check the path of the command"
			if split := splitForm(name); split != "" {
				hint = split
			}
			return "", &commandError{fmt.Sprintf("command %s: %v", name, cause(err)), hint}
		}
		return found, nil
	}
	dirs := filepath.SplitList(valueOf(env, "PATH"))
	var denied string
	for _, d := range dirs {
		if d == "" || !filepath.IsAbs(d) {
			continue // a relative entry would depend on the working directory
		}
		found, err := executable(filepath.Join(d, name), env)
		if err == nil {
			return found, nil
		}
		if os.IsPermission(err) {
			denied = filepath.Join(d, name)
		}
	}
	if denied != "" {
		return "", &commandError{fmt.Sprintf("command %s: %s is not executable", name, denied), "chmod +x " + denied}
	}
	if split := splitForm(name); split != "" {
		return "", &commandError{fmt.Sprintf("command not found: %s", name), split}
	}
	hint := "install it, or give the full path; looked in " + elided(dirs)
	if near := nearCommands(name, dirs); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "? looked in " + elided(dirs)
	}
	return "", &commandError{fmt.Sprintf("command not found: %s", name), hint}
}

// splitForm says how to write a command whose arguments stand in one text with it, "" for one without white space.
func splitForm(name string) string {
	words := strings.Fields(name)
	if len(words) < 2 {
		return ""
	}
	args := make([]string, len(words)-1)
	for i, w := range words[1:] {
		args[i] = strconv.Quote(w)
	}
	return fmt.Sprintf(`the command has spaces in it; put its arguments into args: "command": %q, "args": [%s]`, words[0], strings.Join(args, ", "))
}

// executable returns path, with one of the platform's endings if it needs one.
func executable(path string, env []string) (string, error) {
	candidates := []string{path}
	if runtime.GOOS == "windows" {
		exts := valueOf(env, "PATHEXT")
		if exts == "" {
			exts = ".COM;.EXE;.BAT;.CMD"
		}
		for ext := range strings.SplitSeq(exts, ";") {
			candidates = append(candidates, path+ext)
		}
	}
	var first error
	for _, c := range candidates {
		info, err := os.Stat(c)
		switch {
		case err == nil && info.IsDir():
			err = fmt.Errorf("is a directory")
		case err == nil && runtime.GOOS != "windows" && info.Mode()&0o111 == 0:
			err = fs.ErrPermission
		case err == nil:
			return c, nil
		}
		if first == nil {
			first = err
		}
	}
	return "", first
}

// nearCommands returns up to three executables on the path whose names are close to a name.
func nearCommands(name string, dirs []string) []string {
	var names []string
	for _, d := range dirs {
		entries, err := os.ReadDir(d)
		if err != nil {
			continue
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	near := config.Near(name, slices.Compact(names))
	return near[:min(len(near), 3)]
}

// elided lists directories, the middle left out when there are many.
func elided(dirs []string) string {
	const shown = 4
	if len(dirs) > shown {
		dirs = append(slices.Clone(dirs[:shown]), fmt.Sprintf("… %d more", len(dirs)-shown))
	}
	return strings.Join(dirs, ", ")
}

func valueOf(env []string, name string) string {
	for _, pair := range slices.Backward(env) {
		n, v, _ := strings.Cut(pair, "=")
		if n == name || runtime.GOOS == "windows" && strings.EqualFold(n, name) {
			return v
		}
	}
	return ""
}

// cause drops the path from a file error: the message has it.
func cause(err error) error {
	if e, ok := err.(*fs.PathError); ok { //nolint:errorlint // the outermost is meant
		return e.Err
	}
	return err
}

// LogFile returns the file in dir that keeps the standard error of a server, "" if dir is empty. What came before it is
// in the file of the same name with ".1" at its end.
func LogFile(dir, server string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, fileName(server)+".log")
}

// fileName makes a server's name fit for a file. Names that have to be changed for that get a part of their hash, so that
// no two have the same file.
func fileName(server string) string {
	const most = 40 // of a name; a URL or a command line can be long
	name := strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.') {
			return r
		}
		return '_'
	}, server)
	if len(name) > most {
		name = name[:most]
	}
	if name == server && name != "" && !strings.HasPrefix(name, ".") {
		return name
	}
	sum := sha256.Sum256([]byte(server))
	return strings.TrimLeft(name, ".") + "-" + hex.EncodeToString(sum[:4])
}
