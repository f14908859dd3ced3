package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
)

// contender is one program that does a piece of work.
type contender struct {
	name string
	// steps are command lines that are run one after the other, and are one run together.
	steps [][]string
	env   []string
	// alone is set for what starts no other process: its memory is known exactly then.
	alone bool
	// want is what one run must have written, somewhere.
	want string
	// slow is set for what takes seconds, and is run less often.
	slow bool
	// long is set for what takes so long that its first run counts, too.
	long bool
	// floor is set for what all are compared with from below, and gauge for the one whose figures are 1.
	floor, gauge bool
	// prepare and finish stand around all runs, before before each; none of them is measured.
	prepare, before, finish func(context.Context) error
	// kin is a name that it shares with those that cannot work either if it does not.
	kin string
	// excused is why it does not take part.
	excused string
}

// result is what a contender took.
type result struct {
	contender
	all  []figures
	wire traffic
	// counted is set if the wire is known.
	counted bool
}

func (r result) median() figures { return medians(r.all) }

// once does one run.
func (s setting) once(ctx context.Context, c contender) (figures, error) {
	if c.before != nil {
		if err := c.before(ctx); err != nil {
			return figures{}, err
		}
	}
	var sum figures
	var said strings.Builder
	for _, args := range c.steps {
		run := measured
		if c.alone {
			run = measuredAlone
		}
		out, code, f, err := run(ctx, s.dir, args, c.env...)
		if err == nil && code != 0 {
			err = &failure{args: args, code: code, said: out}
		}
		if err != nil {
			return figures{}, err
		}
		sum = sum.plus(f)
		said.WriteString(out)
	}
	if !strings.Contains(said.String(), c.want) {
		return figures{}, fmt.Errorf("%s: no %q in the output %q", c.name, c.want, tail(said.String()))
	}
	return sum, nil
}

// failure is a program that ended with another exit code than 0.
type failure struct {
	args []string
	code int
	said string
}

func (f *failure) Error() string {
	return fmt.Sprintf("%s: exit code %d, output %q", strings.Join(f.args, " "), f.code, tail(f.said))
}

// reason is why something did not work, in a line without the names of files.
func reason(err error) string {
	text := err.Error()
	if f, ok := errors.AsType[*failure](err); ok {
		text = fmt.Sprintf("exit code %d", f.code)
		if line := telling(f.said); line != "" {
			text += ": " + line
		}
	}
	return firstLine(text)
}

// telling is the line of a text that says most of what is wrong: the first that speaks of an error, or the last.
func telling(said string) string {
	var last string
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if strings.Contains(strings.ToLower(line), "error") {
			return line
		}
		if line != "" {
			last = line
		}
	}
	return last
}

// race lets all take turns, so that a machine that becomes slower meanwhile slows all of them. What is not ours and does
// not work is excused, with what it said; ours has to.
func (s setting) race(ctx context.Context, all []contender) (results []result, err error) {
	results = make([]result, len(all))
	for i, c := range all {
		results[i].contender = c
	}
	spent := make([]time.Duration, len(all))
	for round := range 1 + max(s.runs, s.slowRuns) {
		for i := range results {
			r := &results[i]
			if r.excused != "" || s.enough(*r, spent[i]) {
				continue
			}
			begin := time.Now()
			f, err := s.first(ctx, r, round == 0)
			switch {
			case ctx.Err() != nil:
				return nil, context.Cause(ctx)
			case err != nil && r.slow:
				r.excused = reason(err)
				for j := range results {
					if other := &results[j]; r.kin != "" && other.kin == r.kin && len(other.all) == 0 {
						other.excused = r.excused
					}
				}
			case err != nil:
				return nil, fmt.Errorf("%s: %w", r.name, err)
			case round > 0 || r.long: // the first one filled the caches of the file system
				r.all = append(r.all, f)
				spent[i] += time.Since(begin)
			}
		}
	}
	for i := range results {
		if finish := results[i].finish; finish != nil {
			if err := finish(ctx); err != nil && results[i].excused == "" {
				results[i].excused = reason(err)
			}
		}
	}
	return results, nil
}

// At least so many runs of each are done, however long they take: of a program that takes milliseconds, and of one that
// takes seconds.
const (
	leastRuns     = 3
	leastSlowRuns = 2
)

// enough reports whether one has been run as often as it is worth.
func (s setting) enough(r result, spent time.Duration) bool {
	most, least := s.runs, leastRuns
	if r.slow {
		most, least = s.slowRuns, leastSlowRuns
	}
	budget := s.budget
	if !s.hurry.IsZero() && time.Now().After(s.hurry) {
		budget /= 4
		if r.slow {
			least = 1
		}
	}
	return len(r.all) >= most || len(r.all) >= least && spent > budget
}

// first does one run, the very first one behind what prepares it.
func (s setting) first(ctx context.Context, r *result, first bool) (figures, error) {
	if first && r.prepare != nil {
		if err := r.prepare(ctx); err != nil {
			return figures{}, err
		}
	}
	return s.once(ctx, r.contender)
}

// gauge is the result that the others are compared with.
func gauge(results []result) figures {
	for _, r := range results {
		if r.gauge {
			return r.median()
		}
	}
	return figures{ms: math.NaN(), cpu: math.NaN(), mib: math.NaN()}
}

// writeRace writes who took what, and what it is beside the gauge.
func writeRace(w io.Writer, what string, results []result, notes ...string) error {
	t := table{heads: []string{what, "runs", "ms", "quartiles", "ratio", "CPU ms", "ratio", "MiB", "ratio"}, notes: notes}
	one := gauge(results)
	var excuses [][2]string // names and reasons
	for _, r := range results {
		if r.excused != "" {
			t.row(r.name, "-", "-", "-", "-", "-", "-", "-", "-")
			excuses = append(excuses, [2]string{r.name, r.excused})
			continue
		}
		m := r.median()
		t.row(r.name, fmt.Sprint(len(r.all)), number(m.ms), quarters(r.all), times(ratio(m.ms, one.ms)),
			number(m.cpu), times(ratio(m.cpu, one.cpu)), number(m.mib), times(ratio(m.mib, one.mib)))
	}
	for i := 0; i < len(excuses); {
		var names []string
		why := excuses[i][1]
		for ; i < len(excuses) && excuses[i][1] == why; i++ {
			names = append(names, excuses[i][0])
		}
		t.note("No figures for %s: %s", strings.Join(names, "; "), why)
	}
	return t.write(w)
}

// writeWire writes what went over the wire.
func writeWire(w io.Writer, what, unit string, results []result) error {
	t := table{heads: []string{what, unit, "sent B", "received B", "which"}, wide: true}
	for _, r := range results {
		if r.counted {
			t.row(r.name, fmt.Sprint(len(r.wire.Sent)), fmt.Sprint(r.wire.SentBytes), fmt.Sprint(r.wire.ReceivedBytes), r.wire.words())
		}
	}
	if len(t.rows) == 0 {
		return nil
	}
	return t.write(w)
}

// firstLine is the first line of a text, and not too much of it.
func firstLine(text string) string {
	const most = 200
	line, _, _ := strings.Cut(text, "\n")
	if len(line) > most {
		line = strings.ToValidUTF8(line[:most], "") + "…"
	}
	return line
}
