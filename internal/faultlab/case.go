package faultlab

import (
	"fmt"
	"regexp"
	"strings"
)

// Transport is a set of ways in which a case can be served.
type Transport uint

// The ways to serve a case. A case with none of them is only described.
const (
	HTTP   Transport = 1 << iota // streamable HTTP, or the older HTTP with SSE
	Stdio                        // a child process that speaks over its standard streams
	Config                       // the bytes of a configuration file
)

// String returns the label used in lists.
func (t Transport) String() string {
	if t == 0 {
		return "doc"
	}
	if t == HTTP|Stdio {
		return "both"
	}
	var parts []string
	for _, p := range []struct {
		t    Transport
		name string
	}{{Config, "config"}, {HTTP, "http"}, {Stdio, "stdio"}} {
		if t&p.t != 0 {
			parts = append(parts, p.name)
		}
	}
	return strings.Join(parts, "+")
}

// Case is one way in which an MCP server or its configuration misbehaves: a text for people, and the functions that
// make the healthy server wrong in that one way. A zero fault is healthy, so a case names only what differs.
type Case struct {
	ID    string // "CASE-001"; never reused
	Name  string // "session-404-restart"
	Area  string // the layer at fault, as in the catalogue
	Over  Transport
	Level int // 1 basic, 2 usual, 3 hard

	Title   string
	Source  string // public reports, owner/repository#number
	Symptom string // what somebody's user saw
	Cause   string
	Repro   string // what the lab does
	Right   string // what a good client does
	Exit    string // how a good client's command ends

	server serverFault
	http   httpFault
	stdio  stdioFault
	config func(bin, url string) string
	check  check
}

// serves reports whether the case can be served over t.
func (c Case) serves(t Transport) bool { return c.Over&t != 0 }

// ConfigFile returns the exact bytes of the case's configuration file, in which bin is the path of the faultlab
// program and url the address of a server. It reports false if the case has none.
func (c Case) ConfigFile(bin, url string) (string, bool) {
	if c.config == nil {
		return "", false
	}
	return c.config(bin, url), true
}

// levelName is the word for a [Case.Level].
func levelName(level int) string {
	return [...]string{1: "basic", 2: "usual", 3: "hard"}[level]
}

// Markdown returns the text of the case as a Markdown section.
func (c Case) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s — %s\n\n", c.ID, c.Title)
	fmt.Fprintf(&b, "- **Name / area / transport / difficulty:** `%s` / %s / %s / %d (%s)\n",
		c.Name, c.Area, c.Over, c.Level, levelName(c.Level))
	for _, f := range []struct{ label, text string }{
		{"Source", c.Source},
		{"Symptom", c.Symptom},
		{"Root cause", c.Cause},
		{"Reproduce", c.Repro},
		{"A good tool", c.Right},
		{"Exit", c.Exit},
	} {
		fmt.Fprintf(&b, "- **%s:** %s\n", f.label, unwrap(f.text))
	}
	b.WriteString("\n")
	return b.String()
}

// unwrap joins the lines of a text that was wrapped in the source.
func unwrap(s string) string {
	return regexp.MustCompile(`\n\t*`).ReplaceAllString(s, " ")
}
