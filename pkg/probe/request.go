package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/mcpctl/mcpctl/pkg/session"
)

// question is the one request that the checks of recovery make: it changes nothing, so that it may be made at any time.
type question struct {
	// name is what a person would call it: "tools/list", "tools/call search_ping".
	name string
	// req says whether it may be repeated.
	req session.Request
	// ask makes it on a session.
	ask func(context.Context, *session.Session) (json.RawMessage, error)
	// judge says what is wrong with an answer, "" if nothing is. If nil, any answer will do.
	judge func(context.Context, json.RawMessage) string
	// why says why it is not the call that the entry names, "" if it is, or if there is none.
	why string
}

// listQuestion asks for a list that the server announced, else for a sign of life.
func listQuestion() question {
	return question{
		name: "list", req: session.Request{Name: "list", Repeatable: true},
		ask: func(ctx context.Context, s *session.Session) (json.RawMessage, error) {
			return s.Raw(ctx, harmlessMethod(s), nil)
		},
	}
}

// drillQuestion returns what the drill and the soak ask: the entry's own call, else a list. Nobody has asked for more than one
// execution of that call, so it is made again only if its tool says of itself that it reads and no more, and only after
// [callHealth] has made it and knows how it ended.
func (t *Target) drillQuestion(ctx context.Context) question {
	q := listQuestion()
	if t.opened != nil {
		q.name = harmlessMethod(t.opened)
	}
	if t.Server.Health == nil {
		return q
	}
	call, problem := t.healthCall(ctx)
	switch {
	case problem != nil:
		q.why = "call.health could not be made"
		return q
	case !call.readOnly:
		q.why = call.Tool + " does not say that it only reads"
		return q
	case call.asTask || t.healthTask:
		q.why = call.Tool + " runs as a task"
		return q
	case t.health == healthNotMade:
		q.why = "call.health was left out"
		return q
	case t.health == healthUnanswered:
		q.why = "call.health was not answered"
		return q
	}
	own := call.question()
	if t.health != healthGood {
		own.judge = nil // it was wrong before, too
	}
	return own
}

// told names the request where it is not the entry's own call, and says why; "" else.
func (q question) told() string {
	if q.why == "" {
		return ""
	}
	return "the request was " + q.name + ", as " + q.why
}

// put adds the same to the data of a finding.
func (q question) put(data map[string]any) {
	data["request"] = q.name
	if q.why != "" {
		data["health_not_used"] = q.why
	}
}

// tries counts the attempts of one request, by what became of them.
type tries struct {
	// sent counts all of them, answered those that brought an answer.
	sent, answered int
	// refused were not executed, unsent never left, and open may have been executed.
	refused, unsent, open int
	// loss is the first failure, and lost is set when any failure was more than a server that is busy: its session, or its
	// connection, was lost.
	loss string
	lost bool
	// denied is the error that the server answered with, nil if it gave a result.
	denied *session.Error
}

// note counts an attempt that is over.
func (n *tries) note(err error) {
	n.sent++
	if err == nil {
		n.answered++
		return
	}
	e, ok := errors.AsType[*session.Error](err)
	switch {
	case n.loss != "":
	case ok:
		n.loss = e.Message
	default:
		n.loss = err.Error()
	}
	if ok && (e.Class == session.ClassSession || e.Class == session.ClassConnect && e.Status != http.StatusServiceUnavailable) {
		n.lost = true
	}
	switch {
	case ok && e.Outcome == session.OutcomeRefused:
		n.refused++
	case ok && e.Outcome == session.OutcomeNotSent:
		n.unsent++
	default:
		n.open++
	}
}

// said tells of the attempts that brought no answer, "" if there were none.
func (n tries) said() string {
	switch {
	case n.open > 0:
		return "one before may have run, too"
	case n.refused > 0 && n.unsent == 0:
		return fmt.Sprintf("refused %s before", times(n.refused))
	case n.unsent > 0 && n.refused == 0:
		return fmt.Sprintf("not sent %s before", times(n.unsent))
	case n.refused+n.unsent > 0:
		return fmt.Sprintf("refused or not sent %s before", times(n.refused+n.unsent))
	}
	return ""
}

func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// watcher sees the attempts of a request: the session that each was handed, and how it ended.
type watcher interface {
	handed(*session.Session)
	ended(*session.Session, error)
}

// put makes a request on the road that every command takes. A refusal by the server is an answer too: the session
// lives. The watcher may be nil.
func (t *Target) put(ctx context.Context, q question, w watcher) (json.RawMessage, tries, error) {
	var n tries
	var answer json.RawMessage
	err := t.sup.Do(ctx, q.req, func(ctx context.Context, s *session.Session) error {
		if w != nil {
			w.handed(s)
		}
		result, err := q.ask(ctx, s)
		n.denied = nil
		if e, ok := errors.AsType[*session.Error](err); ok && e.Class == session.ClassAnswered {
			n.denied, err = e, nil
		}
		n.note(err)
		if w != nil {
			w.ended(s, err)
		}
		answer = result
		return err
	})
	return answer, n, err
}

// harmless makes a request that changes nothing.
func harmless(ctx context.Context, t *Target) (tries, error) {
	_, n, err := t.put(ctx, listQuestion(), nil)
	return n, err
}

func harmlessMethod(s *session.Session) string {
	info := s.Info()
	switch caps := info.Capabilities; {
	case caps.Tools != nil:
		return "tools/list"
	case caps.Resources != nil:
		return "resources/list"
	case caps.Prompts != nil:
		return "prompts/list"
	case info.Era == session.EraModern:
		return "tools/list" // refused, which is an answer too
	}
	return "ping"
}
