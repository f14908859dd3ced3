package render

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/mcpctl/mcpctl/pkg/probe"
)

// defaultWidth is the width of a report where there is no terminal to ask.
const defaultWidth = 80

const (
	// mostLines is how many lines a server that failed gets without Verbose, the next command included: what is read at one
	// glance, and what leaves room for another on a small screen.
	mostLines = 12
	// mostDetail is how many of them are evidence, and mostCause how many the message of the cause, unless it is wrapped
	// more often than that on a narrow screen.
	mostDetail = 5
	mostCause  = 3
)

// DoctorOptions say how much of a report is shown.
type DoctorOptions struct {
	// Verbose shows every check, all evidence and the time of each.
	Verbose bool
	// Next is the line to type next, shown last; "" for none.
	Next string
}

// doctorPeople writes the reports of an examination, failing servers last. Of several, a table closes the report, with a line
// for each; a server that passed has nothing but that line.
func doctorPeople(p pen, run DoctorRun) {
	s, o := run.Screen, run.Options
	if s.Width <= 0 {
		s.Width = defaultWidth
	}
	// The line ends behind what was written last are held back: the text ends in one.
	held := ""
	write := func(b *strings.Builder) {
		if b.Len() > 0 {
			text := strings.TrimRight(b.String(), "\n")
			p.text(held + text)
			held = b.String()[len(text):]
		}
		b.Reset()
	}
	var b strings.Builder
	several := run.Reports.Len() > 1
	for _, verdicts := range [][]probe.Status{{probe.Pass}, {probe.Warn, probe.Unknown}, {probe.Fail}} {
		for r := range run.reports(verdicts...) {
			d := doctor{b: &b, s: s, r: tidy(r), verbose: o.Verbose, several: several}
			d.write()
			write(&b)
		}
	}
	if several {
		summary(&b, s, run)
	}
	if o.Next != "" {
		if several {
			b.WriteByte('\n')
		}
		b.WriteString(s.Paint(Faint, "next: ") + o.Next + "\n")
	}
	write(&b)
	p.text("\n")
}

// Cause writes which server failed, in what, and what to do about it: the head and the end of the report of [Doctor]. Without
// a cause it writes nothing.
func Cause(w io.Writer, s Screen, r probe.Report) error {
	if r.Cause == nil {
		return nil
	}
	if s.Width <= 0 {
		s.Width = defaultWidth
	}
	var b strings.Builder
	d := doctor{b: &b, s: s, r: tidy(r)}
	d.headline()
	d.cause(mostLines)
	_, err := io.WriteString(w, b.String())
	return err
}

// tidy makes the ids of a report fit to stand in a line: those of rows hold names that a server chose.
func tidy(r probe.Report) probe.Report {
	const longest = 40
	short := func(id string) string { return Cut(OneLine(id), longest) }
	r.Results = slices.Clone(r.Results)
	for i := range r.Results {
		r.Results[i].ID = short(r.Results[i].ID)
	}
	if r.Cause != nil {
		c := *r.Cause
		c.Check = short(c.Check)
		r.Cause = &c
	}
	return r
}

// doctor writes one report, into a builder that is empty.
type doctor struct {
	b       *strings.Builder
	s       Screen
	r       probe.Report
	verbose bool
	several bool
}

func (d *doctor) line(format string, args ...any) { fmt.Fprintf(d.b, format+"\n", args...) }

func (d *doctor) write() {
	switch {
	case d.verbose:
		d.headline()
		d.everything()
		d.cause(0)
	case d.several && d.r.Verdict == probe.Pass:
		if !slices.ContainsFunc(d.r.Results, func(r probe.Result) bool { return r.Stage() == "recovery" || r.Shown }) {
			return // the table has its line
		}
		d.headline()
		d.stage("recovery")
		d.remarks()
	case d.r.Verdict == probe.Fail:
		d.headline()
		d.stages()
		d.stage("recovery")
		d.others()
		d.cause(mostLines - strings.Count(d.b.String(), "\n"))
	default:
		d.headline()
		d.stages()
		d.stage("recovery")
		d.remarks()
	}
	d.line("")
}

// headline names the server and the verdict.
func (d *doctor) headline() {
	verdict := strings.ToUpper(string(d.r.Verdict))
	if d.r.Incomplete {
		verdict += " (incomplete)"
	}
	const gap, leastName = "   ", 8
	elapsed := gap + probe.FormatElapsed(d.r.Elapsed)
	left := func() int {
		return d.s.Width - ansi.StringWidth(gap+verdict+gap+d.r.Transport) - ansi.StringWidth(elapsed)
	}
	room := left()
	if room < min(ansi.StringWidth(OneLine(d.r.Name)), leastName) {
		verdict = strings.ToUpper(string(d.r.Verdict))
		room = left()
	}
	name := Cut(OneLine(d.r.Name), max(room, leastName))
	target := ""
	if room -= ansi.StringWidth(name) + len(gap); room >= leastName && d.r.Target != "" && OneLine(d.r.Target) != OneLine(d.r.Name) {
		target = gap + Cut(OneLine(d.r.Target), room)
	}
	d.line("%s%s%s%s%s%s", d.s.Paint(Strong, name), gap, d.s.Paint(styleOf(d.r.Verdict), verdict), gap+d.r.Transport, target,
		d.s.Paint(Faint, elapsed))
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
		parts = append(parts, d.s.Paint(Faint, d.needing(skipped, OneLine(d.r.Cause.Check))))
	}
	d.flow(parts)
}

// needing says which stages the broken check kept from being looked at, on one line.
func (d *doctor) needing(stages []string, check string) string {
	most := len(stages)
	for {
		text := "– " + strings.Join(stages[:most], ", ")
		if left := len(stages) - most; left > 0 {
			text += fmt.Sprintf(" and %d more", left)
		}
		if text += ": need " + check; most == 1 || ansi.StringWidth("  "+text) <= d.s.Width {
			return text
		}
		most--
	}
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
		message = Cut(message, max(d.s.Width-ansi.StringWidth(head)-ansi.StringWidth(tail), 8))
		d.line("%s%s%s", head, message, d.s.Paint(Faint, tail))
		return
	}
	if width := ansi.StringWidth(head); width > d.s.Width/2 { // a narrow screen: the message goes below the id
		d.line("%s", Cut(strings.TrimRight(head, " "), d.s.Width))
		d.paragraph("      ", message+tail, Plain)
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
	fix := ""
	for _, r := range d.r.Results {
		if r.Status == probe.Pass && r.Shown && !d.warned(r.Stage()) {
			d.paragraph("  "+mark(d.s, r.Status)+" ", OneLine(r.Message), Plain)
		}
		if r.Status == probe.Warn || r.Status == probe.Unknown {
			d.paragraph(fmt.Sprintf("  %s %s: ", mark(d.s, r.Status), r.ID), OneLine(r.Message), Plain)
			if r.Fix != "" && r.Fix != fix { // several of a kind have the same
				d.paragraph("    fix: ", OneLine(r.Fix), Plain)
			}
			fix = r.Fix
		}
	}
}

// mostFailures is how many failures beside the cause are shown without Verbose.
const mostFailures = 4

// others tells, for a server that failed, what else there is to mend: further failures, a line each, and the names of the
// checks that warn. The cause comes first, and -v has the rest.
func (d *doctor) others() {
	var failed, warned []string
	for _, r := range d.r.Results {
		switch {
		case d.r.Cause != nil && r.ID == d.r.Cause.Check:
		case r.Status == probe.Fail:
			failed = append(failed, fmt.Sprintf("  %s %s: %s", mark(d.s, r.Status), OneLine(r.ID), OneLine(r.Message)))
		case r.Status == probe.Warn || r.Status == probe.Unknown:
			warned = append(warned, mark(d.s, r.Status)+" "+Cut(OneLine(r.ID), max(d.s.Width-12, 8))) // beside "also"
		}
	}
	for _, line := range failed[:min(len(failed), mostFailures)] {
		d.line("%s", Cut(line, d.s.Width))
	}
	if more := len(failed) - mostFailures; more > 0 {
		d.line("  %s %d more failed; with -v all are shown", mark(d.s, probe.Fail), more)
	}
	const most = 3 // they fit on a line
	if len(warned) > most {
		warned = append(warned[:most], d.s.Paint(Faint, fmt.Sprintf("… %d more with -v", len(warned)-most)))
	}
	if len(warned) > 0 {
		warned[0] = "also   " + warned[0]
		d.flow(warned)
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
		d.paragraph("  – ", OneLine(strings.Join(reasons[reason], ", ")+": "+reason), Faint)
	}
	d.waterfall()
}

// phaseTitle is the name of a phase for people.
func phaseTitle(name string) string { return strings.TrimPrefix(OneLine(name), "notifications/") }

// waterfall shows where the time of the examination went, each phase beginning where the one before ended.
func (d *doctor) waterfall() {
	if len(d.r.Timing) == 0 || d.r.Elapsed <= 0 {
		return
	}
	const indent, times, least, widest = 4, 9, 8, 60
	phases := phasesOf(d.r)
	names := 0
	var total time.Duration
	for _, p := range phases {
		names = max(names, ansi.StringWidth(phaseTitle(p.Name)))
		total += p.Elapsed
	}
	names = min(names, max(d.s.Width/3, least))
	bar := min(max(d.s.Width-indent-names-1-times, least), widest)
	d.line("  where the time went")
	var before time.Duration
	for _, p := range phases {
		from := int(before * time.Duration(bar) / total)
		length := max(int((before+p.Elapsed)*time.Duration(bar)/total)-from, 1)
		from = min(from, bar-length)
		name := Cut(phaseTitle(p.Name), names)
		style := Plain
		if p.Name == otherPhase {
			style = Faint
		}
		d.line("%s%s%s %s%s%s%*s", strings.Repeat(" ", indent), name, strings.Repeat(" ", names-ansi.StringWidth(name)),
			strings.Repeat(" ", from), d.s.Paint(style, strings.Repeat("█", length)), strings.Repeat(" ", bar-from-length),
			times, probe.FormatElapsed(p.Elapsed))
		before += p.Elapsed
	}
}

// cause writes the first broken step, its evidence, and the next thing to do, on so many lines together with the next
// command; 0 for as many as they need.
func (d *doctor) cause(lines int) {
	c := d.r.Cause
	if c == nil {
		return
	}
	message := d.wrapped("  cause  ", c.Check+": "+OneLine(c.Message))
	var fix []string
	if c.Fix != "" {
		fix = d.wrapped("  fix:   ", OneLine(c.Fix))
	}
	most := 0
	if lines > 0 {
		const next = 2 // an empty line, and the next command
		if len(message) > mostCause && len(message)+len(fix)+next > lines {
			message = message[:mostCause]
			message[mostCause-1] = Cut(message[mostCause-1]+" …", d.s.Width)
		}
		most = min(mostDetail, lines-next-len(message)-len(fix))
	}
	d.line("%s", strings.Join(message, "\n"))
	if lines == 0 || most > 0 {
		d.detail(c.Detail, "         ", most)
	}
	for i, line := range fix {
		label := line[:len("  fix:   ")]
		if i == 0 {
			label = "  " + d.s.Paint(Strong, "fix:") + "   "
		}
		d.line("%s%s", label, d.s.Paint(Strong, line[len("  fix:   "):]))
	}
}

// paragraph writes a labelled text, wrapped under itself.
func (d *doctor) paragraph(label, text string, style Style) {
	for i, line := range d.wrapped(label, text) {
		if i == 0 && strings.HasPrefix(line, label) {
			d.line("%s%s", label, d.s.Paint(style, strings.TrimPrefix(line, label)))
			continue
		}
		d.line("%s", d.s.Paint(style, line))
	}
}

// wrapped returns a labelled text, wrapped under itself, or under the beginning of a label that leaves it little room.
func (d *doctor) wrapped(label, text string) []string {
	width := ansi.StringWidth(label)
	const hang = 4
	if width > max(d.s.Width/4, 12) {
		lines := strings.Split(Wrap(strings.TrimLeft(label, " ")+text, d.s.Width-hang, ""), "\n")
		for i, line := range lines {
			lines[i] = strings.Repeat(" ", hang) + line
		}
		lines[0] = label[:len(label)-len(strings.TrimLeft(label, " "))] + strings.TrimLeft(lines[0], " ")
		return lines
	}
	lines := strings.Split(Wrap(text, d.s.Width-width, ""), "\n")
	for i, line := range lines {
		if i > 0 {
			label = strings.Repeat(" ", width)
		}
		lines[i] = label + line
	}
	return lines
}

// stderrLabel is what stands before a line of standard error in evidence.
const stderrLabel = "stderr: "

// errorLine is a line in which a program says what went wrong, and wordLine one that says anything at all; frameLine is a
// place in a program, of which a trace has dozens.
var (
	errorLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)error|exception|fatal|panic|fail|cannot|can't|could not|unable|refused|denied|not found|invalid|missing`)
	})
	wordLine  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\pL{2}`) })
	frameLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:stderr: )?\s*(?:at \S|File "|goroutine \d|(?:errno|code|syscall|hostname|address|port|path): )`)
	})
)

// Telling returns where, among lines of evidence, the last one is in which a program says what went wrong, or else the last
// that says anything.
func Telling(lines []string) int {
	for _, says := range []*regexp.Regexp{errorLine(), wordLine()} {
		for i, l := range slices.Backward(lines) {
			if says.MatchString(strings.TrimPrefix(l, stderrLabel)) && !frameLine().MatchString(l) {
				return i
			}
		}
	}
	return len(lines) - 1
}

// detail writes evidence; most bounds the lines, 0 for all. What is left out is in the middle: the facts come first, and
// what standard error tells last.
func (d *doctor) detail(text, indent string, most int) {
	if text == "" {
		return
	}
	lines := strings.Split(text, "\n")
	if most > 0 && len(lines) > most {
		kept := max(most-1, 0)
		last := kept / 2
		left := fmt.Sprintf("… %d more lines with -v", len(lines)-kept)
		rest := lines[kept-last:]
		end := len(rest)
		if strings.HasPrefix(rest[end-1], stderrLabel) {
			end = max(Telling(rest)+1, last)
		}
		lines = slices.Concat(lines[:kept-last], []string{left}, rest[end-last:end])
	}
	for _, l := range lines {
		l = OneLine(l)
		if most == 0 {
			for wrapped := range strings.SplitSeq(Wrap(l, d.s.Width-ansi.StringWidth(indent), ""), "\n") {
				d.line("%s%s", indent, d.s.Paint(Faint, wrapped))
			}
			continue
		}
		d.line("%s", d.s.Paint(Faint, Cut(indent+l, d.s.Width)))
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

// summary writes the table of several servers, failing ones last, and a line that counts them.
func summary(b *strings.Builder, s Screen, run DoctorRun) {
	all := []Column{
		{Title: "server"}, {Title: "verdict", Fixed: true}, {Title: "transport", Fixed: true}, {Title: "found"}, {Title: "time", Right: true, Fixed: true},
	}
	// On a narrow screen the names and the verdicts come first, and the time, which needs little room.
	const narrow, veryNarrow = 60, 50
	shown := []int{0, 1, 2, 3, 4}
	switch {
	case s.Width < veryNarrow:
		shown = []int{0, 1, 4}
	case s.Width < narrow:
		shown = []int{0, 1, 3, 4}
	}
	var table Table
	for _, i := range shown {
		table.Columns = append(table.Columns, all[i])
	}
	for _, verdicts := range [][]probe.Status{{probe.Pass}, {probe.Warn, probe.Unknown}, {probe.Fail}} {
		for r := range run.reports(verdicts...) {
			cells := []Cell{
				{Text: r.Name, Style: Strong},
				{Text: strings.ToUpper(string(r.Verdict)), Style: styleOf(r.Verdict)},
				{Text: r.Transport},
				{Text: found(r)},
				{Text: probe.FormatElapsed(r.Elapsed), Style: Faint},
			}
			var row []Cell
			for _, i := range shown {
				row = append(row, cells[i])
			}
			table.Rows = append(table.Rows, row)
		}
	}
	s.Terminal = true     // aligned, in a pipe as well: it is the end of a text, and the documents are for programs
	_ = table.Write(b, s) // into memory
	count := tally(run.Reports, func(status probe.Status, text string) string { return s.Paint(styleOf(status), text) })
	b.WriteString("\n" + Wrap(count, s.Width, "") + "\n")
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

// doctorAround returns the run as the JSON document of doctor, without its servers. One that failed before there was any
// report is the document of a failure.
func doctorAround(run DoctorRun) any {
	doc := doctorDocument{Version: 1, Servers: []doctorServer{}}
	if f := run.Failure; f != nil {
		doc.Error = f.Body
		if run.Reports.Len() == 0 {
			return struct {
				Version int `json:"version"`
				Error   any `json:"error"`
			}{1, f.Body}
		}
	}
	doc.Summary.Servers, doc.Summary.ElapsedMS = run.Reports.Len(), run.Elapsed.Milliseconds()
	for _, k := range run.Reports.all() {
		switch k.verdict {
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
	Error   any            `json:"error,omitempty"`
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
		out.Timing[phaseKey(s.Name)+"_ms"] += millis(s.Elapsed)
	}
	return out
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
