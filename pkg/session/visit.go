package session

// What an examination asks a server besides the session's own requests: single HTTP requests that belong to a session,
// each on a TCP connection of its own, with headers that no client would send. They go the same way, with the same
// credentials, as the session's.

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/http/httptrace"

	"github.com/mcpctl/mcpctl/internal/transport"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// Visit is one HTTP request to the endpoint of a session, on a TCP connection of its own.
type Visit struct {
	// Method is the method of the JSON-RPC request that is sent with POST. If it is "", a GET asks for the stream on which
	// the server says what it is not asked.
	Method string
	// Params are its parameters; nil for none. Those that the era demands are added.
	Params map[string]any
	// Header is laid over the headers that the session sends; an empty value leaves the header out. "Host" is one of them.
	Header map[string]string
}

// Reply is how a server answered a [Visit].
type Reply struct {
	// Status is the HTTP status.
	Status int
	// Header are the headers of the answer.
	Header http.Header
	// RPC is the JSON-RPC error in the answer, nil if there was none.
	RPC *RPCError
	// Result is the JSON-RPC result, nil if there was none.
	Result json.RawMessage
	// Snippet is the beginning of an answer that is neither.
	Snippet string
	// Location is where the answer redirects to, "" if it does not.
	Location string
	// Lost is set when the server says that it does not know the session.
	Lost bool
	// Remote is the address that answered: "10.0.0.7:443". Behind a proxy it is the proxy's.
	Remote string
	// Stream is the open stream of a GET, which the caller closes; nil if the server opened none.
	Stream io.ReadCloser
}

// Refused reports whether the server did not do what was asked.
func (r Reply) Refused() bool { return r.Status >= 400 || r.RPC != nil }

// visitID is the id of the requests that visits make. No other request of the session has it.
const visitID = "mcpctl-visit"

// DropIdle closes the TCP connections that the session keeps for its next request.
func (s *Session) DropIdle() {
	if s.http != nil {
		s.http.Drop()
	}
}

// Visits reports whether [Session.Visit] can be used: the session goes over streamable HTTP.
func (s *Session) Visits() bool { return s.http != nil && s.stream == nil }

// Deleted returns the HTTP status with which the server answered the DELETE of the session, 0 if it was not asked, or did not
// answer.
func (s *Session) Deleted() int {
	if s.http == nil {
		return 0
	}
	return s.http.Deleted()
}

// Visit makes one HTTP request that belongs to the session. The failure is an [*Error] when no HTTP answer came. See the
// MCP specification, 2025-11-25, "Streamable HTTP".
func (s *Session) Visit(ctx context.Context, v Visit) (Reply, error) {
	over := http.Header{}
	for name, value := range v.Header {
		if http.CanonicalHeaderKey(name) == "Host" {
			over["Host"] = []string{value} // the connection writes it
		}
	}
	h := s.http.Sibling(over)
	var reply Reply
	ctx, ex := transport.WithExchange(ctx)
	req, err := s.visitRequest(ctx, v, &reply)
	if err != nil {
		h.Close()
		return reply, err
	}
	resp, err := h.Client().Do(req)
	if err == nil && v.Method == "" && resp.StatusCode == http.StatusOK && mediaOf(resp) == "text/event-stream" {
		reply.Status, reply.Header = resp.StatusCode, resp.Header
		reply.Stream = &visitStream{ReadCloser: resp.Body, h: h}
		return reply, nil
	}
	defer h.Close()
	if err == nil {
		reply.Status, reply.Header = resp.StatusCode, resp.Header
		_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, transport.MaxMessage))
		_ = resp.Body.Close()
	}
	st := ex.State()
	if st.Answered {
		reply.Status, reply.Result, reply.RPC = st.Status, st.Result, answeredError(st.Error)
		if st.Error != nil {
			e := classify(evidence{server: s.server, method: v.Method, state: st, opened: true, legacy: s.legacy()})
			reply.Lost = e.kind == kindExpired || e.kind == kindUncertain
		}
		return reply, nil
	}
	if err == nil {
		return reply, nil // to a GET
	}
	f, ok := errors.AsType[*transport.Fault](err)
	if ok {
		st.Fault = f
	}
	e := classify(evidence{server: s.server, method: cmp.Or(v.Method, http.MethodGet), state: st, err: err, ctx: ended(ctx), opened: true, legacy: s.legacy()})
	if !ok || f.Status == 0 {
		return reply, e
	}
	reply.Status, reply.Snippet, reply.RPC = f.Status, f.Snippet(), answeredError(f.RPCError)
	if f.Title != "" {
		reply.Snippet = fmt.Sprintf("%q", f.Title)
	}
	reply.Header, reply.Location = http.Header{"Content-Type": {f.ContentType}}, f.Location
	reply.Lost = e.kind == kindExpired || e.kind == kindUncertain
	return reply, nil
}

// answeredError returns the JSON-RPC error of an answer, nil if it has none.
func answeredError(raw json.RawMessage) *RPCError {
	if len(raw) == 0 {
		return nil
	}
	return rpcError(raw)
}

// visitStream is the stream of a visit. Its end ends the connection.
type visitStream struct {
	io.ReadCloser
	h *transport.HTTP
}

// Close ends the stream.
func (v *visitStream) Close() error {
	v.h.Close()
	return v.ReadCloser.Close()
}

func mediaOf(resp *http.Response) string {
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return media
}

// visitRequest returns the request of a visit, with the headers of the session and those of the visit over them.
func (s *Session) visitRequest(ctx context.Context, v Visit, reply *Reply) (*http.Request, error) {
	method, body := http.MethodGet, io.Reader(nil)
	if v.Method != "" {
		method, body = http.MethodPost, bytes.NewReader(s.visitBody(v))
	}
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		reply.Remote = info.Conn.RemoteAddr().String()
	}})
	req, err := http.NewRequestWithContext(ctx, method, s.endpoint, body)
	if err != nil {
		return nil, err
	}
	header := map[string]string{"Accept": "text/event-stream", "Mcp-Session-Id": s.ID(), "Mcp-Protocol-Version": s.info.ProtocolVersion}
	if v.Method != "" {
		header["Accept"], header["Content-Type"] = "application/json, text/event-stream", "application/json"
		if !s.legacy() {
			header["Mcp-Method"] = v.Method
		}
	}
	for name, value := range v.Header {
		header[http.CanonicalHeaderKey(name)] = value
	}
	for name, value := range header {
		if value != "" && name != "Host" {
			req.Header.Set(name, value)
		}
	}
	return req, nil
}

// visitBody returns the JSON-RPC request of a visit.
func (s *Session) visitBody(v Visit) []byte {
	params := map[string]any{}
	maps.Copy(params, v.Params)
	if !s.legacy() {
		const prefix = "io.modelcontextprotocol/"
		params["_meta"] = map[string]any{
			prefix + "protocolVersion":    s.info.ProtocolVersion,
			prefix + "clientCapabilities": map[string]any{},
			prefix + "clientInfo":         map[string]any{"name": "mcpctl", "version": "doctor"},
		}
	}
	message := map[string]any{"jsonrpc": "2.0", "id": visitID, "method": v.Method}
	if len(params) > 0 {
		message["params"] = params
	}
	data, _ := json.Marshal(message) // of strings and what the caller could encode
	return data
}

// Scatter opens a session by hand and makes n harmless requests on it, one after the other, each on a TCP connection of its
// own: behind an address with several instances that do not share their sessions, some know the session and some do not.
// The session is ended again. It returns no replies when the server gives no session id. The server's variables must have
// been expanded.
func (d *Dialer) Scatter(ctx context.Context, server config.Server, n int) ([]Reply, error) {
	if err := check(server); err != nil {
		return nil, err
	}
	way, failed := d.route(server)
	if failed != nil {
		return nil, failed
	}
	o := &opening{d: d, server: server, limits: LimitsFor(server), route: way, noReuse: true}
	s := o.session()
	defer s.cancel()
	s.http = transport.NewHTTP(o.httpOptions(false))
	defer s.http.Close()
	s.info = Info{Era: EraLegacy}
	me := d.implementation()
	opened, err := s.Visit(ctx, Visit{Method: "initialize", Params: map[string]any{
		"protocolVersion": legacyVersion, "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": me.Name, "version": me.Version},
	}})
	if err != nil {
		return nil, err
	}
	id := opened.Header.Get("Mcp-Session-Id")
	if id == "" {
		return nil, nil
	}
	var chosen struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	_ = json.Unmarshal(opened.Result, &chosen) // without a version none is sent
	s.info.ProtocolVersion = chosen.ProtocolVersion
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deleteWait)
		defer cancel()
		_, _ = s.deleteSession(ctx, id) // at the instance that happens to be asked
	}()
	header := map[string]string{"Mcp-Session-Id": id}
	replies := make([]Reply, 0, n)
	for range n {
		r, err := s.Visit(ctx, Visit{Method: "ping", Header: header})
		if err != nil {
			return replies, err
		}
		replies = append(replies, r)
	}
	return replies, nil
}
