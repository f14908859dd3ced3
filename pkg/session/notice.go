package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpctl/mcpctl/internal/transport"
)

// Notification is what a server says without being asked. See the MCP specification, 2025-11-25, "Notifications".
type Notification struct {
	// Method is "notifications/message", "notifications/resources/updated" and the like.
	Method string
	// Params are byte for byte what the server sent, nil if it sent none.
	Params json.RawMessage
}

// StreamOpened is the method of what is no notification: the stream on which a server says what it is not asked was opened,
// over HTTP. What it has said before may have been missed. Only [Supervisor.Hear] tells of it.
const StreamOpened = "stream opened"

// StreamRefused is the method of what is no notification: the server offers no such stream. Only [Supervisor.Hear] tells of
// it.
const StreamRefused = "stream refused"

// streamed takes from the transport that the stream of notifications was opened, or that there is none.
func (s *Session) streamed(open bool) {
	n := Notification{Method: StreamOpened}
	if !open {
		n.Method = StreamRefused
	}
	s.mu.Lock()
	heard := s.heard
	s.noStream = !open
	s.mu.Unlock()
	if heard != nil {
		heard(n)
	}
}

// NoStream reports whether the server has said that it offers no stream on which it could say what it is not asked. It is
// false on transports that need none.
func (s *Session) NoStream() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.noStream
}

// toolsChanged is the notification that the list of tools is another one.
const toolsChanged = "notifications/tools/list_changed"

// hear takes a notification from the transport.
func (s *Session) hear(method string, params json.RawMessage) {
	n := Notification{Method: method, Params: params}
	if method == progressMade {
		s.progress.hear(params)
	}
	s.completed.hear(s.server, n)
	s.mu.Lock()
	heard := s.heard
	s.mu.Unlock()
	if heard != nil {
		heard(n)
	}
	if s.tell != nil {
		s.tell(n)
	}
}

// hearing is a subscription of the modern era: a stream of its own, which may end though the session does not.
type hearing struct {
	open bool
	// answer gets how the request for the stream was answered, nil when nobody waits for it.
	answer chan<- error
	// unattended is set when the stream is opened again by itself.
	unattended bool
}

// urisOf returns the resources that a request for a stream of notifications is about.
func urisOf(request []byte) []string {
	var m struct {
		Params struct {
			Notifications struct {
				URIs []string `json:"resourceSubscriptions"`
			} `json:"notifications"`
		} `json:"params"`
	}
	if json.Unmarshal(request, &m) != nil {
		return nil
	}
	return m.Params.Notifications.URIs
}

// listened takes from the transport how a request for a stream of notifications was answered, or that the stream ended.
func (s *Session) listened(request []byte, st transport.ExchangeState, open bool) {
	uris := urisOf(request)
	if open && len(uris) > 0 {
		defer s.streamed(true)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, uri := range uris {
		h := s.hearings[uri]
		if h == nil {
			continue
		}
		h.open = open
		switch {
		case h.answer != nil && open:
			h.answer <- nil
		case h.answer != nil:
			h.answer <- classify(evidence{
				server: s.server, method: "subscriptions/listen", state: st, err: errors.New("no stream came"), opened: true,
			})
		case !open:
			s.mend()
		}
		h.answer = nil
	}
}

// unattended reports whether nobody waits for a stream that is being opened: it is one that is opened again, or the SDK's
// own, for changes of lists.
func (s *Session) unattended(request []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !slices.ContainsFunc(urisOf(request), func(uri string) bool {
		h := s.hearings[uri]
		return h != nil && !h.unattended
	})
}

// mend opens streams of subscriptions that ended again, with pauses that grow. s.mu is held.
func (s *Session) mend() {
	if s.mending {
		return
	}
	s.mending = true
	go func() {
		for pause := keeperBackoff; sleep(s.ctx, spread(pause)); pause = min(2*pause, DefaultMaxBackoff) {
			s.mu.Lock()
			var ended []string
			for uri, h := range s.hearings {
				if !h.open {
					ended = append(ended, uri)
				}
			}
			s.mending = len(ended) > 0
			s.mu.Unlock()
			if len(ended) == 0 {
				return
			}
			for _, uri := range ended {
				ctx, cancel := context.WithTimeout(transport.Unattended(s.ctx), signBound)
				_ = s.listen(ctx, uri)
				cancel()
			}
		}
	}()
}

// listen opens the stream of a subscription of the modern era. The SDK sends the request under a context of the session's
// own, and does not tell how it was answered.
func (s *Session) listen(ctx context.Context, uri string) error {
	answer := make(chan error, 1)
	h := &hearing{answer: answer, unattended: transport.IsUnattended(ctx)}
	leave := s.lobby.enter(boundOf(ctx)) // the request's own context does not come from ours
	defer leave()
	s.mu.Lock()
	if s.hearings == nil {
		s.hearings = map[string]*hearing{}
	}
	s.hearings[uri] = h
	s.mu.Unlock()
	go func() {
		_ = s.sdk.Unsubscribe(s.ctx, &mcp.UnsubscribeParams{URI: uri}) // it does not know that its stream has ended
		err := s.sdk.Subscribe(s.ctx, &mcp.SubscribeParams{URI: uri})
		s.mu.Lock()
		defer s.mu.Unlock()
		if h.answer != nil && (err != nil || s.child != nil) { // over stdio nothing else tells
			h.open, h.answer = err == nil, nil
			answer <- err
		}
		if s.hearings[uri] != h && s.hearings[uri] == nil || s.ctx.Err() != nil {
			_ = s.sdk.Unsubscribe(s.ctx, &mcp.UnsubscribeParams{URI: uri}) // nobody wants it any more
		}
	}()
	var err error
	select {
	case err = <-answer:
	case <-ctx.Done():
		err = ctx.Err()
	case <-s.ctx.Done():
		err = mcp.ErrConnectionClosed
	}
	s.mu.Lock()
	h.answer = nil
	s.mu.Unlock()
	if e, ok := errors.AsType[*Error](err); ok || err == nil {
		if e == nil {
			return nil
		}
		return e
	}
	return classify(evidence{server: s.server, method: "subscriptions/listen", err: err, ctx: ended(ctx), opened: true})
}

// Subscribe asks for a notification whenever a resource changes. It ends with the session: [Supervisor.Subscribe] sets it
// again. The failure is an [*Error].
//
// See the MCP specification, 2025-11-25, "Resources", "Subscriptions", and 2026-07-28, "Subscriptions".
func (s *Session) Subscribe(ctx context.Context, uri string) error {
	if s.legacy() {
		_, err := s.Raw(ctx, "resources/subscribe", map[string]string{"uri": uri})
		return err
	}
	err := s.listen(ctx, uri)
	if err != nil {
		_ = s.Unsubscribe(ctx, uri)
	}
	return err
}

// Unsubscribe ends a subscription. The failure is an [*Error].
func (s *Session) Unsubscribe(ctx context.Context, uri string) error {
	if s.legacy() {
		_, err := s.Raw(ctx, "resources/unsubscribe", map[string]string{"uri": uri})
		return err
	}
	s.mu.Lock()
	delete(s.hearings, uri)
	s.mu.Unlock()
	_ = s.sdk.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: uri}) // it only ends the stream
	return nil
}

// SetLogLevel asks the server for its log messages from a level on ("debug", "info", …), which come as notifications. It
// ends with the session: [Supervisor.SetLogLevel] sets it again. The failure is an [*Error].
//
// See the MCP specification, 2025-11-25, "Logging".
func (s *Session) SetLogLevel(ctx context.Context, level string) error {
	if s.legacy() {
		_, err := s.Raw(ctx, "logging/setLevel", map[string]string{"level": level})
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.level = level // each request says it
	return nil
}

// withLevel adds the log level to the parameters of a request of the modern era.
func (s *Session) withLevel(method string, params json.RawMessage) json.RawMessage {
	s.mu.Lock()
	level := s.level
	s.mu.Unlock()
	if level == "" || !reports[method] {
		return params
	}
	value, err := json.Marshal(level)
	if err != nil {
		return params
	}
	params, _ = withMeta(params, "io.modelcontextprotocol/logLevel", value)
	return params
}

// standing are the wishes that hold for all sessions of a server. The supervisor's lock guards them.
type standing struct {
	level string
	uris  []string
}

// Subscribe asks for a notification whenever a resource changes, on the current session and on each that replaces it. See
// [Dialer].OnNotification, and [Supervisor.Keep], which replaces a lost session also while nobody makes requests.
func (s *Supervisor) Subscribe(ctx context.Context, uri string) error {
	if _, err := s.Session(ctx); err != nil {
		return notSent(err)
	}
	// The wish stands before the request is made: a session that becomes the current one meanwhile has it, too.
	s.mu.Lock()
	stood := slices.Contains(s.standing.uris, uri)
	if !stood {
		s.standing.uris = append(slices.Clip(s.standing.uris), uri)
	}
	s.mu.Unlock()
	err := s.Do(ctx, Request{Name: "resources/subscribe", Repeatable: true}, func(ctx context.Context, sess *Session) error {
		return sess.Subscribe(ctx, uri)
	})
	if err != nil && !stood {
		s.forgetWish(uri)
	}
	return err
}

// Unsubscribe ends a subscription.
func (s *Supervisor) Unsubscribe(ctx context.Context, uri string) error {
	s.forgetWish(uri)
	return s.Do(ctx, Request{Name: "resources/unsubscribe", Repeatable: true}, func(ctx context.Context, sess *Session) error {
		return sess.Unsubscribe(ctx, uri)
	})
}

func (s *Supervisor) forgetWish(uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.standing.uris = slices.DeleteFunc(slices.Clone(s.standing.uris), func(u string) bool { return u == uri })
}

// SetLogLevel asks for the server's log messages from a level on, on the current session and on each that replaces it.
func (s *Supervisor) SetLogLevel(ctx context.Context, level string) error {
	if _, err := s.Session(ctx); err != nil {
		return notSent(err)
	}
	s.mu.Lock()
	before := s.standing.level
	s.standing.level = level
	s.mu.Unlock()
	err := s.Do(ctx, Request{Name: "logging/setLevel", Repeatable: true}, func(ctx context.Context, sess *Session) error {
		return sess.SetLogLevel(ctx, level)
	})
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.standing.level == level {
			s.standing.level = before
		}
	}
	return err
}

// prepare makes a fresh session what the one before was: its log level and its subscriptions are set again, all within the
// bound that the initialized notification has. What cannot be set again is noted. The error says that the session was
// lost meanwhile.
func (s *Supervisor) prepare(ctx context.Context, sess *Session) error {
	s.mu.Lock()
	level, uris := s.standing.level, s.standing.uris
	s.mu.Unlock()
	sess.mu.Lock()
	sess.heard = s.heard
	sess.mu.Unlock()
	ctx, cancel := withShare(ctx, acceptBound, s.Limits().Connect.Value)
	defer cancel()
	var all sync.WaitGroup
	var mu sync.Mutex
	var lost error
	again := func(what string, set func() error) {
		all.Go(func() {
			err := set()
			if err == nil {
				return
			}
			s.dialer.log().WarnContext(ctx, "not set again on the fresh session", "server", s.server.Name, "what", what, "error", err)
			sess.note(fmt.Sprintf("%s could not be set again: %v", what, err))
			if gone(err) != nil {
				mu.Lock()
				defer mu.Unlock()
				lost = err
			}
		})
	}
	if level != "" {
		again("the log level", func() error { return sess.SetLogLevel(ctx, level) })
	}
	for _, uri := range uris {
		again("the subscription to "+uri, func() error { return sess.Subscribe(ctx, uri) })
	}
	all.Wait()
	return lost
}

// note adds to what the session tells of itself.
func (s *Session) note(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.info.Notes = append(s.info.Notes, text)
}

// heard takes a notification of the current session.
func (s *Supervisor) heard(n Notification) {
	s.heardOfTask(n)
	s.mu.Lock()
	if n.Method == toolsChanged {
		s.tools.stale, s.tools.told = true, true
		s.publish(Event{From: s.status.State, ToolsChanged: true})
	}
	listeners := s.listeners
	s.mu.Unlock()
	for _, l := range listeners {
		l.hear(n)
	}
}

// hearer is somebody who wants to know what the server says.
type hearer struct{ hear func(Notification) }

// Hear calls fn with each notification of the server from now on, on this session and on each that replaces it, until stop
// is called; one that is under way then may still come. fn must not block, nor wait for the end of a session or a
// supervisor (Close). Over HTTP servers are heard between requests only if [Dialer].Listen says so.
func (s *Supervisor) Hear(fn func(Notification)) (stop func()) {
	l := &hearer{fn}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = append(slices.Clip(s.listeners), l)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.listeners = slices.DeleteFunc(slices.Clone(s.listeners), func(other *hearer) bool { return other == l })
	}
}

// knownTools are the tools as they were listed last. The supervisor's lock guards them.
type knownTools struct {
	list       List
	known      bool
	generation int
	// stale is set when they may have changed, told when an event has said so.
	stale, told bool
}

// refresh lists the tools on a fresh session: a revived server has its tools again. It is no request of anybody's, so that
// it proves nothing and asks for no other session.
func (s *Supervisor) refresh(sess *Session) {
	ctx, cancel := context.WithTimeout(transport.Unattended(s.ctx), signBound)
	defer cancel()
	list, err := sess.List(ctx, "tools/list")
	if e := gone(err); e != nil {
		s.lost(sess, e.Message)
	}
	if err == nil {
		s.listed(list, sess.info.Generation)
	}
}

// listed takes a list of the tools, and tells if they are others than before.
func (s *Supervisor) listed(list List, generation int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := s.tools.known && !sameItems(s.tools.list.Items, list.Items)
	told := s.tools.told
	s.tools.list, s.tools.known, s.tools.told, s.tools.generation = list, true, s.tools.stale && told, generation
	if changed && !told {
		s.publish(Event{From: s.status.State, ToolsChanged: true})
	}
}

// Tools returns the server's tools. They are listed once for each session, and again after the server has said that they
// changed. A server that is kept has them listed again by itself when its session was replaced, so that a revived server
// has its tools again; an [Event] tells if they are others.
func (s *Supervisor) Tools(ctx context.Context) (List, error) {
	if list, fresh := s.ListedTools(); fresh {
		return list, nil
	}
	return s.ListTools(ctx)
}

// ListedTools returns the tools as they were listed on the current session, false if they were not, or if the server has
// said since that they changed. Nothing is sent.
func (s *Supervisor) ListedTools() (List, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.tools
	fresh := known.known && !known.stale && s.current != nil && s.current.info.Generation == known.generation && s.current.Dead() == nil
	return known.list, fresh
}

// ListTools asks the server for its tools, whatever is known of them. An [Event] tells if they are others than before.
func (s *Supervisor) ListTools(ctx context.Context) (List, error) {
	var list List
	generation := 0
	err := s.Do(ctx, Request{Name: "tools/list", Repeatable: true}, func(ctx context.Context, sess *Session) (err error) {
		s.mu.Lock()
		s.tools.stale = false // what is said from now on concerns what follows
		s.mu.Unlock()
		generation = sess.info.Generation
		list, err = sess.List(ctx, "tools/list")
		return err
	})
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.tools.stale = true
		return list, err
	}
	s.listed(list, generation)
	return list, nil
}
