package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

// How a resource is watched: the server is asked to tell of its changes, and whenever it does, the resource is read again.
// However many changes it tells of while the resource is being read, it is read once more. Where a change may have been
// missed, because a session or the stream of notifications was replaced, it is read, too, and shown if it is another.

// watching is a resource that is being watched.
type watching struct {
	o      *readOptions
	a      *app
	s      *session.Supervisor
	server config.Server
	uri    string

	begin time.Time
	// changed gets a value when the server has told of a change, doubtful when one may have been missed; both hold one.
	changed, doubtful chan struct{}
	// said gets the rest of what is heard that somebody wants to know.
	said chan string
	// refused gets a value when the server offers no stream to tell of changes.
	refused chan struct{}

	// told counts what was told of it.
	told    int
	updates int
	// last is what was shown last, nil if it could not be read.
	last *render.Contents
	// code is the exit code of the latest reading.
	code int
}

const (
	// saidKept is how many messages wait to be shown; a server that says more is not followed in all of it.
	saidKept = 16
	// farewell bounds the end of a subscription at a server that may not answer any more.
	farewell = 500 * time.Millisecond
)

// follow prints a resource, and again each time it has changed.
func (o *readOptions) follow(ctx context.Context, a *app, server config.Server, uri string) error {
	a.quickDialer().Listen = session.ListenAlways
	return a.with(ctx, server, func(s *session.Supervisor) error {
		w := &watching{
			o: o, a: a, s: s, server: server, uri: uri, begin: time.Now(),
			changed: make(chan struct{}, 1), doubtful: make(chan struct{}, 1),
			said: make(chan string, saidKept), refused: make(chan struct{}, 1),
		}
		defer s.Hear(w.heard)()
		events, end := context.WithCancel(ctx)
		defer end()
		happens := s.Events(events)
		if err := w.start(ctx); err != nil {
			return err
		}
		defer w.leave(ctx)
		return w.run(ctx, happens)
	})
}

// push puts a value into a channel, if there is room: whoever takes it looks at all there is.
func push[T any](to chan T, value T) {
	select {
	case to <- value:
	default:
	}
}

// heard takes what the server says. It must not block.
func (w *watching) heard(n session.Notification) {
	switch n.Method {
	case "notifications/resources/updated":
		var p readParams
		_ = json.Unmarshal(n.Params, &p) // without a URI it is about none
		if !concerns(p.URI, w.uri) {
			push(w.said, "it tells of a change of another resource: "+p.URI)
			return
		}
		push(w.changed, struct{}{})
	case "notifications/resources/list_changed":
		push(w.said, "the list of its resources has changed")
	case session.StreamOpened:
		push(w.doubtful, struct{}{})
	case session.StreamRefused:
		push(w.refused, struct{}{})
	}
}

// concerns reports whether news of one URI is about another: itself, or something in it. See the MCP specification,
// 2025-11-25, "Resources", "Resource Updated Notification", where it may be a part of what was subscribed to.
func concerns(told, watched string) bool {
	base := strings.TrimSuffix(watched, "/")
	return told == watched || told == base || strings.HasPrefix(told, base+"/")
}

// start asks the server to tell of changes.
func (w *watching) start(ctx context.Context) error {
	ctx, stop := w.a.working(ctx, "watching "+w.uri+" of "+w.server.Name)
	defer stop()
	var info session.Info
	err := w.s.Do(ctx, session.Request{Name: phaseConnect, Repeatable: true}, func(_ context.Context, s *session.Session) error {
		info = s.Info()
		return nil
	})
	if err != nil {
		return err
	}
	if r := info.Capabilities.Resources; r == nil || !r.Subscribe {
		return w.cannotTell("the server announces no subscriptions to resources, so it cannot tell of changes")
	}
	w.s.Keep()
	if err := w.s.Subscribe(ctx, w.uri); err != nil {
		return err
	}
	if s, err := w.s.Session(ctx); err == nil && s.NoStream() { // which was said before anybody listened
		push(w.refused, struct{}{})
	}
	return nil
}

func (w *watching) cannotTell(message string) error {
	return &session.Error{
		Server: w.server.Name, Phase: "resources/subscribe", Class: session.ClassProtocol, Outcome: session.OutcomeNotSent,
		Message: message, Hint: "without --watch it is read once",
	}
}

// leave ends the subscription: the session may be used for something else.
func (w *watching) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	if err := w.s.Unsubscribe(ctx, w.uri); err != nil {
		w.a.logger.DebugContext(ctx, "subscription not ended", "server", w.server.Name, "error", err)
	}
}

// run reads the resource, and again after each change.
func (w *watching) run(ctx context.Context, events <-chan session.Event) error {
	if err := w.read(ctx, true); err != nil {
		return err
	}
	for {
		w.tellSaid()
		if w.o.count > 0 && w.updates >= w.o.count {
			if w.code != codeOK {
				return reportedError(w.code)
			}
			return nil
		}
		var err error
		select { // what happened to the session is told before what came after it
		case e, open := <-events:
			if open {
				err = w.happened(ctx, e)
			} else {
				events = nil
			}
			if err != nil {
				return err
			}
			continue
		default:
		}
		select {
		case <-ctx.Done():
			return &serverError{w.server.Name, context.Canceled}
		case <-w.changed:
			w.drainDoubt()
			w.updates++
			err = w.read(ctx, true)
		case <-w.doubtful:
			err = w.read(ctx, false)
		case <-w.refused:
			err = w.cannotTell("the server offers no stream of notifications, so it cannot tell of changes")
		case text := <-w.said:
			w.tell(text)
		case e, open := <-events:
			if !open {
				events = nil
				continue
			}
			err = w.happened(ctx, e)
		}
		if err != nil {
			return err
		}
	}
}

// tellSaid tells of what was heard until now.
func (w *watching) tellSaid() {
	for {
		select {
		case text := <-w.said:
			w.tell(text)
		default:
			return
		}
	}
}

// tell tells something that was heard, and no more of it when somebody has understood.
func (w *watching) tell(text string) {
	const most = 5
	if w.told++; w.told <= most {
		w.a.note(render.OneLine(w.server.Name) + ": " + render.OneLine(text))
	}
}

// drainDoubt forgets a doubt that a reading which is about to begin answers.
func (w *watching) drainDoubt() {
	select {
	case <-w.doubtful:
	default:
	}
}

// happened takes a change of how the server stands.
func (w *watching) happened(ctx context.Context, e session.Event) error {
	name := render.OneLine(w.server.Name)
	switch {
	case e.Recovery != nil:
		w.a.note(fmt.Sprintf("%s: the session was lost (%s) and replaced in %s; watching again",
			name, render.OneLine(e.Recovery.Cause), shortLatency(e.Recovery.Elapsed)))
		for _, note := range w.s.Stats().Info.Notes {
			if strings.HasPrefix(note, "the subscription to ") { // and could not be set again
				if err := w.s.Subscribe(ctx, w.uri); err != nil {
					return err
				}
				break
			}
		}
		push(w.doubtful, struct{}{})
	case e.State == session.StateNeedsAuth, e.State == session.StateFailed:
		return e.Err
	case e.State == session.StateParked && e.From != e.State:
		w.a.note(fmt.Sprintf("%s: the session was lost and cannot be replaced for now (%s); it is tried again from time to time",
			name, render.OneLine(e.Reason)))
	}
	return nil
}

// read reads the resource and shows it; if it may only have changed, only when it has. A failure that a later reading may
// not meet again is told, and no end.
func (w *watching) read(ctx context.Context, told bool) error {
	start := time.Now()
	raw, err := readResource(ctx, w.s, w.server.Name, w.uri)
	var contents *render.Contents
	if err == nil {
		if contents, err = render.ParseContents(raw); err != nil {
			err = badResult(w.server.Name, "resources/read", err)
		} else if contents.Unusable() {
			err = badResult(w.server.Name, "resources/read", errors.New(contents.Problems[0]))
		}
	}
	at, update := time.Since(w.begin).Milliseconds(), w.updates
	doc := readDocument{
		Version: documentVersion, Server: w.a.redact.String(w.server.Name), URI: w.uri, Update: &update, AtMS: &at,
		Session: w.a.sessionBody(), ElapsedMS: time.Since(start).Milliseconds(),
	}
	if err != nil {
		return w.failed(ctx, doc, err, told)
	}
	if !told && contents.Equal(w.last) {
		return nil
	}
	first := w.last == nil && w.updates == 0
	if !told {
		w.updates++ // one that was not told of
		update = w.updates
	}
	w.code = codeOK
	// The file that is overwritten later is this run's own.
	if err := w.o.keep(contents, &doc, w.o.force || !first); err != nil {
		return err
	}
	before := *contents
	w.last = &before
	if w.o.maxChars > 0 { // which cuts what it is compared with
		if w.last, err = render.ParseContents(raw); err != nil {
			return err
		}
	}
	doc.Truncated = w.o.cut(w.a, contents)
	doc.Result, doc.Problems = contents.Raw, w.a.maskedTexts(contents.Problems)
	w.o.tell(w.a, contents, doc)
	return w.write(ctx, contents, doc)
}

// failed tells that the resource could not be read, and returns the error if that is the end.
func (w *watching) failed(ctx context.Context, doc readDocument, err error, told bool) error {
	f, _ := classify(err, ctx.Err() != nil)
	if w.updates == 0 && w.last == nil || ctx.Err() != nil {
		return err
	}
	switch f.Class {
	case classTool, classProtocol: // it is gone, or odd; it may come back
	case classSession, classConnect, classBusy, classTimeout: // the session is replaced in the background
	default:
		return err
	}
	if !told && w.last == nil {
		return nil // it has been told
	}
	w.last, w.code = nil, f.code
	if w.a.json() {
		body := f.body()
		doc.Error = &body
		if err := w.printLine(ctx, doc); err != nil {
			return err
		}
	}
	w.a.warn(f.text(false, w.a.errWidth()))
	return nil
}

// write shows what the resource holds now.
func (w *watching) write(ctx context.Context, contents *render.Contents, doc readDocument) error {
	switch {
	case w.a.json():
		return w.printLine(ctx, doc)
	case w.o.save != "":
		return nil
	}
	screen := w.a.screen()
	if screen.Terminal {
		what := "as it is now"
		if *doc.Update > 0 {
			what = fmt.Sprintf("change %d", *doc.Update)
		}
		head := fmt.Sprintf("── %s  %s", time.Now().Format(time.TimeOnly), what)
		if err := w.a.writeLine(screen.Paint(render.Faint, render.Cut(head, screen.Width)) + "\n"); err != nil {
			return err
		}
	}
	if contents.Len() == 0 {
		w.a.note(render.OneLine(w.uri) + " has no contents")
	}
	return contents.Write(w.a.io.Out, screen, true)
}

// printLine writes a document on a line of its own, through the filter of --jq if there is one.
func (w *watching) printLine(ctx context.Context, doc readDocument) error {
	if w.a.filter != nil {
		return w.a.printData(ctx, doc)
	}
	return render.CompactJSON(w.a.io.Out, w.a.screen(), doc)
}
