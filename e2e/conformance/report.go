package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// report prints what came of a run, and reports whether everything is as expected.
func report(w io.Writer, sets []set, pairs []pair, verdicts map[pair]verdict, o options) bool {
	ok := true
	for _, p := range pairs {
		v := verdicts[p]
		wrong := unexpected(p, v)
		ok = ok && wrong == ""
		switch {
		case wrong != "":
			_, _ = fmt.Fprintf(w, "FAILED  %s: %s\n", p, wrong)
		case o.verbose:
			_, _ = fmt.Fprintf(w, "%-7s %s (%s)\n", v.word(), p, v.elapsed.Round(10*time.Millisecond))
		}
		if wrong == "" && !o.verbose {
			continue
		}
		for _, problem := range v.problems {
			_, _ = fmt.Fprintf(w, "          %s\n", problem)
		}
		if wrong != "" && o.verbose {
			for line := range strings.Lines(v.output) {
				_, _ = fmt.Fprintf(w, "          | %s\n", strings.TrimRight(line, "\n"))
			}
		}
	}
	if o.scenario == "" {
		table(w, sets, verdicts)
	}
	return ok
}

// table prints the sets.
func table(w io.Writer, sets []set, verdicts map[pair]verdict) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "\nset\tscenarios\tpassed\tfailed\tas expected\tvacuous")
	for _, s := range sets {
		var passed, failed, expected, vacuous int
		for _, p := range s.pairs {
			switch v := verdicts[p]; {
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
		_, _ = fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\n", s.name, len(s.pairs), passed, failed, expected, vacuous)
	}
	_ = t.Flush() // w has nobody to tell
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
