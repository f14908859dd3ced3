package oauth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpctl/mcpctl/internal/transport"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// Tokens that are bound to a key (RFC 9449): each request carries a proof that the sender holds the key, so that a token
// alone is worth nothing to a thief. A proof is good for one method and URL; a server may want a nonce of its own in it, and
// says so by refusing, with the nonce in a header. The nonce changes whenever the server likes; the newest counts.

const (
	// typeBearer and typeDPoP are the types of tokens, as they are kept: the scheme of Authorization.
	typeBearer = "Bearer"
	typeDPoP   = "DPoP"

	nonceHeader = "DPoP-Nonce"
	useNonce    = "use_dpop_nonce"
	// mostNonce bounds a nonce, in bytes: it is sent with every request.
	mostNonce = 4 << 10
	// keyAlgorithm is the header of the PEM text in which an RSA key's algorithm is kept.
	keyAlgorithm = "Algorithm"
)

// proofKey is the key that tokens are bound to, and the nonces that servers gave for its proofs. It may be used by several
// goroutines at once.
type proofKey struct {
	key crypto.Signer
	alg string
	jwk map[string]any

	mu sync.Mutex
	// nonces are the newest by the origin that gave them (RFC 9449, 8.2 and 9).
	nonces map[string]string
}

// newProofKey makes a key. algs are the algorithms that the other side takes (dpop_signing_alg_values_supported), none if
// it does not say.
func newProofKey(algs ...string) (*proofKey, error) {
	p256 := func() (crypto.Signer, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }
	if len(algs) == 0 {
		key, err := p256()
		if err != nil {
			return nil, err
		}
		return keyOf(key, "ES256")
	}
	ed := func() (crypto.Signer, error) {
		_, key, err := ed25519.GenerateKey(rand.Reader)
		return key, err
	}
	large := func() (crypto.Signer, error) { return rsa.GenerateKey(rand.Reader, leastRSA) }
	for _, way := range []struct {
		alg  string
		make func() (crypto.Signer, error)
	}{
		{"ES256", p256},
		{"EdDSA", ed},
		{"Ed25519", ed},
		{"ES384", func() (crypto.Signer, error) { return ecdsa.GenerateKey(elliptic.P384(), rand.Reader) }},
		{"ES512", func() (crypto.Signer, error) { return ecdsa.GenerateKey(elliptic.P521(), rand.Reader) }},
		{"PS256", large},
		{"RS256", large},
	} {
		if slices.Contains(algs, way.alg) {
			key, err := way.make()
			if err != nil {
				return nil, err
			}
			return keyOf(key, way.alg)
		}
	}
	return nil, fmt.Errorf("no algorithm of %s can be used for proofs", transport.Snippet([]byte(strings.Join(algs, ", "))))
}

// parseProofKey reads the key that a record keeps.
func parseProofKey(text string) (*proofKey, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("the key that is kept is no PEM")
	}
	key, err := parseBlock(block)
	if err != nil {
		return nil, err
	}
	alg := block.Headers[keyAlgorithm]
	if !slices.Contains(algorithms(key), alg) {
		alg = algorithm(key, nil)
	}
	return keyOf(key, alg)
}

func keyOf(key crypto.Signer, alg string) (*proofKey, error) {
	jwk, err := publicJWK(key)
	if err != nil {
		return nil, err
	}
	return &proofKey{key: key, alg: alg, jwk: jwk, nonces: map[string]string{}}, nil
}

// publicJWK returns the public half of a key, with the members that its thumbprint is made of (RFC 7638, 3.2).
func publicJWK(key crypto.Signer) (map[string]any, error) {
	b64 := base64.RawURLEncoding.EncodeToString
	switch k := key.Public().(type) {
	case *ecdsa.PublicKey:
		point, err := k.Bytes()
		if err != nil {
			return nil, err
		}
		half := (len(point) - 1) / 2 // after the byte that says that it is not compressed (SEC 1, 2.3.3)
		return map[string]any{"kty": "EC", "crv": k.Curve.Params().Name, "x": b64(point[1 : 1+half]), "y": b64(point[1+half:])}, nil
	case ed25519.PublicKey:
		return map[string]any{"kty": "OKP", "crv": "Ed25519", "x": b64(k)}, nil
	case *rsa.PublicKey:
		return map[string]any{"kty": "RSA", "n": b64(k.N.Bytes()), "e": b64(big.NewInt(int64(k.E)).Bytes())}, nil
	}
	return nil, errors.New("the key is of a kind that does not sign")
}

// text returns the key as a record keeps it. It is secret.
func (k *proofKey) text() (string, error) {
	der, err := x509.MarshalPKCS8PrivateKey(k.key)
	if err != nil {
		return "", err
	}
	block := &pem.Block{Type: "PRIVATE KEY", Bytes: der}
	if k.alg != algorithm(k.key, nil) {
		block.Headers = map[string]string{keyAlgorithm: k.alg}
	}
	return string(pem.EncodeToMemory(block)), nil
}

// proof returns a proof for one request. The access token is "" at the token endpoint, nonce "" if none was given. See RFC
// 9449, 4.2.
func (k *proofKey) proof(method string, u *url.URL, nonce, accessToken string) (string, error) {
	claims := map[string]any{"jti": rand.Text(), "htm": method, "htu": proofURL(u), "iat": time.Now().Unix()}
	if accessToken != "" {
		sum := sha256.Sum256([]byte(accessToken))
		claims["ath"] = base64.RawURLEncoding.EncodeToString(sum[:])
	}
	if nonce != "" {
		claims["nonce"] = nonce
	}
	return sign(k.key, k.alg, map[string]any{"typ": "dpop+jwt", "jwk": k.jwk}, claims)
}

// proofURL is a URL as a proof names it: without query and fragment, and in the form in which servers compare it (RFC 9449,
// 4.2 and 4.3, 9).
func proofURL(u *url.URL) string {
	path := u.EscapedPath()
	if path == "" {
		path = "/"
	}
	return proofOrigin(u) + path
}

// proofOrigin is the origin of a URL, which gives nonces. The port is left out where it is the scheme's own.
func proofOrigin(u *url.URL) string {
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	if port := u.Port(); scheme == "https" && port == "443" || scheme == "http" && port == "80" {
		host = strings.TrimSuffix(host, ":"+port)
	}
	return scheme + "://" + strings.TrimSuffix(host, ":")
}

// authorize puts an access token and a proof for this request into it (RFC 9449, 7.1), with the newest nonce of its server.
func (k *proofKey) authorize(req *http.Request, accessToken string) error {
	proof, err := k.proof(req.Method, req.URL, k.nonce(req.URL), accessToken)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", typeDPoP+" "+accessToken)
	req.Header.Set("DPoP", proof)
	return nil
}

// nonce returns the newest nonce of a server, "" for none.
func (k *proofKey) nonce(u *url.URL) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.nonces[proofOrigin(u)]
}

// learn remembers the nonce in an answer's header, whatever its status, and reports whether it is another than that of the
// proof that was sent. u is what was asked.
func (k *proofKey) learn(u *url.URL, proof string, header http.Header) bool {
	nonce := header.Get(nonceHeader)
	if !nonceText(nonce) {
		return false
	}
	k.mu.Lock()
	k.nonces[proofOrigin(u)] = nonce
	k.mu.Unlock()
	// Not by what was remembered: another request may have learnt the same a moment ago.
	var claims struct {
		Nonce string `json:"nonce"`
	}
	if parts := strings.Split(proof, "."); len(parts) == 3 {
		if data, err := base64.RawURLEncoding.DecodeString(parts[1]); err == nil {
			_ = json.Unmarshal(data, &claims) // it is ours
		}
	}
	return claims.Nonce != nonce
}

// nonceText reports whether a text can be a nonce (RFC 9449, 8.1: NQCHAR, one or more).
func nonceText(nonce string) bool {
	return nonce != "" && len(nonce) <= mostNonce && !strings.ContainsFunc(nonce, func(r rune) bool {
		return r < 0x21 || r > 0x7e || r == '"' || r == '\\'
	})
}

// wantsNonce reports whether a request was refused only because its proof lacks the server's nonce: with the one in the
// header it may be sent again (RFC 9449, 9).
func wantsNonce(r transport.Refusal) bool {
	return r.Status == http.StatusUnauthorized && nonceText(r.Header.Get(nonceHeader)) &&
		slices.ContainsFunc(r.Challenges, func(c transport.Challenge) bool {
			return strings.EqualFold(c.Scheme, typeDPoP) && c.Params["error"] == useNonce
		})
}

// refusesProof reports whether a request was refused for its proof, and not for its token: another token would be refused
// alike (RFC 9449, 7.1).
func refusesProof(req *http.Request, r transport.Refusal) bool {
	return req.Header.Get("DPoP") != "" && slices.ContainsFunc(r.Challenges, func(c transport.Challenge) bool {
		return strings.EqualFold(c.Scheme, typeDPoP) && c.Params["error"] == "invalid_dpop_proof"
	})
}

// proofFailure is the failure of such a request. Mostly it is a clock that is wrong.
func proofFailure(r transport.Refusal) *Error {
	c, _ := bearer(r.Challenges)
	e := failure(StepServerAgain, Refused, nil, "the server refuses the proof that goes with the token%s", described(c))
	e.Code, e.Hint = "invalid_dpop_proof", clockHint(r.Header)
	return e
}

// proofWanted says whether tokens are to be bound to a key.
type proofWanted int

const (
	// proofNone is a server that says nothing of it.
	proofNone proofWanted = iota
	// proofOffered is a server that takes bound tokens and others; both are asked for, and what comes is used.
	proofOffered
	// proofDemanded is a server, or a user, who takes no others.
	proofDemanded
)

// wantsProof says whether tokens for a server are to be bound to a key: the user wants it, or the server, by its metadata
// (RFC 9728, 2) or by challenges for DPoP (RFC 9449, 7.1), of which those for bearer tokens as well are an offer only.
func wantsProof(o *config.OAuth, chain Chain) proofWanted {
	challenged := func(scheme string) bool {
		return slices.ContainsFunc(chain.Challenges, func(c transport.Challenge) bool { return strings.EqualFold(c.Scheme, scheme) })
	}
	switch {
	case o != nil && o.DPoP, chain.Resource != nil && chain.Resource.DPoPRequired, challenged(typeDPoP) && !challenged(typeBearer):
		return proofDemanded
	case challenged(typeDPoP) && chain.Server != nil && len(chain.Server.DPoPAlgorithms) > 0:
		return proofOffered
	}
	return proofNone
}

// proofKeyFor makes the key that a token for a server is to be bound to, nil if none is wanted. must is set where a bearer
// token will not do. The failure is an [*Error].
func (a *Authorizer) proofKeyFor(chain Chain) (k *proofKey, must bool, err error) {
	wanted := wantsProof(a.o.Server.OAuth, chain)
	if wanted == proofNone {
		return nil, false, nil
	}
	k, err = newProofKey(proofAlgorithms(chain)...)
	if err != nil {
		if wanted == proofOffered {
			return nil, false, nil
		}
		return nil, false, &Error{
			Step: StepToken, Reason: Invalid, Err: err,
			Message: "tokens are to be bound to a key (DPoP): " + err.Error(),
		}
	}
	text, err := k.text()
	if err != nil {
		return nil, false, &Error{Step: StepToken, Reason: Invalid, Message: "the new key for DPoP: " + err.Error(), Err: err}
	}
	a.secret(text)
	return k, wanted == proofDemanded, nil
}

// proofAlgorithms are those that proofs may be signed with: what both the authorization server and the MCP server take, as
// far as they say so.
func proofAlgorithms(chain Chain) []string {
	var given, taken []string
	if chain.Server != nil {
		given = chain.Server.DPoPAlgorithms
	}
	if chain.Resource != nil {
		taken = chain.Resource.DPoPAlgorithms
	}
	common := slices.DeleteFunc(slices.Clone(given), func(alg string) bool { return !slices.Contains(taken, alg) })
	switch {
	case len(given) == 0:
		return taken
	case len(common) == 0:
		return given
	}
	return common
}
