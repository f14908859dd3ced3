package config

import (
	"path/filepath"
	"runtime"
)

// DefaultPath returns where the user's configuration file is: MCPCTL_CONFIG, else mcpctl/config.yaml in
// $XDG_CONFIG_HOME, else in the platform's own place, by the rules of [os.UserConfigDir]. The environment is read
// through lookup, which has the form of [os.LookupEnv]. A variable that is empty counts as not set. The file need not
// exist. The error is an *Error.
func DefaultPath(lookup func(string) (string, bool)) (string, error) {
	return defaultPath(runtime.GOOS, lookup)
}

func defaultPath(goos string, lookup func(string) (string, bool)) (string, error) {
	env := func(name string) string {
		value, _ := lookup(name)
		return value
	}
	if file := env("MCPCTL_CONFIG"); file != "" {
		return file, nil
	}
	if dir := env("XDG_CONFIG_HOME"); dir != "" {
		// The working directory must not be able to add a server, so a relative path is not followed.
		if !filepath.IsAbs(dir) {
			return "", &Error{Message: "XDG_CONFIG_HOME is not an absolute path", Hint: "correct it, or name the file with --config"}
		}
		return filepath.Join(dir, "mcpctl", "config.yaml"), nil
	}
	var variable string
	var below []string
	switch goos {
	case "windows":
		variable = "AppData"
	case "darwin", "ios":
		variable, below = "HOME", []string{"Library", "Application Support"}
	case "plan9":
		variable, below = "home", []string{"lib"}
	default:
		variable, below = "HOME", []string{".config"}
	}
	base := env(variable)
	if base == "" {
		return "", &Error{Message: "no place for the configuration file: " + variable + " is not set", Hint: "set it, or name the file with --config"}
	}
	return filepath.Join(append(append([]string{base}, below...), "mcpctl", "config.yaml")...), nil
}

// CacheDir returns the directory for what mcpctl remembers of servers and could ask again: mcpctl in $XDG_CACHE_HOME,
// else in the platform's own place. It is "" when there is no such place; nothing is remembered then.
func CacheDir(lookup func(string) (string, bool)) string {
	return userDir(runtime.GOOS, lookup, "XDG_CACHE_HOME", "", map[string][]string{
		"windows": {"LocalAppData", "mcpctl", "cache"},
		"darwin":  {"HOME", "Library", "Caches", "mcpctl"},
		"":        {"HOME", ".cache", "mcpctl"},
	})
}

// LogDir returns the directory for what servers write to their standard error: mcpctl/logs in $XDG_STATE_HOME, else in
// the platform's own place. It is "" when there is no such place; nothing is kept then.
func LogDir(lookup func(string) (string, bool)) string {
	return userDir(runtime.GOOS, lookup, "XDG_STATE_HOME", "logs", map[string][]string{
		"windows": {"LocalAppData", "mcpctl", "logs"},
		"darwin":  {"HOME", "Library", "Logs", "mcpctl"},
		"":        {"HOME", ".local", "state", "mcpctl", "logs"},
	})
}

// DataDir returns the directory for what mcpctl keeps for the user and could not ask again: mcpctl in $XDG_DATA_HOME, else
// in the platform's own place. Credentials are in the directory credentials below it. It is "" when there is no such
// place; nothing outlasts a run then.
func DataDir(lookup func(string) (string, bool)) string {
	return userDir(runtime.GOOS, lookup, "XDG_DATA_HOME", "", map[string][]string{
		"windows": {"LocalAppData", "mcpctl", "data"},
		"darwin":  {"HOME", "Library", "Application Support", "mcpctl"},
		"":        {"HOME", ".local", "share", "mcpctl"},
	})
}

// HistoryFile returns the file for the lines that were typed in a shell: mcpctl/history in $XDG_STATE_HOME, else in the
// platform's own place. It is "" when there is no such place; nothing is kept then.
func HistoryFile(lookup func(string) (string, bool)) string {
	return userDir(runtime.GOOS, lookup, "XDG_STATE_HOME", "history", map[string][]string{
		"windows": {"LocalAppData", "mcpctl", "history"},
		"darwin":  {"HOME", "Library", "Application Support", "mcpctl", "history"},
		"":        {"HOME", ".local", "state", "mcpctl", "history"},
	})
}

// userDir returns the place below mcpctl in the one that the XDG variable names, else a place by platform: a variable
// and the elements below it.
func userDir(goos string, lookup func(string) (string, bool), xdg, below string, places map[string][]string) string {
	if dir, _ := lookup(xdg); filepath.IsAbs(dir) {
		return filepath.Join(dir, "mcpctl", below)
	}
	place, ok := places[goos]
	if !ok {
		place = places[""]
	}
	base, _ := lookup(place[0])
	if base == "" {
		return ""
	}
	return filepath.Join(append([]string{base}, place[1:]...)...)
}
