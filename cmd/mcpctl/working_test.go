package main

import (
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/pkg/session"
)

// atTheTime is how long the work has taken when its line is drawn.
const atTheTime = 3250 * time.Millisecond

// since returns work on which progress has been watched for some seconds.
func since(seconds int, reports ...session.Progress) *work {
	w := &work{what: "calling index of files", start: time.Now()}
	for i, p := range reports {
		w.report(p)
		if i == 0 {
			w.since = w.start.Add(atTheTime - time.Duration(seconds)*time.Second)
		}
	}
	return w
}

func TestTheLineOfProgress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		columns int
		w       *work
		want    string
	}{
		{"nothing yet", 79, since(0), "calling index of files … 3.2s"},
		{"a part", 79, since(3, session.Progress{Total: 10}, session.Progress{Progress: 5, Total: 10, Message: "file 5"}), "file 5 █████████░░░░░░░░░░  50% 3.2s, 3s left"},
		{"narrow", 39, since(3, session.Progress{Total: 10}, session.Progress{Progress: 5, Total: 10, Message: "a message that does not fit"}), "a message… ████░░░░░  50% 3.2s, 3s left"},
		{"no total", 79, since(2, session.Progress{Progress: 100}, session.Progress{Progress: 300}), "calling index of files … 300, 3.2s, 100/s"},
		{"slow", 79, since(4, session.Progress{}, session.Progress{Progress: 2}), "calling index of files … 2, 3.2s, 0.5/s"},
		{"no rate yet", 79, since(0, session.Progress{}, session.Progress{Progress: 2}), "calling index of files … 2, 3.2s"},
		{"above the total", 79, since(3, session.Progress{Progress: 30, Total: 10}), "calling index of files ███████████████████ 100% 3.2s"},
		{"backwards", 79, since(0, session.Progress{Progress: 5, Total: 10}, session.Progress{Progress: 1, Total: 10}), "calling index of files █████████░░░░░░░░░░  50% 3.2s"},
		{"total 0", 79, since(0, session.Progress{Progress: 5}), "calling index of files … 5, 3.2s"},
		{"below 0", 79, since(0, session.Progress{Progress: -5, Total: 10}), "calling index of files ░░░░░░░░░░░░░░░░░░░   0% 3.2s"},
		{"not a number", 79, since(0, session.Progress{Progress: math.NaN(), Total: 10}), "calling index of files … 3.2s"},
		{"without end", 79, since(0, session.Progress{Progress: 1, Total: math.Inf(1)}), "calling index of files … 1, 3.2s"},
		{"a fraction", 79, since(0, session.Progress{Progress: 0.123456}), "calling index of files … 0.1235, 3.2s"},
		{"huge", 79, since(3, session.Progress{Progress: 1}, session.Progress{Progress: 1e300}), "calling index of files … 1e+300, 3.2s, "},
		{"escapes", 79, since(0, session.Progress{Progress: 1, Total: 2, Message: "\x1b[2Jone\r\ntwo\u202e"}), "one two █████████░░░░░░░░░░  50% 3.2s"},
		{"a long name", 30, &work{what: "calling index of a server with a long name"}, "calling index of a ser… … 3.2s"},
		{"tiny", 10, since(0, session.Progress{Progress: 1, Total: 2, Message: "message"}), "███░░░  50% 3.2s"},
	} {
		got := c.w.line(atTheTime, c.columns)
		if got != c.want && (!strings.HasSuffix(c.want, ", ") || !strings.HasPrefix(got, c.want)) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if n := render.Width(got); n > c.columns && c.columns > 20 {
			t.Errorf("%s: %d columns: %q", c.name, n, got)
		}
	}
}

// TestLateProgressIsIgnored reports after the end, and ten thousand times before it.
func TestLateProgressIsIgnored(t *testing.T) {
	t.Parallel()
	var lines []string
	w := &work{what: "calling", start: time.Now(), tell: func(line string) { lines = append(lines, line) }}
	for i := range 10_000 {
		w.report(session.Progress{Progress: float64(i), Total: 10_000})
	}
	w.end()
	w.report(session.Progress{Progress: 1e9})
	if w.done != 9999 || w.text() != "calling, 99%" {
		t.Errorf("%v, %q", w.done, w.text())
	}
	if len(lines) == 0 || len(lines) > 3 || !regexp.MustCompile(`^calling: 0%, \d`).MatchString(lines[0]) {
		t.Errorf("%d lines: %q", len(lines), lines)
	}
}
