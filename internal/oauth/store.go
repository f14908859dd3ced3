package oauth

import (
	"context"
	"time"
)

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
	// Saved is when it was written.
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
}

// StoreOptions say where credentials are kept.
type StoreOptions struct {
	// Dir is the directory of the files: credentials, if there is no keyring, and locks. It need not exist.
	Dir string
	// Kind is "keyring", "file", or "" for the keyring where there is one, and files else.
	Kind string
	// Keyring is the system's. If nil, there is none.
	Keyring Keyring
}

// Keyring is a system's store of secrets.
type Keyring interface {
	Get(service, user string) (string, error)
	Set(service, user, secret string) error
	Delete(service, user string) error
}

// Store keeps credentials between runs. It may be used by several goroutines and processes at once.
type Store struct{ o StoreOptions }

// OpenStore returns a store. Nothing is read or written yet.
func OpenStore(o StoreOptions) *Store { return &Store{o: o} }

// Load returns the record of a server that was saved last, ok false if there is none.
func (s *Store) Load(ctx context.Context, server string) (r Record, ok bool, err error) {
	return Record{}, false, nil
}

// Save keeps a record in place of the one with its key, and makes it the server's current one.
func (s *Store) Save(ctx context.Context, r Record) error { return nil }

// Delete forgets all records of a server, and reports whether there was one. Clients that were registered are kept.
func (s *Store) Delete(ctx context.Context, server string) (bool, error) { return false, nil }

// Lock holds off all others, in this process and others, that lock the same server, until unlock is called. It waits as
// long as ctx lasts.
func (s *Store) Lock(ctx context.Context, server string) (unlock func(), err error) {
	return func() {}, nil
}

// LoadClient returns the client that was registered at an authorization server, ok false if none was; SaveClient keeps one,
// and DeleteClient forgets it.
func (s *Store) LoadClient(ctx context.Context, issuer string) (c Client, ok bool, err error) {
	return Client{}, false, nil
}

// SaveClient keeps the client that was registered at an authorization server.
func (s *Store) SaveClient(ctx context.Context, issuer string, c Client) error { return nil }

// DeleteClient forgets the client that was registered at an authorization server.
func (s *Store) DeleteClient(ctx context.Context, issuer string) error { return nil }

// Where returns where credentials are kept, for people: "keyring", or the path of the directory.
func (s *Store) Where() string { return "" }
