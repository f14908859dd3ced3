package oauth

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/internal/transport"
)

const (
	// tokenBound bounds one request for a token, with the one that repeats it.
	tokenBound = 10 * time.Second
	// mostToken bounds the answer, in bytes. Tokens with many claims have some ten KiB.
	mostToken = 1 << 20
	// longestToken bounds the life of a token that is believed: what is said to be longer is taken as not said.
	longestToken = 100 * 365 * 24 * time.Hour
	// skewed is how far this machine's clock may be off before a refusal is explained by it.
	skewed = 30 * time.Second
)

// The ways in which a client authenticates at a token endpoint. See RFC 7591, 2, and OpenID Connect Core 1.0, 9.
const (
	methodNone  = "none"
	methodBasic = "client_secret_basic"
	methodPost  = "client_secret_post"
	methodKey   = "private_key_jwt"
)

// endpoint is a token endpoint, and the client that asks there.
type endpoint struct {
	url    string
	client Client
	// methods are the ways to authenticate that the server supports, nil if it does not say.
	methods []string
	// algorithms are those that the server takes for assertions of the client, nil if it does not say.
	algorithms []string
	// audience is what assertions of the client are for: the issuer.
	audience string
	// key signs the client's assertions (private_key_jwt), a PEM text or the name of a file, "" for none.
	key string
	// proof is the key of DPoP proofs, nil for a bearer token.
	proof *proofKey
	// bound is set when the token must be bound to that key; else a bearer token will do.
	bound bool
	http  *http.Client
	// secret is told of each secret value at the moment it is known, step is whose failure it is.
	secret func(...string)
	step   Step
	// provider is set for a company's identity provider, whose keys of the configuration are those below oauth.idp.
	provider bool
}

// ask asks for a token. It authenticates the client, proves possession of the key, and repeats the request once with the
// nonce that the server wants (RFC 9449, 8). The failure is an [*Error]. See RFC 6749, 3.2 and 5.
func (e *endpoint) ask(ctx context.Context, form url.Values) (Token, error) {
	a, err := e.request(ctx, form)
	if err != nil {
		return Token{}, err
	}
	t := a.Token
	switch {
	case strings.EqualFold(t.Type, typeBearer):
		t.Type = typeBearer
		if e.proof != nil && e.bound {
			return Token{}, e.invalid("it gave a bearer token, and one that is bound to a key (DPoP) was asked for",
				"the authorization server does not do DPoP; if the MCP server takes bearer tokens, remove "+e.keyName("dpop", ""))
		}
	case strings.EqualFold(t.Type, typeDPoP):
		t.Type = typeDPoP
		if e.proof == nil {
			return Token{}, e.invalid("it gave a token that is bound to a key (DPoP), and no key was shown", "set "+e.keyName("dpop", "--dpop"))
		}
	default:
		return Token{}, e.invalid(fmt.Sprintf("it gave a token of the type %s, which cannot be used here; Bearer and DPoP can",
			e.shown(t.Type)), "")
	}
	if asked := strings.Fields(form.Get("scope")); t.Scopes == nil && len(asked) > 0 {
		t.Scopes = asked // RFC 6749, 5.1: not said is as asked for; nil is not known here
	}
	return t, nil
}

// keyText returns what a record of the token keeps of the key, "" if the token is not bound to it.
func (e *endpoint) keyText(t Token) (string, error) {
	if t.Type != typeDPoP || e.proof == nil {
		return "", nil
	}
	return e.proof.text()
}

// answer is the answer of a token endpoint. See RFC 6749, 5.1, and RFC 8693, 2.2.1.
type answer struct {
	Token
	// issued is the type of the token that was exchanged for, "" if not said.
	issued string
}

// request sends a request and reads the answer. The type of the token may be any.
func (e *endpoint) request(parent context.Context, form url.Values) (answer, error) {
	hidden := []string{e.client.Secret}
	for _, name := range secretParameters() {
		hidden = append(hidden, form[name]...)
	}
	e.hide(hidden...)
	u, err := url.Parse(e.url)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return answer{}, &Error{
			Step: e.step, Reason: Invalid,
			Message: fmt.Sprintf("the token endpoint is no URL that can be asked: %s", shownURL(e.url)),
		}
	}
	ctx, cancel := context.WithTimeoutCause(parent, tokenBound, errTokenBound)
	defer cancel()
	for again := false; ; again = true {
		begin := time.Now()
		got, err := e.send(ctx, u, form, &hidden)
		if err != nil {
			return answer{}, e.failed(parent, ctx, u, err)
		}
		fresh := e.proof != nil && e.proof.learn(u, got.proof, got.header)
		a, problem := readAnswer(got.body, begin)
		e.hide(a.Access, a.Refresh, a.identity)
		hidden = append(hidden, a.Access, a.Refresh, a.identity)
		if problem.code == useNonce && fresh && !again && got.status < 500 {
			continue // it was refused for want of the nonce alone, and nothing was used up
		}
		if err := e.judge(got, u, form, problem, hidden); err != nil {
			return answer{}, err
		}
		return a.answer, nil
	}
}

var errTokenBound = fmt.Errorf("no answer within %s", tokenBound)

// secretParameters are those of a token request that nobody may see.
func secretParameters() []string {
	return []string{
		"code", "code_verifier", "refresh_token", "assertion", "client_assertion", "client_secret", "subject_token", "actor_token",
	}
}

// reply is what was answered.
type reply struct {
	status int
	header http.Header
	body   []byte
	// proof is that of the request, "" for none.
	proof string
}

// send sends the request once. What becomes secret is added to hidden.
func (e *endpoint) send(ctx context.Context, u *url.URL, form url.Values, hidden *[]string) (reply, error) {
	form = maps.Clone(form)
	header := http.Header{
		"Content-Type": {"application/x-www-form-urlencoded"},
		"Accept":       {"application/json"},
	}
	secrets, err := e.authenticate(form, header)
	e.hide(secrets...)
	*hidden = append(*hidden, secrets...)
	if err != nil {
		return reply{}, err
	}
	if e.proof != nil {
		proof, err := e.proof.proof(http.MethodPost, u, e.proof.nonce(u), "")
		if err != nil {
			return reply{}, &Error{Step: e.step, Reason: Config, Message: "the proof of the key (DPoP): " + err.Error(), Err: err}
		}
		header.Set("DPoP", proof)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), strings.NewReader(form.Encode()))
	if err != nil {
		return reply{}, err
	}
	req.Header = header
	client := *e.http
	client.Jar = nil
	// What is sent is for this server alone.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, mostToken+1))
	if err != nil {
		return reply{}, fmt.Errorf("the answer was cut off: %w", err)
	}
	if len(body) > mostToken {
		return reply{}, e.invalid(fmt.Sprintf("it answered with more than %d bytes", mostToken), "")
	}
	return reply{status: resp.StatusCode, header: resp.Header, body: body, proof: header.Get("DPoP")}, nil
}

// authenticate says in a request who the client is, and returns what is secret of it. See RFC 6749, 2.3.1, and RFC 7523, 2.2.
func (e *endpoint) authenticate(form url.Values, header http.Header) (secrets []string, err error) {
	id, secret := e.client.ID, e.client.Secret
	switch method := e.method(); method {
	case methodNone:
		if id != "" {
			form.Set("client_id", id)
		}
		return nil, nil
	case methodPost:
		form.Set("client_id", id)
		form.Set("client_secret", secret)
		return []string{url.QueryEscape(secret)}, nil
	case methodBasic:
		pair := base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(id) + ":" + url.QueryEscape(secret)))
		header.Set("Authorization", "Basic "+pair)
		return []string{pair, url.QueryEscape(secret)}, nil
	case methodKey:
		if id == "" {
			return nil, e.config("client_id", "--client-id", "is needed: the client authenticates with a private key, and must say who it is", "")
		}
		signed, secrets, err := e.signed(id, e.algorithms)
		if err != nil {
			return secrets, err
		}
		form.Set("client_assertion_type", clientAssertionType)
		form.Set("client_assertion", signed)
		form.Set("client_id", id)
		return append(secrets, signed), nil
	default:
		return nil, &Error{
			Step: e.step, Reason: Config,
			Message: fmt.Sprintf("the client authenticates by %s, which is not known here", e.shown(method)),
			Hint:    "register it with client_secret_basic, client_secret_post, private_key_jwt or none",
		}
	}
}

// signed returns an assertion about the client, signed with its key, for the server (RFC 7523, 3). algs are the algorithms
// that the server takes.
func (e *endpoint) signed(id string, algs []string) (signed string, secrets []string, err error) {
	text, _, err := readKey(e.key)
	if err != nil {
		return "", nil, e.keyFailed(err)
	}
	secrets = []string{text}
	key, err := parseKey(text)
	if err != nil {
		return "", secrets, e.keyFailed(err)
	}
	alg := algorithm(key, algs)
	if alg == "" {
		return "", secrets, e.config("private_key", "--private-key", fmt.Sprintf("signs with %s, and %s takes %s",
			strings.Join(algorithms(key), ", "), e.name(), e.shown(strings.Join(algs, ", "))), "use a key of a kind that it takes")
	}
	signed, err = assertion(key, alg, id, id, cmp.Or(e.audience, e.url))
	if err != nil {
		return "", secrets, e.config("private_key", "--private-key", "does not sign: "+err.Error(), "")
	}
	return signed, append(secrets, signed), nil
}

// keyFailed is a private key that cannot be used.
func (e *endpoint) keyFailed(err error) error {
	problem, ok := errors.AsType[*keyProblem](err)
	if !ok {
		problem = &keyProblem{message: err.Error()}
	}
	message := problem.message
	if !strings.Contains(e.key, "-----BEGIN ") && !strings.HasPrefix(message, e.key) {
		message = e.key + ": " + message
	}
	return e.config("private_key", "--private-key", message, problem.hint)
}

// method returns how the client authenticates: as it was registered, else by what there is and the server supports. Without
// the server's word it is client_secret_basic (RFC 8414, 2).
func (e *endpoint) method() string {
	switch {
	case e.client.Method != "":
		return e.client.Method
	case e.key != "" && (e.client.Secret == "" || slices.Contains(e.methods, methodKey)):
		return methodKey
	case e.client.Secret == "":
		return methodNone
	case e.methods == nil || slices.Contains(e.methods, methodBasic):
		return methodBasic
	case slices.Contains(e.methods, methodPost):
		return methodPost
	case slices.Contains(e.methods, methodNone):
		return methodNone
	}
	return methodBasic
}

// failed is a request without an answer.
func (e *endpoint) failed(parent, ctx context.Context, u *url.URL, err error) error {
	if own, ok := errors.AsType[*Error](err); ok {
		return own
	}
	at := proofOrigin(u)
	if parent.Err() != nil && errors.Is(context.Cause(parent), context.Canceled) {
		return &Error{Step: e.step, Reason: Cancelled, Message: fmt.Sprintf("the request to %s was given up", at), Err: context.Cause(parent)}
	}
	message := err.Error()
	if f, ok := errors.AsType[*transport.Fault](err); ok {
		message = f.Error()
	} else if web, ok := errors.AsType[*url.Error](err); ok {
		message = web.Err.Error() // it repeats the URL
	}
	if ctx.Err() != nil {
		message = context.Cause(ctx).Error()
	}
	return &Error{
		Step: e.step, Reason: Unreachable, Message: fmt.Sprintf("%s could not be asked: %s", e.name(), message), Err: err,
	}
}

// tokenProblem is what is wrong with the answer of a token endpoint.
type tokenProblem struct {
	// code and description are the server's (RFC 6749, 5.2), "" for none.
	code, description string
	// says is what is wrong in our words, "" for nothing.
	says string
}

// judge returns the failure that an answer is, nil for none.
func (e *endpoint) judge(got reply, u *url.URL, form url.Values, p tokenProblem, hidden []string) error {
	status := got.status
	failure := &Error{Step: e.step, Code: bareCode(p.code)}
	said := ""
	if failure.Code != "" {
		said = failure.Code
		if text := transport.Snippet([]byte(withoutSecrets(p.description, hidden))); text != "" {
			said += ": " + text
		}
	}
	switch {
	case status >= 300 && status < 400:
		failure.Reason = Invalid
		failure.Message = fmt.Sprintf("%s answered HTTP %d, a redirect to %s; it is not followed, as the request holds credentials",
			e.name(), status, redirectOf(u, got.header.Get("Location")))
		return failure
	case status >= 500 || status == http.StatusTooManyRequests || failure.Code == "temporarily_unavailable" || failure.Code == "server_error":
		failure.Reason, failure.Hint = Unreachable, "try again later"
		failure.Message = fmt.Sprintf("%s answered HTTP %d", e.name(), status)
		if said != "" {
			failure.Message += ", " + said
		}
		return failure
	case failure.Code != "":
		failure.Reason, failure.Message = Refused, fmt.Sprintf("%s says %s", e.name(), said)
		failure.Hint = e.hint(failure.Code, form)
		if e.timed(failure.Code, form) {
			failure.Hint = cmp.Or(clockHint(got.header), failure.Hint)
		}
		return failure
	case status == http.StatusUnauthorized:
		failure.Reason, failure.Message = Refused, fmt.Sprintf("%s answered HTTP 401, without a reason", e.name())
		failure.Hint = e.hint("invalid_client", form)
		return failure
	case status < 200 || status > 299:
		failure.Reason, failure.Message = Invalid, fmt.Sprintf("%s answered HTTP %d, and no token", e.name(), status)
		if status == http.StatusNotFound || status == http.StatusMethodNotAllowed {
			failure.Hint = fmt.Sprintf("the token endpoint of its metadata is %s; tell those who run it", shownURL(e.url))
		}
		return failure
	case p.says != "":
		failure.Reason, failure.Message = Invalid, fmt.Sprintf("%s answered with %s", e.name(), withoutSecrets(p.says, hidden))
		if media, _, _ := mime.ParseMediaType(got.header.Get("Content-Type")); media == "text/html" && !json.Valid(got.body) {
			failure.Message = e.name() + " answered with a web page in place of a token"
		}
		return failure
	}
	return nil
}

// redirectOf is where an answer leads, as it is shown.
func redirectOf(u *url.URL, location string) string {
	next, err := u.Parse(location)
	if err != nil || location == "" {
		return "nowhere"
	}
	return shownURL(next.String())
}

// bareCode returns a code as it may be shown: it is a word of a server's.
func bareCode(code string) string {
	const most = 60 // the longest of those registered have some thirty
	code = strings.Map(func(r rune) rune {
		if r < 0x21 || r > 0x7e || r == '"' || r == '\\' { // RFC 6749, 5.2; no space, so that it stays a word
			return -1
		}
		return r
	}, code)
	return code[:min(len(code), most)]
}

// withoutSecrets takes secrets out of a server's text: some repeat what they were sent.
func withoutSecrets(text string, hidden []string) string {
	for _, secret := range hidden {
		if len(secret) >= 4 { // a shorter one is part of words
			text = strings.ReplaceAll(text, secret, "***")
		}
	}
	return text
}

// hint is what to mend when the server refuses with a code. See RFC 6749, 5.2, RFC 8707, 2, and RFC 9449, 5 and 8.
func (e *endpoint) hint(code string, form url.Values) string {
	grant := form.Get("grant_type")
	switch code {
	case "invalid_client":
		switch {
		case e.method() == methodKey:
			return fmt.Sprintf("have the public key of %s registered for the client %q", e.keyName("private_key", "--private-key"), e.client.ID)
		case e.method() == methodNone && e.client.ID == "":
			return "it wants to know the client: set " + e.keyName("client_id", "--client-id")
		case e.method() == methodNone:
			return "it wants the client to authenticate: set " + e.keyName("client_secret", "--client-secret")
		}
		return fmt.Sprintf("mend %s or %s", e.keyName("client_id", "--client-id"), e.keyName("client_secret", "--client-secret"))
	case "unauthorized_client":
		return fmt.Sprintf("have %s allowed for the client %q, or set another %s", shortGrant(grant), e.client.ID, e.grantKey())
	case "unsupported_grant_type":
		return fmt.Sprintf("it does not do %s; set another %s", shortGrant(grant), e.grantKey())
	case "invalid_scope":
		return fmt.Sprintf("%s was asked for; set other scopes with oauth.scopes (--oauth-scope)", cmp.Or(e.shown(form.Get("scope")), "no scope"))
	case "invalid_target":
		return fmt.Sprintf("the resource %s is not known to it; tell those who run the MCP server", e.shown(form.Get("resource")))
	case "invalid_dpop_proof", useNonce:
		if e.proof == nil {
			return "it wants tokens that are bound to a key: set " + e.keyName("dpop", "--dpop")
		}
	}
	return ""
}

func (e *endpoint) grantKey() string { return "oauth.grant (--grant)" }

// shortGrant is a grant type as it is named in the configuration.
func shortGrant(grant string) string {
	switch grant {
	case grantJWTBearer:
		return "the grant jwt_bearer"
	case grantExchange:
		return "the token exchange"
	}
	return "the grant " + transport.Snippet([]byte(grant))
}

// timed reports whether what was refused has a time in it, so that a wrong clock may be the cause.
func (e *endpoint) timed(code string, form url.Values) bool {
	switch code {
	case "invalid_dpop_proof":
		return true
	case "invalid_client":
		return e.method() == methodKey
	case "invalid_grant":
		return form.Has("assertion")
	}
	return false
}

// clockHint explains a refusal by a clock that is wrong, "" if it is not.
func clockHint(header http.Header) string {
	theirs, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		return ""
	}
	off := time.Since(theirs)
	if off.Abs() < skewed {
		return ""
	}
	way := "ahead of"
	if off < 0 {
		way = "behind"
	}
	return fmt.Sprintf("this machine's clock is %s %s the server's: set it right", roughly(off.Abs()), way)
}

// name is the server, for messages.
func (e *endpoint) name() string {
	who := "the authorization server "
	if e.provider {
		who = "the identity provider "
	}
	u, err := url.Parse(e.url)
	if err != nil {
		return who + shownURL(e.url)
	}
	return who + transport.Snippet([]byte(proofOrigin(u)))
}

// keyName is a key of the configuration, and its flag.
func (e *endpoint) keyName(key, flag string) string {
	name := "oauth."
	if e.provider {
		name, flag = "oauth.idp.", ""
	}
	if flag != "" {
		flag = " (" + flag + ")"
	}
	return name + key + flag
}

// config is a value of the user's that cannot work.
func (e *endpoint) config(key, flag, message, hint string) *Error {
	return &Error{Step: e.step, Reason: Config, Message: e.keyName(key, flag) + ": " + message, Hint: hint}
}

// invalid is an answer that must not be used.
func (e *endpoint) invalid(message, hint string) *Error {
	return &Error{Step: e.step, Reason: Invalid, Message: e.name() + ": " + message, Hint: hint}
}

// shown is a text of a server's, or of the user's, on a line.
func (e *endpoint) shown(text string) string { return transport.Snippet([]byte(text)) }

// hide tells of secret values.
func (e *endpoint) hide(secrets ...string) {
	if e.secret == nil {
		return
	}
	if secrets = slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return s == "" }); len(secrets) > 0 {
		e.secret(secrets...)
	}
}

// fullAnswer is an answer with what is only hidden.
type fullAnswer struct {
	answer
	// identity is the id token, which is not used.
	identity string
}

// readAnswer reads the answer of a token endpoint, whatever its status. asked is when it was asked for.
func readAnswer(body []byte, asked time.Time) (a fullAnswer, p tokenProblem) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil || fields == nil {
		p.says = "what is no JSON object"
		if len(strings.TrimSpace(string(body))) == 0 {
			p.says = "nothing"
		}
		return a, p
	}
	text := func(name string) string {
		var s string
		raw, there := fields[name]
		if there && json.Unmarshal(raw, &s) != nil && p.says == "" {
			p.says = name + " that is no text"
		}
		return s
	}
	if p.code = text("error"); p.code != "" || p.says != "" {
		p.description = text("error_description")
		if p.code == "" {
			p.code = "error" // an object, as some servers send
		}
		return a, p
	}
	a.Access, a.Type, a.Refresh, a.identity, a.issued =
		text("access_token"), text("token_type"), text("refresh_token"), text("id_token"), text("issued_token_type")
	a.Scopes = readScopes(fields["scope"])
	if life := readLife(fields["expires_in"]); life > 0 {
		a.Expires = asked.Add(life)
	}
	switch {
	case p.says != "":
	case a.Access == "":
		p.says = "JSON without an access_token"
	case a.Type == "":
		p.says = "JSON without a token_type"
	case strings.ContainsFunc(a.Access, unsendable):
		p.says = "an access_token that cannot be sent in a header"
	case strings.ContainsFunc(a.Refresh, func(r rune) bool { return r < 0x20 || r > 0x7e }): // RFC 6749, A.17
		p.says = "a refresh_token with characters that none has"
	}
	return a, p
}

// unsendable reports whether a character cannot be part of a token in a header (RFC 6750, 2.1, and wider: RFC 6749, A.12,
// without the space, which ends it).
func unsendable(r rune) bool { return r < 0x21 || r > 0x7e }

// readScopes reads the scopes that were granted: words in a text (RFC 6749, 3.3), or a list, as some servers send. It is nil
// if there are none.
func readScopes(raw json.RawMessage) []string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if words := strings.Fields(text); len(words) > 0 {
			return words
		}
		return nil
	}
	var list []string
	if json.Unmarshal(raw, &list) == nil && len(list) > 0 {
		return list
	}
	return nil
}

// readLife reads how long a token is good, in seconds: a number, or a text that holds one, as some servers send. Zero is
// not said, or nothing that could be meant.
func readLife(raw json.RawMessage) time.Duration {
	var seconds float64
	if json.Unmarshal(raw, &seconds) != nil {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			return 0
		}
		var err error
		if seconds, err = strconv.ParseFloat(strings.TrimSpace(text), 64); err != nil {
			return 0
		}
	}
	if math.IsNaN(seconds) || seconds <= 0 || seconds > longestToken.Seconds() {
		return 0
	}
	return time.Duration(seconds * float64(time.Second)).Truncate(time.Second)
}
