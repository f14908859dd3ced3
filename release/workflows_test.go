package release

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// TestWorkflowsArePinnedAndModest holds the workflows to what makes them safe: actions by the commit and not by a name that
// can be moved, no more rights than are used, no tokens left in the checkout, and a limit on the time.
func TestWorkflowsArePinnedAndModest(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../.github/workflows/*.yml")
	if err != nil || len(files) < 2 {
		t.Fatalf("%v, %v", files, err)
	}
	pinned := regexp.MustCompile(`^actions/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if _, uses, ok := strings.Cut(line, "uses: "); ok && !pinned.MatchString(strings.TrimSpace(uses)) {
				t.Errorf("%s: %s is not pinned, or not GitHub's own", file, strings.TrimSpace(uses))
			}
		}
		type job struct {
			Permissions map[string]string
			Timeout     int `yaml:"timeout-minutes"` //nolint:tagliatelle // GitHub's word
			Steps       []struct {
				Uses, Run string
				With      map[string]string
			}
		}
		var workflow struct {
			On          yaml.Node
			Permissions *map[string]string
			Jobs        map[string]job
		}
		if err := yaml.Unmarshal(data, &workflow); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if workflow.Permissions == nil {
			t.Errorf("%s: it says nothing of permissions, which is all of them", file)
		} else {
			for right, how := range *workflow.Permissions {
				if how == "write" {
					t.Errorf("%s: all jobs may write %s", file, right)
				}
			}
		}
		if text, err := yaml.Marshal(&workflow.On); err != nil || bytes.Contains(text, []byte("pull_request_target")) || bytes.Contains(text, []byte("workflow_run")) {
			t.Errorf("%s: what others propose runs with the rights of the repository: %s, %v", file, text, err)
		}
		for name, j := range workflow.Jobs {
			if j.Timeout == 0 {
				t.Errorf("%s: %s has no limit", file, name)
			}
			for right, how := range j.Permissions {
				if how == "write" && (name != "release" || right != "contents" && right != "id-token") {
					t.Errorf("%s: %s may write %s", file, name, right)
				}
			}
			for _, s := range j.Steps {
				if strings.Contains(s.Run, "${{") { // a title or the name of a branch would be carried out
					t.Errorf("%s: %s puts an expression into a command: %s", file, name, s.Run)
				}
				if strings.HasPrefix(s.Uses, "actions/checkout@") && s.With["persist-credentials"] != "false" {
					t.Errorf("%s: %s leaves its token in the checkout", file, name)
				}
			}
		}
	}
}
