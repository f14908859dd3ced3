package transport

import (
	"bytes"
	"encoding/json"
	"time"
)

// askKey is where a request of the server carries its own parameters past the SDK, whose types lose the order of
// properties, digits, and whatever they do not know.
const askKey = "mcpctl/params"

// asks are the requests that a server may make of a client, ping apart. See the MCP specification, 2025-11-25, "Client
// Features".
func asks(method string) bool {
	return method == "elicitation/create" || method == "sampling/createMessage" || method == "roots/list"
}

// carried returns a message of the server as the SDK is to see it: a request that the client answers carries its
// parameters as a text. [Asked] takes them out again.
func carried(e envelope, data []byte) []byte {
	if !e.isCall() || !asks(e.Method) {
		return data
	}
	var whole map[string]json.RawMessage
	if json.Unmarshal(data, &whole) != nil {
		return data
	}
	params := whole["params"]
	if params == nil {
		params = json.RawMessage("{}")
	}
	wrapped, err := encode(map[string]map[string]string{"_meta": {askKey: string(params)}})
	if err != nil {
		return data
	}
	whole["params"] = wrapped
	if wrapped, err = encode(whole); err != nil {
		return data
	}
	return wrapped
}

// Asked returns the parameters of a request of the server's, byte for byte, from the _meta that the SDK saw. It reports
// false if there are none.
func Asked(meta map[string]any) (json.RawMessage, bool) {
	text, ok := meta[askKey].(string)
	return json.RawMessage(text), ok
}

// encode is json.Marshal without changes to text inside raw JSON: < and > stay what they are.
func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// listenBound is how long a call may wait for the stream on which the server may ask something: it opens while the
// handshake ends. Servers that take longer say nothing until they have something to say.
const listenBound = time.Second

// begun notes that the standalone stream is being opened.
func (h *HTTP) begun() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.listening == nil {
		h.listening = make(chan struct{})
		time.AfterFunc(listenBound, h.tried)
	}
}

// tried notes that it is known how the opening of the standalone stream went, or that nobody is to wait for it any more.
func (h *HTTP) tried() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.listening != nil && !h.listenTried {
		h.listenTried = true
		close(h.listening)
	}
}

// Listening returns a channel that is closed when the stream of what the server says unasked has been opened, or has not
// been within a second; nil if there is none.
func (h *HTTP) Listening() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.listening
}
