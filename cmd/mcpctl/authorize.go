package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpctl/mcpctl/internal/oauth"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

// credentialsVariable says where credentials are kept: in the system's keyring, or in files.
const credentialsVariable = "MCPCTL_CREDENTIALS" //nolint:gosec // the name of a variable

// authorizers are those of this run, one for each server.
type authorizers struct {
	mu    sync.Mutex
	known map[string]*oauth.Authorizer
	store *oauth.Store
	// began is set when a person was asked to log in.
	began bool
}

// authorizer returns what gets authorization for a server, nil if the entry wants nothing of the kind: a command, auth:
// none, or a credential in its headers.
func (a *app) authorizer(server config.Server) session.Authorizer {
	if o := a.authorization(server); o != nil {
		return o
	}
	return nil
}

// unaskedAuthorizer is authorizer for questions about a server's health: nobody is asked to log in.
func (a *app) unaskedAuthorizer(server config.Server) session.Authorizer {
	if o := a.authorizationBy(server, nil); o != nil {
		return o
	}
	return nil
}

// authorization is authorizer for those who log in and out themselves. A server always has the same one. Its references are
// expanded.
func (a *app) authorization(server config.Server) *oauth.Authorizer {
	return a.authorizationBy(server, a.asks.Load())
}

// authorizationBy is authorization with a person who is asked as the flags say, or with nobody.
func (a *app) authorizationBy(server config.Server, asks *loginFlags) *oauth.Authorizer {
	if !authorizes(server) {
		return nil
	}
	w := &a.authorizers
	w.mu.Lock()
	defer w.mu.Unlock()
	key := authorizerKey(server, asks)
	if known := w.known[key]; known != nil {
		return known
	}
	logger := a.logger // in a shell each line has its own
	o := oauth.Options{
		Server: server,
		Client: func(u *url.URL) (*http.Client, error) { return a.dialer().Client(server, u) },
		Store:  a.storeLocked(),
		Secret: a.redact.Add,
		Begins: func(ctx context.Context) {
			w.begin()
			session.LoginBegins(ctx)
		},
		Tell: func(e oauth.Event) {
			logger.Info("authorization", "server", server.Name, "step", string(e.Step), "event", e.Message)
		},
		Logger: logger,
	}
	if asks != nil {
		o.Person = a.person(*asks)
	}
	if w.known == nil {
		w.known = map[string]*oauth.Authorizer{}
	}
	known := oauth.New(o)
	w.known[key] = known
	return known
}

// begin notes that a person is asked to log in.
func (w *authorizers) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.began = true
}

// anyAsked reports whether a person was asked to log in anywhere.
func (w *authorizers) anyAsked() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.began
}

// authorizes reports whether authorization is got for a server: not for a command, and not over a credential that the entry
// itself has. Other headers with a credential are sent beside a token, as gateways want.
func authorizes(server config.Server) bool {
	return server.URL != "" && server.Auth != config.AuthNone && !hasCredential(server)
}

// hasCredential reports whether the entry has a credential of its own in the header for it.
func hasCredential(server config.Server) bool {
	return slices.ContainsFunc(sortedKeys(server.Headers), func(name string) bool { return strings.EqualFold(name, "Authorization") })
}

// authorizerKey tells servers apart whose authorization is another.
func authorizerKey(server config.Server, asks *loginFlags) string {
	var o config.OAuth
	if server.OAuth != nil {
		o = *server.OAuth
	}
	return fmt.Sprintf("%q %q %q %#v %v", server.Name, server.URL, server.Auth, o, asks != nil)
}

// credentials returns where credentials are kept between runs.
func (a *app) credentials() *oauth.Store {
	a.authorizers.mu.Lock()
	defer a.authorizers.mu.Unlock()
	return a.storeLocked()
}

func (a *app) storeLocked() *oauth.Store {
	if a.authorizers.store == nil {
		word, _ := a.lookup(credentialsVariable)
		kind, err := storeKind(word)
		if err != nil {
			kind = "" // whoever contacts a server has been told
		}
		dir := config.DataDir(a.lookup)
		if dir != "" {
			dir = filepath.Join(dir, "credentials")
		}
		a.authorizers.store = oauth.OpenStore(oauth.StoreOptions{Dir: dir, Kind: kind, Keyring: a.secrets, Note: a.note})
	}
	return a.authorizers.store
}

// forgive forgets a login at a server that failed: the next challenge asks again.
func (a *app) forgive(server config.Server) {
	expanded, err := a.expand(server)
	if err != nil {
		return // whoever uses it is told
	}
	if o := a.authorization(expanded); o != nil {
		o.Forgive()
	}
}

// loginTime is what opening a server may take that is known to need a login: a person's time and the rest.
const loginTime = 315 * time.Second

// patientFor returns a server that is contacted for the first time: one that is known to need a login, and may get it here,
// has a person's time from the start.
func (a *app) patientFor(server config.Server) config.Server {
	if server.Auth != config.AuthOAuth || a.asks.Load() == nil || byItself(server) || session.LimitsFor(server).Connect.Value >= loginTime {
		return server
	}
	patient := server.Clone()
	patient.ConnectTimeout = loginTime
	patient.Set("connect_timeout", config.Source{Kind: "built-in", Detail: "for a login"})
	return patient
}

// tellLoginKept says, when an entry is not saved, that a login which came before that is kept all the same.
func (a *app) tellLoginKept(ctx context.Context, server config.Server) {
	if !a.authorizers.anyAsked() {
		return
	}
	if b := a.standing(ctx, server); b != nil && b.Kept != "" {
		a.note("the login is kept, for when it is added again; to forget it: " + line([]string{"logout", toolargs.Quote(server.URL)}))
	}
}

// loginError is the failure of a server that somebody has to log in to, and the line to type for that.
type loginError struct {
	line  string
	cause error
}

func (e *loginError) Error() string { return e.cause.Error() }
func (e *loginError) Unwrap() error { return e.cause }

// needsLogin returns err with the line to type, if what it lacks is a person who logs in.
func (a *app) needsLogin(server config.Server, err error) error {
	if e, ok := errors.AsType[*oauth.Error](err); !ok || e.Reason != oauth.NeedsLogin || !authorizes(server) {
		return err
	}
	return &loginError{line: a.serverLine("login", server), cause: err}
}
