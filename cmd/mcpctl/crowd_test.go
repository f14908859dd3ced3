package main

import (
	"slices"
	"strconv"
	"sync"
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
	if c := crowdFor(0, listEffort(), 2, 1024); c.web != (bounds{32, 293}) || c.child != (bounds{8, 16}) {
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
