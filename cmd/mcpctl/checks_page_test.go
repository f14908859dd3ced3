package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/mcpctl/mcpctl/pkg/probe"
)

// goldenChecks is the page of all checks.
const goldenChecks = "../../docs/checks.md"

// TestChecksPage compares docs/checks.md with the list of checks, or writes it with -update.
func TestChecksPage(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# The checks of doctor

For anyone who wants to know what a check of ` + "`mcpctl doctor`" + ` means, and how to fix what it found. The checks run in this
order, which is that of a request on its way to the server. If a check that another one needs has not passed, the other is skipped,
and says so. A check that does not apply (TLS for a local process) is left out. ` + "`mcpctl doctor --explain CHECK`" + ` prints one of
these entries. ` + "`--only`" + ` and ` + "`--skip`" + ` take a check, or a whole stage, the part before the dot. [findings.md](findings.md) shows
what the checks find for some hundred faults.

<!-- Generated from package probe: go test ./cmd/mcpctl -run TestChecksPage -update -->
`)
	for _, c := range probe.Checks() {
		fmt.Fprintf(&b, "\n## %s\n\nPasses when: %s.\n\n%s\n\n**Fix:** %s\n", c.ID, c.Title, escapeHTML(oneParagraph(c.Why)), escapeHTML(oneParagraph(c.Remedy)))
		if len(c.Needs) > 0 {
			fmt.Fprintf(&b, "\nNeeds: `%s`.\n", strings.Join(c.Needs, "`, `"))
		}
	}
	if *update {
		if err := os.WriteFile(goldenChecks, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	page, err := os.ReadFile(goldenChecks)
	if err != nil {
		t.Fatal(err)
	}
	if string(page) != b.String() {
		t.Error("docs/checks.md is out of date: go test ./cmd/mcpctl -run TestChecksPage -update")
	}
}

// escapeHTML keeps what looks like a tag, and the asterisk, as text.
func escapeHTML(text string) string {
	return strings.NewReplacer("<", `\<`, "*", `\*`).Replace(text)
}
