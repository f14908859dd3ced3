package transport

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpctl/mcpctl/internal/rawjson"
)

// envelope is the part of a JSON-RPC 2.0 message that says what it is. Its values are slices of the message: a result may
// be large, and is copied nowhere.
type envelope struct {
	Version string
	ID      json.RawMessage
	Method  string
	Params  json.RawMessage
	Result  json.RawMessage
	Error   json.RawMessage
}

// parseEnvelope decodes a message's envelope. It reports false for anything that is not a JSON-RPC message: a log line
// in JSON, a number, an array.
func parseEnvelope(data []byte) (envelope, bool) {
	var e envelope
	if len(data) == 0 || data[0] != '{' {
		return envelope{}, false
	}
	texts := true // where there must be text
	valid := rawjson.Object(data, func(key string, value []byte) {
		ok := true
		switch key {
		case "jsonrpc":
			e.Version, ok = rawjson.String(value)
		case "id":
			e.ID = value
		case "method":
			if e.Method, ok = rawjson.String(value); !ok {
				ok = string(value) == "null" // as good as missing
			}
		case "params":
			e.Params = value
		case "result":
			e.Result = value
		case "error":
			e.Error = value
		}
		texts = texts && ok
	})
	if !valid || !texts || e.Version != "2.0" {
		return envelope{}, false
	}
	if e.Result != nil && bytes.Equal(e.Error, []byte("null")) {
		e.Error = nil // some servers write both members, always
	}
	return e, e.Method != "" || e.isResponse()
}

func (e envelope) isResponse() bool { return e.Method == "" && (e.Result != nil || e.Error != nil) }

// isCall reports whether the message is a request that wants an answer.
func (e envelope) isCall() bool { return e.Method != "" && !e.nullID() }

func (e envelope) nullID() bool { return len(e.ID) == 0 || bytes.Equal(e.ID, []byte("null")) }

// id returns the id in a form in which 1, "1" and 1.0 are the same: some servers echo it as another type.
func (e envelope) id() string { return canonicalID(e.ID) }

func canonicalID(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	if f, err := strconv.ParseFloat(string(raw), 64); err == nil && f == float64(int64(f)) {
		return strconv.FormatInt(int64(f), 10)
	}
	return string(raw)
}

// maxGivenUp bounds the ids that are remembered of requests that were given up.
const maxGivenUp = 64

// remembered adds an id to the latest ones.
func remembered(ids []string, id string) []string {
	if len(ids) >= maxGivenUp {
		ids = ids[1:]
	}
	return append(ids, id)
}

// withID returns the message with its id replaced.
func withID(message []byte, id json.RawMessage) []byte {
	var whole map[string]json.RawMessage
	if json.Unmarshal(message, &whole) != nil {
		return message
	}
	whole["id"] = id
	encoded, err := json.Marshal(whole)
	if err != nil {
		return message
	}
	return encoded
}

// splitBatch returns the messages of a JSON array, or the message itself. Batches were part of the specification
// 2025-03-26 only; some servers still wrap single messages.
func splitBatch(data []byte) iter.Seq[[]byte] {
	data = trimMessage(data)
	if len(data) == 0 || data[0] != '[' || !rawjson.Valid(data) {
		return slices.Values([][]byte{data})
	}
	return rawjson.Elements(data)
}

// severalMessages returns the messages of a text that is none by itself: those of an array, or several one after the other.
func severalMessages(data []byte) [][]byte {
	if len(data) > 0 && data[0] == '[' {
		if list := slices.Collect(splitBatch(data)); len(list) != 1 || list[0][0] != '[' {
			return list
		}
		return nil
	}
	return splitLines(data)
}

// splitLines returns the messages of a text that holds several, one after the other: bridges from stdio pass on what a child
// writes. It returns nil for any other text.
func splitLines(data []byte) [][]byte {
	var messages [][]byte
	for rest := trimMessage(data); len(rest) > 0; {
		value, after, ok := rawjson.Next(rest)
		if !ok {
			return nil
		}
		if _, ok := parseEnvelope(value); !ok {
			return nil
		}
		messages, rest = append(messages, value), bytes.TrimSpace(after)
	}
	if len(messages) < 2 {
		return nil
	}
	return messages
}

// largeResult is how large a result must be so that the SDK is not given it, in bytes. What it makes of a smaller one
// costs little.
const largeResult = 64 << 10

// forSDK returns a response as the SDK gets it: with the request's own id, and without a large result, which the exchange
// of the request keeps. The SDK would decode it into values that nobody looks at, in several times the memory. It does
// look at lists, at the answers of the handshake, and at what asks for input.
func forSDK(data []byte, e, request envelope, ex *Exchange) []byte {
	if ex == nil || len(e.Result) < largeResult || looksAt(ex.State().Method) {
		return withOwnID(data, e, request)
	}
	if kind, ok := rawjson.String(rawjson.Get(e.Result, "resultType")); ok && kind != "complete" {
		return withOwnID(data, e, request)
	}
	return append(append([]byte(`{"jsonrpc":"2.0","result":{},"id":`), request.ID...), '}')
}

// unreadable returns the error that the SDK gets in place of a response that it cannot decode.
func unreadable(response []byte) []byte {
	return []byte(`{"jsonrpc":"2.0","error":{"code":-32603,"message":"the response cannot be read"},"id":` + string(rawjson.Get(response, "id")) + `}`)
}

// looksAt reports whether the SDK makes something of the results of a method.
func looksAt(method string) bool {
	return method == "initialize" || method == "server/discover" || strings.HasSuffix(method, "/list")
}

// trimMessage removes what does not belong to a message: white space and a byte order mark.
func trimMessage(data []byte) []byte {
	return bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(data), []byte("\uFEFF")))
}
