package crowd

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestTheBoundsFitTheMachine: places grow with the processors, and all files together are fewer than there may be.
func TestTheBoundsFitTheMachine(t *testing.T) {
	t.Parallel()
	for _, e := range []Effort{listing(), {Files: 12, PerCPU: 8, Most: 192}} {
		for _, cpus := range []int{1, 2, 8, 64} {
			for _, files := range []int{64, 128, 256, 1024, 1 << 20} {
				for _, parallel := range []int{0, 1, 16, 5000} {
					c := For(parallel, e, cpus, files)
					open := c.Web.UnderWay*e.Files + c.Child.UnderWay*filesOfOne
					if c.together {
						open = c.Web.UnderWay * max(e.Files, filesOfOne)
					}
					if files >= 128 && open > files-ownFiles {
						t.Errorf("%d processors, %d files, parallel %d: %+v takes %d files", cpus, files, parallel, c, open)
					}
					for _, b := range []Bounds{c.Web, c.Child} {
						if b.AtWork < 1 || b.UnderWay < b.AtWork || parallel > 0 && b.UnderWay > parallel {
							t.Errorf("%d processors, %d files, parallel %d: %+v", cpus, files, parallel, c)
						}
					}
				}
			}
		}
	}
	if c := For(0, listing(), 2, 1024); c.Web != (Bounds{64, 293}) || c.Child != (Bounds{8, 16}) {
		t.Errorf("a usual machine: %+v", c)
	}
}

// most counts how many are there at one time.
type most struct {
	mu        sync.Mutex
	now, most int
}

func (m *most) add(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now += n
	m.most = max(m.most, m.now)
}

// listing is the effort of asking for a list.
func listing() Effort { return Effort{Files: 3, PerCPU: 32, Most: 1024} }

// look has a crowd look at so many servers over HTTP, and then at so many commands.
func look(c Crowd, web, children int, look func(i int)) {
	c.Each(web+children, func(i int) bool { return i >= web }, look)
}

// TestServersThatHangDoNotHoldThePlaces: a thousand that take 30 seconds each take little more than that together, however few
// places there are, and are never more at a time than may be under way.
func TestServersThatHangDoNotHoldThePlaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := Crowd{Web: Bounds{64, 1024}, Child: Bounds{8, 16}}
		begin := time.Now()
		var under most
		look(c, 1000, 0, func(int) {
			under.add(1)
			time.Sleep(30 * time.Second) // of the bubble
			under.add(-1)
		})
		if took := time.Since(begin); took > 46*time.Second {
			t.Errorf("it took %s", took)
		}
		if under.most > 1024 {
			t.Errorf("%d were under way", under.most)
		}
	})
}

// TestServersThatWaitGiveTheirPlacesUp: while this machine rests, a thousand servers take little more than the slowest of them,
// with the places of a small machine. While it does not, only slow ones give theirs up, and commands keep them.
func TestServersThatWaitGiveTheirPlacesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const each = 900 * time.Millisecond // a little less than what is slow
		took := func(web, children int, rests bool) time.Duration {
			begin := time.Now()
			c := Crowd{Web: Bounds{32, 1024}, Child: Bounds{8, 16}, rests: func(time.Duration) bool { return rests }}
			look(c, web, children, func(int) { time.Sleep(each) }) // of the bubble
			return time.Since(begin)
		}
		if took := took(1000, 0, true); took > 6*time.Second {
			t.Errorf("at rest it took %s", took)
		}
		if busy, want := took(320, 0, false), 10*each; busy != want {
			t.Errorf("on a busy machine it took %s, want %s", busy, want)
		}
		if children, want := took(0, 80, true), 10*each; children != want {
			t.Errorf("commands took %s, want %s", children, want)
		}
	})
}

// TestServersThatHangAmongQuickOnes: who takes much longer than the others gives its place up soon, also on a machine that is
// busy; and while all take longer, nobody does.
func TestServersThatHangAmongQuickOnes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := Crowd{Web: Bounds{32, 1024}, Child: Bounds{8, 16}, rests: func(time.Duration) bool { return false }}
		begin := time.Now()
		var under most
		look(c, 1000, 0, func(i int) {
			under.add(1)
			if time.Sleep(20 * time.Millisecond); i%10 == 9 { // of the bubble
				time.Sleep(3 * time.Second)
			}
			under.add(-1)
		})
		if took := time.Since(begin); took > 4500*time.Millisecond {
			t.Errorf("it took %s", took)
		}
		under = most{}
		look(c, 500, 0, func(i int) {
			under.add(1)
			time.Sleep(20*time.Millisecond + time.Duration(i)*time.Millisecond)
			under.add(-1)
		})
		if under.most != 32 {
			t.Errorf("%d were at work", under.most)
		}
	})
}

// TestARestIsWhenNothingWaitsForAProcessor: what is late is no rest, and none for a while; nor are goroutines that wait.
func TestARestIsWhenNothingWaitsForAProcessor(t *testing.T) {
	if rests := machineRests(); rests(restingMachine) || rests(0) {
		t.Error("it rests though what is due is late, or was")
	}
	var stop atomic.Bool
	var all sync.WaitGroup
	var busy atomic.Int64
	for range 50 * runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for busy.Add(1); !stop.Load(); {
				runtime.Gosched()
			}
		})
	}
	for busy.Load() < int64(50*runtime.GOMAXPROCS(0)) {
		runtime.Gosched()
	}
	rests := machineRests()(0)
	stop.Store(true)
	all.Wait()
	if rests {
		t.Error("it rests though fifty times as many want to run as can")
	}
}

// TestNobodyLooksOnAfterTheStop, also if that comes in the middle of a look.
func TestNobodyLooksOnAfterTheStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		looking, goOn := make(chan struct{}, 100), make(chan struct{})
		stop := whenItWaits(func(time.Duration) bool {
			looking <- struct{}{}
			<-goOn
			return false
		}, new(pace).slow, func() { t.Error("the place was given up") })
		<-looking
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			stop()
		}()
		for range 1000 { // it is under way, or waits for the look
			runtime.Gosched()
		}
		close(goOn)
		<-stopped
		time.Sleep(2 * SlowAfter)
		if len(looking) > 0 {
			t.Errorf("%d looks after the stop", len(looking))
		}
	})
}

// TestQuickServersAreNeverMoreThanThePlaces: and commands have places of their own.
func TestQuickServersAreNeverMoreThanThePlaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const overHTTP, commands = 500, 100
		var web, child most
		c := Crowd{Web: Bounds{32, 1024}, Child: Bounds{4, 8}}
		one := func(i int) {
			m := &web
			if i >= overHTTP {
				m = &child
			}
			m.add(1)
			time.Sleep(900 * time.Millisecond) // of the bubble
			m.add(-1)
		}
		look(c, overHTTP, commands, one)
		if web.most != 32 || child.most != 4 {
			t.Errorf("%d over HTTP and %d commands were at work", web.most, child.most)
		}
		web, child = most{}, most{}
		look(For(7, listing(), 2, 1<<20), overHTTP, commands, one)
		if web.most+child.most > 2*7 || web.most != 7 {
			t.Errorf("--parallel 7: %d and %d", web.most, child.most)
		}
	})
}

// TestServersAreLookedAtInTheirOrder: with one place, one after the other.
func TestServersAreLookedAtInTheirOrder(t *testing.T) {
	t.Parallel()
	var order []int
	look(For(1, listing(), 2, 1<<20), 5, 5, func(i int) { order = append(order, i) })
	if !slices.IsSorted(order) || len(order) != 10 {
		t.Errorf("%v", order)
	}
}
