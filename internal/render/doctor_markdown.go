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
func doctorMarkdown(run DoctorRun) ([]byte, error) {
	var b strings.Builder
	b.WriteString(markdownHeadline(run))
	if f := run.Failure; f != nil {
		b.WriteString("\n**" + f.Class + ":** " + code(f.Message) + "\n")
		if lines := append(append([]string(nil), f.Evidence...), f.Hints...); len(lines) > 0 {
			b.WriteString("\n" + codeBlock(linesOf(strings.Join(lines, "\n"))))
		}
	}
	if len(run.Reports) == 0 {
		return []byte(b.String()), nil
	}
	b.WriteString("\n|   | server | verdict | transport | found | time |\n|:-:|:--|:--|:--|:--|--:|\n")
	var blocks []string
	for _, verdicts := range [][]probe.Status{{probe.Fail}, {probe.Unknown}, {probe.Warn}, {probe.Pass}} {
		for _, r := range run.Reports {
			if r.Verdict != verdicts[0] {
				continue
			}
			what := found(r)
			if r.Cause != nil {
				what = cell(r.Cause.Check)
			}
			verdict := string(r.Verdict)
			if r.Incomplete {
				verdict += " (incomplete)"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", emblem(standing(r)), cell(r.Name), verdict, cell(r.Transport), what, probe.FormatElapsed(r.Elapsed))
			if block := markdownCause(r); block != "" {
				blocks = append(blocks, block)
			}
		}
	}
	blocks = append(blocks, markdownRemarks(run.Reports)...)
	size := 0
	for i, block := range blocks {
		if size += len(block); size > mostMarkdown {
			fmt.Fprintf(&b, "\n… and %d more, which the JSON report has.\n", len(blocks)-i)
			break
		}
		b.WriteString(block)
	}
	return []byte(logSafe(b.String(), ": ", "# ")), nil
}

func markdownHeadline(run DoctorRun) string {
	worst, failed := probe.Pass, 0
	for _, r := range run.Reports {
		if v := standing(r); rank(v) > rank(worst) {
			worst = v
		}
		if r.Verdict == probe.Fail {
			failed++
		}
	}
	text := "the run failed"
	switch n := len(run.Reports); {
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
func standing(r probe.Report) probe.Status {
	if r.Incomplete && r.Verdict != probe.Fail {
		return probe.Unknown
	}
	return r.Verdict
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
func markdownRemarks(reports []probe.Report) []string {
	var items []string
	for _, r := range reports {
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
	}
	if len(items) > 0 {
		items[0] = "\n### Also\n\n" + items[0]
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
