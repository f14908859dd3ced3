package probe

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/mcpctl/mcpctl/pkg/session"
)

// streamPatience is how long the answer to the GET for the stream is waited for when everything else is done. It was asked
// for at the beginning.
const streamPatience = 300 * time.Millisecond

func sessionStream() Check {
	return Check{
		ID: "session.stream", Title: "notification stream stays open", Needs: usable(), Applies: remotely,
		Why: `With a GET, clients ask for a stream on which the server sends messages of its own: its tools have changed, a
resource was updated. It is optional: a server without it answers 405. Once opened, it should stay open. A proxy
with an idle timeout cuts it, and clients that take the stream for a sign of health then reconnect for ever.
--idle TIME watches it for longer.`,
		Remedy: `Answer the GET at once, with 405 or with text/event-stream. Send a comment line every 15 s to keep the stream
open, or raise the idle timeout of the proxy.`,
		Run: func(ctx context.Context, t *Target) Finding {
			if t.opened.Info().Era == session.EraModern {
				return skip("protocol " + t.opened.Info().ProtocolVersion + " has no such stream")
			}
			if t.stream == nil {
				return skip("no stream was asked for")
			}
			if t.stream.session != t.current(ctx) {
				return skip("it ended with its session, which was lost")
			}
			return t.stream.finding(ctx)
		},
	}
}

// listening is the stream of notifications of the examination. It is asked for right after the opening, and looked at when
// the other checks are done.
type listening struct {
	session  *session.Session
	answered chan struct{} // closed when the answer to the GET is there
	reply    session.Reply
	err      error
	opened   time.Time

	mu    sync.Mutex
	ended time.Time // when the stream ended by itself, zero while it stands
	stop  context.CancelFunc
}

// listen asks for the stream of notifications of a session of the legacy era.
func (t *Target) listen(s *session.Session) {
	if !s.Visits() || s.Info().Era == session.EraModern {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	l := &listening{session: s, answered: make(chan struct{}), stop: cancel}
	t.stream = l
	go func() {
		l.reply, l.err = s.Visit(ctx, session.Visit{})
		l.opened = time.Now()
		close(l.answered)
		if l.reply.Stream == nil {
			return
		}
		defer func() { _ = l.reply.Stream.Close() }()
		stop := context.AfterFunc(ctx, func() { _ = l.reply.Stream.Close() })
		defer stop()
		_, _ = io.Copy(io.Discard, l.reply.Stream)
		if ctx.Err() == nil {
			l.mu.Lock()
			l.ended = time.Now()
			l.mu.Unlock()
		}
	}()
}

// lasted returns how long the stream stood until it ended by itself, 0 while it stands.
func (l *listening) lasted() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended.IsZero() {
		return 0
	}
	return max(l.ended.Sub(l.opened), 1)
}

func (l *listening) finding(ctx context.Context) Finding {
	ctx, cancel := context.WithTimeout(ctx, streamPatience)
	defer cancel()
	select {
	case <-l.answered:
	case <-ctx.Done():
		return pass("asked for, and not answered yet")
	}
	data := map[string]any{"http_status": l.reply.Status}
	f := Finding{Status: Pass, Data: data}
	switch lasted := l.lasted(); {
	case l.err != nil:
		f.Status, f.Message = Warn, "the GET for it got no answer: "+failure(l.err).Message
		f.Fix = "answer GET with 405 if there is no such stream"
	case l.reply.Status >= 500:
		f.Status, f.Message = Warn, "the GET for it is answered with "+replyText(l.reply)
		f.Fix = "answer GET with 405 if there is no such stream"
	case l.reply.Stream == nil && l.reply.Status < 300:
		f.Message = fmt.Sprintf("none: GET is answered with %d %s", l.reply.Status, mediaType(l.reply))
	case l.reply.Stream == nil:
		f.Message = fmt.Sprintf("none is offered (%d)", l.reply.Status)
	case lasted > 0 && lasted < atOnceEnded:
		data["lasted_ms"] = milliseconds(lasted)
		f.Status, f.Message = Warn, "the server opens it, and ends it at once"
		f.Fix = "answer GET with 405 if there is no such stream: clients that have one open it again and again"
	case lasted > 0:
		data["lasted_ms"] = milliseconds(lasted)
		f.Status, f.Message = Warn, fmt.Sprintf("it was closed after %s without traffic: the idle timeout of a proxy?", FormatElapsed(lasted))
		f.Fix = "send a comment line on the stream every 15 s, or raise the idle timeout of the proxy"
	default:
		f.Message = "open"
	}
	return f
}

// atOnceEnded is less than the idle limit of any proxy.
const atOnceEnded = 900 * time.Millisecond

func mediaType(r session.Reply) string {
	if text := r.Header.Get("Content-Type"); text != "" {
		return firstWords(text)
	}
	return "without a content type"
}
