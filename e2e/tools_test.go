//go:build e2e && linux

package e2e

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestExamplesOfEverything pastes the example that the page of each tool ends with into a shell: what it would send must be
// valid, and what is harmless is called.
func TestExamplesOfEverything(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.run(append([]string{"add", "every"}, words(t, everythingHTTP)...)...).exits(0)
	example := regexp.MustCompile(`(?m)^  (mcpctl call .*)$`)
	names := strings.Fields(u.run("tools", "every", "-o", "name").exits(0).stdout)
	if len(names) < 13 {
		t.Fatalf("only %d tools", len(names))
	}
	for _, name := range names {
		page := u.run("tools", "every", name).exits(0).stdout
		found := example.FindStringSubmatch(page)
		if found == nil || strings.Contains(page, "may refuse") {
			t.Errorf("%s: no example, or a guess:\n%s", name, page)
			continue
		}
		line := strings.Replace(found[1], "mcpctl", mcpctl, 1)
		switch name {
		case "echo", "get-sum", "get-structured-content", "get-tiny-image", "get-resource-links":
		default: // they take long, ask, or reach the network
			line += " --dry-run"
		}
		cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
		cmd.Env, cmd.Dir = u.environ(), u.cwd
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	}
}
