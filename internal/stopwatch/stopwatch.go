// Package stopwatch measures, in tests, how long something took on a machine that has other work, too.
//
// A bound on the time of a clock fails when the machine is busy, and says nothing of the program then. So a goroutine wakes
// up again and again beside what is measured. What it comes too late is time that the machine gave to nobody here, and is
// not counted. On an idle machine that is next to nothing, so that a bound is as sharp there as one on the clock.
package stopwatch

import (
	"sync"
	"testing"
	"time"
)

const (
	// period is how often the goroutine wakes up.
	period = 10 * time.Millisecond
	// punctual is how late a timer may be on an idle machine.
	punctual = 2 * time.Millisecond
)

// Watch knows how much time the machine has withheld since it was started. One of them does for many laps.
type Watch struct {
	stop, done chan struct{}
	once       sync.Once

	mu       sync.Mutex
	withheld time.Duration
	due      time.Time // when it wakes up next
}

// New starts a watch, which the end of the test stops at the latest.
func New(tb testing.TB) *Watch {
	tb.Helper()
	w := &Watch{stop: make(chan struct{}), done: make(chan struct{}), due: time.Now().Add(period)}
	go w.run()
	tb.Cleanup(w.Stop)
	return w
}

func (w *Watch) run() {
	defer close(w.done)
	timer := time.NewTimer(period)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-w.stop:
			return
		}
		w.mu.Lock()
		now := time.Now()
		w.withheld += w.late(now)
		w.due = now.Add(period)
		w.mu.Unlock()
		timer.Reset(period)
	}
}

// late returns by how much the goroutine is late. The caller holds the lock.
func (w *Watch) late(now time.Time) time.Duration {
	if late := now.Sub(w.due); late > punctual {
		return late
	}
	return 0
}

// Stop ends the goroutine, for tests that look for goroutines that are left. It may be called again.
func (w *Watch) Stop() {
	w.once.Do(func() { close(w.stop) })
	<-w.done
}

// now returns the time, and what was withheld until then.
func (w *Watch) now() (time.Time, time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	return now, w.withheld + w.late(now)
}

// Lap is a stretch of time that is measured.
type Lap struct {
	watch    *Watch
	begin    time.Time
	withheld time.Duration
}

// Lap begins to measure.
func (w *Watch) Lap() Lap {
	begin, withheld := w.now()
	return Lap{watch: w, begin: begin, withheld: withheld}
}

// Start begins to measure with a watch of its own.
func Start(tb testing.TB) Lap {
	tb.Helper()
	return New(tb).Lap()
}

// Took returns how long it took since the lap began, without what the machine withheld.
func (l Lap) Took() time.Duration {
	now, withheld := l.watch.now()
	return max(now.Sub(l.begin)-(withheld-l.withheld), 0)
}

// Clock returns how long it took by the clock.
func (l Lap) Clock() time.Duration { return time.Since(l.begin) }

// End returns the same as Took, and stops the watch.
func (l Lap) End() time.Duration {
	took := l.Took()
	l.watch.Stop()
	return took
}
