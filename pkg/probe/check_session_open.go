package probe

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpctl/mcpctl/pkg/session"
)

func sessionOpen() Check {
	return Check{
		ID: sessionOpenID, Title: "session opens", Limit: ownLimits,
		Budget: connectBudget,
		Needs:  []string{"config.variables", "command.found", "command.executable", "auth.access"},
		Why: `Everything up to a usable session must finish within connect_timeout: starting or connecting, the handshake, and
the initialized notification. For a child process, its stderr and exit status usually name the cause.`,
		Remedy: `Read the evidence below the cause: the end of stderr and the exit status of a child process, or the status and
first bytes of an HTTP answer.`,
		Run: func(ctx context.Context, t *Target) Finding {
			var framed *framing
			if stdio(t) {
				t.askRuntime(ctx)
				framed = t.askFraming(ctx)
				defer framed.end(false)
			}
			s, err := t.open(ctx)
			if session.ClassOf(err) == session.ClassSession && remotely(t) {
				return Finding{Status: Skip, Message: "a session was given, and the next request did not know it", Instead: affinityID}
			}
			if err != nil {
				f := lostInOpening(failure(err))
				t.tryFraming(ctx, framed, &f)
				return f
			}
			info, limits := s.Info(), t.sup.Limits()
			name := strings.TrimSpace(info.ServerName + " " + info.ServerVersion)
			if name == "" {
				name = "unnamed server"
			}
			f := pass(fmt.Sprintf("%s, %s, protocol %s", name, info.Transport, info.ProtocolVersion))
			warnings := othersWarn(info.Warnings)
			if len(warnings) > 0 { // it opened all the same
				f = warn(f.Message+"; "+warnings[0], "fix that in the server, or in the proxy in front of it: other clients may fail because of it")
			}
			f.Detail = strings.Join(append(slices.Concat(warnings, info.Notes),
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

// othersWarn returns the warnings of an opening that no other check tells of.
func othersWarn(warnings []session.Warning) []string {
	var texts []string
	for _, w := range warnings {
		if w.Kind != session.WarnRedirect && w.Kind != session.WarnUnaccepted && w.Kind != session.WarnReuse && w.Kind != session.WarnIncomplete {
			texts = append(texts, w.Text)
		}
	}
	return texts
}
