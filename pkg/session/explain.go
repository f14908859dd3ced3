package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpctl/mcpctl/internal/oauth"
	"github.com/mcpctl/mcpctl/internal/transport"
	"github.com/mcpctl/mcpctl/pkg/config"
)

const (
	hintPath   = "check the URL: the MCP endpoint often has a path of its own, such as /mcp"
	hintToken  = "the server wants authorization: give it with --header 'Authorization: Bearer ${TOKEN}'"
	hintRules  = "see the rules of the server, or of a proxy before it, for POST to this path: paths, methods, addresses; or it wants authorization: --header 'Authorization: Bearer ${TOKEN}'"
	hintRefuse = "the server refuses the authorization that it got: check that the token is right and has not expired"
	hintLogin  = "a login page is in front of the server: send a token with --header 'Authorization: Bearer ${TOKEN}', or bypass the page"
	hintHost   = "the server, or a proxy, accepts only certain host names or origins: use one of them in the URL"
	hintOrigin = "the server wants a header Origin, which only browsers send by themselves: --header 'Origin: URL'"
	hintAccept = "leave out the header Accept: mcpctl sends the right one by itself"
	hintType   = "leave out the header Content-Type: mcpctl sends the right one by itself"
	hintGone   = "the address is not in use any more: ask whoever runs the server for the new one"
	// hintForwarded is for servers that write addresses with http although they are reached by https.
	hintForwarded = "let the server know that TLS ends before it: X-Forwarded-Proto from the proxy, and trust in it (uvicorn: FORWARDED_ALLOW_IPS)"
)

// loginWords are those of pages that want a person to log in.
var loginWords = lazily(`(?i)\b(sign[ -]?in|log[ -]?in|login|sso|single sign-on|authenticate)\b`)

// originText matches the words of refusals that miss the header Origin.
const originText = `\bmissing (an? |the )?origin( header)?\b|\bno origin header\b|\borigin( header)? (is |was )?(required|missing)\b`

var originWords = lazily(`(?i)` + originText)

// hostWords are those of refusals that are about the Host or Origin header.
var hostWords = lazily(`(?i)\b(invalid|allowed|unknown|untrusted|bad|blocked) (http_?)?(host|origin)s?\b|\bblocked hosts?:|\b(host|origin) header (is )?(required|missing)\b|` + originText + `|` +
	`\b(host|origin)( header)?( \(?["'][^"']{1,100}["']\)?)? (is |was )?not (allowed|permitted|trusted|in )`)

// loginPlaces are addresses to which those are sent who have to log in.
var loginPlaces = lazily(`(?i)[/._-](login|log-in|signin|sign-in|sso|saml2?|oauth2?|authorize|cas)([/?._-]|$)|/cdn-cgi/access/|` +
	`^https://(\S+\.cloudflareaccess\.com|login\.microsoftonline\.com|accounts\.google\.com|\S+\.okta\.com|\S+\.auth0\.com)/`)

// explain adds the next step to the failure of an opening, where there is an obvious one.
func (o *opening) explain(ctx context.Context, e *Error) {
	o.explainWay(e)
	if f, ok := errors.AsType[*transport.Fault](e.Err); ok && e.Class == ClassAuth {
		o.explainAuth(ctx, e, f)
	}
	if e.Hint == "" && e.Phase == "initialize" && e.RPC != nil && authWords().MatchString(e.RPC.Message) {
		e.Hint = hintToken
		if o.server.Command != "" {
			e.Hint = "it wants a key or a token: give it with --env NAME, or --env NAME='${NAME}', as its documentation says"
		}
	}
	if e.Hint != "" {
		return
	}
	f, ok := errors.AsType[*transport.Fault](e.Err)
	if !ok {
		if e.Class == ClassProtocol && strings.Contains(e.Message, "protocol version") {
			versions := mcp.SupportedProtocolVersions()
			if _, chosen, ok := strings.Cut(e.Message, "unsupported protocol version: "); ok {
				e.Message = fmt.Sprintf("the server chose protocol version %s, but mcpctl supports %s to %s", chosen, versions[len(versions)-1], versions[0])
				e.Hint = "update the older side, the server or mcpctl"
				if !versionDate().MatchString(chosen) {
					e.Hint = "correct protocolVersion in the server: it has to be a version of MCP, which is a date such as " + legacyVersion + ", and not the server's own"
				}
			}
			e.Hint = cmp.Or(e.Hint, "update the older side, the server or mcpctl")
		}
		switch {
		case e.Phase != "initialize" || e.RPC == nil:
		case e.RPC.Code == codeMethodNotFound || unknownInitialize().MatchString(e.RPC.Message):
			e.Hint = "it speaks JSON-RPC, and not the handshake with which every MCP session begins: its author has to answer initialize and notifications/initialized; " +
				"or this is something else than an MCP server: check the URL, or command and args"
		case versionWords().MatchString(e.RPC.Message):
			e.Hint = "its author has to answer initialize with the version that the server has, and not with an error; to ask for an older one: --protocol 2025-06-18"
		}
		return
	}
	switch f.Kind {
	case transport.KindDNS:
		e.Hint = o.hintName()
	case transport.KindRefused:
		e.Hint = "nothing listens there: start the server, or check the port in the URL; --wait 30s waits for it"
	case transport.KindTLS:
		e.Hint = o.tlsHint(f)
	case transport.KindProxy:
		e.Hint = proxyHint(f)
	case transport.KindRedirect:
		e.Hint = "if that is the right address, use it: " + f.Location
		switch secure := o.withTLS(f.Location); {
		case f.Err != nil && f.Status == 0 && secure != "": // it was no redirect: the endpoint event of the older transport named the address
			e.Hint = hintForwarded
		case f.Err != nil && f.Status == 0:
			e.Hint = "the server, or a proxy before it, has to announce an address of the URL's own origin" + o.atOrigin(f.Location)
		case f.Err != nil:
			e.Hint = "correct the redirects of the server"
		case loginPlaces().MatchString(f.Location):
			e.Hint = hintLogin
		case secure != "":
			e.Message += ": it is the same address without TLS"
			e.Hint = "use " + secure + "; " + hintForwarded
		}
	case transport.KindContent:
		switch {
		case f.IsPage() && loginWords().MatchString(f.Title+" "+f.Snippet()):
			e.Hint = hintLogin
		case f.IsPage():
			e.Hint = hintPath
		default:
			e.Hint = contentHint(f)
		}
	case transport.KindNotHTTP:
		e.Hint = "check the port in the URL: something else than HTTP answers there"
		switch {
		case transport.SpeaksTLS(f.Err):
			e.Hint = hintHTTPS
		case transport.SpeaksHTTP2(f.Err):
			e.Hint = "MCP clients speak HTTP/1.1, and HTTP/2 with TLS only: use the port for HTTP, or let the server speak HTTP/1.1, too"
		case transport.BreaksHTTP(f.Err):
			e.Hint = "correct what the server sends, or what a proxy before it makes of that"
		}
	case transport.KindExit:
		e.Hint = "run the command by hand to see what it says"
	case transport.KindStatus:
		o.explainStatus(e, f)
	case transport.KindOther, transport.KindDial, transport.KindSevered, transport.KindStart, transport.KindTooLarge, transport.KindAuth:
	}
}

// tlsBound bounds the look at whether a port speaks TLS: it only explains a failure.
const tlsBound = 1500 * time.Millisecond

// explainClosed says more of a connection that was closed before the first byte of an answer: nothing is known of who listens
// there. Many that speak TLS close the connection of whoever does not.
func (o *opening) explainClosed(ctx context.Context, h *transport.HTTP, e *Error) {
	f, ok := errors.AsType[*transport.Fault](e.Err)
	if !ok || f.Kind != transport.KindSevered || h.Answered() || o.route.proxy != nil || o.endpoint().Scheme != "http" {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, tlsBound)
	defer cancel()
	if !o.noReuse && h.AnswersTLS(bounded) { // asked once, at the first attempt
		other := *f
		other.Kind, other.Err = transport.KindNotHTTP, errors.New(transport.TextHTTPS)
		e.Err, e.kind, e.Class, e.Message, e.Hint = &other, kindProtocol, ClassProtocol, transport.TextHTTPS, hintHTTPS
		return
	}
	if e.Hint == "" {
		e.Hint = "see that the server runs, and that the port is its own; in a container it has to listen on 0.0.0.0, for a mapped port " +
			"takes connections and does not reach 127.0.0.1"
	}
}

// hintSilence is the next step at a stream of the older transport that says nothing.
const hintSilence = "an address of the older HTTP with SSE transport says first where to POST (event: endpoint): check the path, which often is /sse, " +
	"and that no proxy holds events back (nginx: proxy_buffering off)"

// explainSilence says of a limit that ran out that the stream of the older transport was asked for, and never said where to
// POST, or how far it had come otherwise. A proxy that holds back what it gets may hold back the headers, too. See the MCP
// specification, 2024-11-05, "HTTP with SSE".
func (o *opening) explainSilence(e *Error, h *transport.HTTP) {
	came := h.Unannounced()
	outside, status := h.Outside()
	switch within := strings.TrimPrefix(e.Message, "no answer"); {
	case came != "":
		e.Message = "the event stream opened, and named no endpoint" + within
		e.Evidence = append(e.Evidence, came)
	case h.Unanswered():
		e.Message = "the GET for an event stream got no answer" + within
	case outside != "":
		e.Evidence = append(e.Evidence, fmt.Sprintf("the server announces %s, and a POST there got HTTP %d, and no answer on the stream", outside, status))
		e.Hint = fmt.Sprintf("if a proxy cuts off the beginning of the path %s, let the server know (root_path, base URL), or let the proxy pass %s on, too", o.endpoint().Path, outside)
		return
	case e.Phase == "initialize" && h.Taken():
		o.unanswered(e)
		return
	default:
		return
	}
	e.Hint = hintSilence
	if o.server.Transport == config.TransportSSE {
		e.Hint = "if the server speaks the newer transport at this address: --transport http; else " + e.Hint
	}
}

// unanswered says of a limit that ran out that the older transport took the request, and that nothing came on its stream.
func (o *opening) unanswered(e *Error) {
	e.Message = "the POST was accepted, and no answer came on the event stream" + strings.TrimPrefix(e.Message, "no answer")
	e.Hint = "with the older HTTP with SSE transport the answer comes on the stream that was opened before: see that no proxy holds its events back " +
		"(nginx: proxy_buffering off), and that one process has both, the stream and the POST: several workers or instances do not share them"
}

// withTLS returns an address on the host of the endpoint with https in place of http, "" if it is another address: the server
// does not know that TLS ends at a proxy before it.
func (o *opening) withTLS(address string) string {
	u, err := url.Parse(address)
	e := o.endpoint()
	if err != nil || u.Scheme != "http" || e.Scheme != "https" || !strings.EqualFold(u.Hostname(), e.Hostname()) {
		return ""
	}
	u.Scheme, u.Host = "https", e.Host
	return u.String()
}

// atOrigin offers, for the end of a hint, the URL of the entry at the origin of an address, if both are this machine: a server
// that is called by one of its names announces another.
func (o *opening) atOrigin(address string) string {
	u, err := url.Parse(address)
	if err != nil || !loopback(u.Hostname()) || !loopback(o.endpoint().Hostname()) {
		return ""
	}
	named := *o.endpoint()
	named.Scheme, named.Host, named.RawQuery, named.User = u.Scheme, u.Host, "", nil
	return "; or use the one that it announces: " + named.String()
}

// loopback reports whether a host is a name or an address of this machine.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

func (o *opening) explainStatus(e *Error, f *transport.Fault) {
	hint := statusHint(f)
	sends := func(header string) bool {
		return slices.ContainsFunc(slices.Collect(maps.Keys(o.server.Headers)), func(name string) bool { return strings.EqualFold(name, header) })
	}
	switch {
	case hint != "":
		e.Hint = hint
	case f.Status == http.StatusNotAcceptable && sends("Accept"):
		e.Hint = hintAccept
	case f.Status == http.StatusUnsupportedMediaType && sends("Content-Type"):
		e.Hint = hintType
	case f.Status == http.StatusGone && e.kind != kindExpired:
		e.Hint = hintGone
	case e.Phase == initializedMethod && e.kind != kindExpired && versionWords().Match(f.Body):
		e.Message = "the server refuses in the header MCP-Protocol-Version the version that it chose itself: " + e.Message
		e.Hint = "until the server is corrected, ask for an older version: --protocol 2025-06-18"
	case originWords().Match(f.Body):
		e.Hint = hintOrigin
	case hostWords().Match(f.Body):
		e.Hint = hintHost
	case e.Phase == initializedMethod && f.Status == http.StatusBadRequest && !f.SessionID && f.RPCError != nil && wholeInitPhrase().MatchString(rpcError(f.RPCError).Message):
		e.Evidence = append(e.Evidence, "the answer to initialize had no Mcp-Session-Id")
		e.Hint = "the server does not know the session: let the proxy before it pass the header Mcp-Session-Id of answers on; without a proxy, " +
			"it has to send one, or to do without sessions (stateless)"
	case e.Phase == initializedMethod && e.kind != kindExpired:
		e.Hint = "the server has to accept " + initializedMethod + ", with 202 and no body"
	case e.kind == kindExpired:
		e.Hint = "the session was lost while it was being opened: several instances without shared sessions behind one address?"
		if slices.ContainsFunc(textsOf(f.Body), func(text string) bool { return noSessionID().MatchString(text) || wholeInitPhrase().MatchString(text) }) {
			e.Hint += " Or a proxy before it that does not pass on the header Mcp-Session-Id?"
		}
	case f.Status == http.StatusNotFound || f.Status == http.StatusMethodNotAllowed || f.Status == http.StatusNotImplemented:
		e.Hint = hintPath
	case f.Status >= 500 && (f.Authorized || o.sendsAuthorization()) && authorizationFailed().Match(f.Body):
		e.Hint = "it failed while it checked the authorization that it got: a token that it does not know has to be answered with 401; check the token, and the server's own log"
	}
}

// unknownInitialize finds the refusal of the method initialize in other words than its code.
var unknownInitialize = lazily(`(?i)\b(?:unknown|unsupported|invalid|no such|unrecognized) method:? ['"]?initialize\b|\binitialize['"]? (?:is |does )?not (?:found|supported|exist|implemented)`)

// versionWords are those of servers that refuse a version of the protocol, in initialize or in the header MCP-Protocol-Version.
var versionWords = lazily(`(?i)\b(?:unsupported|invalid|unknown|bad|missing) (?:mcp[ -]?)?protocol[ -]?version\b|\bprotocol[ -]version\b.{0,60}\b(?:not supported|unsupported|mismatch)`)

// authorizationFailed finds the error of RFC 6749 for a check that broke, in the form in which it is written there.
var authorizationFailed = lazily(`^\s*\{\s*"error"\s*:\s*"(?:server_error|temporarily_unavailable)"`)

// sendsAuthorization reports whether the entry has a header Authorization.
func (o *opening) sendsAuthorization() bool {
	for name := range o.server.Headers {
		if http.CanonicalHeaderKey(name) == "Authorization" {
			return true
		}
	}
	return false
}

// explainAuth says what was sent to a server that refuses, and what it offers.
func (o *opening) explainAuth(ctx context.Context, e *Error, f *transport.Fault) {
	configured := o.sendsAuthorization()
	sent := "no Authorization header was sent"
	switch {
	case configured:
		sent = "an Authorization header was sent"
	case f.Authorized || refusedAnew(f.Err):
		sent = "the token of a login was sent"
	case OtherCredential(o.server.Headers) != "":
		sent = "no Authorization header was sent, but " + OtherCredential(o.server.Headers)
	}
	e.Evidence = append(e.Evidence, sent)
	authorized := configured || f.Authorized
	if wrong := MalformedAuthorization(o.server.Headers); wrong != "" && !hostWords().Match(f.Body) {
		e.Hint = cmp.Or(e.Hint, wrong)
	}
	switch {
	case hostWords().Match(f.Body):
		return // it is about something else
	case f.Err != nil:
		if failure := failureOf(f.Err); failure != nil && failure.Step == oauth.StepResource && failure.Reason == oauth.Refused {
			e.Hint = cmp.Or(KeyHint(o.server.Headers, f), e.Hint) // there is no login
		}
		return // an authorizer has said why it got no other
	case f.Status == http.StatusForbidden && authorized:
		e.Hint = cmp.Or(e.Hint, "the server knows who asks, and refuses: ask for the right to use it")
		return
	case f.Status == http.StatusForbidden && f.IsPage():
		e.Hint = cmp.Or(e.Hint, KeyHint(o.server.Headers, f), hintRules)
		return
	case f.Status == http.StatusForbidden:
		e.Hint = cmp.Or(e.Hint, KeyHint(o.server.Headers, f), hintToken)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, metadataBound)
	defer cancel()
	chain := o.d.Authorization(ctx, o.server, f)
	found, asked := described(chain)
	if found != "" {
		e.Evidence = append(e.Evidence, "OAuth metadata: "+found)
	} else {
		e.Evidence = append(e.Evidence, "no OAuth metadata at "+asked)
	}
	offered := found != "" || named(chain)
	switch {
	case e.Hint != "":
	case !offered && KeyHint(o.server.Headers, f) != "":
		e.Hint = KeyHint(o.server.Headers, f)
	case configured && offered:
		e.Hint = hintRefuse + "; or remove it, and log in: " + loginCommand(o.server.Name)
	case configured:
		e.Hint = hintRefuse
	case offered && o.server.Auth == config.AuthNone:
		e.Hint = "the server wants an OAuth login, and the entry says auth: none; remove that, and log in: " + loginCommand(o.server.Name)
	case offered:
		e.Hint, e.NeedsLogin = "the server wants an OAuth login: "+loginCommand(o.server.Name), true
	default:
		e.Hint = "the server offers no OAuth login, so it probably wants a static token: --header 'Authorization: Bearer ${TOKEN}'"
	}
}

// metadataBound bounds the search for OAuth metadata: it only explains a failure.
const metadataBound = 1500 * time.Millisecond

// described returns where a server describes its OAuth protection, "" if nowhere, and where that was looked for last.
func described(chain Authorization) (found, asked string) {
	for _, p := range chain.ResourcePlaces {
		asked = p.URL
		if p.Found {
			found = p.URL
		}
	}
	return found, asked
}

// named reports whether a challenge names the metadata of the protected resource: whoever does that wants a login, also
// when the metadata cannot be used.
func named(chain Authorization) bool {
	return slices.ContainsFunc(chain.Challenges, func(c Challenge) bool { return c.Params["resource_metadata"] != "" })
}

var (
	// twiceBearer, quotedValue, placeholder and unreplaced find values of an Authorization header that no server can want.
	twiceBearer = lazily(`(?i)^bearer\s+bearer\b`)
	quotedValue = lazily("^[\"'`]|[\"'`]$|\\s[\"'`]")
	placeholder = lazily(`(?i)<[\w -]+>|\b(your|my|insert|replace)[_ -]?(\w+[_ -])*(token|key|pat|secret)\b|\bx{4,}\b|\.\.\.$|…$`)
	unreplaced  = lazily(`\$[A-Za-z_]\w*|%[A-Za-z_]\w*%|\$?\{\{?[^}]*\}\}?`)
)

// OtherCredential returns the name of a header, other than Authorization, that by its name holds a credential, "" if there is
// none among the headers that are sent.
func OtherCredential(headers map[string]string) string {
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		if name = http.CanonicalHeaderKey(name); name != "Authorization" && name != "Proxy-Authorization" && config.LooksSecretName(name) {
			return name
		}
	}
	return ""
}

// KeyHint returns the next step at a server whose refusal err asks for an API key, which is mostly sent in another header than
// Authorization, "" if it does not ask for one. It knows the headers that were sent, and never holds a value.
func KeyHint(headers map[string]string, err error) string {
	f, ok := errors.AsType[*transport.Fault](err)
	if !ok || !keyWords().Match(f.Body) {
		return ""
	}
	name := cmp.Or(string(keyHeader().Find(f.Body)), "X-API-Key")
	for sent := range headers {
		if strings.EqualFold(sent, name) {
			return "the server refuses the key in the header " + name + ": check its value"
		}
	}
	return "the server asks for an API key, often in a header of its own: --header '" + name + ": ${API_KEY}'"
}

var (
	// keyWords are those of refusals for want of an API key, and keyHeader finds the header that they name.
	keyWords  = lazily(`(?i)\b(?:x-)?api[ _-]?key\b`)
	keyHeader = lazily(`(?i)\bx-(?:[a-z0-9]+-){0,3}api-?key\b`)
)

// MalformedAuthorization says what is wrong with the form of the Authorization header among headers that are sent, "" if
// nothing is, or there is none. It never holds the value.
func MalformedAuthorization(headers map[string]string) string {
	var value, near string
	for name, v := range headers {
		switch http.CanonicalHeaderKey(name) {
		case "Authorization":
			value = strings.TrimSpace(v)
		case "Authentication", "Authorisation", "Auth":
			near = name
		}
	}
	switch {
	case value == "" && near != "":
		return "the header is called Authorization, and " + near + " was sent"
	case value == "":
		return ""
	case twiceBearer().MatchString(value):
		return "the Authorization header begins with Bearer twice: the variable or the value holds the word already"
	case quotedValue().MatchString(value):
		return "there are quotes in the Authorization header: they are sent as they are, so leave them out"
	case unreplaced().MatchString(value):
		return "there is the name of a variable in the Authorization header, which nobody has replaced: write ${NAME}, in single quotes on a command line"
	case placeholder().MatchString(value):
		return "the Authorization header holds a placeholder: put the token in its place"
	case !strings.ContainsAny(value, " \t"):
		return "the Authorization header has no scheme: most servers want Bearer before the token"
	}
	return ""
}
