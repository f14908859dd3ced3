package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	// clientTime bounds the client of one scenario. The longest waits for two seconds, and machines are slow.
	clientTime = 60 * time.Second
	// runnerTime bounds what a scenario takes beside its client: the start of Node, and its end.
	runnerTime = 30 * time.Second
	// endTime bounds the end of what was told to end; the script guard has it, too.
	endTime = 5 * time.Second
)

// suite is what the scenarios are run with.
type suite struct {
	node     string
	programs map[release]string
	// client is the one under test, which may take so long for a scenario, and guard sees to that.
	client, guard string
	limit         time.Duration
	// dir holds the results, and path the program under test.
	dir, path string
}

// verdict is what came of one scenario.
type verdict struct {
	successes int
	// problems are what did not pass, one line each.
	problems []string
	// output is what the client wrote to its standard error.
	output  string
	elapsed time.Duration
}

// passed reports whether the scenario has shown something, and all of it was right.
func (v verdict) passed() bool { return v.successes > 0 && len(v.problems) == 0 }

// vacuous reports whether the scenario has shown nothing, good or bad.
func (v verdict) vacuous() bool { return v.successes == 0 && len(v.problems) == 0 }

// command returns a command of the suite. It is the leader of a process group, all of which is ended with it.
func (s *suite) command(ctx context.Context, r release, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.node, append([]string{s.programs[r]}, args...)...)
	// Nothing of the environment that would change what mcpctl does, and temporary files where they are removed at the end. What
	// Node has compiled serves those that start after it.
	cmd.Env = []string{
		"PATH=" + s.path + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + s.dir, "TMPDIR=" + s.dir,
		"NODE_COMPILE_CACHE=" + filepath.Join(s.dir, "compiled"),
	}
	inGroup(cmd)
	cmd.WaitDelay = endTime
	return cmd
}

// run runs a scenario in a process of its own.
func (s *suite) run(ctx context.Context, p pair) verdict {
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, s.limit+runnerTime)
	defer cancel()
	dir, err := os.MkdirTemp(s.dir, "result-")
	if err != nil {
		return verdict{problems: []string{err.Error()}}
	}
	defer func() { _ = os.RemoveAll(dir) }()
	args := []string{
		"client", "--command", s.guard, "--scenario", p.scenario, "--output-dir", dir,
		// The guard ends the client before that.
		"--timeout", fmt.Sprint((s.limit + runnerTime).Milliseconds()),
	}
	if p.version != "" {
		args = append(args, "--spec-version", p.version, "--force")
	}
	cmd := s.command(ctx, p.release, args...)
	cmd.Env = append(cmd.Env, "CLIENT="+s.client, fmt.Sprintf("CLIENT_SECONDS=%.0f", s.limit.Seconds()), "CLIENT_RESULT="+dir)
	out, err := cmd.CombinedOutput()
	killGroup(cmd) // what is left of it
	killClient(dir)
	v := s.judge(dir)
	v.elapsed = time.Since(start)
	said := escapes.ReplaceAllString(string(out), "")
	ended := s.ended(dir)
	if ended != "" {
		v.problems = append(v.problems, ended)
	}
	exit, exited := errors.AsType[*exec.ExitError](err)
	switch {
	case ctx.Err() != nil:
		v.problems = append(v.problems, "the suite was ended by force after "+(s.limit+runnerTime).String())
	case strings.Contains(said, "SKIPPED:"):
		v.problems = append(v.problems, "the suite has left it out")
	case exited && exit.ExitCode() == 1 && len(v.problems) == 0:
		v.problems = append(v.problems, "the suite says that it failed, and not what: "+last(said))
	case err != nil && (!exited || exit.ExitCode() != 1):
		v.problems = append(v.problems, "the suite: "+err.Error()+": "+last(said))
	}
	return v
}

// ended says what is wrong with the end of the client, "" for nothing. The guard tells it: the suite forgives some scenarios an
// exit code, and does not see every end.
func (s *suite) ended(dir string) string {
	raw, err := os.ReadFile(filepath.Join(dir, "code"))
	switch code := strings.TrimSpace(string(raw)); {
	case err != nil:
		return "the end of the client is not known"
	case code == "124" || code == "137":
		return "the client was ended by force after " + s.limit.String()
	case code != "0":
		return "the client ended with exit code " + code
	}
	return ""
}

// killClient ends what is left of the client whose result is in a directory: the guard did not come to that if it was killed.
func killClient(dir string) {
	raw, err := os.ReadFile(filepath.Join(dir, "group"))
	if err != nil {
		return // it was never started
	}
	if _, err := os.Stat(filepath.Join(dir, "code")); err == nil {
		return // the guard has done it, and the number may be another's by now
	}
	if group, err := strconv.Atoi(strings.TrimSpace(string(raw))); err == nil {
		killGroupOf(group)
	}
}

// escapes are the colours of the suite.
var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

// last returns the last line that is not empty.
func last(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// judge reads what the suite says of the one scenario whose result is in a directory.
func (s *suite) judge(dir string) verdict {
	files, err := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	if nested, _ := filepath.Glob(filepath.Join(dir, "*", "*", "checks.json")); err == nil {
		files = append(files, nested...) // the names of some scenarios have a slash in them
	}
	if len(files) != 1 {
		return verdict{problems: []string{fmt.Sprintf("the suite has left %d results, want one", len(files))}}
	}
	raw, err := os.ReadFile(files[0])
	if err != nil {
		return verdict{problems: []string{err.Error()}}
	}
	var checks []check
	if err := json.Unmarshal(raw, &checks); err != nil {
		return verdict{problems: []string{"the result of the suite: " + err.Error()}}
	}
	var v verdict
	for _, c := range checks {
		switch c.Status {
		case "SUCCESS":
			v.successes++
		case "FAILURE", "WARNING":
			v.problems = append(v.problems, fmt.Sprintf("%s %s: %s", c.Status, c.ID, c.message()))
		case "INFO", "SKIPPED":
		default:
			v.problems = append(v.problems, fmt.Sprintf("%s has the unknown status %q", c.ID, c.Status))
		}
	}
	if wrote, err := os.ReadFile(filepath.Join(filepath.Dir(files[0]), "stderr.txt")); err == nil {
		v.output = string(wrote)
	}
	return v
}

// check is one of a result.
type check struct {
	ID           string `json:"id"`
	Status       string `json:"status"`
	Description  string `json:"description"`
	ErrorMessage string `json:"errorMessage"` //nolint:tagliatelle // a word of the suite's
}

// message is what the check says.
func (c check) message() string {
	if c.ErrorMessage != "" {
		return c.ErrorMessage
	}
	return c.Description
}
