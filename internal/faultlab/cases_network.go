package faultlab

import (
	"net/http"
	"time"
)

// networkCases are the cases about TLS, proxies and ports.
func networkCases() []Case {
	return []Case{
		{
			ID: "CASE-100", Name: "tls-self-signed", Area: "network", Over: HTTP, Level: 1,
			Title:   "Unknown certificate authority",
			Source:  "modelcontextprotocol/inspector#584; MCPJam/inspector#1014",
			Symptom: `"fetch failed".`,
			Cause:   "Private CA or self-signed certificate.",
			Repro:   "https with a certificate from a test CA (ca.pem can be written).",
			Right: `"TLS: certificate signed by unknown authority (issuer ...)"; names the ways to trust a CA (per
			server, SSL_CERT_FILE). With the CA given: works. Any insecure switch is explicit and warned
			about.`,
			Exit:  "connect; ok with the CA.",
			http:  httpFault{tls: &tlsFault{}},
			check: check{want: `url=https.*init 200`},
		},
		{
			ID: "CASE-101", Name: "net-proxy-required", Area: "network", Over: HTTP, Level: 2,
			Title:   "Only the corporate proxy gets through",
			Source:  "punkpeye/mcp-remote#124",
			Symptom: "ECONNRESET or timeouts; proxy variables ignored.",
			Cause:   "HTTP client without proxy support.",
			Repro: `HTTP_PROXY points to a proxy; URL http://mcp.corp.test/mcp (name does not resolve). Direct
			requests to the proxy port get 403.`,
			Right: `Uses the proxy; doctor says which proxy applies (without its password). Custom transports keep
			proxy support.`,
			Exit: "ok with HTTP_PROXY; connect without (DNS failure named).",
			http: httpFault{
				url: func(string) string { return "http://mcp.corp.test/mcp" },
				request: func(x *exchange) bool {
					if x.r.URL.Host == "" { // a request meant for a proxy names the host in its first line
						x.text(http.StatusForbidden, "text/plain", "Direct access is blocked. Use the corporate proxy.\n")
						return true
					}
					x.s.log("via_proxy", "target", x.r.URL.String())
					return false
				},
			},
			check: check{
				want: `direct 403.*init 200.*list 200.*via_proxy`,
				drive: func(p *httpProbe) {
					p.send("direct", http.MethodPost, p.server.Origin+"/mcp", initializeBody())
					p.useProxy(p.server.Origin)
					p.usual()
				},
			},
		},
		{
			ID: "CASE-102", Name: "tls-expired", Area: "network", Over: HTTP, Level: 2,
			Title:   "Expired certificate",
			Source:  "microsoft/vscode#248170",
			Symptom: `"fetch failed".`,
			Cause:   "Certificate out of date.",
			Repro:   "Certificate from the test CA, expired yesterday.",
			Right:   `"certificate expired on DATE" even when the CA is trusted.`,
			Exit:    "connect.",
			http:    httpFault{tls: &tlsFault{expired: true}},
			check:   check{want: `url=https.*init 200 .*cert expired=true`},
		},
		{
			ID: "CASE-103", Name: "tls-mtls", Area: "network", Over: HTTP, Level: 3,
			Title:   "Client certificate required",
			Source:  "NousResearch/hermes-agent#33721; anomalyco/opencode#26862",
			Symptom: `"bad certificate" or EOF.`,
			Cause:   "Server demands a client certificate.",
			Repro:   "TLS with RequireAndVerifyClientCert (client.pem, client.key, ca.pem can be written).",
			Right: `"server requires a client certificate"; with cert and key configured works; a missing file is
			named before connecting.`,
			Exit:  "connect; ok with the files.",
			http:  httpFault{tls: &tlsFault{clientCert: true}},
			check: check{want: `init ERR .*(certificate required|bad certificate|remote error)`},
		},
		{
			ID: "CASE-104", Name: "net-late-listen", Area: "network", Over: HTTP, Level: 2,
			Title:   "Server starts a few seconds later",
			Source:  "rancher/rancher-ai-agent#269",
			Symptom: "Permanent failure because the port was closed for three seconds.",
			Cause:   "No retry on refused connections.",
			Repro:   "Port opens after 3 s.",
			Right: `Retries for a short, documented time, or fails at once with a clear "refused" and offers a wait
			option. doctor re-check shows recovery.`,
			Exit: "ok or connect as documented.",
			http: httpFault{listenAfter: 3 * time.Second},
			check: check{
				want: `init ERR .*refused.*init 200`,
				drive: func(p *httpProbe) {
					p.initialize("init")
					p.pause(900 * time.Millisecond)
					p.usual()
				},
			},
		},
	}
}
