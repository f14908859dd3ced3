//go:build e2e && linux

package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// addMemory adds the server "memory" under that name, and returns the file that it keeps.
func addMemory(u *user, command ...string) string {
	u.t.Helper()
	file := filepath.Join(u.cwd, "memory.jsonl")
	u.run(append([]string{"add", "memory", "--no-check", "--env", "MEMORY_FILE_PATH=" + file, "--"}, command...)...).exits(0)
	return file
}

// TestMemory walks from list to doctor with the server "memory": its arguments are JSON, its place is a variable.
func TestMemory(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	file := addMemory(u, "node", script("memory"))
	u.run("list", "--check").exits(0).complains().shows("memory\tready\tlegacy\t9\t")
	u.run("tools", "memory").exits(0).complains().shows("create_entities\t", "read_graph\t")

	u.run("call", "memory", "create_entities",
		`entities:=[{"name":"Ada","entityType":"person","observations":["wrote programs"]}]`).exits(0).complains().shows(`"Ada"`)
	u.run("call", "memory", "create_entities", "--args",
		`{"entities":[{"name":"Grace","entityType":"person","observations":[]}]}`, "-o", "json").exits(0).complains().json(
		`.result.structuredContent.entities == [{name: "Grace", entityType: "person", observations: []}]`,
		`.session.handshakes == 1`,
	)
	u.write(filepath.Join(u.cwd, "relation.json"), `{"relations":[{"from":"Ada","to":"Grace","relationType":"inspired"}]}`)
	u.run("call", "memory", "create_relations", "--args", "@relation.json").exits(0).complains().shows(`"inspired"`)

	u.run("call", "memory", "read_graph", "-o", "json").exits(0).complains().json(
		`[.result.structuredContent.entities[].name] == ["Ada", "Grace"]`,
		`.result.structuredContent.relations == [{from: "Ada", to: "Grace", relationType: "inspired"}]`,
	)
	u.run("call", "memory", "search_nodes", "query=programs", "--jq", ".result.structuredContent.entities[].name").exits(0).prints("Ada\n")
	if got := u.read(file); !strings.Contains(got, "wrote programs") || !strings.Contains(got, "inspired") {
		t.Errorf("the file holds %q", got)
	}

	// A value inside that is missing is found before anything is called.
	u.run("call", "memory", "create_entities", `entities:=[{"name":"Nobody"}]`).exits(2).prints("").complains("entityType")
	if got := u.read(file); strings.Contains(got, "Nobody") {
		t.Errorf("the file holds %q", got)
	}
	u.run("doctor", "memory", "--kill-session").exits(0).complains().shows("memory   PASS", "✓ recovery.fresh")
}

// TestAWriteIsNotExecutedTwice kills the server after it has executed a call and before its answer has come: nobody can
// know, so the call is not repeated, and the user is told.
func TestAWriteIsNotExecutedTwice(t *testing.T) {
	t.Parallel()
	u, p := newUser(t), newTap(t)
	// The answers of tools, and no others, are lost on their way.
	lossy := `node "$0" | grep --line-buffered -v '"structuredContent"'`
	file := addMemory(u, p.on("sh", "-c", lossy, script("memory"))...)
	r := u.start("call", "memory", "create_entities",
		`entities:=[{"name":"Ada","entityType":"person","observations":[]}]`, "-o", "json")
	eventually(t, startTime, func() string { return "the call was not executed" }, func() bool {
		text, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return strings.Contains(string(text), "Ada")
	})
	send(t, -groupOf(t, runningWith(t, u.home, node22(), script("memory")).pid), syscall.SIGKILL)
	r.wait().exits(7).complains("memory", "may have been executed").json(
		`.error | .class == "unknown-outcome" and .outcome == "unknown" and .retryable == false and .exit_code == 7`,
		`.error.server == "memory" and (.error.hint | contains("read-only"))`,
		`.session | .handshakes == 2 and .recovered`,
	)
	p.wants("tools/call", 1)
	p.wants("initialize", 2) // the session was replaced all the same
	if got := strings.Count(u.read(file), "Ada"); got != 1 {
		t.Errorf("there are %d entities:\n%s", got, u.read(file))
	}
}
