package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// report tells of a run while it is under way: of what is not as expected at once, and of each set when its last scenario has
// ended.
type report struct {
	w        io.Writer
	o        options
	start    time.Time
	sets     []set
	verdicts map[pair]verdict
	// bad is set when something is not as expected.
	bad bool
}

// row is a line of the table of sets: the name, how its scenarios have ended, and after how long the last one has.
const row = "%-*s  %9v  %6v  %6v  %11v  %7v  %6v\n"

// newReport begins the report of a run. Without all scenarios the sets are not scored.
func newReport(w io.Writer, sets []set, pairs []pair, o options) *report {
	r := &report{w: w, o: o, start: time.Now(), verdicts: make(map[pair]verdict, len(pairs))}
	if o.scenario == "" {
		r.sets = sets
		_, _ = fmt.Fprintf(w, row, r.width(), "set", "scenarios", "passed", "failed", "as expected", "vacuous", "after")
	}
	return r
}

// width is that of the longest name of a set.
func (r *report) width() int {
	width := 0
	for _, s := range r.sets {
		width = max(width, len(s.name))
	}
	return width
}

// ended tells of a scenario that has ended, and of the sets that have ended with it.
func (r *report) ended(p pair, v verdict) {
	r.verdicts[p] = v
	wrong := unexpected(p, v)
	switch {
	case wrong != "":
		r.bad = true
		_, _ = fmt.Fprintf(r.w, "FAILED  %s (%s): %s\n", p, v.elapsed.Round(10*time.Millisecond), wrong)
	case r.o.verbose:
		_, _ = fmt.Fprintf(r.w, "%-7s %s (%s)\n", v.word(), p, v.elapsed.Round(10*time.Millisecond))
	}
	if wrong != "" || r.o.verbose {
		for _, problem := range v.problems {
			_, _ = fmt.Fprintf(r.w, "          %s\n", problem)
		}
	}
	if wrong != "" && r.o.verbose {
		for line := range strings.Lines(v.output) {
			_, _ = fmt.Fprintf(r.w, "          | %s\n", strings.TrimRight(line, "\n"))
		}
	}
	for _, s := range r.sets {
		if s.endedWith(p, r.verdicts) {
			r.scored(s)
		}
	}
}

// endedWith reports whether a scenario is of the set, and all others of it have ended before.
func (s set) endedWith(last pair, verdicts map[pair]verdict) bool {
	is := false
	for _, p := range s.pairs {
		if _, ended := verdicts[p]; !ended {
			return false
		}
		is = is || p == last
	}
	return is
}

// scored prints the line of a set that has ended.
func (r *report) scored(s set) {
	var passed, failed, expected, vacuous int
	for _, p := range s.pairs {
		switch v := r.verdicts[p]; {
		case v.passed():
			passed++
		case v.vacuous():
			vacuous++
		case failedAsExpected(p, v):
			expected++
		default:
			failed++
		}
	}
	after := time.Since(r.start).Round(time.Second)
	_, _ = fmt.Fprintf(r.w, row, r.width(), s.name, len(s.pairs), passed, failed, expected, vacuous, after)
}

// unexpected says what is not as expected, "" if all is.
func unexpected(p pair, v verdict) string {
	reason, says := failing(p)
	switch nothing := vacuous(p); {
	case reason != "" && v.passed():
		return "it passes, and is expected to fail: " + reason + "; take it off the list in expected.go"
	case nothing != "" && v.passed():
		return "it has something to tell, and is expected to have nothing: " + nothing + "; take it off the list in expected.go"
	case failedAsExpected(p, v), v.passed(), nothing != "" && v.vacuous():
		return ""
	case v.vacuous():
		return "it has nothing to tell: the client did not do what it is about"
	case reason != "":
		return fmt.Sprintf("it is expected to fail, and the client to say %q, which it has not: %s", says, reason)
	}
	return "it does not pass"
}

// failedAsExpected reports whether a scenario fails that is expected to, and for the reason for which it is.
func failedAsExpected(p pair, v verdict) bool {
	reason, says := failing(p)
	return reason != "" && !v.passed() && !v.vacuous() && strings.Contains(v.output, says)
}

// word says in one what came of a scenario.
func (v verdict) word() string {
	switch {
	case v.passed():
		return "passed"
	case v.vacuous():
		return "vacuous"
	}
	return "failed"
}

// String is the pair as it is shown.
func (p pair) String() string {
	if p.version == "" {
		return fmt.Sprintf("%s, %s", p.scenario, p.release)
	}
	return fmt.Sprintf("%s at %s, %s", p.scenario, p.version, p.release)
}
