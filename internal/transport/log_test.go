package transport

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestST03Log(t *testing.T) {
	path := filepath.Join(t.TempDir(), "logs", "srv.log")
	quiet := newLog(path, "process 1")
	quiet.flush()
	quiet.close()
	if _, err := os.Stat(path); err == nil {
		t.Error("a file for a server that wrote nothing")
	}
	for range 2 {
		l := newLog(path, "process 1, srv")
		l.line("boom")
		l.close()
		l.line("after the end")
		l.close()
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(string(data), " process 1, srv\nboom\n"); got != 2 {
		t.Errorf("got %q", data)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 && os.PathSeparator == '/' {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// TestST03LogIsBounded shows that a flood leaves one old log and one new one, each of about the limit.
func TestST03LogIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "srv.log")
	line := strings.Repeat("x", 1000)
	for range 3 {
		l := newLog(path, "process 1")
		for range 2 * maxLog / 1000 {
			l.line(line)
		}
		l.close()
	}
	var total int64
	for _, name := range []string{path, path + ".1"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if total > 2*maxLog+4000 || total < maxLog {
		t.Errorf("%d bytes", total)
	}
	if files, _ := filepath.Glob(path + "*"); len(files) != 2 {
		t.Errorf("files %q", files)
	}
}

func TestST03LogThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l := newLog(filepath.Join(dir, "file", "srv.log"), "process 1")
	l.line("boom")
	l.flush()
	l.close()
	var none *stderrLog
	none.line("boom")
	none.flush()
	none.close()
}
