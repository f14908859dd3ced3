package render

import (
	"fmt"
	"strings"

	"github.com/mcpctl/mcpctl/pkg/probe"
)

// doctorGitHub is the annotations of a workflow run on GitHub: an error for each server that failed, a warning for each
// warning, and how it all ended. GitHub shows the first ten of each kind, so the errors of different servers come before
// further ones of the same. See https://docs.github.com/actions/reference/workflow-commands-for-github-actions.
func doctorGitHub(run DoctorRun) ([]byte, error) {
	var errs, more, warnings []string
	if f := run.Failure; f != nil {
		lines := append(append([]string{f.Message}, f.Evidence...), f.Hints...)
		errs = append(errs, annotation("error", firstOf(f.Server, "mcpctl doctor"), linesOf(strings.Join(lines, "\n"))))
	}
	for _, r := range run.Reports {
		first := true
		for _, res := range r.Results {
			lines := textOf(res)
			lines[0] = OneLine(res.ID) + ": " + lines[0]
			switch {
			case run.failed(res.Status) && first:
				errs = append(errs, annotation("error", r.Name, lines))
				first = false
			case run.failed(res.Status):
				more = append(more, annotation("error", r.Name, lines))
			case res.Status == probe.Warn:
				warnings = append(warnings, annotation("warning", r.Name, lines))
			}
		}
	}
	all := append(append(errs, more...), warnings...)
	if len(run.Reports) > 0 {
		all = append(all, annotation("notice", "mcpctl doctor", []string{plainTally(run.Reports)}))
	}
	return []byte(logSafe(strings.Join(all, ""), ":", "# ")), nil // the colons are ours
}

// annotation returns one workflow command, on one line whatever is in its texts.
func annotation(kind, title string, lines []string) string {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	return fmt.Sprintf("::%s title=%s::%s\n", kind, property.Replace(OneLine(title)), data.Replace(strings.Join(lines, "\n")))
}
