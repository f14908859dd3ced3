package render

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/mcpctl/mcpctl/pkg/probe"
)

// defaultWidth is the width of a report where there is no terminal to ask.
const defaultWidth = 80

// mostDetail is how many lines of evidence are shown without Verbose.
const mostDetail = 4

// DoctorOptions say how much of a report is shown.
type DoctorOptions struct {
	// Verbose shows every check, all evidence and the time of each.
	Verbose bool
	// Next is the line to type next, shown last; "" for none.
	Next string
}

// Doctor writes the reports of an examination: passing servers first and short, failing ones last, and how it all ended.
func Doctor(w io.Writer, s Screen, reports []probe.Report, o DoctorOptions) error {
	if s.Width <= 0 {
		s.Width = defaultWidth
	}
	var b strings.Builder
	several := len(reports) > 1
	for _, verdicts := range [][]probe.Status{{probe.Pass}, {probe.Warn, probe.Unknown}, {probe.Fail}} {
		for _, r := range reports {
			for _, v := range verdicts {
				if r.Verdict == v {
					d := doctor{b: &b, s: s, r: r, verbose: o.Verbose, short: several && v == probe.Pass && !o.Verbose}
					d.write()
				}
			}
		}
	}
	if several {
		if !strings.HasSuffix(b.String(), "\n\n") {
			b.WriteByte('\n')
		}
		b.WriteString(summary(s, reports))
	}
	if o.Next != "" {
		if several {
			b.WriteByte('\n')
		}
		b.WriteString(s.Paint(Faint, "next: ") + o.Next + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// doctor writes one report.
type doctor struct {
	b       *strings.Builder
	s       Screen
	r       probe.Report
	verbose bool
	short   bool
}

func (d *doctor) line(format string, args ...any) { fmt.Fprintf(d.b, format+"\n", args...) }

func (d *doctor) write() {
	d.headline()
	switch {
	case d.verbose:
		d.everything()
	case d.short:
		d.stage("recovery")
		return
	default:
		d.stages()
		d.stage("recovery")
		d.remarks()
	}
	d.cause()
	d.line("")
}

// headline names the server and the verdict.
func (d *doctor) headline() {
	verdict := strings.ToUpper(string(d.r.Verdict))
	if d.r.Incomplete {
		verdict += " (incomplete)"
	}
	left := fmt.Sprintf("%s   %s   %s   ", OneLine(d.r.Name), verdict, d.r.Transport)
	right := "   " + probe.FormatElapsed(d.r.Elapsed)
	room := d.s.Width - ansi.StringWidth(left) - ansi.StringWidth(right)
	target := Cut(OneLine(d.r.Target), max(room, 1))
	if OneLine(d.r.Target) == OneLine(d.r.Name) {
		target = ""
	}
	d.line("%s   %s   %s   %s%s", d.s.Paint(Strong, OneLine(d.r.Name)), d.s.Paint(styleOf(d.r.Verdict), verdict), d.r.Transport,
		target, d.s.Paint(Faint, right))
}

// stages writes one mark for each stage, with the time it took.
func (d *doctor) stages() {
	var parts []string
	var skipped []string
	for _, st := range stagesOf(d.r) {
		if st.status == probe.Skip {
			if st.blocked { // else it had nothing to look at, which is no news
				skipped = append(skipped, st.name)
			}
			continue
		}
		part := mark(d.s, st.status) + " " + st.name
		if st.elapsed >= time.Millisecond {
			part += " " + d.s.Paint(Faint, probe.FormatElapsed(st.elapsed))
		}
		parts = append(parts, part)
	}
	if len(skipped) > 0 && d.r.Cause != nil {
		parts = append(parts, d.s.Paint(Faint, "– "+strings.Join(skipped, ", ")+": need "+d.r.Cause.Check))
	}
	d.flow(parts)
}

// flow writes parts on as many lines as they need.
func (d *doctor) flow(parts []string) {
	const indent = "  "
	line := indent
	for _, p := range parts {
		sep := "   "
		if line == indent {
			sep = ""
		}
		if line != indent && ansi.StringWidth(line)+len(sep)+ansi.StringWidth(p) > d.s.Width {
			d.line("%s", strings.TrimRight(line, " "))
			line, sep = indent, ""
		}
		line += sep + p
	}
	if line != indent {
		d.line("%s", Wrap(strings.TrimPrefix(line, indent), d.s.Width, indent))
	}
}

// stage writes the checks of one stage, a line each.
func (d *doctor) stage(name string) {
	for _, r := range d.r.Results {
		if r.Stage() != name {
			continue
		}
		title := r.ID
		if (r.Status == probe.Pass || r.Status == probe.Skip) && d.r.Verdict != probe.Fail {
			d.entry(r)
			title = ""
			d.note(r)
		}
		d.table(title, r.Table)
	}
}

// idWidth is the width of the longest id that is shown.
func (d *doctor) idWidth() int {
	width := 0
	for _, r := range d.r.Results {
		if r.Status != probe.Skip && (d.verbose || r.Stage() == "recovery") {
			width = max(width, len(r.ID))
		}
	}
	return width
}

// entry writes one check: mark, id, message, time.
func (d *doctor) entry(r probe.Result) {
	head := fmt.Sprintf("  %s %-*s ", mark(d.s, r.Status), d.idWidth(), r.ID)
	tail := ""
	if d.verbose && r.Elapsed >= time.Millisecond {
		tail = "  " + probe.FormatElapsed(r.Elapsed)
	}
	message := OneLine(r.Message)
	if !d.verbose {
		message = Cut(message, max(d.s.Width-ansi.StringWidth(head)-ansi.StringWidth(tail), 20))
		d.line("%s%s%s", head, message, d.s.Paint(Faint, tail))
		return
	}
	lines := strings.Split(Wrap(message+tail, d.s.Width-ansi.StringWidth(head), ""), "\n")
	d.line("%s%s", head, lines[0])
	for _, l := range lines[1:] {
		d.line("%s%s", strings.Repeat(" ", ansi.StringWidth(head)), l)
	}
}

// note writes the line that belongs to the message of a check.
func (d *doctor) note(r probe.Result) {
	if r.Note != "" {
		d.paragraph("      ", OneLine(r.Note), Plain)
	}
}

// table writes figures below the check that they belong to, or below its id as title: the first column to the left, the
// others to the right.
func (d *doctor) table(title string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	rows = slices.Clone(rows)
	rows[0] = slices.Concat([]string{title}, rows[0][1:])
	const indent, gap = "      ", "  "
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], ansi.StringWidth(cell))
		}
	}
	for n, row := range rows {
		line := indent
		for i, cell := range row {
			space := strings.Repeat(" ", widths[i]-ansi.StringWidth(cell))
			if i == 0 {
				line += cell + space
				continue
			}
			line += gap + space + cell
		}
		line = Cut(strings.TrimRight(line, " "), d.s.Width)
		if n == 0 {
			line = d.s.Paint(Faint, line)
		}
		d.line("%s", line)
	}
}

// remarks writes what should be mended and does not stop anything, and what could not be checked.
func (d *doctor) remarks() {
	for _, r := range d.r.Results {
		if r.Status == probe.Pass && r.Shown && d.r.Verdict != probe.Fail && !d.warned(r.Stage()) {
			d.paragraph("  "+mark(d.s, r.Status)+" ", OneLine(r.Message), Plain)
		}
		if r.Status == probe.Warn || r.Status == probe.Unknown {
			d.paragraph(fmt.Sprintf("  %s %s: ", mark(d.s, r.Status), r.ID), OneLine(r.Message), Plain)
			if r.Fix != "" {
				d.paragraph("    fix: ", OneLine(r.Fix), Plain)
			}
		}
	}
}

// warned reports whether a check of a stage has something to mend: that is told, and comes first.
func (d *doctor) warned(stage string) bool {
	return slices.ContainsFunc(d.r.Results, func(r probe.Result) bool { return r.Stage() == stage && r.Status == probe.Warn })
}

// everything writes every check with its evidence.
func (d *doctor) everything() {
	reasons := map[string][]string{}
	var order []string
	for _, r := range d.r.Results {
		if r.Status == probe.Skip {
			if reasons[r.Message] == nil {
				order = append(order, r.Message)
			}
			reasons[r.Message] = append(reasons[r.Message], r.ID)
			continue
		}
		d.entry(r)
		d.table("", r.Table)
		if d.r.Cause != nil && r.ID == d.r.Cause.Check {
			continue // the cause has it
		}
		d.note(r)
		d.detail(r.Detail, "      ", 0)
		if r.Fix != "" {
			d.paragraph("      fix: ", OneLine(r.Fix), Plain)
		}
	}
	for _, reason := range order {
		d.paragraph("  – ", strings.Join(reasons[reason], ", ")+": "+OneLine(reason), Faint)
	}
	if len(d.r.Timing) > 0 {
		d.waterfall()
	}
}

// waterfall shows where the time of the opening went.
func (d *doctor) waterfall() {
	const bar = 24
	var total time.Duration
	for _, s := range d.r.Timing {
		total += s.Elapsed
	}
	if total <= 0 {
		return
	}
	d.line("  time of the opening")
	var before time.Duration
	for _, s := range d.r.Timing {
		from := int(before * bar / total)
		length := max(int(s.Elapsed*bar/total), 1)
		from = min(from, bar-length)
		d.line("    %-26s %s%s%s %8s", Cut(s.Name, 26), strings.Repeat(" ", from), strings.Repeat("█", length),
			strings.Repeat(" ", bar-from-length), probe.FormatElapsed(s.Elapsed))
		before += s.Elapsed
	}
}

// cause writes the first broken step, its evidence, and the next thing to do.
func (d *doctor) cause() {
	c := d.r.Cause
	if c == nil {
		return
	}
	d.paragraph("  cause  ", c.Check+": "+OneLine(c.Message), Plain)
	most := mostDetail
	if d.verbose {
		most = 0
	}
	d.detail(c.Detail, "         ", most)
	if c.Fix != "" {
		d.paragraph("  fix:   ", OneLine(c.Fix), Strong)
	}
}

// paragraph writes a labelled text, wrapped under itself.
func (d *doctor) paragraph(label, text string, style Style) {
	width := ansi.StringWidth(label)
	for i, line := range strings.Split(Wrap(text, d.s.Width-width, ""), "\n") {
		if i > 0 {
			label = strings.Repeat(" ", width)
		}
		d.line("%s%s", label, d.s.Paint(style, line))
	}
}

// detail writes evidence; most bounds the lines, 0 for all. What is left out is in the middle: the facts come first, and
// the news of standard error last.
func (d *doctor) detail(text, indent string, most int) {
	if text == "" {
		return
	}
	lines := strings.Split(text, "\n")
	if most > 0 && len(lines) > most+1 {
		half := most / 2
		left := fmt.Sprintf("… %d more lines with -v", len(lines)-most)
		lines = slices.Concat(lines[:half], []string{left}, lines[len(lines)-(most-half):])
	}
	for _, l := range lines {
		l = indent + OneLine(l)
		if most > 0 {
			l = Cut(l, d.s.Width)
		}
		d.line("%s", d.s.Paint(Faint, l))
	}
}

// stageSum is all checks of one stage.
type stageSum struct {
	name    string
	status  probe.Status
	blocked bool
	elapsed time.Duration
}

// stagesOf sums the checks up, stage by stage.
func stagesOf(r probe.Report) []stageSum {
	var sums []stageSum
	index := map[string]int{}
	for _, res := range r.Results {
		i, ok := index[res.Stage()]
		if !ok {
			i = len(sums)
			index[res.Stage()] = i
			sums = append(sums, stageSum{name: res.Stage(), status: probe.Skip})
		}
		if rank(res.Status) > rank(sums[i].status) {
			sums[i].status = res.Status
		}
		sums[i].blocked = sums[i].blocked || res.Blocked != ""
		sums[i].elapsed += res.Elapsed
	}
	return sums
}

// rank orders the verdicts by how much a reader wants to see them.
func rank(s probe.Status) int {
	switch s {
	case probe.Skip:
		return 0
	case probe.Pass:
		return 1
	case probe.Warn:
		return 2
	case probe.Unknown:
		return 3
	case probe.Fail:
		return 4
	}
	return 0
}

// summary is the table of several servers and the line below it.
func summary(s Screen, reports []probe.Report) string {
	counts := map[probe.Status]int{}
	for _, r := range reports {
		counts[r.Verdict]++
	}
	var parts []string
	for _, p := range []struct {
		status probe.Status
		text   string
	}{{probe.Pass, "passed"}, {probe.Warn, "with warnings"}, {probe.Unknown, "unknown"}, {probe.Fail, "failed"}} {
		if n := counts[p.status]; n > 0 {
			parts = append(parts, s.Paint(styleOf(p.status), fmt.Sprintf("%d %s", n, p.text)))
		}
	}
	return fmt.Sprintf("%d servers: %s\n", len(reports), strings.Join(parts, ", "))
}

// mark is the sign of a verdict. It can be told without colours.
func mark(s Screen, status probe.Status) string {
	sign := map[probe.Status]string{probe.Pass: "✓", probe.Warn: "!", probe.Fail: "✗", probe.Skip: "–", probe.Unknown: "?"}[status]
	return s.Paint(styleOf(status), sign)
}

func styleOf(status probe.Status) Style {
	switch status {
	case probe.Pass:
		return Good
	case probe.Warn, probe.Unknown:
		return Warning
	case probe.Fail:
		return Bad
	case probe.Skip:
	}
	return Faint
}

// DoctorDocument returns the reports as the JSON document of doctor.
func DoctorDocument(reports []probe.Report, elapsed time.Duration) any {
	doc := doctorDocument{Version: 1, Servers: []doctorServer{}}
	doc.Summary.Servers, doc.Summary.ElapsedMS = len(reports), elapsed.Milliseconds()
	for _, r := range reports {
		switch r.Verdict {
		case probe.Pass:
			doc.Summary.Passed++
		case probe.Warn:
			doc.Summary.Warned++
		case probe.Fail:
			doc.Summary.Failed++
		case probe.Unknown:
			doc.Summary.Unknown++
		case probe.Skip:
		}
		doc.Servers = append(doc.Servers, newDoctorServer(r))
	}
	return doc
}

type doctorDocument struct {
	Version int `json:"version"`
	Summary struct {
		Servers   int   `json:"servers"`
		Passed    int   `json:"passed"`
		Warned    int   `json:"warned"`
		Failed    int   `json:"failed"`
		Unknown   int   `json:"unknown,omitempty"`
		ElapsedMS int64 `json:"elapsed_ms"`
	} `json:"summary"`
	Servers []doctorServer `json:"servers"`
}

type doctorServer struct {
	Name       string             `json:"name"`
	Transport  string             `json:"transport"`
	Target     string             `json:"target"`
	Verdict    probe.Status       `json:"verdict"`
	Incomplete bool               `json:"incomplete,omitempty"`
	Cause      *doctorCause       `json:"cause,omitempty"`
	Checks     []doctorCheck      `json:"checks"`
	Timing     map[string]float64 `json:"timing"`
	ElapsedMS  int64              `json:"elapsed_ms"`
}

type doctorCause struct {
	Check   string `json:"check"`
	Class   string `json:"class,omitempty"`
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"`
}

type doctorCheck struct {
	ID        string         `json:"id"`
	Title     string         `json:"title"`
	Status    probe.Status   `json:"status"`
	Class     string         `json:"class,omitempty"`
	Message   string         `json:"message"`
	Detail    string         `json:"detail,omitempty"`
	Fix       string         `json:"fix,omitempty"`
	Data      map[string]any `json:"data,omitempty"`
	ElapsedMS float64        `json:"elapsed_ms"`
}

func newDoctorServer(r probe.Report) doctorServer {
	out := doctorServer{
		Name: r.Name, Transport: r.Transport, Target: r.Target, Verdict: r.Verdict, Incomplete: r.Incomplete,
		Checks: []doctorCheck{}, Timing: map[string]float64{}, ElapsedMS: r.Elapsed.Milliseconds(),
	}
	if c := r.Cause; c != nil {
		out.Cause = &doctorCause{Check: c.Check, Class: c.Class, Message: c.Message, Fix: c.Fix}
	}
	for _, res := range r.Results {
		check := doctorCheck{
			ID: res.ID, Title: res.Title, Status: res.Status, Message: res.Message, Detail: res.Detail, Fix: res.Fix,
			Data: res.Data, ElapsedMS: millis(res.Elapsed),
		}
		if res.Status == probe.Fail {
			check.Class = res.Class
		}
		out.Checks = append(out.Checks, check)
	}
	for _, s := range r.Timing {
		// "notifications/initialized" is initialized_ms.
		name := s.Name[strings.LastIndexByte(s.Name, '/')+1:]
		out.Timing[name+"_ms"] += millis(s.Elapsed)
	}
	return out
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
