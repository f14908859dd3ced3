package oauth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const (
	// mostKey bounds the file of a key, in bytes: an RSA key of 16384 bits has 13 KiB, with certificates beside it some more.
	mostKey = 64 << 10
	// leastRSA is the size below which an RSA key must not sign (RFC 7518, 3.3), in bits.
	leastRSA = 2048
	// assertionLife is how long an assertion of ours is good: as long as a clock may be wrong.
	assertionLife = 5 * time.Minute
)

const (
	clientAssertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
	grantJWTBearer      = "urn:ietf:params:oauth:grant-type:jwt-bearer"
)

// keyProblem says why a text or a file is no key to sign with, and what to do. It never holds any of the text.
type keyProblem struct{ message, hint string }

func (p *keyProblem) Error() string { return p.message }

// readKey returns the PEM text of a key: the value itself, or what is in the file that it names. warning is "" or says who
// else can read the file.
func readKey(value string) (text, warning string, err error) {
	if strings.Contains(value, "-----BEGIN ") {
		return value, "", nil
	}
	if strings.HasPrefix(strings.TrimSpace(value), "{") {
		return "", "", &keyProblem{"is a JSON Web Key, and a key in PEM is needed", "convert it to PEM"}
	}
	info, err := os.Stat(value)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", "", &keyProblem{fmt.Sprintf("%s: there is no such file", value), "write the name of a PEM file; a relative one starts in the working directory"}
	case err != nil:
		return "", "", &keyProblem{fmt.Sprintf("%s: %v", value, bareFileError(err)), ""}
	case info.IsDir():
		return "", "", &keyProblem{value + ": is a directory", "write the name of the PEM file in it"}
	case !info.Mode().IsRegular():
		// A pipe is empty at the second token, and may never end.
		return "", "", &keyProblem{value + ": is no regular file", "write the key into a file, or give its text by a variable: ${VAR}"}
	case info.Size() > mostKey:
		return "", "", &keyProblem{fmt.Sprintf("%s: has %d bytes, too many for a key", value, info.Size()), "write the name of the PEM file"}
	}
	f, err := os.Open(value)
	if err != nil {
		return "", "", &keyProblem{fmt.Sprintf("%s: %v", value, bareFileError(err)), "let yourself read it"}
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, mostKey))
	if err != nil {
		return "", "", &keyProblem{fmt.Sprintf("%s: %v", value, bareFileError(err)), ""}
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o004 != 0 { // Windows says 0666 of every file
		warning = fmt.Sprintf("%s holds a private key, and everybody on this machine can read it: chmod 600 %s", value, value)
	}
	return string(data), warning, nil
}

// bareFileError drops the operation and the name of an error about a file: the message has the name.
func bareFileError(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// parseKey returns the private key in a PEM text: RSA, or ECDSA on a curve of RFC 7518, or Ed25519, as PKCS #8, PKCS #1 or
// SEC 1. Other blocks beside it, certificates and parameters, are passed over. The failure is a [keyProblem].
func parseKey(text string) (crypto.Signer, error) {
	problem := &keyProblem{"is no key in PEM, which begins with -----BEGIN PRIVATE KEY-----", "write the name of a PEM file, or its text"}
	for rest := []byte(text); ; {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		if block == nil {
			return nil, problem
		}
		switch {
		case block.Type == "ENCRYPTED PRIVATE KEY" || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED"):
			return nil, &keyProblem{"the key is encrypted, and nobody can be asked for its password", "decrypt it: openssl pkey -in KEY.pem -out PLAIN.pem"}
		case block.Type == "OPENSSH PRIVATE KEY":
			return nil, &keyProblem{"the key is in the format of OpenSSH", "convert a copy of it: ssh-keygen -p -m PKCS8 -f COPY"}
		case strings.HasSuffix(block.Type, "PUBLIC KEY"):
			problem = &keyProblem{"holds a public key, and the private one signs", "write the name of the private key's file"}
		case block.Type == "CERTIFICATE":
			problem = &keyProblem{"holds a certificate, and no key", "write the name of the private key's file"}
		case strings.HasSuffix(block.Type, "PRIVATE KEY"):
			return parseBlock(block)
		}
	}
}

func parseBlock(block *pem.Block) (crypto.Signer, error) {
	var key any
	var err error
	switch block.Type {
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	default:
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	}
	if err != nil {
		return nil, &keyProblem{"the key is damaged, or of a kind that is not known here", "use RSA, ECDSA (P-256, P-384, P-521) or Ed25519"}
	}
	switch k := key.(type) {
	case *rsa.PrivateKey:
		if k.N.BitLen() < leastRSA {
			return nil, &keyProblem{fmt.Sprintf("the RSA key has %d bits, and fewer than %d must not sign", k.N.BitLen(), leastRSA), "make a larger key, and register it"}
		}
		return k, nil
	case *ecdsa.PrivateKey:
		if len(algorithms(k)) == 0 {
			return nil, &keyProblem{fmt.Sprintf("keys on the curve %s do not sign tokens", k.Curve.Params().Name), "use P-256, P-384 or P-521"}
		}
		return k, nil
	case ed25519.PrivateKey:
		return k, nil
	}
	return nil, &keyProblem{"the key is of a kind that does not sign", "use RSA, ECDSA (P-256, P-384, P-521) or Ed25519"}
}

// algorithms returns the names of the algorithms that a key can sign with, the one to prefer first. See RFC 7518, 3.1,
// RFC 8037, 3.1, and RFC 9864, 2.2.
func algorithms(key crypto.Signer) []string {
	switch k := key.(type) {
	case *rsa.PrivateKey:
		return []string{"RS256", "PS256", "RS384", "PS384", "RS512", "PS512"}
	case *ecdsa.PrivateKey:
		switch k.Curve {
		case elliptic.P256():
			return []string{"ES256"}
		case elliptic.P384():
			return []string{"ES384"}
		case elliptic.P521():
			return []string{"ES512"}
		}
	case ed25519.PrivateKey:
		return []string{"EdDSA", "Ed25519"}
	}
	return nil
}

// algorithm returns the first algorithm of a key that the other side takes, "" if it takes none of them. If it does not
// say what it takes, the key's own is used.
func algorithm(key crypto.Signer, taken []string) string {
	own := algorithms(key)
	if len(taken) == 0 && len(own) > 0 {
		return own[0]
	}
	for _, alg := range own {
		if slices.Contains(taken, alg) {
			return alg
		}
	}
	return ""
}

// sign returns a signed JSON Web Token. header is added to what its header holds anyway.
func sign(key crypto.Signer, alg string, header, claims map[string]any) (string, error) {
	name := alg
	if name == "Ed25519" {
		name = "EdDSA" // the same signature under its newer name
	}
	method := jwt.GetSigningMethod(name)
	if method == nil {
		return "", fmt.Errorf("no algorithm %s", alg)
	}
	t := jwt.NewWithClaims(method, jwt.MapClaims(claims))
	t.Header["alg"] = alg
	maps.Copy(t.Header, header)
	return t.SignedString(key)
}

// assertion returns a statement about a subject, signed with a key of ours, for one audience. See RFC 7523, 3.
func assertion(key crypto.Signer, alg, issuer, subject, audience string) (string, error) {
	now := time.Now()
	return sign(key, alg, nil, map[string]any{
		"iss": issuer, "sub": subject, "aud": audience, "jti": rand.Text(),
		"iat": now.Unix(), "exp": now.Add(assertionLife).Unix(),
	})
}

// seen is what a JSON Web Token says of itself. It is read to explain a refusal; the signature is not looked at.
type seen struct {
	typ      string
	issuer   string
	audience []string
	expires  time.Time
	issued   time.Time
}

// peek reads what a JSON Web Token says of itself, and reports whether it is one. Of an encrypted one it is known only that
// it is (RFC 7516, 3.1).
func peek(token string) (s seen, ok bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 && len(parts) != 5 {
		return s, false
	}
	var header struct {
		Alg string `json:"alg"`
		Typ any    `json:"typ"`
	}
	if data, err := base64.RawURLEncoding.DecodeString(parts[0]); err != nil || json.Unmarshal(data, &header) != nil || header.Alg == "" {
		return s, false
	}
	s.typ, _ = header.Typ.(string)
	if len(parts) == 5 {
		return s, true
	}
	data, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims map[string]any
	if err != nil || json.Unmarshal(data, &claims) != nil || claims == nil {
		return s, false
	}
	s.issuer, _ = claims["iss"].(string)
	switch aud := claims["aud"].(type) {
	case string:
		s.audience = []string{aud}
	case []any:
		for _, one := range aud {
			if text, ok := one.(string); ok {
				s.audience = append(s.audience, text)
			}
		}
	}
	s.expires, s.issued = numericDate(claims["exp"]), numericDate(claims["iat"])
	return s, true
}

// numericDate reads a time of a token (RFC 7519, 2), zero if it is none.
func numericDate(v any) time.Time {
	n, ok := v.(float64)
	if !ok || n <= 0 || n > 1e11 { // the year 5138: beyond it is no time in seconds
		return time.Time{}
	}
	return time.Unix(int64(n), 0)
}
