package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpctl/mcpctl/internal/transport"
)

// How credentials are kept.
//
// There is one file for each server, and one for each authorization server at which a client was registered. Where there
// is a keyring, the file holds all but the secrets, and says under which names the keyring has those: so what exists is
// known without asking a keyring, which cannot be listed everywhere and may ask a person. Else the file holds the secrets
// too.
//
// A file is replaced as a whole, by a rename, under a lock of its own. Secrets go into the keyring under names that the
// file does not use yet (there are two slots, which take turns); then the file is replaced, which is the moment at which
// the change happens; then the names of before are removed. Whoever is killed in between leaves the old state or the new
// one, and at most a secret in the slot that the next save writes over.
//
// A keyring may come and go: the same person uses a desktop and ssh. The file says where its secrets are, so both are
// looked at whatever is there today. Without MCPCTL_CREDENTIALS a server whose secrets are in its file stays there until
// it is logged out: otherwise each refresh would wait for a keyring that does not answer.

// Record is what is kept for one server at one authorization server.
type Record struct {
	// Server is the URL of the MCP endpoint, without query and fragment; Issuer the authorization server's. Together they
	// are the key. Resource is the server's identifier (RFC 8707), as it was published.
	Server   string `json:"server"`
	Issuer   string `json:"issuer"`
	Resource string `json:"resource,omitempty"`
	// Grant is how the token was got, as in the configuration.
	Grant string `json:"grant"`
	Token Token  `json:"token"`
	// Client is whom the token was given to, TokenEndpoint and RevocationEndpoint where it is refreshed and revoked.
	Client             Client `json:"client"`
	TokenEndpoint      string `json:"token_endpoint"`
	RevocationEndpoint string `json:"revocation_endpoint,omitempty"`
	// Key is the private key that the token is bound to (DPoP), PEM, "" for none.
	Key string `json:"key,omitempty"`
	// Dead is set when the authorization server has refused to refresh the token (invalid_grant): a login is needed.
	Dead bool `json:"dead,omitempty"`
	// Saved is when the token was written. The store sets it.
	Saved time.Time `json:"saved"`
}

// Token is what an authorization server gave. See RFC 6749, 5.1.
type Token struct {
	Access  string `json:"access"`
	Type    string `json:"type"`
	Refresh string `json:"refresh,omitempty"`
	// Expires is zero if it was not said.
	Expires time.Time `json:"expires,omitzero"`
	// Scopes are those granted.
	Scopes []string `json:"scopes,omitempty"`
}

// Client is mcpctl as an authorization server knows it. See RFC 7591, 3.2.1.
type Client struct {
	ID     string `json:"id"`
	Secret string `json:"secret,omitempty"`
	// Method is how the client authenticates at the token endpoint: none, client_secret_basic, client_secret_post,
	// private_key_jwt; "" for what the server supports.
	Method string `json:"method,omitempty"`
	// SecretExpires is zero if the secret does not.
	SecretExpires time.Time `json:"secret_expires,omitzero"`
	// RedirectURIs are those that were registered, nil for a client that was not registered by us.
	RedirectURIs []string `json:"redirect_uris,omitempty"`
	// Scopes are those that the client registered for, nil for any.
	Scopes []string `json:"scopes,omitempty"`
}

// The values of [StoreOptions].Kind, which are those of MCPCTL_CREDENTIALS.
const (
	// StoreKeyring keeps secrets in the keyring, and fails where there is none.
	StoreKeyring = "keyring"
	// StoreFile keeps them in files, and never asks the keyring.
	StoreFile = "file"
)

// StoreOptions say where credentials are kept.
type StoreOptions struct {
	// Dir is the directory of the files: credentials, if there is no keyring, and locks. It need not exist. If it is "",
	// credentials live as long as the Store.
	Dir string
	// Kind is [StoreKeyring], [StoreFile], or "" for the keyring where there is one, and files else.
	Kind string
	// Keyring is the system's. If nil, there is none. An entry that is not there is [keyring.ErrNotFound].
	Keyring Keyring
	// Note is told what the user should know and what is no failure: that the keyring does not work and a file is used
	// instead, that a file could be read by others. Nothing is told twice. If nil, nobody is.
	Note func(message string)
}

// Keyring is a system's store of secrets.
type Keyring interface {
	Get(service, user string) (string, error)
	Set(service, user, secret string) error
	Delete(service, user string) error
}

// Store keeps credentials between runs. It may be used by several goroutines and processes at once.
type Store struct {
	o    StoreOptions
	ring *ring

	mu sync.Mutex
	// known are the files that were read, by their names; without a directory, they are all there is.
	known map[string]known
	// gates hold off the goroutines of this process, by the names of locks.
	gates map[string]chan struct{}
	// noted are the notes that were told, told the access tokens whose secrets were.
	noted, told map[string]bool
	// flights are the refreshes on their way, unsaved the records that could not be kept and are good for this run, by server.
	flights map[string]*flight
	unsaved map[string]unsaved
	// ringless is set when the keyring failed in this run, and files are used.
	ringless atomic.Bool
}

// OpenStore returns a store. Nothing is read or written yet.
func OpenStore(o StoreOptions) *Store {
	s := &Store{
		o: o, known: map[string]known{}, gates: map[string]chan struct{}{}, noted: map[string]bool{}, told: map[string]bool{},
		flights: map[string]*flight{}, unsaved: map[string]unsaved{},
	}
	if o.Keyring != nil {
		s.ring = newRing(o.Keyring)
	}
	return s
}

// Load returns the record of a server that was saved last, ok false if there is none. The failure is an [*Error].
func (s *Store) Load(ctx context.Context, server string) (r Record, ok bool, err error) {
	r, ok, err = s.load(ctx, server)
	s.mu.Lock()
	defer s.mu.Unlock()
	// What was saved meanwhile is newer than what could not be.
	if u, waits := s.unsaved[serverID(server)]; waits && (err != nil || u.before.Equal(r.Saved)) {
		return u.r, true, nil
	}
	return r, ok, err
}

// lend has a record that cannot be kept be used in this run.
func (s *Store) lend(ctx context.Context, r Record) {
	r.Server, r.Saved = serverID(r.Server), time.Now().UTC()
	kept, _, _, _, err := s.peek(ctx, r.Server)
	s.mu.Lock()
	defer s.mu.Unlock()
	before := kept.Saved
	if u, waits := s.unsaved[r.Server]; waits && err != nil {
		before = u.before
	}
	s.unsaved[r.Server] = unsaved{before, r}
}

// load is Load of what is kept.
func (s *Store) load(ctx context.Context, server string) (r Record, ok bool, err error) {
	name, id := serverFile(server)
	doc, err := s.read(ctx, name, true)
	if err != nil {
		return Record{}, false, s.withoutSecrets(err, name)
	}
	if err := s.isFor(name, doc.Server, id); err != nil {
		return Record{}, false, err
	}
	r, ok = doc.current()
	return r, ok, nil
}

// peek is Load without the secrets: it asks no keyring. refreshable says whether there is a refresh token, where the place
// of the secrets.
func (s *Store) peek(ctx context.Context, server string) (r Record, ok, refreshable bool, where string, err error) {
	name, id := serverFile(server)
	doc, err := s.read(ctx, name, false)
	if err != nil {
		return Record{}, false, false, "", err
	}
	if err := s.isFor(name, doc.Server, id); err != nil {
		return Record{}, false, false, "", err
	}
	if doc.Keyring != nil && s.o.Kind == StoreFile {
		return Record{}, false, false, "", nil
	}
	where = s.path(name)
	switch {
	case doc.Keyring != nil:
		where = StoreKeyring
	case s.o.Dir == "":
		where = "memory"
	}
	r, ok = doc.current()
	for _, kept := range doc.Records {
		if kept.Issuer == doc.Current {
			refreshable = kept.HasRefresh || kept.Token.Refresh != ""
		}
	}
	r.Token.Access, r.Token.Refresh, r.Client.Secret, r.Key = "", "", "", bound(r.Key, r.Token.Type)
	return r, ok, refreshable, where, nil
}

// bound is a word in place of a key, "" if there is none.
func bound(key, tokenType string) string {
	if key != "" || strings.EqualFold(tokenType, "DPoP") {
		return "bound"
	}
	return ""
}

// keptIssuers is for how many authorization servers records of one server are kept: that in use, and those of before, of
// which the last may come back.
const keptIssuers = 4

// Save keeps a record in place of the one with its key, and makes it the server's current one. The failure is an [*Error].
func (s *Store) Save(ctx context.Context, r Record) error {
	name, id := serverFile(r.Server)
	r.Server, r.Saved = id, time.Now().UTC()
	err := s.update(ctx, name, func(doc *document) error {
		if err := s.isFor(name, doc.Server, id); err != nil {
			return err
		}
		doc.Server, doc.Current = id, r.Issuer
		for _, kept := range doc.Records {
			if kept.Issuer == r.Issuer && kept.Token.Access == r.Token.Access {
				r.Saved = kept.Saved // what else is noted does not make it younger
			}
		}
		doc.Records = slices.DeleteFunc(slices.Clone(doc.Records), func(kept keptRecord) bool { return kept.Issuer == r.Issuer })
		doc.Records = append([]keptRecord{{Record: r}}, doc.Records...)
		if len(doc.Records) > keptIssuers {
			doc.Records = doc.Records[:keptIssuers]
		}
		return nil
	})
	if err == nil {
		s.mu.Lock()
		delete(s.unsaved, id)
		s.mu.Unlock()
	}
	return err
}

// Delete forgets all records of a server, and reports whether there was one. Clients that were registered are kept. The
// failure is an [*Error]; a keyring that cannot be reached keeps secrets that nothing uses any more, and is one.
func (s *Store) Delete(ctx context.Context, server string) (bool, error) {
	name, id := serverFile(server)
	s.mu.Lock()
	_, waits := s.unsaved[id]
	delete(s.unsaved, id)
	s.mu.Unlock()
	had, err := s.remove(ctx, name)
	return had || waits, err
}

// records returns all records of a server, as far as they can be read.
func (s *Store) records(ctx context.Context, server string) ([]Record, error) {
	name, id := serverFile(server)
	doc, err := s.read(ctx, name, true)
	if err != nil {
		return nil, s.withoutSecrets(err, name)
	}
	if err := s.isFor(name, doc.Server, id); err != nil {
		return nil, err
	}
	records := make([]Record, 0, len(doc.Records)+1)
	for _, kept := range doc.Records {
		records = append(records, kept.Record)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if u, waits := s.unsaved[id]; waits {
		records = append(records, u.r)
	}
	return records, nil
}

// LoadClient returns the client that was registered at an authorization server, ok false if none was, or if its secret has
// expired (RFC 7591, 3.2.1); SaveClient keeps one, and DeleteClient forgets it. The failures are [*Error]s.
func (s *Store) LoadClient(ctx context.Context, issuer string) (c Client, ok bool, err error) {
	name := clientFile(issuer)
	doc, err := s.read(ctx, name, true)
	if err != nil {
		return Client{}, false, s.withoutSecrets(err, name)
	}
	if err := s.isFor(name, doc.Issuer, issuer); err != nil || doc.Client == nil {
		return Client{}, false, err
	}
	if at := doc.Client.SecretExpires; !at.IsZero() && !time.Now().Before(at) {
		return Client{}, false, nil
	}
	return *doc.Client, true, nil
}

// SaveClient keeps the client that was registered at an authorization server.
func (s *Store) SaveClient(ctx context.Context, issuer string, c Client) error {
	name := clientFile(issuer)
	return s.update(ctx, name, func(doc *document) error {
		if err := s.isFor(name, doc.Issuer, issuer); err != nil {
			return err
		}
		doc.Issuer, doc.Client = issuer, &c
		return nil
	})
}

// DeleteClient forgets the client that was registered at an authorization server.
func (s *Store) DeleteClient(ctx context.Context, issuer string) error {
	_, err := s.remove(ctx, clientFile(issuer))
	return err
}

// Where returns where credentials are kept, for people: "keyring", or the path of the directory.
func (s *Store) Where() string {
	switch {
	case s.o.Kind == StoreKeyring, s.o.Kind == "" && s.o.Dir != "" && s.ring != nil && !s.ringless.Load():
		return StoreKeyring
	case s.o.Dir == "":
		return "memory, until this run ends"
	}
	return s.o.Dir
}

// note tells the user something, once.
func (s *Store) note(message string) {
	s.mu.Lock()
	again := s.noted[message]
	s.noted[message] = true
	s.mu.Unlock()
	if !again && s.o.Note != nil {
		s.o.Note(message)
	}
}

// isFor fails if a file belongs to somebody else than its name says: it was renamed by hand.
func (s *Store) isFor(name, found, want string) error {
	if found == "" || found == want {
		return nil
	}
	return storeError(Config, "move it away", nil, "%s belongs to %s, not to %s", s.path(name), shownURL(found), shownURL(want))
}

// withoutSecrets turns secrets that cannot be had any more into nothing kept.
func (s *Store) withoutSecrets(err error, name string) error {
	switch {
	case errors.Is(err, errElsewhere):
		return nil
	case errors.Is(err, errLost):
		s.note("the keyring does not hold the secrets of " + s.path(name) + " any more; log in again")
		return nil
	}
	return err
}

// storeError is a failure of the store.
func storeError(reason Reason, hint string, err error, format string, args ...any) *Error {
	return &Error{Step: StepStore, Reason: reason, Message: fmt.Sprintf(format, args...), Hint: hint, Err: err}
}

// serverID is what a server is kept under: its URL without what does not tell servers apart.
func serverID(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	if name, port, err := net.SplitHostPort(host); err == nil && (scheme == "https" && port == "443" || scheme == "http" && port == "80") {
		host = strings.TrimSuffix(host, ":"+port)
		_ = name
	}
	id := url.URL{Scheme: scheme, Host: host, Path: u.Path, RawPath: u.RawPath}
	if id.Path == "/" {
		id.Path, id.RawPath = "", ""
	}
	return id.String()
}

// serverFile is the name of a server's file, without its ending, and what the server is kept under.
func serverFile(server string) (name, id string) {
	id = serverID(server)
	return fileName("server", id, id), id
}

// clientFile is the name of the file of a client at an authorization server.
func clientFile(issuer string) string { return "client-" + fileName("client", issuer, issuer) }

// mostReadable bounds the part of a name that people can read: file systems take 255 bytes.
const mostReadable = 60

// fileName is a part that people can read, and one that tells all apart.
func fileName(kind, key, from string) string {
	readable := from
	if u, err := url.Parse(from); err == nil && u.Host != "" {
		readable = u.Host + u.Path
	}
	readable = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.', r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, readable)
	readable = strings.Trim(readable[:min(len(readable), mostReadable)], ".-")
	sum := sha256.Sum256([]byte(kind + "\n" + key))
	if readable == "" {
		readable = kind
	}
	return readable + "-" + hex.EncodeToString(sum[:8])
}

// path is where a file is.
func (s *Store) path(name string) string {
	if s.o.Dir == "" {
		return "what was kept in this run"
	}
	return filepath.Join(s.o.Dir, name+".json")
}

// plain is the text of an error on one line.
func plain(err error) string { return transport.Snippet([]byte(err.Error())) }
