package probe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/pkg/session"
)

// sessionOpenID is the check that tells whether a server works at all.
const sessionOpenID = "session.open"

func sessionOpen() Check {
	return Check{
		ID: sessionOpenID, Title: "session opens", Limit: ownLimits,
		Needs: []string{"config.variables", "command.found", "auth.access"},
		Why: `Everything up to a usable session must be over within the connect limit: starting or dialing, the handshake, the
initialized notification. For a child process, what it wrote to standard error and its exit status usually name the cause.`,
		Run: func(ctx context.Context, t *Target) Finding {
			s, err := t.open(ctx)
			if err != nil {
				return lostInOpening(failure(err))
			}
			info, limits := s.Info(), t.sup.Limits()
			name := strings.TrimSpace(info.ServerName + " " + info.ServerVersion)
			if name == "" {
				name = "unnamed server"
			}
			f := pass(fmt.Sprintf("%s, %s, protocol %s", name, info.Transport, info.ProtocolVersion))
			if len(info.Warnings) > 0 { // it opened all the same
				f = warn(f.Message+"; "+info.Warnings[0], "mend that in the server, or in what stands before it: other clients may not get over it")
			}
			f.Detail = strings.Join(append(slices.Concat(info.Warnings, info.Notes),
				"limits: "+limits.Connect.String()+", "+limits.Request.String()), "\n")
			f.Data = map[string]any{
				"transport": info.Transport, "era": string(info.Era), "protocol_version": info.ProtocolVersion,
				"server_name": info.ServerName, "server_version": info.ServerVersion,
				"connect_timeout_ms": limits.Connect.Value.Milliseconds(), "connect_timeout_source": limits.Connect.Source,
				"opened_in_ms": milliseconds(info.Elapsed),
			}
			return f
		},
	}
}

// lostInOpening says what it means that a session which was just given is not known any more.
func lostInOpening(f Finding) Finding {
	if f.Class == string(session.ClassSession) {
		f.Message = fmt.Sprintf("the same session was accepted by one request and rejected by the next (%s); several instances without shared sessions?", f.Message)
		f.Fix = "let the instances behind the address share their sessions, or route each session to one of them"
	}
	return f
}

// idleGap is a pause that a server must survive between two requests.
const idleGap = 50 * time.Millisecond

func sessionReuse() Check {
	return Check{
		ID: "session.reuse", Title: "session lasts", Needs: []string{"session.open"},
		Why: `A session must serve more than one request. When it is lost on the second one, several instances behind one address do
not share their sessions, or the server drops them.`,
		Run: func(ctx context.Context, t *Target) Finding {
			for i := range 2 {
				if i > 0 && !pause(ctx, idleGap) {
					return Finding{Status: Unknown, Message: "interrupted"}
				}
				if err := use(ctx, t); err != nil {
					return failure(err)
				}
			}
			if st := t.sup.Stats(); st.Handshakes > t.opened.Info().Generation && st.Recovery != nil {
				f := warn(fmt.Sprintf("the session was lost and had to be replaced, which took %s: %s", FormatElapsed(st.Recovery.Elapsed), st.Recovery.Cause),
					"see whether the server restarted, or drops sessions; if several instances share the address, let them share sessions too, or route each session to one instance")
				f.Data = map[string]any{"fresh_ms": milliseconds(st.Recovery.Elapsed), "lost_by": st.Recovery.Cause, "handshakes": st.Handshakes}
				return f
			}
			return pass("used twice with a pause between")
		},
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// use makes a request: ping, where there is one, else what harmless makes. A server that does not answer ping may still
// work, and protocol.ping tells of it.
func use(ctx context.Context, t *Target) error {
	if t.opened.Info().Era == session.EraLegacy {
		const patience = 3 * time.Second
		ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("no answer within %s", patience))
		defer cancel()
		if err := ping(ctx, t); err == nil || session.ClassOf(err) == session.ClassAnswered {
			return nil
		}
	}
	_, err := harmless(ctx, t)
	return err
}

func sessionNoise() Check {
	return Check{
		ID: "session.noise", Title: "standard output is clean", Needs: []string{"session.open"}, Applies: stdio,
		Why: `A stdio server's standard output is for MCP messages alone; anything else belongs on standard error. mcpctl passes over
such lines, but several clients end the connection at the first one.`,
		Run: func(_ context.Context, t *Target) Finding {
			n := t.opened.Noise()
			if n.Lines == 0 {
				return pass("only MCP messages")
			}
			f := warn(fmt.Sprintf("%d line(s) are not MCP; line %d is %q", n.Lines, n.Number, n.First), "write logs and banners to standard error")
			if strings.HasPrefix(strings.ToLower(n.First), "content-length:") {
				f = warn("the server puts Content-Length headers before its messages, as LSP does",
					"write each message as one line of JSON, with nothing before it: clients of MCP read lines")
			}
			f.Data = map[string]any{"lines": n.Lines, "first": n.First, "line_number": n.Number}
			return f
		},
	}
}

// milliseconds returns a duration in milliseconds, with microseconds as decimals.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
