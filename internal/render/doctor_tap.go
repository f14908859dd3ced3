package render

import (
	"fmt"
	"strings"

	"github.com/mcpctl/mcpctl/pkg/probe"
)

// doctorTAP is the Test Anything Protocol, version 14: one test for each check of each server. See
// https://testanything.org/tap-version-14-specification.html.
func doctorTAP(p pen, run DoctorRun) error {
	p.logSafely(": ", "# ", func(p pen) { tapDocument(p, run) })
	return nil
}

func tapDocument(p pen, run DoctorRun) {
	p.text("TAP version 14\n")
	total := 0
	for _, k := range run.Reports.all() {
		total += k.count(probe.Pass, probe.Warn, probe.Fail, probe.Skip, probe.Unknown)
	}
	if total > 0 || run.Failure == nil {
		p.printf("1..%d\n", total)
	}
	n := 0
	for r := range run.reports() {
		for _, res := range r.Results {
			n++
			line := fmt.Sprintf("ok %d - %s %s", n, tapText(r.Name), tapText(res.ID))
			if run.failed(res.Status) {
				line = "not " + line
			}
			if res.Status == probe.Skip {
				line += strings.TrimRight(" # SKIP "+tapText(res.Message), " ")
			}
			p.text(line + "\n")
			if res.Status == probe.Warn || run.failed(res.Status) {
				tapDiagnostics(p, res)
			}
		}
	}
	if f := run.Failure; f != nil {
		p.text("Bail out! " + OneLine(strings.Join(append([]string{f.Message}, f.Hints...), "; ")) + "\n")
	}
}

// tapDiagnostics writes the YAML block that belongs to a test.
func tapDiagnostics(p pen, r probe.Result) {
	put := func(key, text string) {
		if text != "" {
			p.printf("  %s: %s\n", key, quoteJSON(OneLine(text)))
		}
	}
	p.text("  ---\n")
	put("message", r.Message)
	put("severity", string(r.Status))
	if r.Status == probe.Fail {
		put("class", r.Class)
	}
	put("note", r.Note)
	if lines := linesOf(r.Detail); len(lines) > 0 {
		p.text("  detail:\n")
		for _, line := range lines {
			p.printf("    - %s\n", quoteJSON(line))
		}
	}
	put("fix", r.Fix)
	p.printf("  duration_ms: %.3f\n", millis(r.Elapsed))
	p.text("  ...\n")
}

// tapText returns text for the line of a test, in which a number sign would begin a directive.
func tapText(text string) string {
	return strings.NewReplacer(`\`, `\\`, "#", `\#`).Replace(OneLine(text))
}
