package probe

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/pkg/session"
)

func shutdownClose() Check {
	return Check{
		ID: "shutdown.close", Title: "session ends", Needs: []string{"session.open"},
		Why: `A stdio server should exit by itself when its stdin closes. Clients wait for that before they kill it, so a
server that ignores it delays every command. It should not exit earlier. Nothing that it started may be left running.`,
		Remedy: "Exit with status 0 when stdin closes, and not before, and stop everything that was started. Answer DELETE at once.",
		Run: func(ctx context.Context, t *Target) Finding {
			s := t.current(ctx)
			if s == nil {
				if s = t.opened; !stdio(t) || t.sup.Stats().Recovery != nil { // then another check has told that it was lost
					return skip("no session is open") // one that is opened only to be ended would cost another wait
				}
			}
			begin := time.Now()
			stop := context.AfterFunc(ctx, t.sup.Hasten)
			defer stop()
			_ = t.sup.Close()
			t.closed = s
			elapsed := time.Since(begin)
			t.timed("close", begin)
			f := pass("in " + FormatElapsed(elapsed))
			f.Data = map[string]any{"close_ms": milliseconds(elapsed)}
			if t.Server.Command == "" {
				if elapsed > slowDelete {
					f.Status = Warn
					f.Message = "the server did not answer DELETE within " + FormatElapsed(elapsed)
					f.Fix = "answer DELETE at once, with 204, or with 405 if sessions cannot be ended"
				}
				return f
			}
			end := s.Ending()
			f.Data["ended_by"] = end.By
			f.Data["exit_status"] = end.Exit.Status
			switch {
			case end.LeftRunning || s.LeftRunning():
				return Finding{
					Status: Fail, Class: "failed", Message: fmt.Sprintf("a process of group %d is still running", s.PID()), Data: f.Data,
					Fix: "end everything that the server starts when it ends",
				}
			case end.By == "itself":
				f.Status = Warn
				f.Message = fmt.Sprintf("it ended by itself, before its stdin was closed: %s", end.Exit)
				f.Fix = "see why: a call that meets it may have been executed, and cannot be repeated"
				if tail := s.Stderr(); len(tail) > 0 {
					f.Detail = "stderr: " + strings.Join(tail, "\nstderr: ")
				}
			case end.Leader:
				f.Status = Warn
				f.Message = fmt.Sprintf("it ended, and left a process behind, which was ended %s after %s", signalName(end), FormatElapsed(elapsed))
				f.Fix = "end everything that the server starts when it ends"
			case end.By == "sigterm" || end.By == "sigkill":
				f.Status = Warn
				f.Message = fmt.Sprintf("it kept running after its stdin was closed, and was ended %s after %s", signalName(end), FormatElapsed(elapsed))
				f.Fix = "let the server exit when its stdin is closed"
			case end.Exit.Status != 0:
				f.Status = Warn
				f.Message = fmt.Sprintf("it ended with %s", end.Exit)
				f.Fix = "exit with status 0 when stdin is closed"
			}
			return f
		},
	}
}

// slowDelete is much more than a server needs to forget a session.
const slowDelete = time.Second

// signalName is how a server was ended; Windows has no signals.
func signalName(e session.Ending) string {
	switch {
	case runtime.GOOS == "windows":
		return "by force"
	case e.By == "sigkill":
		return "with SIGKILL"
	}
	return "with SIGTERM"
}
