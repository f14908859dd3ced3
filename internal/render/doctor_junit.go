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
	junitSuites struct {
		Name                    string
		Tests, Failures, Errors int
		Time                    string
		Suites                  []junitSuite
	}
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

// write writes the document.
func (all junitSuites) write(x *xmlText) {
	x.begin("testsuites", "name", all.Name, "tests", strconv.Itoa(all.Tests), "failures", strconv.Itoa(all.Failures),
		"errors", strconv.Itoa(all.Errors), "time", all.Time)
	for _, s := range all.Suites {
		s.write(x)
	}
	x.end("testsuites")
}

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
func doctorJUnit(run DoctorRun) ([]byte, error) {
	all := junitSuites{Name: "mcpctl doctor", Time: seconds(run.Elapsed)}
	add := func(s junitSuite) {
		s.ID, s.Package, s.Hostname = len(all.Suites), "mcpctl", junitHost
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
		all.Tests, all.Failures, all.Errors = all.Tests+s.Tests, all.Failures+s.Failures, all.Errors+s.Errors
		all.Suites = append(all.Suites, s)
	}
	for _, r := range run.Reports {
		s := junitSuite{Name: OneLine(r.Name), Time: seconds(r.Elapsed)}
		s.Properties = []junitProperty{
			{"target", OneLine(r.Target)}, {"transport", r.Transport}, {"verdict", string(r.Verdict)},
		}
		for _, res := range r.Results {
			s.Cases = append(s.Cases, junitCaseOf(res, run.Strict))
		}
		add(s)
	}
	if f := run.Failure; f != nil {
		lines := append(append([]string{f.Message}, f.Evidence...), f.Hints...)
		problem := junitProblem{Message: OneLine(f.Message), Type: f.Class, Text: strings.Join(linesOf(strings.Join(lines, "\n")), "\n")}
		c := junitCase{Name: "run", Time: seconds(0), Error: &problem}
		add(junitSuite{Name: firstOf(OneLine(f.Server), "mcpctl doctor"), Time: seconds(0), Cases: []junitCase{c}})
	}
	var x xmlText
	all.write(&x)
	return []byte(logSafe(x.String(), "&#58;", "&#35;")), nil
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
