package transport

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// envelope is the part of a JSON-RPC 2.0 message that says what it is.
type envelope struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

// parseEnvelope decodes a message's envelope. It reports false for anything that is not a JSON-RPC message: a log line
// in JSON, a number, an array.
func parseEnvelope(data []byte) (envelope, bool) {
	var e envelope
	if len(data) == 0 || data[0] != '{' || json.Unmarshal(data, &e) != nil || e.Version != "2.0" {
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
func splitBatch(data []byte) []json.RawMessage {
	data = trimMessage(data)
	var batch []json.RawMessage
	if len(data) > 0 && data[0] == '[' && json.Unmarshal(data, &batch) == nil {
		return batch
	}
	return []json.RawMessage{data}
}

// trimMessage removes what does not belong to a message: white space and a byte order mark.
func trimMessage(data []byte) []byte {
	return bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(data), []byte("\uFEFF")))
}
