package config

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// masked takes the place of a literal secret in what is shown.
const masked = "***"

// LiteralSecret is a place in an entry where a value that looks like a secret is written out, in the place of a
// reference to a variable. It does not hold the value.
type LiteralSecret struct {
	// Place is "headers.Authorization", "env.API_KEY", "args[2]", "url?api_key", "oauth.client_secret" or "proxy".
	Place string
	// Name is the header, variable, flag or query parameter, or "proxy_password".
	Name string
}

// LiteralSecrets returns the places in args, headers, env, oauth, the URL's query and the proxy where a secret seems to be written out.
func (s Server) LiteralSecrets() []LiteralSecret {
	var found []LiteralSecret
	for _, a := range literalArgs(s.Args) {
		found = append(found, LiteralSecret{Place: fmt.Sprintf("args[%d]", a.index), Name: a.name})
	}
	for _, t := range s.texts() {
		key, name, _ := strings.Cut(t.place(), ".")
		if (key == "headers" || key == "env") && literalSecret(name, t.value) {
			found = append(found, LiteralSecret{Place: t.place(), Name: name})
		}
	}
	for _, t := range s.OAuth.texts() {
		if t.literalSecret() {
			found = append(found, LiteralSecret{Place: t.place, Name: t.place[strings.LastIndex(t.place, ".")+1:]})
		}
	}
	for _, q := range queryParams(s.URL) {
		if literalSecret(q.name, q.decoded()) {
			found = append(found, LiteralSecret{Place: "url?" + q.name, Name: q.name})
		}
	}
	if literalProxyPassword(s.Proxy) {
		found = append(found, LiteralSecret{Place: "proxy", Name: "proxy_password"})
	}
	return found
}

// Redacted returns a copy of the server that can be shown: literal values in args, headers, env, oauth, the URL's query and the
// arguments of the health and smoke calls that look like secrets are "***", as are user info in the URL and the password
// in the proxy's. References such as ${TOKEN} stay.
func (s Server) Redacted() Server {
	out := s.Clone()
	for _, a := range literalArgs(s.Args) {
		out.Args[a.index] = a.shown
	}
	for name, value := range s.Env {
		if literalSecret(name, value) {
			out.Env[name] = masked
		}
	}
	for name, value := range s.Headers {
		if literalSecret(name, value) {
			out.Headers[name] = masked
		}
	}
	out.URL = redactURL(s.URL)
	out.OAuth.redact()
	out.Proxy = redactProxy(s.Proxy)
	out.Health = s.Health.redacted()
	for i := range out.Smoke {
		out.Smoke[i].Health = *out.Smoke[i].redacted()
	}
	return out
}

// RedactedTarget returns what [Server.Target] says of [Server.Redacted], without the rest of that: lists are of thousands.
func (s Server) RedactedTarget() string {
	shown := Server{URL: redactURL(s.URL), Command: s.Command, Args: s.Args}
	if literal := literalArgs(s.Args); len(literal) > 0 {
		shown.Args = slices.Clone(s.Args)
		for _, a := range literal {
			shown.Args[a.index] = a.shown
		}
	}
	return shown.Target()
}

// literalSecret reports whether a value, as it is written, is a secret by its name or by its looks.
func literalSecret(name, value string) bool {
	if LooksSecretValue(value) {
		return true
	}
	if !LooksSecretName(name) {
		return false
	}
	parts, err := parseTemplate(value)
	if err != nil {
		return true
	}
	// Text beside a reference says how the secret is sent ("Bearer ${TOKEN}", "token=${TOKEN}"); a default is one.
	var literal, defaults string
	references := false
	for _, p := range parts {
		literal += p.text
		defaults += p.fallback
		references = references || p.name != ""
	}
	if references {
		literal = defaults
	}
	literal = strings.TrimSpace(credential(literal))
	switch strings.ToLower(literal) {
	case "bearer", "basic", "token", "true", "false", "none", "null", "auto", "enabled", "disabled":
		// A scheme, or a switch such as AUTH=none.
		return false
	}
	return len(literal) >= shortestSecret
}

// LooksSecretName reports whether the name of a header, variable or query parameter says that its value is a secret:
// Authorization, X-Api-Key, GITHUB_TOKEN, dbPassword. TOKEN_FILE, PUBLIC_KEY, AUTHOR and MAX_TOKENS do not.
func LooksSecretName(name string) bool {
	words := nameWords(name)
	if len(words) == 0 {
		return false
	}
	last := words[len(words)-1]
	switch last {
	case "file", "path", "dir", "url", "uri", "endpoint", "host", "port", "name", "user", "username", "type", "mode",
		"method", "scheme", "sock", "socket", "ttl", "expiry", "expires", "timeout", "length", "size", "limit", "count", "enabled":
		// Where a secret is, or how it is used.
		return false
	case "key":
		return len(words) == 1 || !slices.Contains([]string{"public", "primary", "foreign", "sort", "partition", "cache", "idempotency"}, words[len(words)-2])
	}
	for _, word := range words {
		switch word {
		case "token", "secret", "secrets", "password", "passwd", "passphrase", "passcode", "pass", "pwd", "credential",
			"credentials", "auth", "authorization", "cookie", "bearer", "jwt", "pat", "signature", "sig":
			return true
		}
		// Words written together: authtoken, apikey, clientsecret.
		for _, suffix := range []string{"token", "secret", "password", "passwd", "apikey", "accesskey", "secretkey", "privatekey", "authkey"} {
			if strings.HasSuffix(word, suffix) {
				return true
			}
		}
	}
	return false
}

// nameWords splits a name at separators and at changes from small to capital letters.
func nameWords(name string) []string {
	var b strings.Builder
	previous := ' '
	for _, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			b.WriteByte(' ')
		case unicode.IsUpper(r) && unicode.IsLower(previous):
			b.WriteByte(' ')
			fallthrough
		default:
			b.WriteRune(unicode.ToLower(r))
		}
		previous = r
	}
	return strings.Fields(b.String())
}

// LooksSecretValue reports whether a value looks like a secret whatever its name: it begins as the tokens of well-known
// services do, is a JSON Web Token or a private key, is a URL with a password, or is long and random. References are
// not looked at, so a value that consists of them is none.
func LooksSecretValue(value string) bool {
	value = strings.TrimSpace(credential(literalText(value)))
	if strings.HasPrefix(value, "-----BEGIN ") && strings.Contains(value, "PRIVATE KEY-----") {
		return true
	}
	if _, rest, ok := strings.Cut(value, "://"); ok {
		authority := before(rest, "/?#")
		user, _, hasUser := strings.Cut(authority, "@")
		_, password, _ := strings.Cut(user, ":")
		return hasUser && password != ""
	}
	for _, prefix := range tokenPrefixes() {
		// At least eight more characters tell a token from a word that begins alike.
		if rest, ok := strings.CutPrefix(value, prefix); ok && len(rest) >= 8 && !strings.ContainsAny(rest, " \t\n") {
			return true
		}
	}
	return looksLikeAWSKey(value) || looksRandom(value)
}

// looksLikeAWSKey reports whether value is the id of an AWS access key, which stands beside the key.
func looksLikeAWSKey(value string) bool {
	return len(value) >= 16 && (strings.HasPrefix(value, "AKIA") || strings.HasPrefix(value, "ASIA")) &&
		strings.Trim(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == ""
}

// tokenPrefixes returns how the tokens of well-known services begin.
func tokenPrefixes() []string {
	return []string{
		"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", // GitHub
		"glpat-", "gldt-", "glrt-", // GitLab
		"sk-", "sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_", // OpenAI, Anthropic, Stripe
		"xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xapp-", // Slack
		"AIza", "ya29.", "GOCSPX-", // Google
		"eyJ", // a JSON Web Token: base64 of {"
		"npm_", "pypi-", "hf_", "dop_v1_", "shpat_", "SG.", "lin_api_", "ntn_", "figd_", "glsa_", "nvapi-", "gsk_",
		"xai-", "pplx-", "tvly-", "sbp_", "ATATT3x", "AGE-SECRET-KEY-",
	}
}

// looksRandom reports whether a value is a long string of characters without the structure of words.
func looksRandom(value string) bool {
	for _, r := range value {
		if r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("+/=_-.~", r) {
			return false
		}
	}
	if strings.HasPrefix(value, "/") || strings.HasPrefix(value, ".") || strings.HasPrefix(value, "~") {
		return false
	}
	// Names of machines and versions are put together of short pieces; tokens have long ones. A piece of random
	// hexadecimal digits has 3.3 bits a character and more, a word of the same length has letters only.
	for piece := range strings.FieldsFuncSeq(value, func(r rune) bool { return strings.ContainsRune("/_-.~", r) }) {
		if len(piece) >= 20 && strings.ContainsAny(piece, "0123456789") &&
			strings.ContainsFunc(piece, unicode.IsLetter) && entropy(piece) >= 3.3 {
			return true
		}
	}
	return false
}

// entropy returns the bits a character of s carries, judged by how often each occurs.
func entropy(s string) float64 {
	counts := map[rune]float64{}
	total := 0.0
	for _, r := range s {
		counts[r]++
		total++
	}
	bits := 0.0
	for _, n := range counts {
		bits -= n / total * math.Log2(n/total)
	}
	return bits
}

// credential returns what follows the scheme in the value of an authorization header ("Bearer abc" is "abc"), or the
// value itself.
func credential(value string) string {
	scheme, rest, found := strings.Cut(strings.TrimSpace(value), " ")
	if !found || !isScheme(scheme) {
		return value
	}
	return strings.TrimSpace(rest)
}

// isScheme reports whether a word says how a credential is sent.
func isScheme(word string) bool {
	switch strings.ToLower(word) {
	case "bearer", "basic", "token", "digest", "apikey", "api-key", "key", "dpop", "negotiate", "bot":
		return true
	}
	return false
}

// queryParam is one parameter of a URL's query. The value is as it is written.
type queryParam struct {
	name, value string
}

func (q queryParam) decoded() string {
	if value, err := url.QueryUnescape(q.value); err == nil {
		return value
	}
	return q.value
}

// queryParams returns the parameters in a URL, also in one that is malformed or a template.
func queryParams(raw string) []queryParam {
	_, query, _ := strings.Cut(raw, "?")
	query, _, _ = strings.Cut(query, "#")
	var params []queryParam
	for pair := range strings.SplitSeq(query, "&") {
		name, value, found := strings.Cut(pair, "=")
		if !found {
			continue
		}
		if decoded, err := url.QueryUnescape(name); err == nil {
			name = decoded
		}
		params = append(params, queryParam{name, value})
	}
	return params
}

// userInfo returns what stands before the host of a URL, "" if nothing does. A password may hold what ends a host, although it
// should not: where there is a colon and no port behind it, everything up to the @ is meant.
func userInfo(raw string) string {
	_, rest, _ := strings.Cut(raw, "://")
	authority := before(rest, "/?#")
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		return authority[:at]
	}
	if at := strings.IndexByte(rest, '@'); at >= 0 && noPort(authority) != "" {
		return rest[:at]
	}
	return ""
}

// noPort returns what stands where a host has its port and is none, "" if nothing does.
func noPort(authority string) string {
	_, port, _ := strings.Cut(authority, ":")
	if strings.Trim(port, "0123456789") == "" || strings.HasPrefix(authority, "[") || strings.Contains(authority, "${") {
		return ""
	}
	return port
}

// redactURL masks secret query values and user info, and leaves every other character as it is.
func redactURL(raw string) string {
	if info := userInfo(raw); info != "" {
		raw = strings.Replace(raw, "://"+info+"@", "://"+masked+"@", 1)
	}
	base, query, hasQuery := strings.Cut(raw, "?")
	if !hasQuery {
		return base
	}
	query, fragment, hasFragment := strings.Cut(query, "#")
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		name, _, found := strings.Cut(pair, "=")
		if !found {
			continue
		}
		for _, q := range queryParams("?" + pair) {
			if literalSecret(q.name, q.decoded()) {
				pairs[i] = name + "=" + masked
			}
		}
	}
	out := base + "?" + strings.Join(pairs, "&")
	if hasFragment {
		out += "#" + fragment
	}
	return out
}
