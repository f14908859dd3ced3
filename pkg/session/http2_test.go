package session

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// frames is an HTTP/2 server that answers tools/call, after it has run, with a frame of the test's choice.
type frames struct {
	calls  atomic.Int32
	called func(f *http2.Framer, stream uint32)
}

// serve returns the URL of the server.
func (s *frames) serve(t *testing.T) string {
	t.Helper()
	certified := httptest.NewTLSServer(nil) // for its certificate
	certificates := certified.TLS.Certificates
	certified.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{NextProtos: []string{"h2"}, Certificates: certificates, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.connection(c)
		}
	}()
	return "https://" + l.Addr().String() + "/mcp"
}

func (s *frames) connection(c net.Conn) {
	defer func() { _ = c.Close() }()
	if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	f := http2.NewFramer(c, c)
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if f.WriteSettings() != nil {
		return
	}
	bodies := map[uint32][]byte{}
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() && f.WriteSettingsAck() != nil {
				return
			}
		case *http2.DataFrame:
			id := frame.StreamID
			bodies[id] = append(bodies[id], frame.Data()...)
			if frame.StreamEnded() {
				s.answer(f, id, bodies[id])
			}
		}
	}
}

func (s *frames) answer(f *http2.Framer, id uint32, body []byte) {
	var msg struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	_ = json.Unmarshal(body, &msg)
	status, answer := "200", ""
	switch msg.Method {
	case "initialize":
		answer = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`, msg.ID)
	case "tools/call":
		s.calls.Add(1)
		s.called(f, id)
		return
	case "server/discover":
		answer = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, msg.ID)
	default:
		status = "202"
	}
	var head bytes.Buffer
	enc := hpack.NewEncoder(&head)
	_ = enc.WriteField(hpack.HeaderField{Name: ":status", Value: status})
	_ = enc.WriteField(hpack.HeaderField{Name: "content-type", Value: "application/json"})
	_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: head.Bytes(), EndHeaders: true, EndStream: answer == ""})
	if answer != "" {
		_ = f.WriteData(id, true, []byte(answer))
	}
}

// TestPF06NoReplayByHTTP2 shows that net/http does not send a request again that the server refused with a frame: the
// protocol says that it was not executed, and not every server keeps to that.
func TestPF06NoReplayByHTTP2(t *testing.T) {
	for name, called := range map[string]func(*http2.Framer, uint32){
		"REFUSED_STREAM": func(f *http2.Framer, id uint32) { _ = f.WriteRSTStream(id, http2.ErrCodeRefusedStream) },
		"GOAWAY":         func(f *http2.Framer, id uint32) { _ = f.WriteGoAway(id-2, http2.ErrCodeNo, nil) },
		"INTERNAL_ERROR": func(f *http2.Framer, id uint32) { _ = f.WriteRSTStream(id, http2.ErrCodeInternal) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := &frames{called: called}
			s := supervise(t, config.Server{Name: "s", URL: srv.serve(t), TLS: config.TLS{InsecureSkipVerify: true}})
			_, err := call(t.Context(), s, "pay", nil, false)
			if n := srv.calls.Load(); ClassOf(err) != ClassUnknownOutcome || n != 1 {
				t.Errorf("%d executions, %v", n, err)
			}
			if strings.Contains(err.Error(), "GetBody") {
				t.Errorf("a library's words: %v", err)
			}
		})
	}
}
