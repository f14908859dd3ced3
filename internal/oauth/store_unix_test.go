//go:build unix

package oauth

import (
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func modeOf(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

// The names of variables by which a test starts itself as another process.
const (
	umaskDir   = "MCPCTL_TEST_UMASK_DIR"
	umaskValue = "MCPCTL_TEST_UMASK"
	fullDisk   = "MCPCTL_TEST_FULL_DISK"
)

// TestUmaskProcess saves with another umask, in a process of its own.
func TestUmaskProcess(t *testing.T) {
	dir := os.Getenv(umaskDir)
	if dir == "" {
		t.Skip("for another test")
	}
	mask, err := strconv.ParseInt(os.Getenv(umaskValue), 8, 32)
	if err != nil {
		t.Fatal(err)
	}
	syscall.Umask(int(mask))
	s := OpenStore(StoreOptions{Dir: dir})
	r := keptRecordOf("x")
	mustSave(t, s, r)
	mustLoad(t, OpenStore(StoreOptions{Dir: dir}), r)
}

// TestUmask shows that a file is its owner's alone whatever the umask is.
func TestUmask(t *testing.T) {
	t.Parallel()
	for _, mask := range []string{"000", "022", "077", "277"} {
		t.Run(mask, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "credentials")
			if out, err := anotherSelf(t, "TestUmaskProcess", umaskDir+"="+dir, umaskValue+"="+mask).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			file, _ := serverFile(keptURL)
			if d, f := modeOf(t, dir), modeOf(t, filepath.Join(dir, file+".json")); d != 0o700 || f != 0o600 {
				t.Errorf("the directory has the mode %#o, the file %#o", d, f)
			}
		})
	}
}

func TestPermissionsAreRepaired(t *testing.T) {
	t.Parallel()
	var told notes
	o := StoreOptions{Dir: t.TempDir(), Note: told.note}
	r := keptRecordOf("x")
	mustSave(t, OpenStore(o), r)
	file, _ := serverFile(keptURL)
	path := filepath.Join(o.Dir, file+".json")
	for dir, mode := range map[string]fs.FileMode{o.Dir: 0o777, path: 0o644} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
	}
	mustLoad(t, OpenStore(o), r)
	if d, f := modeOf(t, o.Dir), modeOf(t, path); d != 0o700 || f != 0o600 {
		t.Errorf("the directory has the mode %#o, the file %#o", d, f)
	}
	if !strings.Contains(told.text(), path+" could be read by others (mode 0644)") {
		t.Error(told.text())
	}
}

func TestLinksAndOtherThings(t *testing.T) {
	t.Parallel()
	elsewhere, dir := t.TempDir(), t.TempDir()
	// A directory may be elsewhere.
	link := filepath.Join(dir, "credentials")
	if err := os.Symlink(elsewhere, link); err != nil {
		t.Fatal(err)
	}
	s := OpenStore(StoreOptions{Dir: link})
	r := keptRecordOf("x")
	mustSave(t, s, r)
	mustLoad(t, OpenStore(s.o), r)
	// A file may not: a save would leave the secrets where the link leads to.
	file, _ := serverFile(keptURL)
	path := s.path(file)
	if err := os.Rename(path, filepath.Join(dir, "moved")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "moved"), path); err != nil {
		t.Fatal(err)
	}
	_, _, err := OpenStore(s.o).Load(t.Context(), keptURL)
	storeFails(t, err, path, "symbolic link")
	storeFails(t, OpenStore(s.o).Save(t.Context(), r), path, "symbolic link")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err = OpenStore(s.o).Load(t.Context(), keptURL)
	storeFails(t, err, path, "no regular file")
	// A file in the place of the directory.
	storeFails(t, OpenStore(StoreOptions{Dir: filepath.Join(dir, "moved")}).Save(t.Context(), r), "moved")
}

func TestDirectoryThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("the superuser may write everywhere")
	}
	var told notes
	o := StoreOptions{Dir: t.TempDir(), Note: told.note}
	r := keptRecordOf("x")
	mustSave(t, OpenStore(o), r)
	if err := os.Chmod(o.Dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(o.Dir, 0o700) })
	s := OpenStore(o)
	mustLoad(t, s, r)
	unlock, err := s.Lock(t.Context(), keptURL)
	if err != nil || !strings.Contains(told.text(), "may refresh the same token") {
		t.Errorf("%v, told: %s", err, told.text())
	}
	unlock()
	storeFails(t, s.Save(t.Context(), keptRecordOf("y")), o.Dir, "cannot be written", "permission denied")
	mustLoad(t, OpenStore(o), r)
	storeFails(t, OpenStore(StoreOptions{Dir: filepath.Join(o.Dir, "below")}).Save(t.Context(), r), "cannot be made", "XDG_DATA_HOME")
}

// TestFullDiskProcess saves a long record where files may not grow, in a process of its own.
func TestFullDiskProcess(t *testing.T) {
	dir := os.Getenv(fullDisk)
	if dir == "" {
		t.Skip("for another test")
	}
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1000, Max: 1000}); err != nil {
		t.Fatal(err)
	}
	s := OpenStore(StoreOptions{Dir: dir})
	storeFails(t, s.Save(t.Context(), keptRecordOf(strings.Repeat("long", 1000))), "file too large", "has room")
	mustLoadAccess(t, s, "access-short")
}

func mustLoadAccess(t *testing.T, s *Store, want string) {
	t.Helper()
	if r, ok, err := s.Load(t.Context(), keptURL); err != nil || !ok || r.Token.Access != want {
		t.Errorf("%v, %v, %.50q", ok, err, r.Token.Access)
	}
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mustSave(t, OpenStore(StoreOptions{Dir: dir}), keptRecordOf("short"))
	if out, err := anotherSelf(t, "TestFullDiskProcess", fullDisk+"="+dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	mustLoadAccess(t, OpenStore(StoreOptions{Dir: dir}), "access-short")
	if names := filesIn(t, dir); len(names) != 1 {
		t.Errorf("left over: %v", names)
	}
}

// TestAnothersDirectory shows that what belongs to another user is neither used nor written; only the superuser can make
// such a place, and gives what it writes to the owner.
func TestAnothersDirectory(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only the superuser can give files away")
	}
	dir := filepath.Join(t.TempDir(), "credentials")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, 1234, 1234); err != nil {
		t.Skip(err)
	}
	s := OpenStore(StoreOptions{Dir: dir})
	mustSave(t, s, keptRecordOf("x"))
	file, _ := serverFile(keptURL)
	info, err := os.Stat(s.path(file))
	if err != nil {
		t.Fatal(err)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || stat.Uid != 1234 {
		t.Error("its owner cannot read it")
	}
	cmd := anotherSelf(t, "TestAnothersDirectoryProcess", umaskDir+"="+dir)
	// That user must get at the program, and at what is above the directory.
	// Another process copies it: what this one opens to write, the processes that other tests start have open for a moment,
	// and the system does not run what is open for that.
	self := filepath.Join(filepath.Dir(dir), "self")
	if out, err := exec.CommandContext(t.Context(), "cp", cmd.Path, self).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd.Path = self
	for d := filepath.Dir(dir); strings.Contains(d, t.Name()); d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 4321, Gid: 4321}}
	cmd.Dir = "/"
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") || strings.Contains(string(out), "SKIP") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestAnothersDirectoryProcess looks at a directory as another user, in a process of its own.
func TestAnothersDirectoryProcess(t *testing.T) {
	dir := os.Getenv(umaskDir)
	if dir == "" || os.Geteuid() != 4321 {
		t.Skip("for another test")
	}
	s := OpenStore(StoreOptions{Dir: dir})
	_, _, err := s.Load(t.Context(), keptURL)
	storeFails(t, err, dir, "belongs to another user (uid 1234)", "run mcpctl as that user")
	storeFails(t, s.Save(t.Context(), keptRecordOf("y")), "belongs to another user (uid 1234)")
}
