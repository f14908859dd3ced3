// Package chatter is an MCP server for tests and benchmarks that says much: results of any size, progress and log messages
// in any form, and requests that it never answers. It notes what it hears, so that a test can see what reached it.
//
// It writes as it goes and keeps nothing: what it takes of memory does not depend on what it says. It speaks streamable
// HTTP, the older HTTP with SSE, and stdio, in both eras. It is made of bytes and uses no MCP library, so that it can say
// what a library would not.
package chatter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Server is what all connections have in common.
type Server struct {
	// Heard is told of each message of a client, byte for byte, and of "closed" when a client ends a request by closing its
	// stream. If nil, nobody is.
	Heard func(string)
	// Answer is how requests are answered over HTTP: "json" with the length announced, "chunked" without, "sse" as one event,
	// "lines" as one event whose JSON spans lines. If empty, it is "sse".
	Answer string
	// Modern makes it speak the modern era only, else the legacy era only.
	Modern bool
	// Quiet leaves the logging capability out.
	Quiet bool
}

// message is a JSON-RPC message of a client.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Version   string          `json:"protocolVersion"`
		Meta      struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
}

// text is a JSON text that is written as it is made.
type text struct {
	head, unit, tail string
	// size is how many bytes of units stand between head and tail, whole units; less than 0 is without an end.
	size int
}

func plain(s string) text { return text{head: s} }

// length is how long the text is.
func (t text) length() int { return len(t.head) + t.size + len(t.tail) }

// writeTo writes the text in pieces.
func (t text) writeTo(w io.Writer) error {
	if _, err := io.WriteString(w, t.head); err != nil {
		return err
	}
	if t.size != 0 {
		const piece = 32 << 10
		units := strings.Repeat(t.unit, max(1, piece/len(t.unit)))
		for left := t.size; left != 0; {
			n := len(units)
			if left > 0 {
				n = min(n, left)
				left -= n
			}
			if _, err := io.WriteString(w, units[:n]); err != nil {
				return err
			}
		}
	}
	_, err := io.WriteString(w, t.tail)
	return err
}

// hear takes a message of a client and answers it by say, which may be called several times. Done is closed when the client
// does not wait any more.
func (s *Server) hear(raw []byte, done <-chan struct{}, say func(text) error) {
	if s.Heard != nil {
		s.Heard(string(bytes.TrimSpace(raw)))
	}
	var m message
	if json.Unmarshal(raw, &m) != nil || m.ID == nil || m.Method == "" {
		return
	}
	result := func(t text) error {
		t.head = `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + t.head
		t.tail += "}"
		return say(t)
	}
	switch m.Method {
	case "initialize", "server/discover":
		s.open(m, result, say)
	case "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe":
		_ = result(plain("{}"))
	case "tools/list":
		_ = result(plain(`{"resultType":"complete","tools":[` +
			`{"name":"bulk","inputSchema":{"type":"object","properties":{"size":{"type":"integer"},"kind":{"type":"string"}}},"annotations":{"readOnlyHint":false}},` +
			`{"name":"say","inputSchema":{"type":"object","properties":{"before":{"type":"array"},"after":{"type":"array"},"times":{"type":"integer"},"every":{"type":"number"},"pause":{"type":"number"}}}},` +
			`{"name":"wait","inputSchema":{"type":"object"}}]}`))
	case "tools/call":
		switch m.Params.Name {
		case "bulk":
			_ = bulk(m.Params.Arguments, result)
		case "say":
			s.say(m, done, result, say)
		default:
			<-done
		}
	case "resources/list":
		_ = result(plain(`{"resultType":"complete","resources":[{"uri":"chatter://wait","name":"wait"}]}`))
	case "prompts/list":
		_ = result(plain(`{"resultType":"complete","prompts":[{"name":"wait"}]}`))
	case "resources/read", "prompts/get", "completion/complete":
		<-done
	default:
		_ = say(plain(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32601,"message":"method not found"}}`))
	}
}

// open answers the handshake of either era.
func (s *Server) open(m message, result, say func(text) error) {
	capabilities := `{"tools":{},"resources":{"subscribe":true},"prompts":{},"completions":{},"logging":{}}`
	if s.Quiet {
		capabilities = `{"tools":{}}`
	}
	const about = `"serverInfo":{"name":"chatter","version":"1"}`
	switch {
	case s.Modern && m.Method == "server/discover":
		_ = result(plain(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":` + capabilities + `,` + about + `}`))
	case s.Modern:
		_ = say(plain(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32022,"message":"unsupported protocol version","data":{"supported":["2026-07-28"],"requested":"` + m.Params.Version + `"}}}`))
	case m.Method == "server/discover":
		_ = say(plain(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32601,"message":"method not found"}}`))
	default:
		version := m.Params.Version
		if version == "" {
			version = "2025-11-25"
		}
		_ = result(plain(`{"protocolVersion":` + strconv.Quote(version) + `,"capabilities":` + capabilities + `,` + about + `}`))
	}
}

// bulk answers with a result of a size. Its text has what JSON escapes in it, and characters of several bytes.
func bulk(arguments json.RawMessage, result func(text) error) error {
	a := struct {
		Size int    `json:"size"`
		Kind string `json:"kind"`
	}{Size: 1 << 20, Kind: "text"}
	_ = json.Unmarshal(arguments, &a) // what is missing has its default
	t := text{unit: `A line of \"text\" with ümlauts, as it comes from a server, and its end.\n`}
	switch a.Kind {
	case "image": // base64 of zeros, whose length is a multiple of four
		t.head, t.unit, t.tail = `{"resultType":"complete","content":[{"type":"image","mimeType":"image/png","data":"`, "AAAA", `"}]}`
	case "structured":
		t.head, t.unit, t.tail = `{"resultType":"complete","content":[],"structuredContent":{"rows":[0`, `,{"id":12345678901234567890,"name":"a row"}`, `]}}`
	case "many":
		t.head, t.unit, t.tail = `{"resultType":"complete","content":[{"type":"text","text":"first"}`, `,{"type":"text","text":"and one more block"}`, `]}`
	case "endless":
		t.head, t.size = `{"resultType":"complete","content":[{"type":"text","text":"`, -1
		return result(t)
	default:
		t.head, t.tail = `{"resultType":"complete","content":[{"type":"text","text":"`, `"}]}`
	}
	t.size = max(a.Size, 0) / len(t.unit) * len(t.unit)
	return result(t)
}

// say sends messages before its result, and after it: each of the arguments before and after is a JSON array of whole
// messages, in which "$TOKEN" stands for the token of the request's progress, and "$N" for the number of the round.
func (s *Server) say(m message, done <-chan struct{}, result, say func(text) error) {
	a := struct {
		Before, After []json.RawMessage
		// Times is how often the messages before the result are sent, and Every the seconds between.
		Times int
		Every float64
		// Pause is how many seconds pass before the result.
		Pause float64
	}{Times: 1}
	_ = json.Unmarshal(m.Params.Arguments, &a) // what is missing has its default
	wait := func(seconds float64) bool {
		if seconds <= 0 {
			return true
		}
		timer := time.NewTimer(time.Duration(seconds * float64(time.Second)))
		defer timer.Stop()
		select {
		case <-timer.C:
			return true
		case <-done:
			return false
		}
	}
	token := string(m.Params.Meta.Token)
	if token == "" {
		token = "null"
	}
	send := func(messages []json.RawMessage, round int) {
		for _, raw := range messages {
			filled := strings.NewReplacer(`"$TOKEN"`, token, `"$N"`, strconv.Itoa(round)).Replace(string(raw))
			_ = say(plain(filled))
		}
	}
	for round := range a.Times {
		send(a.Before, round+1)
		if !wait(a.Every) {
			return
		}
	}
	if !wait(a.Pause) {
		return
	}
	_ = result(plain(fmt.Sprintf(`{"resultType":"complete","content":[{"type":"text","text":"said it %d times"}]}`, a.Times)))
	send(a.After, 0)
}
