package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Notification is what a server says without being asked. See the MCP specification, 2025-11-25, "Notifications".
type Notification struct {
	// Method is "notifications/message", "notifications/resources/updated" and the like.
	Method string
	// Params are byte for byte what the server sent, nil if it sent none.
	Params json.RawMessage
}

// toolsChanged is the notification that the list of tools is another one.
const toolsChanged = "notifications/tools/list_changed"

// hear takes a notification from the transport.
func (s *Session) hear(method string, params json.RawMessage) {
	n := Notification{Method: method, Params: params}
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

// stopHearing notes that a stream of notifications has ended.
func (s *Session) stopHearing() {
	select {
	case s.unheard <- struct{}{}:
	default: // it is known
	}
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
	// The SDK sends the request under a context of the session's own.
	return s.within(ctx, "subscriptions/listen", func() error {
		_ = s.sdk.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: uri}) // it does not know that its stream has ended
		return s.sdk.Subscribe(ctx, &mcp.SubscribeParams{URI: uri})
	})
}

// Unsubscribe ends a subscription. The failure is an [*Error].
func (s *Session) Unsubscribe(ctx context.Context, uri string) error {
	if s.legacy() {
		_, err := s.Raw(ctx, "resources/unsubscribe", map[string]string{"uri": uri})
		return err
	}
	return s.within(ctx, "subscriptions/listen", func() error {
		return s.sdk.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: uri})
	})
}

// within makes a call of the SDK's that may go on when ctx has ended: it ends with the session.
func (s *Session) within(ctx context.Context, method string, call func() error) error {
	done := make(chan error, 1)
	go func() { done <- call() }()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err == nil {
		return nil
	}
	return classify(evidence{server: s.server, method: method, err: err, ctx: ended(ctx), opened: true})
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
	err := s.Do(ctx, Request{Name: "resources/subscribe", Repeatable: true}, func(ctx context.Context, sess *Session) error {
		return sess.Subscribe(ctx, uri)
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.standing.uris, uri) {
		s.standing.uris = append(s.standing.uris, uri)
	}
	return nil
}

// Unsubscribe ends a subscription.
func (s *Supervisor) Unsubscribe(ctx context.Context, uri string) error {
	s.mu.Lock()
	s.standing.uris = slices.DeleteFunc(s.standing.uris, func(u string) bool { return u == uri })
	s.mu.Unlock()
	return s.Do(ctx, Request{Name: "resources/unsubscribe", Repeatable: true}, func(ctx context.Context, sess *Session) error {
		return sess.Unsubscribe(ctx, uri)
	})
}

// SetLogLevel asks for the server's log messages from a level on, on the current session and on each that replaces it.
func (s *Supervisor) SetLogLevel(ctx context.Context, level string) error {
	err := s.Do(ctx, Request{Name: "logging/setLevel", Repeatable: true}, func(ctx context.Context, sess *Session) error {
		return sess.SetLogLevel(ctx, level)
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.standing.level = level
	return nil
}

// prepare makes a fresh session what the one before was: its log level and its subscriptions are set again. What cannot
// be set again is noted, and does not stop the session.
func (s *Supervisor) prepare(ctx context.Context, sess *Session) {
	s.mu.Lock()
	level, uris := s.standing.level, slices.Clone(s.standing.uris)
	s.mu.Unlock()
	sess.mu.Lock()
	sess.heard = s.heard
	sess.mu.Unlock()
	again := func(what string, set func(context.Context) error) {
		ctx, cancel := withShare(ctx, signBound, s.limits.Connect.Value)
		defer cancel()
		if err := set(ctx); err != nil {
			s.dialer.log().WarnContext(ctx, "not set again on the fresh session", "server", s.server.Name, "what", what, "error", err)
			sess.note(fmt.Sprintf("%s could not be set again: %v", what, err))
		}
	}
	if level != "" {
		again("the log level", func(ctx context.Context) error { return sess.SetLogLevel(ctx, level) })
	}
	for _, uri := range uris {
		again("the subscription to "+uri, func(ctx context.Context) error { return sess.Subscribe(ctx, uri) })
	}
}

// note adds to what the session tells of itself.
func (s *Session) note(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.info.Notes = append(s.info.Notes, text)
}

// heard takes a notification of the current session.
func (s *Supervisor) heard(n Notification) {
	if n.Method != toolsChanged {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools.stale = true
	s.publish(Event{From: s.status.State, ToolsChanged: true})
}

// knownTools are the tools as they were listed last. The supervisor's lock guards them.
type knownTools struct {
	list       List
	known      bool
	generation int
	stale      bool
}

// Tools returns the server's tools. They are listed once for each session, and again after the server has said that they
// changed. A server that is kept has them listed again by itself when its session was replaced, so that a revived server
// has its tools again; an [Event] tells if they are others.
func (s *Supervisor) Tools(ctx context.Context) (List, error) {
	s.mu.Lock()
	known := s.tools
	fresh := known.known && !known.stale && s.current != nil && s.current.info.Generation == known.generation && s.current.Dead() == nil
	s.mu.Unlock()
	if fresh {
		return known.list, nil
	}
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
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		if _, ours := errors.AsType[*Error](err); ours {
			s.tools.stale = true
		}
		return list, err
	}
	changed := s.tools.known && !sameItems(s.tools.list.Items, list.Items)
	s.tools.list, s.tools.known, s.tools.generation = list, true, generation
	if changed {
		s.publish(Event{From: s.status.State, ToolsChanged: true})
	}
	return list, nil
}
