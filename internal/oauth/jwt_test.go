package oauth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func block(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func must[T any](t *testing.T) func(v T, err error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// Each kind of key that can sign is read in each form that it is written in.
func TestKeys(t *testing.T) {
	t.Parallel()
	large := must[*rsa.PrivateKey](t)(rsa.GenerateKey(rand.Reader, 2048))
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	bytes := must[[]byte](t)
	curves := map[string]elliptic.Curve{"ES256": elliptic.P256(), "ES384": elliptic.P384(), "ES512": elliptic.P521()}
	texts := map[string]string{
		"RS256 PKCS #8": pemOf(t, large), "RS256 PKCS #1": block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(large)),
		"EdDSA PKCS #8":                 pemOf(t, ed),
		"RS256 with a certificate":      block("CERTIFICATE", []byte{1}) + pemOf(t, large),
		"RS256 with words before":       "Bag Attributes\n  friendlyName: me\n" + pemOf(t, large),
		"RS256 with Windows' line ends": strings.ReplaceAll(pemOf(t, large), "\n", "\r\n"),
	}
	for alg, curve := range curves {
		key := must[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(curve, rand.Reader))
		texts[alg+" PKCS #8"] = pemOf(t, key)
		texts[alg+" SEC 1"] = block("EC PARAMETERS", []byte{6, 0}) + block("EC PRIVATE KEY", bytes(x509.MarshalECPrivateKey(key)))
	}
	for name, text := range texts {
		key, err := parseKey(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		alg, _, _ := strings.Cut(name, " ")
		if got := algorithm(key, nil); got != alg {
			t.Errorf("%s signs with %s", name, got)
		}
		if _, err := assertion(key, alg, "a", "b", "c"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := algorithm(large, []string{"ES256", "PS384"}); got != "PS384" {
		t.Errorf("%q", got)
	}
	if got := algorithm(ed, []string{"Ed25519"}); got != "Ed25519" {
		t.Errorf("%q", got)
	}
	if got := algorithm(ed, []string{"ES256"}); got != "" {
		t.Errorf("%q", got)
	}
}

// A text that is no key to sign with is refused in words that say what it is, and that hold none of it.
func TestKeysThatDoNotSign(t *testing.T) {
	t.Parallel()
	public := func(key crypto.Signer) []byte { return must[[]byte](t)(x509.MarshalPKIXPublicKey(key.Public())) }
	p224 := must[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(elliptic.P224(), rand.Reader))
	small := "-----BEGIN RSA PRIVATE KEY-----\n" + smallRSA + "-----END RSA PRIVATE KEY-----\n"
	for text, want := range map[string]string{
		block("PUBLIC KEY", public(p256(t))):                                     "public key",
		block("RSA PUBLIC KEY", []byte("x")):                                     "public key",
		block("CERTIFICATE", []byte("x")):                                        "certificate",
		block("ENCRYPTED PRIVATE KEY", []byte("x")):                              "encrypted",
		block("OPENSSH PRIVATE KEY", []byte("x")):                                "OpenSSH",
		block("PRIVATE KEY", []byte("hunter2hunter2")):                           "damaged",
		block("PRIVATE KEY", must[[]byte](t)(x509.MarshalPKCS8PrivateKey(p224))): "P-224",
		small:                         "512 bits",
		"-----BEGIN PRIVATE KEY-----": "no key in PEM",
		"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nAAAA\n-----END RSA PRIVATE KEY-----\n": "encrypted",
	} {
		_, err := parseKey(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", strings.SplitN(text, "\n", 2)[0], err, want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter") {
			t.Errorf("the key is in %v", err)
		}
	}
}

// smallRSA is a key of 512 bits, which Go does not make any more.
const smallRSA = `MIIBOgIBAAJBAKj34GkxFhD90vcNLYLInFEX6Ppy1tPf9Cnzj4p4WGeKLs1Pt8Qu
KUpRKfFLfRYC9AIKjbJTWit+CqvjWYzvQwECAwEAAQJAIJLixBy2qpFoS4DSmoEm
o3qGy0t6z09AIJtH+5OeRV1be+N4cDYJKffGzDa88vQENZiRm0GRq6a+HPGQMd2k
TQIhAKMSvzIBnni7ot/OSie2TmJLY4SwTQAevXysE2RbFDYdAiEBCUEaRQnMnbp7
9mxDXDf6AU0cN/RPBjb9qSHDcWZHGzUCIG2Es59z8ugGrDY+pxLQnwfotadxd+Uy
v/Ow5T0q5gIJAiEAyS4RaI9YG8EWx/2w0T67ZUVAw8eOMB6BIUg0Xcu+3okCIBOs
/5OiPgoTdSy7bcF9IGpSE8ZgGKzgYQVZeN97YE00
`

// A key's file is read if it is one.
func TestKeyFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := pemOf(t, p256(t))
	file := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if got, warning, err := readKey(text); got != text || warning != "" || err != nil {
		t.Errorf("the text itself: %q, %v", warning, err)
	}
	if got, warning, err := readKey(file("mine.pem", text, 0o600)); got != text || warning != "" || err != nil {
		t.Errorf("a file: %q, %v", warning, err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "not-there.pem"): "no such file",
		dir:                                 "is a directory",
		file("huge.pem", strings.Repeat("a", mostKey+1), 0o600): "too many for a key",
		`{"kty":"EC","d":"secret"}`:                             "JSON Web Key",
		os.DevNull:                                              "no regular file",
	} {
		_, _, err := readKey(path)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), `"d"`) {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}

// What a token says of itself is read for explanations, and junk says nothing.
func TestPeek(t *testing.T) {
	t.Parallel()
	for _, junk := range []string{"", "a", "a.b.c", "..", "e30.e30.x", "eyJhbGciOiJub25lIn0.bnVsbA.", "sk-live-1234"} {
		if _, ok := peek(junk); ok {
			t.Errorf("%q is a token", junk)
		}
	}
	s, ok := peek(statement(t, p256(t), map[string]any{"iss": "i", "aud": []string{"a", "b"}, "exp": 1e9, "iat": -5}))
	if !ok || s.issuer != "i" || strings.Join(s.audience, " ") != "a b" || s.expires.Unix() != 1e9 || !s.issued.IsZero() || s.typ != "JWT" {
		t.Errorf("%+v", s)
	}
}

func FuzzKey(f *testing.F) {
	for _, seed := range []string{"", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "{", "-----BEGIN RSA PRIVATE KEY-----\n" + smallRSA + "-----END RSA PRIVATE KEY-----\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		key, err := parseKey(text)
		if err == nil {
			if algorithm(key, nil) == "" {
				t.Errorf("%q does not sign", text)
			}
			return
		}
		if _, ok := err.(*keyProblem); !ok { //nolint:errorlint // it must be one
			t.Errorf("%q: %T", text, err)
		}
	})
}

func FuzzPeek(f *testing.F) {
	for _, seed := range []string{"", "a.b.c", "eyJhbGciOiJFUzI1NiJ9.eyJhdWQiOlsxLCJhIl0sImV4cCI6MWUzMDB9.x", "a.b.c.d.e"} {
		f.Add(seed)
	}
	f.Fuzz(func(_ *testing.T, token string) { peek(token) })
}
