package session

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/mcpctl/mcpctl/internal/transport"
)

// Kill tells how a session was ended on purpose.
type Kill struct {
	// How is "delete", "made-up id", "sigkill", "stream closed" or "connections dropped".
	How string
	// Confirmed is set when the old session was seen to be dead.
	Confirmed bool
	// Announced says how the server, or the system, told of the loss: "HTTP 404: Session not found".
	Announced string
	// NothingToKill is set when the connection has no session that could be lost.
	NothingToKill bool
	// Session is the beginning of the old session's id, "" if it had none.
	Session string
	// PID is the process id of the child that was killed, 0 on other transports.
	PID int
	// Deletion says, of a session that got a made-up id, why DELETE was not enough: "refused with 405", "not answered",
	// "ignored", "accepted" when its effect could not be seen.
	Deletion string
	// Notes tell what was odd, one sentence each.
	Notes []string
}

const (
	// killWait bounds the wait for the signs of a kill.
	killWait = 5 * time.Second
	// deleteWait bounds a DELETE: a server that does not answer it is left alone.
	deleteWait = time.Second
)

// Kill ends the session in the rudest way that its transport has, so that recovery can be tried, and makes sure that it
// is dead. The session is of no use afterwards. Kill only sessions of your own.
//
// An HTTP session is deleted at the server; if the server refuses or ignores that, all further requests carry a made-up
// id. A child's process group gets SIGKILL. The stream of the older SSE transport is closed. Where there is no session,
// the TCP connections are dropped.
func (s *Session) Kill(ctx context.Context) (Kill, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, killWait, errors.New("the kill was not confirmed"))
	defer cancel()
	switch {
	case s.child != nil:
		return s.killChild(ctx)
	case s.stream != nil:
		return s.killStream(ctx)
	case s.ID() == "":
		s.http.Drop()
		return Kill{How: "connections dropped", NothingToKill: true}, nil
	}
	return s.killHTTP(ctx)
}

func (s *Session) killChild(ctx context.Context) (Kill, error) {
	k := Kill{How: "sigkill", PID: s.child.PID()}
	s.child.Kill()
	select {
	case <-s.child.Dead():
	case <-ctx.Done():
		return k, fmt.Errorf("process %d: %w", k.PID, context.Cause(ctx))
	}
	k.Confirmed, k.Announced = true, s.child.Fault().Error()
	return k, nil
}

func (s *Session) killStream(ctx context.Context) (Kill, error) {
	k := Kill{How: "stream closed"}
	s.stream()
	select {
	case <-s.http.Ended():
	case <-ctx.Done():
		return k, context.Cause(ctx)
	}
	k.Confirmed, k.Announced = true, s.http.EndErr().Error()
	return k, nil
}

func (s *Session) killHTTP(ctx context.Context) (Kill, error) {
	k := Kill{How: "delete", Session: ShortID(s.ID())}
	status, err := s.deleteSession(ctx, s.ID())
	switch {
	case err != nil:
		k.Deletion = "not answered"
		k.Notes = append(k.Notes, fmt.Sprintf("DELETE was not answered: %v", err))
	case status >= 200 && status < 300:
		lost, announced, err := s.askDead(ctx)
		switch {
		case lost:
			k.Confirmed, k.Announced = true, announced
			return k, nil
		case err != nil && ctx.Err() != nil:
			return k, err
		case err != nil:
			k.Deletion = "accepted"
			k.Notes = append(k.Notes, fmt.Sprintf("the server accepted DELETE, and what became of the session could not be seen: %v", err))
		default:
			k.Deletion = "ignored"
			k.Notes = append(k.Notes, "the server accepted DELETE, and the session still answered")
		}
	default:
		k.Deletion = fmt.Sprintf("refused with %d", status)
		k.Notes = append(k.Notes, fmt.Sprintf("the server answered DELETE with %d %s", status, http.StatusText(status)))
	}
	k.How = "made-up id"
	s.http.Forge("mcpctl-made-up-session")
	lost, announced, err := s.askDead(ctx)
	if err != nil {
		return k, err
	}
	if !lost {
		k.NothingToKill = true
		k.Notes = append(k.Notes, "the server answers requests with a session id that it never gave")
	}
	k.Confirmed, k.Announced = lost, announced
	return k, nil
}

// deleteSession asks the server to end the session. See the MCP specification, 2025-11-25, "Session Management".
func (s *Session) deleteSession(ctx context.Context, id string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, deleteWait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, s.endpoint, nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Mcp-Session-Id", id)
	if s.info.ProtocolVersion != "" {
		req.Header.Set("Mcp-Protocol-Version", s.info.ProtocolVersion)
	}
	resp, err := s.http.Client().Do(req)
	if f, ok := errors.AsType[*transport.Fault](err); ok {
		return 0, f // without the URL, whose query may be secret
	}
	if err != nil {
		return 0, errors.New("no answer in time")
	}
	_ = resp.Body.Close()
	return resp.StatusCode, nil
}

// deleteAbandoned ends the sessions that an opening has left at the server, but for the one to keep, as far as that goes
// quickly.
func (s *Session) deleteAbandoned(ctx context.Context, keep string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deleteWait)
	defer cancel()
	for _, id := range s.http.Abandoned() {
		if id != keep {
			_, _ = s.deleteSession(ctx, id)
		}
	}
}

// askDead makes a harmless request on the session and reports whether the server says that it is lost.
func (s *Session) askDead(ctx context.Context) (lost bool, announced string, err error) {
	var e *Error
	for backoff := firstBackoff; ; backoff *= 2 {
		_, err = s.Raw(ctx, "ping", nil)
		if !errors.As(err, &e) || e.kind != kindBusy || !sleep(ctx, max(backoff, e.RetryAfter)) {
			break
		}
	}
	switch {
	case err == nil:
		return false, "", nil
	case !errors.As(err, &e):
		return false, "", err
	case e.kind == kindExpired || e.kind == kindUncertain:
		return true, e.Message, nil
	case e.kind == kindAnswered:
		return false, "", nil
	}
	return false, "", err
}
