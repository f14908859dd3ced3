package session

// Who answers in place of a server is recognised here, in one place, from what the answer shows: gateways, tunnels, hosts of
// applications, protections against bots. Their statuses say something else than the same ones of a server: a 403 of a bot
// check wants no token, a 522 never reached the server whose log one would look into. The table is rows, as that of the
// symptoms of children: what to look for, what it means, what to do. The first row that fits counts. What was seen is shown
// as well, always: a row may be mistaken, and the evidence is not.

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/mcpctl/mcpctl/internal/oauth"
	"github.com/mcpctl/mcpctl/internal/transport"
)

// stranger is one row of the table.
type stranger struct {
	// id names the row in tests, and in [Error.Symptom].
	id string
	// about says in words what the row looks for.
	about string
	// status holds the statuses that the row is about; any but a success if it is empty.
	status []int
	// text is found in what the answer shows: its title, first bytes, target and telling headers. nil if the statuses say it all.
	text func() *regexp.Regexp
	// fits is a further condition, nil for none.
	fits func(*transport.Fault) bool
	// means says what happened, and do the next step.
	means, do string
	// opening is the next step while a session is being opened, "" if it is the same.
	opening string
	// refusal is set where a status that asks for authorization does not: no token would help.
	refusal bool
}

// cloudflareOnly are the statuses that only Cloudflare uses, of a server that it did not get to.
func cloudflareOnly() []int { return []int{520, 521, 522, 523, 525, 526, 530} }

// strangers returns the table, which is made once.
var strangers = sync.OnceValue(func() []stranger {
	denied := []int{http.StatusUnauthorized, http.StatusForbidden}
	return []stranger{
		{
			id: "bot-check", about: "a page that is to tell people from programs",
			status: []int{http.StatusForbidden, http.StatusTooManyRequests, http.StatusServiceUnavailable},
			text:   lazily(`(?i)cf-mitigated: challenge|just a moment\.\.\.|attention required! \| cloudflare|error code: (?:1006|1009|1010|1020)\b|verif(?:y|ying) (?:that )?you are (?:a )?human|vercel security checkpoint|_incapsula_resource|sucuri website firewall|awswaf|x-amzn-waf-action: (?:challenge|captcha)`),
			means:  "a protection against bots answers, and not the server",
			do:     "let programs through to the path of the endpoint, at whoever protects it (Cloudflare: a WAF rule that skips the bot checks): a token does not help", refusal: true,
		},
		{
			id: "tunnel-upstream", about: "a tunnel whose local end has no server",
			text:  lazily(`ERR_NGROK_8012|ERR_NGROK_8020|failed to complete tunnel connection|unable to reach the origin service`),
			means: "the tunnel works, and the server at its end does not answer",
			do:    "start the server that the tunnel leads to, or correct the port that the tunnel was started with",
		},
		{
			id: "tunnel-offline", about: "the address of a tunnel that is not up",
			text:  lazily(`ERR_NGROK_3200|ERR_NGROK_725|endpoint \S*ngrok\S* is offline|[Tt]unnel \S+\.\S+ not found|error code: 1033\b|Cloudflare Tunnel error|no tunnel here|tunnel unavailable`),
			means: "this is the address of a tunnel, and the tunnel is not up",
			do:    "start the tunnel again (ngrok, cloudflared …), and use the address that it shows: it may be another one", refusal: true,
		},
		{
			id: "tunnel-page", about: "the page that ngrok shows to browsers",
			text:  lazily(`ERR_NGROK_6024|[Yy]ou are about to visit`),
			means: "ngrok shows its warning to browsers, and not the server",
			do:    "send the header that skips it: --header 'ngrok-skip-browser-warning: 1'",
		},
		{
			id: "cloudflare", about: "a server that Cloudflare did not get to",
			status: cloudflareOnly(), fits: byCloudflare,
			means: "Cloudflare answers, and did not get to the server",
			do:    "see that the server runs, that its firewall lets Cloudflare in, and that its certificate is valid (525, 526); the log of the server may know nothing of it",
		},
		{
			id: "gateway-timeout", about: "a proxy that did not wait long enough",
			status:  []int{http.StatusGatewayTimeout, 524},
			fits:    func(f *transport.Fault) bool { return f.RPCError == nil },
			means:   "a proxy gave up waiting for the server",
			do:      "raise the time that the proxy waits (nginx: proxy_read_timeout; a load balancer: its idle timeout), or have the server report progress",
			opening: "see that the server behind the proxy is running, and that the proxy reaches it",
		},
		{
			id: "body-size", about: "a request that is too large for whoever takes it",
			status: []int{http.StatusRequestEntityTooLarge, http.StatusBadRequest, http.StatusInternalServerError},
			text:   lazily(`(?i)\b(?:request entity|payload|request body|body|content) (?:is )?too large|PayloadTooLargeError|exceeded (?:the )?(?:maximum|max) (?:request )?(?:body|content|payload) (?:size|length)`),
			means:  "the request is larger than the server, or a proxy before it, takes",
			do:     "send less at a time, or raise its limit (nginx: client_max_body_size; Express: express.json({limit}))",
		},
		{
			id: "body-size", about: "a request that is too large for whoever takes it",
			status: []int{http.StatusRequestEntityTooLarge},
			means:  "the request is larger than the server, or a proxy before it, takes",
			do:     "send less at a time, or raise its limit (nginx: client_max_body_size; Express: express.json({limit}))",
		},
		{
			id: "header-size", about: "headers that are too large for whoever takes them",
			status: []int{http.StatusRequestHeaderFieldsTooLarge},
			means:  "the headers of the request are larger than the server, or a proxy before it, takes",
			do:     "send fewer or shorter ones: see the headers of the entry, and the length of the token",
		},
		{
			id: "header-size", about: "headers that are too large for whoever takes them",
			status: []int{http.StatusBadRequest},
			text:   lazily(`(?i)request header or cookie too large|request header fields? too large|header(?:s| line)? (?:is |are )?too (?:large|long)`),
			means:  "the headers of the request are larger than the server, or a proxy before it, takes",
			do:     "send fewer or shorter ones: see the headers of the entry, and the length of the token",
		},
		{
			id: "cloudflare-access", about: "the login of Cloudflare Access",
			text:  lazily(`\.cloudflareaccess\.com/|/cdn-cgi/access/login`),
			means: "Cloudflare Access stands before the server, and wants a login",
			do:    "give it a service token: --header 'CF-Access-Client-Id: ${CF_ID}' --header 'CF-Access-Client-Secret: ${CF_SECRET}', or switch Managed OAuth on for this application",
		},
		{
			id: "api-gateway-route", about: "a route that AWS API Gateway does not have",
			status: []int{http.StatusForbidden},
			text:   lazily(`"message"\s*:\s*"Missing Authentication Token"|(?i)x-amzn-errortype: MissingAuthenticationTokenException`),
			means:  "with these words AWS API Gateway refuses a path, or a method, that it does not have",
			do:     "check the URL: the stage and the path of the endpoint belong to it", refusal: true,
		},
		{
			id: "api-gateway-key", about: "a key that AWS API Gateway wants",
			status: []int{http.StatusForbidden},
			text:   lazily(`(?i)x-amzn-errortype: ForbiddenException`),
			means:  "AWS API Gateway answers before the server, and refuses",
			do:     "give it its key: --header 'x-api-key: ${KEY}'; with the right one, see the policy of the API, and that the path belongs to it",
		},
		{
			id: "aws-signature", about: "requests that AWS wants to be signed",
			status: []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden},
			text: lazily(`(?i)x-amzn-errortype: (?:\w*Signature\w*|UnrecognizedClient\w*|InvalidClientTokenId|MissingAuthenticationToken\w*)|` +
				`request signature we calculated does not match|security token included in the request is invalid|Authorization header requires 'Credential'`),
			means: "AWS answers before the server, and wants requests that are signed (SigV4), which no header can be",
			do:    "let a proxy sign them, as a command: --stdio 'uvx mcp-proxy-for-aws@latest URL'", refusal: true,
		},
		{
			id: "mesh-policy", about: "the policy of a service mesh",
			status: []int{http.StatusForbidden},
			text:   lazily(`^\s*RBAC: access denied`),
			means:  "with these words Envoy, or Istio, refuses before the server",
			do:     "allow it in the policy (AuthorizationPolicy), or send the token that the policy wants: --header 'Authorization: Bearer ${TOKEN}'",
		},
		{
			id: "google-iam", about: "a service of Google Cloud that lets in whom it knows",
			status: denied,
			text:   lazily(`Your client does not have permission to get URL|Invalid IAP credentials`),
			means:  "Google Cloud answers before the server, and wants an identity token",
			do:     `give it one: --header "Authorization: Bearer $(gcloud auth print-identity-token)", or let everybody in (roles/run.invoker for allUsers)`,
		},
		{
			id: "vercel-protection", about: "a deployment of Vercel that is protected",
			status: denied,
			text:   lazily(`vercel\.com/sso|_vercel_sso|Vercel Authentication|vercel-protection`),
			means:  "the protection of deployments of Vercel answers before the server",
			do:     "send the secret that bypasses it: --header 'x-vercel-protection-bypass: ${SECRET}', or switch the protection off for this deployment",
		},
		{
			id: "app-missing", about: "a host that has no application there",
			status: []int{http.StatusNotFound, http.StatusGone, http.StatusPaymentRequired},
			text:   lazily(`"message"\s*:\s*"Application not found"|DEPLOYMENT_NOT_FOUND|DEPLOYMENT_DISABLED|There's nothing here, yet|[Nn]o such app\b|NoSuchBucket`),
			means:  "the host answers, and has no application at this address",
			do:     "see that the application is deployed, and that the address is the one that the host gave it",
		},
		{
			id: "payment", about: "a price that is to be paid",
			status: []int{http.StatusPaymentRequired},
			means:  "it wants to be paid",
			do:     "see in the answer what it wants and to whom (x402), or look after the account there: mcpctl pays nothing, and sends what proves a payment with --header 'X-PAYMENT: ${PAYMENT}'", refusal: true,
		},
		{
			id: "app-crashed", about: "a function, or a worker, that has crashed",
			status: []int{http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable},
			text:   lazily(`FUNCTION_INVOCATION_FAILED|NO_RESPONSE_FROM_FUNCTION|"errorType"\s*:\s*"Runtime\.`),
			means:  "the host answers: the function behind this address has crashed, or has used up what it may",
			do:     "see its log at the host (vercel logs …)",
		},
		{
			id: "no-upstream", about: "a proxy with nothing behind it",
			status: []int{http.StatusBadGateway, http.StatusServiceUnavailable},
			text:   lazily(`^\s*no healthy upstream|^\s*upstream connect error|"message"\s*:\s*"Application failed to respond"|No server is available to handle this request`),
			means:  "a proxy answers, and has no server behind it that works",
			do:     "see that the server runs, and that it listens where the proxy looks for it: on 0.0.0.0, and the port that the host gives it (PORT)",
		},
		{
			id: "upgrade", about: "another protocol than HTTP",
			status: []int{http.StatusUpgradeRequired},
			means:  "another protocol is spoken there than MCP over HTTP (Upgrade)",
			do:     "check the URL: an endpoint for WebSockets is none for MCP over HTTP, which often has a path of its own, such as /mcp",
		},
		{
			id: "file-server", about: "a server of files",
			status: []int{http.StatusNotImplemented},
			text:   lazily(`Unsupported method \('POST'\)`),
			means:  "a server of files answers, which knows no POST (python -m http.server)",
			do:     "check the port in the URL: the MCP server is another one",
		},
		{
			id: "app-stopped", about: "an application that its host has stopped",
			status: []int{http.StatusForbidden, http.StatusNotFound, http.StatusServiceUnavailable},
			text:   lazily(`(?i)\b(?:web ?app|site|space|service|instance|project) (?:is |has been |was )?(?:stopped|disabled|suspended|paused|sleeping)\b`),
			fits:   (*transport.Fault).IsPage, // a server has such words for accounts, too, and no pages
			means:  "the host answers, and has stopped the application",
			do:     "start it again at its host", refusal: true,
		},
		{
			id: "app-stopped", about: "an application that its host has stopped",
			status: []int{http.StatusForbidden, http.StatusNotFound, http.StatusServiceUnavailable},
			text:   lazily(`(?i)x-render-routing: suspend|deployment_paused`),
			means:  "the host answers, and has stopped the application",
			do:     "start it again at its host", refusal: true,
		},
		{
			id: "csrf", about: "a framework that expects the forms of its own pages",
			status: []int{http.StatusBadRequest, http.StatusForbidden, 419, http.StatusUnprocessableEntity},
			text:   lazily(`(?i)\bcsrf\b.{0,40}\b(?:failed|mismatch|missing|invalid|incorrect|required|not found|error)|\b(?:missing|invalid|bad) csrf\b|InvalidAuthenticityToken|'_xsrf' argument missing`),
			means:  "the web framework refuses every POST that does not come from a form of its own (CSRF)",
			do:     "exempt the path of the endpoint from that check (Django: csrf_exempt; Laravel: validateCsrfTokens(except: …), or api routes; Rails: skip_forgery_protection): a token of the server's does not help", refusal: true,
		},
		{
			id: "csrf", about: "a page of Laravel for a form that has expired",
			status: []int{419},
			means:  "the web framework refuses every POST that does not come from a form of its own (CSRF)",
			do:     "exempt the path of the endpoint from that check (Laravel: validateCsrfTokens(except: …), or put it among the api routes): a token of the server's does not help", refusal: true,
		},
		{
			id: "cloudfront-method", about: "a distribution of CloudFront that lets no POST through",
			status: []int{http.StatusForbidden},
			text:   lazily(`(?i)not configured to allow the HTTP request method|distribution supports only cachable requests`),
			means:  "CloudFront answers, and lets no POST through",
			do:     "allow all methods in the behavior of the distribution for this path (GET, HEAD, OPTIONS, PUT, POST, PATCH, DELETE)", refusal: true,
		},
		{
			id: "cloudfront-blocked", about: "a firewall before CloudFront",
			status: []int{http.StatusForbidden},
			text:   lazily(`(?i)The request could not be satisfied(?s:.*)Request blocked|Request blocked\.(?s:.*)CloudFront`),
			means:  "CloudFront answers, and has blocked the request: its firewall, or a limit to certain countries",
			do:     "look which rule of AWS WAF it was, and let programs through to the path of the endpoint: a token does not help", refusal: true,
		},
		{
			id: "worker-threw", about: "a Worker of Cloudflare that failed",
			status: []int{http.StatusInternalServerError, http.StatusServiceUnavailable},
			text:   lazily(`error code: (?:1101|1102)\b|Worker threw exception|Worker exceeded resource limits`),
			means:  "the Worker of Cloudflare at this address failed before it answered (1101: an exception; 1102: a limit of CPU time or memory)",
			do:     "see its log: npx wrangler tail",
		},
		{
			id: "worker-loop", about: "a Worker of Cloudflare that asks another of the same zone",
			text:  lazily(`error code: 1042\b`),
			means: "a Worker of Cloudflare answers, and may not fetch from another Worker of the same zone",
			do:    "reach the other Worker by a service binding, or set the compatibility flag global_fetch_strictly_public",
		},
		{
			id: "azure-key", about: "Azure API Management without its key",
			status: []int{http.StatusUnauthorized},
			text:   lazily(`(?i)\b(?:missing|invalid) subscription key\b`),
			means:  "Azure API Management answers before the server, and wants its subscription key",
			do:     "send it: --header 'Ocp-Apim-Subscription-Key: ${KEY}', or switch \"Subscription required\" off for this API",
		},
		{
			id: "kong-key", about: "Kong without its key",
			status: []int{http.StatusUnauthorized},
			text:   lazily(`No API key found in request`),
			means:  "the gateway Kong answers before the server, and wants an API key",
			do:     "send it in the header that its plugin key-auth names, which is apikey by default: --header 'apikey: ${KEY}'",
		},
		{
			id: "wordpress-route", about: "a route that WordPress does not have",
			status: []int{http.StatusNotFound},
			text:   lazily(`"rest_no_route"`),
			means:  "WordPress answers, and has no such route",
			do:     "activate the plugin with the MCP server, and compare the path with the one that it shows",
		},
	}
})

// byCloudflare reports whether an answer may be Cloudflare's: others have taken to its statuses, and it says its name.
func byCloudflare(f *transport.Fault) bool {
	return f.RPCError == nil && !slices.ContainsFunc(f.Signs, func(sign string) bool {
		name, by, _ := strings.Cut(sign, ": ")
		return name == "Server" && !strings.EqualFold(by, "cloudflare")
	})
}

// strangerOf returns the row that an answer fits, nil if none does.
func strangerOf(f *transport.Fault) *stranger {
	if f == nil {
		return nil
	}
	switch f.Kind {
	case transport.KindStatus, transport.KindContent, transport.KindRedirect:
	case transport.KindOther, transport.KindDNS, transport.KindRefused, transport.KindDial, transport.KindTLS, transport.KindProxy,
		transport.KindSevered, transport.KindNotHTTP, transport.KindStart, transport.KindExit,
		transport.KindTooLarge, transport.KindAuth:
		return nil
	}
	shown := strings.Join(append([]string{f.Title, f.Location, string(f.Body)}, f.Signs...), "\n")
	for _, row := range strangers() {
		if len(row.status) > 0 && !slices.Contains(row.status, f.Status) {
			continue
		}
		if row.fits != nil && !row.fits(f) {
			continue
		}
		if row.text == nil || f.RPCError == nil && row.text().MatchString(shown) { // who answers with JSON-RPC is the server
			return &row
		}
	}
	return nil
}

// meet says who answered in place of the server, if that was recognised.
func (s seen) meet(e *Error) {
	row := s.stranger
	if row == nil || s.abandoned() {
		return
	}
	if f := s.failure(); f != nil && (f.Step != "" || f.Reason != oauth.Refused) {
		return // an authorizer knows better
	}
	e.Symptom, e.Hint = row.id, row.do
	if row.opening != "" && !s.opened {
		e.Hint = row.opening
	}
	if !strings.HasSuffix(e.Message, row.means) {
		e.Message += "; " + row.means
	}
}

// authWords are those of servers that want authorization and do not say so with a status: the whole of a text, or its
// beginning.
var authWords = lazily(`(?i)^\s*` + leadIn + `(` +
	`(missing|no|invalid|expired|bad|incorrect|wrong) (or (missing|invalid|expired) )?(the )?(required )?(bearer |access |auth |api |id )?` +
	`(authorization|authentication|auth|api[ _-]?key|token|jwt|credentials?)( header| token| key)?( (was |were )?(provided|supplied|found|given|in request))?|` +
	`(the )?(authorization|authentication|api[ _-]?key|(bearer |access |auth )?token|jwt|credentials?)( header| credentials?)? ` +
	`(is |are |was |were |has )?(required|missing|expired|invalid|revoked|not (provided|found|set|valid)|malformed|failed)|` +
	`unauthori[sz]ed|unauthenticated|not (authenticated|logged in)|authentication required|login required|invalid_token|missing_token|token_expired|please (log|sign) in` +
	`)\b`)

// wantsAuth reports whether an answer without a status that says so, or a JSON document in place of JSON-RPC, speaks of
// authorization.
func (s seen) wantsAuth() bool {
	f := s.fault
	if f == nil || s.stranger != nil {
		return false
	}
	switch {
	case f.Kind == transport.KindStatus && f.Status == http.StatusBadRequest:
	case f.Kind == transport.KindStatus && f.Status == http.StatusInternalServerError && !s.opened: // nothing was executed
	case f.Kind == transport.KindContent && !s.opened && !f.IsPage():
	default:
		return false
	}
	texts := textsOf(f.Body)
	if s.rpc != nil {
		texts = []string{s.rpc.Message}
	}
	return slices.ContainsFunc(texts, authWords().MatchString)
}
