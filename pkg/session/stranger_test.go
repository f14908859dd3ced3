package session

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/mcpctl/mcpctl/internal/transport"
)

// TestEachStrangerIsRecognised shows that every row of the table fits what such an answer looks like, and what is said of it.
func TestEachStrangerIsRecognised(t *testing.T) {
	t.Parallel()
	page := func(status int, title string) transport.Fault {
		return transport.Fault{Kind: transport.KindStatus, Status: status, ContentType: "text/html", Title: title, Written: true}
	}
	body := func(status int, body string) transport.Fault {
		return transport.Fault{Kind: transport.KindStatus, Status: status, Body: []byte(body), Written: true}
	}
	signed := func(f transport.Fault, signs ...string) transport.Fault {
		f.Signs = signs
		return f
	}
	answered := func(status int) transport.Fault {
		f := body(status, `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"the database took too long"}}`)
		f.RPCError, f.OwnID = []byte(`{"code":-32000,"message":"the database took too long"}`), true
		return f
	}
	seen := []struct {
		row   string
		fault transport.Fault
		class Class  // while a session is being opened
		do    string // part of the next step
	}{
		{"bot-check", page(403, "Just a moment..."), ClassConnect, "token does not help"},
		{"bot-check", signed(page(403, ""), "Cf-Mitigated: challenge"), ClassConnect, "WAF"},
		{"bot-check", body(403, "error code: 1010"), ClassConnect, ""},
		{"bot-check", page(503, "Just a moment..."), ClassConnect, ""},
		{"tunnel-upstream", signed(page(502, ""), "Ngrok-Error-Code: ERR_NGROK_8012"), ClassConnect, "start the server"},
		{"tunnel-offline", signed(page(404, "ngrok"), "Ngrok-Error-Code: ERR_NGROK_3200"), ClassConnect, "start the tunnel"},
		{"tunnel-offline", body(530, "error code: 1033"), ClassConnect, "start the tunnel"},
		{"tunnel-page", transport.Fault{Kind: transport.KindContent, Status: 200, ContentType: "text/html", Body: []byte("<noscript>You are about to visit a.ngrok-free.app (ERR_NGROK_6024)</noscript>"), Written: true}, ClassConnect, "ngrok-skip-browser-warning"},
		{"cloudflare", page(522, "example.com | 522: Connection timed out"), ClassConnect, "firewall"},
		{"cloudflare", page(525, "example.com | 525: SSL handshake failed"), ClassConnect, "certificate"},
		{"gateway-timeout", page(524, "example.com | 524: A timeout occurred"), ClassConnect, "is running"},
		{"gateway-timeout", page(504, "504 Gateway Time-out"), ClassConnect, "is running"},
		{"body-size", page(413, "413 Request Entity Too Large"), ClassConnect, "client_max_body_size"},
		{"body-size", body(500, "PayloadTooLargeError: request entity too large"), ClassConnect, ""},
		{"header-size", page(431, ""), ClassConnect, "token"},
		{"header-size", page(400, "400 Request Header Or Cookie Too Large"), ClassConnect, "token"},
		{"cloudflare-access", transport.Fault{Kind: transport.KindRedirect, Status: 302, Location: "https://corp.cloudflareaccess.com/cdn-cgi/access/login/x", Written: true}, ClassConnect, "CF-Access-Client-Id"},
		{"api-gateway-route", body(403, `{"message":"Missing Authentication Token"}`), ClassConnect, "stage"},
		{"google-iam", page(403, "403 Forbidden Your client does not have permission to get URL"), ClassAuth, "identity-token"},
		{"vercel-protection", body(401, `<a href="https://vercel.com/sso-api">`), ClassAuth, "x-vercel-protection-bypass"},
		{"app-missing", body(404, `{"status":"error","code":404,"message":"Application not found"}`), ClassConnect, "deployed"},
		{"app-missing", signed(body(404, "The deployment could not be found"), "X-Vercel-Error: DEPLOYMENT_NOT_FOUND"), ClassConnect, "deployed"},
		{"app-stopped", page(403, "Web App - Unavailable: this web app is stopped."), ClassConnect, "start it again"},
		{"app-stopped", signed(body(503, "Service Suspended"), "X-Render-Routing: suspend-by-user"), ClassConnect, ""},
		{"csrf", body(403, "<title>403 Forbidden</title><p>CSRF verification failed. Request aborted.</p>"), ClassConnect, "csrf_exempt"},
		{"csrf", body(419, `{"message": "CSRF token mismatch."}`), ClassConnect, "Laravel"},
		{"csrf", page(419, "Page Expired"), ClassConnect, "api routes"},
		{"csrf", body(403, `{"message": "'_xsrf' argument missing from POST"}`), ClassConnect, ""},
		{"cloudfront-method", body(403, "This distribution is not configured to allow the HTTP request method that was used for this request."), ClassConnect, "POST"},
		{"cloudfront-blocked", signed(body(403, "<TITLE>ERROR: The request could not be satisfied</TITLE> Request blocked."), "Server: CloudFront"), ClassConnect, "WAF"},
		{"worker-threw", body(500, "error code: 1101"), ClassConnect, "wrangler tail"},
		{"worker-loop", body(404, "error code: 1042"), ClassConnect, "service binding"},
		{"azure-key", body(401, `{"message":"Access denied due to invalid subscription key."}`), ClassAuth, "Ocp-Apim-Subscription-Key"},
		{"kong-key", body(401, `{"message":"No API key found in request"}`), ClassAuth, "apikey"},
		{"api-gateway-key", signed(body(403, `{"message":"Forbidden"}`), "X-Amzn-Errortype: ForbiddenException"), ClassAuth, "x-api-key"},
		{"aws-signature", signed(body(403, `{"message":"Forbidden"}`), "X-Amzn-Errortype: IncompleteSignatureException"), ClassConnect, "proxy sign"},
		{"aws-signature", body(403, `{"message":"The security token included in the request is invalid."}`), ClassConnect, ""},
		{"mesh-policy", body(403, "RBAC: access denied"), ClassAuth, "AuthorizationPolicy"},
		{"csrf", transport.Fault{Kind: transport.KindStatus, Status: 403, Title: "403 Forbidden", Body: []byte("<p>CSRF verification failed. Request aborted.</p>"), Written: true}, ClassConnect, "csrf_exempt"},
		{"csrf", page(419, "Page Expired"), ClassConnect, "Laravel"},
		{"payment", body(402, `{"x402Version":1,"error":"X-PAYMENT header is required"}`), ClassConnect, "X-PAYMENT"},
		{"app-crashed", signed(body(500, "A server error has occurred"), "X-Vercel-Error: FUNCTION_INVOCATION_FAILED"), ClassConnect, "log at the host"},
		{"no-upstream", body(503, "no healthy upstream"), ClassBusy, "0.0.0.0"},
		{"no-upstream", body(502, `{"status":"error","code":502,"message":"Application failed to respond"}`), ClassConnect, "PORT"},
		{"upgrade", signed(body(426, "Upgrade Required"), "Upgrade: websocket"), ClassConnect, "WebSockets"},
		{"file-server", page(501, "Error response: Unsupported method ('POST')"), ClassConnect, "port"},
		{"wordpress-route", body(404, `{"code":"rest_no_route","message":"No route was found"}`), ClassConnect, "plugin"},

		{"", body(403, "Forbidden: your role cannot call this tool"), ClassAuth, ""},
		{"", body(404, "404 page not found"), ClassConnect, ""},
		{"", body(500, "Internal Server Error"), ClassConnect, ""},
		{"", transport.Fault{Kind: transport.KindStatus, Status: 403, RPCError: []byte(`{"code":-32001,"message":"this service is suspended"}`), Body: []byte(`{"error":{"message":"this service is suspended"}}`), Written: true}, ClassAuth, ""},
		{"", transport.Fault{Kind: transport.KindSevered, Body: []byte("error code: 1033")}, ClassConnect, ""},
		// What a server says of itself, and of what it is about.
		{"", body(403, `{"error":"your account has been suspended"}`), ClassAuth, ""},
		{"", body(403, `{"error":"this project has been disabled by its owner"}`), ClassAuth, ""},
		{"", body(503, "the endpoint billing is offline"), ClassBusy, ""},
		{"", body(404, `{"error":"Tunnel 7 not found"}`), ClassConnect, ""},
		{"", signed(body(530, "site frozen"), "Server: Pantheon"), ClassConnect, ""},
		{"", answered(504), ClassConnect, ""},
	}
	met := map[string]bool{}
	for _, c := range seen {
		met[c.row] = true
		e := classify(evidence{method: "initialize", state: failed(c.fault)})
		if e.Symptom != c.row || e.Class != c.class || !strings.Contains(e.Hint, c.do) || c.row != "" && e.Hint == "" {
			t.Errorf("%d %q %.60s: symptom %q, class %s, hint %q; want %q, %s, %q", c.fault.Status, c.fault.Title, c.fault.Body, e.Symptom, e.Class, e.Hint, c.row, c.class, c.do)
		}
	}
	for _, row := range strangers() {
		if !met[row.id] {
			t.Errorf("no example of %s (%s)", row.id, row.about)
		}
	}
}

// TestATimeOfAGatewayIsNoneOfTheOpening shows that what is said of a proxy that gave up is about the call, once there is one.
func TestATimeOfAGatewayIsNoneOfTheOpening(t *testing.T) {
	t.Parallel()
	e := classify(evidence{method: "tools/call", opened: true, state: status(504, true, "")})
	if !strings.Contains(e.Hint, "proxy_read_timeout") {
		t.Errorf("hint %q", e.Hint)
	}
}

// TestWordsAboutAuthorization shows which words mean that a server wants authorization, when its status does not say so.
func TestWordsAboutAuthorization(t *testing.T) {
	t.Parallel()
	opening := func(f transport.Fault) *Error { return classify(evidence{method: "initialize", state: failed(f)}) }
	said := func(status int, kind transport.Kind, body string) transport.Fault {
		return transport.Fault{Kind: kind, Status: status, Body: []byte(body), ContentType: "application/json", Written: true}
	}
	wants := []string{
		"bad request: missing required Authorization header", "Authorization header is missing", "Unauthorized",
		`{"error":"invalid_token","error_description":"The access token expired"}`, `{"error":"jwt expired"}`, `{"message":"Missing API key"}`,
		`{"error":{"message":"Invalid API key provided"}}`, `{"detail":"Not authenticated"}`, `{"detail":"Authentication credentials were not provided."}`,
		"no token provided", "token has expired", "API key is required", "Authentication required",
	}
	for _, text := range wants {
		for _, f := range []transport.Fault{said(400, transport.KindStatus, text), said(500, transport.KindStatus, text), said(200, transport.KindContent, text)} {
			if e := opening(f); e.Class != ClassAuth {
				t.Errorf("%d %s: class %s", f.Status, text, e.Class)
			}
		}
	}
	other := []string{
		"Internal Server Error", "missing required parameter token_count", "the tokenizer is missing", "invalid tokens in the JSON at 5",
		`{"error":"unexpected token < in JSON"}`, "authorization server metadata could not be written",
	}
	for _, text := range other {
		if e := opening(said(400, transport.KindStatus, text)); e.Class == ClassAuth {
			t.Errorf("%s: class auth", text)
		}
	}
	// A 500 of a call may come after it was executed, and what a tool asked of others may speak of tokens.
	if e := classify(evidence{method: "tools/call", opened: true, state: status(http.StatusInternalServerError, true, "jwt expired")}); e.Class == ClassAuth || e.Outcome != OutcomeUnknown {
		t.Errorf("500 of a call: %s, %s", e.Class, e.Outcome)
	}
	if e := classify(evidence{method: "tools/call", opened: true, state: status(http.StatusBadRequest, true, "token expired")}); e.Class != ClassAuth || e.Outcome != OutcomeRefused {
		t.Errorf("400 of a call: %s, %s", e.Class, e.Outcome)
	}
}

// TestRedirectsToLogins shows which targets of redirects are pages to log in at.
func TestRedirectsToLogins(t *testing.T) {
	t.Parallel()
	logins := []string{
		"https://corp.example/login?next=/mcp", "https://login.microsoftonline.com/x/oauth2/authorize", "https://accounts.google.com/o/oauth2/v2/auth",
		"https://sso.example.com/x", "https://a.example/auth/sign-in", "https://id.example/oauth2/start",
	}
	others := []string{"https://a.example/mcp", "https://blogin.example/mcp", "https://a.example/mcp/", "https://a.example/catalog/in"}
	for _, u := range slices.Concat(logins, others) {
		if got, want := loginPlaces().MatchString(u), slices.Contains(logins, u); got != want {
			t.Errorf("%s: %t", u, got)
		}
	}
}
