package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// The tests of this file run real sessions with a real HTTP server over pipes in memory, in a bubble whose clock stands
// still while anything happens: what takes hours takes no time, and is exact to the jitter.

// town is an HTTP server in the bubble: reachable, or not.
type town struct {
	*restartable
	name    string
	conns   chan net.Conn
	closing chan struct{}

	mu       sync.Mutex
	down     bool
	hang     bool
	dials    []time.Time
	open     []net.Conn
	requests []string // the methods, in order
	answer   func(http.ResponseWriter, *http.Request, string) bool
}

func newTown(t *testing.T, name string) *town {
	t.Helper()
	w := &town{name: name, conns: make(chan net.Conn), closing: make(chan struct{})}
	w.restartable = &restartable{sessions: map[string]bool{}, contentType: "application/json"}
	w.hold = func(method string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.requests = append(w.requests, method)
	}
	w.handle = func(rw http.ResponseWriter, req *http.Request, method string) bool {
		w.mu.Lock()
		answer := w.answer
		w.mu.Unlock()
		return answer != nil && answer(rw, req, method)
	}
	w.Server = httptest.NewUnstartedServer(http.HandlerFunc(w.serve))
	_ = w.Listener.Close() // the real one
	w.Listener = w
	w.Start()
	t.Cleanup(w.Server.Close)
	return w
}

// Accept, Close and Addr make it a listener.
func (w *town) Accept() (net.Conn, error) {
	select {
	case c := <-w.conns:
		return c, nil
	case <-w.closing:
		return nil, net.ErrClosed
	}
}

func (w *town) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.closing:
	default:
		close(w.closing)
	}
	return nil
}

func (w *town) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (w *town) dial(ctx context.Context) (net.Conn, error) {
	w.mu.Lock()
	w.dials = append(w.dials, time.Now())
	down, hang := w.down, w.hang
	w.mu.Unlock()
	if hang {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if down {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	near, far := net.Pipe()
	w.mu.Lock()
	w.open = append(w.open, far)
	w.mu.Unlock()
	w.conns <- far
	return near, nil
}

// set makes the town reachable or not. Going down breaks the connections there are.
func (w *town) set(down bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = down
	if down {
		for _, c := range w.open {
			_ = c.Close()
		}
		w.open = nil
	}
}

// restart forgets the sessions, as a server does that keeps them in memory.
func (w *town) restart() { w.set(true); w.forget() }

// answers sets what answers requests in its own way, as far as it returns true.
func (w *town) answers(answer func(http.ResponseWriter, *http.Request, string) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answer = answer
}

// asked returns how often a method was called since the last time, and forgets it.
func (w *town) asked() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := map[string]int{}
	for _, m := range w.requests {
		n[m]++
	}
	w.requests = nil
	return n
}

// gaps returns the pauses between the dials since the given time, in whole seconds.
func (w *town) gaps(from time.Time) []int {
	w.mu.Lock()
	defer w.mu.Unlock()
	var gaps []int
	for _, d := range w.dials {
		if d.Before(from) {
			continue
		}
		gaps = append(gaps, int(d.Sub(from).Round(time.Second).Seconds()))
		from = d
	}
	w.dials = nil
	return gaps
}

func (w *town) entry() config.Server {
	return config.Server{
		Name: w.name, URL: "http://" + w.name + ".test/mcp", Transport: config.TransportHTTP, Enabled: true,
		Protocol: legacyVersion, // without the question for the era, one attempt dials once
	}
}

// region is the network of the towns.
func region(towns ...*town) *Dialer {
	return &Dialer{NetDial: func(ctx context.Context, _, address string) (net.Conn, error) {
		for _, w := range towns {
			if strings.HasPrefix(address, w.name+".") {
				return w.dial(ctx)
			}
		}
		return nil, &net.DNSError{Err: "no such host", Name: address, IsNotFound: true}
	}}
}

// kept returns a town and a supervisor that holds it connected. When the test is over, nothing is left: the bubble sees to
// it.
func kept(t *testing.T, change func(*config.Server)) (*town, *Supervisor) {
	t.Helper()
	w := newTown(t, "town")
	server := w.entry()
	if change != nil {
		change(&server)
	}
	s := NewSupervisor(region(w), server)
	t.Cleanup(func() { _ = s.Close() })
	s.Keep()
	synctest.Wait()
	if st := s.Status(); st.State != StateReady {
		t.Fatalf("%s: %s", st.State, st.Reason)
	}
	w.asked()
	return w, s
}

// pass lets time pass, and what is due happen.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func wantState(t *testing.T, s *Supervisor, want State) Status {
	t.Helper()
	st := s.Status()
	if st.State != want {
		t.Errorf("%s (%s), want %s", st.State, st.Reason, want)
	}
	return st
}

// nearly reports whether every number is the wanted one but for the jitter of a fifth.
func nearly(got, want []int) bool {
	return slices.EqualFunc(got, want, func(g, w int) bool { return 5*g >= 4*w-5 && 5*g <= 6*w+5 })
}

func TestKA01IdleSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := kept(t, nil)
		pass(179 * time.Second)
		if n := w.asked(); len(n) != 0 {
			t.Errorf("asked early: %v", n)
		}
		pass(time.Second)
		if n := w.asked(); n["ping"] != 1 || len(n) != 1 {
			t.Errorf("after an interval: %v", n)
		}
		pass(10 * 180 * time.Second)
		if n := w.asked(); n["ping"] != 10 || len(n) != 1 {
			t.Errorf("after ten intervals: %v", n)
		}
	})
}

func TestKA01NotWhileInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := kept(t, nil)
		pass(100 * time.Second)
		if _, err := list(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		pass(179 * time.Second) // since the request
		if n := w.asked(); n["ping"] != 0 {
			t.Errorf("asked %v although it was in use", n)
		}
		pass(time.Second)
		if n := w.asked(); n["ping"] != 1 {
			t.Errorf("after the interval: %v", n)
		}
		// A request on its way for 250 s.
		w.answers(func(rw http.ResponseWriter, req *http.Request, method string) bool {
			if method == "tools/call" {
				time.Sleep(250 * time.Second)
			}
			return false
		})
		if _, err := call(t.Context(), s, "x", nil, false); err != nil {
			t.Fatal(err)
		}
		if n := w.asked(); n["ping"] != 0 {
			t.Errorf("asked %v while a request was on its way", n)
		}
	})
}

func TestKA01Configured(t *testing.T) {
	for name, c := range map[string]struct {
		keepalive time.Duration
		after     time.Duration
		pings     int
	}{
		"its own":   {20 * time.Second, 60 * time.Second, 3},
		"the floor": {time.Second, 15 * time.Second, 3},
		"off":       {config.Off, time.Hour, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, s := kept(t, func(s *config.Server) { s.Keepalive = c.keepalive })
				pass(c.after)
				if n := w.asked(); n["ping"] != c.pings {
					t.Errorf("%v, want %d pings", n, c.pings)
				}
				wantState(t, s, StateReady)
			})
		})
	}
}

func TestKA02PingIsNotKnown(t *testing.T) {
	for _, refusal := range []string{
		`{"code":-32601,"message":"Method not found"}`,
		`{"code":-32600,"message":"Unsupported method: ping"}`,
		`{"code":-32000,"message":"No handler for request ping"}`,
	} {
		t.Run(refusal, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, s := kept(t, nil)
				w.answers(func(rw http.ResponseWriter, req *http.Request, method string) bool {
					if method != "ping" {
						return false
					}
					rw.Header().Set("Content-Type", "application/json")
					_, _ = fmt.Fprintf(rw, `{"jsonrpc":"2.0","id":%s,"error":%s}`, w.lastID(req), refusal)
					return true
				})
				pass(4 * 180 * time.Second)
				if n := w.asked(); n["ping"] != 1 || n["tools/list"] != 4 || n["initialize"] != 0 {
					t.Errorf("asked %v", n)
				}
				wantState(t, s, StateReady)
			})
		})
	}
}

// TestKA02SilenceIsConfirmed shows that a ping that is not answered kills no connection on which another request is, and
// one on which nothing is answered is replaced.
func TestKA02SilenceIsConfirmed(t *testing.T) {
	silent := func(methods ...string) func(http.ResponseWriter, *http.Request, string) bool {
		return func(_ http.ResponseWriter, req *http.Request, method string) bool {
			if slices.Contains(methods, method) {
				<-req.Context().Done()
				return true
			}
			return false
		}
	}
	synctest.Test(t, func(t *testing.T) {
		w, s := kept(t, nil)
		w.answers(silent("ping"))
		pass(200 * time.Second)
		if n := w.asked(); n["ping"] != 1 || n["tools/list"] != 1 || n["initialize"] != 0 {
			t.Errorf("asked %v", n)
		}
		wantState(t, s, StateReady)
	})
	synctest.Test(t, func(t *testing.T) {
		w, s := kept(t, nil)
		w.answers(silent("ping", "tools/list"))
		pass(180*time.Second + 2*signBound + time.Second)
		if n := w.asked(); n["initialize"] != 1 {
			t.Errorf("asked %v", n)
		}
		wantState(t, s, StateReady)
		if rec := s.Stats().Recovery; rec == nil || !strings.Contains(rec.Cause, "no sign of life") {
			t.Errorf("recovery %+v", rec)
		}
	})
}

// TestRC01Pauses shows when a lost connection is replaced: at once, then with pauses that double, and, parked, once in
// five minutes.
func TestRC01Pauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := kept(t, nil)
		pass(time.Second)
		w.restart()
		begin := time.Now().Add(179 * time.Second) // of the keepalive that finds out
		pass(179*time.Second + 40*time.Second)
		// The keepalive, the DELETE, the replacement at once, and the pauses of 1, 2, 4 and 8 s.
		if gaps := w.gaps(begin); !nearly(gaps, []int{0, 0, 0, 1, 2, 4, 8}) {
			t.Errorf("dialled after %v", gaps)
		}
		st := wantState(t, s, StateParked)
		if st.Failures != DefaultReconnect || !strings.Contains(st.Reason, "refused") || st.Err == nil || st.Next.IsZero() {
			t.Errorf("%+v", st)
		}
		at := time.Now()
		pass(3 * 300 * time.Second)
		if gaps := w.gaps(at); len(gaps) != 3 || !nearly(gaps[1:], []int{300, 300}) {
			t.Errorf("parked: dialled after %v", gaps)
		}
		w.set(false)
		pass(300 * time.Second)
		wantState(t, s, StateReady)
	})
}

// TestRC01LongestPause shows that the pauses stop growing.
func TestRC01LongestPause(t *testing.T) {
	change := func(s *config.Server) { s.Retry = config.Retry{Reconnect: 50, MaxBackoff: 10 * time.Second} }
	synctest.Test(t, func(t *testing.T) {
		w, _ := kept(t, change)
		pass(180 * time.Second) // it proves itself
		w.restart()
		begin := time.Now().Add(180 * time.Second)
		pass(180*time.Second + 47*time.Second)
		gaps := w.gaps(begin)
		if len(gaps) < 8 || !nearly(gaps[3:8], []int{1, 2, 4, 8, 10}) {
			t.Errorf("dialled after %v", gaps)
		}
	})
}

// TestRC02NoStorm shows that a server that opens and dies at once is not opened again and again.
func TestRC02NoStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t, "town")
		// The older transport: the stream ends as soon as the handshake is over.
		messages := make(chan string, 8)
		w.answers(func(rw http.ResponseWriter, req *http.Request, method string) bool {
			if req.Method == http.MethodPost {
				rw.WriteHeader(http.StatusAccepted)
				switch method {
				case "initialize":
					messages <- fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-03-26","capabilities":{},"serverInfo":{"name":"d","version":"1"}}}`, w.lastID(req))
				case "notifications/initialized":
					messages <- ""
				}
				return true
			}
			for len(messages) > 0 {
				<-messages // for a stream that has ended
			}
			rw.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(rw, "event: endpoint\ndata: /mcp\n\n")
			rw.(http.Flusher).Flush() //nolint:forcetypeassert // it is net/http's
			for {
				select {
				case m := <-messages:
					if m == "" {
						time.Sleep(time.Millisecond) // the handshake is over by then
						return true
					}
					_, _ = io.WriteString(rw, "event: message\ndata: "+m+"\n\n")
					rw.(http.Flusher).Flush() //nolint:forcetypeassert // the same
				case <-req.Context().Done():
					return true
				}
			}
		})
		server := w.entry()
		server.Transport = config.TransportSSE
		s := NewSupervisor(region(w), server)
		t.Cleanup(func() { _ = s.Close() })
		s.Keep()
		pass(time.Hour)
		st := wantState(t, s, StateParked)
		// Three until it is parked, then one in five minutes.
		if n := w.asked()["initialize"]; n < 3+10 || n > 3+13 {
			t.Errorf("%d handshakes in an hour; failures %d", n, st.Failures)
		}
	})
}

// TestRC02Proof shows what makes failures count from the beginning again: a request that succeeds, and lasting.
func TestRC02Proof(t *testing.T) {
	prove := map[string]func(*testing.T, *Supervisor){
		"a request": func(t *testing.T, s *Supervisor) {
			t.Helper()
			if _, err := list(t.Context(), s); err != nil {
				t.Error(err)
			}
		},
		"an interval": func(*testing.T, *Supervisor) { pass(180 * time.Second) },
	}
	for name, prove := range prove {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, s := kept(t, nil)
				pass(180 * time.Second)
				w.restart()
				pass(183 * time.Second)
				w.set(false)
				pass(5 * time.Second)
				if st := wantState(t, s, StateReady); st.Failures == 0 {
					t.Errorf("a session that has proved nothing ends the count")
				}
				prove(t, s)
				if st := wantState(t, s, StateReady); st.Failures != 0 {
					t.Errorf("%d failures", st.Failures)
				}
			})
		})
	}
}

func TestRC03FirstSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t, "town")
		w.set(true)
		s := NewSupervisor(region(w), w.entry())
		t.Cleanup(func() { _ = s.Close() })
		begin := time.Now()
		s.Keep()
		pass(0)
		if st := wantState(t, s, StateConnecting); st.Next.IsZero() || st.Failures != 1 {
			t.Errorf("%+v", st)
		}
		pass(time.Minute)
		if gaps := w.gaps(begin); !nearly(gaps, []int{0, 1, 2}) {
			t.Errorf("dialled after %v", gaps)
		}
		wantState(t, s, StateParked)
	})
}

// TestRC03Permanent shows that what trying again cannot cure is not tried again and again.
func TestRC03Permanent(t *testing.T) {
	answer := func(status int, contentType, body string) func(*town, *config.Server) {
		return func(w *town, _ *config.Server) {
			w.answers(func(rw http.ResponseWriter, _ *http.Request, _ string) bool {
				rw.Header().Set("Content-Type", contentType)
				rw.WriteHeader(status)
				_, _ = io.WriteString(rw, body)
				return true
			})
		}
	}
	for name, c := range map[string]struct {
		damage func(*town, *config.Server)
		state  State
		class  Class
		again  bool
	}{
		"a web page":    {answer(200, "text/html", "<html><title>Hello</title></html>"), StateParked, ClassConnect, true},
		"unauthorized":  {answer(401, "text/plain", "no"), StateNeedsAuth, ClassAuth, false},
		"no such host":  {func(_ *town, s *config.Server) { s.URL = "http://elsewhere.test/mcp" }, StateParked, ClassConnect, true},
		"a bad address": {func(_ *town, s *config.Server) { s.URL = "ftp://town.test/" }, StateFailed, ClassConfig, false},
		"a missing command": {func(_ *town, s *config.Server) {
			s.URL, s.Command, s.Transport = "", "/no/such/command", config.TransportStdio
		}, StateParked, ClassConnect, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newTown(t, "town")
				server := w.entry()
				c.damage(w, &server)
				s := NewSupervisor(region(w), server)
				t.Cleanup(func() { _ = s.Close() })
				s.Keep()
				pass(0)
				st := wantState(t, s, c.state)
				if st.Failures != 1 || ClassOf(st.Err) != c.class || st.Next.IsZero() == c.again {
					t.Errorf("%+v", st)
				}
				pass(time.Hour)
				st = s.Status()
				if n := 1 + 12*map[bool]int{true: 1}[c.again]; st.Failures != n {
					t.Errorf("%d attempts in an hour, want %d", st.Failures, n)
				}
				s.Wake() // somebody has logged in, or asks
				pass(0)
				if got := s.Status().Failures; got != st.Failures+1 {
					t.Errorf("a wake-up made no attempt")
				}
			})
		})
	}
}

func TestRC04AttachingWakesTheStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		healthy, parked, waiting := newTown(t, "healthy"), newTown(t, "parked"), newTown(t, "waiting")
		stuck, disabled := newTown(t, "stuck"), newTown(t, "disabled")
		towns := []*town{healthy, parked, waiting, stuck, disabled}
		parked.set(true)
		waiting.set(true)
		stuck.hang = true
		off := disabled.entry()
		off.Enabled = false
		patient := waiting.entry()
		patient.Retry = config.Retry{Initial: 100, MaxBackoff: time.Hour}
		p := NewPool(region(towns...), healthy.entry(), parked.entry(), patient, stuck.entry(), off)
		t.Cleanup(func() { _ = p.Close() })
		pass(20 * time.Minute)
		states := func() map[string]State {
			m := map[string]State{}
			for _, st := range p.Status() {
				m[st.Server] = st.State
			}
			return m
		}
		want := map[string]State{
			"healthy": StateReady, "parked": StateParked, "waiting": StateConnecting, "stuck": StateParked, "disabled": StateDisabled,
		}
		if got := states(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%v, want %v", got, want)
		}
		parked.set(false)
		waiting.set(false)
		for _, w := range towns {
			w.asked()
			w.gaps(time.Now())
		}
		if _, err := p.Open(t.Context(), "healthy"); err != nil { // nobody waits for the others
			t.Error(err)
		}
		pass(0)
		want["parked"], want["waiting"], want["stuck"] = StateReady, StateReady, StateConnecting
		if got := states(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v, want %v", got, want)
		}
		if n := healthy.asked(); len(n) != 0 {
			t.Errorf("the healthy one was asked %v", n)
		}
		if n := disabled.gaps(time.Now()); len(n) != 0 {
			t.Error("the disabled one was contacted")
		}
		if _, err := p.Open(t.Context(), "disabled"); ClassOf(err) != ClassConfig {
			t.Errorf("disabled: %v", err)
		}
		if _, err := p.Open(t.Context(), "nobody"); ClassOf(err) != ClassConfig {
			t.Errorf("unknown: %v", err)
		}
	})
}

// TestRC04ARequestWakes shows that a request does not wait for the planned attempt.
func TestRC04ARequestWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := kept(t, nil)
		pass(180 * time.Second)
		w.restart()
		pass(10 * time.Minute)
		wantState(t, s, StateParked)
		w.set(false)
		begin := time.Now()
		if _, err := list(t.Context(), s); err != nil {
			t.Error(err)
		}
		if waited := time.Since(begin); waited != 0 {
			t.Errorf("it waited %s", waited)
		}
		wantState(t, s, StateReady)
	})
}

// TestRC04ReconnectReplacesTheHealthy shows an explicit reconnect.
func TestRC04ReconnectReplacesTheHealthy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := kept(t, nil)
		sess, err := s.Reconnect(t.Context())
		if err != nil || sess.Info().Generation != 2 {
			t.Errorf("%v", err)
		}
		pass(0)
		wantState(t, s, StateReady)
		w.CloseClientConnections()
	})
}

// TestRC06RequestsWait shows that a request that comes while a replacement is under way, or between two attempts, waits
// for the fresh session as long as one that met the loss.
func TestRC06RequestsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := kept(t, nil)
		pass(180 * time.Second)
		w.restart()
		pass(182 * time.Second)
		wantState(t, s, StateReconnecting)
		var all sync.WaitGroup
		begin := time.Now()
		for range 100 {
			all.Go(func() {
				if _, err := list(t.Context(), s); err != nil {
					t.Error(err)
				}
			})
		}
		pass(10 * time.Second)
		w.asked()
		w.set(false)
		all.Wait()
		if waited := time.Since(begin); waited > DefaultSessionWait {
			t.Errorf("they waited %s", waited)
		}
		if n := w.asked(); n["initialize"] != 1 || n["tools/list"] != 100 {
			t.Errorf("asked %v", n)
		}
	})
}

// TestRC06Joined shows that a request that joins an attempt of the keeper's lends it its patience.
func TestRC06Joined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := kept(t, nil)
		pass(180 * time.Second)
		w.restart()
		reached, release := make(chan struct{}), make(chan struct{})
		var once sync.Once
		w.answers(func(rw http.ResponseWriter, _ *http.Request, method string) bool {
			if method != "initialize" {
				return false
			}
			first := false
			once.Do(func() { first = true })
			if first { // the keeper's own attempt: it will be told to come back
				close(reached)
				<-release
				http.Error(rw, "starting", http.StatusServiceUnavailable)
			}
			return first
		})
		w.set(false)
		time.Sleep(180 * time.Second)
		<-reached
		done := make(chan error, 1)
		go func() {
			_, err := list(t.Context(), s)
			done <- err
		}()
		synctest.Wait()
		close(release)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// severing makes calls kill their connection, as long as *broken.
func severing(w *town, broken *atomic.Bool) {
	w.answers(func(_ http.ResponseWriter, _ *http.Request, method string) bool {
		if method == "tools/call" && broken.Load() {
			panic(http.ErrAbortHandler)
		}
		return false
	})
}

func TestCB01Breaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := kept(t, nil)
		var broken atomic.Bool
		broken.Store(true)
		severing(w, &broken)
		for range 3 {
			if _, err := call(t.Context(), s, "x", nil, false); ClassOf(err) != ClassUnknownOutcome {
				t.Fatal(err)
			}
		}
		w.asked()
		_, err := call(t.Context(), s, "x", nil, false)
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Outcome != OutcomeNotSent || e.RetryAfter != 60*time.Second || !e.Retryable || !strings.Contains(e.Message, "3 requests") {
			t.Fatalf("%+v", err)
		}
		if n := w.asked(); n["tools/call"] != 0 {
			t.Errorf("asked %v", n)
		}
		if st := wantState(t, s, StateReady); st.Refusing.IsZero() {
			t.Error("the status does not tell")
		}
		pass(30 * time.Second)
		_, err = call(t.Context(), s, "x", nil, false)
		if e, ok := errors.AsType[*Error](err); !ok || e.RetryAfter != 30*time.Second {
			t.Errorf("half-way: %v", err)
		}
		// Half open: one is let through, and fails.
		pass(30 * time.Second)
		if _, err = call(t.Context(), s, "x", nil, false); ClassOf(err) != ClassUnknownOutcome {
			t.Errorf("half open: %v", err)
		}
		if _, err = call(t.Context(), s, "x", nil, false); ClassOf(err) != ClassConnect {
			t.Errorf("open again: %v", err)
		}
		// And one that works closes it.
		pass(60 * time.Second)
		broken.Store(false)
		for range 2 {
			if _, err = call(t.Context(), s, "x", nil, false); err != nil {
				t.Errorf("closed: %v", err)
			}
		}
	})
}

func TestCB01HalfOpenLetsOneThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := kept(t, nil)
		var broken atomic.Bool
		broken.Store(true)
		severing(w, &broken)
		for range 3 {
			_, _ = call(t.Context(), s, "x", nil, false)
		}
		pass(60 * time.Second)
		release := make(chan struct{})
		w.answers(func(_ http.ResponseWriter, _ *http.Request, method string) bool {
			if method == "tools/call" {
				<-release
			}
			return false
		})
		first := make(chan error, 1)
		go func() {
			_, err := call(t.Context(), s, "x", nil, false)
			first <- err
		}()
		synctest.Wait()
		if _, err := call(t.Context(), s, "x", nil, false); ClassOf(err) != ClassConnect {
			t.Errorf("a second one was let through: %v", err)
		}
		close(release)
		if err := <-first; err != nil {
			t.Error(err)
		}
		if _, err := call(t.Context(), s, "x", nil, false); err != nil {
			t.Error(err)
		}
	})
}

// TestCB01WhatDoesNotCount shows that errors of the server's own, busy servers and impatient callers do not open it.
func TestCB01WhatDoesNotCount(t *testing.T) {
	answers := map[string]func(w *town, rw http.ResponseWriter, req *http.Request){
		"a JSON-RPC error": func(w *town, rw http.ResponseWriter, req *http.Request) {
			rw.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(rw, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"bad argument"}}`, w.lastID(req))
		},
		"a tool's error": func(w *town, rw http.ResponseWriter, req *http.Request) {
			rw.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(rw, `{"jsonrpc":"2.0","id":%s,"result":{"isError":true,"content":[]}}`, w.lastID(req))
		},
		"403": func(_ *town, rw http.ResponseWriter, _ *http.Request) { http.Error(rw, "no", http.StatusForbidden) },
		"401": func(_ *town, rw http.ResponseWriter, _ *http.Request) { http.Error(rw, "no", http.StatusUnauthorized) },
		"500": func(_ *town, rw http.ResponseWriter, _ *http.Request) {
			http.Error(rw, "no", http.StatusInternalServerError)
		},
		"silence": func(_ *town, _ http.ResponseWriter, req *http.Request) { <-req.Context().Done() },
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, s := kept(t, func(s *config.Server) { s.Timeout = 5 * time.Second })
				w.answers(func(rw http.ResponseWriter, req *http.Request, method string) bool {
					if method == "tools/call" {
						answer(w, rw, req)
						return true
					}
					return false
				})
				for range 5 {
					_, _ = call(t.Context(), s, "x", nil, false)
				}
				if n := w.asked(); n["tools/call"] != 5 {
					t.Errorf("asked %v", n)
				}
			})
		})
	}
}

// TestCB01WhatCloses shows that a wake-up closes the breaker, a connection that proves itself does, and a fresh session
// alone does not. Threshold 0 is no breaker.
func TestCB01WhatCloses(t *testing.T) {
	open := func(t *testing.T, w *town, s *Supervisor) {
		t.Helper()
		var broken atomic.Bool
		broken.Store(true)
		severing(w, &broken)
		for range 3 {
			_, _ = call(t.Context(), s, "x", nil, false)
		}
		broken.Store(false)
		if _, err := call(t.Context(), s, "x", nil, false); ClassOf(err) != ClassConnect {
			t.Fatalf("not open: %v", err)
		}
	}
	works := func(t *testing.T, s *Supervisor, want bool) {
		t.Helper()
		if _, err := call(t.Context(), s, "x", nil, false); (err == nil) != want {
			t.Errorf("%v", err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		w, s := kept(t, nil)
		open(t, w, s)
		s.Wake()
		works(t, s, true)
	})
	synctest.Test(t, func(t *testing.T) {
		w, s := kept(t, func(s *config.Server) { s.Breaker.Cooldown = time.Hour })
		open(t, w, s)
		works(t, s, false) // on a session that was opened after the last failure
		pass(181 * time.Second)
		works(t, s, true)
	})
	synctest.Test(t, func(t *testing.T) {
		w, s := kept(t, func(s *config.Server) { s.Breaker.Threshold = config.Off })
		var broken atomic.Bool
		broken.Store(true)
		severing(w, &broken)
		for range 10 {
			if _, err := call(t.Context(), s, "x", nil, false); ClassOf(err) != ClassUnknownOutcome {
				t.Error(err)
			}
		}
	})
}

// TestCB02DeadConnection shows that the request that a half-open breaker lets through is not written into a dead
// connection, but gets a fresh one.
func TestCB02DeadConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t, "town")
		s := NewSupervisor(region(w), w.entry())
		t.Cleanup(func() { _ = s.Close() })
		s.Keep()
		pass(0)
		var broken atomic.Bool
		broken.Store(true)
		severing(w, &broken)
		for range 3 {
			_, _ = call(t.Context(), s, "x", nil, false)
		}
		broken.Store(false)
		pass(60 * time.Second)
		sess, err := s.Session(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_ = sess.Close() // it dies before the keeper, or anybody, has noticed
		var generation int
		err = s.Do(t.Context(), Request{Name: "tools/call"}, func(ctx context.Context, got *Session) error {
			generation = got.Info().Generation
			_, err := got.Raw(ctx, "tools/call", map[string]any{"name": "x"})
			return err
		})
		if err != nil || generation <= sess.Info().Generation {
			t.Errorf("generation %d after %d: %v", generation, sess.Info().Generation, err)
		}
	})
}

// TestSH01PoolClose shows that a pool ends within 5 s, whatever its servers do, and that requests end with a reason.
func TestSH01PoolClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var towns []*town
		var servers []config.Server
		for i := range 20 {
			w := newTown(t, fmt.Sprintf("town%02d", i))
			w.answers(func(_ http.ResponseWriter, req *http.Request, method string) bool {
				// A DELETE that hangs is for tests with a real clock: the SDK holds a lock meanwhile, and so the bubble's.
				if method == "tools/call" {
					<-req.Context().Done()
					return true
				}
				return false
			})
			towns, servers = append(towns, w), append(servers, w.entry())
		}
		towns[3].hang = true
		p := NewPool(region(towns...), servers...)
		errs := make(chan error, len(towns))
		for _, server := range servers {
			s, _ := p.Server(server.Name)
			go func() {
				_, err := call(t.Context(), s, "x", nil, false)
				errs <- err
			}()
		}
		pass(time.Second)
		begin := time.Now()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("it took %s", took)
		}
		for range towns {
			err := <-errs
			if e, ok := errors.AsType[*Error](err); !ok || e.Message == "" {
				t.Errorf("%v", err)
			}
		}
		for _, st := range p.Status() {
			if st.State != StateClosed {
				t.Errorf("%+v", st)
			}
		}
		if _, err := p.Open(t.Context(), "town01"); err == nil {
			t.Error("a closed pool opened a session")
		}
	})
}

// TestEvents shows that each change of the state is told once, in order, with its reason.
func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t, "town")
		s := NewSupervisor(region(w), w.entry())
		events := s.Events(t.Context())
		s.Keep()
		pass(180 * time.Second)
		w.restart()
		pass(182 * time.Second)
		w.set(false)
		pass(time.Minute)
		_ = s.Close()
		var told []string
		var recovered *Recovery
		for e := range events {
			if e.Server != "town" || e.Time.IsZero() || e.Missed != 0 {
				t.Errorf("%+v", e)
			}
			if e.From != e.State {
				told = append(told, string(e.State))
			}
			if e.Recovery != nil {
				recovered = e.Recovery
			}
		}
		if want := []string{"connecting", "ready", "reconnecting", "ready", "closed"}; !slices.Equal(told, want) {
			t.Errorf("%v, want %v", told, want)
		}
		if recovered == nil || recovered.OldGeneration != 1 || recovered.NewGeneration != 2 || recovered.Elapsed < time.Second {
			t.Errorf("recovery %+v", recovered)
		}
	})
}

// TestEventsSlowReader shows that nobody waits for a reader, and that it is told what it missed.
func TestEventsSlowReader(t *testing.T) {
	var f feed
	ctx, cancel := context.WithCancel(t.Context())
	events := f.watch(ctx)
	const many = feedSize + 100
	for i := range many {
		f.publish(Event{Status: Status{Failures: i}})
	}
	missed, last := 0, -1
	for range feedSize {
		e := <-events
		missed += e.Missed
		if e.Failures <= last {
			t.Errorf("%d after %d", e.Failures, last)
		}
		last = e.Failures
	}
	if missed != many-feedSize || last != many-1 {
		t.Errorf("missed %d, last %d", missed, last)
	}
	cancel()
	for range events { // closed
		t.Error("an event after the end")
	}
}

// TestRC02ToolsProveNothing shows that the list of tools which a fresh session is asked for by itself does not make a
// server worth a new session that loses each at once.
func TestRC02ToolsProveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := kept(t, func(s *config.Server) { s.Breaker.Threshold = config.Off })
		if _, err := s.Tools(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.answers(func(rw http.ResponseWriter, _ *http.Request, method string) bool {
			if method == "tools/list" {
				http.Error(rw, "session not found", http.StatusNotFound)
				return true
			}
			return false
		})
		w.asked()
		_, _ = s.Reconnect(t.Context())
		pass(time.Hour)
		if n := w.asked()["initialize"]; n > DefaultReconnect+14 {
			t.Errorf("%d handshakes in an hour", n)
		}
		wantState(t, s, StateParked)
	})
}

// TestKeepAfterAFailure shows that a server which failed before it was kept is tried.
func TestKeepAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t, "town")
		w.set(true)
		s := NewSupervisor(region(w), w.entry())
		t.Cleanup(func() { _ = s.Close() })
		if _, err := list(t.Context(), s); err == nil {
			t.Error("it is down")
		}
		wantState(t, s, StateFailed)
		w.set(false)
		s.Keep()
		pass(time.Second)
		wantState(t, s, StateReady)
	})
}

// TestRC03LeavingChangesNothing shows that a request that is given up at once hides nothing of how a server stands.
func TestRC03LeavingChangesNothing(t *testing.T) {
	for state, damage := range map[State]func(*town){
		StateNeedsAuth: func(w *town) {
			w.answers(func(rw http.ResponseWriter, _ *http.Request, _ string) bool {
				http.Error(rw, "no", http.StatusUnauthorized)
				return true
			})
		},
		StateParked: func(w *town) { w.set(true) },
	} {
		t.Run(string(state), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newTown(t, "town")
				damage(w)
				s := NewSupervisor(region(w), w.entry())
				t.Cleanup(func() { _ = s.Close() })
				s.Keep()
				pass(time.Minute)
				before := wantState(t, s, state)
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				if _, err := list(ctx, s); ClassOf(err) != ClassInterrupted {
					t.Error(err)
				}
				pass(time.Second)
				if after := wantState(t, s, state); after.Next != before.Next || after.Failures != before.Failures {
					t.Errorf("%+v, it was %+v", after, before)
				}
			})
		})
	}
}

// TestKA02BusyIsAlive shows that a server which is too busy for a ping keeps its session, and that one which wants
// authorization all at once is not ready.
func TestKA02BusyIsAlive(t *testing.T) {
	refuse := func(w *town, status *atomic.Int64) {
		w.answers(func(rw http.ResponseWriter, _ *http.Request, _ string) bool {
			if code := status.Load(); code != 0 {
				http.Error(rw, "no", int(code))
			}
			return status.Load() != 0
		})
	}
	for _, code := range []int64{http.StatusServiceUnavailable, http.StatusTooManyRequests, http.StatusInternalServerError} {
		synctest.Test(t, func(t *testing.T) {
			w, s := kept(t, nil)
			var status atomic.Int64
			status.Store(code)
			refuse(w, &status)
			pass(181 * time.Second)
			if st := wantState(t, s, StateReady); st.Generation != 1 {
				t.Errorf("%d: generation %d", code, st.Generation)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		w, s := kept(t, nil)
		var status atomic.Int64
		status.Store(http.StatusUnauthorized)
		refuse(w, &status)
		if _, err := list(t.Context(), s); ClassOf(err) != ClassAuth {
			t.Error(err)
		}
		pass(time.Second) // it is looked at, without a wait for the keepalive
		if st := wantState(t, s, StateNeedsAuth); ClassOf(st.Err) != ClassAuth {
			t.Errorf("%+v", st)
		}
		status.Store(0)
		s.Wake() // somebody has logged in
		pass(0)
		wantState(t, s, StateReady)
	})
}

// TestCB01OneIncident shows that one loss counts once, however many requests met it.
func TestCB01OneIncident(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := kept(t, nil)
		release := make(chan struct{})
		w.answers(func(_ http.ResponseWriter, _ *http.Request, method string) bool {
			if method == "tools/call" {
				<-release
				panic(http.ErrAbortHandler)
			}
			return false
		})
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() { _, _ = call(t.Context(), s, "x", nil, false) })
		}
		synctest.Wait()
		close(release)
		all.Wait()
		if _, err := list(t.Context(), s); err != nil {
			t.Error(err)
		}
	})
}

// TestSH01CloseEndsWaits shows that a request which waits for a busy server ends with the supervisor.
func TestSH01CloseEndsWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := kept(t, nil)
		w.answers(func(rw http.ResponseWriter, _ *http.Request, method string) bool {
			if method != "tools/call" {
				return false
			}
			rw.Header().Set("Retry-After", "25")
			http.Error(rw, "slow down", http.StatusTooManyRequests)
			return true
		})
		ended := make(chan error, 1)
		go func() {
			_, err := call(t.Context(), s, "x", nil, false)
			ended <- err
		}()
		pass(time.Second)
		_ = s.Close()
		synctest.Wait()
		select {
		case err := <-ended:
			if e, ok := errors.AsType[*Error](err); !ok || e.Outcome != OutcomeRefused || e.Class != ClassInterrupted {
				t.Errorf("%+v", err)
			}
		default:
			t.Error("it still waits")
		}
	})
}

// TestPoolChangesWhileItCloses shows, under the race detector, that a pool may be changed by some while others close it.
func TestPoolChangesWhileItCloses(t *testing.T) {
	for range 100 {
		var servers []config.Server
		for n := range 5 {
			servers = append(servers, config.Server{Name: fmt.Sprint(n), URL: "ftp://nowhere/", Enabled: true})
		}
		p := NewPool(nil, servers...)
		var all sync.WaitGroup
		for n := range servers {
			all.Go(func() { p.Remove(servers[n].Name) })
			all.Go(func() { p.Add(servers[n]) })
		}
		all.Go(func() { _ = p.Close() })
		all.Go(func() { _ = p.Close() })
		all.Go(p.Attach)
		all.Wait()
		for _, st := range p.Status() {
			if st.State != StateClosed {
				t.Fatalf("%+v", st)
			}
		}
	}
}
