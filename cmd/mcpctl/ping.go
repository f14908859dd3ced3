package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpctl/mcpctl/internal/latency"
	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

const (
	// pipeCount is how many round trips are made where nobody is there to press Ctrl-C.
	pipeCount = 4
	// usualInterval is that of ping(8).
	usualInterval = time.Second
	// leastInterval keeps a slip of the finger from being an attack.
	leastInterval = 10 * time.Millisecond
	// eventsKept is how many of the first and of the last losses and replacements a document tells of.
	eventsKept = 100
)

type pingOptions struct {
	serverFlags
	count    int
	interval durationValue
	deadline durationValue
}

func newPingCmd(a *app) *cobra.Command {
	o := pingOptions{serverFlags: serverFlags{command: true}, interval: durationValue{usualInterval}}
	cmd := &cobra.Command{
		Use:   "ping SERVER | ping -- COMMAND [ARG...]",
		Short: "Measure round trips in one session, like ping(8)",
		Long: `Ping a server repeatedly over one session: on a terminal until Ctrl-C, otherwise
4 times. The request is ping, or server/discover in protocol version 2026-07-28;
if the server does not know it, its tools are listed instead. An error in answer
to it counts as an answer, too.

A lost session is replaced and the ping repeated, as in all commands. This is
reported in a line of its own, and the ping counts with all the time it took. A
ping is lost if no answer comes within --timeout (10s by default), or if the
session cannot be replaced within --session-wait.

Percentiles use the nearest rank; beyond 1000 answers they are accurate to 1 %.
The exit code is 0 if nothing was lost, also after Ctrl-C or at the --deadline,
and 1 if a ping was lost, or none was answered by the deadline. A ping still in
flight then is not counted, but is lost if it is older than 2 s and the
interval, or if the server is away at the deadline. If the server cannot be
reached at first, the exit code is the usual one; Ctrl-C before the first result
is 130.`,
		Example: `  mcpctl ping demo -c 3 -i 0.2
  mcpctl ping https://search.example/mcp -w 1m
  mcpctl ping -c 100 -i 20ms -o json -- npx -y @example/notes ~/notes`,
		ValidArgsFunction: a.completeServers(1),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, a, args) },
	}
	return a.withFlags(cmd, func(flags *pflag.FlagSet) {
		flags.VarP((*numberValue)(&o.count), "count", "c", "stop after `N` pings (default 4 without a terminal)")
		flags.VarP(&o.interval, "interval", "i", "`time` from the start of one ping to the next")
		flags.VarP(&o.deadline, "deadline", "w", "stop after this `time`")
		o.register(flags)
		timeout := flags.Lookup("timeout")
		timeout.Usage = "time limit for one ping with its recovery (default 10s)"
		timeout.Annotations[sharedKey] = []string{ownUsage}
	})
}

// deadlineError is the end that --deadline sets.
type deadlineError struct{ limit session.Limit }

func (e *deadlineError) Error() string { return fmt.Sprintf("no session within the %s", e.limit) }

func (o *pingOptions) run(cmd *cobra.Command, a *app, args []string) error {
	flags := cmd.Flags()
	switch {
	case flags.Changed("count") && o.count <= 0:
		return usagef("--count: must be more than zero")
	case o.interval.Duration < leastInterval:
		return usagef("--interval: %s is less than %s, which is the least", o.interval.Duration, leastInterval).hint("--interval %s", leastInterval)
	}
	server, rest, err := a.resolve(cmd, &o.serverFlags, args)
	switch {
	case err != nil:
		return err
	case len(rest) > 0:
		return usagef("%s takes one server, and got %q, too", cmd.CommandPath(), rest[0]).hint("%s", usageLine(cmd))
	}
	if !flags.Changed("count") && !a.io.StdoutTTY() {
		o.count = pipeCount
	}
	ctx := cmd.Context()
	var over *deadlineError
	if d := o.deadline.Duration; d > 0 {
		over = &deadlineError{session.Limit{Name: "deadline", Value: d, Source: config.Source{Kind: "flag", Detail: "--deadline"}.String()}}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, d, over)
		defer cancel()
		if d < session.LimitsFor(server).Wait.Value {
			// A server that refuses is told as such, and not as a deadline that ran out.
			server.Wait = d
			server.Set("wait", config.Source{Kind: "flag", Detail: "--deadline"})
		}
	}
	server, limit := session.ForPing(server)
	p := &pinger{a: a, server: server, limit: limit, count: o.count, interval: o.interval.Duration}
	return a.with(cmd.Context(), server, func(s *session.Supervisor) error {
		p.s = s
		if err := p.open(ctx); err != nil {
			return openingError(err, over)
		}
		p.run(ctx)
		err := p.finish(cmd.Context(), over)
		if !a.json() && p.lost > 0 && !isBrokenPipe(err) {
			a.warn("mcpctl: hint: mcpctl doctor " + o.words(cmd, a, args) + "\n")
		}
		return err
	})
}

// openingError says of an opening that the deadline ended which limit that was.
func openingError(err error, over *deadlineError) error {
	e, ok := errors.AsType[*session.Error](err)
	if !ok || over == nil || e.Class != session.ClassTimeout || e.Limit != nil {
		return err
	}
	out := *e
	out.Limit, out.Hint = &over.limit, "raise it with --deadline, or see what the server is doing"
	return &out
}

// pinger makes round trips over one held session, and keeps count.
type pinger struct {
	a        *app
	s        *session.Supervisor
	server   config.Server
	limit    session.Limit
	count    int
	interval time.Duration

	begin time.Time
	// seq is the number of the round trip under way, and generation that of the latest session that was seen.
	seq, generation int
	lost, replaced  int
	refused         int
	times           latency.Times
	// answered is when the latest answer came, or all began, and gap the longest time without one.
	answered time.Time
	gap      time.Duration
	// methods are what was asked for, in the order in which that began.
	methods    []string
	losses     ends[lossBody]
	recoveries ends[replacementBody]
	// broken is why nothing can be written to standard output any more.
	broken error
}

// ends keeps the first and the last of many.
type ends[T any] struct {
	first, last []T
	// n counts all, and next is the place of the oldest of the last.
	n, next int
}

func (e *ends[T]) add(v T) {
	e.n++
	switch {
	case len(e.first) < eventsKept:
		e.first = append(e.first, v)
	case len(e.last) < eventsKept:
		e.last = append(e.last, v)
	default:
		e.last[e.next] = v
		e.next = (e.next + 1) % eventsKept
	}
}

// kept returns those that are kept, never nil, and how many are not.
func (e *ends[T]) kept() (list []T, omitted int) {
	list = append(append(append([]T{}, e.first...), e.last[e.next:]...), e.last[:e.next]...)
	return list, e.n - len(list)
}

// print writes lines of text, unless there will be a document. When nobody reads any more, that ends it all.
func (p *pinger) print(text string) {
	if p.a.json() || p.broken != nil {
		return
	}
	p.broken = p.a.writeLine(text)
}

// open opens the session, and says what answers there.
func (p *pinger) open(ctx context.Context) error {
	stop := p.a.live("opening " + p.server.Name)
	defer stop()
	var info session.Info
	err := p.s.Do(ctx, session.Request{Name: phaseConnect, Repeatable: true}, func(_ context.Context, s *session.Session) error {
		info = s.Info()
		return nil
	})
	stop()
	if err != nil {
		return err
	}
	p.begin, p.generation = time.Now(), info.Generation
	p.answered = p.begin
	about := strings.TrimSpace(info.ServerName + " " + info.ServerVersion)
	if about != "" {
		about += ", "
	}
	p.print(render.PingHead(p.a.screen(), p.server.Name, fmt.Sprintf("%s, %s %s", info.Transport, info.Era, info.ProtocolVersion),
		about+"open after "+render.Milliseconds(info.Elapsed)))
	p.tellSpans(info)
	return nil
}

// tellSpans tells, if somebody wants to know it all, where the time of an opening went.
func (p *pinger) tellSpans(info session.Info) {
	if p.a.global.verbose == 0 || len(info.Spans) == 0 {
		return
	}
	spans := make([]string, len(info.Spans))
	for i, s := range info.Spans {
		spans[i] = s.Name + " " + render.Milliseconds(s.Elapsed)
	}
	p.a.note(fmt.Sprintf("%s: generation %d opened: %s", render.OneLine(p.server.Name), info.Generation, strings.Join(spans, ", ")))
}

// run makes the round trips. Each begins an interval after the one before did, or when that is over.
func (p *pinger) run(ctx context.Context) {
	for p.broken == nil {
		next := time.Now().Add(p.interval)
		if !p.ping(ctx) || p.seq == p.count || ctx.Err() != nil {
			return
		}
		timer := time.NewTimer(time.Until(next))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// errStillBusy ends a ping of a server that asks for more time than a ping has.
var errStillBusy = errors.New("still busy")

// ping makes one round trip. It returns false when that was cut short because all is over.
func (p *pinger) ping(ctx context.Context) bool {
	p.seq++
	stop := p.a.liveOf(p.doing(p.seq))
	defer stop()
	var pong session.Pong
	var busy *session.Error
	begin := time.Now()
	err := p.s.Do(ctx, session.Request{Name: "ping", Repeatable: true}, func(ctx context.Context, s *session.Session) error {
		p.notice(s.Info().Generation)
		var err error
		pong, err = s.Ping(ctx, p.limit)
		if e, ok := errors.AsType[*session.Error](err); ok && e.Class == session.ClassBusy && time.Since(begin)+e.RetryAfter > p.limit.Value {
			busy = e
			return errStillBusy
		}
		return err
	})
	if busy != nil && errors.Is(err, errStillBusy) {
		out := *busy
		out.Message = fmt.Sprintf("%s, to the end of %s", busy.Message, p.limit)
		err = &out
	}
	end := time.Now()
	stop()
	p.notice(p.s.Stats().Info.Generation)
	switch {
	case err == nil:
		p.answer(pong, begin, end)
	case ctx.Err() != nil && p.awayAtTheEnd(ctx, err):
		p.lose(err)
	case ctx.Err() != nil && end.Sub(begin) > max(p.interval, answerTime):
		class := session.ClassInterrupted
		if _, ok := errors.AsType[*deadlineError](context.Cause(ctx)); ok {
			class = session.ClassTimeout
		}
		p.loseAs(string(class), fmt.Sprintf("no answer after %s, when it was all over", render.Milliseconds(end.Sub(begin))))
	case ctx.Err() != nil:
		p.seq--
		return false
	default:
		p.lose(err)
	}
	return true
}

// awayAtTheEnd reports whether the deadline came while the session was lost and nothing had taken its place: that is no
// ping that was merely cut short, and a server that went away in the middle is not to end in success.
func (p *pinger) awayAtTheEnd(ctx context.Context, err error) bool {
	if _, ok := errors.AsType[*deadlineError](context.Cause(ctx)); !ok {
		return false
	}
	e, ok := errors.AsType[*session.Error](err)
	// A ping that begins when all is over gets no session either, although there is one.
	return ok && (e.Recovery != nil || e.Phase == phaseConnect && p.s.Status().State != session.StateReady)
}

// phaseConnect is the phase of failures for which there was no session.
const phaseConnect = "connect"

// doing says what a round trip that takes long is waiting for.
func (p *pinger) doing(seq int) func() string {
	name := p.server.Name
	return func() string {
		if p.s.Status().State == session.StateReconnecting {
			return fmt.Sprintf("seq=%d: the session of %s was lost, reconnecting", seq, name)
		}
		return fmt.Sprintf("seq=%d: no answer from %s yet", seq, name)
	}
}

// notice tells of a session that has taken the place of the one before.
func (p *pinger) notice(generation int) {
	if generation <= p.generation {
		return
	}
	body := replacementBody{
		OldGeneration: p.generation, NewGeneration: generation, AtSeq: p.seq, AtMS: milliseconds(time.Since(p.begin)),
	}
	var elapsed time.Duration
	stats := p.s.Stats()
	if r := stats.Recovery; r != nil {
		body.Cause, elapsed = r.Cause, r.Elapsed
	}
	body.ElapsedMS = milliseconds(elapsed)
	p.replaced += generation - p.generation
	p.generation = generation
	p.recoveries.add(body)
	p.print(render.PingReplaced(p.a.screen(), body.Cause, body.OldGeneration, generation, elapsed))
	p.tellSpans(stats.Info)
}

func (p *pinger) answer(pong session.Pong, begin, end time.Time) {
	p.gap = max(p.gap, end.Sub(p.answered))
	p.answered = end
	p.times.Add(end.Sub(begin))
	if !slices.Contains(p.methods, pong.Method) {
		p.methods = append(p.methods, pong.Method)
	}
	refused := ""
	if pong.Refused != nil {
		p.refused++
		refused = pong.Refused.Error()
	}
	p.print(render.PingAnswer(p.a.screen(), p.seq, pong.Method, end.Sub(begin), refused))
	if pong.Next != "" {
		p.print(render.PingNote(p.a.screen(), fmt.Sprintf("it does not know %s: asked for %s from now on", pong.Method, pong.Next)))
	}
}

// answerTime is how old a ping without an answer is at the end when it is no longer one that was merely cut short.
const answerTime = 2 * time.Second

func (p *pinger) loseAs(class, message string) {
	p.lost++
	p.a.unread = codeFailed
	p.losses.add(lossBody{Seq: p.seq, Class: class, Message: message, AtMS: milliseconds(time.Since(p.begin))})
	p.print(render.PingLost(p.a.screen(), p.seq, message))
}

func (p *pinger) lose(err error) {
	f, _ := classify(err, false)
	p.loseAs(f.Class, f.Message)
	if p.a.global.verbose > 0 {
		p.a.warn(f.text(true, p.a.errWidth()))
	}
}

// finish shows the sum of it all, also after Ctrl-C, and returns what the exit code says.
func (p *pinger) finish(ctx context.Context, over *deadlineError) error {
	a, interrupted := p.a, ctx.Err() != nil
	p.gap = max(p.gap, time.Since(p.answered))
	ctx = context.WithoutCancel(ctx)
	switch {
	case p.broken != nil:
		return p.broken
	case p.seq == 0 && interrupted:
		return &serverError{p.server.Name, context.Canceled}
	case a.json():
		if p.seq == 0 {
			a.unread = codeFailed
		}
		if err := a.print(ctx, p.document()); err != nil {
			return err
		}
	default:
		sum := render.Ping{
			Server: p.server.Name, Sent: p.seq, Lost: p.lost, Replaced: p.replaced,
			Elapsed: time.Since(p.begin), Times: &p.times, Gap: p.gap,
		}
		if p.print(sum.Sum(a.screen())); p.broken != nil {
			return p.broken
		}
	}
	switch {
	case p.seq == 0:
		a.warn(fmt.Sprintf("mcpctl: error: %s: no answer within the %s\n", render.OneLine(p.server.Name), over.limit))
		return reportedError(codeFailed)
	case p.lost > 0:
		return reportedError(codeFailed)
	}
	return nil
}

// pingDocument is the output of ping. What there is no time of is left out.
type pingDocument struct {
	Version   int    `json:"version"`
	Server    string `json:"server"`
	Sent      int    `json:"sent"`
	Received  int    `json:"received"`
	Lost      int    `json:"lost"`
	Recovered int    `json:"recovered"`

	MinMS    *float64 `json:"min_ms,omitempty"`
	MedianMS *float64 `json:"median_ms,omitempty"`
	P95MS    *float64 `json:"p95_ms,omitempty"`
	MaxMS    *float64 `json:"max_ms,omitempty"`
	// LongestGapMS is the longest time without an answer, from the beginning to the end.
	LongestGapMS *float64 `json:"longest_gap_ms,omitempty"`

	// Refused counts the answers that were JSON-RPC errors, and Methods are what was asked for.
	Refused   int        `json:"refused"`
	Methods   []string   `json:"methods"`
	Histogram []rowBody  `json:"histogram"`
	Losses    []lossBody `json:"losses"`
	// LossesOmitted counts the losses between the first and the last that are told of; RecoveriesOmitted likewise.
	LossesOmitted     int               `json:"losses_omitted,omitempty"`
	Recoveries        []replacementBody `json:"recoveries"`
	RecoveriesOmitted int               `json:"recoveries_omitted,omitempty"`
	Session           *sessionBody      `json:"session,omitempty"`
	ElapsedMS         float64           `json:"elapsed_ms"`
}

// rowBody is a row of a histogram: how many answers took from FromMS to less than ToMS, if there is such an end.
type rowBody struct {
	FromMS float64  `json:"from_ms"`
	ToMS   *float64 `json:"to_ms,omitempty"`
	Count  int      `json:"count"`
}

// lossBody is a ping that was lost. Times are since the beginning.
type lossBody struct {
	Seq     int     `json:"seq"`
	Class   string  `json:"class"`
	Message string  `json:"message"`
	AtMS    float64 `json:"at_ms"`
}

// replacementBody is a session that took the place of a lost one.
type replacementBody struct {
	Cause         string  `json:"cause"`
	OldGeneration int     `json:"old_generation"`
	NewGeneration int     `json:"new_generation"`
	ElapsedMS     float64 `json:"elapsed_ms"`
	AtSeq         int     `json:"at_seq"`
	AtMS          float64 `json:"at_ms"`
}

func (p *pinger) document() pingDocument {
	doc := pingDocument{
		Version: documentVersion, Server: p.server.Name,
		Sent: p.seq, Received: p.times.Count(), Lost: p.lost, Recovered: p.replaced,
		Refused: p.refused, Methods: append([]string{}, p.methods...), Histogram: []rowBody{},
		Session: p.a.sessionBody(), ElapsedMS: milliseconds(time.Since(p.begin)),
	}
	doc.Losses, doc.LossesOmitted = p.losses.kept()
	doc.Recoveries, doc.RecoveriesOmitted = p.recoveries.kept()
	if p.times.Count() > 0 {
		of := func(d time.Duration) *float64 { ms := milliseconds(d); return &ms }
		doc.MinMS, doc.MaxMS = of(p.times.Min()), of(p.times.Max())
		doc.MedianMS, doc.P95MS = of(p.times.Percentile(50)), of(p.times.Percentile(95))
	}
	if p.seq > 0 {
		gap := milliseconds(p.gap)
		doc.LongestGapMS = &gap
	}
	for _, r := range p.times.Rows() {
		row := rowBody{FromMS: milliseconds(r.From), Count: r.Count}
		if r.To != math.MaxInt64 {
			to := milliseconds(r.To)
			row.ToMS = &to
		}
		doc.Histogram = append(doc.Histogram, row)
	}
	return doc
}

// milliseconds returns a time for a document, to the microsecond.
func milliseconds(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond)) / float64(time.Millisecond)
}
