package probe

// How a soak works.
//
// Several workers make the same harmless request over and over, through the one supervisor of the examination, as the
// requests of a long-lived client do. One more goroutine kills the session that is current, at random moments, and waits
// each time until a request has been answered on a later one. What happens is seen where the requests pass: the session
// that each attempt is handed, and how the attempt ends. Nothing is kept of a request that is over but sums and
// quantiles, so a soak of a day needs no more memory than one of a second.
//
// A request is repeated once and no more, so it survives one kill and need not survive two. The next kill therefore waits
// for the end of all requests that were handed the session that was killed, for they may notice late, and of all that met
// a loss.

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

const (
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
	over      chan struct{}
}

// soakCall is one request on its way. It sees its attempts.
type soakCall struct {
	*soak
	// first is the generation that it was handed first, 0 before, and hit is set when an attempt met a loss.
	first int
	hit   bool
}

// newSoak returns a soak that can be run.
func newSoak(ctx context.Context, t *Target) *soak {
	return &soak{target: t, question: t.drillQuestion(ctx), killedBy: map[string]int{}, flying: map[int]int{}}
}

// run makes requests and kills for the given time, then lets what is under way come to its end. When ctx ends, it
// returns at once.
func (k *soak) run(ctx context.Context, d time.Duration) {
	going, stop := context.WithCancel(ctx)
	defer stop()
	k.mu.Lock()
	k.begin, k.stop = time.Now(), stop
	k.mu.Unlock()
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
		wrong = k.question.judge(answer)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.land(c)
	if err != nil && ctx.Err() != nil {
		return
	}
	k.counts.Calls++
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
	p := k.kill
	switch {
	case p == nil:
	case err == nil && generation > p.generation && !p.recovered:
		k.count(p)
		p.recovered = true
		k.counts.Recovered++
		k.noticed.Add(p.noticed.Sub(p.begin))
		k.fresh.Add(p.fresh.Sub(p.noticed))
		k.finish()
	case generation == p.generation && p.noticed.IsZero() && isLoss(err):
		p.noticed = now
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
	if p == nil || !p.recovered || k.hits > 0 {
		return
	}
	for generation := range k.flying {
		if generation <= p.generation {
			return
		}
	}
	k.kill = nil
	close(p.over)
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

// killOnce kills the current session, requests in flight or not, and waits until one has been answered on a later one.
func (k *soak) killOnce(ctx context.Context) {
	old, err := k.target.sup.Session(ctx)
	if err != nil {
		return // the workers meet the same, and count it
	}
	p := &soakKill{generation: old.Info().Generation, begin: time.Now(), over: make(chan struct{})}
	k.mu.Lock()
	k.kill = p
	k.mu.Unlock()
	how, err := old.Kill(ctx)
	if !k.settle(ctx, p, how, err) {
		return
	}
	select {
	case <-p.over:
	case <-ctx.Done():
	}
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
