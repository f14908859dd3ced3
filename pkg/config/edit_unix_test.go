//go:build unix

package config

import (
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// mostBytes is what a file may grow to under limitFiles.
const mostBytes = 512

// limitFiles makes this process meet the same end of its writing as on a full disk: after a part of it.
func limitFiles() error {
	signal.Ignore(syscall.SIGXFSZ)
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: mostBytes, Max: mostBytes})
}

func TestEditOnAFullDisk(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	text := "version: 1\n" + strings.Repeat("# as much as the disk takes\n", mostBytes/10)
	writeText(t, file, text)
	out, err := editProcess(t.Context(), t, file, editNameVariable+"=x", editLimitVariable+"=1").CombinedOutput()
	if want := file + ": cannot be written: file too large\n"; err == nil || string(out) != want {
		t.Errorf("%v, got %q, want %q", err, out, want)
	}
	if got := readText(t, file); got != text {
		t.Errorf("the file was changed to %d bytes", len(got))
	}
	onlyFile(t, file)
}
