//go:build e2e && linux

package e2e

import (
	"testing"
	"time"
)

// research is a call of the reference server's tool that runs as a task only, for some seconds.
func research(server string, more ...string) []string {
	return append([]string{"call", server, "simulate-research-query", "topic=python"}, more...)
}

// TestTaskOfTheReferenceServer waits for a task over stdio and HTTP, and finds the tools that run as one.
func TestTaskOfTheReferenceServer(t *testing.T) {
	t.Parallel()
	for _, server := range []string{everythingStdio, everythingHTTP} {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			u := newUser(t)
			u.run(append([]string{"add", "every", "--no-check"}, words(t, server)...)...).exits(0)
			u.run(research("every")...).exits(0).shows("# Research Report: python", "Stage 4: Generating report")
			u.run(research("every", "-o", "json")...).exits(0).json(
				`.task | .status == "completed" and (.id | length) > 0 and .ttl_ms == 300000`,
				`.result.content[0].text | contains("Research Report")`,
				`.result._meta["io.modelcontextprotocol/related-task"].taskId == .task.id`,
				`.session | .era == "legacy" and .handshakes == 1`,
			)
			// What the server asks on the way is declined, and the task goes on.
			u.run(research("every", "ambiguous=true")...).exits(0).shows("# Research Report: python")
			u.run("tasks", "every").exits(0).prints("").complains("every has no tasks")
		})
	}
}

// TestTaskOfTheReferenceServerIsCancelled interrupts a call that has become a task: the server hears of it.
func TestTaskOfTheReferenceServerIsCancelled(t *testing.T) {
	t.Parallel()
	u, p := newUser(t), newTap(t)
	u.run(append([]string{"add", "every", "--no-check", "--"}, p.on("node", script("everything"))...)...).exits(0)
	r := u.start(research("every", "-o", "json")...)
	p.await("tasks/get", 1)
	o, elapsed := r.interrupt()
	o.exits(130).json(`.error | .class == "interrupted" and .exit_code == 130 and .task.status == "cancelled"`)
	if elapsed > interruptTime+time.Second {
		o.fatalf("it took %s to end", elapsed)
	}
	p.wants("tools/call", 1)
	p.wants("tasks/cancel", 1)
}

// TestTaskOfTheReferenceServerDetached shows that this server, which keeps a task for its session alone, says so to another
// one, and that a command keeps none at all.
func TestTaskOfTheReferenceServerDetached(t *testing.T) {
	t.Parallel()
	u, r := newUser(t), startRemote(t, modeHTTP)
	u.run("add", "every", "--no-check", r.url).exits(0)
	id := u.run(research("every", "--detach", "--jq", ".task.taskId")...).exits(0).stdout
	u.run("task", "every", id[:len(id)-1]).exits(5).complains("Task not found", "belong to another session")
	u.run(append([]string{"add", "local", "--no-check", "--"}, "node", script("everything"))...).exits(0)
	u.run(research("local", "--detach")...).exits(2).complains("ends with it, and so do its tasks")
	u.run("call", "every", "echo", "message=hi", "--detach").exits(2).complains("does not run as a task", "simulate-research-query")
}
