package session

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"time"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// What is remembered of a server spares round trips at the next opening: how it was reached, in which era it speaks, and
// what its tools look like. It is a file for each entry in the cache directory, named after a hash of the entry. It
// never answers a question about health, and it is dropped as soon as it proves wrong.

// toolsKept is how long a list of tools is remembered: long enough for somebody who works with a server, and not so long
// that a changed server is met with an old schema the next day. A server that changes meanwhile costs a request: what the
// list does not allow, and what the server refuses, is looked at again with a fresh one.
const toolsKept = time.Hour

// toolsRenewed is how old a list may be of which no other time is noted when it is seen again.
const toolsRenewed = toolsKept / 4

// memoryVersion is that of the file's form. Files of another form are ignored.
const memoryVersion = 1

// memory is what is remembered of one server. All methods of a nil memory do nothing.
type memory struct {
	path string
	// elsewhere is where the tools are remembered for suggestions, whatever the working directory is; "" if that is path.
	elsewhere string
	// mask is that of the dialer.
	mask func(string) string

	mu   sync.Mutex
	what remembered
}

// remembered is the contents of a memory's file.
type remembered struct {
	Version   int    `json:"version"`
	Era       Era    `json:"era,omitempty"`
	Transport string `json:"transport,omitempty"`
	// Offer is the version that the client offered and the server took, in the legacy era.
	Offer string `json:"offer,omitempty"`
	// ServerName and ServerVersion are what the server called itself when it listed Tools at ToolsAt.
	ServerName    string            `json:"server_name,omitempty"`
	ServerVersion string            `json:"server_version,omitempty"`
	Tools         []json.RawMessage `json:"tools,omitempty"`
	ToolsAt       time.Time         `json:"tools_at,omitzero"`
	// Offers are what it has listed beside tools, by the method.
	Offers map[string][]Offer `json:"offers,omitempty"`
}

// memory returns what is remembered of a server, nil if nothing is to be.
func (d *Dialer) memory(server config.Server) *memory {
	if d.CacheDir == "" {
		return nil
	}
	key, err := entryHash(server)
	if err != nil {
		return nil
	}
	m := &memory{path: filepath.Join(d.CacheDir, "servers", key+".json"), mask: d.Mask}
	if server.Command != "" && !filepath.IsAbs(server.Cwd) {
		m.elsewhere = d.elsewhere(server)
	}
	data, err := readMemory(m.path)
	if err != nil || json.Unmarshal(data, &m.what) != nil || m.what.Version != memoryVersion {
		m.what = remembered{}
	}
	return m
}

// maxMemory is the size of the largest file that is read: a list of tools has some megabytes at most.
const maxMemory = 16 << 20

// readMemory reads a file that is one, and no pipe that somebody has put there.
func readMemory(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxMemory:
		return nil, os.ErrInvalid
	}
	return os.ReadFile(path)
}

// entryHash identifies an entry by what decides how its server is reached and whom it takes us for.
func entryHash(server config.Server) (string, error) {
	s := server.Clone()
	s.Name, s.Enabled, s.Sources, s.Foreign, s.Err = "", false, nil, nil, nil
	s.ConnectTimeout, s.Timeout, s.MaxTimeout, s.Wait, s.SessionWait = 0, 0, 0, 0, 0
	s.Keepalive, s.Retry, s.Breaker = 0, config.Retry{}, config.Breaker{}
	s.Health, s.Smoke = nil, nil
	s.SkipPreflight, s.Tools = false, config.ToolFilter{}
	if s.Command != "" && !filepath.IsAbs(s.Cwd) { // the same command is another server elsewhere
		here, err := filepath.Abs(s.Cwd)
		if err != nil {
			return "", err
		}
		s.Cwd = here
	}
	var login config.OAuth
	if s.OAuth != nil {
		login, s.OAuth = *s.OAuth, nil
	}
	// Unlike encoding/json, fmt does not plan for the types first, which takes longer than to write one entry.
	sum := sha256.Sum256(fmt.Appendf(nil, "%#v%#v", s, login))
	return hex.EncodeToString(sum[:16]), nil
}

// recall returns what is remembered.
func (m *memory) recall() remembered {
	if m == nil {
		return remembered{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.what
}

// learn changes what is remembered, and writes it down if that made a difference.
func (m *memory) learn(change func(*remembered)) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.what
	change(&m.what) // it puts others in place of lists and maps, and changes none of them
	m.what.Version = memoryVersion
	if reflect.DeepEqual(before, m.what) {
		return
	}
	if data, err := json.Marshal(m.what); err == nil {
		m.write(m.path, data)
	}
}

// write replaces the file in one step. Only its owner may read it. Where that does not work, nothing is remembered; nor what
// holds a secret, as a server may name the token that it got in its own name or in what its tools are for.
func (m *memory) write(path string, data []byte) {
	if m.mask != nil && m.mask(string(data)) != string(data) {
		return
	}
	dir := filepath.Dir(path)
	if os.MkdirAll(dir, 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(dir, ".tmp-*") // its mode is 0600
	if err != nil {
		return
	}
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
}

// opened remembers how a session was opened.
func (m *memory) opened(info Info, offer string) {
	m.learn(func(r *remembered) {
		if info.Era == EraModern {
			offer = ""
		}
		r.Era, r.Transport, r.Offer = info.Era, info.Transport, offer
		if r.ServerName != info.ServerName || r.ServerVersion != info.ServerVersion {
			r.Tools, r.Offers = nil, nil // another server, or another release of it
		}
		r.ServerName, r.ServerVersion = info.ServerName, info.ServerVersion
	})
}

// misled forgets how a session was opened: it does not work any more.
func (m *memory) misled() {
	m.learn(func(r *remembered) { r.Era, r.Transport, r.Offer = "", "", "" })
}

// listed remembers a whole list of tools.
func (m *memory) listed(list List) {
	if list.Incomplete || list.Unsupported || len(list.Problems) > 0 {
		return
	}
	now := time.Now()
	learn := func(r *remembered) {
		// A list that counts as young for long enough is not written down again for the sake of its time.
		if sameItems(r.Tools, list.Items) && now.Sub(r.ToolsAt) < toolsRenewed && !r.ToolsAt.After(now) {
			return
		}
		r.Tools, r.ToolsAt = list.Items, now
	}
	m.learn(learn)
	m.learnElsewhere(learn)
}

// forgetTools drops the list of tools.
func (m *memory) forgetTools() { m.learn(func(r *remembered) { r.Tools = nil }) }

// RememberedTools returns the tools that a server listed when it was used last, as it sent them, however long ago that was;
// nil if nothing is remembered. Nothing is contacted: it is for suggestions, and no answer. The server's variables are
// replaced already.
func (d *Dialer) RememberedTools(server config.Server) []json.RawMessage {
	m := d.memory(server)
	if tools := m.recall().Tools; tools != nil {
		return tools
	}
	return m.recallElsewhere().Tools
}

// elsewhere returns the file for suggestions about a command that is started in the working directory, "" for none.
func (d *Dialer) elsewhere(server config.Server) string {
	server.Cwd = string(filepath.Separator) + filepath.Join("?", server.Cwd) // no directory has that name
	if filepath.VolumeName(d.CacheDir) != "" {
		server.Cwd = filepath.VolumeName(d.CacheDir) + server.Cwd
	}
	key, err := entryHash(server)
	if err != nil {
		return ""
	}
	return filepath.Join(d.CacheDir, "servers", key+"-tools.json")
}

// tools returns the list of tools, false if there is none that is young enough and worth the risk. One from the future was
// written before the clock was put back, and may be of any age.
func (m *memory) tools() (List, bool) {
	r := m.recall()
	if age := time.Since(r.ToolsAt); r.Tools == nil || age > toolsKept || age < 0 {
		return List{}, false
	}
	return List{Items: r.Tools}, true
}
