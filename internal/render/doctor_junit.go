package render

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/pkg/probe"
)

// The elements and attributes of JUnit's format as Ant writes it, which has no specification. Readers differ in what they
// want: all attributes that any of them asks for are there, and the elements stand in the order that all of them take.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Time     string       `xml:"time,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		ID         int             `xml:"id,attr"`
		Name       string          `xml:"name,attr"`
		Package    string          `xml:"package,attr"`
		Timestamp  string          `xml:"timestamp,attr"`
		Hostname   string          `xml:"hostname,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Time       string          `xml:"time,attr"`
		Properties junitProperties `xml:"properties"`
		Cases      []junitCase     `xml:"testcase"`
		SystemOut  string          `xml:"system-out"`
		SystemErr  string          `xml:"system-err"`
	}
	junitProperties struct {
		List []junitProperty `xml:"property"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Name      string        `xml:"name,attr"`
		Class     string        `xml:"classname,attr"`
		Time      string        `xml:"time,attr"`
		Skipped   *junitSkipped `xml:"skipped"`
		Error     *junitProblem `xml:"error"`
		Failure   *junitProblem `xml:"failure"`
		SystemOut *junitText    `xml:"system-out"`
	}
	junitSkipped struct {
		Message string `xml:"message,attr"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
	junitText struct {
		Text string `xml:",chardata"`
	}
)

// junitHost is what Ant's format asks for where the machine is nobody's business.
const junitHost = "localhost"

// doctorJUnit is JUnit's format: a suite for each server, a case for each check. The encoder replaces what XML 1.0 does
// not allow.
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
		s.Properties.List = []junitProperty{
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
	var b bytes.Buffer
	b.WriteString(xml.Header)
	enc := xml.NewEncoder(&b)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return []byte(logSafe(b.String(), "&#58;", "&#35;")), nil
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
