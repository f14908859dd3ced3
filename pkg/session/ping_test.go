package session

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// pings makes round trips through a supervisor and returns the answers.
func pings(t *testing.T, s *Supervisor, n int, limit Limit) ([]Pong, error) {
	t.Helper()
	var all []Pong
	for range n {
		var pong Pong
		err := s.Do(t.Context(), Request{Name: "ping", Repeatable: true}, func(ctx context.Context, sess *Session) (err error) {
			pong, err = sess.Ping(ctx, limit)
			return err
		})
		if err != nil {
			return all, err
		}
		all = append(all, pong)
	}
	return all, nil
}

// TestKA02APingThatIsNotKnown asks servers that do not know ping, in whatever words, for a list from the second time on.
// Their refusal is an answer.
func TestKA02APingThatIsNotKnown(t *testing.T) {
	for _, name := range []string{"ping-unsupported", "ping-odd-error"} {
		t.Run(name+"/stdio", func(t *testing.T) { refusesPing(t, faultChild(t, name)) })
		t.Run(name+"/http", func(t *testing.T) {
			_, entry := fault(t, name)
			refusesPing(t, entry)
		})
	}
}

func refusesPing(t *testing.T, entry config.Server) {
	t.Helper()
	s := supervise(t, entry)
	got, err := pings(t, s, 3, Limit{})
	if err != nil {
		t.Fatal(err)
	}
	if got[0].Method != "ping" || got[0].Refused == nil || got[0].Next != "tools/list" {
		t.Errorf("the first is %+v", got[0])
	}
	for _, pong := range got[1:] {
		if pong != (Pong{Method: "tools/list"}) {
			t.Errorf("a later one is %+v", pong)
		}
	}
	if st := s.Stats(); st.Handshakes != 1 {
		t.Errorf("%d handshakes", st.Handshakes)
	}
}

// TestARefusalWithAStatus takes a JSON-RPC error with a status of HTTP to match for the answer that it is, and a status
// alone for none.
func TestARefusalWithAStatus(t *testing.T) {
	r := newRestartable(t)
	body := `{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}`
	r.handle = func(w http.ResponseWriter, _ *http.Request, method string) bool {
		if method == "ping" {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotImplemented)
			_, _ = fmt.Fprint(w, body)
		}
		return method == "ping"
	}
	refusesPing(t, r.entry())
	body = "no"
	if _, err := pings(t, supervise(t, r.entry()), 1, Limit{}); ClassOf(err) != ClassProtocol {
		t.Errorf("err = %v", err)
	}
}

// TestPingInTheModernEra asks for server/discover, over both transports, with all that the era wants in a request: the
// servers of the laboratory refuse one without.
func TestPingInTheModernEra(t *testing.T) {
	wants := func(t *testing.T, entry config.Server) {
		t.Helper()
		got, err := pings(t, supervise(t, entry), 2, Limit{})
		if err != nil {
			t.Fatal(err)
		}
		for _, pong := range got {
			if pong != (Pong{Method: "server/discover"}) {
				t.Errorf("got %+v", pong)
			}
		}
	}
	t.Run("http", func(t *testing.T) {
		_, entry := fault(t, "modern-only")
		wants(t, entry)
	})
	t.Run("stdio", func(t *testing.T) { wants(t, faultChild(t, "modern-only")) })
}

// TestWordsForAMethodThatIsNotKnown are those of servers in use, and some that mean something else.
func TestWordsForAMethodThatIsNotKnown(t *testing.T) {
	for _, text := range []string{
		"Method not found", "Method 'ping' not found", "Method not supported: ping", "method is not implemented", "Unknown method: ping",
		"Unsupported method", "no such method", "Unrecognized request", "ping is not supported", "Method ping not allowed here",
	} {
		if !unknownMethod().MatchString(text) {
			t.Errorf("%q is not recognised", text)
		}
	}
	for _, text := range []string{"Session not found", "Internal error", "rate limited", "invalid params", "tool not found"} {
		if unknownMethod().MatchString(text) {
			t.Errorf("%q is recognised", text)
		}
	}
}

// TestLimitsOfAPing shows that a server that is silent costs ten seconds, and one that is restarted has the whole session
// wait, unless somebody set a limit for requests.
func TestLimitsOfAPing(t *testing.T) {
	for name, entry := range map[string]config.Server{
		"url":      {URL: "https://x/"},
		"command":  {Command: "x"},
		"download": {Command: "npx"},
		"wait":     {URL: "https://x/", SessionWait: time.Minute},
		"longest":  {URL: "https://x/", SessionWait: mostRequest},
	} {
		server, answer := ForPing(entry)
		limits := LimitsFor(server)
		if answer.String() != "timeout 10s (built-in for a ping)" {
			t.Errorf("%s: the answer has %s", name, answer)
		}
		if want := min(limits.SessionWait.Value+2*answer.Value, mostRequest); limits.Request.Value != want {
			t.Errorf("%s: the request has %s, want %s", name, limits.Request, want)
		}
		if limits.Request.Source != "built-in, for a ping with its recovery" || len(entry.Sources) > 0 {
			t.Errorf("%s: the request has %s, and the entry %v", name, limits.Request, entry.Sources)
		}
	}
	entry := config.Server{URL: "https://x/", Timeout: 2 * time.Second}
	entry.Set("timeout", config.Source{Kind: "flag", Detail: "--timeout"})
	server, answer := ForPing(entry)
	if answer.String() != "timeout 2s (flag --timeout)" || LimitsFor(server).Request != answer {
		t.Errorf("with a limit of its own: %s, %s", answer, LimitsFor(server).Request)
	}
}

// TestASilentServerCostsItsLimit names the limit that ran out.
func TestASilentServerCostsItsLimit(t *testing.T) {
	r := newRestartable(t)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	r.hold = func(method string) {
		if method == "ping" {
			<-release
		}
	}
	_, err := pings(t, supervise(t, r.entry()), 1, Limit{Name: "timeout", Value: 50 * time.Millisecond, Source: "test"})
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Class != ClassTimeout || e.Limit == nil || e.Message != "no answer within timeout 50ms (test)" {
		t.Errorf("err = %v", err)
	}
}
