package render

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/pkg/probe"
)

// DoctorRun is one run of doctor, as every format gets it.
type DoctorRun struct {
	Reports *Reports
	// Begin is when the run began, and Elapsed how long it took.
	Begin   time.Time
	Elapsed time.Duration
	// Strict is set when warnings fail.
	Strict bool
	// Failure says why the run itself failed, nil if it did not. There may be reports all the same: what was known when
	// somebody interrupted it.
	Failure *DoctorFailure
	// Screen and Options are for text.
	Screen  Screen
	Options DoctorOptions
	// Mask takes the secrets out of a text. Each text is masked by itself, before a format escapes it: afterwards a
	// secret could no longer be told, and a number could be taken for one. If nil, nothing is masked.
	Mask func(string) string
}

// DoctorFailure is a run that failed before, or without, an answer about a server.
type DoctorFailure struct {
	// Class is one of the classes of failures ("usage", "config", "interrupted", …).
	Class string
	// Message is one line, with the name of the server in it if there is one.
	Message string
	// Server is the server that the failure is about, "" if it is about none.
	Server string
	// Evidence and Hints are lines for people.
	Evidence, Hints []string
	// Body is the failure inside a JSON document.
	Body any
}

// DoctorFormat is one way to write a run of doctor.
type DoctorFormat struct {
	Name  string
	write func(pen, DoctorRun) error
}

// DoctorFormats returns all formats of doctor. A new one is a function and a line here.
func DoctorFormats() []DoctorFormat {
	return []DoctorFormat{
		{"text", doctorText},
		{"json", doctorJSON},
		{"junit", doctorJUnit},
		{"markdown", doctorMarkdown},
		{"github", doctorGitHub},
		{"tap", doctorTAP},
		{"prometheus", doctorPrometheus},
	}
}

// FindDoctorFormat returns the format of that name, and whether there is one.
func FindDoctorFormat(name string) (DoctorFormat, bool) {
	formats := DoctorFormats()
	i := slices.IndexFunc(formats, func(f DoctorFormat) bool { return f.Name == name })
	if i < 0 {
		return DoctorFormat{}, false
	}
	return formats[i], true
}

// Write writes the run in this format, its secrets masked, a server at a time: of a thousand servers a document takes megabytes.
// It is a whole and valid document also when the run failed.
func (f DoctorFormat) Write(w io.Writer, run DoctorRun) error {
	p := pen{bufio.NewWriterSize(w, outPiece)}
	if err := f.write(p, run.masked()); err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	return p.out.Flush()
}

// Document returns what [DoctorFormat.Write] writes.
func (f DoctorFormat) Document(run DoctorRun) ([]byte, error) {
	var b bytes.Buffer
	err := f.Write(&b, run)
	return b.Bytes(), err
}

// pen writes texts. Whether they came through is told when it is flushed.
type pen struct{ out *bufio.Writer }

func (p pen) text(text string) { _, _ = p.out.WriteString(text) }

func (p pen) printf(format string, args ...any) { _, _ = fmt.Fprintf(p.out, format, args...) }

// logSafely calls write with a pen whose lines are written by way of [logSafe].
func (p pen) logSafely(colon, hash string, write func(pen)) {
	lines := safeLines{out: p.out, colon: colon, hash: hash}
	safe := pen{bufio.NewWriter(&lines)}
	write(safe)
	_ = safe.out.Flush() // the pen behind it tells
	p.text(logSafe(string(lines.rest), colon, hash))
}

// safeLines writes whole lines by way of [logSafe], and keeps what is left.
type safeLines struct {
	out         *bufio.Writer
	colon, hash string
	rest        []byte
}

func (l *safeLines) Write(piece []byte) (int, error) {
	end := bytes.LastIndexByte(piece, '\n') + 1
	if end > 0 {
		whole := append(l.rest, piece[:end]...)
		l.rest = l.rest[:0]
		if _, err := l.out.WriteString(logSafe(string(whole), l.colon, l.hash)); err != nil {
			return 0, err
		}
	}
	l.rest = append(l.rest, piece[end:]...)
	return len(piece), nil
}

// masked returns a copy of the run whose texts have been masked, and those of its reports are when they are asked for.
func (run DoctorRun) masked() DoctorRun {
	mask := run.Mask
	if mask == nil {
		mask = func(text string) string { return text }
		run.Mask = mask
	}
	run.Options.Next = mask(run.Options.Next)
	if run.Failure != nil {
		f := *run.Failure
		f.Message, f.Server = mask(f.Message), mask(f.Server)
		f.Evidence, f.Hints = maskAll(mask, f.Evidence), maskAll(mask, f.Hints)
		run.Failure = &f
	}
	return run
}

// reports returns the reports with one of these verdicts, or all if none is named, masked but for the data of the checks, which
// JSON alone shows.
func (run DoctorRun) reports(verdicts ...probe.Status) iter.Seq[probe.Report] {
	return func(yield func(probe.Report) bool) {
		for r := range run.Reports.with(verdicts...) {
			if !yield(maskedReport(r, run.Mask)) {
				return
			}
		}
	}
}

// maskedReport returns a copy of a report whose texts have been masked, but for the data of the checks.
func maskedReport(r probe.Report, mask func(string) string) probe.Report {
	r.Name, r.Target = mask(r.Name), mask(r.Target)
	if r.Cause != nil {
		c := *r.Cause
		c.Check, c.Message, c.Detail, c.Fix = mask(c.Check), mask(c.Message), mask(c.Detail), mask(c.Fix)
		r.Cause = &c
	}
	r.Results = slices.Clone(r.Results)
	for j := range r.Results {
		res := &r.Results[j]
		res.ID, res.Title, res.Message, res.Detail = mask(res.ID), mask(res.Title), mask(res.Message), mask(res.Detail)
		res.Note, res.Fix = mask(res.Note), mask(res.Fix)
		res.Table = slices.Clone(res.Table)
		for k, row := range res.Table {
			res.Table[k] = maskAll(mask, row)
		}
	}
	return r
}

func maskAll(mask func(string) string, list []string) []string {
	out := make([]string, len(list))
	for i, text := range list {
		out[i] = mask(text)
	}
	return out
}

// doctorText is the report for people.
func doctorText(p pen, run DoctorRun) error {
	write := func(p pen) {
		if run.Reports.Len() > 0 {
			doctorPeople(p, run)
		}
		if f := run.Failure; f != nil {
			p.printf("error: %s\n", OneLine(f.Message))
			for _, line := range slices.Concat(f.Evidence, f.Hints) {
				p.printf("  %s\n", OneLine(line))
			}
		}
	}
	if run.Screen.Terminal {
		write(p)
	} else {
		p.logSafely(": ", "# ", write)
	}
	return nil
}

// doctorJSON is the JSON document.
func doctorJSON(p pen, run DoctorRun) error { return writeDoctorJSON(p.out, run) }

// DoctorJSON writes the run as the JSON document, its secrets masked, a server at a time.
func DoctorJSON(w io.Writer, s Screen, run DoctorRun) error {
	run = run.masked()
	out := bufio.NewWriterSize(w, outPiece)
	var err error
	if s.Terminal {
		err = writeDoctorJSON(escaping{out}, run)
	} else {
		err = writeDoctorJSON(out, run)
	}
	return errors.Join(err, out.Flush())
}

// escaping writes whole pieces of JSON by way of [escapeFormat].
type escaping struct{ w io.Writer }

func (e escaping) Write(piece []byte) (int, error) {
	if _, err := e.w.Write(escapeFormat(piece)); err != nil {
		return 0, err
	}
	return len(piece), nil
}

// writeDoctorJSON writes the document in pieces, none of which ends within a string.
func writeDoctorJSON(w io.Writer, run DoctorRun) error {
	around, err := Marshal(doctorAround(run))
	if err != nil {
		return err
	}
	if around, err = run.maskJSON(around); err != nil {
		return err
	}
	// What stands before the servers are numbers, so the first such list is theirs.
	const list = `"servers": [`
	before, after, ok := bytes.Cut(around, []byte(list+"]"))
	if !ok || run.Reports.Len() == 0 {
		_, err = w.Write(around)
		return err
	}
	between := string(before) + list
	for r := range run.Reports.All() {
		var server bytes.Buffer
		enc := json.NewEncoder(&server)
		enc.SetEscapeHTML(false)
		enc.SetIndent("    ", "  ")
		if err := enc.Encode(newDoctorServer(r)); err != nil {
			return err
		}
		masked, err := run.maskJSON(bytes.TrimSuffix(server.Bytes(), []byte("\n")))
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%s\n    %s", between, masked); err != nil {
			return err
		}
		between = ","
	}
	_, err = fmt.Fprintf(w, "\n  ]%s", after)
	return err
}

// maskJSON masks the strings of a JSON text.
func (run DoctorRun) maskJSON(raw []byte) ([]byte, error) {
	return EditStrings(raw, func(path []string, text string) string {
		switch path[len(path)-1] {
		case "status", "verdict", "class":
			if !slices.Contains(path, "data") {
				return text // words of ours, which somebody's password may be, too
			}
		}
		return run.Mask(text)
	})
}

// failed reports whether a check of that status lets the run fail.
func (run DoctorRun) failed(s probe.Status) bool {
	return s == probe.Fail || s == probe.Unknown || run.Strict && s == probe.Warn
}

// logSafe breaks what build servers take for an instruction when it stands in a log: "::error::" at the beginning of a
// line, and "##[error]" or "##vso[…]" anywhere. Colon and hash stand in place of the first character of it.
func logSafe(text, colon, hash string) string {
	if !strings.Contains(text, "::") && !strings.Contains(text, "##") {
		return text
	}
	var b strings.Builder
	for line := range strings.SplitAfterSeq(text, "\n") {
		if trimmed := strings.TrimLeft(line, " \t"); strings.HasPrefix(trimmed, "::") {
			line = line[:len(line)-len(trimmed)] + colon + trimmed[1:]
		}
		for {
			i := instruction(line)
			if i < 0 {
				break
			}
			b.WriteString(line[:i] + hash)
			line = line[i+1:]
		}
		b.WriteString(line)
	}
	return b.String()
}

// instruction returns where "##", letters and "[" begin in a line, -1 if nowhere.
func instruction(line string) int {
	for from := 0; ; {
		i := strings.Index(line[from:], "##")
		if i < 0 {
			return -1
		}
		from += i
		if strings.HasPrefix(strings.TrimLeft(line[from+2:], "abcdefghijklmnopqrstuvwxyz"), "[") {
			return from
		}
		from++
	}
}

// tally counts the servers by verdict, the worst last: "1 passed, 2 failed".
func tally(reports *Reports, paint func(probe.Status, string) string) string {
	counts, incomplete := map[probe.Status]int{}, 0
	for _, k := range reports.all() {
		if k.incomplete && k.verdict == probe.Warn { // the run fails for it, so it is none of those that pass
			incomplete++
			continue
		}
		counts[k.verdict]++
	}
	var parts []string
	for _, p := range []struct {
		status probe.Status
		text   string
	}{{probe.Pass, "passed"}, {probe.Warn, "with warnings"}, {probe.Unknown, "unknown"}, {probe.Fail, "failed"}} {
		if p.status == probe.Unknown && incomplete > 0 {
			parts = append(parts, paint(p.status, fmt.Sprintf("%d incomplete", incomplete)))
		}
		if n := counts[p.status]; n > 0 {
			parts = append(parts, paint(p.status, fmt.Sprintf("%d %s", n, p.text)))
		}
	}
	noun := "servers"
	if reports.Len() == 1 {
		noun = "server"
	}
	return fmt.Sprintf("%d %s: %s", reports.Len(), noun, strings.Join(parts, ", "))
}

// plainTally is tally without colours.
func plainTally(reports *Reports) string {
	return tally(reports, func(_ probe.Status, text string) string { return text })
}

// found says in a few words what came of a server: its cause, or how many checks ended how.
func found(r probe.Report) string {
	if r.Cause != nil {
		message := OneLine(r.Cause.Message)
		// Which request it was, "initialize: ", says less than the words behind it, of which there is room for few.
		if method, rest, ok := strings.Cut(message, ": "); ok && strings.Trim(method, "abcdefghijklmnopqrstuvwxyz/") == "" {
			message = rest
		}
		return OneLine(r.Cause.Check) + ": " + message
	}
	counts := map[probe.Status]int{}
	for _, res := range r.Results {
		counts[res.Status]++
	}
	var parts []string
	for _, p := range []struct {
		status    probe.Status
		one, many string
	}{{probe.Pass, "passed", "passed"}, {probe.Warn, "warning", "warnings"}, {probe.Unknown, "unknown", "unknown"}} {
		switch n := counts[p.status]; n {
		case 0:
		case 1:
			parts = append(parts, "1 "+p.one)
		default:
			parts = append(parts, fmt.Sprintf("%d %s", n, p.many))
		}
	}
	return strings.Join(parts, ", ")
}

// textOf returns all that a check has to say, a line each.
func textOf(r probe.Result) []string {
	lines := []string{OneLine(r.Message)}
	if r.Note != "" {
		lines = append(lines, OneLine(r.Note))
	}
	for _, line := range linesOf(r.Detail) {
		if line != lines[0] {
			lines = append(lines, line)
		}
	}
	if r.Fix != "" {
		lines = append(lines, "fix: "+OneLine(r.Fix))
	}
	return lines
}

// linesOf returns the lines of a text, each of them harmless.
func linesOf(text string) []string {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	var out []string
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		out = append(out, OneLine(line))
	}
	return out
}

// firstOf returns the first text that is not empty.
func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// quoteJSON returns text as a JSON string, which is a YAML string, too.
func quoteJSON(text string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a string can always be encoded
	// What is no character at all is none in YAML either.
	return strings.NewReplacer("\ufffe", `\ufffe`, "\uffff", `\uffff`).Replace(strings.TrimSuffix(b.String(), "\n"))
}
