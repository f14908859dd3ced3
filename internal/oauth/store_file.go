package oauth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// documentVersion is that of the form of the files. A file of a later form is neither used nor overwritten.
const documentVersion = 1

// document is what one file holds: the records of a server, or the client at an authorization server.
type document struct {
	Version int `json:"version"`
	// Server is the key of a server's file, Current the issuer of the record that was saved last.
	Server  string       `json:"server,omitempty"`
	Current string       `json:"current,omitempty"`
	Records []keptRecord `json:"records,omitempty"`
	// Issuer is the key of a client's file.
	Issuer string  `json:"issuer,omitempty"`
	Client *Client `json:"client,omitempty"`
	// Keyring is where the secrets are, nil if they are in the file.
	Keyring *ringPlace `json:"keyring,omitempty"`
	// Left are names in the keyring that hold something of this file, and could not be removed yet.
	Left []string `json:"left,omitempty"`

	// whole is set when the secrets are there.
	whole bool
}

// keptRecord is a record, and what is known of its secrets where they are elsewhere.
type keptRecord struct {
	Record
	HasRefresh bool `json:"has_refresh,omitempty"`
}

// current is the record that was saved last.
func (d document) current() (Record, bool) {
	for _, kept := range d.Records {
		if kept.Issuer == d.Current {
			return kept.Record, true
		}
	}
	return Record{}, false
}

// secrets are those of one record, or of the client.
type secrets struct {
	Access  string `json:"access,omitempty"`
	Refresh string `json:"refresh,omitempty"`
	Client  string `json:"client,omitempty"`
	Key     string `json:"key,omitempty"`
}

// split parts a document from its secrets.
func (d document) split() (document, []secrets) {
	var found []secrets
	d.Records = slices.Clone(d.Records)
	for i := range d.Records {
		r := &d.Records[i]
		found = append(found, secrets{r.Token.Access, r.Token.Refresh, r.Client.Secret, r.Key})
		r.HasRefresh = r.Token.Refresh != ""
		r.Token.Access, r.Token.Refresh, r.Client.Secret, r.Key = "", "", "", ""
	}
	if d.Client != nil {
		c := *d.Client
		found = append(found, secrets{Client: c.Secret})
		c.Secret = ""
		d.Client = &c
	}
	d.whole = false
	return d, found
}

// join is what split has parted, ok false if the two do not belong together.
func (d document) join(found []secrets) (document, bool) {
	want := len(d.Records)
	if d.Client != nil {
		want++
	}
	if len(found) != want {
		return d, false
	}
	d.Records = slices.Clone(d.Records)
	for i := range d.Records {
		r := &d.Records[i]
		r.Token.Access, r.Token.Refresh, r.Client.Secret, r.Key = found[i].Access, found[i].Refresh, found[i].Client, found[i].Key
		r.HasRefresh = false
	}
	if d.Client != nil {
		c := *d.Client
		c.Secret = found[len(found)-1].Client
		d.Client = &c
	}
	d.whole = true
	return d, true
}

// inFile reports whether the document has secrets, and has them by itself.
func (d document) inFile() bool {
	_, found := d.split()
	return d.Keyring == nil && slices.ContainsFunc(found, func(s secrets) bool { return s != secrets{} })
}

var (
	// errCorrupt is a file that holds no document, errNewer one of a later form.
	errCorrupt = errors.New("it is no file of credentials")
	errNewer   = errors.New("it is of a later form")
	// errElsewhere are secrets in a keyring that is not to be asked, errLost those that are not there any more.
	errElsewhere = errors.New("the secrets are in the keyring")
	errLost      = errors.New("the keyring does not hold the secrets")
)

// parseDocument reads what a file holds. Keys that are not known are those of a later form: what they mean is not known, so
// the file must not be used, nor written without them.
func parseDocument(data []byte) (document, error) {
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return document{}, fmt.Errorf("%w: %w", errCorrupt, err)
	}
	switch {
	case head.Version > documentVersion:
		return document{}, fmt.Errorf("%w: version %d", errNewer, head.Version)
	case head.Version < 1:
		return document{}, fmt.Errorf("%w: it has no version", errCorrupt)
	}
	var d document
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d); err != nil {
		if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
			return document{}, fmt.Errorf("%w: it has the key %.40s", errNewer, name)
		}
		return document{}, fmt.Errorf("%w: %w", errCorrupt, err)
	}
	if d.Keyring != nil && !d.Keyring.valid() {
		return document{}, fmt.Errorf("%w: the names in the keyring are none", errCorrupt)
	}
	d.whole = d.Keyring == nil
	return d, nil
}

// known is a file that was read.
type known struct {
	info fs.FileInfo
	doc  document
}

// read returns the document of a name, the zero value if there is none. What was read before and has not changed is not
// read again, and the keyring is not asked again.
func (s *Store) read(ctx context.Context, name string, whole bool) (document, error) {
	if err := s.validKind(); err != nil {
		return document{}, err
	}
	// A file that is replaced while the keyring is asked has other names there: it is read again.
	const looks = 4
	for look := 1; ; look++ {
		doc, info, err := s.readFile(name)
		if err != nil || doc.whole || !whole || doc.Version == 0 {
			return doc, err
		}
		full, err := s.fill(ctx, name, doc)
		if errors.Is(err, errLost) && look < looks {
			if now, err := os.Lstat(s.path(name)); err != nil || !same(now, info) {
				continue
			}
		}
		if err == nil {
			s.remember(name, known{info, full})
		}
		return full, err
	}
}

func (s *Store) remember(name string, k known) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[name] = k
}

func (s *Store) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, name)
}

// same reports whether a file is the one that it was. A save makes another file.
func same(a, b fs.FileInfo) bool {
	return a != nil && b != nil && os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

// mostFile bounds the size of a file, in bytes: a token has a few thousand at most.
const mostFile = 1 << 20

// readFile is read without the keyring.
func (s *Store) readFile(name string) (document, fs.FileInfo, error) {
	s.mu.Lock()
	before := s.known[name]
	s.mu.Unlock()
	if s.o.Dir == "" {
		return before.doc, nil, nil
	}
	path := s.path(name)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return document{}, nil, nil
	case err != nil:
		if err := s.checkDir(); err != nil {
			return document{}, nil, err
		}
		return document{}, nil, storeError(Config, s.readHint(err), err, "%s cannot be read: %s", path, cause(err))
	case same(info, before.info):
		return before.doc, info, nil
	}
	if err := s.checkDir(); err != nil {
		return document{}, nil, err
	}
	data, info, err := s.readPrivate(path)
	if errors.Is(err, fs.ErrNotExist) {
		return document{}, nil, nil
	}
	if err != nil {
		return document{}, nil, err
	}
	doc, err := parseDocument(data)
	switch {
	case errors.Is(err, errNewer):
		return document{}, nil, storeError(Config, "update mcpctl, or move the file away and log in again", err,
			"%s was written by a later mcpctl: %s", path, plain(err))
	case err != nil:
		return document{}, nil, storeError(Config, "log in again with mcpctl login: the file is kept aside then", err,
			"%s is damaged: %s", path, plain(err))
	}
	s.remember(name, known{info, doc})
	return doc, info, nil
}

// readPrivate reads a file that nobody else may read: what is wrong with its permissions is put right, or it is refused.
func (s *Store) readPrivate(path string) ([]byte, fs.FileInfo, error) {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		kind := "no regular file"
		if info.Mode()&fs.ModeSymlink != 0 {
			kind = "a symbolic link"
		}
		return nil, nil, storeError(Config, "move it away and log in again", nil, "%s is %s, and is not followed", path, kind)
	}
	var f *os.File
	if err == nil {
		f, err = os.Open(path)
	}
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil, err
		}
		return nil, nil, storeError(Config, s.readHint(err), err, "%s cannot be read: %s", path, cause(err))
	}
	defer func() { _ = f.Close() }()
	if info, err = f.Stat(); err != nil {
		return nil, nil, storeError(Config, "", err, "%s cannot be read: %s", path, cause(err))
	}
	if uid, other := foreign(info); other {
		return nil, nil, storeError(Config, "run mcpctl as that user, or set XDG_DATA_HOME to a directory of your own", nil,
			"%s belongs to another user (uid %d)", path, uid)
	}
	if mode := info.Mode().Perm(); tooWide(mode, 0o600) {
		if err := f.Chmod(0o600); err != nil {
			return nil, nil, storeError(Config, "chmod 600 it, or move it away and log in again", err,
				"%s can be read by others (mode %#o), and that cannot be changed: %s", path, mode, cause(err))
		}
		s.note(fmt.Sprintf("%s could be read by others (mode %#o) and is private again; if others use this machine, log out and log in", path, mode))
		if info, err = f.Stat(); err != nil {
			return nil, nil, storeError(Config, "", err, "%s cannot be read: %s", path, cause(err))
		}
	}
	data, err := io.ReadAll(io.LimitReader(f, mostFile+1))
	if err != nil {
		return nil, nil, storeError(Config, "", err, "%s cannot be read: %s", path, cause(err))
	}
	if len(data) > mostFile {
		return nil, nil, storeError(Config, "log in again with mcpctl login: the file is kept aside then", errCorrupt, "%s is damaged: it is larger than %d bytes", path, mostFile)
	}
	return data, info, nil
}

// readHint is what to do about a file or directory that cannot be read.
func (s *Store) readHint(err error) string {
	if errors.Is(err, fs.ErrPermission) {
		return "look at the owner and the permissions of " + s.o.Dir
	}
	return ""
}

// cause is the reason of a failure without the path, which the message has already.
func cause(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err.Error()
	}
	if l, ok := errors.AsType[*os.LinkError](err); ok {
		return l.Err.Error()
	}
	return err.Error()
}

// checkDir makes sure that the directory, if there is one, is the user's own and closed to others.
func (s *Store) checkDir() error {
	// A link is followed: the directory may be on another disk. What it leads to is what counts.
	info, err := os.Stat(s.o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return storeError(Config, s.readHint(err), err, "%s cannot be read: %s", s.o.Dir, cause(err))
	}
	if !info.IsDir() {
		return storeError(Config, "move it away, or set XDG_DATA_HOME to another directory", nil, "%s is no directory", s.o.Dir)
	}
	if uid, other := foreign(info); other {
		return storeError(Config, "run mcpctl as that user, or set XDG_DATA_HOME to a directory of your own", nil,
			"%s belongs to another user (uid %d)", s.o.Dir, uid)
	}
	if mode := info.Mode().Perm(); tooWide(mode, 0o700) {
		if err := os.Chmod(s.o.Dir, 0o700); err != nil {
			return storeError(Config, "chmod 700 it, or set XDG_DATA_HOME to another directory", err,
				"%s is open to others (mode %#o), and that cannot be changed: %s", s.o.Dir, mode, cause(err))
		}
	}
	return nil
}

// makeDir makes the directory, if it is not there yet.
func (s *Store) makeDir() error {
	_, err := os.Stat(s.o.Dir)
	missing := errors.Is(err, fs.ErrNotExist)
	if err = os.MkdirAll(s.o.Dir, 0o700); err == nil && missing {
		err = os.Chmod(s.o.Dir, 0o700) // whatever the umask is
	}
	if err != nil {
		return storeError(Config, "make it writable, or set XDG_DATA_HOME to another directory", err,
			"%s cannot be made: %s", s.o.Dir, cause(err))
	}
	return s.checkDir()
}

// validKind fails if MCPCTL_CREDENTIALS is no word that is known, or demands what is not there.
func (s *Store) validKind() error {
	switch {
	case s.o.Kind == StoreKeyring && s.ring == nil:
		return storeError(Config, "unset MCPCTL_CREDENTIALS, or set it to file", nil, "MCPCTL_CREDENTIALS is keyring, and there is no keyring here")
	case s.o.Kind == StoreKeyring, s.o.Kind == StoreFile, s.o.Kind == "":
		return nil
	}
	return storeError(Config, "set it to file or keyring, or unset it", nil, "MCPCTL_CREDENTIALS: %q is no store of credentials", s.o.Kind)
}

// Ready fails if a login at a server could not be kept: its file cannot be replaced, or the keyring that MCPCTL_CREDENTIALS
// demands takes nothing. What it tries leaves nothing behind but the directory. The failure is an [*Error].
func (s *Store) Ready(ctx context.Context, server string) error {
	if err := s.validKind(); err != nil || s.o.Dir == "" {
		return err
	}
	name, id := serverFile(server)
	doc, _, err := s.readFile(name)
	if err != nil && !errors.Is(err, errCorrupt) { // a damaged file is kept aside
		return err
	}
	if err := s.isFor(name, doc.Server, id); err != nil {
		return err
	}
	if err := s.makeDir(); err != nil {
		return err
	}
	f, err := os.CreateTemp(s.o.Dir, "."+name+".*.tmp")
	if err != nil {
		return storeError(Config, s.roomHint(), err, "%s cannot be written: %s", s.path(name), cause(err))
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.Write(make([]byte, tryBytes))
	if err = errors.Join(err, f.Close()); err != nil {
		return storeError(Config, s.roomHint(), err, "%s cannot be written: %s", s.path(name), cause(err))
	}
	if s.o.Kind == StoreKeyring {
		return s.tryRing(ctx, name)
	}
	return nil
}

// tryBytes is how much is written to see whether there is room: a token has a few thousand bytes at most.
const tryBytes = 8 << 10

// roomHint is what to do about a directory that cannot be written.
func (s *Store) roomHint() string { return "see that " + s.o.Dir + " can be written and has room" }

// update changes the document of a name, under its lock.
func (s *Store) update(ctx context.Context, name string, change func(*document) error) error {
	if err := s.validKind(); err != nil {
		return err
	}
	unlock, err := s.hold(ctx, name+".write")
	if err != nil && !errors.Is(err, errNoLock) {
		return err
	}
	defer unlock()

	old, err := s.read(ctx, name, true)
	switch {
	case errors.Is(err, errCorrupt):
		aside, err := s.putAside(name)
		if err != nil {
			return err
		}
		s.note(fmt.Sprintf("%s was damaged; it is kept as %s, and can be removed", s.path(name), filepath.Base(aside)))
		old = document{}
	case err != nil:
		// The secrets of what is kept cannot be had. What is to be kept now matters more.
		public, _, err := s.readFile(name)
		if err != nil {
			return err
		}
		old = document{Version: public.Version, Server: public.Server, Issuer: public.Issuer, Left: public.Left, Keyring: public.Keyring}
	}
	doc := old
	if err := change(&doc); err != nil {
		return err
	}
	doc.Version = documentVersion
	return s.write(ctx, name, old, doc)
}

// putAside renames a damaged file, and returns its new name.
func (s *Store) putAside(name string) (string, error) {
	path := s.path(name)
	aside := path + ".damaged-" + time.Now().UTC().Format("20060102T150405.000000000")
	if err := rename(path, aside); err != nil {
		return "", storeError(Config, "remove it", err, "%s is damaged, and cannot be moved away: %s", path, cause(err))
	}
	return aside, nil
}

// write keeps a document, its secrets in the keyring or in the file.
func (s *Store) write(ctx context.Context, name string, old, doc document) error {
	doc.Keyring, doc.whole = nil, true
	if s.o.Dir == "" {
		s.remember(name, known{doc: doc})
		return nil
	}
	if err := s.makeDir(); err != nil {
		return err
	}
	stored := doc
	if s.toRing(old, doc) {
		public, place, err := s.writeRing(ctx, name, old.Keyring, doc)
		switch {
		case err == nil:
			stored = public
		case s.o.Kind == StoreKeyring:
			return err
		case noKeyring(err):
			s.ringless.Store(true) // most machines without a desktop are so: there is nothing to tell
		default:
			s.ringless.Store(true)
			s.note(fmt.Sprintf("%s; credentials are kept in %s instead", err.Message, s.o.Dir))
			// What is still on its way into the keyring may arrive there.
			stored.Left = withName(stored.Left, place.ID)
		}
	}
	if old.Keyring != nil && stored.Keyring == nil {
		stored.Left = withName(stored.Left, old.Keyring.ID)
	}
	data, err := json.MarshalIndent(stored, "", "  ")
	if err != nil {
		return storeError(Config, "", err, "%s cannot be written: %s", s.path(name), plain(err))
	}
	if len(data) > mostFile {
		return storeError(Invalid, "", nil, "%s cannot be written: the credentials have more than %d bytes", s.path(name), mostFile)
	}
	info, err := s.replace(name, append(data, '\n'))
	if err != nil {
		s.forget(name)
		return storeError(Config, s.roomHint(), err, "%s cannot be written: %s", s.path(name), cause(err))
	}
	doc.Keyring, doc.Left = stored.Keyring, stored.Left
	s.remember(name, known{info, doc})
	if old.Keyring != nil && stored.Keyring != nil {
		_ = s.ring.clear(ctx, name, old.Keyring.ID, old.Keyring.Slot) // what stays is written over by the save after the next
	}
	return nil
}

func withName(names []string, name string) []string {
	if name == "" || slices.Contains(names, name) {
		return names
	}
	return append(slices.Clone(names), name)
}

// toRing reports whether the secrets of a document go into the keyring.
func (s *Store) toRing(old, doc document) bool {
	_, found := doc.split()
	secret := slices.ContainsFunc(found, func(f secrets) bool { return f != secrets{} })
	switch {
	case !secret || s.ring == nil || s.o.Kind == StoreFile:
		return false
	case s.o.Kind == StoreKeyring:
		return true
	}
	return !old.inFile() && !s.ringless.Load()
}

// remove forgets a document, and reports whether there was one.
func (s *Store) remove(ctx context.Context, name string) (bool, error) {
	if err := s.validKind(); err != nil {
		return false, err
	}
	if s.o.Dir == "" {
		s.mu.Lock()
		had := len(s.known[name].doc.Records) > 0 || s.known[name].doc.Client != nil
		s.mu.Unlock()
		s.forget(name)
		return had, nil
	}
	if _, err := os.Lstat(s.path(name)); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	unlock, err := s.hold(ctx, name+".write")
	if err != nil && !errors.Is(err, errNoLock) {
		return false, err
	}
	defer unlock()
	doc, _, err := s.readFile(name)
	if e, ok := errors.AsType[*Error](err); ok {
		if errors.Is(err, errCorrupt) || errors.Is(err, errNewer) {
			e.Hint = "to forget what it holds, remove it"
		}
		return false, e
	}
	if doc.Version == 0 {
		return false, nil
	}
	had := len(doc.Records) > 0 || doc.Client != nil
	names := doc.Left
	if doc.Keyring != nil {
		names = withName(names, doc.Keyring.ID)
	}
	var left []string
	var failed error
	for _, id := range names {
		if err := s.clearRing(ctx, name, id); err != nil {
			left, failed = append(left, id), err
		}
	}
	s.forget(name)
	if failed != nil {
		// The file is kept without what it held, so that the next attempt knows the names.
		empty := document{Version: documentVersion, Server: doc.Server, Issuer: doc.Issuer, Left: left}
		data, err := json.MarshalIndent(empty, "", "  ")
		if err == nil {
			_, err = s.replace(name, append(data, '\n'))
		}
		if err == nil {
			return had, storeError(Unreachable, "unlock the keyring, and log out again", failed,
				"nothing of it is used any more, but the keyring still has it: %s", plain(failed))
		}
	}
	if err := os.Remove(s.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return had, storeError(Config, "remove it", err, "%s cannot be removed: %s", s.path(name), cause(err))
	}
	return had, nil
}

// replace puts a file in place of the one of that name: after a crash there is the one or the other. Whoever calls it has
// the lock.
func (s *Store) replace(name string, data []byte) (info fs.FileInfo, err error) {
	s.removeLeftovers(name)
	f, err := os.CreateTemp(s.o.Dir, "."+name+".*.tmp")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	// Whatever the umask is, its owner can read it, and nobody else.
	if err := f.Chmod(0o600); err != nil && runtime.GOOS != "windows" {
		return nil, err
	}
	if err := inherit(f, s.o.Dir); err != nil {
		return nil, err
	}
	if _, err := f.Write(data); err != nil {
		return nil, err
	}
	if err := f.Sync(); err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	if err := rename(f.Name(), s.path(name)); err != nil {
		return nil, err
	}
	// A file system that cannot sync a directory is no reason to say that the file is not there.
	if d, err := os.Open(s.o.Dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
	// Where this fails, the file is read again when it is wanted.
	if info, err := os.Lstat(s.path(name)); err == nil {
		return info, nil
	}
	return nil, nil
}

// removeLeftovers removes what saves that were killed have left. Whoever has the lock knows that nobody is writing it.
func (s *Store) removeLeftovers(name string) {
	left, err := filepath.Glob(filepath.Join(escapeGlob(s.o.Dir), "."+name+".*.tmp"))
	if err != nil {
		return
	}
	for _, path := range left {
		_ = os.Remove(path)
	}
}

// escapeGlob is a directory as a pattern that means it. On Windows there is no escape, and names hold no such characters.
func escapeGlob(dir string) string {
	if runtime.GOOS == "windows" {
		return dir
	}
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(dir)
}

// rename is [os.Rename] with patience on Windows, where it fails while somebody reads the file, such as a scanner.
func rename(from, to string) error {
	const pause, attempts = 20 * time.Millisecond, 50
	err := os.Rename(from, to)
	for range attempts {
		if err == nil || runtime.GOOS != "windows" {
			break
		}
		<-time.After(pause)
		err = os.Rename(from, to)
	}
	return err
}
