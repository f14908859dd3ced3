//go:build unix

package config

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestReadValueFileDoesNotWait(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadValueFile(pipe); err == nil || err.Error() != "is a pipe, and must be a regular file" {
		t.Error(err)
	}
	if _, err := ReadValueFile("/dev/zero"); err == nil || err.Error() != "is not a regular file" {
		t.Error(err)
	}
	closed := filepath.Join(dir, "closed")
	if err := os.WriteFile(closed, []byte("x"), 0); err != nil {
		t.Fatal(err)
	}
	s := Server{Name: "s", Command: "x", Args: []string{"${file:" + closed + "}"}}
	if os.Getuid() == 0 {
		t.Skip("nothing is closed to root")
	}
	if _, _, err := s.Expand(Environment{ReadFile: ReadValueFile}); err == nil || !strings.HasSuffix(err.Error(), "permission denied") {
		t.Error(err)
	}
}
