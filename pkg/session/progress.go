package session

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Progress is what a server reports of a request while it is at work. See the MCP specification, 2025-11-25,
// "Progress".
type Progress struct {
	// Progress grows; it is in a unit of the server's own.
	Progress float64
	// Total is where Progress ends, 0 if the server does not know.
	Total float64
	// Message says what is being done, "" if the server does not.
	Message string
}

type (
	progressKey struct{}
	keepKey     struct{}
)

// keepProgress returns a context whose requests' progress is listened to when they have been answered, too: until what keep
// gets is called.
func keepProgress(ctx context.Context, keep func(forget func())) context.Context {
	return context.WithValue(ctx, keepKey{}, keep)
}

// WithProgress returns a context whose requests report their progress to fn. It is called from one goroutine at a time
// for a request, and may be called a moment after the request has ended. Whether or not somebody listens, progress
// begins the request limit anew.
func WithProgress(ctx context.Context, fn func(Progress)) context.Context {
	return context.WithValue(ctx, progressKey{}, fn)
}

// progress gives what a server reports to the requests of one session.
type progress struct {
	mu       sync.Mutex
	last     int
	requests map[string]*listener // of the requests that wait, by token
}

// listener is who wants to know of the progress of one request.
type listener struct {
	bound *bound
	fn    func(Progress) // nil if nobody does
	// telling is held while fn is called: reports may come on several streams at once.
	telling sync.Mutex
	count   int // of the reports
}

// progressMade is the notification that tells of progress.
const progressMade = "notifications/progress"

// reports are the methods that may take long enough to report progress.
var reports = map[string]bool{"tools/call": true, "prompts/get": true, "resources/read": true, "completion/complete": true}

// expect returns params with a token for the progress of the request. done is called when the request has ended, and
// returns how often progress was reported. A token that is in params already is left alone: whoever put it there listens.
func (p *progress) expect(ctx context.Context, method string, params json.RawMessage) (withToken json.RawMessage, done func() int) {
	done = func() int { return 0 }
	if !reports[method] {
		return params, done
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	token := strconv.Itoa(p.last + 1)
	encoded, ok := withMeta(params, "progressToken", json.RawMessage(token))
	if !ok {
		return params, done
	}
	p.last++
	if p.requests == nil {
		p.requests = map[string]*listener{}
	}
	fn, _ := ctx.Value(progressKey{}).(func(Progress))
	l := &listener{bound: boundOf(ctx), fn: fn}
	p.requests[token] = l
	forget := func() int {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.requests, token)
		return l.count
	}
	if keep, ok := ctx.Value(keepKey{}).(func(func())); ok {
		keep(func() { forget() })
		return encoded, func() int {
			p.mu.Lock()
			defer p.mu.Unlock()
			return l.count
		}
	}
	return encoded, forget
}

// withMeta lays one value into the _meta of params. It reports false for params that have one of that name already, or are
// no object.
func withMeta(params json.RawMessage, key string, value json.RawMessage) (json.RawMessage, bool) {
	var whole, meta map[string]json.RawMessage
	if json.Unmarshal(params, &whole) != nil || whole == nil {
		return params, false
	}
	if raw, ok := whole["_meta"]; ok && (json.Unmarshal(raw, &meta) != nil || meta[key] != nil) {
		return params, false
	}
	if meta == nil {
		meta = map[string]json.RawMessage{}
	}
	meta[key] = value
	encodedMeta, err := encodeRaw(meta)
	if err != nil {
		return params, false
	}
	whole["_meta"] = encodedMeta
	encoded, err := encodeRaw(whole)
	return encoded, err == nil
}

// hear takes what the server said as it is read, so that what came before an answer is told before the answer. The SDK reads
// answers while notifications wait for their turn.
func (p *progress) hear(params json.RawMessage) {
	var n mcp.ProgressNotificationParams
	if json.Unmarshal(params, &n) == nil {
		p.report(&n)
	}
}

// report gives what the server said to the request it is about.
func (p *progress) report(n *mcp.ProgressNotificationParams) {
	token, err := json.Marshal(n.ProgressToken)
	if err != nil {
		return
	}
	var text string
	if json.Unmarshal(token, &text) != nil { // some servers give the token back as text
		text = string(token)
	}
	p.mu.Lock()
	l, ok := p.requests[text]
	if ok {
		l.count++
	}
	p.mu.Unlock()
	if !ok {
		return
	}
	l.bound.restart()
	if l.fn != nil {
		l.telling.Lock()
		defer l.telling.Unlock()
		l.fn(Progress{Progress: n.Progress, Total: n.Total, Message: n.Message})
	}
}
