package probe

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpctl/mcpctl/internal/faultlab"
	"github.com/mcpctl/mcpctl/internal/stopwatch"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// lab serves a case of the laboratory over HTTP, and keeps the server for questions.
func lab(t *testing.T, name string) (*faultlab.Server, config.Server) {
	t.Helper()
	c, ok := faultlab.Find(name)
	if !ok {
		t.Fatalf("no case %q", name)
	}
	srv, err := c.Serve(faultlab.HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	return srv, config.Server{Name: "s", URL: srv.URL, Transport: config.TransportAuto, Enabled: true}
}

// TestHealthCall shows what becomes of the call that an entry names: expectations that hold and do not, and calls that
// are never made.
func TestHealthCall(t *testing.T) {
	text := func(s string) *string { return &s }
	for _, tt := range []struct {
		name   string
		health config.Health
		status Status
		class  string
		words  string
	}{
		{"as expected", config.Health{Tool: "echo", Args: json.RawMessage(`{"message":"pong"}`), Expect: config.Expect{
			Contains: "on", Matches: "^p.n", Equals: text("pong"), Within: time.Minute,
		}}, Pass, "", "echo answered in"},
		{"an error is expected", config.Health{Tool: "fail", Expect: config.Expect{IsError: true}}, Pass, "", "fail answered in"},
		{"an error", config.Health{Tool: "fail"}, Fail, "tool", "it reported an error: "},
		{"no error", config.Health{Tool: "echo", Args: json.RawMessage(`{"message":"x"}`), Expect: config.Expect{IsError: true}}, Fail, "tool", "it reported no error"},
		{"does not contain", config.Health{Tool: "echo", Args: json.RawMessage(`{"message":"x"}`), Expect: config.Expect{Contains: "pong"}}, Fail, "failed", `its text does not contain "pong"`},
		{"does not match", config.Health{Tool: "echo", Args: json.RawMessage(`{"message":"x"}`), Expect: config.Expect{Matches: "^y"}}, Fail, "failed", "its text does not match ^y"},
		{"is not equal", config.Health{Tool: "echo", Args: json.RawMessage(`{"message":"x"}`), Expect: config.Expect{Equals: text("")}}, Fail, "failed", `its text is not ""`},
		{"too slow", config.Health{Tool: "echo", Args: json.RawMessage(`{"message":"x"}`), Expect: config.Expect{Within: 1}}, Fail, "failed", "is the most that is expected"},
		{"no such tool", config.Health{Tool: "ecko"}, Fail, "config", `the server has no tool "ecko"`},
		{"a missing argument", config.Health{Tool: "echo"}, Fail, "config", "the arguments do not fit echo"},
		{"an argument of another type", config.Health{Tool: "echo", Args: json.RawMessage(`{"message":1}`)}, Fail, "config", "the arguments do not fit echo"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := demoHTTP(t, false)
			server.Health = &tt.health
			r := Run(t.Context(), &Target{Server: server}, Checks())
			got := byID(r)["call.health"]
			if got.Status != tt.status || got.Class != tt.class || !strings.Contains(got.Message, tt.words) || (tt.status == Fail) != (got.Fix != "") {
				t.Errorf("%+v", got)
			}
			if (r.Cause == nil) != (tt.status == Pass) || r.Cause != nil && r.Cause.Check != "call.health" {
				t.Errorf("cause %+v", r.Cause)
			}
			if tt.name == "no such tool" && !strings.Contains(got.Fix, "did you mean echo") {
				t.Errorf("fix %q", got.Fix)
			}
		})
	}
}

// TestDrillCallsHealth shows that the drill and the soak make the call that the entry names (KD-02) only if its tool says
// that it only reads, and was answered before, and that they say why they do not.
func TestDrillCallsHealth(t *testing.T) {
	srv, silent := lab(t, "healthy") // its tools say nothing about themselves
	silent.Health = &config.Health{Tool: "echo", Args: json.RawMessage(`{"text":"hi"}`)}
	harmless := demoHTTP(t, false)
	harmless.Health = &config.Health{Tool: "echo", Args: json.RawMessage(`{"message":"hi"}`)}
	without, _ := Select(Checks(), nil, []string{"call"})
	for _, tt := range []struct {
		server  config.Server
		checks  []Check
		request string
		why     any
	}{
		{silent, Checks(), "tools/list", "echo does not say that it only reads"},
		{harmless, Checks(), "tools/call echo", nil},
		{harmless, without, "tools/list", "call.health was left out"},
	} {
		r := Run(t.Context(), &Target{Server: tt.server, Kills: 2}, tt.checks)
		request := byID(r)["recovery.request"]
		if request.Status != Pass || request.Data["request"] != tt.request || request.Data["executions"] != 1 || request.Data["health_not_used"] != tt.why {
			t.Errorf("%+v\n%s", request, statuses(r))
		}
		if told := "the request was tools/list, as "; strings.Contains(request.Note, told) != (tt.why != nil) {
			t.Errorf("note %q", request.Note)
		}
		r = Run(t.Context(), &Target{Server: tt.server, Soak: time.Second}, tt.checks)
		if soak := byID(r)["recovery.soak"]; soak.Status != Pass || soak.Data["request"] != tt.request || soak.Data["lost"] != 0 || soak.Data["health_not_used"] != tt.why {
			t.Errorf("%+v", soak)
		}
	}
	if n := srv.Stats().ToolExec["echo"]; n != 2 { // by the check of each examination
		t.Errorf("echo ran %d times", n)
	}
}

// TestDrillWithoutGoodHealth shows that a health call which cannot be made leaves the drill to a list, and is the only
// failure.
func TestDrillWithoutGoodHealth(t *testing.T) {
	server := demoHTTP(t, false)
	server.Health = &config.Health{Tool: "gone"}
	r := Run(t.Context(), &Target{Server: server, Kills: 1}, Checks())
	results := byID(r)
	if r.Cause == nil || r.Cause.Check != "call.health" || results["recovery.request"].Status != Pass || results["recovery.request"].Data["request"] != "tools/list" {
		t.Errorf("cause %+v\n%s", r.Cause, statuses(r))
	}
	// A call that fails for a reason of its own says nothing about sessions.
	server.Health = &config.Health{Tool: "fail"}
	r = Run(t.Context(), &Target{Server: server, Kills: 1}, Checks())
	if results := byID(r); r.Cause.Check != "call.health" || results["recovery.request"].Status != Pass {
		t.Errorf("cause %+v\n%s", r.Cause, statuses(r))
	}
}

// onlyOnce returns an entry whose command works the first time it is started, and then never again.
func onlyOnce(t *testing.T) config.Server {
	t.Helper()
	server := child(t, "demo")
	marker := filepath.Join(t.TempDir(), "was-here")
	server.Command, server.Args = "sh", []string{"-c", `[ -e "$1" ] && exit 3; : >"$1"; exec "$0" demo`, server.Command, marker}
	server.Env["PATH"] = os.Getenv("PATH")
	return server
}

// TestDrillFails shows that a server which does not come back fails one check, with the cause.
func TestDrillFails(t *testing.T) {
	r := Run(t.Context(), &Target{Server: onlyOnce(t), Kills: 3, Soak: time.Second}, Checks())
	results := byID(r)
	if r.Cause == nil || r.Cause.Check != "recovery.fresh" || r.Cause.Class != "connect" || !strings.Contains(r.Cause.Message, "no fresh session came: initialize: the process ended: exit status 3") {
		t.Errorf("cause %+v\n%s", r.Cause, statuses(r))
	}
	if results["recovery.kill"].Status != Pass || results["recovery.request"].Status != Skip || results["recovery.soak"].Status != Skip {
		t.Errorf("%s", statuses(r))
	}
}

// TestDrillKillsTheWholeGroup shows that a server with children of its own is killed with them (KD-05), and comes back.
func TestDrillKillsTheWholeGroup(t *testing.T) {
	r := Run(t.Context(), &Target{Server: child(t, "stdio", "stdio-grandchild"), Kills: 2}, Checks())
	results := byID(r)
	if fresh := results["recovery.fresh"]; fresh.Status != Pass || fresh.Data["handshakes"] != 1 || results["recovery.request"].Status != Pass {
		t.Errorf("%s", statuses(r))
	}
}

// TestDrillKnowsWhenItDoesNotKnow shows that a kill which cannot be seen, because the question is not answered as a lost
// session is, is unknown and not the server's fault, and that one which proves to be none is called that.
func TestDrillKnowsWhenItDoesNotKnow(t *testing.T) {
	for _, tt := range []struct {
		name  string
		ping  func(w http.ResponseWriter)
		check string
		words string
	}{
		{"error", func(w http.ResponseWriter) { http.Error(w, "broken", http.StatusInternalServerError) }, "recovery.kill", "could not be seen to be dead: "},
		{"login", func(w http.ResponseWriter) { http.Error(w, "who are you", http.StatusUnauthorized) }, "recovery.kill", "could not be seen to be dead: "},
		{"cut", func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, "recovery.kill", "could not be seen to be dead: "},
		{"no kill", func(w http.ResponseWriter) { http.Error(w, "Session not found", http.StatusNotFound) }, "recovery.fresh", "the old session still answers: the kill was not one"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := &flaky{}
			var deleted atomic.Bool
			s.del = func(int, http.ResponseWriter, *http.Request) bool { deleted.Store(true); return true } // it forgets nothing
			s.ping = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
				if deleted.Load() {
					tt.ping(w)
				}
				return deleted.Load()
			}
			r := Run(t.Context(), &Target{Server: s.serve(t), Kills: 1}, Checks())
			got := byID(r)[tt.check]
			if got.Status != Unknown || !strings.Contains(got.Message, tt.words) || got.Fix == "" || r.Cause != nil || !r.Incomplete {
				t.Errorf("%+v\n%s", got, statuses(r))
			}
		})
	}
}

// TestNothingIsOpenedToBeClosed shows that a drill after which no session stands opens none for the last check, and that
// it names what limited the wait.
func TestNothingIsOpenedToBeClosed(t *testing.T) {
	lap := stopwatch.Start(t)
	r := Run(t.Context(), &Target{Server: (&flaky{sessions: 1}).serve(t), Kills: 1}, Checks())
	if took := lap.End(); took > 3500*time.Millisecond { // session_wait is 2 s
		t.Errorf("it took %s", took)
	}
	results := byID(r)
	if results["shutdown.close"].Status != Skip || r.Cause == nil || r.Cause.Check != "recovery.fresh" || !strings.Contains(r.Cause.Fix, "--session-wait") {
		t.Errorf("cause %+v\n%s", r.Cause, statuses(r))
	}
}

// TestDrillAfterAnUnknownOutcome shows that a health call which was not answered is not made again.
func TestDrillAfterAnUnknownOutcome(t *testing.T) {
	s := &flaky{}
	s.call = func(int, http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }
	server := s.serve(t)
	server.Health = &config.Health{Tool: "peek"}
	request := byID(Run(t.Context(), &Target{Server: server, Kills: 2}, Checks()))["recovery.request"]
	if request.Status != Pass || request.Data["request"] != "tools/list" || request.Data["health_not_used"] != "call.health was not answered" {
		t.Errorf("%+v", request)
	}
}

// TestDrillInterrupted shows that a drill which is interrupted tells of the kills that it has made.
func TestDrillInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := &flaky{}
	s.del = func(n int, _ http.ResponseWriter, _ *http.Request) bool {
		if n == 5 {
			cancel()
		}
		return false
	}
	kill := byID(Run(ctx, &Target{Server: s.serve(t), Kills: 500}, Checks()))["recovery.kill"]
	if n, ok := kill.Data["kills"].(int); kill.Status != Unknown || !ok || n == 0 || !strings.Contains(kill.Message, " of 500 kills") {
		t.Errorf("%+v", kill)
	}
}

// TestDrillTellsThatTheOldSessionLives shows that a server which refuses DELETE, and another session, is told what stands
// in the way.
func TestDrillTellsThatTheOldSessionLives(t *testing.T) {
	s := &flaky{sessions: 1}
	s.del = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return true
	}
	fresh := byID(Run(t.Context(), &Target{Server: s.serve(t), Kills: 1}, Checks()))["recovery.fresh"]
	if fresh.Status != Fail || !strings.Contains(fresh.Detail, "DELETE was refused with 405: the old session may still be alive") {
		t.Errorf("%+v", fresh)
	}
}

// TestHealthCallThatIsATask shows that the result of a call which becomes a task is waited for and judged, in both eras, and that
// the recovery checks do not make such a call again.
func TestHealthCallThatIsATask(t *testing.T) {
	for _, tt := range []struct {
		name   string
		o      faultlab.TaskOptions
		tool   string
		args   string
		status Status
		words  string
	}{
		{"legacy", faultlab.TaskOptions{}, "job", `{"polls":2,"text":"done","interval":1}`, Pass, "job answered in"},
		{"unasked", faultlab.TaskOptions{}, "surprise", `{"polls":1,"text":"done","interval":1}`, Pass, "surprise answered in"},
		{"modern", faultlab.TaskOptions{Modern: true}, "job", `{"polls":2,"text":"done","interval":1}`, Pass, "job answered in"},
		{"another result", faultlab.TaskOptions{}, "job", `{"text":"other","interval":1}`, Fail, "its text does not contain"},
		{"a result that is an error", faultlab.TaskOptions{}, "job", `{"end":"error","text":"no disk","interval":1}`, Fail, "it reported an error: no disk"},
		{"an error in place of a result", faultlab.TaskOptions{}, "job", `{"end":"failed","text":"no disk","interval":1}`, Fail, "job: the server refused the call"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv, err := faultlab.ServeTasks(tt.o)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = srv.Close() })
			server := config.Server{Name: "s", URL: srv.URL, Transport: config.TransportAuto, Enabled: true, Timeout: time.Minute}
			server.Health = &config.Health{Tool: tt.tool, Args: json.RawMessage(tt.args), Expect: config.Expect{Contains: "done"}}
			r := Run(t.Context(), &Target{Server: server, Kills: 1}, Checks())
			got := byID(r)["call.health"]
			if _, task := got.Data["task"]; got.Status != tt.status || !strings.Contains(got.Message, tt.words) || !task {
				t.Errorf("%+v", got)
			}
			if n := srv.Asked("tools/call"); n != 1 {
				t.Errorf("%d calls", n)
			}
			if got := byID(r)["recovery.request"]; tt.status == Pass && got.Status != Pass {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestACallThatIsATaskIsCancelled when the run ends before it, which a server that does not answer to that does not put off.
func TestACallThatIsATaskIsCancelled(t *testing.T) {
	for _, args := range []string{`{"stuck":true}`, `{"stuck":true,"mute":true}`} {
		srv, err := faultlab.ServeTasks(faultlab.TaskOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = srv.Close() })
		server := config.Server{Name: "s", URL: srv.URL, Transport: config.TransportAuto, Enabled: true, Timeout: time.Minute}
		server.Health = &config.Health{Tool: "job", Args: json.RawMessage(args)}
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		var lap stopwatch.Lap
		go func() {
			for srv.Asked("tasks/get") == 0 && ctx.Err() == nil {
				time.Sleep(time.Millisecond)
			}
			lap = stopwatch.Start(t)
			cancel()
		}()
		r := Run(ctx, &Target{Server: server}, Checks())
		if elapsed := lap.End(); elapsed > 10*time.Second {
			t.Errorf("%s: it took %s", args, elapsed)
		}
		if got := byID(r)["call.health"]; got.Status != Unknown || srv.Asked("tasks/cancel") != 1 {
			t.Errorf("%s: %d cancelled: %+v", args, srv.Asked("tasks/cancel"), got)
		}
	}
}
