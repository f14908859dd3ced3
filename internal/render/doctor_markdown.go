package render

import (
	"fmt"
	"strings"

	"github.com/mcpctl/mcpctl/pkg/probe"
)

// mostMarkdown is how many bytes of causes and warnings are written: a comment on GitHub holds 65,536 characters, and the
// table needs some of them.
const mostMarkdown = 40_000

// doctorMarkdown is the report for a pull request. Whatever a server or a user chose stands in code: nothing in it is
// a link, a mention, an image or HTML there, and it can be copied as it is.
func doctorMarkdown(p pen, run DoctorRun) error {
	write := func(p pen) { markdownDocument(p, run) }
	if run.Reports.Len() == 0 {
		write(p)
	} else {
		p.logSafely(": ", "# ", write)
	}
	return nil
}

func markdownDocument(p pen, run DoctorRun) {
	p.text(markdownHeadline(run))
	if f := run.Failure; f != nil {
		p.text("\n**" + f.Class + ":** " + code(f.Message) + "\n")
		if lines := append(append([]string(nil), f.Evidence...), f.Hints...); len(lines) > 0 {
			p.text("\n" + codeBlock(linesOf(strings.Join(lines, "\n"))))
		}
	}
	if run.Reports.Len() == 0 {
		return
	}
	p.text("\n|   | server | verdict | transport | found | time |\n|:-:|:--|:--|:--|:--|--:|\n")
	var blocks markdownBlocks
	for _, verdict := range []probe.Status{probe.Fail, probe.Unknown, probe.Warn, probe.Pass} {
		for r := range run.reports(verdict) {
			what := found(r)
			if r.Cause != nil {
				what = cell(r.Cause.Check)
			}
			verdict := string(r.Verdict)
			if r.Incomplete {
				verdict += " (incomplete)"
			}
			p.printf("| %s | %s | %s | %s | %s | %s |\n", emblem(standing(r.Verdict, r.Incomplete)), cell(r.Name), verdict, cell(r.Transport), what, probe.FormatElapsed(r.Elapsed))
			if block := markdownCause(r); block != "" {
				blocks.add(block)
			}
		}
	}
	before := "\n### Also\n\n"
	for r := range run.reports() {
		for _, item := range markdownRemarks(r) {
			blocks.add(before + item)
			before = ""
		}
	}
	p.text(blocks.text.String())
	if blocks.left > 0 {
		p.printf("\n… and %d more, which the JSON report has.\n", blocks.left)
	}
}

// markdownBlocks are the causes and warnings, as far as there is room for them.
type markdownBlocks struct {
	text strings.Builder
	left int
}

func (b *markdownBlocks) add(block string) {
	if b.left > 0 || b.text.Len()+len(block) > mostMarkdown {
		b.left++
		return
	}
	b.text.WriteString(block)
}

func markdownHeadline(run DoctorRun) string {
	worst, failed := probe.Pass, 0
	for _, k := range run.Reports.all() {
		if v := standing(k.verdict, k.incomplete); rank(v) > rank(worst) {
			worst = v
		}
		if k.verdict == probe.Fail {
			failed++
		}
	}
	text := "the run failed"
	switch n := run.Reports.Len(); {
	case run.Failure != nil && n > 0:
		text = "the run was not finished; " + plainTally(run.Reports)
	case run.Failure != nil:
	case n == 1 && worst == probe.Fail:
		text = "the server failed"
	case n == 1 && worst == probe.Pass:
		text = "the server passed"
	case worst == probe.Fail:
		text = fmt.Sprintf("%d of %d servers failed", failed, n)
	case worst == probe.Pass:
		text = fmt.Sprintf("all %d servers passed", n)
	default:
		text = plainTally(run.Reports)
	}
	if run.Failure != nil {
		worst = probe.Fail
	}
	return fmt.Sprintf("## %s mcpctl doctor: %s\n", emblem(worst), text)
}

// standing is the verdict on a server as the exit code counts it: one of which not all is known has not passed.
func standing(verdict probe.Status, incomplete bool) probe.Status {
	if incomplete && verdict != probe.Fail {
		return probe.Unknown
	}
	return verdict
}

// markdownCause is the block of a server that failed: what broke, the evidence, the fix.
func markdownCause(r probe.Report) string {
	c := r.Cause
	if c == nil {
		return ""
	}
	head := fmt.Sprintf("\n### %s %s: %s\n\n%s\n", emblem(probe.Fail), code(r.Name), code(c.Check), code(c.Message))
	if lines := linesOf(c.Detail); len(lines) > 0 {
		head += "\n" + codeBlock(lines)
	}
	if c.Fix != "" {
		head += "\n**fix:** " + code(c.Fix) + "\n"
	}
	return head
}

// markdownRemarks are the items of a list: what else failed, warned, or could not be told.
func markdownRemarks(r probe.Report) []string {
	var items []string
	for _, res := range r.Results {
		shown := r.Cause != nil && r.Cause.Check == res.ID
		if shown || res.Status == probe.Pass || res.Status == probe.Skip {
			continue
		}
		item := fmt.Sprintf("- %s %s %s: %s\n", emblem(res.Status), code(r.Name), code(res.ID), code(res.Message))
		if res.Fix != "" {
			item += "  **fix:** " + code(res.Fix) + "\n"
		}
		items = append(items, item)
	}
	return items
}

func emblem(s probe.Status) string {
	switch s {
	case probe.Pass:
		return "✅"
	case probe.Warn:
		return "⚠️"
	case probe.Fail:
		return "❌"
	case probe.Unknown:
		return "❔"
	case probe.Skip:
	}
	return "–"
}

// code returns text as a code span, in which Markdown knows no other markup.
func code(text string) string {
	text = OneLine(text)
	if text == "" {
		return "–"
	}
	fence := strings.Repeat("`", longestRun(text)+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return fence + text + fence
}

// cell is code for the cell of a table, which a bar would end, in code as well.
func cell(text string) string { return code(strings.ReplaceAll(text, "|", "¦")) }

// codeBlock returns lines as a block of code.
func codeBlock(lines []string) string {
	most := 2
	for _, line := range lines {
		most = max(most, longestRun(line))
	}
	fence := strings.Repeat("`", most+1)
	return fence + "text\n" + strings.Join(lines, "\n") + "\n" + fence + "\n"
}

// longestRun returns the length of the longest run of backticks.
func longestRun(text string) int {
	longest, run := 0, 0
	for _, r := range text {
		if r != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}
