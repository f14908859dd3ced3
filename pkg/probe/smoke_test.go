package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// TestSmokeIDs shows that every call has an ID of its own that can stand in a report.
func TestSmokeIDs(t *testing.T) {
	var s config.Server
	for _, name := range []string{"health", "smoke", "a b", "a  b", "a b", "getUser", "!/..", "x.y", strings.Repeat("n", 200), "日本語", "日本", "Привет мир", "日\u200b本\U000e0041", strings.Repeat("語", 200)} {
		s.Smoke = append(s.Smoke, config.Smoke{Health: config.Health{Tool: name}})
	}
	s.Smoke = append(s.Smoke, config.Smoke{Name: "named", Health: config.Health{Tool: "t"}})
	want := []string{
		"call.health-2", "call.smoke-2", "call.a-b", "call.a-b-2", "call.a-b-3", "call.getUser", "call.unnamed", "call.x.y",
		"call." + strings.Repeat("n", longestID), "call.日本語", "call.日本", "call.Привет-мир", "call.日-本", "call." + strings.Repeat("語", longestID), "call.named",
	}
	if got := SmokeIDs(s); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestSmokeOutcome shows that a call whose outcome is not known is made again only if its tool allows that.
func TestSmokeOutcome(t *testing.T) {
	die := func(n int, _ http.ResponseWriter, _ *http.Request) bool {
		if n == 1 {
			panic(http.ErrAbortHandler)
		}
		return false
	}
	harmless := &flaky{call: die} // its tool says that it only reads
	server := harmless.serve(t)
	server.Smoke = []config.Smoke{{Health: config.Health{Tool: "peek", Expect: config.Expect{Equals: new("pong")}}}}
	got := byID(Run(t.Context(), &Target{Server: server}, Checks()))["call.peek"]
	if got.Status != Warn || !strings.Contains(got.Message, "after it had to be repeated") || harmless.counts["tools/call"] != 2 {
		t.Errorf("%d calls, %+v", harmless.counts["tools/call"], got)
	}

	silent := everything() // and this one must never be called twice
	silent.fatal = "tools/call"
	silent.results["tools/list"] = strings.Replace(silent.results["tools/list"], "readOnlyHint", "other", 1)
	server = silent.serve(t)
	server.Smoke = []config.Smoke{{Health: config.Health{Tool: "read", Args: json.RawMessage(`{"path":"x"}`)}}}
	got = byID(Run(t.Context(), &Target{Server: server}, Checks()))["call.read"]
	if n := strings.Count(silent.called(), "tools/call"); got.Status != Fail || got.Class != "unknown-outcome" || n != 1 {
		t.Errorf("%d calls, %+v", n, got)
	}
}

// TestDeniedCall shows that an error in place of a result is told as the server told it.
func TestDeniedCall(t *testing.T) {
	for _, tt := range []struct {
		code int
		fix  string
	}{{-32602, "correct args of call.read in calls.yaml:3, or the tool's schema"}, {-32603, "see the server's own log"}} {
		s := everything()
		s.errors = map[string]string{"tools/call": fmt.Sprintf(`{"code":%d,"message":"no such table"}`, tt.code)}
		server := s.serve(t)
		server.Smoke = []config.Smoke{{Health: config.Health{Tool: "read", Args: json.RawMessage(`{"path":"x"}`)}, Source: config.Source{Kind: "file", Detail: "calls.yaml:3"}}}
		r := Run(t.Context(), &Target{Server: server}, Checks())
		got := byID(r)["call.read"]
		words := fmt.Sprintf("read: the server refused the call: no such table (code %d)", tt.code)
		if got.Status != Fail || got.Class != "tool" || got.Message != words || !strings.HasPrefix(got.Fix, tt.fix) || strings.Contains(got.Detail, "text:") {
			t.Errorf("%+v", got)
		}
		if got.Data["rpc_code"] != tt.code || got.Data["tool"] != "read" || r.Cause == nil || r.Cause.Message != words {
			t.Errorf("%v, %+v", got.Data, r.Cause)
		}
	}
}

// TestSmokeIsNotInvented shows that a call which does not fit is not sent.
func TestSmokeIsNotInvented(t *testing.T) {
	s := everything()
	server := s.serve(t)
	server.Tools = config.ToolFilter{Exclude: []string{"hidden"}}
	server.Smoke = []config.Smoke{
		{Health: config.Health{Tool: "read"}},
		{Health: config.Health{Tool: "raed"}},
		{Health: config.Health{Tool: "hidden"}, Source: config.Source{Kind: "file", Detail: "calls.yaml:3"}},
	}
	r := Run(t.Context(), &Target{Server: server}, Checks())
	results := byID(r)
	for id, words := range map[string]string{
		"call.read": "the arguments do not fit read", "call.raed": `the server has no tool "raed"`, "call.hidden": "the entry's filter leaves hidden out",
	} {
		if got := results[id]; got.Status != Fail || got.Class != "config" || !strings.Contains(got.Message, words) {
			t.Errorf("%s: %+v\n%s", id, got, statuses(r))
		}
	}
	if calls := s.called(); strings.Contains(calls, "tools/call") {
		t.Error(calls)
	}
}

// TestUnexpected shows what a result is compared with.
func TestUnexpected(t *testing.T) {
	const answer = `{"content":[{"type":"text","text":"{\"n\":12345678901234567890}"}],"structuredContent":{"n":1.50,"list":[1]}}`
	const plain = `{"content":[{"type":"text","text":"{\"n\": 1.0}"}]}`
	for _, tt := range []struct {
		expect config.Expect
		answer string
		want   string
	}{
		{config.Expect{EqualsJSON: json.RawMessage(`{"list":[1.0],"n":1.5}`)}, answer, ""},
		{config.Expect{EqualsJSON: json.RawMessage(`{"n":1.5}`)}, answer, `its structured content is not {"n":1.5}: got {"n":1.50,"list":[1]}`},
		{config.Expect{EqualsJSON: json.RawMessage(`{"n":1}`)}, plain, ""},
		{config.Expect{EqualsJSON: json.RawMessage(`{"n":2}`)}, plain, `it has no structured content, and its text is not {"n":2}: got {"n": 1.0}`},
		{config.Expect{JQ: `.structuredContent.list | length == 1`}, answer, ""},
		{config.Expect{JQ: `0`}, answer, ""},
		{config.Expect{JQ: `.content[0].text | contains("12345678901234567890")`}, answer, ""},
		{config.Expect{JQ: `.structuredContent.nope`}, answer, `jq .structuredContent.nope is null; got {"n":1.50,"list":[1]}`},
		{config.Expect{JQ: `false, true`}, answer, `jq false, true is false; got {"n":1.50,"list":[1]}`},
		{config.Expect{JQ: `.nope`}, plain, `jq .nope is null; got the text "{\"n\": 1.0}"`},
		{config.Expect{Contains: "x"}, plain, `its text does not contain "x": got "{\"n\": 1.0}"`},
		{config.Expect{Matches: "^x"}, plain, `its text does not match ^x: got "{\"n\": 1.0}"`},
		{config.Expect{Equals: new("x")}, `{"content":[]}`, `its text is not "x": got ""`},
		{config.Expect{Equals: new("x")}, `{"content":[{"type":"text","text":"` + strings.Repeat("y", 300) + `"}]}`, `its text is not "x": got "` + strings.Repeat("y", 80) + `…"`},
		{config.Expect{EqualsJSON: json.RawMessage(`1`)}, `{"content":[{"type":"text","text":"no"}]}`, `it has no structured content, and its text is not 1: got "no"`},
		{config.Expect{JQ: `empty`}, answer, "jq empty has no output"},
		{config.Expect{JQ: `error("x")`}, answer, `jq error("x"): error: x`},
	} {
		if got := unexpected(t.Context(), tt.expect, json.RawMessage(tt.answer)); got != tt.want {
			t.Errorf("%+v\n got %q\nwant %q", tt.expect, got, tt.want)
		}
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("the end"))
	defer cancel()
	if got := unexpected(ctx, config.Expect{JQ: `def f: f; f`}, json.RawMessage(answer)); got != "jq def f: f; f: the end" {
		t.Error(got)
	}
}

// TestDeadline shows that the end of a run is told as the reason of what is not known.
func TestDeadline(t *testing.T) {
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("the deadline of 1s ran out"))
	defer cancel()
	server := demoHTTP(t, false)
	server.Smoke = []config.Smoke{{Health: config.Health{Tool: "slow", Args: json.RawMessage(`{"seconds":30}`)}}}
	r := Run(ctx, &Target{Server: server}, Checks())
	call, end := byID(r)["call.slow"], byID(r)["shutdown.close"]
	if call.Status != Unknown || !strings.HasSuffix(call.Message, "and may have been executed: the deadline of 1s ran out") {
		t.Errorf("%+v", call)
	}
	if end.Status != Unknown || end.Message != "not checked: the deadline of 1s ran out" || r.Verdict != Warn || !r.Incomplete {
		t.Errorf("verdict %s, %+v", r.Verdict, end)
	}
}

// TestBudget shows that a run has time for the limits of all that it does: a soak, kills, calls.
func TestBudget(t *testing.T) {
	server := config.Server{URL: "http://127.0.0.1:1/", ConnectTimeout: 10 * time.Second, Timeout: time.Minute, MaxTimeout: 2 * time.Minute}
	plain := Budget(&Target{Server: server}, Checks())
	if plain < 3*time.Minute || plain > 25*time.Minute {
		t.Errorf("a plain run has %s", plain)
	}
	if got := Budget(&Target{Server: server, Soak: time.Hour}, Checks()); got < plain+time.Hour {
		t.Errorf("a soak of an hour has %s", got)
	}
	if got := Budget(&Target{Server: server, Kills: 10}, Checks()); got < plain+20*time.Minute {
		t.Errorf("ten kills have %s", got)
	}
	server.Smoke = make([]config.Smoke, 5)
	if got := Budget(&Target{Server: server}, Checks()); got < plain+10*time.Minute {
		t.Errorf("five calls have %s", got)
	}
}
