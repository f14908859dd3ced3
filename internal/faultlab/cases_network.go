package faultlab

import (
	"io"
	"net"
	"net/http"
	"strings"
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
		{
			ID: "CASE-446", Name: "net-http2-only", Area: "network", Over: HTTP, Level: 2,
			Title:   "A port that speaks HTTP/2 without TLS only",
			Source:  "grpc/grpc#31589; dotnet/aspnetcore#39402",
			Symptom: `"malformed HTTP response", "Expected HTTP/", "socket hang up".`,
			Cause:   "The port of a gRPC server, or a server that was set to HTTP/2 only: an answer to HTTP/1.1 is a frame of HTTP/2.",
			Repro:   "Every connection gets a SETTINGS frame at once; what is no HTTP/2 then gets GOAWAY and the end of the connection.",
			Right:   `Says "HTTP/2 without TLS (gRPC?)" and what to do: another port, or HTTP/1.1 on this one.`,
			Exit:    "connect or protocol with that sentence.",
			http:    httpFault{raw: http2Only},
			check:   check{want: `init ERR`, drive: func(p *httpProbe) { p.initialize("init") }},
		},
		{
			ID: "CASE-447", Name: "net-tls-alert", Area: "network", Over: HTTP, Level: 1,
			Title:   "http:// for a TLS port that answers with an alert",
			Source:  "vxcontrol/pentagi#212",
			Symptom: `"malformed HTTP response", "Parse Error: Expected HTTP/".`,
			Cause:   "The URL lacks the s of https.",
			Repro:   "What does not begin as TLS gets the alert 0x15 0x03 0x01 … (protocol version), and the connection ends.",
			Right:   "Says that the port speaks HTTPS, and to write https://.",
			Exit:    "connect or protocol with that sentence.",
			http: httpFault{raw: func(c net.Conn) {
				opening(c)
				_, _ = c.Write([]byte{0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x46}) // fatal, protocol_version (RFC 8446, 6)
			}},
			check: check{want: `init ERR`, drive: func(p *httpProbe) { p.initialize("init") }},
		},
		{
			ID: "CASE-448", Name: "net-tls-closes", Area: "network", Over: HTTP, Level: 2,
			Title:   "http:// for a TLS port that closes without a word",
			Source:  "anthropics/claude-code#5383",
			Symptom: `"socket hang up", "ECONNRESET", "EOF".`,
			Cause:   "The URL lacks the s of https; many TLS servers only close what does not begin as TLS.",
			Repro:   "What begins with the handshake of TLS is answered as a TLS server does; anything else is closed without a byte.",
			Right:   "Finds out that the port speaks TLS, and says to write https://.",
			Exit:    "connect with that sentence.",
			http:    httpFault{raw: tlsOrClose},
			check:   check{want: `init ERR`, drive: func(p *httpProbe) { p.initialize("init") }},
		},
		{
			ID: "CASE-449", Name: "net-https-to-http", Area: "network", Over: HTTP, Level: 1,
			Title:   "https:// for a port that speaks plain HTTP",
			Source:  "portainer/portainer-mcp#35; aaronsb/obsidian-mcp-plugin#18",
			Symptom: `"wrong version number", "server gave HTTP response to HTTPS client".`,
			Cause:   "The URL has an s too many, or TLS ends at a proxy on another port.",
			Repro:   "Healthy plain HTTP; the URL begins with https://.",
			Right:   "Says that the port speaks plain HTTP, and to write http://.",
			Exit:    "connect with that sentence.",
			http:    httpFault{url: func(origin string) string { return strings.Replace(origin, "http:", "https:", 1) + "/mcp" }},
			check:   check{want: `url=https.*init ERR .*HTTP response to HTTPS client`},
		},
		{
			ID: "CASE-453", Name: "net-port-unmapped", Area: "network", Over: HTTP, Level: 2,
			Title:   "A mapped port with nothing behind it",
			Source:  "iuill/playwright-mcp-docker#6; ihor-sokoliuk/mcp-searxng#93",
			Symptom: `"ECONNRESET", "socket hang up", "Empty reply from server".`,
			Cause: `The server in a container listens on 127.0.0.1 there; the port's mapping takes the connection and finds
			nobody to give it to.`,
			Repro: "Every connection is closed before a byte was read.",
			Right: "Says that something takes connections and does not answer, and names 0.0.0.0.",
			Exit:  "connect.",
			http:  httpFault{raw: func(net.Conn) {}},
			check: check{want: `init ERR`, drive: func(p *httpProbe) { p.initialize("init") }},
		},
	}
}

// opening waits for the first bytes of a connection.
func opening(c net.Conn) []byte {
	first := make([]byte, 16)
	n, _ := c.Read(first)
	return first[:n]
}

// http2Only begins as a server of HTTP/2 does, and ends a connection whose client does not. See RFC 9113, 3.4, 6.5 and 6.8.
func http2Only(c net.Conn) {
	_, _ = c.Write([]byte{0, 0, 0, 4, 0, 0, 0, 0, 0}) // SETTINGS, empty
	if string(opening(c)) == "PRI * HTTP/2.0\r\n" {
		_, _ = io.Copy(io.Discard, c) // nobody needs more of it
		return
	}
	_, _ = c.Write([]byte{0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}) // GOAWAY, PROTOCOL_ERROR
}

// tlsOrClose answers the hello of TLS with the alert that there is no common ground, and closes all else.
func tlsOrClose(c net.Conn) {
	if first := opening(c); len(first) > 2 && first[0] == 0x16 && first[1] == 0x03 {
		_, _ = c.Write([]byte{0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x28}) // fatal, handshake_failure (RFC 8446, 6)
	}
}
