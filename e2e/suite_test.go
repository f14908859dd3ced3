//go:build e2e && linux

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// scenario is one of the official suite's for servers, and the checks of doctor that judge the same.
type scenario struct {
	name   string
	checks []string
}

// scenarios are those of an era.
func scenarios(version string) []scenario {
	both := []scenario{
		{"tools-list", []string{"tools.list", "tools.names", "tools.schemas"}},
		{"resources-list", []string{"resources.list"}},
		{"prompts-list", []string{"prompts.list"}},
		{"dns-rebinding-protection", []string{"http.host"}},
		{"server-sse-multiple-streams", []string{"session.streams"}},
	}
	if version == modern {
		return append(both,
			scenario{"server-stateless", []string{"session.open", "protocol.capabilities", "protocol.unknown-method", "protocol.headers"}},
			scenario{"caching", []string{"tools.list", "resources.list", "prompts.list"}},
			scenario{"http-header-validation", []string{"protocol.headers"}},
		)
	}
	return append(both,
		scenario{"server-initialize", []string{"http.endpoint", "session.open"}},
		scenario{"server-session-lifecycle", []string{"session.ended"}},
		scenario{"ping", []string{"protocol.ping"}},
	)
}

// differences are what the suite finds and doctor does not, by the suite's names, with the reason why doctor should not.
func differences() map[string]string {
	const ownTool = "the suite changes the list by a tool of its own, which these servers do not have"
	return map[string]string{
		"server-sse-multiple-streams-session":                        "a server is free to have no sessions, and the suite only says that it cannot judge then",
		"sep-2575-server-sends-tools-list-changed-on-subscription":   ownTool,
		"sep-2575-server-sends-prompts-list-changed-on-subscription": ownTool,
	}
}

// TestDoctorAgreesWithTheSuite runs scenarios of the official conformance suite and doctor against the same servers: where
// the suite finds something, doctor does, and nowhere else.
func TestDoctorAgreesWithTheSuite(t *testing.T) {
	t.Parallel()
	known := knownChecks(newUser(t))
	for _, c := range []struct {
		server, version string
		// found are the scenarios in which the suite finds something: what the comparison rests on.
		found []string
	}{
		{demoHTTP, legacy, nil},
		{demoStateless, legacy, nil},
		{demoStateless, modern, nil},
		{everythingHTTP, legacy, []string{"dns-rebinding-protection", "server-session-lifecycle"}},
		{mcpGoHTTP, legacy, []string{"server-session-lifecycle"}},
		{mcpGoHTTP, modern, nil},
		{typescriptHTTP, legacy, nil},
		{typescriptHTTP, modern, nil},
		{typescriptSessions, legacy, nil},
	} {
		t.Run(c.server+", "+c.version, func(t *testing.T) {
			t.Parallel()
			u, url := newUser(t), words(t, c.server)[0]
			doctor := u.run("doctor", url, "--protocol", c.version, "-o", "json").examined()
			var found []string
			suites := runSuite(u, url, c.version)
			for _, sc := range scenarios(c.version) {
				suite, ran := suites[sc.name]
				if !ran {
					t.Errorf("the suite has not run %s", sc.name)
				}
				if len(suite.found) > 0 {
					found = append(found, sc.name)
				}
				ours, missing := doctor.finds(sc.checks), without(sc.checks, known)
				said := fmt.Sprintf("%s:\n  the suite: %d passed, found %q\n  doctor: %q", sc.name, suite.passed, suite.found, ours)
				switch agree := (len(suite.found) > 0) == (len(ours) > 0); {
				case suite.passed == 0 && len(suite.found) == 0:
					t.Logf("%s\n  the suite has judged nothing", said)
				case !agree && len(missing) > 0 && len(ours) == 0:
					t.Logf("%s\n  there is no check %s", said, strings.Join(missing, ", "))
				case !agree:
					t.Errorf("the two do not agree: %s", said)
				default:
					t.Log(said)
				}
			}
			slices.Sort(found)
			if !slices.Equal(found, c.found) {
				t.Errorf("the suite finds something in %q, want %q", found, c.found)
			}
		})
	}
}

// finds returns the findings of these checks, "ID: message" each.
func (r report) finds(ids []string) []string {
	var found []string
	for _, c := range r.Checks {
		if (c.Status == "fail" || c.Status == "warn") && slices.Contains(ids, c.ID) {
			found = append(found, c.ID+": "+c.Message)
		}
	}
	return found
}

// without returns the ids that are not known.
func without(ids, known []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(known, id) })
}

// judgement is what the suite says in one scenario.
type judgement struct {
	passed int
	// found are its failures and warnings, "ID: message" each, but for the differences that are known.
	found []string
}

// runSuite runs all scenarios of the suite for one version of the protocol, with the Node 22 that it needs, in one process,
// because its start takes longer than they do. It returns what the suite says in each.
func runSuite(u *user, url, version string) map[string]judgement {
	u.t.Helper()
	ctx, cancel := context.WithTimeout(u.t.Context(), commandTime)
	defer cancel()
	results := u.t.TempDir()
	cmd := exec.CommandContext(ctx, node22(), suite(), "server",
		"--url", url, "--suite", "all", "--spec-version", version, "--output-dir", results)
	cmd.Env, cmd.Dir = u.environ(), u.cwd
	cmd.WaitDelay = endTime
	out, err := cmd.CombinedOutput()
	// Some scenarios want tools that these servers do not have, so that it never exits with 0.
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() != 1) {
		u.t.Fatalf("%s: %v: %s", cmd, err, out)
	}
	dirs, err := os.ReadDir(results)
	if err != nil {
		u.t.Fatal(err)
	}
	judgements := map[string]judgement{}
	for _, dir := range dirs {
		name := resultName.FindStringSubmatch(dir.Name())
		if name == nil {
			u.t.Fatalf("%s: the result %q has another name than results have", cmd, dir.Name())
		}
		judgements[name[1]] = judgementIn(u, filepath.Join(results, dir.Name(), "checks.json"))
	}
	return judgements
}

// node22 returns the path of the newer Node, which comes from npm.
func node22() string {
	return module("node-linux-" + map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH] + "/bin/node")
}

// resultName is the name of a result's directory: the scenario and a time.
var resultName = regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT[-\d]+Z$`)

// judgementIn reads what the suite says in one scenario.
func judgementIn(u *user, path string) judgement {
	u.t.Helper()
	var checks []struct {
		ID, Status, ErrorMessage string
		Details                  struct{ Untestable bool }
	}
	if err := json.Unmarshal([]byte(u.read(path)), &checks); err != nil || len(checks) == 0 {
		u.t.Fatalf("%s: no checks: %v", path, err)
	}
	var j judgement
	known := differences()
	for _, c := range checks {
		switch c.Status {
		case "SUCCESS":
			j.passed++
		case "FAILURE", "WARNING":
			if known[c.ID] == "" && !c.Details.Untestable { // which the suite says of itself
				j.found = append(j.found, c.ID+": "+c.ErrorMessage)
			}
		}
	}
	return j
}
