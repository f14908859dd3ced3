package config

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec" //nolint:depguard // the test binary starts itself
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

func TestEditMakesTheFilePrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	for before, after := range map[fs.FileMode]fs.FileMode{0o644: 0o600, 0o600: 0o600, 0o200 | 0o400 | 0o040: 0o600, 0o755: 0o600} {
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
	if err := writeFile(target, []byte("x"), privateMode, func() error { return nil }); err == nil {
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

func TestEditRefusesAReadOnlyFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	writeText(t, file, "version: 1\n")
	if err := os.Chmod(file, 0o400); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(file, 0o600) })
	err := Edit(file, addServer("x"))
	if want := file + ": is read-only; make it writable with chmod u+w, or name another file with --config"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if got := readText(t, file); got != "version: 1\n" {
		t.Errorf("the file was changed to %q", got)
	}
	onlyFile(t, file)
}

func TestEditThroughADanglingLink(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "config.yaml")
	if err := os.Symlink(filepath.Join("not", "yet", "there.yaml"), link); err != nil {
		t.Skip(err)
	}
	if err := Edit(link, func(*Document) error { return nil }); err != nil {
		t.Error(err)
	}
	onlyFile(t, link)
	if err := Edit(link, addServer("x")); err != nil {
		t.Fatal(err)
	}
	if got := readText(t, filepath.Join(dir, "not", "yet", "there.yaml")); !strings.Contains(got, "  x:\n") {
		t.Errorf("the file has %q", got)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
}

func TestEditSeesWhatOthersWriteWithoutTheLock(t *testing.T) {
	for name, test := range map[string]struct{ before, meanwhile string }{
		"written": {"version: 1\n", "version: 1 # theirs\n"},
		"broken":  {"version: 1\n", "[\n"},
		"made":    {"", "version: 1 # theirs\n"},
		"emptied": {"version: 1\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "config.yaml")
			if test.before != "" {
				writeText(t, file, test.before)
			}
			err := Edit(file, func(d *Document) error {
				writeText(t, file, test.meanwhile)
				return d.Add(Server{Name: "x", Command: "run", Enabled: true})
			})
			want := file + ": cannot be written: the file has changed in the meantime; another program has written it; look at it, and try again"
			if !errors.Is(err, ErrChanged) || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
			if got := readText(t, file); got != test.meanwhile {
				t.Errorf("their text was replaced by %q", got)
			}
			onlyFile(t, file)
		})
	}
	file := filepath.Join(t.TempDir(), "config.yaml")
	writeText(t, file, "version: 1\n")
	err := Edit(file, func(d *Document) error { return errors.Join(os.Remove(file), addServer("x")(d)) })
	if _, gone := os.Stat(file); !errors.Is(err, ErrChanged) || !errors.Is(gone, fs.ErrNotExist) {
		t.Errorf("a file that was removed came back: %v", err)
	}
}

func TestEditAfterACrash(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	writeText(t, file, "version: 1\n")
	for _, left := range []string{".config.yaml.lock", ".config.yaml.123456.tmp"} {
		writeText(t, filepath.Join(filepath.Dir(file), left), "left by a process that was killed")
	}
	if err := Edit(file, addServer("x")); err != nil {
		t.Fatal(err)
	}
	onlyFile(t, file)
	// What only resembles a temporary file is somebody else's.
	other := filepath.Join(filepath.Dir(file), ".config.yaml.mine.tmp")
	writeText(t, other, "mine")
	if err := Edit(file, addServer("y")); err != nil {
		t.Fatal(err)
	}
	if got := readText(t, other); got != "mine" {
		t.Error(got)
	}
}

// The test binary edits a file when it is started with these variables: TestMain hands over to editAsProcess.
const (
	editFileVariable  = "CONFIG_TEST_EDIT"
	editNameVariable  = "CONFIG_TEST_NAME"
	editLimitVariable = "CONFIG_TEST_LIMIT"
)

// editAsProcess adds the server of that name or, without a name, disables and enables the server "x" until it is killed.
// It returns the exit code.
func editAsProcess(file string) int {
	if os.Getenv(editLimitVariable) != "" {
		if err := limitFiles(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 3
		}
	}
	name := os.Getenv(editNameVariable)
	for enabled := false; ; enabled = !enabled {
		change := func(d *Document) error { return d.SetEnabled("x", enabled) }
		if name != "" {
			change = addServer(name)
		}
		if err := Edit(file, change); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		if name != "" {
			return 0
		}
		// The first edit is done: from now on the parent may kill.
		fmt.Println("edited")
	}
}

// editProcess returns the command that runs editAsProcess.
func editProcess(ctx context.Context, t *testing.T, file string, env ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), append(env, editFileVariable+"="+file)...)
	return cmd
}

func TestEditsOfManyProcessesLoseNothing(t *testing.T) {
	const processes = 20
	file := filepath.Join(t.TempDir(), "new", "config.yaml")
	var wg sync.WaitGroup
	for i := range processes {
		cmd := editProcess(t.Context(), t, file, fmt.Sprintf("%s=s%d", editNameVariable, i))
		wg.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("process %d: %v: %s", i, err, out)
			}
		})
	}
	wg.Wait()
	cfg, err := Load(file)
	if err != nil || len(cfg.Servers) != processes {
		t.Errorf("%d servers, want %d: %v", len(cfg.Servers), processes, err)
	}
	onlyFile(t, file)
}

func TestAKilledEditLeavesAWholeFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	on := "version: 1\nservers:\n  x:\n    command: run\n" + strings.Repeat("# a long file takes longer to write\n", 2000)
	off, err := edited(on, func(d *Document) error { return d.SetEnabled("x", false) })
	if err != nil {
		t.Fatal(err)
	}
	writeText(t, file, on)
	for i := range 20 {
		ctx, kill := context.WithCancel(t.Context())
		cmd := editProcess(ctx, t, file)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		// It is killed a little later each time, so in the middle of one thing or another.
		if _, err := out.Read(make([]byte, 1)); err != nil {
			t.Error(err)
		}
		timer := time.AfterFunc(time.Duration(i)*700*time.Microsecond, kill)
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
		timer.Stop()
		kill()
		if got := readText(t, file); got != on && got != off {
			t.Fatalf("kill %d left %d bytes: %.200q", i, len(got), got)
		}
	}
	if err := Edit(file, addServer("y")); err != nil {
		t.Fatal(err)
	}
	onlyFile(t, file)
}
