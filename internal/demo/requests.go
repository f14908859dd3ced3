package demo

import (
	"context"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// requests are the requests being answered. They can be cancelled from outside, which the SDK does not do: it gives
// them contexts of their own, and waits for them before it closes a session, so one slow call would hold up the end of
// its session and of the server. The zero value has none.
type requests struct {
	mu      sync.Mutex
	running map[*request]struct{}
	ended   error // why later requests are cancelled at once; nil if they are not
}

// request is one request being answered.
type request struct {
	session string // "" where the transport has no session ids
	cancel  context.CancelCauseFunc
}

// middleware keeps track of the requests of a server.
func (q *requests) middleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		r := &request{session: req.GetSession().ID(), cancel: cancel}
		q.begin(r)
		defer q.finish(r)
		return next(ctx, method, req)
	}
}

func (q *requests) begin(r *request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended != nil {
		r.cancel(q.ended)
		return
	}
	if q.running == nil {
		q.running = map[*request]struct{}{}
	}
	q.running[r] = struct{}{}
}

func (q *requests) finish(r *request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.running, r)
}

// endSession cancels the requests of one session.
func (q *requests) endSession(id string, cause error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for r := range q.running {
		if r.session == id {
			r.cancel(cause)
		}
	}
}

// end cancels all requests, and those still to come.
func (q *requests) end(cause error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = cause
	for r := range q.running {
		r.cancel(cause)
	}
}
