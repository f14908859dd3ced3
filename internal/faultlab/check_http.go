package faultlab

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// httpProbe is the client that looks at a case over HTTP.
type httpProbe struct {
	c       Case
	server  *Server
	client  *http.Client
	session string
	listed  string // the last answer to tools/list, with its status in front
	leads   string // where the last answer redirects
	out     strings.Builder
}

const (
	httpWait   = 1500 * time.Millisecond // for an answer
	streamWait = 700 * time.Millisecond  // for a stream on which nothing is expected
)

func probeHTTP(c Case) string {
	server, err := c.Serve(HTTPOptions{Delay: c.check.mainDelay()})
	if err != nil {
		return err.Error()
	}
	p := &httpProbe{c: c, server: server, client: &http.Client{
		Transport: &http.Transport{
			TLSClientConfig:    &tls.Config{InsecureSkipVerify: true}, // the transcript says what is wrong with the certificate
			DisableCompression: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	p.printf("url=%s\n", server.URL)
	if c.check.drive != nil {
		c.check.drive(p)
	} else {
		p.usual()
	}
	p.client.CloseIdleConnections()
	if err := server.Close(); err != nil {
		p.printf("close ERR %v\n", err)
	}
	return p.out.String()
}

func (p *httpProbe) printf(format string, args ...any) { _, _ = fmt.Fprintf(&p.out, format, args...) }

// useProxy sends all further requests through a proxy.
func (p *httpProbe) useProxy(proxy string) {
	u, err := url.Parse(proxy)
	if err != nil {
		p.printf("proxy ERR %v\n", err)
		return
	}
	p.client.Transport = &http.Transport{Proxy: http.ProxyURL(u)}
}

// usual is one run of a client.
func (p *httpProbe) usual() {
	for _, path := range p.c.check.fetch {
		p.send("get "+path, http.MethodGet, p.server.Origin+path, "")
	}
	for i, s := range p.c.check.first {
		p.rpc(s.label, 20+i, s.method, s.params)
	}
	p.open()
	p.list()
	for i, s := range p.c.check.more {
		p.rpc(s.label, 30+i, s.method, s.params)
	}
	if p.c.Area == "session" && refused(p.listed) {
		p.recover()
	}
	p.finish()
}

// refused reports whether an answer has the status of an error, or a JSON-RPC error.
func refused(answer string) bool {
	return strings.HasPrefix(answer, "4") || strings.HasPrefix(answer, "5") || strings.Contains(answer, `"error"`)
}

func (p *httpProbe) initialize(label string) {
	p.session = ""
	p.send(label, http.MethodPost, p.server.URL, initializeBody())
}

// open connects and pings.
func (p *httpProbe) open() {
	p.initialize("init")
	p.ready()
}

func (p *httpProbe) ready() {
	p.notifyInitialized("note")
	p.rpc("ping", 10, "ping", `{}`)
}

func (p *httpProbe) list() { p.listed = p.rpc("list", 2, "tools/list", `{}`) }

// recover opens a second session and lists again.
func (p *httpProbe) recover() {
	p.initialize("reinit")
	p.notifyInitialized("renote")
	p.rpc("relist", 6, "tools/list", `{}`)
}

func (p *httpProbe) callTool() { p.rpc("call", 7, "tools/call", p.c.check.toolCall()) }

// finish calls a tool, opens the stream, and ends the session.
func (p *httpProbe) finish() {
	p.callTool()
	p.client.CloseIdleConnections()
	p.get("get", "")
	p.send("delete", http.MethodDelete, p.server.URL, "")
	p.rpc("after-delete", 8, "ping", `{}`)
	p.journal()
}

// legacy looks at a server of the older transport.
func (p *httpProbe) legacy() {
	p.initialize("post")
	p.get("get", "")
}

// legacyMessage is legacy, and sends a message to a session whose stream has gone.
func (p *httpProbe) legacyMessage() {
	p.legacy()
	p.send("message", http.MethodPost, p.server.Origin+"/messages?sessionId=l1", initializeBody())
}

// modern looks at a server of the newest revision.
func (p *httpProbe) modern() {
	p.initialize("init")
	for i, s := range []step{
		{"server/discover", "server/discover", `{` + modernMeta + `}`},
		{"tools/list", "tools/list", `{` + modernMeta + `}`},
		{"call", "tools/call", `{` + modernMeta + `,"name":"echo","arguments":{"text":"hi"}}`},
	} {
		p.send(s.label, http.MethodPost, p.server.URL, requestBody(2+i, s.method, s.params),
			"MCP-Protocol-Version", modernVersion, "Mcp-Method", s.method, "Mcp-Name", "echo")
	}
	p.rpc("nohdr", 6, "tools/list", `{`+modernMeta+`}`)
	p.get("get", "")
}

// rpc sends a request and returns the answer, with its status in front.
func (p *httpProbe) rpc(label string, id int, method, params string) string {
	return p.send(label, http.MethodPost, p.server.URL, requestBody(id, method, params))
}

func (p *httpProbe) notifyInitialized(label string) {
	p.send(label, http.MethodPost, p.server.URL, `{"jsonrpc":"2.0","method":`+quote(initialized)+`}`)
}

// pause lets time pass between two requests.
func (*httpProbe) pause(d time.Duration) { <-time.After(d) }

// get opens the stream, at an event if lastEvent is not "".
func (p *httpProbe) get(label, lastEvent string) {
	var header []string
	if lastEvent != "" {
		header = []string{"Last-Event-ID", lastEvent}
	}
	p.send(label, http.MethodGet, p.server.URL, "", header...)
}

// post sends a message on the present session and writes nothing.
func (p *httpProbe) post(body string) {
	ctx, cancel := context.WithTimeout(context.Background(), httpWait)
	defer cancel()
	r, err := p.newRequest(ctx, http.MethodPost, p.server.URL, body)
	if err != nil {
		return
	}
	if resp, err := p.client.Do(r); err == nil {
		_ = resp.Body.Close()
	}
}

func (p *httpProbe) newRequest(ctx context.Context, method, target, body string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, target, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	if p.session != "" {
		r.Header.Set("Mcp-Session-Id", p.session)
	}
	for name, value := range p.c.check.header {
		r.Header.Set(name, value)
	}
	return r, nil
}

// send makes one HTTP request, writes what came of it, and returns status and body.
func (p *httpProbe) send(label, method, target, body string, header ...string) string {
	wait := httpWait
	if method != http.MethodPost {
		wait = streamWait
	}
	if p.c.check.wait != 0 {
		wait = p.c.check.wait
	}
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	r, err := p.newRequest(ctx, method, target, body)
	if err != nil {
		p.printf("%s ERR %v\n", label, err)
		return ""
	}
	for i := 0; i+1 < len(header); i += 2 {
		if r.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	start := time.Now()
	resp, err := p.client.Do(r)
	if err != nil {
		p.printf("%s ERR %s\n", label, strings.ReplaceAll(err.Error(), "\n", " "))
		return ""
	}
	defer func() { _ = resp.Body.Close() }()
	b, readErr := io.ReadAll(io.LimitReader(resp.Body, 4<<20))
	p.leads = resp.Header.Get("Location")
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" && p.session == "" {
		p.session = id
	}
	p.printf("%s %d ct=%q", label, resp.StatusCode, resp.Header.Get("Content-Type"))
	for _, name := range []string{"Allow", "Content-Encoding", "Location", "Mcp-Session-Id", "Retry-After", "Www-Authenticate", "X-Replica"} {
		if v := resp.Header.Get(name); v != "" {
			p.printf(" %s=%q", strings.ToLower(name), v)
		}
	}
	if resp.TLS != nil && len(resp.TLS.PeerCertificates) > 0 {
		p.printf(" cert expired=%t", resp.TLS.PeerCertificates[0].NotAfter.Before(time.Now()))
	}
	p.printf(" body=%s readerr=%v", strings.NewReplacer("\r", "<CR>", "\n", "<LF>").Replace(shorten(string(b), transcriptLimit)), readErr)
	if time.Since(start) > slowAnswer {
		p.printf(" SLOW")
	}
	p.printf("\n")
	return fmt.Sprintf("%d %s", resp.StatusCode, b)
}

// journal writes what the lab saw, without the HTTP requests, which the transcript has already.
func (p *httpProbe) journal() {
	if b, err := json.Marshal(p.server.Stats()); err == nil {
		p.printf("stats %s\n", b)
	}
	for _, e := range p.server.Events() {
		if e["kind"] != "http" {
			p.printf("log ")
			writeLine(&p.out, e)
		}
	}
}
