package main

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/mcpctl/mcpctl/internal/demo"
)

// ciPage is the page whose examples are run.
const ciPage = "../../docs/ci.md"

// fence is a block of code in a page.
type fence struct{ language, text string }

// name returns the file that a block says that it is, in a comment at its head.
func (f fence) name() string {
	first, _, _ := strings.Cut(f.text, "\n")
	name, _ := strings.CutPrefix(first, "# ")
	return name
}

func fencesOf(t *testing.T, page string) []fence {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var fences []fence
	for _, m := range regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		fences = append(fences, fence{m[1], m[2]})
	}
	return fences
}

// shellJob is what a job of an example runs: each script by itself, as the services do, and the file it leaves.
type shellJob struct {
	scripts  []string
	env      []string
	artifact string
}

// githubJobs reads the jobs of a workflow.
func githubJobs(t *testing.T, text string) map[string]shellJob {
	t.Helper()
	var file struct {
		Permissions map[string]string
		Jobs        map[string]struct {
			If    string
			Env   map[string]string
			Steps []struct {
				Uses string
				Run  string
				If   string
				With map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(text), &file); err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(file.Permissions, map[string]string{"contents": "read"}) {
		t.Errorf("the workflow may do more than read: %v", file.Permissions)
	}
	jobs := map[string]shellJob{}
	for name, j := range file.Jobs {
		if name == "deployed" && !strings.Contains(j.If, "'schedule'") {
			t.Errorf("what is deployed is compared with commits that are not: %q", j.If)
		}
		var out shellJob
		out.env = slices.Collect(maps.Keys(j.Env))
		for _, s := range j.Steps {
			if s.Run != "" {
				out.scripts = append(out.scripts, s.Run)
			}
			if strings.HasPrefix(s.Uses, "actions/upload-artifact@") {
				out.artifact = s.With["path"]
				if s.If != "always()" {
					t.Errorf("%s: a failure leaves no artifact", name)
				}
			}
		}
		jobs[name] = out
	}
	return jobs
}

// gitlabJobs reads the jobs of a pipeline. Only "extends" of a hidden job is known.
func gitlabJobs(t *testing.T, text string) map[string]shellJob {
	t.Helper()
	type job struct {
		Extends   string
		Before    []string `yaml:"before_script"`
		Script    []string
		Artifacts struct {
			When    string
			Reports struct{ JUnit string }
		}
	}
	var file map[string]job
	if err := yaml.Unmarshal([]byte(text), &file); err != nil {
		t.Fatal(err)
	}
	jobs := map[string]shellJob{}
	for name, j := range file {
		if strings.HasPrefix(name, ".") {
			continue
		}
		base := file[j.Extends]
		if base.Artifacts.When != "always" {
			t.Errorf("%s: a failure leaves no artifact", name)
		}
		script := strings.Join(slices.Concat(base.Before, j.Script), "\n") // one shell runs all of it
		jobs[name] = shellJob{scripts: []string{script}, artifact: base.Artifacts.Reports.JUnit}
	}
	return jobs
}

// run runs a job in a directory, and returns the exit code of the first script that fails.
func (j shellJob) run(t *testing.T, dir string, env []string) (code int, output string) {
	t.Helper()
	var b bytes.Buffer
	for _, script := range j.scripts {
		cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", script)
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, &b, &b
		var exit *exec.ExitError
		switch err := cmd.Run(); {
		case errors.As(err, &exit):
			return exit.ExitCode(), b.String()
		case err != nil:
			t.Fatal(err)
		}
	}
	return 0, b.String()
}

// TestPipelineExamples runs the lines of docs/ci.md as they stand: with a server that is as it was, one that changed, and one
// that is not there.
func TestPipelineExamples(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the lines are for sh")
	}
	server, err := demo.ServeHTTP(t.Context(), "", demo.HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })

	dir, home := t.TempDir(), t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	summary := filepath.Join(home, "summary.md")
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GORACE=" + raceOptions, "CI=true",
		"GITHUB_ACTIONS=true", "GITHUB_STEP_SUMMARY=" + summary, "GITHUB_PATH=" + filepath.Join(home, "path"), "MCP_URL=" + server.URL(), "MCP_TOKEN=open-sesame",
	}
	const good = "#!/bin/sh\nexec mcpctl demo-server\n"
	write("server", good, 0o700)
	jobs := map[string]shellJob{}
	for _, f := range fencesOf(t, ciPage) {
		switch name := f.name(); {
		case strings.HasPrefix(name, "ci/"):
			write(name, f.text, 0o600)
		case name == ".github/workflows/mcp.yml":
			for job, j := range githubJobs(t, f.text) {
				jobs["github "+job] = j
			}
		case name == ".gitlab-ci.yml":
			for job, j := range gitlabJobs(t, f.text) {
				jobs["gitlab "+job] = j
			}
		case f.language == "sh" && !strings.Contains(f.text, "git diff"):
			if code, out := (shellJob{scripts: []string{f.text}}).run(t, dir, env); code != codeOK || !strings.Contains(out, "ci/baseline.json: written") {
				t.Fatalf("the baseline: exit code %d\n%s", code, out)
			}
		}
	}
	if got := slices.Sorted(maps.Keys(jobs)); !slices.Equal(got, []string{"github deployed", "github own", "gitlab deployed", "gitlab own"}) {
		t.Fatalf("jobs: %q", got)
	}
	check := func(what string, want func(job string) int, words string) {
		t.Helper()
		for _, name := range slices.Sorted(maps.Keys(jobs)) {
			j := jobs[name]
			artifact := filepath.Join(dir, j.artifact)
			_ = os.Remove(artifact)
			_ = os.Remove(summary)
			code, out := j.run(t, dir, env)
			report, err := os.ReadFile(artifact)
			if code != want(name) || err != nil || !bytes.Contains(report, []byte("<testsuite")) {
				t.Errorf("%s, %s: exit code %d, want %d; artifact: %v\n%s\n%s", what, name, code, want(name), err, out, report)
			}
			if code != codeOK && !strings.Contains(out+string(report), words) {
				t.Errorf("%s, %s: nothing is said of %q\n%s\n%s", what, name, words, out, report)
			}
			if text, err := os.ReadFile(summary); strings.HasPrefix(name, "github") && (err != nil || len(text) == 0) {
				t.Errorf("%s, %s: no summary: %v", what, name, err)
			}
			if strings.Contains(out+string(report), "open-sesame") {
				t.Errorf("%s, %s: the token is in the output", what, name)
			}
		}
	}
	own := func(code int) func(string) int {
		return func(job string) int {
			if strings.HasSuffix(job, "own") {
				return code
			}
			return codeOK
		}
	}
	all := func(int) func(string) int { return func(string) int { return codeFailed } }

	check("as it was", own(codeOK), "")
	baseline, err := os.ReadFile(filepath.Join(dir, "ci", "baseline.json"))
	if err != nil {
		t.Fatal(err)
	}
	write("ci/baseline.json", strings.Replace(string(baseline), "Return the message unchanged.", "Return the message.", 1), 0o600)
	check("another description", own(codeFailed), "baseline.tool.echo")
	write("ci/baseline.json", strings.Replace(string(baseline), `"name": "echo"`, `"name": "gone"`, 1), 0o600)
	check("a tool less", all(codeFailed), "baseline.tool.gone")
	write("ci/baseline.json", string(baseline), 0o600)
	write("server", "#!/bin/sh\nexec faultlab stdio stdio-banner\n", 0o700)
	check("another server", own(codeFailed), "baseline.tool.fail")
	write("server", good, 0o700)
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	check("no deployment", func(job string) int { return codeFailed - own(codeFailed)(job) }, "deployed")
	if err := os.Remove(filepath.Join(dir, "ci", "smoke.yaml")); err != nil {
		t.Fatal(err)
	}
	check("a file is missing", func(string) int { return codeUsage }, "smoke.yaml")
}
