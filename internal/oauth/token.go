package oauth

import (
	"context"
	"net/http"
	"net/url"
)

// endpoint is a token endpoint, and the client that asks there.
type endpoint struct {
	url    string
	client Client
	// methods are the ways to authenticate that the server supports, nil if it does not say.
	methods []string
	// audience is what assertions of the client are for: the issuer.
	audience string
	// key signs the client's assertions (private_key_jwt), a PEM text or the name of a file, "" for none.
	key string
	// proof is the key of DPoP proofs, nil for a bearer token.
	proof *proofKey
	http  *http.Client
	// secret is told of each secret value at the moment it is known, step is whose failure it is.
	secret func(...string)
	step   Step
}

// ask asks for a token. It authenticates the client, proves possession of the key, and repeats the request once with the
// nonce that the server wants (RFC 9449, 8). The failure is an [*Error].
func (e *endpoint) ask(ctx context.Context, form url.Values) (Token, error) { return Token{}, nil }

// proofKey is the key that tokens are bound to (DPoP, RFC 9449).
type proofKey struct{}

// newProofKey makes a key; parseProofKey reads the one that a record keeps.
func newProofKey() (*proofKey, error) { return nil, nil }

func parseProofKey(pem string) (*proofKey, error) { return nil, nil }

// text returns the key as a record keeps it.
func (k *proofKey) text() (string, error) { return "", nil }

// proof returns a proof for one request. The access token is "" at the token endpoint, nonce "" if none was given.
func (k *proofKey) proof(method string, u *url.URL, nonce, accessToken string) (string, error) {
	return "", nil
}
