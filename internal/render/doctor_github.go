package render

import (
	"fmt"
	"strings"

	"github.com/mcpctl/mcpctl/pkg/probe"
)

// doctorGitHub is the annotations of a workflow run on GitHub: an error for each server that failed, a warning for each
// warning, and how it all ended. GitHub shows the first ten of each kind, so the errors of different servers come before
// further ones of the same. See https://docs.github.com/actions/reference/workflow-commands-for-github-actions.
func doctorGitHub(p pen, run DoctorRun) error {
	p.logSafely(":", "# ", func(p pen) { // the colons are ours
		if f := run.Failure; f != nil {
			lines := append(append([]string{f.Message}, f.Evidence...), f.Hints...)
			p.text(annotation("error", firstOf(f.Server, "mcpctl doctor"), linesOf(strings.Join(lines, "\n"))))
		}
		const errs, more, warnings = 0, 1, 2
		for part := range 3 {
			for r := range run.reports() {
				first := true
				for _, res := range r.Results {
					of, kind := warnings, "warning"
					switch {
					case run.failed(res.Status) && first:
						of, kind, first = errs, "error", false
					case run.failed(res.Status):
						of, kind = more, "error"
					case res.Status != probe.Warn:
						continue
					}
					if of == part {
						lines := textOf(res)
						lines[0] = OneLine(res.ID) + ": " + lines[0]
						p.text(annotation(kind, r.Name, lines))
					}
				}
			}
		}
		if run.Reports.Len() > 0 {
			p.text(annotation("notice", "mcpctl doctor", []string{plainTally(run.Reports)}))
		}
	})
	return nil
}

// annotation returns one workflow command, on one line whatever is in its texts.
func annotation(kind, title string, lines []string) string {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	return fmt.Sprintf("::%s title=%s::%s\n", kind, property.Replace(OneLine(title)), data.Replace(strings.Join(lines, "\n")))
}
