package oauth

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
)

// secretService is a Secret Service on a bus of its own: as much of the freedesktop.org specification as go-keyring uses.
type secretService struct {
	mu    sync.Mutex
	next  int
	items map[dbus.ObjectPath]*secretItem
	// locked is set when everything is: it asks, and nobody answers.
	locked bool
	bus    *dbus.Conn
}

type secretItem struct {
	service *secretService
	path    dbus.ObjectPath
	names   map[string]string
	secret  secretValue
}

// secretValue is the type Secret of the specification.
type secretValue struct {
	Session    dbus.ObjectPath
	Parameters []byte
	Value      []byte
	Type       string
}

const (
	secretsName  = "org.freedesktop.secrets"
	secretsPath  = dbus.ObjectPath("/org/freedesktop/secrets")
	secretsLogin = dbus.ObjectPath("/org/freedesktop/secrets/collection/login")
	noPrompt     = dbus.ObjectPath("/")
)

func (s *secretService) OpenSession(string, dbus.Variant) (dbus.Variant, dbus.ObjectPath, *dbus.Error) {
	return dbus.MakeVariant(""), secretsPath + "/session/s1", nil
}

func (s *secretService) Unlock(objects []dbus.ObjectPath) ([]dbus.ObjectPath, dbus.ObjectPath, *dbus.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.locked {
		return nil, secretsPath + "/prompt/p1", nil
	}
	return objects, noPrompt, nil
}

// Prompt shows a question that nobody sees.
func (s *secretService) Prompt(string) *dbus.Error { return nil }

// Close is that of a session.
func (s *secretService) Close() *dbus.Error { return nil }

// Get is that of a property.
func (s *secretService) Get(string, string) (dbus.Variant, *dbus.Error) {
	return dbus.MakeVariant([]dbus.ObjectPath{secretsLogin}), nil
}

func (s *secretService) SearchItems(names map[string]string) ([]dbus.ObjectPath, *dbus.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := []dbus.ObjectPath{}
	for path, item := range s.items {
		if item.names["service"] == names["service"] && item.names["username"] == names["username"] {
			found = append(found, path)
		}
	}
	return found, nil
}

func (s *secretService) CreateItem(properties map[string]dbus.Variant, secret secretValue, _ bool) (item, prompt dbus.ObjectPath, _ *dbus.Error) {
	names, _ := properties["org.freedesktop.Secret.Item.Attributes"].Value().(map[string]string)
	found, _ := s.SearchItems(names)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, path := range found {
		s.items[path].secret = secret
		return path, noPrompt, nil
	}
	s.next++
	path := dbus.ObjectPath(fmt.Sprintf("%s/i%d", secretsLogin, s.next))
	s.items[path] = &secretItem{s, path, names, secret}
	if err := s.bus.Export(s.items[path], path, "org.freedesktop.Secret.Item"); err != nil {
		return "", "", dbus.MakeFailedError(err)
	}
	return path, noPrompt, nil
}

func (i *secretItem) GetSecret(dbus.ObjectPath) (secretValue, *dbus.Error) {
	i.service.mu.Lock()
	defer i.service.mu.Unlock()
	return i.secret, nil
}

func (i *secretItem) Delete() (dbus.ObjectPath, *dbus.Error) {
	i.service.mu.Lock()
	defer i.service.mu.Unlock()
	delete(i.service.items, i.path)
	return noPrompt, nil
}

// startBus starts a message bus, and returns its address.
func startBus(t *testing.T) string {
	t.Helper()
	daemon, err := exec.LookPath("dbus-daemon")
	if err != nil {
		t.Skip("there is no dbus-daemon")
	}
	config := filepath.Join(t.TempDir(), "bus.conf")
	text := `<busconfig><type>session</type><listen>unix:dir=` + t.TempDir() + `</listen><auth>EXTERNAL</auth>
		<policy context="default"><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy></busconfig>`
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), daemon, "--config-file="+config, "--nofork", "--print-address")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Skip("no bus can be started here")
	}
	return strings.TrimSpace(address)
}

// serveSecrets serves secrets on a bus.
func serveSecrets(t *testing.T, address string, locked bool) *secretService {
	t.Helper()
	bus, err := dbus.Connect(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bus.Close() })
	s := &secretService{items: map[dbus.ObjectPath]*secretItem{}, locked: locked, bus: bus}
	for face, path := range map[string]dbus.ObjectPath{
		"org.freedesktop.Secret.Service": secretsPath, "org.freedesktop.DBus.Properties": secretsPath,
		"org.freedesktop.Secret.Collection": secretsLogin, "org.freedesktop.Secret.Session": secretsPath + "/session/s1",
		"org.freedesktop.Secret.Prompt": secretsPath + "/prompt/p1",
	} {
		if err := bus.Export(s, path, face); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := bus.RequestName(secretsName, dbus.NameFlagDoNotQueue); err != nil {
		t.Fatal(err)
	}
	return s
}

// ringTask is what TestSystemKeyringProcess does.
const ringTask = "MCPCTL_TEST_KEYRING_TASK"

// TestSystemKeyringProcess uses the system's keyring, in a process that has the bus of a test.
func TestSystemKeyringProcess(t *testing.T) {
	task := os.Getenv(ringTask)
	if task == "" {
		t.Skip("for another test")
	}
	var told notes
	o := StoreOptions{Dir: os.Getenv(killedSaveDir), Keyring: SystemKeyring(), Note: told.note}
	s := OpenStore(o)
	r := keptRecordOf(strings.Repeat("x", 3000))
	switch task {
	case "save":
		mustSave(t, s, r)
		mustLoadToken(t, OpenStore(o), r.Token.Access)
	case "load":
		mustLoadToken(t, s, r.Token.Access)
	case "delete":
		if had, err := s.Delete(t.Context(), keptURL); !had || err != nil {
			t.Error(had, err)
		}
	case "fall back":
		mustSave(t, s, r)
		mustLoadToken(t, OpenStore(StoreOptions{Dir: o.Dir, Kind: StoreFile}), r.Token.Access)
	case "locked":
		// Of the half minute that a person has, a test waits for a moment.
		s.ring.time = 300 * time.Millisecond
		_, _, err := s.Load(t.Context(), keptURL)
		storeFails(t, err, "did not answer within 300ms", "unlock the keyring")
		mustSave(t, s, r)
		mustLoadToken(t, s, r.Token.Access)
		return
	}
	if text := told.text(); text != "" {
		t.Error(text)
	}
}

// TestSystemKeyring speaks to a Secret Service over a real bus: one that works, none, and one that is locked and asks a
// person who is not there.
func TestSystemKeyring(t *testing.T) {
	t.Parallel()
	run := func(t *testing.T, address, dir, task string) {
		t.Helper()
		cmd := anotherSelf(t, "TestSystemKeyringProcess", ringTask+"="+task, killedSaveDir+"="+dir, "DBUS_SESSION_BUS_ADDRESS="+address)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", task, err, out)
		}
	}
	address, dir := startBus(t), t.TempDir()
	run(t, address, dir, "fall back")
	s := serveSecrets(t, address, false)
	dir = t.TempDir()
	run(t, address, dir, "save")
	if n := len(s.items); n < 3 {
		t.Errorf("the keyring has %d entries", n)
	}
	name, _ := serverFile(keptURL)
	if data, err := os.ReadFile(filepath.Join(dir, name+".json")); err != nil || strings.Contains(string(data), "xxx") {
		t.Errorf("%v, the file has a secret", err)
	}
	run(t, address, dir, "load")
	s.mu.Lock()
	s.locked = true
	s.mu.Unlock()
	locked := t.TempDir()
	for _, file := range filesIn(t, dir) {
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err == nil {
			err = os.WriteFile(filepath.Join(locked, file), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	run(t, address, locked, "locked")
	s.mu.Lock()
	s.locked = false
	s.mu.Unlock()
	run(t, address, dir, "load")
	run(t, address, dir, "delete")
	if n := len(s.items); n > 0 {
		t.Errorf("the keyring still has %d entries", n)
	}
}
