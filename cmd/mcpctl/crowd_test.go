package main

import (
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// TestTheBoundsFitTheMachine: places grow with the processors, and all files together are fewer than there may be.
func TestTheBoundsFitTheMachine(t *testing.T) {
	t.Parallel()
	examining := (&doctorOptions{}).effort()
	for _, e := range []effort{listEffort(), examining} {
		for _, cpus := range []int{1, 2, 8, 64} {
			for _, files := range []int{64, 128, 256, 1024, 1 << 20} {
				for _, parallel := range []int{0, 1, 16, 5000} {
					c := crowdFor(parallel, e, cpus, files)
					open := c.web.underWay*e.files + c.child.underWay*filesOfOne
					if c.together {
						open = c.web.underWay * max(e.files, filesOfOne)
					}
					if files >= 128 && open > files-ownFiles {
						t.Errorf("%d processors, %d files, parallel %d: %+v takes %d files", cpus, files, parallel, c, open)
					}
					for _, b := range []bounds{c.web, c.child} {
						if b.atWork < 1 || b.underWay < b.atWork || parallel > 0 && b.underWay > parallel {
							t.Errorf("%d processors, %d files, parallel %d: %+v", cpus, files, parallel, c)
						}
					}
				}
			}
		}
	}
	if c := crowdFor(0, listEffort(), 2, 1024); c.web != (bounds{64, 293}) || c.child != (bounds{8, 16}) {
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

// crowdOf returns servers: so many over HTTP, then so many commands.
func crowdOf(web, children int) []config.Server {
	servers := make([]config.Server, 0, web+children)
	for i := range web {
		servers = append(servers, config.Server{Name: "w" + strconv.Itoa(i), URL: "http://h/"})
	}
	for i := range children {
		servers = append(servers, config.Server{Name: "c" + strconv.Itoa(i), Command: "x"})
	}
	return servers
}

// TestServersThatHangDoNotHoldThePlaces: a thousand that take 30 seconds each take little more than that together, however few
// places there are, and are never more at a time than may be under way.
func TestServersThatHangDoNotHoldThePlaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := crowd{web: bounds{64, 1024}, child: bounds{8, 16}}
		begin := time.Now()
		var under most
		c.each(crowdOf(1000, 0), func(int) {
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
		const each = 900 * time.Millisecond    // a little less than what is slow
		look := func(int) { time.Sleep(each) } // of the bubble
		took := func(servers []config.Server, rests bool) time.Duration {
			begin := time.Now()
			crowd{web: bounds{32, 1024}, child: bounds{8, 16}, rests: func(time.Duration) bool { return rests }}.each(servers, look)
			return time.Since(begin)
		}
		if took := took(crowdOf(1000, 0), true); took > 6*time.Second {
			t.Errorf("at rest it took %s", took)
		}
		if busy, want := took(crowdOf(320, 0), false), 10*each; busy != want {
			t.Errorf("on a busy machine it took %s, want %s", busy, want)
		}
		if children, want := took(crowdOf(0, 80), true), 10*each; children != want {
			t.Errorf("commands took %s, want %s", children, want)
		}
	})
}

// TestServersThatHangAmongQuickOnes: who takes much longer than the others gives its place up soon, also on a machine that is
// busy; and while all take longer, nobody does.
func TestServersThatHangAmongQuickOnes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := crowd{web: bounds{32, 1024}, child: bounds{8, 16}, rests: func(time.Duration) bool { return false }}
		begin := time.Now()
		var under most
		c.each(crowdOf(1000, 0), func(i int) {
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
		c.each(crowdOf(500, 0), func(i int) {
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
		time.Sleep(2 * slowAfter)
		if len(looking) > 0 {
			t.Errorf("%d looks after the stop", len(looking))
		}
	})
}

// TestQuickServersAreNeverMoreThanThePlaces: and commands have places of their own.
func TestQuickServersAreNeverMoreThanThePlaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		servers := crowdOf(500, 100)
		var web, child most
		c := crowd{web: bounds{32, 1024}, child: bounds{4, 8}}
		look := func(i int) {
			m := &web
			if servers[i].Command != "" {
				m = &child
			}
			m.add(1)
			time.Sleep(900 * time.Millisecond) // of the bubble
			m.add(-1)
		}
		c.each(servers, look)
		if web.most != 32 || child.most != 4 {
			t.Errorf("%d over HTTP and %d commands were at work", web.most, child.most)
		}
		web, child = most{}, most{}
		crowdFor(7, listEffort(), 2, 1<<20).each(servers, look)
		if web.most+child.most > 2*7 || web.most != 7 {
			t.Errorf("--parallel 7: %d and %d", web.most, child.most)
		}
	})
}

// TestServersAreLookedAtInTheirOrder: with one place, one after the other.
func TestServersAreLookedAtInTheirOrder(t *testing.T) {
	t.Parallel()
	var order []int
	crowdFor(1, listEffort(), 2, 1<<20).each(crowdOf(5, 5), func(i int) { order = append(order, i) })
	if !slices.IsSorted(order) || len(order) != 10 {
		t.Errorf("%v", order)
	}
}
