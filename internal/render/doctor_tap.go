package render

import (
	"fmt"
	"strings"

	"github.com/mcpctl/mcpctl/pkg/probe"
)

// doctorTAP is the Test Anything Protocol, version 14: one test for each check of each server. See
// https://testanything.org/tap-version-14-specification.html.
func doctorTAP(run DoctorRun) ([]byte, error) {
	var b strings.Builder
	b.WriteString("TAP version 14\n")
	total := 0
	for _, r := range run.Reports {
		total += len(r.Results)
	}
	if total > 0 || run.Failure == nil {
		fmt.Fprintf(&b, "1..%d\n", total)
	}
	n := 0
	for _, r := range run.Reports {
		for _, res := range r.Results {
			n++
			line := fmt.Sprintf("ok %d - %s %s", n, tapText(r.Name), tapText(res.ID))
			if run.failed(res.Status) {
				line = "not " + line
			}
			if res.Status == probe.Skip {
				line += strings.TrimRight(" # SKIP "+tapText(res.Message), " ")
			}
			b.WriteString(line + "\n")
			if res.Status == probe.Warn || run.failed(res.Status) {
				tapDiagnostics(&b, res)
			}
		}
	}
	if f := run.Failure; f != nil {
		b.WriteString("Bail out! " + OneLine(strings.Join(append([]string{f.Message}, f.Hints...), "; ")) + "\n")
	}
	return []byte(logSafe(b.String(), ": ", "# ")), nil
}

// tapDiagnostics writes the YAML block that belongs to a test.
func tapDiagnostics(b *strings.Builder, r probe.Result) {
	put := func(key, text string) {
		if text != "" {
			fmt.Fprintf(b, "  %s: %s\n", key, quoteJSON(OneLine(text)))
		}
	}
	b.WriteString("  ---\n")
	put("message", r.Message)
	put("severity", string(r.Status))
	if r.Status == probe.Fail {
		put("class", r.Class)
	}
	put("note", r.Note)
	if lines := linesOf(r.Detail); len(lines) > 0 {
		b.WriteString("  detail:\n")
		for _, line := range lines {
			fmt.Fprintf(b, "    - %s\n", quoteJSON(line))
		}
	}
	put("fix", r.Fix)
	fmt.Fprintf(b, "  duration_ms: %.3f\n", millis(r.Elapsed))
	b.WriteString("  ...\n")
}

// tapText returns text for the line of a test, in which a number sign would begin a directive.
func tapText(text string) string {
	return strings.NewReplacer(`\`, `\\`, "#", `\#`).Replace(OneLine(text))
}
