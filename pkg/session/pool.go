package session

import (
	"context"
	"slices"
	"sync"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// Pool holds many servers connected, each by a [Supervisor] of its own. It is safe for concurrent use. End it with
// [Pool.Close].
type Pool struct {
	dialer *Dialer
	feed   *feed

	mu     sync.Mutex
	closed bool
	order  []string
	held   map[string]*Supervisor
	// leaving counts the supervisors that are no longer held and not yet closed.
	leaving sync.WaitGroup
}

// NewPool returns a pool that holds these servers, whose variables have been expanded and whose names differ; of two with
// one name the later counts. Those that are not Enabled are not contacted. Nobody waits for a server: NewPool returns at
// once, and [Pool.Events] tell what becomes of each. If d is nil, a zero Dialer is used.
func NewPool(d *Dialer, servers ...config.Server) *Pool {
	p := &Pool{dialer: d, feed: &feed{}, held: map[string]*Supervisor{}}
	for _, s := range servers {
		p.Add(s)
	}
	return p
}

// Add holds another server, in place of one of that name, whose sessions are ended in the background. It returns its
// supervisor, which is the pool's: it is closed with it.
func (p *Pool) Add(server config.Server) *Supervisor {
	s := NewSupervisor(p.dialer, server)
	s.feeds = append(s.feeds, p.feed)
	p.mu.Lock()
	defer p.mu.Unlock()
	if old, there := p.held[server.Name]; there {
		p.leave(old)
	} else {
		p.order = append(p.order, server.Name)
	}
	p.held[server.Name] = s
	switch {
	case p.closed:
		s.CloseHasty() // there is nothing to wait for
	case !server.Enabled:
		s.disable()
	default:
		s.Keep()
	}
	return s
}

// Remove ends the sessions of a server in the background and forgets it.
func (p *Pool) Remove(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s, there := p.held[name]; there {
		p.leave(s)
		delete(p.held, name)
		p.order = slices.DeleteFunc(p.order, func(n string) bool { return n == name })
	}
}

// leave ends a supervisor that is no longer held. p.mu is held.
func (p *Pool) leave(s *Supervisor) {
	s.retire() // it is told before anything of one that takes its place
	if !p.closed {
		p.leaving.Go(s.CloseHasty) // Close waits for it
	} // else Close ends it, or has
}

// Server returns the supervisor of a server. It makes requests on it with [Supervisor.Do].
func (p *Pool) Server(name string) (*Supervisor, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.held[name]
	return s, ok
}

// Attach is for whoever begins to use the pool, a new shell or a new client: all servers that have no session are tried
// at once, whatever was planned for them. Healthy ones are left alone, disabled ones are not touched, and nobody waits.
func (p *Pool) Attach() {
	for _, s := range p.supervisors() {
		s.Wake()
	}
}

// Open returns a session of a server that is ready, opening one if there is none, and attaches to the others. An unknown
// name is an [*Error] of [ClassConfig].
func (p *Pool) Open(ctx context.Context, name string) (*Session, error) {
	s, ok := p.Server(name)
	if !ok {
		return nil, &Error{Server: name, Phase: "connect", Class: ClassConfig, kind: kindConfig, Message: "the pool holds no such server"}
	}
	p.Attach()
	return s.Session(ctx)
}

// Status returns how all servers stand, in the order in which they were added.
func (p *Pool) Status() []Status {
	var all []Status
	for _, s := range p.supervisors() {
		all = append(all, s.Status())
	}
	return all
}

// Events returns the changes of all servers from now on, as [Supervisor.Events] does of one.
func (p *Pool) Events(ctx context.Context) <-chan Event { return p.feed.watch(ctx) }

// Hasten makes a Close that is under way, and any that follows, give servers less time to end by themselves.
func (p *Pool) Hasten() {
	for _, s := range p.supervisors() {
		s.Hasten()
	}
}

// Close ends all sessions, side by side, within the limit for closing. Requests in flight end with an error.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	var all sync.WaitGroup
	for _, s := range p.supervisors() {
		all.Go(func() { _ = s.Close() })
	}
	all.Wait()
	p.leaving.Wait()
	p.feed.end()
	return nil
}

func (p *Pool) supervisors() []*Supervisor {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]*Supervisor, 0, len(p.order))
	for _, name := range p.order {
		all = append(all, p.held[name])
	}
	return all
}
