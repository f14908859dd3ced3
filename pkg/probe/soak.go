package probe

// How a soak works.
//
// Several workers make the same harmless request over and over, through the one supervisor of the examination, as the
// requests of a long-lived client do. One more goroutine kills the session that is current, at random moments, and waits
// each time until a request has been answered on a later one. What happens is seen where the requests pass: the session
// that each attempt is handed, and how the attempt ends. Nothing is kept of a request that is over but sums and
// quantiles, so a soak of a day needs no more memory than one of a second.
//
// A request is repeated once and no more, so it survives one loss and need not survive two. A kill therefore waits for the
// end of all requests that were handed an earlier session, for they may notice late, and of all that met a loss, whether
// it was by a kill or the server lost the session by itself.
//
// A request that hangs must not keep the soak from its end: after its time nothing new is begun, and what is still open
// has a short grace.

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/mcpctl/mcpctl/internal/latency"
	"github.com/mcpctl/mcpctl/pkg/session"
)

// errSoakOver ends the requests that are still open after the grace.
var errSoakOver = errors.New("the soak is over")

const (
	// soakGrace is how long a request may stay open after the end of a soak, at least.
	soakGrace = 2 * time.Second
	// aimPause is the pause of a kill that waits for requests.
	aimPause = 2 * time.Millisecond
	// soakWorkers is how many requests are made at a time: enough that a kill meets some on their way, and few enough for a
	// server that other people use, too.
	soakWorkers = 8
	// workPause is the longest pause of a worker between two requests; half of it is the usual one.
	workPause = 50 * time.Millisecond
	// killPause is the longest pause between a recovery and the next kill, and killShare the part of the soak that it may
	// be at most, so that a short soak has several kills.
	killPause = time.Second
	killShare = 8
	// soakPatience is how many requests may be lost one after the other before a soak ends early: all workers have then
	// failed several times, and there is nothing more to learn.
	soakPatience = 4 * soakWorkers
	// mostKillFailures ends the kills, and not the requests, when this many could not be confirmed one after the other.
	mostKillFailures = 3
	// watchedSessions is how many of the latest sessions are watched for answers that nobody asked for.
	watchedSessions = 8
)

// SoakCounts tell how a soak stands.
type SoakCounts struct {
	// Calls counts the requests that are over, answered or lost.
	Calls int
	// Kills counts the sessions that were killed, and Recovered those after which a request was answered on a fresh one.
	Kills, Recovered int
	// Drops counts the kills that had no session to end: the connections were dropped.
	Drops int
	// Vanished counts the sessions that were replaced and that nobody had killed.
	Vanished int
	// Lost counts the requests that were not answered as they should have been.
	Lost int
	// Duplicates counts the answers beyond the one that each request has.
	Duplicates int
}

// Soaking tells how the soak of the target stands, false before it has begun. It may be called while [Run] is at work.
func (t *Target) Soaking() (SoakCounts, bool) {
	k := t.soak.Load()
	if k == nil {
		return SoakCounts{}, false
	}
	return k.standing(), true
}

// soak is one soak.
type soak struct {
	target   *Target
	question question
	begin    time.Time
	// end is when nothing new is begun.
	end time.Time
	// stop ends the kills, and the workers after the requests that they are at.
	stop context.CancelFunc

	mu      sync.Mutex
	counts  SoakCounts
	elapsed time.Duration
	// kill is the one that is not over, nil if there is none.
	kill *soakKill
	// flying counts the requests under way by the generation that each was handed first, and hits those that met a loss.
	flying map[int]int
	hits   int
	// latest is the latest generation that was handed out, and fates tell of it, and of what is not handed out any more
	// and not counted yet.
	latest int
	fates  map[int]*fate
	// firstVanished is why the first session was lost that nobody had killed.
	firstVanished string
	// unanswered counts the requests that were open when the soak was over, oldest is how long one had been, and held the
	// longest time for which open requests kept a kill waiting.
	unanswered   int
	oldest, held time.Duration
	// calls are the times of the requests that were answered, noticed those from a kill until a request met it, and fresh
	// those from there until one was handed a later session.
	calls, noticed, fresh latency.Times

	killedBy    map[string]int
	announced   string
	failures    int // kills that could not be confirmed, and failedInRow those of them since the last that was
	failedInRow int
	failure     string
	firstLoss   *Finding
	lostInARow  int
	gaveUp      bool
	watched     []*session.Session
	strays      int // of the sessions that are watched no more
}

// fate is how a session ended, as far as was seen.
type fate struct {
	// ours is set when we killed it, or dropped the connection under a request.
	ours bool
	// dropped is when its connections were dropped, zero if they were not.
	dropped time.Time
	// cause is what the first request met, "" if none met anything.
	cause string
}

// soakKill is one kill and what followed it.
type soakKill struct {
	generation int
	begin      time.Time
	// counted is set once the session was seen to be dead, by us or by a request.
	counted bool
	// noticed is when a request met the loss, and fresh when one was handed a later session; zero before.
	noticed, fresh time.Time
	// recovered is set when a request has been answered on a later session, and over is closed when all that may meet the
	// loss have come to their end, too.
	recovered bool
	back      chan struct{}
	over      chan struct{}
}

// soakCall is one request on its way. It sees its attempts.
type soakCall struct {
	*soak
	// first is the generation that it was handed first, 0 before, and hit is set when an attempt met a loss.
	first int
	hit   bool
	// since is when the current attempt began.
	since time.Time
}

// newSoak returns a soak that can be run.
func newSoak(ctx context.Context, t *Target) *soak {
	return &soak{target: t, question: t.drillQuestion(ctx), killedBy: map[string]int{}, flying: map[int]int{}, fates: map[int]*fate{}, latest: t.sup.Stats().Info.Generation}
}

// run makes requests and kills for the given time, then lets what is under way come to its end, within a grace. When ctx
// ends, it returns at once.
func (k *soak) run(ctx context.Context, d time.Duration) {
	ctx, abandon := context.WithCancelCause(ctx)
	going, stop := context.WithCancel(ctx)
	k.mu.Lock()
	k.begin, k.stop = time.Now(), stop
	k.end = k.begin.Add(d)
	k.mu.Unlock()
	var clock sync.WaitGroup
	clock.Go(func() {
		if pause(ctx, d) && pause(ctx, k.grace()) {
			abandon(errSoakOver)
		}
	})
	defer clock.Wait()
	defer abandon(nil)
	defer stop()
	var workers sync.WaitGroup
	for range soakWorkers {
		workers.Go(func() {
			for going.Err() == nil {
				k.call(ctx)
				pause(going, rand.N(workPause))
			}
		})
	}
	k.shoot(going, d)
	stop()
	workers.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.elapsed = time.Since(k.begin)
}

// grace returns how long requests may stay open after the end: a server that takes its time is given twice what it has
// taken so far, and one that is coming back what every request gives it.
func (k *soak) grace() time.Duration {
	grace := max(soakGrace, 2*k.target.opened.Info().Elapsed)
	if k.target.sup.Status().State != session.StateReady {
		grace = max(grace, k.target.sup.Limits().SessionWait.Value)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return max(grace, 2*k.calls.Max())
}

// standing returns the counts.
func (k *soak) standing() SoakCounts {
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.counts
	c.Duplicates += k.unasked()
	return c
}

// unasked returns how many answers belonged to no request, or came after another to the same one. k.mu is held.
func (k *soak) unasked() int {
	n := k.strays
	for _, s := range k.watched {
		n += s.Strays()
	}
	return n
}

// call makes one request and counts how it ended. One that nobody waits for any more, because the soak was interrupted,
// is not counted.
func (k *soak) call(ctx context.Context) {
	c := &soakCall{soak: k}
	begin := time.Now()
	answer, n, err := k.target.put(ctx, k.question, c)
	elapsed := time.Since(begin)
	wrong := ""
	if err == nil && k.question.judge != nil {
		wrong = k.question.judge(ctx, answer)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.land(c)
	over := errors.Is(context.Cause(ctx), errSoakOver)
	if err != nil && ctx.Err() != nil && !over {
		return
	}
	k.counts.Calls++
	if err != nil && over {
		k.counts.Lost++
		k.unanswered++
		k.oldest = max(k.oldest, elapsed)
		return
	}
	k.counts.Duplicates += max(n.answered-1, 0)
	if err == nil && wrong == "" {
		k.calls.Add(elapsed)
		k.lostInARow = 0
		return
	}
	k.counts.Lost++
	k.lostInARow++
	if k.firstLoss == nil {
		f := Finding{Status: Fail, Class: "failed", Message: wrong}
		if err != nil {
			f = failure(err)
		}
		k.firstLoss = &f
	}
	if k.lostInARow >= soakPatience {
		k.gaveUp = true
		k.stop()
	}
}

// handed implements watcher: an attempt is about to be made on a session.
func (k *soakCall) handed(s *session.Session) {
	now, generation := time.Now(), s.Info().Generation
	k.mu.Lock()
	defer k.mu.Unlock()
	k.watch(s)
	k.since = now
	k.succeed(generation)
	if k.first == 0 {
		k.first = generation
		k.flying[generation]++
	}
	p := k.kill
	if p == nil || generation <= p.generation || !p.fresh.IsZero() {
		return
	}
	p.fresh = now
	if p.noticed.IsZero() {
		// No request was on its way: the loss was seen before one could meet it, and the supervisor knows when.
		p.noticed = now
		if rec := k.target.sup.Stats().Recovery; rec != nil && rec.OldGeneration == p.generation {
			p.noticed = now.Add(-min(rec.Elapsed, now.Sub(p.begin)))
		}
	}
}

// ended implements watcher: an attempt is over.
func (k *soakCall) ended(s *session.Session, err error) {
	now, generation := time.Now(), s.Info().Generation
	k.mu.Lock()
	defer k.mu.Unlock()
	if isLoss(err) && !k.hit {
		k.hit = true
		k.hits++
	}
	if isLoss(err) && generation >= k.latest {
		k.fate(generation).met(err, k.since)
	}
	p := k.kill
	switch {
	case p == nil:
	case err == nil && generation > p.generation && !p.recovered:
		k.count(p)
		p.recovered = true
		k.counts.Recovered++
		k.noticed.Add(p.noticed.Sub(p.begin))
		k.fresh.Add(p.fresh.Sub(p.noticed))
		close(p.back)
		k.finish()
	case generation == p.generation && p.noticed.IsZero() && isLoss(err):
		p.noticed = now
	}
}

// fate returns that of a generation. k.mu is held.
func (k *soak) fate(generation int) *fate {
	f := k.fates[generation]
	if f == nil {
		f = &fate{}
		k.fates[generation] = f
	}
	return f
}

// met records the loss that an attempt met. One that was under way when the connections were dropped met that.
func (f *fate) met(err error, since time.Time) {
	if f.cause != "" {
		return
	}
	f.cause = err.Error()
	if e, ok := errors.AsType[*session.Error](err); ok {
		f.cause = e.Message
	}
	f.ours = f.ours || since.Before(f.dropped)
}

// succeed counts the sessions before a generation that nobody had killed. k.mu is held.
func (k *soak) succeed(generation int) {
	for ; k.latest < generation; k.latest++ {
		f := k.fate(k.latest)
		delete(k.fates, k.latest)
		if k.latest == 0 || f.ours {
			continue
		}
		k.counts.Vanished++
		if k.firstVanished != "" {
			continue
		}
		k.firstVanished = f.cause
		// A loss that is seen without a request is known to the supervisor.
		if rec := k.target.sup.Stats().Recovery; k.firstVanished == "" && rec != nil {
			k.firstVanished = rec.Cause
		}
	}
}

// land takes a request out that is over. k.mu is held.
func (k *soak) land(c *soakCall) {
	if c.hit {
		k.hits--
	}
	if k.flying[c.first]--; k.flying[c.first] <= 0 {
		delete(k.flying, c.first)
	}
	k.finish()
}

// finish ends the kill that waits, if its recovery and all requests that may meet a loss are over. k.mu is held.
func (k *soak) finish() {
	p := k.kill
	if p == nil || !p.recovered || !k.clear(p.generation) {
		return
	}
	k.kill = nil
	close(p.over)
}

// clear reports whether no request is under way that met a loss, or was handed a session of this generation or an earlier
// one. k.mu is held.
func (k *soak) clear(generation int) bool {
	for g := range k.flying {
		if g <= generation {
			return false
		}
	}
	return k.hits == 0
}

// isLoss reports whether the failure of an attempt says that its session, or its connection, is gone.
func isLoss(err error) bool {
	e, ok := errors.AsType[*session.Error](err)
	return ok && (e.Class == session.ClassSession || e.Class == session.ClassConnect)
}

// watch counts the answers that nobody asked for, on a session and on those before it. k.mu is held.
func (k *soak) watch(s *session.Session) {
	if slices.Contains(k.watched, s) {
		return
	}
	if len(k.watched) == 0 {
		k.strays = -s.Strays() // what came before the soak
	}
	k.watched = append(k.watched, s)
	if len(k.watched) > watchedSessions {
		k.strays += k.watched[0].Strays()
		k.watched = slices.Delete(k.watched, 0, 1)
	}
}

// count counts a kill, once. k.mu is held.
func (k *soak) count(p *soakKill) {
	if !p.counted {
		p.counted = true
		k.counts.Kills++
	}
}

// shoot kills the session at random moments, at least once.
func (k *soak) shoot(ctx context.Context, d time.Duration) {
	end := time.Now().Add(d)
	for first := true; ; first = false {
		wait, left := rand.N(min(killPause, d/killShare)), time.Until(end)
		if !first && (left < wait || k.givenUpKilling()) {
			pause(ctx, left)
			return
		}
		if !pause(ctx, wait) {
			return
		}
		k.killOnce(ctx)
	}
}

// givenUpKilling reports whether too many kills in a row could not be confirmed.
func (k *soak) givenUpKilling() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.failedInRow >= mostKillFailures
}

// killOnce kills the current session, requests in flight or not, and waits until one has been answered on a later one,
// and none can meet the loss any more. After the end it waits for the first of these alone.
func (k *soak) killOnce(ctx context.Context) {
	old, p := k.aim(ctx)
	if p == nil {
		return
	}
	how, err := old.Kill(ctx)
	if !k.settle(ctx, p, how, err) {
		return
	}
	select {
	case <-p.back:
	case <-ctx.Done():
		return
	}
	back := time.Now()
	rest, cancel := context.WithDeadline(ctx, k.end)
	defer cancel()
	select {
	case <-p.over:
	case <-rest.Done():
	}
	k.waited(back)
}

// aim returns the current session and what will be known of its kill, once no request is under way that has met a loss,
// or may meet that of an earlier session: a second loss would be our fault, and not the server's. It returns nil when
// there is none before the end, or no session.
func (k *soak) aim(ctx context.Context) (*session.Session, *soakKill) {
	begin := time.Now()
	defer k.waited(begin)
	for time.Now().Before(k.end) {
		s, err := k.target.sup.Session(ctx)
		if err != nil {
			return nil, nil // the workers meet the same, and count it
		}
		generation := s.Info().Generation
		k.mu.Lock()
		if k.clear(generation - 1) {
			p := &soakKill{generation: generation, begin: time.Now(), back: make(chan struct{}), over: make(chan struct{})}
			k.kill = p
			k.succeed(generation)
			k.fate(generation).ours = true
			k.mu.Unlock()
			return s, p
		}
		k.mu.Unlock()
		if !pause(ctx, aimPause) {
			return nil, nil
		}
	}
	return nil, nil
}

// waited records for how long open requests have kept a kill waiting.
func (k *soak) waited(since time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.held = max(k.held, time.Since(since))
}

// settle records what a kill did, and reports whether there is a recovery to wait for.
func (k *soak) settle(ctx context.Context, p *soakKill, how session.Kill, err error) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	seen := p.counted || !p.noticed.IsZero() || !p.fresh.IsZero()
	switch {
	case err != nil && !seen, how.NothingToKill && !seen:
		k.kill = nil // there is nothing to recover from
		switch {
		case err == nil:
			f := k.fate(p.generation)
			f.ours, f.dropped = f.cause != "", time.Now()
			k.counts.Drops++
			k.failedInRow = 0
			k.killedBy[how.How]++
		case ctx.Err() == nil:
			k.failures++
			k.failedInRow++
			k.failure = err.Error()
		}
		return false
	}
	// Requests that met the loss confirm it as well as we do. They may have replaced the session by now, and ended the old
	// one while it was still being asked whether it is dead.
	k.count(p)
	k.failedInRow = 0
	k.killedBy[how.How]++
	if k.announced == "" {
		k.announced = how.Announced
	}
	return true
}
