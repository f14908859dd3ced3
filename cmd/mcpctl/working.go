package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/pkg/session"
)

const (
	// barInterval is how often the bar is drawn at most.
	barInterval = 100 * time.Millisecond
	// progressInterval is how often progress is told in lines, where there is no bar.
	progressInterval = time.Second
	// rateAfter is how long progress is watched before a rate is told: before, it says little.
	rateAfter = time.Second
	// longestLeft is the most time left that is told: more is no forecast.
	longestLeft = 24 * time.Hour
	// mostMessage bounds what is kept of a message, in bytes: a line is shorter on any terminal.
	mostMessage = 1 << 10
)

// working shows that a request is on its way, and its progress as the server reports it to requests that are made with
// the returned context. What it shows is gone when stop has been called, which may be done more than once.
//
// On a terminal that is one line, a bar where the total is known. With -v, and where there is no terminal, progress is told
// in lines, one a second at most, and only with -v.
func (a *app) working(ctx context.Context, what string) (working context.Context, stop func()) {
	w := &work{what: what, start: time.Now()}
	if a.global.verbose > 0 {
		w.tell = func(line string) { a.note(line) }
	}
	stopLine := a.drawn(w.text, func(elapsed time.Duration) string { return w.line(elapsed, a.liveWidth()) }, barInterval)
	return session.WithProgress(ctx, w.report), func() {
		w.end()
		stopLine()
	}
}

// work is a request on its way, as far as the server tells. See the MCP specification, 2025-11-25, "Progress".
type work struct {
	what  string
	start time.Time
	// tell gets a line for progress, nil if nobody wants lines.
	tell func(string)

	mu   sync.Mutex
	over bool
	// seen is set when there is progress, the first of which was begin at the time since.
	seen  bool
	begin float64
	since time.Time
	// done is the highest that was reported: it must not go back. Total is 0 if it is not known.
	done, total float64
	message     string
	told        time.Time
}

// report takes what the server says. It may say anything, any number of times, and after the end.
func (w *work) report(p session.Progress) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over || math.IsNaN(p.Progress) || math.IsInf(p.Progress, 0) {
		return
	}
	if !w.seen {
		w.seen, w.begin, w.since, w.done = true, p.Progress, time.Now(), p.Progress
	}
	w.done = max(w.done, p.Progress)
	if p.Total > 0 && !math.IsInf(p.Total, 0) {
		w.total = p.Total
	}
	w.message = render.OneLine(p.Message[:min(len(p.Message), mostMessage)])
	if w.tell != nil && time.Since(w.told) >= progressInterval {
		w.told = time.Now()
		w.tell(w.sentence(time.Since(w.start)))
	}
}

// end makes what comes from now on late.
func (w *work) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
}

// text says in words what is going on.
func (w *work) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.seen {
		return w.what
	}
	if amount := w.amount(); amount != "" {
		return w.what + ", " + amount
	}
	return w.what
}

// sentence is text with the message and the time. w.mu is held.
func (w *work) sentence(elapsed time.Duration) string {
	parts := slices.DeleteFunc([]string{w.amount(), w.message, w.times(elapsed)}, func(part string) bool { return part == "" })
	return render.OneLine(w.what) + ": " + strings.Join(parts, ", ")
}

// share is how much of the total is done, from 0 to 1. w.mu is held.
func (w *work) share() float64 { return min(max(w.done/w.total, 0), 1) }

// amount says how much is done: a part of the total, or a number; "" for nothing of nobody knows how much. w.mu is held.
func (w *work) amount() string {
	if w.total == 0 && w.done == 0 {
		return ""
	}
	if w.total > 0 {
		return strconv.Itoa(int(100*w.share())) + "%"
	}
	if w.done == math.Trunc(w.done) && math.Abs(w.done) < 1e15 {
		return strconv.FormatFloat(w.done, 'f', 0, 64)
	}
	return strconv.FormatFloat(w.done, 'g', 4, 64)
}

// perSecond returns a rate with the digits that say something.
func perSecond(rate float64) string {
	switch {
	case rate >= 1e6:
		return strconv.FormatFloat(rate, 'g', 3, 64) + "/s"
	case rate >= 10:
		return strconv.FormatFloat(rate, 'f', 0, 64) + "/s"
	}
	return strconv.FormatFloat(rate, 'f', 1, 64) + "/s"
}

// times says how long it has taken, and how long it will still take, or how fast it goes. w.mu is held.
func (w *work) times(elapsed time.Duration) string {
	text := elapsed.Truncate(100 * time.Millisecond).String()
	watched := elapsed - w.since.Sub(w.start)
	rate := (w.done - w.begin) / watched.Seconds()
	switch {
	case watched < rateAfter || rate <= 0 || math.IsInf(rate, 0):
	case w.total > 0:
		left := max(w.total-w.done, 0) / rate // seconds
		if left < longestLeft.Seconds() {
			text += ", " + time.Duration(math.Round(left)*float64(time.Second)).String() + " left"
		}
	default:
		text += ", " + perSecond(rate)
	}
	return text
}

// line returns the live line for a number of columns.
func (w *work) line(elapsed time.Duration, columns int) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.seen {
		right := " … " + elapsed.Truncate(100*time.Millisecond).String()
		if left := columns - render.Width(right); left > 0 { // how long it has taken is told whatever the name of the server
			return render.Cut(render.OneLine(w.what), left) + right
		}
		return render.OneLine(w.what) + right
	}
	name := render.OneLine(w.what)
	if w.message != "" {
		name = w.message
	}
	var right string
	if w.total > 0 {
		right = " " + bar(w.share(), columns) + fmt.Sprintf(" %4s ", w.amount()) + w.times(elapsed)
	} else {
		right = " … "
		if amount := w.amount(); amount != "" {
			right += amount + ", "
		}
		right += w.times(elapsed)
	}
	// What is said by the server is cut first.
	if left := columns - render.Width(right); left > 0 {
		name = render.Cut(name, left)
	} else {
		name, right = "", strings.TrimSpace(right)
	}
	return name + right
}

// bar draws how much is done: a quarter of the columns, 6 to 24 of them.
func bar(share float64, columns int) string {
	n := min(max(columns/4, 6), 24)
	full := int(share * float64(n))
	return strings.Repeat("█", full) + strings.Repeat("░", n-full)
}
