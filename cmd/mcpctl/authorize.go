package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"

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
	if o := a.authorizationBy(server, false); o != nil {
		return o
	}
	return nil
}

// authorization is authorizer for those who log in and out themselves. A server always has the same one, also over the lines
// of a shell; whether a person may be asked is another question for each line. The references of the server are expanded.
func (a *app) authorization(server config.Server) *oauth.Authorizer {
	return a.authorizationBy(server, true)
}

// authorizationBy is authorization with a person who is asked if the command line allows it, or with nobody.
func (a *app) authorizationBy(server config.Server, asks bool) *oauth.Authorizer {
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
			if e.Lost {
				a.note(oneLine(server.Name) + ": " + oneLine(e.Message))
				return
			}
			logger.Info("authorization", "server", server.Name, "step", string(e.Step), "event", e.Message)
		},
		Logger: logger,
	}
	if asks {
		o.Ask = a.askedPerson
	}
	connect := session.LimitsFor(server).Connect
	o.Connect = oauth.Limit{Name: connect.Name, Value: connect.Value, Source: connect.Source}
	if w.known == nil {
		w.known = map[string]*oauth.Authorizer{}
	}
	known := oauth.New(o)
	w.known[key] = known
	return known
}

// forgetUnasked lets go of what asks nobody for the authorization of a server, once it is known how that is: it takes kilobytes.
// In a shell it stays.
func (a *app) forgetUnasked(server config.Server) {
	if a.shell != nil {
		return
	}
	a.authorizers.mu.Lock()
	defer a.authorizers.mu.Unlock()
	maps.DeleteFunc(a.authorizers.known, func(key string, _ *oauth.Authorizer) bool {
		return strings.HasPrefix(key, fmt.Sprintf("%q ", server.Name)) && strings.HasSuffix(key, " false")
	})
}

// askedPerson returns how the person is asked to log in, nil if nobody may be while this command line is carried out.
func (a *app) askedPerson() *oauth.Person {
	asks := a.asks.Load()
	if asks == nil {
		return nil
	}
	return a.person(*asks)
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
func authorizerKey(server config.Server, asks bool) string {
	var o config.OAuth
	if server.OAuth != nil {
		o = *server.OAuth
	}
	return fmt.Sprintf("%q %q %q %#v %v", server.Name, server.URL, server.Auth, o, asks)
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

// beginsWithLogin reports whether a server that is contacted for the first time is known to need a login, and may get it
// here.
func (a *app) beginsWithLogin(server config.Server) bool {
	return server.URL != "" && server.Auth == config.AuthOAuth && a.asks.Load() != nil && !byItself(server)
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
	if e, ok := errors.AsType[*session.Error](err); !ok || !e.NeedsLogin || !authorizes(server) {
		return err
	}
	return &loginError{line: a.serverLine("login", server) + session.ScopeWords(err), cause: err}
}
