package oauth

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/zalando/go-keyring"
)

const (
	// ringService is the name under which a keyring shows what is ours.
	ringService = "mcpctl"
	// ringTime bounds a question to the keyring. A locked one asks for a password, which a person finds and types within
	// half a minute; one that nobody answers must not hold up a run for ever.
	ringTime = 30 * time.Second
	// ringPart is how many bytes go into one entry: Windows takes 2560, and macOS some 3000 in all.
	ringPart = 2000
	// mostParts bounds the entries for one file: 64 KiB of secrets are no secrets.
	mostParts = 32
)

// SystemKeyring is the keyring of the system: the Keychain, the Credential Manager, the Secret Service.
func SystemKeyring() Keyring { return systemKeyring{} }

type systemKeyring struct{}

func (systemKeyring) Get(service, user string) (string, error) { return keyring.Get(service, user) }
func (systemKeyring) Set(service, user, secret string) error {
	return keyring.Set(service, user, secret)
}

func (systemKeyring) Delete(service, user string) error { return keyring.Delete(service, user) }

// ringPlace says where in the keyring the secrets of a file are.
type ringPlace struct {
	// ID is part of all names of this file, Slot which of its two sets is in use, Parts how many entries it has.
	ID    string `json:"id"`
	Slot  string `json:"slot"`
	Parts int    `json:"parts"`
	// Stamp is also in the keyring: what is found there is what was written with this file.
	Stamp string `json:"stamp"`
}

// valid reports whether it names entries.
func (p ringPlace) valid() bool {
	return validID(p.ID) && (p.Slot == "a" || p.Slot == "b") && p.Parts > 0 && p.Parts <= mostParts
}

func validID(id string) bool {
	const longest = 32
	return id != "" && len(id) <= longest && strings.Trim(id, "0123456789abcdef") == ""
}

// other is the slot that is not in use.
func (p ringPlace) other() string {
	if p.Slot == "a" {
		return "b"
	}
	return "a"
}

// stamped is what the keyring holds.
type stamped struct {
	Stamp   string    `json:"stamp"`
	Secrets []secrets `json:"secrets"`
}

// ring asks a keyring, within a bound. After one question that was not answered no other is asked.
type ring struct {
	keyring Keyring
	// time bounds one operation.
	time time.Duration

	mu      sync.Mutex
	silent  error
	reading map[string]*ringAnswer
}

type ringAnswer struct {
	done   chan struct{}
	secret string
	err    error
}

func newRing(k Keyring) *ring {
	return &ring{keyring: k, time: ringTime, reading: map[string]*ringAnswer{}}
}

// errSilent is a keyring that did not answer.
var errSilent = errors.New("the keyring did not answer")

// bounded is the context of one operation.
func (r *ring) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, r.time, fmt.Errorf("%w within %s", errSilent, r.time))
}

// await asks and waits. The question itself cannot be taken back: it goes on until it is answered or the run ends.
func (r *ring) await(ctx context.Context, ask func() (string, error)) (string, error) {
	a := &ringAnswer{done: make(chan struct{})}
	go func() {
		defer close(a.done)
		a.secret, a.err = ask()
	}()
	return r.answer(ctx, a)
}

func (r *ring) answer(ctx context.Context, a *ringAnswer) (string, error) {
	select {
	case <-a.done:
		return a.secret, a.err
	case <-ctx.Done():
		err := context.Cause(ctx)
		if errors.Is(err, errSilent) {
			r.mu.Lock()
			r.silent = err
			r.mu.Unlock()
		}
		return "", err
	}
}

// gone is why nothing is asked any more, nil if it can be.
func (r *ring) gone() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.silent
}

// get reads an entry. A question that somebody waits for already is not put again: it may be on the screen.
func (r *ring) get(ctx context.Context, user string) (string, error) {
	if err := r.gone(); err != nil {
		return "", err
	}
	r.mu.Lock()
	a := r.reading[user]
	if a == nil {
		a = &ringAnswer{done: make(chan struct{})}
		r.reading[user] = a
		go func() {
			a.secret, a.err = r.keyring.Get(ringService, user)
			r.mu.Lock()
			delete(r.reading, user)
			r.mu.Unlock()
			close(a.done)
		}()
	}
	r.mu.Unlock()
	return r.answer(ctx, a)
}

func (r *ring) set(ctx context.Context, user, secret string) error {
	if err := r.gone(); err != nil {
		return err
	}
	_, err := r.await(ctx, func() (string, error) { return "", r.keyring.Set(ringService, user, secret) })
	return err
}

func (r *ring) delete(ctx context.Context, user string) error {
	if err := r.gone(); err != nil {
		return err
	}
	_, err := r.await(ctx, func() (string, error) { return "", r.keyring.Delete(ringService, user) })
	return err
}

// user is the name of an entry. It begins with what people can read.
func (p ringPlace) user(name string, part int) string {
	return strings.Join([]string{name, p.ID, p.Slot, strconv.Itoa(part)}, "/")
}

// clear removes the entries of a slot.
func (r *ring) clear(ctx context.Context, name, id, slot string) error {
	ctx, cancel := r.bounded(ctx)
	defer cancel()
	for part := range mostParts {
		err := r.delete(ctx, ringPlace{ID: id, Slot: slot}.user(name, part))
		if errors.Is(err, keyring.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// clearRing removes all entries of a file.
func (s *Store) clearRing(ctx context.Context, name, id string) error {
	switch {
	case !validID(id):
		return nil
	case s.o.Kind == StoreFile:
		return errors.New("MCPCTL_CREDENTIALS is file, so it is not asked")
	case s.ring == nil:
		return errors.New("there is no keyring here")
	}
	for _, slot := range []string{"a", "b"} {
		if err := s.ring.clear(ctx, name, id, slot); err != nil {
			return err
		}
	}
	return nil
}

// fill gets the secrets of a document from the keyring.
func (s *Store) fill(ctx context.Context, name string, doc document) (document, error) {
	switch {
	case s.o.Kind == StoreFile:
		return document{}, errElsewhere
	case s.ring == nil:
		return document{}, ringError(errors.New("there is no keyring here"), "read")
	}
	ctx, cancel := s.ring.bounded(ctx)
	defer cancel()
	var text strings.Builder
	for part := range doc.Keyring.Parts {
		one, err := s.ring.get(ctx, doc.Keyring.user(name, part))
		if errors.Is(err, keyring.ErrNotFound) {
			return document{}, errLost
		}
		if err != nil {
			return document{}, ringError(err, "read")
		}
		text.WriteString(one)
	}
	var found stamped
	data, err := base64.StdEncoding.DecodeString(text.String())
	if err != nil || json.Unmarshal(data, &found) != nil || found.Stamp != doc.Keyring.Stamp {
		return document{}, errLost
	}
	full, ok := doc.join(found.Secrets)
	if !ok {
		return document{}, errLost
	}
	return full, nil
}

// writeRing writes the secrets of a document into the slot that is not in use, and returns the document without them, and
// the place also if that failed.
func (s *Store) writeRing(ctx context.Context, name string, old *ringPlace, doc document) (document, ringPlace, *Error) {
	place := ringPlace{ID: randomID(), Slot: "a", Stamp: randomID()}
	if old != nil {
		place.ID, place.Slot = old.ID, old.other()
	}
	public, found := doc.split()
	data, err := json.Marshal(stamped{place.Stamp, found})
	if err != nil {
		return document{}, place, ringError(err, "written")
	}
	text := base64.StdEncoding.EncodeToString(data)
	if len(text) > ringPart*mostParts {
		return document{}, place, ringError(fmt.Errorf("the credentials have %d bytes, which is more than it takes", len(text)), "written")
	}
	ctx, cancel := s.ring.bounded(ctx)
	defer cancel()
	for ; text != ""; place.Parts++ {
		n := min(len(text), ringPart)
		if err := s.ring.set(ctx, place.user(name, place.Parts), text[:n]); err != nil {
			return document{}, place, ringError(err, "written")
		}
		text = text[n:]
	}
	public.Keyring = &place
	return public, place, nil
}

// tryRing fails if the keyring takes nothing, by an entry that is removed again.
func (s *Store) tryRing(ctx context.Context, name string) error {
	ctx, cancel := s.ring.bounded(ctx)
	defer cancel()
	user := ringPlace{ID: "try", Slot: randomID()}.user(name, 0) // which is no name of a secret
	if err := s.ring.set(ctx, user, "nothing"); err != nil {
		return ringError(err, "written")
	}
	if err := s.ring.delete(ctx, user); err != nil && !errors.Is(err, keyring.ErrNotFound) {
		return ringError(err, "written")
	}
	return nil
}

// randomID is a name that nobody else has.
func randomID() string {
	id := make([]byte, 8)
	_, _ = rand.Read(id) // it never fails
	return hex.EncodeToString(id)
}

// noKeyring reports whether a failure says that there is no keyring at all, and so nothing in it: a system without one, or a
// session without the bus or the service that it would be asked by.
func noKeyring(err error) bool {
	var e dbus.Error
	if bus, ok := errors.AsType[*net.OpError](err); ok && bus.Op == "dial" {
		return true
	}
	return errors.Is(err, keyring.ErrUnsupportedPlatform) || errors.Is(err, exec.ErrNotFound) ||
		errors.As(err, &e) && e.Name == "org.freedesktop.DBus.Error.ServiceUnknown"
}

// ringError says what is wrong with the keyring, and what to do.
func ringError(err error, done string) *Error {
	const hint = "unlock the keyring, or look for its question on the screen; or log in again with MCPCTL_CREDENTIALS=file"
	switch {
	case errors.Is(err, errSilent):
		return storeError(Unreachable, hint, err, "%s", err.Error())
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return storeError(Cancelled, "", err, "the keyring was asked, and had not answered yet")
	case noKeyring(err):
		return storeError(Config, "set MCPCTL_CREDENTIALS=file", err, "there is no keyring here: %s", plain(err))
	}
	return storeError(Unreachable, hint, err, "the keyring cannot be %s: %s", done, plain(err))
}
