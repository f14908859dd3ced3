package transport

import (
	"context"
	"encoding/json"
	"maps"
	"sync"
)

// Exchange is what one request looked like on the wire. Put one into the context of a request with [WithExchange]; the
// transport fills it. It holds the latest request that was sent with that context. Safe for concurrent use.
type Exchange struct {
	mu       sync.Mutex
	override json.RawMessage
	method   string
	state    ExchangeState
}

// ExchangeState is a snapshot of an [Exchange].
type ExchangeState struct {
	// Method is the method of the request, "" if none was begun.
	Method string
	// Written is set when at least one byte of the request may have reached the other side.
	Written bool
	// SessionID reports whether the request carried a session id.
	SessionID bool
	// Status is the HTTP status of the answer, 0 on other transports or without an answer.
	Status int
	// Read is how many bytes of the HTTP answer's body have come, and Length how many it announced, -1 if it did not.
	Read, Length int64
	// Answered is set when a JSON-RPC response with the request's id came back. Result or Error is then set.
	Answered bool
	// Result is the response's result, byte for byte.
	Result json.RawMessage
	// Error is the response's error object, byte for byte.
	Error json.RawMessage
	// Fault is what went wrong on the wire, nil if nothing was seen to go wrong.
	Fault *Fault
}

type exchangeKey struct{}

// WithExchange returns a context whose requests are recorded in the returned exchange.
func WithExchange(ctx context.Context) (context.Context, *Exchange) {
	ex := &Exchange{}
	return context.WithValue(ctx, exchangeKey{}, ex), ex
}

// exchangeOf returns the exchange of ctx, or nil. All methods of a nil exchange do nothing.
func exchangeOf(ctx context.Context) *Exchange {
	ex, _ := ctx.Value(exchangeKey{}).(*Exchange)
	return ex
}

// State returns what has been seen so far.
func (x *Exchange) State() ExchangeState {
	if x == nil {
		return ExchangeState{}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.state
}

// SetParams makes the next requests carry the members of params, a JSON object, in place of those that the SDK encoded
// from its own types, which lose digits and cannot express every value. Members that only the SDK set stay.
func (x *Exchange) SetParams(params json.RawMessage) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.override = params
}

// SetMethod makes the next requests carry this method in place of the one that the SDK was asked for: some methods of MCP
// it sends by itself, and lets nobody send.
func (x *Exchange) SetMethod(method string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.method = method
}

// rename returns the method under which a request goes over the wire.
func (x *Exchange) rename(method string) string {
	if x == nil {
		return method
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.method != "" {
		return x.method
	}
	return method
}

func (x *Exchange) begin(method string) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.state = ExchangeState{Method: method}
}

func (x *Exchange) update(f func(*ExchangeState)) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	f(&x.state)
}

func (x *Exchange) wrote() { x.update(func(s *ExchangeState) { s.Written = true }) }

func (x *Exchange) answer(e envelope) {
	x.update(func(s *ExchangeState) {
		s.Answered, s.Result, s.Error = true, e.Result, e.Error
	})
}

func (x *Exchange) fail(f *Fault) {
	x.update(func(s *ExchangeState) {
		if f.Written {
			s.Written = true
		}
		if f.Status != 0 {
			s.Status = f.Status
		}
		s.Fault = f
	})
}

// params returns the encoded request with the override laid over its params, and with the method that it is to carry.
func (x *Exchange) params(message []byte) []byte {
	if x == nil {
		return message
	}
	x.mu.Lock()
	override, method := x.override, x.method
	x.mu.Unlock()
	if override == nil {
		return message
	}
	var whole, params, over map[string]json.RawMessage
	if json.Unmarshal(message, &whole) != nil || json.Unmarshal(override, &over) != nil {
		return message
	}
	if method != "" {
		name, err := json.Marshal(method)
		if err != nil {
			return message
		}
		whole["method"] = name
	}
	if json.Unmarshal(whole["params"], &params) != nil || params == nil {
		params = map[string]json.RawMessage{}
	}
	for key, value := range over {
		if key == "_meta" {
			value = mergeObjects(value, params[key])
		}
		params[key] = value
	}
	encoded, err := encode(params)
	if err != nil {
		return message
	}
	whole["params"] = encoded
	if encoded, err = encode(whole); err != nil {
		return message
	}
	return encoded
}

// mergeObjects returns the members of base with those of over laid over them. What is not an object loses.
func mergeObjects(base, over json.RawMessage) json.RawMessage {
	var b, o map[string]json.RawMessage
	if json.Unmarshal(base, &b) != nil || b == nil {
		return over
	}
	if json.Unmarshal(over, &o) != nil {
		return base
	}
	maps.Copy(b, o)
	merged, err := encode(b)
	if err != nil {
		return base
	}
	return merged
}
