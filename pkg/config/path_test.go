package config

import (
	"path/filepath"
	"runtime"
	"testing"
)

func TestUserDirs(t *testing.T) {
	places := map[string][]string{"windows": {"LocalAppData", "mcpctl"}, "darwin": {"HOME", "Library", "mcpctl"}, "": {"HOME", ".cache", "mcpctl"}}
	root := string(filepath.Separator)
	if runtime.GOOS == "windows" {
		root = `C:\`
	}
	for name, test := range map[string]struct {
		goos string
		env  map[string]string
		want string
	}{
		"XDG":            {"linux", map[string]string{"XDG": root + "x", "HOME": root + "h"}, filepath.Join(root, "x", "mcpctl", "sub")},
		"XDG on a Mac":   {"darwin", map[string]string{"XDG": root + "x", "HOME": root + "h"}, filepath.Join(root, "x", "mcpctl", "sub")},
		"XDG, relative":  {"linux", map[string]string{"XDG": "x", "HOME": root + "h"}, filepath.Join(root, "h", ".cache", "mcpctl")},
		"Linux":          {"linux", map[string]string{"HOME": root + "h"}, filepath.Join(root, "h", ".cache", "mcpctl")},
		"FreeBSD":        {"freebsd", map[string]string{"HOME": root + "h"}, filepath.Join(root, "h", ".cache", "mcpctl")},
		"Mac":            {"darwin", map[string]string{"HOME": root + "h"}, filepath.Join(root, "h", "Library", "mcpctl")},
		"Windows":        {"windows", map[string]string{"LocalAppData": root + "l"}, filepath.Join(root, "l", "mcpctl")},
		"nothing is set": {"linux", nil, ""},
	} {
		if got := userDir(test.goos, lookupIn(test.env), "XDG", "sub", places); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	here := lookupIn(map[string]string{"XDG_CACHE_HOME": root + "c", "XDG_STATE_HOME": root + "s", "XDG_DATA_HOME": root + "d"})
	if got, want := CacheDir(here), filepath.Join(root, "c", "mcpctl"); got != want {
		t.Errorf("cache: %q, want %q", got, want)
	}
	if got, want := DataDir(here), filepath.Join(root, "d", "mcpctl"); got != want {
		t.Errorf("data: %q, want %q", got, want)
	}
	if got, want := LogDir(here), filepath.Join(root, "s", "mcpctl", "logs"); got != want {
		t.Errorf("logs: %q, want %q", got, want)
	}
}
