package render

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/pkg/probe"
)

// The elements and attributes of JUnit's format as Ant writes it, which has no specification. Readers differ in what they
// want: all attributes that any of them asks for are there, and the elements stand in the order that all of them take.
type (
	junitSuite struct {
		ID                               int
		Name, Package                    string
		Timestamp, Hostname              string
		Tests, Failures, Errors, Skipped int
		Time                             string
		Properties                       []junitProperty
		Cases                            []junitCase
	}
	junitProperty struct {
		Name, Value string
	}
	junitCase struct {
		Name, Class, Time string
		Skipped           *junitSkipped
		Error, Failure    *junitProblem
		SystemOut         *junitText
	}
	junitSkipped struct {
		Message string
	}
	junitProblem struct {
		Message, Type, Text string
	}
	junitText struct {
		Text string
	}
)

func (s junitSuite) write(x *xmlText) {
	x.begin("testsuite", "id", strconv.Itoa(s.ID), "name", s.Name, "package", s.Package, "timestamp", s.Timestamp, "hostname", s.Hostname,
		"tests", strconv.Itoa(s.Tests), "failures", strconv.Itoa(s.Failures), "errors", strconv.Itoa(s.Errors),
		"skipped", strconv.Itoa(s.Skipped), "time", s.Time)
	if len(s.Properties) == 0 {
		x.leaf("properties", "")
	} else {
		x.begin("properties")
		for _, p := range s.Properties {
			x.leaf("property", "", "name", p.Name, "value", p.Value)
		}
		x.end("properties")
	}
	for _, c := range s.Cases {
		c.write(x)
	}
	x.leaf("system-out", "")
	x.leaf("system-err", "")
	x.end("testsuite")
}

func (c junitCase) write(x *xmlText) {
	attributes := []string{"name", c.Name, "classname", c.Class, "time", c.Time}
	if c.Skipped == nil && c.Error == nil && c.Failure == nil && c.SystemOut == nil {
		x.leaf("testcase", "", attributes...)
		return
	}
	x.begin("testcase", attributes...)
	if c.Skipped != nil {
		x.leaf("skipped", "", "message", c.Skipped.Message)
	}
	for _, p := range []struct {
		name    string
		problem *junitProblem
	}{{"error", c.Error}, {"failure", c.Failure}} {
		if p.problem != nil {
			x.leaf(p.name, p.problem.Text, "message", p.problem.Message, "type", p.problem.Type)
		}
	}
	if c.SystemOut != nil {
		x.leaf("system-out", c.SystemOut.Text)
	}
	x.end("testcase")
}

// junitHost is what Ant's format asks for where the machine is nobody's business.
const junitHost = "localhost"

// doctorJUnit is JUnit's format: a suite for each server, a case for each check.
func doctorJUnit(p pen, run DoctorRun) error {
	p.logSafely("&#58;", "&#35;", func(p pen) { junitDocument(p, run) })
	return nil
}

func junitDocument(p pen, run DoctorRun) {
	tests, failures, errs := 0, 0, 0
	for _, k := range run.Reports.all() {
		tests += k.count(probe.Pass, probe.Warn, probe.Fail, probe.Skip, probe.Unknown)
		failures, errs = failures+k.count(probe.Fail), errs+k.count(probe.Unknown)
		if run.Strict {
			failures += k.count(probe.Warn)
		}
	}
	if run.Failure != nil {
		tests, errs = tests+1, errs+1
	}
	x := xmlText{p: p}
	x.begin("testsuites", "name", "mcpctl doctor", "tests", strconv.Itoa(tests), "failures", strconv.Itoa(failures),
		"errors", strconv.Itoa(errs), "time", seconds(run.Elapsed))
	id := 0
	write := func(s junitSuite) {
		s.ID, s.Package, s.Hostname = id, "mcpctl", junitHost
		s.Timestamp = run.Begin.UTC().Format("2006-01-02T15:04:05")
		s.Tests = len(s.Cases)
		for i := range s.Cases {
			c := &s.Cases[i]
			c.Class = s.Name
			switch {
			case c.Failure != nil:
				s.Failures++
			case c.Error != nil:
				s.Errors++
			case c.Skipped != nil:
				s.Skipped++
			}
		}
		s.write(&x)
		id++
	}
	for r := range run.reports() {
		s := junitSuite{Name: OneLine(r.Name), Time: seconds(r.Elapsed)}
		s.Properties = []junitProperty{
			{"target", OneLine(r.Target)}, {"transport", r.Transport}, {"verdict", string(r.Verdict)},
		}
		for _, res := range r.Results {
			s.Cases = append(s.Cases, junitCaseOf(res, run.Strict))
		}
		write(s)
	}
	if f := run.Failure; f != nil {
		lines := append(append([]string{f.Message}, f.Evidence...), f.Hints...)
		problem := junitProblem{Message: OneLine(f.Message), Type: f.Class, Text: strings.Join(linesOf(strings.Join(lines, "\n")), "\n")}
		c := junitCase{Name: "run", Time: seconds(0), Error: &problem}
		write(junitSuite{Name: firstOf(OneLine(f.Server), "mcpctl doctor"), Time: seconds(0), Cases: []junitCase{c}})
	}
	x.end("testsuites")
}

func junitCaseOf(r probe.Result, strict bool) junitCase {
	c := junitCase{Name: OneLine(r.ID), Time: seconds(r.Elapsed)}
	text := strings.Join(textOf(r), "\n")
	problem := &junitProblem{Message: OneLine(r.Message), Text: text}
	switch r.Status {
	case probe.Fail:
		problem.Type = firstOf(r.Class, "failed")
		c.Failure = problem
	case probe.Unknown:
		problem.Type = "unknown"
		c.Error = problem
	case probe.Warn:
		if strict {
			problem.Type = "warning"
			c.Failure = problem
			break
		}
		c.SystemOut = &junitText{"warning: " + text}
	case probe.Skip:
		c.Skipped = &junitSkipped{OneLine(r.Message)}
	case probe.Pass:
	}
	return c
}

// seconds is a stretch of time as JUnit's format has it.
func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
