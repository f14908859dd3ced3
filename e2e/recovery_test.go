//go:build e2e && linux

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

// The tests of this file hold a session open in their own process, through package session, while the server really
// goes and comes back.

// TestSessionsThatAreHeld runs them beside each other and beside no other test, so that the goroutines that are left can be
// counted.
func TestSessionsThatAreHeld(t *testing.T) {
	quiet := goleak.IgnoreCurrent()
	t.Run("", func(t *testing.T) {
		for name, test := range map[string]func(*testing.T){
			"the server was restarted between two calls":    theServerWasRestartedBetweenTwoCalls,
			"a call waits for a server that is coming back": aCallWaitsForAServerThatIsComingBack,
			"calls wait together":                           callsWaitTogether,
			"the server dies during a call":                 theServerDiesDuringACall,
			"a server that stays away":                      aServerThatStaysAway,
			"the child was killed between two calls":        theChildWasKilledBetweenTwoCalls,
			"a part of the child dies":                      aPartOfTheChildDies,
			"the child is killed during a list":             theChildIsKilledDuringAList,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t)
			})
		}
	})
	goleak.VerifyNone(t, quiet)
}

// held is a session that is held open.
type held struct {
	t   *testing.T
	ctx context.Context //nolint:containedctx // that of the test
	u   *user
	sup *session.Supervisor
	// failed is closed when an attempt to open a session has failed and another will follow.
	failed <-chan struct{}
}

// hold opens nothing yet. At the end of the test no process is left of it.
func hold(t *testing.T, entry config.Server) *held {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), commandTime)
	t.Cleanup(cancel)
	u := newUser(t)
	attempts := &firstRecord{message: "opening failed, trying again", seen: make(chan struct{})}
	sup := session.NewSupervisor(&session.Dialer{Environ: u.environ(), Logger: slog.New(attempts)}, entry)
	t.Cleanup(func() { _ = sup.Close() })
	return &held{t: t, ctx: ctx, u: u, sup: sup, failed: attempts.seen}
}

// stdioEntry is a command as an entry of the configuration.
func stdioEntry(command ...string) config.Server {
	return config.Server{
		Name: "every", Command: command[0], Args: command[1:], Transport: config.TransportStdio, Enabled: true,
		Cwd: directory,
	}
}

// answer is what came of a request.
type answer struct {
	text string
	err  error
}

// call calls a tool. Whether it may be repeated is what the reference server says of all tools that are used here: they
// are read-only.
func (h *held) call(tool string, args map[string]any) answer {
	var a answer
	a.err = h.sup.Do(h.ctx, session.Request{Name: "tools/call", Repeatable: true}, func(ctx context.Context, s *session.Session) error {
		raw, err := s.Raw(ctx, "tools/call", map[string]any{"name": tool, "arguments": args})
		if err != nil {
			return err
		}
		var result struct {
			Content []struct{ Text string }
		}
		if err := json.Unmarshal(raw, &result); err != nil {
			return err
		}
		for _, c := range result.Content {
			a.text += c.Text
		}
		return nil
	})
	return a
}

// sum calls get-sum and wants its result.
func (h *held) sum() {
	h.t.Helper()
	h.wants(h.call("get-sum", map[string]any{"a": 2, "b": 3}), "The sum of 2 and 3 is 5.")
}

// wants compares an answer with what it should be.
func (h *held) wants(a answer, text string) {
	h.t.Helper()
	if a.err != nil || !strings.Contains(a.text, text) {
		h.t.Fatalf("the answer is %q, %v; want %q; stats %+v", a.text, a.err, text, h.sup.Stats())
	}
}

// handshakes compares the number of sessions that were opened with what it should be.
func (h *held) handshakes(want int) {
	h.t.Helper()
	st := h.sup.Stats()
	if st.Handshakes != want || st.Info.Generation != want {
		h.t.Errorf("%d handshakes, generation %d; want %d", st.Handshakes, st.Info.Generation, want)
	}
	if r := st.Recovery; want > 1 {
		if !st.Recovered || r == nil || r.OldGeneration != want-1 || r.NewGeneration != want || r.Cause == "" || r.Elapsed <= 0 {
			h.t.Errorf("the recovery is %+v, want generation %d after %d, with a cause", r, want, want-1)
		}
	}
}

// cause wants a word in the cause of the latest recovery.
func (h *held) cause(word string) {
	h.t.Helper()
	if r := h.sup.Stats().Recovery; r == nil || !strings.Contains(r.Cause, word) {
		h.t.Errorf("the recovery is %+v, want the cause %q", r, word)
	}
}

// firstRecord is a log that waits for a message.
type firstRecord struct {
	message string
	once    sync.Once
	seen    chan struct{}
}

// Enabled implements slog.Handler.
func (f *firstRecord) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (f *firstRecord) Handle(_ context.Context, r slog.Record) error {
	if r.Message == f.message {
		f.once.Do(func() { close(f.seen) })
	}
	return nil
}

// WithAttrs implements slog.Handler.
func (f *firstRecord) WithAttrs([]slog.Attr) slog.Handler { return f }

// WithGroup implements slog.Handler.
func (f *firstRecord) WithGroup(string) slog.Handler { return f }

// remotes are the remote servers with the words that tell of their loss.
var remotes = []struct{ name, mode, restarted string }{
	{"http", modeHTTP, "HTTP 400"},
	{"sse", modeSSE, ""},
}

// theServerWasRestartedBetweenTwoCalls is an upgrade, or a crash that a service manager has mended: the session is
// unknown to the new process, and the next call opens another.
func theServerWasRestartedBetweenTwoCalls(t *testing.T) {
	t.Helper()
	for _, c := range remotes {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := startRemote(t, c.mode)
			h := hold(t, r.entry())
			h.sum()
			h.handshakes(1)
			for life := 2; life <= 3; life++ {
				r.kill()
				r.start()
				h.sum()
				h.sum()
				h.handshakes(life)
				h.cause(c.restarted)
				if got := r.opened(); got != life {
					t.Errorf("%d sessions were opened, want %d; the server says\n%s", got, life, r.log())
				}
			}
		})
	}
}

// aCallWaitsForAServerThatIsComingBack issues the call while nothing listens. The server is started again when the
// first attempt to reach it has been refused.
func aCallWaitsForAServerThatIsComingBack(t *testing.T) {
	t.Helper()
	for _, c := range remotes {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := startRemote(t, c.mode)
			h := hold(t, r.entry())
			h.sum()
			r.kill()
			restarted := make(chan error, 1)
			go func() {
				select {
				case <-h.failed:
					restarted <- r.launch()
				case <-h.ctx.Done():
					restarted <- context.Cause(h.ctx)
				}
			}()
			begin := time.Now()
			h.sum()
			if err := <-restarted; err != nil {
				t.Fatal(err)
			}
			t.Logf("the call took %s, recovery %+v", time.Since(begin), h.sup.Stats().Recovery)
			h.handshakes(2)
			if got := r.opened(); got != 2 {
				t.Errorf("%d sessions were opened, want 2; the server says\n%s", got, r.log())
			}
		})
	}
}

// callsWaitTogether issues many calls while nothing listens: they share one fresh session.
func callsWaitTogether(t *testing.T) {
	t.Helper()
	const calls = 20
	r := startRemote(t, modeHTTP)
	h := hold(t, r.entry())
	h.sum()
	r.kill()
	answers := make(chan answer, calls)
	for range calls {
		go func() { answers <- h.call("get-sum", map[string]any{"a": 2, "b": 3}) }()
	}
	select {
	case <-h.failed:
	case <-h.ctx.Done():
		t.Fatal(context.Cause(h.ctx))
	}
	r.start()
	for range calls {
		h.wants(<-answers, "The sum of 2 and 3 is 5.")
	}
	h.handshakes(2)
	if got := r.opened(); got != 2 {
		t.Errorf("%d sessions were opened, want 2; the server says\n%s", got, r.log())
	}
}

// theServerDiesDuringACall kills the server while it executes a call that may be repeated, and starts it again.
func theServerDiesDuringACall(t *testing.T) {
	t.Helper()
	for _, c := range remotes {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := startRemote(t, c.mode)
			h := hold(t, r.entry())
			h.sum()
			before := r.posts()
			done := make(chan answer, 1)
			go func() { done <- h.call("trigger-long-running-operation", map[string]any{"duration": 2, "steps": 1}) }()
			eventually(t, startTime, func() string { return "the call did not come to the server: " + r.log() },
				func() bool { return r.posts() > before })
			r.kill()
			r.start()
			h.wants(<-done, "Long running operation completed. Duration: 2 seconds")
			h.handshakes(2)
			if got := r.opened(); got != 2 {
				t.Errorf("%d sessions were opened, want 2; the server says\n%s", got, r.log())
			}
		})
	}
}

// aServerThatStaysAway is given up after the session wait, with the reason for it.
func aServerThatStaysAway(t *testing.T) {
	t.Helper()
	r := startRemote(t, modeHTTP)
	entry := r.entry()
	entry.SessionWait = 2 * time.Second
	h := hold(t, entry)
	h.sum()
	r.kill()
	begin := time.Now()
	a := h.call("get-sum", map[string]any{"a": 2, "b": 3})
	if elapsed := time.Since(begin); elapsed > entry.SessionWait+time.Second {
		t.Errorf("it took %s, and the limit is %s", elapsed, entry.SessionWait)
	}
	if session.ClassOf(a.err) != session.ClassSession || !strings.Contains(a.err.Error(), "refused") {
		t.Errorf("the error is %v of class %q, want one that says that the connection was refused", a.err, session.ClassOf(a.err))
	}
	// Once it is back, so is the session.
	r.start()
	h.sum()
	h.handshakes(2)
}

// theChildWasKilledBetweenTwoCalls kills the process group of a stdio server, behind the back of its session.
func theChildWasKilledBetweenTwoCalls(t *testing.T) {
	t.Helper()
	for name, command := range map[string][]string{
		"node": {"node", script("everything"), "stdio"},
		"npx":  {"npx", "-y", "@modelcontextprotocol/server-everything"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newTap(t)
			h := hold(t, stdioEntry(p.on(command...)...))
			h.sum()
			send(t, -h.child(), syscall.SIGKILL)
			h.sum()
			h.sum()
			h.handshakes(2)
			h.cause("killed")
			p.wants("initialize", 2)
			p.wants("tools/call", 3)
		})
	}
}

// aPartOfTheChildDies kills one process of the group. What is left of the group serves nobody, and is ended when the
// session is replaced.
func aPartOfTheChildDies(t *testing.T) {
	t.Helper()
	npx := []string{"npx", "-y", "@modelcontextprotocol/server-everything"}
	for name, victim := range map[string]func(*held) int{
		"the wrapper": (*held).child,
		"the server": func(h *held) int {
			return runningWith(h.t, h.u.home, "node", filepath.Join(directory, "node_modules", ".bin", "mcp-server-everything")).pid
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := hold(t, stdioEntry(npx...))
			h.sum()
			old := h.child()
			send(t, victim(h), syscall.SIGKILL)
			// A server without its wrapper may still answer for a moment. No call fails.
			eventually(t, endTime, func() string { return "the session was not replaced" }, func() bool {
				h.sum()
				return h.sup.Stats().Handshakes > 1
			})
			h.sum()
			h.handshakes(2)
			eventually(t, endTime, func() string { return fmt.Sprintf("the old group runs: %v", processes(t, h.u.home)) }, func() bool {
				return !slices.ContainsFunc(processes(t, h.u.home), func(p process) bool {
					group, err := syscall.Getpgid(p.pid)
					return err == nil && group == old
				})
			})
		})
	}
}

// child returns the process group of the session's child.
func (h *held) child() int {
	h.t.Helper()
	s, err := h.sup.Session(h.ctx)
	if err != nil {
		h.t.Fatal(err)
	}
	return groupOf(h.t, s.PID())
}

// theChildIsKilledDuringAList stops the server, so that the list comes to it and is not answered, and kills it.
func theChildIsKilledDuringAList(t *testing.T) {
	t.Helper()
	p := newTap(t)
	h := hold(t, stdioEntry(p.on("node", script("everything"), "stdio")...))
	h.sum()
	send(t, runningWith(t, h.u.home, node22(), script("everything")).pid, syscall.SIGSTOP)
	done := make(chan error, 1)
	var list session.List
	go func() {
		done <- h.sup.Do(h.ctx, session.Request{Name: "tools/list", Repeatable: true}, func(ctx context.Context, s *session.Session) (err error) {
			list, err = s.List(ctx, "tools/list")
			return err
		})
	}()
	p.await("tools/list", 1)
	send(t, -h.child(), syscall.SIGKILL)
	if err := <-done; err != nil || len(list.Items) != 13 {
		t.Fatalf("%d tools, %v; want 13", len(list.Items), err)
	}
	h.handshakes(2)
	h.cause("killed")
	p.wants("initialize", 2)
	p.wants("tools/list", 2)
	if r := h.sup.Stats().Recovery; !r.Repeated || r.Detect <= 0 {
		t.Errorf("the recovery is %+v, want a repeated request and the time until the loss was noticed", r)
	}
}
