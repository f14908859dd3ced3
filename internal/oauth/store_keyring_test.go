package oauth

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/zalando/go-keyring"
)

// ringIn is a keyring that several processes can use: a directory. An entry has the bound of the smallest keyring.
type ringIn string

func (r ringIn) name(service, user string) string {
	return filepath.Join(string(r), strings.ReplaceAll(service+" "+user, "/", "_"))
}

func (r ringIn) Get(service, user string) (string, error) {
	data, err := os.ReadFile(r.name(service, user))
	if errors.Is(err, fs.ErrNotExist) {
		return "", keyring.ErrNotFound
	}
	return string(data), err
}

func (r ringIn) Set(service, user, secret string) error {
	if len(secret) > 2560 {
		return keyring.ErrSetDataTooBig
	}
	return os.WriteFile(r.name(service, user), []byte(secret), 0o600)
}

func (r ringIn) Delete(service, user string) error {
	err := os.Remove(r.name(service, user))
	if errors.Is(err, fs.ErrNotExist) {
		return keyring.ErrNotFound
	}
	return err
}

// brokenRing fails.
type brokenRing struct{ err error }

func (r brokenRing) Get(string, string) (string, error) { return "", r.err }
func (r brokenRing) Set(string, string, string) error   { return r.err }
func (r brokenRing) Delete(string, string) error        { return r.err }

// silentRing does not answer before it is released.
type silentRing struct {
	Keyring
	release chan struct{}
}

func (r silentRing) Get(service, user string) (string, error) {
	<-r.release
	return r.Keyring.Get(service, user)
}

func (r silentRing) Set(service, user, secret string) error {
	<-r.release
	return r.Keyring.Set(service, user, secret)
}

func (r silentRing) Delete(service, user string) error {
	<-r.release
	return r.Keyring.Delete(service, user)
}

// stoppingRing ends the process at a question, before or after it is carried out.
type stoppingRing struct {
	Keyring
	left *int
}

func (r stoppingRing) count() {
	if *r.left--; *r.left < 0 {
		p, err := os.FindProcess(os.Getpid())
		if err == nil {
			_ = p.Kill()
		}
		select {}
	}
}

func (r stoppingRing) Get(service, user string) (string, error) {
	r.count()
	return r.Keyring.Get(service, user)
}

func (r stoppingRing) Set(service, user, secret string) error {
	r.count()
	err := r.Keyring.Set(service, user, secret)
	r.count()
	return err
}

func (r stoppingRing) Delete(service, user string) error {
	r.count()
	err := r.Keyring.Delete(service, user)
	r.count()
	return err
}

func TestNoSecretInTheFileBesideAKeyring(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := OpenStore(StoreOptions{Dir: dir, Keyring: ringIn(t.TempDir())})
	mustSave(t, s, keptRecordOf("hidden"))
	if err := s.SaveClient(t.Context(), keptIssuer, Client{ID: "x", Secret: "client-hidden"}); err != nil {
		t.Fatal(err)
	}
	for _, name := range filesIn(t, dir) {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || strings.Contains(string(data), "hidden") || !strings.Contains(string(data), `"keyring"`) {
			t.Errorf("%v, %s holds %s", err, name, data)
		}
	}
	if s.Where() != "keyring" {
		t.Error(s.Where())
	}
}

func TestLargeSecretsGoInParts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ring := ringIn(t.TempDir())
	var told notes
	o := StoreOptions{Dir: dir, Keyring: ring, Note: told.note}
	r := keptRecordOf(strings.Repeat("large", 2000))
	mustSave(t, OpenStore(o), r)
	mustLoad(t, OpenStore(o), r)
	before := len(filesIn(t, string(ring)))
	small := keptRecordOf("small")
	mustSave(t, OpenStore(o), small)
	mustLoad(t, OpenStore(o), small)
	if after := len(filesIn(t, string(ring))); before < 10 || after != 1 {
		t.Errorf("%d entries, then %d", before, after)
	}
	// What no keyring takes is kept in a file, if that is allowed.
	huge := keptRecordOf(strings.Repeat("huge", 10000))
	mustSave(t, OpenStore(o), huge)
	mustLoad(t, OpenStore(o), huge)
	if !strings.Contains(told.text(), "more than it takes") {
		t.Error(told.text())
	}
	o.Kind = StoreKeyring
	storeFails(t, OpenStore(o).Save(t.Context(), huge), "more than it takes")
}

// TestSilentKeyring waits for a keyring as long as a person needs to unlock it, and not longer, once in a run.
func TestSilentKeyring(t *testing.T) {
	dir, ring := t.TempDir(), ringIn(t.TempDir())
	mustSave(t, OpenStore(StoreOptions{Dir: dir, Keyring: ring}), keptRecordOf("kept"))
	synctest.Test(t, func(t *testing.T) {
		var told notes
		silent := silentRing{ring, make(chan struct{})}
		s := OpenStore(StoreOptions{Dir: dir, Keyring: silent, Note: told.note})
		begin := time.Now()
		for range 3 {
			_, ok, err := s.Load(t.Context(), keptURL)
			storeFails(t, err, "did not answer within 30s", "unlock the keyring", "MCPCTL_CREDENTIALS=file")
			if ok {
				t.Error("something was loaded")
			}
		}
		if took := time.Since(begin); took != ringTime {
			t.Errorf("it took %s", took)
		}
		// What is known without the keyring is still known.
		r, ok, refreshable, where, err := s.peek(t.Context(), keptURL)
		if err != nil || !ok || !refreshable || where != "keyring" || r.Issuer != keptIssuer {
			t.Error(r, ok, refreshable, where, err)
		}
		// A login works all the same, and what was kept is not in the way.
		next := keptRecordOf("next")
		mustSave(t, s, next)
		mustLoad(t, s, next)
		if !strings.Contains(told.text(), "credentials are kept in "+dir+" instead") {
			t.Error(told.text())
		}
		close(silent.release)
		synctest.Wait()
		// The keyring is back: nobody is logged out.
		mustLoad(t, OpenStore(StoreOptions{Dir: dir, Keyring: ring}), next)
		if had, err := OpenStore(StoreOptions{Dir: dir, Keyring: ring}).Delete(t.Context(), keptURL); !had || err != nil {
			t.Error(had, err)
		}
		if left := filesIn(t, string(ring)); len(left) > 0 {
			t.Errorf("left in the keyring: %v", left)
		}
	})
}

func TestCallerWhoDoesNotWaitForAKeyring(t *testing.T) {
	t.Parallel()
	dir, ring := t.TempDir(), ringIn(t.TempDir())
	r := keptRecordOf("kept")
	mustSave(t, OpenStore(StoreOptions{Dir: dir, Keyring: ring}), r)
	silent := silentRing{ring, make(chan struct{})}
	s := OpenStore(StoreOptions{Dir: dir, Keyring: silent})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.Load(ctx, keptURL); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	// The question is still on the screen; the next caller waits for its answer.
	close(silent.release)
	mustLoad(t, s, r)
}

func TestBrokenKeyring(t *testing.T) {
	t.Parallel()
	// Where there is none at all, there is nothing to tell.
	for name, err := range map[string]error{
		"broken": errors.New("dbus: it is broken\nat all"), "platform": keyring.ErrUnsupportedPlatform,
		"no bus": fmt.Errorf("no session: %w", exec.ErrNotFound), "no service": dbus.Error{Name: "org.freedesktop.DBus.Error.ServiceUnknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := 0
			if name == "broken" {
				want = 1
			}
			var told notes
			dir := t.TempDir()
			o := StoreOptions{Dir: dir, Keyring: brokenRing{err}, Note: told.note}
			s := OpenStore(o)
			r := keptRecordOf("x")
			mustSave(t, s, r)
			mustLoad(t, s, r)
			mustSave(t, s, keptRecordOf("y"))
			if len(told.told) != want || want > 0 && (!strings.Contains(told.told[0], dir) || strings.Contains(told.told[0], "\n")) {
				t.Errorf("told: %q", told.told)
			}
			if s.Where() != dir {
				t.Error(s.Where())
			}
			// In the next run it is not even asked.
			next := OpenStore(o)
			mustSave(t, next, r)
			if len(told.told) != want {
				t.Errorf("told: %q", told.told)
			}
			o.Kind = StoreKeyring
			storeFails(t, OpenStore(o).Save(t.Context(), r), "keyring", "MCPCTL_CREDENTIALS=file")
			mustLoad(t, OpenStore(o), r)
		})
	}
}

func TestKeyringThatIsDemanded(t *testing.T) {
	t.Parallel()
	s := OpenStore(StoreOptions{Dir: t.TempDir(), Kind: StoreKeyring})
	storeFails(t, s.Save(t.Context(), keptRecordOf("x")), "there is no keyring here", "set it to file")
}

func TestFilesThatAreDemanded(t *testing.T) {
	t.Parallel()
	dir, ring := t.TempDir(), ringIn(t.TempDir())
	mustSave(t, OpenStore(StoreOptions{Dir: dir, Keyring: ring}), keptRecordOf("ring"))
	o := StoreOptions{Dir: dir, Kind: StoreFile, Keyring: brokenRing{errors.New("it must not be asked")}}
	s := OpenStore(o)
	if _, ok, err := s.Load(t.Context(), keptURL); ok || err != nil {
		t.Error(ok, err)
	}
	r := keptRecordOf("file")
	mustSave(t, s, r)
	mustLoad(t, OpenStore(o), r)
	had, err := OpenStore(o).Delete(t.Context(), keptURL)
	storeFails(t, err, "the keyring still has it")
	if !had {
		t.Error("nothing was there")
	}
	if _, ok, err := s.Load(t.Context(), keptURL); ok || err != nil {
		t.Error("it is still used", ok, err)
	}
	if _, err := OpenStore(StoreOptions{Dir: dir, Keyring: ring}).Delete(t.Context(), keptURL); err != nil {
		t.Error(err)
	}
	if left := append(filesIn(t, string(ring)), filesIn(t, dir)...); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

func TestKeyringThatLostItsEntry(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(path string) error{
		"removed": os.Remove,
		"changed": func(path string) error { return os.WriteFile(path, []byte("eA=="), 0o600) },
		"no text": func(path string) error { return os.WriteFile(path, []byte("%"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var told notes
			ring := ringIn(t.TempDir())
			o := StoreOptions{Dir: t.TempDir(), Keyring: ring, Note: told.note}
			mustSave(t, OpenStore(o), keptRecordOf("x"))
			for _, name := range filesIn(t, string(ring)) {
				if err := lose(filepath.Join(string(ring), name)); err != nil {
					t.Fatal(err)
				}
			}
			s := OpenStore(o)
			if _, ok, err := s.Load(t.Context(), keptURL); ok || err != nil || !strings.Contains(told.text(), "log in again") {
				t.Error(ok, err, told.text())
			}
			r := keptRecordOf("y")
			mustSave(t, s, r)
			mustLoad(t, OpenStore(o), r)
		})
	}
}

// TestRingSaverProcess saves one record in a process that ends at a question to the keyring.
func TestRingSaverProcess(t *testing.T) {
	dir, stop := os.Getenv(killedSaveDir), os.Getenv(killedRingStop)
	if stop == "" {
		t.Skip("for another test")
	}
	var left int
	if _, err := fmt.Sscan(stop, &left); err != nil {
		t.Fatal(err)
	}
	s := OpenStore(StoreOptions{Dir: filepath.Join(dir, "files"), Keyring: stoppingRing{ringIn(filepath.Join(dir, "ring")), &left}})
	mustSave(t, s, keptRecordOf(strings.Repeat("new", 1000)))
}

// TestKilledSaveToAKeyring kills a process before and after each question to the keyring: what is found is the old record
// or the new one.
func TestKilledSaveToAKeyring(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ring := ringIn(filepath.Join(dir, "ring"))
	if err := os.Mkdir(string(ring), 0o700); err != nil {
		t.Fatal(err)
	}
	o := StoreOptions{Dir: filepath.Join(dir, "files"), Keyring: ring}
	found := map[string]int{}
	for stop, whole := 0, false; !whole; stop++ {
		old := keptRecordOf(strings.Repeat("old", 2000))
		mustSave(t, OpenStore(o), old)
		whole = anotherSelf(t, "TestRingSaverProcess", killedSaveDir+"="+dir, fmt.Sprint(killedRingStop, "=", stop)).Run() == nil
		r, ok, err := OpenStore(o).Load(t.Context(), keptURL)
		if err != nil || !ok {
			t.Fatalf("killed at question %d: %v, %v", stop, ok, err)
		}
		word := strings.TrimPrefix(r.Token.Access, "access-")
		if r.Token.Refresh != "refresh-"+word || r.Key != "key-"+word {
			t.Fatal("half of one record, half of another")
		}
		found[word[:3]]++
		if stop > 200 {
			t.Fatal("it does not end")
		}
	}
	if found["old"] < 3 || found["new"] < 3 {
		t.Errorf("found %v", found)
	}
	if _, err := OpenStore(o).Delete(t.Context(), keptURL); err != nil {
		t.Fatal(err)
	}
	if left := filesIn(t, string(ring)); len(left) > 0 {
		t.Errorf("left in the keyring: %v", left)
	}
}
