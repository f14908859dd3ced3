package main

import (
	"fmt"
	"io"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/mcpctl/mcpctl/internal/render"
)

const (
	// liveDelay is how long a person waits without asking what is going on.
	liveDelay = 500 * time.Millisecond
	// liveInterval is how often the time is brought up to date.
	liveInterval = 200 * time.Millisecond
	// patience is after what time a log, where there is no terminal, says what is going on.
	patience = 5 * time.Second
)

// live shows what is being done, with the time it takes, on a line of stderr's terminal that comes after half a second.
// The line is gone when the function it returns has been called. Where there is no terminal, one note tells of it when it
// takes long.
func (a *app) live(what string) (stop func()) { return a.liveOf(func() string { return what }) }

// liveOf is live for something that changes: what is asked each time the line is shown. It may be called at any moment
// until stop has returned.
func (a *app) liveOf(what func() string) (stop func()) {
	return a.drawn(what, func(elapsed time.Duration) string {
		passed := " … " + elapsed.Truncate(100*time.Millisecond).String()
		return render.Cut(a.redact.String(render.OneLine(what())), max(a.liveWidth()-utf8.RuneCountInString(passed), 1)) + passed
	}, liveInterval)
}

// drawn is liveOf with a line of the caller's own for the time that has passed, drawn once in each interval.
func (a *app) drawn(what func() string, line func(elapsed time.Duration) string, interval time.Duration) (stop func()) {
	start := time.Now()
	if !a.animates() {
		var noting sync.Mutex
		over := false
		timer := time.AfterFunc(patience, func() {
			noting.Lock()
			defer noting.Unlock()
			if !over && !a.asksNow() {
				a.note(fmt.Sprintf("%s: %s so far", render.OneLine(what()), time.Since(start).Round(time.Second)))
			}
		})
		return func() {
			timer.Stop()
			noting.Lock() // one that is being written is finished
			defer noting.Unlock()
			over = true
		}
	}
	covered := a.cover()
	done := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		select {
		case <-done:
			return
		case <-a.kill:
			return
		case <-time.After(liveDelay):
		}
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			a.showLive(covered, render.Cut(a.redact.String(line(time.Since(start))), a.liveWidth()))
			select {
			case <-done:
				a.showLive(covered, "")
				return
			case <-a.kill: // the next thing on this line is the prompt of the shell
				a.showLive(covered, "")
				return
			case <-tick.C:
			}
		}
	})
	return sync.OnceFunc(func() {
		close(done)
		ended.Wait()
		a.uncover(covered)
	})
}

// animates reports whether work is shown on a live line.
func (a *app) animates() bool {
	return a.io.CanAnimate() && a.global.verbose == 0 && (!a.json() || !a.io.StdoutTTY())
}

// asksNow reports whether a question stands.
func (a *app) asksNow() bool {
	a.errLock.Lock()
	defer a.errLock.Unlock()
	return a.hushed > 0
}

// cover begins a live line, over those that there are: only the last is drawn. It returns how many are below.
func (a *app) cover() (below int) {
	a.errLock.Lock()
	defer a.errLock.Unlock()
	a.lines++
	return a.lines - 1
}

// uncover ends a live line, and with it those that were begun over it.
func (a *app) uncover(below int) {
	a.errLock.Lock()
	defer a.errLock.Unlock()
	a.lines = min(a.lines, below)
}

// liveWidth is how wide a live line may be: behind it a terminal shows Ctrl-C as ^C, and must not go on in the next line.
func (a *app) liveWidth() int { return max(a.io.Width()-len("^C")-1, 1) }

// eraseLine empties the line of a terminal and goes to its beginning.
const eraseLine = "\r\x1b[K"

// showLive replaces the live line that has so many below it; "" removes it. Nothing is drawn while another lies over it.
func (a *app) showLive(below int, line string) {
	a.errLock.Lock()
	defer a.errLock.Unlock()
	if a.hushed > 0 || a.lines > below+1 {
		return
	}
	a.liveShown = line != ""
	_, _ = io.WriteString(a.io.Err, eraseLine+line)
}

// hush takes the live line away, until release is called: a question stands there.
func (a *app) hush() (release func()) {
	a.errLock.Lock()
	defer a.errLock.Unlock()
	if a.liveShown {
		_, _ = io.WriteString(a.io.Err, eraseLine)
		a.liveShown = false
	}
	a.hushed++
	return sync.OnceFunc(func() {
		a.errLock.Lock()
		defer a.errLock.Unlock()
		a.hushed--
	})
}

// writeLine writes whole lines of text to standard output, from which a live line on the same terminal gives way.
func (a *app) writeLine(text string) error {
	if a.io.StdoutTTY() {
		a.errLock.Lock()
		defer a.errLock.Unlock()
		if a.liveShown {
			_, _ = io.WriteString(a.io.Err, eraseLine)
			a.liveShown = false
		}
	}
	_, err := io.WriteString(a.out(), text)
	return err
}
