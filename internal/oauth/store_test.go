package oauth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// keptURL and keptIssuer are those of the record of tests.
const (
	keptURL    = "https://mcp.example.com/mcp"
	keptIssuer = "https://auth.example.com"
)

// keptRecordOf is a record whose secrets end in a word, and must belong together.
func keptRecordOf(word string) Record {
	return Record{
		Server: keptURL, Issuer: keptIssuer, Resource: keptURL, Grant: "authorization_code",
		Token: Token{
			Access: "access-" + word, Refresh: "refresh-" + word, Type: "Bearer",
			Expires: time.Now().Add(time.Hour).UTC().Truncate(time.Second), Scopes: []string{"read"},
		},
		Client:        Client{ID: "client", Secret: "secret-" + word, RedirectURIs: []string{"http://127.0.0.1/callback"}},
		TokenEndpoint: keptIssuer + "/token", Key: "key-" + word,
	}
}

// notes collects what a store tells.
type notes struct {
	mu   sync.Mutex
	told []string
}

func (n *notes) note(message string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.told = append(n.told, message)
}

func (n *notes) text() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.told, "\n")
}

// mustSave saves a record, and mustLoad loads the one that is wanted.
func mustSave(t *testing.T, s *Store, r Record) {
	t.Helper()
	if err := s.Save(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

func mustLoad(t *testing.T, s *Store, want Record) {
	t.Helper()
	got, ok, err := s.Load(t.Context(), want.Server)
	got.Saved, want.Saved = time.Time{}, time.Time{}
	want.Server = serverID(want.Server)
	if err != nil || !ok || !reflect.DeepEqual(got, want) {
		t.Fatalf("%v, %v, got\n%+v, want\n%+v", ok, err, got, want)
	}
}

// storeFails fails unless err is of the store and has the texts.
func storeFails(t *testing.T, err error, texts ...string) {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Step != StepStore {
		t.Fatalf("%v is no failure of the store", err)
	}
	for _, text := range texts {
		if !strings.Contains(e.Error()+"\n"+e.Hint, text) {
			t.Errorf("%q with the hint %q does not tell %q", e.Error(), e.Hint, text)
		}
	}
}

func TestStoreKeepsWhatItIsGiven(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]StoreOptions{
		"files":   {Dir: filepath.Join(t.TempDir(), "new", "credentials"), Kind: StoreFile},
		"keyring": {Dir: t.TempDir(), Keyring: ringIn(t.TempDir())},
		"memory":  {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := OpenStore(o)
			if _, ok, err := s.Load(t.Context(), keptURL); ok || err != nil {
				t.Fatal(ok, err)
			}
			first, second := keptRecordOf("one"), keptRecordOf("two")
			second.Issuer = "https://other.example.com"
			mustSave(t, s, first)
			mustLoad(t, s, first)
			mustSave(t, s, second)
			mustLoad(t, s, second)
			first.Token.Access = "access-three"
			mustSave(t, s, first)
			mustLoad(t, s, first)
			if o.Dir != "" {
				s = OpenStore(o)
				mustLoad(t, s, first)
			}
			if records, err := s.records(t.Context(), keptURL); err != nil || len(records) != 2 {
				t.Errorf("%v, %+v", err, records)
			}
			client := Client{ID: "id", Secret: "client-secret", Method: "client_secret_basic", RedirectURIs: []string{"http://127.0.0.1/"}}
			if err := s.SaveClient(t.Context(), keptIssuer, client); err != nil {
				t.Fatal(err)
			}
			if had, err := s.Delete(t.Context(), keptURL); !had || err != nil {
				t.Error(had, err)
			}
			if had, err := s.Delete(t.Context(), keptURL); had || err != nil {
				t.Error(had, err)
			}
			if _, ok, err := s.Load(t.Context(), keptURL); ok || err != nil {
				t.Error(ok, err)
			}
			if got, ok, err := s.LoadClient(t.Context(), keptIssuer); err != nil || !ok || !reflect.DeepEqual(got, client) {
				t.Error("the client is gone with the tokens", ok, err, got)
			}
			if err := s.DeleteClient(t.Context(), keptIssuer); err != nil {
				t.Error(err)
			}
			if _, ok, err := s.LoadClient(t.Context(), keptIssuer); ok || err != nil {
				t.Error(ok, err)
			}
			if o.Dir != "" {
				if left := filesIn(t, o.Dir); len(left) > 0 {
					t.Errorf("left over: %v", left)
				}
			}
		})
	}
}

// filesIn are the names in a directory.
func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestServersAreToldApart(t *testing.T) {
	t.Parallel()
	for a, b := range map[string]string{
		"https://Host:443/mcp?x=1#y":    "https://host/mcp",
		"https://me:secret@host/mcp":    "https://host/mcp",
		"https://host/":                 "https://host",
		"http://host:80/a%2Fb":          "http://host/a%2Fb",
		"https://[::1]:443/mcp":         "https://[::1]/mcp",
		"https://host/" + long("x", 90): "https://host/" + long("x", 90),
	} {
		fileA, idA := serverFile(a)
		fileB, idB := serverFile(b)
		if idA != idB || fileA != fileB || idA != b {
			t.Errorf("%q and %q are kept under %q and %q", a, b, idA, idB)
		}
		if strings.Contains(fileA, "secret") || len(fileA) > 100 || strings.ContainsAny(fileA, `/\:*`) {
			t.Errorf("%q is the name of a file", fileA)
		}
	}
	seen := map[string]string{}
	for _, u := range []string{"https://host", "http://host", "https://host:8443", "https://host/a", "https://host/A", "https://host/a/", "https://host/a%2Fb", "https://host/a/b", "../../etc", ""} {
		name, _ := serverFile(u)
		if other, ok := seen[name]; ok {
			t.Errorf("%q and %q are kept together", u, other)
		}
		seen[name] = u
	}
}

func long(s string, n int) string { return strings.Repeat(s, n) }

func TestStoreNoticesOtherProcesses(t *testing.T) {
	t.Parallel()
	o := StoreOptions{Dir: t.TempDir(), Keyring: ringIn(t.TempDir())}
	one, two := OpenStore(o), OpenStore(o)
	for i := range 5 {
		r := keptRecordOf(fmt.Sprint(i))
		mustSave(t, one, r)
		mustLoad(t, two, r)
		r.Token.Access += "-again"
		mustSave(t, two, r)
		mustLoad(t, one, r)
	}
	if _, err := two.Delete(t.Context(), keptURL); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := one.Load(t.Context(), keptURL); ok || err != nil {
		t.Error("what another process forgot is still used", ok, err)
	}
}

func TestDamagedFileIsKeptAside(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"empty": "", "cut off": `{"version": 1, "server": "https://`, "no JSON": "hello", "another form": `{"version":1,"records":"x"}`,
		"no version": `{"server":"x"}`, "other": "[]", "too large": strings.Repeat(" ", mostFile) + "{}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var told notes
			s := OpenStore(StoreOptions{Dir: t.TempDir(), Note: told.note})
			file, _ := serverFile(keptURL)
			path := s.path(file)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, ok, err := s.Load(t.Context(), keptURL)
			storeFails(t, err, path, "is damaged", "log in again")
			if ok {
				t.Error("something was loaded")
			}
			if _, err := s.Delete(t.Context(), keptURL); err == nil {
				t.Error("a damaged file was removed")
			}
			r := keptRecordOf("new")
			mustSave(t, s, r)
			mustLoad(t, s, r)
			aside := slices.DeleteFunc(filesIn(t, s.o.Dir), func(name string) bool { return !strings.Contains(name, ".damaged-") })
			if len(aside) != 1 || !strings.Contains(told.text(), aside[0]) {
				t.Fatalf("kept aside: %v, told: %s", aside, told.text())
			}
			if data, err := os.ReadFile(filepath.Join(s.o.Dir, aside[0])); err != nil || string(data) != text {
				t.Errorf("%v, %.40q is kept", err, data)
			}
		})
	}
}

func TestFileOfALaterVersionStays(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"version": `{"version": 2, "records": "in another way"}`, "key": `{"version": 1, "server": "` + keptURL + `", "passkey": {}}`,
		"key of a record": `{"version": 1, "server": "` + keptURL + `", "records": [{"server": "s", "issuer": "i", "flavour": "x"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := OpenStore(StoreOptions{Dir: t.TempDir()})
			file, _ := serverFile(keptURL)
			path := s.path(file)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, _, err := s.Load(t.Context(), keptURL)
			storeFails(t, err, path, "later mcpctl", "update mcpctl")
			storeFails(t, s.Save(t.Context(), keptRecordOf("x")), path, "later mcpctl")
			_, err = s.Delete(t.Context(), keptURL)
			storeFails(t, err, path, "remove it")
			if data, err := os.ReadFile(path); err != nil || string(data) != text {
				t.Errorf("%v, the file holds %q", err, data)
			}
		})
	}
}

func TestFileOfAnotherServerIsNotUsed(t *testing.T) {
	t.Parallel()
	s := OpenStore(StoreOptions{Dir: t.TempDir()})
	mustSave(t, s, keptRecordOf("x"))
	from, _ := serverFile(keptURL)
	to, _ := serverFile("https://evil.example.com")
	if err := os.Rename(s.path(from), s.path(to)); err != nil {
		t.Fatal(err)
	}
	_, _, err := s.Load(t.Context(), "https://evil.example.com")
	storeFails(t, err, "belongs to "+keptURL)
}

func TestStoreOfAnUnknownKind(t *testing.T) {
	t.Parallel()
	s := OpenStore(StoreOptions{Dir: t.TempDir(), Kind: "vault"})
	_, _, err := s.Load(t.Context(), keptURL)
	storeFails(t, err, "MCPCTL_CREDENTIALS", `"vault"`, "file or keyring")
	storeFails(t, s.Save(t.Context(), keptRecordOf("x")), "MCPCTL_CREDENTIALS")
}

func TestExpiredClientSecretIsNoClient(t *testing.T) {
	t.Parallel()
	s := OpenStore(StoreOptions{Dir: t.TempDir()})
	if err := s.SaveClient(t.Context(), keptIssuer, Client{ID: "x", Secret: "y", SecretExpires: time.Now().Add(-time.Second)}); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := s.LoadClient(t.Context(), keptIssuer); ok || err != nil {
		t.Error(ok, err)
	}
}

func TestLockOfManyGoroutines(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]StoreOptions{"files": {Dir: filepath.Join(t.TempDir(), "new")}, "memory": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Two stores are two processes, as far as the files are concerned.
			stores := []*Store{OpenStore(o), OpenStore(o)}
			if o.Dir == "" {
				stores = stores[:1]
			}
			// Nothing but the lock holds them off, and the race detector does not know it.
			var inside, together atomic.Int32
			var wg sync.WaitGroup
			for i := range 20 {
				wg.Go(func() {
					unlock, err := stores[i%len(stores)].Lock(t.Context(), keptURL)
					if err != nil {
						t.Error(err)
						return
					}
					if inside.Add(1) > 1 {
						together.Add(1)
					}
					runtime.Gosched()
					inside.Add(-1)
					unlock()
					unlock()
				})
			}
			wg.Wait()
			if n := together.Load(); n > 0 {
				t.Errorf("%d had the lock together with others", n)
			}
		})
	}
}

func TestLockEndsWithItsContext(t *testing.T) {
	t.Parallel()
	o := StoreOptions{Dir: t.TempDir()}
	unlock, err := OpenStore(o).Lock(t.Context(), keptURL)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	for range 2 { // the second waits in the process, the first for the file
		other := OpenStore(o)
		_, err = other.Lock(ctx, keptURL)
		storeFails(t, err, "another mcpctl", "end it")
	}
	unlock()
	// What a killed process leaves is no lock.
	name, _ := serverFile(keptURL)
	if err := os.WriteFile(filepath.Join(o.Dir, "."+name+".lock"), []byte("123"), 0o600); err != nil {
		t.Fatal(err)
	}
	unlock, err = OpenStore(o).Lock(t.Context(), keptURL)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

// The names of variables by which a test starts itself as another process.
const (
	killedSaveDir  = "MCPCTL_TEST_SAVES_IN"
	killedRingStop = "MCPCTL_TEST_KEYRING_STOPS_AT"
)

// anotherSelf is the command that runs one test of this binary in a process of its own.
func anotherSelf(t *testing.T, test string, env ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^"+test+"$", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), env...)
	return cmd
}

// TestSaverProcess saves records for ever, in the process that TestKilledSave kills.
func TestSaverProcess(t *testing.T) {
	dir := os.Getenv(killedSaveDir)
	if dir == "" {
		t.Skip("for another test")
	}
	s := OpenStore(StoreOptions{Dir: dir, Kind: StoreFile})
	fmt.Println("saving")
	for i := 0; ; i++ {
		if err := s.Save(t.Context(), keptRecordOf(strings.Repeat(fmt.Sprint(i%10), 20000))); err != nil {
			t.Fatal(err)
		}
	}
}

// TestKilledSave kills a process that saves, at any moment of it: what is found is one of its records, whole.
func TestKilledSave(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a file that is open cannot be replaced there")
	}
	dir := t.TempDir()
	mustSave(t, OpenStore(StoreOptions{Dir: dir}), keptRecordOf("first"))
	for i := range 12 {
		cmd := anotherSelf(t, "TestSaverProcess", killedSaveDir+"="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Duration(1+i*3) * time.Millisecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		r, ok, err := OpenStore(StoreOptions{Dir: dir}).Load(t.Context(), keptURL)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		word := strings.TrimPrefix(r.Token.Access, "access-")
		if r.Token.Refresh != "refresh-"+word || r.Key != "key-"+word {
			t.Fatal("half of one record, half of another")
		}
	}
	mustSave(t, OpenStore(StoreOptions{Dir: dir}), keptRecordOf("last"))
	if names := filesIn(t, dir); len(names) != 1 {
		t.Errorf("left over: %v", names)
	}
}

// FuzzCredentialsFile reads any file: it is used whole, or not at all, and what is used can be written and read again.
func FuzzCredentialsFile(f *testing.F) {
	whole, err := json.Marshal(document{
		Version: 1, Server: keptURL, Current: keptIssuer, Records: []keptRecord{{Record: keptRecordOf("x"), HasRefresh: true}},
		Keyring: &ringPlace{ID: "ab", Slot: "a", Parts: 1, Stamp: "x"}, Left: []string{"cd"},
	})
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{string(whole), `{"version":1}`, `{"version":9}`, `{"version":1,"x":1}`, "[]", "", "null", `{"version":1,"client":{"id":"x"}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := parseDocument(data)
		if err != nil {
			if !errors.Is(err, errCorrupt) && !errors.Is(err, errNewer) {
				t.Errorf("%v says nothing", err)
			}
			return
		}
		public, found := d.split()
		joined, ok := public.join(found)
		if !ok {
			t.Fatal("what was parted does not belong together")
		}
		for i := range joined.Records {
			joined.Records[i].HasRefresh = d.Records[i].HasRefresh
		}
		one, err := json.Marshal(d)
		if err != nil {
			t.Skip("a time that has no form")
		}
		two, err := json.Marshal(joined)
		if err != nil || !bytes.Equal(one, two) {
			t.Errorf("%v, %s became %s", err, one, two)
		}
		again, err := parseDocument(one)
		if err != nil {
			t.Fatalf("%s is not read again: %v", one, err)
		}
		if three, err := json.Marshal(again); err != nil || !bytes.Equal(one, three) {
			t.Errorf("%v, %s became %s", err, one, three)
		}
	})
}
