package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTheSuiteIsTakenStrictly shows how a result counts.
func TestTheSuiteIsTakenStrictly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, checks, word string
		problems           []string
	}{
		{"all right", `[{"id":"a","status":"SUCCESS"},{"id":"b","status":"INFO"},{"id":"c","status":"SKIPPED"}]`, "passed", nil},
		{"a warning", `[{"id":"a","status":"SUCCESS"},{"id":"b","status":"WARNING","errorMessage":"late"}]`, "failed", []string{"WARNING b: late"}},
		{"a failure", `[{"id":"a","status":"FAILURE","description":"no call"}]`, "failed", []string{"FAILURE a: no call"}},
		{"nothing", `[]`, "vacuous", nil},
		{"nothing but talk", `[{"id":"a","status":"INFO"},{"id":"b","status":"SKIPPED"}]`, "vacuous", nil},
		{"a status of tomorrow", `[{"id":"a","status":"SUCCESS"},{"id":"b","status":"MAYBE"}]`, "failed", []string{`b has the unknown status "MAYBE"`}},
		{"no result", ``, "failed", []string{"the result of the suite: unexpected end of JSON input"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			result := filepath.Join(dir, "auth", "scenario-now") // as where the name of a scenario has a slash
			if err := os.MkdirAll(result, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(result, "checks.json"), []byte(c.checks), 0o600); err != nil {
				t.Fatal(err)
			}
			v := (&suite{}).judge(dir)
			if v.word() != c.word || !slices.Equal(v.problems, c.problems) {
				t.Errorf("%s %q, want %s %q", v.word(), v.problems, c.word, c.problems)
			}
		})
	}
	if v := (&suite{}).judge(t.TempDir()); v.passed() || v.vacuous() {
		t.Errorf("without a result: %s", v.word())
	}
}

// TestWhatIsExpected shows that a list of what fails cannot grow old, and that doing nothing is no success.
func TestWhatIsExpected(t *testing.T) {
	t.Parallel()
	good, bad, nothing := verdict{successes: 1}, verdict{successes: 1, problems: []string{"x"}}, verdict{}
	right := verdict{problems: []string{"x"}, output: "mcpctl: error: http://h/.well-known/oauth-authorization-server: its issuer is http://h/oauth"}
	known := pair{stable, "auth/2025-03-26-oauth-metadata-backcompat", ""}
	skills := pair{alpha, "sep-2640-client-verify-size", legacy}
	other := pair{alpha, "tools_call", modern}
	for _, c := range []struct {
		pair    pair
		verdict verdict
		says    string
	}{
		{other, good, ""},
		{other, bad, "it does not pass"},
		{other, nothing, "it has nothing to tell"},
		{known, right, ""},
		{known, bad, "and the client to say"},
		{known, good, "is expected to fail"},
		{known, nothing, "it has nothing to tell"},
		{pair{alpha, known.scenario, legacy}, bad, "it does not pass"},
		{skills, nothing, ""},
		{skills, good, "is expected to have nothing"},
		{skills, bad, "it does not pass"},
	} {
		got := unexpected(c.pair, c.verdict)
		if (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
			t.Errorf("%s %s: %q, want %q", c.pair, c.verdict.word(), got, c.says)
		}
	}
}
