package session

import (
	"context"
	"sync"
	"time"
)

// State says how a server stands.
type State string

// The states of a supervisor. docs/recovery.md draws how one becomes another.
const (
	// StateDisabled means that the server is not to be contacted.
	StateDisabled State = "disabled"
	// StateIdle means nothing has been asked yet, or the last session was lost and nobody has asked since.
	StateIdle State = "idle"
	// StateConnecting means the first session is being opened, or an attempt to open it will be made in a while.
	StateConnecting State = "connecting"
	// StateReady means requests can be made at once.
	StateReady State = "ready"
	// StateReconnecting means a lost session is being replaced, or an attempt to do so will be made in a while.
	StateReconnecting State = "reconnecting"
	// StateParked means that the attempts have failed so often, or in such a way, that only one in a long while is made.
	StateParked State = "parked"
	// StateNeedsAuth means that the server wants authorization, or refuses the one it got. It is not tried again by itself.
	StateNeedsAuth State = "needs_auth"
	// StateFailed means that the last opening failed, and that it is not tried again until somebody asks.
	StateFailed State = "failed"
	// StateClosed means the supervisor was closed.
	StateClosed State = "closed"
)

// Status is how one server stands, and why.
type Status struct {
	// Server is the name of the server.
	Server string
	State  State
	// Reason says in one line why the state is what it is: what the last session was lost to, how an attempt failed. It may
	// be empty.
	Reason string
	// Since is when the state began.
	Since time.Time
	// Err is the failure that a state other than ready is due to, nil if it is due to none.
	Err error
	// Generation is that of the current session, or of the latest if there is none now; 0 before the first.
	Generation int
	// Failures counts the failures in a row since a connection proved itself.
	Failures int
	// Next is when the next attempt is made by itself, zero if none is planned, or one is under way.
	Next time.Time
	// Refusing is until when the circuit breaker refuses requests, zero while it does not.
	Refusing time.Time
}

// Event is a change of a server's status.
type Event struct {
	Status
	// Time is when it happened.
	Time time.Time
	// From is the state before; it is the same as State when only the reason, the plan or the breaker has changed.
	From State
	// Recovery tells how a lost session was replaced, on the change to ready that ends a replacement.
	Recovery *Recovery
	// ToolsChanged is set when the server's tools are not, or may not be, what they were when they were listed last.
	ToolsChanged bool
	// Missed counts the events before this one that a slow reader did not get.
	Missed int
}

// feedSize is how many events wait for a slow reader. Many servers that go down and come back at once fit.
const feedSize = 256

// feed hands events to whoever watches. The zero value is ready for use.
type feed struct {
	mu       sync.Mutex
	ended    bool
	watchers map[*watcher]struct{}
}

type watcher struct {
	events chan Event
	missed int
}

// watch returns a channel of the events from now on. It is closed when ctx ends, or the feed does.
func (f *feed) watch(ctx context.Context) <-chan Event {
	w := &watcher{events: make(chan Event, feedSize)}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended || ctx.Err() != nil {
		close(w.events)
		return w.events
	}
	if f.watchers == nil {
		f.watchers = map[*watcher]struct{}{}
	}
	f.watchers[w] = struct{}{}
	context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if _, there := f.watchers[w]; there {
			delete(f.watchers, w)
			close(w.events)
		}
	})
	return w.events
}

// publish never blocks: a reader that is too slow loses the oldest events, and is told how many.
func (f *feed) publish(e Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for w := range f.watchers {
		for sent := false; !sent; {
			e.Missed = w.missed
			select {
			case w.events <- e:
				sent, w.missed = true, 0
			default:
				select {
				case old := <-w.events:
					w.missed += 1 + old.Missed
				default: // it has been read meanwhile
				}
			}
		}
	}
}

func (f *feed) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	for w := range f.watchers {
		close(w.events)
	}
	f.watchers = nil
}
