package session

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// slowLogin is a person who takes a while to log in, or does not.
type slowLogin struct {
	takes  time.Duration
	token  string
	began  func(context.Context)
	logins int
}

func (l *slowLogin) Authorize(req *http.Request) error {
	if l.token != "" {
		req.Header.Set("Authorization", "Bearer "+l.token)
	}
	return nil
}

func (l *slowLogin) Refused(req *http.Request, _ Refusal) error {
	l.logins++
	l.began(req.Context())
	if !sleep(req.Context(), l.takes) {
		return context.Cause(req.Context())
	}
	l.token = "tok-1-faultlab"
	return nil
}

func (l *slowLogin) Accepted(*http.Request, http.Header) {}

// TestTL03Login shows that a login may take longer than every limit around it: the probe's, the connect limit, the wait
// for a fresh session, and the request limit; and that without one they hold.
func TestTL03Login(t *testing.T) {
	_, entry := fault(t, "oauth-full-chain")
	entry.ConnectTimeout, entry.Timeout, entry.SessionWait = time.Second, time.Second, time.Second
	open := func(l *slowLogin) error {
		d := &Dialer{OAuth: func(config.Server) Authorizer { return l }}
		s := NewSupervisor(d, entry)
		defer func() { _ = s.Close() }()
		_, err := call(t.Context(), s, "echo", map[string]any{"text": "hi"}, false)
		return err
	}
	patient := &slowLogin{takes: 2 * time.Second, began: LoginBegins}
	if err := open(patient); err != nil || patient.logins != 1 {
		t.Errorf("%v after %d logins", err, patient.logins)
	}
	hasty := &slowLogin{takes: time.Minute, began: func(context.Context) {}}
	var e *Error
	if err := open(hasty); !errors.As(err, &e) || e.Class != ClassTimeout || e.Limit == nil || e.Limit.Name != "connect_timeout" {
		t.Errorf("err = %v", err)
	}
	slow := &slowLogin{takes: 600 * time.Millisecond, began: func(context.Context) {}} // longer than the probe has
	if err := open(slow); err != nil {
		t.Errorf("err = %v", err)
	}
}
