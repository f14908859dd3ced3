package session

// Chaos: hundreds of workers make thousands of calls through one supervisor while the server, the connections and the
// sessions under them are killed at random moments. Afterwards the books are closed: the workers' own, call by call and
// attempt by attempt, against the server's, which holds what was executed and what each call was hit by.
//
// Nothing is judged by time. A call may fail only because of faults that are in the server's books for this very call, or
// for the session it was made on; and a call that may be repeated only if it was hit twice, because it is repeated once
// (SE-05). The faults of a call follow from the seed and the call's own name, so that they are the same again however the
// workers take turns:
//
//	go test ./pkg/session -run TestChaos -chaos.seed 42
//	go test ./pkg/session -run TestChaos -chaos.long

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http/httptrace"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpctl/mcpctl/pkg/config"
)

var (
	chaosLong = flag.Bool("chaos.long", false, "run the chaos tests for minutes")
	chaosSeed = flag.Uint64("chaos.seed", 0, "the seed of the chaos tests, 0 for a new one")
)

// dice returns a source of random numbers that depends on the seed and the words only.
func dice(seed uint64, words ...any) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprint(h, words...)
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// How a fault bears on the call that it hits.
const (
	// hitRefused is a loss that the server told of before it executed anything: every call is repeated after it.
	hitRefused = "refused"
	// hitSevered leaves open whether the call was executed: it is repeated only if that does no harm.
	hitSevered = "severed"
	// hitBusy asks to come back later: the call is made again on the same session, any number of times.
	hitBusy = "busy"
	// hitUnavailable is 503 without more: busy for a call that may be repeated, else severed.
	hitUnavailable = "unavailable"
)

// chaosHit is a fault that met a call.
type chaosHit struct {
	session string
	how     string
}

// books are the server's: what happened, by call and by session.
type books struct {
	seed uint64

	mu       sync.Mutex
	execs    map[string]int        // by call
	hits     map[string][]chaosHit // by call
	arrivals map[string]int        // by call, or by method for those without a name
	issued   []string              // the sessions that were opened
	alive    map[string]bool       // those the server knows
	reasons  map[string]int        // by session: why it could not be used any more
	killed   map[string]bool       // by session: every request on it is hit
	excused  map[string]bool       // by session: the client could not delete it
	opening  int                   // faults that hit an opening
	stale    int                   // requests on sessions that the server had forgotten
}

func newBooks(seed uint64) *books {
	return &books{
		seed: seed, execs: map[string]int{}, hits: map[string][]chaosHit{}, arrivals: map[string]int{}, alive: map[string]bool{},
		reasons: map[string]int{}, killed: map[string]bool{}, excused: map[string]bool{},
	}
}

// arrive counts a request in and returns the dice that decide its fate.
func (b *books) arrive(name string) *rand.Rand {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.arrivals[name]++
	return dice(b.seed, name, b.arrivals[name])
}

func (b *books) executed(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.execs[key]++
}

// hit notes a fault of a call on a session.
func (b *books) hit(key, session, how string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hits[key] = append(b.hits[key], chaosHit{session, how})
	if how != hitBusy {
		b.reasons[session]++
	}
}

// issue opens a session.
func (b *books) issue(session string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.issued = append(b.issued, session)
	b.alive[session] = true
}

// knows reports whether a session is alive.
func (b *books) knows(session string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.alive[session]
}

// drop forgets a session, for a reason that is the server's.
func (b *books) drop(session string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.alive, session)
	b.reasons[session]++
}

// kill notes that the connections of a session break: whatever is asked on it is hit.
func (b *books) kill(session string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.killed[session], b.excused[session] = true, true
	b.reasons[session]++
}

// living returns the sessions that are alive.
func (b *books) living() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var ids []string
	for _, id := range b.issued {
		if b.alive[id] {
			ids = append(ids, id)
		}
	}
	return ids
}

// chaosTool says what a call is.
type chaosTool struct {
	name string
	// repeatable is what the server says of the tool; hinted lets the supervisor find it out for itself.
	repeatable, hinted bool
}

var chaosTools = []chaosTool{
	{name: "tools/list", repeatable: true},
	{name: "peek", repeatable: true},
	{name: "peek", repeatable: true, hinted: true},
	{name: "put", repeatable: true},
	{name: "increment"},
	{name: "increment"},
	{name: "increment", hinted: true},
}

// chaosCall is one logical call, as its worker saw it.
type chaosCall struct {
	key      string
	tool     chaosTool
	attempts []chaosAttempt
	err      error
	answer   string
}

type chaosAttempt struct {
	session string // as the server calls it
	err     error
	// harmed is set when a connection that it was made on was harmed on the way.
	harmed bool
}

// chaosParams are the parameters of a call. The key is in _meta, where it is for all methods alike.
func chaosParams(key, tool string) map[string]any {
	params := map[string]any{"_meta": map[string]any{"key": key}}
	if tool != "tools/list" {
		params["name"], params["arguments"] = tool, map[string]any{"payload": chaosPayload(key)}
	}
	return params
}

// chaosPayload is what a tool is given, and gives back. Its length differs from call to call.
func chaosPayload(key string) string { return key + strings.Repeat("·"+key, len(key)*7%13) }

// chaosRequest is what a server needs of a message.
type chaosRequest struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string `json:"name"`
		Arguments struct {
			Payload string `json:"payload"`
		} `json:"arguments"`
		Meta struct {
			Key string `json:"key"`
		} `json:"_meta"`
	} `json:"params"`
}

// result returns the result of a request. The session's name is the server's version, so that both sides call a session
// by the same name, on every transport.
func (r *chaosRequest) result(session string) string {
	switch r.Method {
	case "initialize":
		return fmt.Sprintf(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"chaos","version":%q}}`, session)
	case "tools/list":
		return fmt.Sprintf(`{"tools":[{"name":%q,"inputSchema":{"type":"object"}}]}`, chaosPayload(r.Params.Meta.Key))
	case "tools/call":
		return fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, r.Params.Arguments.Payload)
	}
	return "{}"
}

// answer returns the response to a request.
func (r *chaosRequest) answer(session string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, r.ID, r.result(session))
}

// chaosText returns what a tool gave back.
func chaosText(result json.RawMessage) string {
	var r struct {
		Content []struct{ Text string }
		Tools   []struct{ Name string }
	}
	if json.Unmarshal(result, &r) != nil {
		return string(result)
	}
	var text string
	for _, c := range r.Content {
		text += c.Text
	}
	for _, tool := range r.Tools {
		text += tool.Name
	}
	return text
}

// chaosRun is one run of the workers.
type chaosRun struct {
	seed    uint64
	workers int
	calls   int
	// kills is how many kills there are, at equal distances of calls.
	kills int
	// kill does the nth one. current is a session that was used just now.
	kill func(ctx context.Context, n int, dice *rand.Rand, current *Session)
	// harms reports whether the TCP connection with this local address is harmed on the way; nil if none is. Calls may then
	// end by a limit.
	harms func(local string) bool
}

// chaosHang is far above every limit of a call: one that reaches it hangs.
const chaosHang = 2 * time.Minute

var errHangs = errors.New("the call hangs")

// newChaosRun returns a run in its short or its long form.
func newChaosRun(t *testing.T, workers, short, long int) *chaosRun {
	t.Helper()
	r := &chaosRun{seed: *chaosSeed, workers: workers, calls: short, kills: 12}
	if r.seed == 0 {
		r.seed = rand.Uint64N(1 << 32)
	}
	if *chaosLong {
		r.workers, r.calls, r.kills = 2*workers, long, r.kills*long/short
	}
	t.Logf("-chaos.seed %d", r.seed)
	return r
}

// run makes the calls and returns them.
func (r *chaosRun) run(ctx context.Context, s *Supervisor) []*chaosCall {
	calls := make([]*chaosCall, r.calls)
	var next atomic.Int64
	var current atomic.Pointer[Session]
	kicks := make(chan int, r.kills+1)
	step := int64(r.calls/(r.kills+1) + 1)
	var killer, workers sync.WaitGroup
	killer.Go(func() {
		for n := range kicks {
			if sess := current.Load(); sess != nil {
				r.kill(ctx, n, dice(r.seed, "kill", n), sess)
			}
		}
	})
	for range r.workers {
		workers.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= int64(r.calls) {
					return
				}
				if i > 0 && i%step == 0 {
					kicks <- int(i / step)
				}
				calls[i] = r.call(ctx, s, i, &current)
			}
		})
	}
	workers.Wait()
	close(kicks)
	killer.Wait()
	return calls
}

func (r *chaosRun) call(ctx context.Context, s *Supervisor, i int64, current *atomic.Pointer[Session]) *chaosCall {
	c := &chaosCall{tool: chaosTools[i%int64(len(chaosTools))]}
	c.key = fmt.Sprintf("%s-%d", c.tool.name, i)
	req := Request{Name: "tools/call", Repeatable: c.tool.repeatable && !c.tool.hinted}
	if c.tool.name == "tools/list" {
		req.Name = c.tool.name
	}
	if c.tool.hinted {
		req.Hints = func(context.Context, *Session) bool { return c.tool.repeatable }
	}
	ctx, cancel := context.WithTimeoutCause(ctx, chaosHang, errHangs)
	defer cancel()
	c.err = s.Do(ctx, req, func(ctx context.Context, sess *Session) error {
		current.Store(sess)
		var mu sync.Mutex // a connection may be got when nobody wants it any more
		var used []string
		if r.harms != nil {
			ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
				mu.Lock()
				defer mu.Unlock()
				used = append(used, info.Conn.LocalAddr().String())
			}})
		}
		result, err := sess.Raw(ctx, req.Name, chaosParams(c.key, c.tool.name))
		mu.Lock()
		defer mu.Unlock()
		c.attempts = append(c.attempts, chaosAttempt{
			session: sess.info.ServerVersion, err: err, harmed: r.harms != nil && slices.ContainsFunc(used, r.harms),
		})
		c.answer = chaosText(result)
		return err
	})
	return c
}

// check closes the books.
func (r *chaosRun) check(t *testing.T, calls []*chaosCall, b *books, st Stats) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	var hits, recovered, failed, unknown, repeated, wrong int
	complain := func(c *chaosCall, format string, args ...any) {
		const most = 10 // one mistake shows in hundreds of calls
		if wrong++; wrong > most {
			return
		}
		var evidence []string
		if e, ok := errors.AsType[*Error](c.err); ok {
			evidence = e.Evidence
		}
		t.Errorf("%s: %s\n\terror: %v\n\tevidence: %q\n\tattempts: %v\n\thits: %v, executions: %d", c.key, fmt.Sprintf(format, args...),
			describeError(c.err), evidence, c.story(b), b.hits[c.key], b.execs[c.key])
	}
	used := map[string]bool{}
	for _, c := range calls {
		for _, a := range c.attempts {
			used[a.session] = true
		}
	}
	stillborn := 0 // sessions that were killed within their handshake
	for _, session := range b.issued {
		if !used[session] && b.reasons[session] > 0 {
			stillborn++
		}
	}
	for _, c := range calls {
		for _, a := range c.attempts {
			if a.harmed && a.err != nil {
				b.reasons[a.session]++
			}
		}
		hits += len(b.hits[c.key])
		lost, refused, unexplained := c.losses(b)
		if e, ok := errors.AsType[*Error](unexplained); ok && e.kind == kindTimeout && r.harms != nil {
			unexplained = nil // requests that wait for silent connections make others late
		}
		switch {
		case unexplained != nil:
			complain(c, "an attempt failed and nothing had hit it: %v", unexplained)
		case lost > 2:
			complain(c, "it was repeated twice")
		}
		execs := b.execs[c.key]
		if !c.tool.repeatable && execs > 1 {
			complain(c, "executed twice")
		}
		if lost > 0 && c.err == nil {
			recovered++
		}
		if len(c.attempts) > 1 {
			repeated++
		}
		if c.err == nil {
			if c.answer != chaosPayload(c.key) {
				complain(c, "the answer is another's: %q", c.answer)
			}
			if execs == 0 || !c.tool.repeatable && execs != 1 {
				complain(c, "it succeeded, with %d executions", execs)
			}
			continue
		}
		failed++
		var e *Error
		if !errors.As(c.err, &e) {
			complain(c, "not an error of this package")
			continue
		}
		if errors.Is(c.err, errHangs) || strings.Contains(e.Message, errHangs.Error()) {
			complain(c, "it hung")
		}
		// Whether a call with hints may be repeated is asked on the fresh session: without one it is told as unknown.
		unasked := slices.ContainsFunc(e.Evidence, func(line string) bool { return strings.HasPrefix(line, "no fresh session: ") })
		notReplaced := unasked || strings.Contains(e.Message, "could not be replaced")
		if r.harms != nil && (e.Limit != nil || unasked || strings.Contains(e.Message, "no answer within")) {
			lost = 2 // a silent connection may use up the limit of the call, or that of an opening
		}
		if last := len(c.attempts) - 1; lost == 1 && last >= 0 && c.attempts[last].harmed && len(b.hits[c.key]) > 0 {
			lost = 2 // two faults met in one attempt: what the server said of the lost session was cut off on the way
		}
		if strings.Contains(e.Message, "each was lost at once") && len(b.killed) >= maxOpenings {
			lost = 2 // it waited for more sessions than a call waits for, and each was killed before it had its turn
		}
		if notReplaced && stillborn > 1 {
			lost = 2 // an opening begins anew once when its session is killed within the handshake, and not twice
		}
		switch {
		case c.tool.repeatable && lost < 2:
			complain(c, "lost: it may be repeated, and was hit %d times", lost)
		case !c.tool.repeatable && lost < 2 && refused:
			complain(c, "lost: it had been refused, and could have been made again")
		}
		switch e.Outcome {
		case OutcomeUnknown:
			unknown++
			if !c.tool.repeatable && e.Class != ClassUnknownOutcome && e.Class != ClassTimeout {
				complain(c, "outcome unknown, and the class is %s", e.Class)
			}
			if e.Retryable {
				complain(c, "outcome unknown, and it is said to be safe to try again")
			}
		case OutcomeNotSent, OutcomeRefused:
			// Of a call that may be repeated it is the last attempt's.
			if !c.tool.repeatable && execs != 0 {
				complain(c, "outcome %s, and it was executed", e.Outcome)
			}
		case OutcomeExecuted:
			complain(c, "it was executed, and failed")
		default:
			complain(c, "outcome %q", e.Outcome)
		}
	}
	if recovered == 0 {
		t.Error("nothing was recovered: there was no chaos")
	}
	if wrong > 0 {
		t.Errorf("%d mistakes; again with -chaos.seed %d", wrong, r.seed)
	}

	// Each session but the last was replaced for a reason.
	var needless []string
	for _, session := range b.issued {
		if r.harms != nil && !used[session] {
			continue // an opening that was harmed on the way: the server does not know of that
		}
		if b.reasons[session] == 0 && session != st.Info.ServerVersion {
			needless = append(needless, fmt.Sprintf("%s (used: %t)", session, used[session]))
		}
	}
	if len(needless) > 0 {
		t.Errorf("%d of %d sessions were replaced without a reason: %v", len(needless), len(b.issued), needless)
	}
	if st.Handshakes > len(b.issued) {
		t.Errorf("%d handshakes, and the server opened %d sessions", st.Handshakes, len(b.issued))
	}
	t.Logf("%d calls by %d workers: %d hits on them, %d kills, %d hits on openings; %d recovered, %d repeated, %d failed (%d with unknown outcome), %d handshakes, %d sessions, %d stale requests",
		len(calls), r.workers, hits, r.kills, b.opening, recovered, repeated, failed, unknown, st.Handshakes, len(b.issued), b.stale)
}

// losses counts the attempts that met a loss, and returns the error of one that nothing explains. refused is set when
// none of them leaves open whether the call was executed. b.mu is held.
func (c *chaosCall) losses(b *books) (lost int, refused bool, unexplained error) {
	hits := slices.Clone(b.hits[c.key])
	refused = true
	for _, a := range c.attempts {
		if a.err == nil {
			continue
		}
		i := slices.IndexFunc(hits, func(h chaosHit) bool { return h.session == a.session || !b.issuedTo(h.session) })
		if i < 0 {
			if !b.killed[a.session] && !a.harmed {
				return lost, refused, a.err
			}
			lost++
			if e, ok := errors.AsType[*Error](a.err); !ok || e.Outcome != OutcomeNotSent && e.Outcome != OutcomeRefused {
				refused = false
			}
			continue
		}
		how := hits[i].how
		hits = slices.Delete(hits, i, i+1)
		if how == hitUnavailable {
			how = hitSevered
			if c.tool.repeatable && (!c.tool.hinted || lost > 0 && !refused) { // the hints are asked for after a loss that leaves it open
				how = hitBusy
			}
		}
		if e, ok := errors.AsType[*Error](a.err); how != hitBusy || b.killed[a.session] && ok && e.Status == 0 && e.kind == kindSevered {
			lost++ // of two faults in one attempt the end of the session was seen first
		}
		if e, ok := errors.AsType[*Error](a.err); how == hitSevered || (b.killed[a.session] || a.harmed) && ok && e.Outcome == OutcomeUnknown {
			refused = false
		}
	}
	return lost, refused, nil
}

// issuedTo reports whether an id is that of a session. b.mu is held.
func (b *books) issuedTo(id string) bool { return slices.Contains(b.issued, id) }

func (c *chaosCall) story(b *books) string {
	var parts []string
	for _, a := range c.attempts {
		killed := ""
		if b.killed[a.session] {
			killed = " (killed)"
		}
		parts = append(parts, fmt.Sprintf("on %s%s: %v", a.session, killed, describeError(a.err)))
	}
	return strings.Join(parts, "; ")
}

func describeError(err error) string {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return fmt.Sprint(err)
	}
	return fmt.Sprintf("%v [class %s, kind %d, outcome %s]", err, e.Class, e.kind, e.Outcome)
}

// nothingLeft returns a function that fails the test if there are goroutines or descriptors that were not there before.
func nothingLeft(t *testing.T) func() {
	t.Helper()
	if r, w, err := os.Pipe(); err == nil { // the first one of a process makes its poller, which stays
		_, _ = r.Close(), w.Close()
	}
	ignore := goleak.IgnoreCurrent()
	before, counted := descriptors()
	return func() {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		after, _ := descriptors()
		for counted && after > before && sleep(ctx, 5*time.Millisecond) { // the other side of a connection ends a moment later
			after, _ = descriptors()
		}
		if after > before {
			t.Errorf("%d descriptors, and %d before", after, before)
		}
		goleak.VerifyNone(t, ignore)
	}
}

// descriptors counts the open files of this process, if the system tells.
func descriptors() (int, bool) {
	if runtime.GOOS != "linux" {
		return 0, false
	}
	entries, err := os.ReadDir("/proc/self/fd")
	return len(entries), err == nil
}

// chaosEntry is how the chaotic servers are named.
func chaosEntry(url string, transport config.Transport) config.Server {
	return config.Server{Name: "chaos", URL: url, Transport: transport}
}
