//go:build unix

package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// faultsIntroduction opens the map.
const faultsIntroduction = `# What can go wrong, and what mcpctl says

For people who run MCP servers, or wonder why one does not answer. Every entry is a fault that somebody met in practice,
with the public report that it comes from and what a server with that fault does; whatever is not named works. Below it
is what mcpctl does with such a server: its exit code, the class that ` + "`-o json`" + ` names (` + "`mcpctl help exit-codes`" + `), and the
first line of what it prints on standard error. A dash means that the command does its work and says nothing.

SERVER in a command or a message is the server, as a URL or behind ` + "`--stdio`" + `. PORT and OTHERPORT are ports, DIR is a
directory, N a number, PID a process, DATE a date, TIME a time, DURATION how long something took. Limits are set where waiting is the
point; those that are built in are longer. "Dead first session" means that the first session works until its first
request after the handshake, which gets the stale answer, like everything after it on that session; the second session
is healthy.

The tests run all of it, and look for what must not be: processes, sessions at the server and goroutines that are left
behind, secrets in messages, calls that are made twice. They also write this page:
` + "`go test ./cmd/mcpctl -run TestFaults -update`" + `. To have a fault at hand,
` + "`go build ./internal/faultlab/cmd/faultlab`" + `, then ` + "`faultlab http CASE`" + `, or
` + "`mcpctl tools --stdio \"faultlab stdio CASE\"`" + `.
`

// areaTitles are the areas of the laboratory in words.
func areaTitles() map[string]string {
	return map[string]string{
		"session":     "Sessions that are lost",
		"http-status": "HTTP: statuses, headers, silence",
		"redirect":    "HTTP: redirects",
		"sse":         "Streams of events",
		"lifecycle":   "Starting, versions and capabilities",
		"jsonrpc":     "Messages",
		"listing":     "Lists of tools",
		"stdio":       "Processes and their streams",
		"network":     "Names, ports, certificates, proxies",
	}
}

// compareGolden compares text with a file, or writes it there with -update.
func compareGolden(t *testing.T, file, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if text == string(want) {
		return
	}
	got, old := strings.Split(text, "\n"), strings.Split(string(want), "\n")
	for i := range max(len(got), len(old)) {
		g, w := lineAt(got, i), lineAt(old, i)
		if g != w {
			t.Fatalf("%s is out of date (run with -update and read the difference), line %d:\n got %s\nwant %s", file, i+1, g, w)
		}
	}
}

func lineAt(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(the end)"
}

// faultsMarkdown is the map: the areas and cases in the order of the catalogue, with what was seen of each.
func faultsMarkdown(results []*faultResult) string {
	var b strings.Builder
	b.WriteString(faultsIntroduction)
	area, name := "", ""
	for i := 0; i < len(results); {
		c := results[i].job.fault
		if c.Area != area {
			area = c.Area
			fmt.Fprintf(&b, "\n## %s\n", areaTitles()[area])
		}
		if c.Name != name {
			name = c.Name
			fmt.Fprintf(&b, "\n### %s\n\n`%s`, %s, from %s. %s\n\n", c.Title, name, c.Over, c.Source, inOneLine(c.Repro))
			b.WriteString("| command | over | exit | what mcpctl says |\n|---|---|---|---|\n")
		}
		end := i
		for end < len(results) && results[end].job.fault.Name == name {
			end++
		}
		b.WriteString(faultRows(results[i:end]))
		i = end
	}
	return b.String()
}

// faultRows are the rows of one case. Commands that end alike share a row, and so do the transports.
func faultRows(results []*faultResult) string {
	type row struct{ command, over, rest string }
	var rows []row
	for _, r := range results {
		run := r.job.run
		exit, says := fmt.Sprint(r.code), "–"
		if run.class != "" {
			exit += " " + run.class
		}
		if r.line != "" {
			says = code(r.line)
		}
		if run.why != "" {
			says += "<br>" + run.why
		}
		next := row{shownCommand(run), r.job.over.String(), exit + " | " + says}
		same := func(o row) bool { return o.command == next.command && o.rest == next.rest }
		if i := slices.IndexFunc(rows, same); i >= 0 {
			rows[i].over += ", " + next.over
		} else {
			rows = append(rows, next)
		}
	}
	var b strings.Builder
	for i := 0; i < len(rows); {
		r := rows[i]
		for i++; i < len(rows) && rows[i].over == r.over && rows[i].rest == r.rest; i++ {
			r.command += "<br>" + rows[i].command
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r.command, r.over, r.rest)
	}
	return b.String()
}

// shownCommand is the command line of the run for people.
func shownCommand(r faultRun) string {
	config := r.config
	r.config = ""
	line := code(strings.NewReplacer(
		"{AUTHORIZATION}", "Authorization: Bearer …", "{ORIGIN}", "http://127.0.0.1:PORT", "{DIR}", "DIR",
	).Replace(r.command()))
	if config != "" {
		line += ", configured with " + code(config)
	}
	return line
}

// code is text as code in a cell of a table.
func code(text string) string {
	fence := "`"
	if strings.Contains(text, fence) {
		fence = "``"
	}
	return fence + strings.ReplaceAll(text, "|", `\|`) + fence
}

// inOneLine joins the lines of a text, and makes it no more than text for Markdown.
func inOneLine(text string) string {
	return strings.NewReplacer("<", `\<`, "*", `\*`).Replace(strings.Join(strings.Fields(text), " "))
}

// stableLine returns the first line on standard error, which is the failure's if there is one, without what differs
// between two runs.
func (s *faultServer) stableLine(r faultRun, stderr string) string {
	if len(r.says) == 0 {
		stderr = onTheWay().ReplaceAllString(stderr, "")
	}
	line, _, _ := strings.Cut(withoutLog(stderr), "\n")
	if i := strings.Index(stderr, "mcpctl: error: "); i >= 0 {
		line, _, _ = strings.Cut(stderr[i:], "\n")
	}
	for _, prefix := range []string{"mcpctl: error: ", "mcpctl: "} {
		line = strings.TrimPrefix(line, prefix)
	}
	if rest, ok := strings.CutPrefix(line, s.words[len(s.words)-1]); ok {
		line = "SERVER" + rest
	}
	if s.http != nil {
		if s.http.Other != "" {
			line = strings.ReplaceAll(line, s.http.Other, "http://127.0.0.1:OTHERPORT")
		}
		line = strings.ReplaceAll(line, s.fill.Replace(":{PORT}"), ":PORT")
	}
	line = strings.ReplaceAll(line, s.fill.Replace("{DIR}"), "DIR")
	for _, v := range []struct{ what, name string }{
		{`\bpid \d+`, "pid PID"},
		{`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?`, "TIME"},
		{`\bafter \d+(\.\d+)? ?(ms|s)\b`, "after DURATION"},
		{`\bexpired on \d{4}-\d\d-\d\d`, "expired on DATE"},
		{`\btried \d+ times\b`, "tried N times"},
		{`\bwaiting \d+(\.\d+)? s\b`, "waiting DURATION"},
		{`\bin \d+(\.\d+)? ?(ms|s)\b`, "in DURATION"},
	} {
		line = regexp.MustCompile(v.what).ReplaceAllString(line, v.name)
	}
	return line
}
