package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

// onlyFile fails the test unless the file is the only thing in its directory.
func onlyFile(t *testing.T, file string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		// On Windows the lock stays.
		if entry.Name() != filepath.Base(file) && runtime.GOOS != "windows" {
			t.Errorf("%s was left behind", entry.Name())
		}
	}
}

func addServer(name string) func(*Document) error {
	return func(d *Document) error { return d.Add(Server{Name: name, Command: "run", Enabled: true}) }
}

func TestEditMakesFileAndDirectories(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a", "b", "config.yaml")
	if err := Edit(file, addServer("x")); err != nil {
		t.Fatal(err)
	}
	if got, want := readText(t, file), "version: 1\nservers:\n  x:\n    command: run\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	onlyFile(t, file)
	if runtime.GOOS == "windows" {
		return
	}
	for name, want := range map[string]fs.FileMode{file: 0o600, filepath.Dir(file): 0o700, filepath.Join(dir, "a"): 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", name, info.Mode(), want)
		}
	}
}

func TestEditThatDoesNothingLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	failed := errors.New("no")
	for _, change := range []func(*Document) error{
		func(*Document) error { return nil },
		func(d *Document) error { return errors.Join(addServer("x")(d), failed) },
		func(d *Document) error { return d.Remove("x") },
	} {
		_ = Edit(filepath.Join(dir, "a", "b", "config.yaml"), change)
		if _, err := os.Stat(filepath.Join(dir, "a")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the directory was left behind: %v", err)
		}
	}
	if err := Edit(filepath.Join(dir, "config.yaml"), func(*Document) error { return failed }); !errors.Is(err, failed) {
		t.Error(err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 && runtime.GOOS != "windows" {
		t.Errorf("left behind: %v", entries)
	}
}

func TestEditKeepsAStricterMode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	for before, after := range map[fs.FileMode]fs.FileMode{0o644: 0o600, 0o600: 0o600, 0o400: 0o400, 0o755: 0o600} {
		file := filepath.Join(t.TempDir(), "config.yaml")
		writeText(t, file, "version: 1\n")
		if err := os.Chmod(file, before); err != nil {
			t.Fatal(err)
		}
		if err := Edit(file, addServer("x")); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != after {
			t.Errorf("mode %v became %v, want %v", before, info.Mode(), after)
		}
	}
}

func TestEditWritesNothingWhenNothingChanged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	writeText(t, file, "servers:\n    x: {command:   run}")
	before, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := Edit(file, func(d *Document) error { return d.SetEnabled("x", true) }); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(file)
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("the file was replaced: %v", err)
	}
}

func TestEditFollowsSymlinks(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"real", "links"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	target := filepath.Join(dir, "real", "config.yaml")
	writeText(t, target, "version: 1 # real\n")
	link := filepath.Join(dir, "links", "second")
	for from, to := range map[string]string{
		filepath.Join(dir, "links", "first"): filepath.Join("..", "real", "config.yaml"),
		link:                                 "first",
		filepath.Join(dir, "links", "new"):   filepath.Join("..", "real", "new.yaml"),
		filepath.Join(dir, "links", "loop"):  "loop",
	} {
		if err := os.Symlink(to, from); err != nil {
			t.Skip(err)
		}
	}
	if err := Edit(link, addServer("x")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
	if got := readText(t, target); !strings.HasPrefix(got, "version: 1 # real\nservers:\n") {
		t.Errorf("the real file has %q", got)
	}
	onlyFile(t, target)
	if err := Edit(filepath.Join(dir, "links", "new"), addServer("x")); err != nil {
		t.Error(err)
	}
	readText(t, filepath.Join(dir, "real", "new.yaml"))
	loop := filepath.Join(dir, "links", "loop")
	if err := Edit(loop, addServer("x")); err == nil || err.Error() != loop+": cannot be found: too many symbolic links" {
		t.Error(err)
	}
}

func TestEditNeverOverwritesABrokenFile(t *testing.T) {
	for name, text := range map[string]string{
		"syntax":       "servers:\n  a: [\n",
		"unknown key":  "mcpServers: {}\n",
		"repeated":     "servers:\n  a: {command: x}\n  a: {command: y}\n",
		"two of them":  "version: 1\n---\nversion: 1\n",
		"other format": "version: 2\n",
		"not text":     "\x00\x01",
		"default":      "defaults: {timeout: 0}\n",
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "config.yaml")
			writeText(t, file, text)
			called := false
			err := Edit(file, func(*Document) error { called = true; return nil })
			var e *Error
			if !errors.As(err, &e) || e.File != file || called {
				t.Errorf("called %v, error %v", called, err)
			}
			if got := readText(t, file); got != text {
				t.Errorf("the file was changed to %q", got)
			}
			onlyFile(t, file)
		})
	}
}

func TestEditWorksBesideABrokenEntry(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	writeText(t, file, "servers:\n  bad:\n    foo: 1\n")
	if err := Edit(file, addServer("x")); err != nil {
		t.Fatal(err)
	}
	if got, want := readText(t, file), "servers:\n  bad:\n    foo: 1\n  x:\n    command: run\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestEditKeepsMarkAndLineEnds(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	writeText(t, file, "\ufeff# mine\r\nservers:\r\n  a: {command: b}\r\n")
	if err := Edit(file, addServer("x")); err != nil {
		t.Fatal(err)
	}
	if got, want := readText(t, file), "\ufeff# mine\r\nservers:\r\n  a: {command: b}\r\n  x:\r\n    command: run\r\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	writeText(t, file, "# mine\r\nservers:\n  a: {command: b}\r\n")
	if err := Edit(file, addServer("x")); err != nil {
		t.Fatal(err)
	}
	if got, want := readText(t, file), "# mine\r\nservers:\n  a: {command: b}\r\n  x:\n    command: run\n"; got != want {
		t.Errorf("mixed line ends: got %q, want %q", got, want)
	}
}

func TestEditRefusesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{
		"":  "there is no file to edit; name one with --config",
		"-": "standard input: there is no file to edit; name one with --config",
		dir: dir + ": is a directory; name a file, such as " + filepath.Join(dir, "config.yaml"),
	} {
		if err := Edit(path, addServer("x")); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", path, err, want)
		}
	}
	if runtime.GOOS != "windows" {
		if err := Edit(os.DevNull, addServer("x")); err == nil || err.Error() != os.DevNull+": is not a regular file; name a file that can be replaced" {
			t.Error(err)
		}
	}
}

func TestEditInAReadOnlyDirectory(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "config.yaml")
	writeText(t, file, "version: 1\n")
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	if probe := filepath.Join(dir, "probe"); os.WriteFile(probe, nil, 0o600) == nil {
		_ = os.Remove(probe)
		t.Skip("no directory is read-only to this user")
	}
	err := Edit(file, addServer("x"))
	if want := file + ": cannot be locked: permission denied; the directory " + dir + " must be writable"; err == nil || err.Error() != want || !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v, want %s", err, want)
	}
	if got := readText(t, file); got != "version: 1\n" {
		t.Errorf("the file was changed to %q", got)
	}
}

func TestEditLeavesNoTemporaryFile(t *testing.T) {
	// A directory in the place of the target makes the rename fail after everything else was done.
	dir := t.TempDir()
	target := filepath.Join(dir, "config.yaml")
	if err := os.MkdirAll(filepath.Join(target, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := writeFile(target, []byte("x"), 0o600); err == nil {
		t.Fatal("a directory was replaced")
	}
	onlyFile(t, target)
}

// TestConcurrentEditsLoseNothing has as many handles on the lock as there are edits, as separate processes would.
func TestConcurrentEditsLoseNothing(t *testing.T) {
	const edits = 200
	file := filepath.Join(t.TempDir(), "new", "config.yaml")
	var wg sync.WaitGroup
	errs := make([]error, edits)
	for i := range edits {
		wg.Go(func() { errs[i] = Edit(file, addServer(fmt.Sprintf("s%d", i))) })
	}
	// Readers see a whole file at any time.
	stop := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
			if _, err := Load(file); err != nil {
				t.Errorf("while it was edited: %v", err)
				return
			}
		}
	})
	start := time.Now()
	wg.Wait()
	close(stop)
	reader.Wait()
	t.Logf("%d edits in %v", edits, time.Since(start))
	for i, err := range errs {
		if err != nil {
			t.Errorf("edit %d: %v", i, err)
		}
	}
	cfg, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range edits {
		if s, ok := cfg.Server(fmt.Sprintf("s%d", i)); !ok || s.Err != nil {
			t.Errorf("server %d is lost: %v", i, s.Err)
		}
	}
	onlyFile(t, file)
}

func TestEditGivesUpWaitingWithItsContext(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	l := flock.New(filepath.Join(filepath.Dir(file), ".config.yaml.lock"))
	if ok, err := l.TryLock(); !ok {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // the test is over
	interrupted := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { cancel(interrupted) })
	err := EditContext(ctx, file, addServer("x"))
	if !errors.Is(err, interrupted) || err.Error() != file+": cannot be locked: interrupted" {
		t.Error(err)
	}
}

func TestEditSaysWhenAnotherHoldsTheLock(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	name := filepath.Join(filepath.Dir(file), ".config.yaml.lock")
	l := flock.New(name)
	if ok, err := l.TryLock(); !ok {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // the test is over
	_, err := lock(t.Context(), file, file, 100*time.Millisecond)
	if want := file + ": another mcpctl has been changing the file for 100ms; end it, or try again; the lock is " + name; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
