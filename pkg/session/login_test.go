package session

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"golang.org/x/oauth2"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// slowLogin is a person who takes a while to log in, or does not.
type slowLogin struct {
	takes  time.Duration
	token  string
	began  func(context.Context)
	logins int
}

func (l *slowLogin) TokenSource(context.Context) (oauth2.TokenSource, error) {
	if l.token == "" {
		return nil, nil
	}
	return oauth2.StaticTokenSource(&oauth2.Token{AccessToken: l.token, TokenType: "Bearer"}), nil
}

func (l *slowLogin) Authorize(ctx context.Context, _ *http.Request, resp *http.Response) error {
	_ = resp.Body.Close()
	l.logins++
	l.began(ctx)
	if !sleep(ctx, l.takes) {
		return context.Cause(ctx)
	}
	l.token = "tok-1-faultlab"
	return nil
}

// TestTL03Login shows that a login may take longer than every limit around it: the probe's, the connect limit, the wait
// for a fresh session, and the request limit; and that without one they hold.
func TestTL03Login(t *testing.T) {
	_, entry := fault(t, "oauth-full-chain")
	entry.ConnectTimeout, entry.Timeout, entry.SessionWait = time.Second, time.Second, time.Second
	open := func(l *slowLogin) error {
		d := &Dialer{OAuth: func(config.Server) auth.OAuthHandler { return l }}
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
