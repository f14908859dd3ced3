package render

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/mcpctl/mcpctl/internal/latency"
)

func TestMilliseconds(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                         "0.00 ms",
		3 * time.Microsecond:      "0.00 ms",
		414 * time.Microsecond:    "0.41 ms",
		9994 * time.Microsecond:   "9.99 ms",
		9996 * time.Microsecond:   "10.0 ms",
		99960 * time.Microsecond:  "100 ms",
		999 * time.Millisecond:    "999 ms",
		9996 * time.Millisecond:   "10.0 s",
		12345 * time.Millisecond:  "12.3 s",
		2 * time.Minute:           "120 s",
		999900 * time.Nanosecond:  "1.00 ms",
		999600 * time.Microsecond: "1.0 s",
	} {
		if got := Milliseconds(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

func TestShare(t *testing.T) {
	for _, c := range []struct {
		n, all int
		want   string
	}{{0, 0, "0%"}, {0, 4, "0%"}, {1, 4, "25%"}, {1, 3, "33.3%"}, {4, 4, "100%"}, {1, 100_000, "<0.1%"}, {99_999, 100_000, ">99.9%"}} {
		if got := share(c.n, c.all); got != c.want {
			t.Errorf("%d of %d is %q, want %q", c.n, c.all, got, c.want)
		}
	}
}

// pingTimes are round trips of so many milliseconds each.
func pingTimes(milliseconds ...float64) *latency.Times {
	var times latency.Times
	for _, ms := range milliseconds {
		times.Add(time.Duration(ms * float64(time.Millisecond)))
	}
	return &times
}

func TestPingSum(t *testing.T) {
	p := Ping{
		Server: "notes", Sent: 9, Lost: 1, Replaced: 1, Elapsed: 9*time.Minute + 1200*time.Millisecond,
		Times: pingTimes(0.31, 0.41, 0.41, 0.42, 0.43, 0.6, 1.1, 12_300), Gap: 13_300 * time.Millisecond,
	}
	want := `
--- notes ping statistics ---
9 sent, 8 received, 1 lost (11.1%), 1 session replaced, in 9m1s
min 0.31 ms, median 0.42 ms, p95 12.3 s, max 12.3 s
longest time without an answer 13.3 s

0.2 – 0.5 ms  5  ████████████████████████████████████████
  0.5 – 1 ms  1  ████████
    1 – 2 ms  1  ████████
   10 – 20 s  1  ████████
`
	if got := p.Sum(Screen{}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	coloured := p.Sum(Screen{Terminal: true, Colour: true, Width: 80})
	if ansi.Strip(coloured) != want || coloured == want {
		t.Errorf("in colours:\n%s", coloured)
	}
}

func TestPingSumWithoutAnswers(t *testing.T) {
	want := "\n--- x ping statistics ---\n2 sent, 0 received, 2 lost (100%), 0 sessions replaced, in 20.0 s\n"
	if got := (Ping{Server: "x", Sent: 2, Lost: 2, Elapsed: 20 * time.Second, Times: &latency.Times{}}).Sum(Screen{}); got != want {
		t.Errorf("got %q", got)
	}
}

// TestAHistogramFits draws the widest spread there can be, on narrow terminals, too: at most eight rows, none of them
// wider than the terminal, and no time forgotten.
func TestAHistogramFits(t *testing.T) {
	var times latency.Times
	n := 0
	for d := time.Microsecond; d < 24*time.Hour; d += d/3 + 1 {
		for range n%7 + 1 {
			times.Add(d)
		}
		n++
	}
	rows := pingRows(times.Rows())
	sum := 0
	for i, r := range rows {
		sum += r.Count
		if i > 0 && r.From < rows[i-1].To {
			t.Errorf("the rows overlap: %v", rows)
		}
	}
	if len(rows) > mostRows || sum != times.Count() {
		t.Errorf("%d rows of %d times, want all %d: %v", len(rows), sum, times.Count(), rows)
	}
	for _, width := range []int{20, 40, 80, 200} {
		for line := range strings.Lines(histogram(Screen{Terminal: true, Width: width}, rows)) {
			if got := ansi.StringWidth(strings.TrimRight(line, "\n")); got > width {
				t.Errorf("on %d columns a line of %d: %q", width, got, line)
			}
		}
	}
}

// TestPingLinesFit cuts what a server has said, and not what we say about it.
func TestPingLinesFit(t *testing.T) {
	s := Screen{Terminal: true, Width: 80}
	cause := "HTTP 404 Not Found:\x1b[2J " + strings.Repeat("session not found ", 10)
	for _, line := range []string{
		PingReplaced(s, cause, 1, 2, 120*time.Millisecond),
		PingAnswer(s, 7, "ping", time.Millisecond, cause),
		PingHead(s, "notes", "stdio, legacy 2025-11-25", cause),
		PingHead(s, strings.Repeat("notes", 40), "stdio", cause),
		PingNote(s, cause),
	} {
		if ansi.StringWidth(strings.TrimSuffix(line, "\n")) > s.Width || strings.Count(line, "\n") != 1 || strings.Contains(line, "\x1b") {
			t.Errorf("%q does not fit", line)
		}
	}
	lost := PingLost(s, 7, cause)
	for line := range strings.Lines(lost) {
		if ansi.StringWidth(strings.TrimSuffix(line, "\n")) > s.Width || strings.Contains(line, "\x1b") {
			t.Errorf("%q does not fit", line)
		}
	}
	if n := strings.Count(lost, "\n"); n < 2 || n > 3 {
		t.Errorf("%d lines of a loss:\n%s", n, lost)
	}
	want := "session lost (HTTP 404 Not Found: session not fo…); generation 1 → 2, in 120 ms\n"
	if got := PingReplaced(Screen{Terminal: true, Width: 79}, cause, 1, 2, 120*time.Millisecond); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := PingReplaced(Screen{}, "gone", 1, 3, 3*time.Second); got != "session lost (gone); generation 1 → 3, in 3.0 s\n" {
		t.Errorf("in a pipe: %q", got)
	}
}
