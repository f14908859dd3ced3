// Package crowd decides how many servers are looked at together.
//
// Looking at a server is a little work and much waiting. So there are two bounds. A server takes one of the places of those
// that are at work when its turn comes, and gives that to the next one as soon as it is done, or is known to wait: because
// this machine has rested for a moment, or because it is slow. From then on it only counts among all that are under way, which
// are bounded by files and memory. So a thousand servers that hang cost a moment each time as many as there are places have
// begun, and not a limit each time, while those that answer are never so many at once that what is measured of them is the
// wait for this machine.
//
// Servers that are commands have bounds of their own: each is a process, or several, which takes memory and a processor for
// as long as it is there.
package crowd

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

// SlowAfter is after what time a server counts as slow at the latest: few that work take longer, and no person waits for less.
const SlowAfter = time.Second

// Where many are looked at, one counts as slow that takes slowTimes as long as those before it took, but not before slowSoonest.
// What this machine has to do beside makes all of them later.
const (
	slowTimes   = 3
	slowSoonest = restedFor * lookAgain
)

// busyMachine is how late what is due is on a machine that has more to do than it can.
const busyMachine = 50 * time.Millisecond

// A machine rests when nothing that is due is so late as restingMachine, for restless at least, and no more wants to run than can,
// at restedFor looks in a row, lookAgain apart. Together these looks are as long as servers that fill the places, and a machine
// that serves them, too, need to be done with all of them: so those that begin are not more than it can do, however many of
// them wait.
const (
	restingMachine = 5 * time.Millisecond
	restless       = 250 * time.Millisecond
	lookAgain      = 20 * time.Millisecond
	restedFor      = 8
)

// Bounds are how many servers may be at work, and under way, at one time.
type Bounds struct{ AtWork, UnderWay int }

// The bounds where nobody sets one.
const (
	// leastWeb and mostWeb servers over HTTP are at work in any case, and in none.
	leastWeb, mostWeb = 16, 256
	// childrenPerCPU processes begin at a time: a runtime that starts keeps a processor busy, between its waits for the disk.
	childrenPerCPU, leastChildren, mostChildren = 4, 4, 16
	// slowChildren times as many are there at a time: they take tens of megabytes each.
	slowChildren = 2
)

// The open files that servers take at most. The rest of the process takes ownFiles: its streams, logs, caches, and what a
// login needs.
const (
	ownFiles   = 48
	filesOfOne = 6 // a child: three pipes, its log, what waits for its end; a moment longer while it starts
)

// Effort is what it takes to look at a server over HTTP.
type Effort struct {
	// Files are those that are open at most.
	Files int
	// PerCPU is how many at a time keep a processor from resting, and none of them waiting for long.
	PerCPU int
	// Most are under way at a time, which bounds memory.
	Most int
}

// Crowd says how many servers are looked at together.
type Crowd struct {
	// Web is for servers over HTTP, Child for those that are commands.
	Web, Child Bounds
	// together is set when the servers of both kinds share the bounds of web.
	together bool
	// rests reports whether this machine does, at a moment when what was due is so late; nil if that is never known.
	rests func(late time.Duration) bool
}

// New returns the bounds on this machine for an effort. If parallel is not 0, so many servers at most are under way, of
// whatever kind.
func New(parallel int, e Effort) Crowd {
	return For(parallel, e, runtime.GOMAXPROCS(0), mostFiles())
}

// For is New for a machine with so many processors, and so many files that the process may open.
func For(parallel int, e Effort, cpus, files int) Crowd {
	// What commands and the others take at most, each gets half of when files are few.
	room := max(files-ownFiles, 2*max(e.Files, filesOfOne))
	if parallel > 0 {
		n := max(min(parallel, room/max(e.Files, filesOfOne)), 1)
		return Crowd{Web: Bounds{n, n}, Child: Bounds{n, n}, together: true}
	}
	children := min(max(childrenPerCPU*cpus, leastChildren), mostChildren)
	c := Crowd{Child: Bounds{children, slowChildren * children}, rests: machineRests()}
	c.Child.UnderWay = max(min(c.Child.UnderWay, room/2/filesOfOne), 1)
	c.Web.AtWork = min(max(e.PerCPU*cpus, leastWeb), mostWeb)
	c.Web.UnderWay = max(min(e.Most, (room-c.Child.UnderWay*filesOfOne)/e.Files), 1)
	c.Web.AtWork, c.Child.AtWork = min(c.Web.AtWork, c.Web.UnderWay), min(c.Child.AtWork, c.Child.UnderWay)
	return c
}

// Fits reports whether so many servers are all looked at at once.
func (c Crowd) Fits(servers int) bool { return servers <= min(c.Web.AtWork, c.Child.AtWork) }

// Each calls look for each of n servers, with its number, in their order, as many at a time as the bounds allow; isChild says
// which of them are commands. It returns when all calls have.
func (c Crowd) Each(n int, isChild func(i int) bool, look func(i int)) {
	var web, child []int
	for i := range n {
		if !c.together && isChild(i) {
			child = append(child, i)
		} else {
			web = append(web, i)
		}
	}
	var both sync.WaitGroup
	both.Go(func() { c.Web.each(web, c.rests, look) })
	// While a command starts this process rests, and the machine does not.
	both.Go(func() { c.Child.each(child, nil, look) })
	both.Wait()
}

// each calls look with each of the numbers. A goroutine is begun only when there is a place for it; rests is for [whenItWaits].
func (b Bounds) each(numbers []int, rests func(late time.Duration) bool, look func(i int)) {
	atWork, underWay := make(chan struct{}, b.AtWork), make(chan struct{}, b.UnderWay)
	var all sync.WaitGroup
	var usual pace
	for _, i := range numbers {
		underWay <- struct{}{}
		atWork <- struct{}{}
		all.Go(func() {
			defer func() { <-underWay }()
			begin := time.Now()
			leave := sync.OnceFunc(func() { <-atWork })
			defer leave()
			if b.UnderWay > b.AtWork {
				defer whenItWaits(rests, usual.slow, leave)()
			}
			look(i)
			usual.took(time.Since(begin))
		})
	}
	all.Wait()
}

// pace is how long servers take that are quick enough to keep their places.
type pace struct {
	mu    sync.Mutex
	done  int
	usual time.Duration
}

// took notes a server that is done.
func (p *pace) took(d time.Duration) {
	const weight = 16 // as many count as the last ones
	p.mu.Lock()
	defer p.mu.Unlock()
	if d < SlowAfter {
		p.done++
		p.usual += (d - p.usual) / time.Duration(min(p.done, weight))
	}
}

// slow returns after what time a server counts as slow by now.
func (p *pace) slow() time.Duration {
	const enough = 16 // are known
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done < enough {
		return SlowAfter
	}
	return min(max(slowTimes*p.usual, slowSoonest), SlowAfter)
}

// whenItWaits calls leave once somebody is known to wait, or counts as slow, until stop is called. While this machine has
// much to do it is not known who waits for a server and who for this machine, and while it does not get round to what is due,
// nobody is slow: more servers at a time would only make that worse. If rests is nil, nobody is known to wait,
// and slow is who takes longer than SlowAfter.
func whenItWaits(rests func(late time.Duration) bool, slow func() time.Duration, leave func()) (stop func()) {
	var mu sync.Mutex
	var timer *time.Timer
	stopped := false
	step, rested := lookAgain, 0
	if rests == nil {
		step, slow = SlowAfter, func() time.Duration { return SlowAfter }
	}
	begin := time.Now()
	due := begin.Add(step)
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(step, func() {
		mu.Lock()
		defer mu.Unlock()
		if stopped {
			return
		}
		now := time.Now()
		late := now.Sub(due)
		if rested++; rests == nil || !rests(late) {
			rested = 0
		}
		if rested == restedFor || now.Sub(begin) >= slow() && late < busyMachine {
			leave()
			return
		}
		due = now.Add(step)
		timer.Reset(step)
	})
	return func() {
		mu.Lock() // a look that is under way would begin another
		defer mu.Unlock()
		stopped = true
		timer.Stop()
	}
}

// machineRests returns what reports whether the processors have less to do than they can, at a moment when what was due is so
// late. It remembers what it was told before.
func machineRests() func(late time.Duration) bool {
	var lastLate atomic.Pointer[time.Time]
	return func(late time.Duration) bool {
		now := time.Now()
		if late >= restingMachine {
			lastLate.Store(&now)
		}
		if last := lastLate.Load(); last != nil && now.Sub(*last) < restless {
			return false
		}
		waiting := []metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}}
		metrics.Read(waiting)
		return waiting[0].Value.Kind() == metrics.KindUint64 && waiting[0].Value.Uint64() <= uint64(runtime.GOMAXPROCS(0))
	}
}
