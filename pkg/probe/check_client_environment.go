package probe

import (
	"context"
	"runtime"
	"strings"

	"github.com/mcpctl/mcpctl/pkg/config"
)

func clientEnvironment() Check {
	return Check{
		ID: "client.environment", Title: "the client has the variables, too", Needs: []string{sessionOpenID},
		Why: `An application started from the desktop has none of the variables that your shell's startup files set: proxies,
certificate authorities, tokens. A server that reaches its upstream from this terminal may not reach it from
there.`,
		Remedy: "Add the variables to env of the entry in the client's file.",
		Applies: func(t *Target) bool {
			return runtime.GOOS != "windows" && launched(t, config.LaunchDesktop, config.LaunchShell)
		},
		Run: func(_ context.Context, t *Target) Finding {
			client := format(t)
			names := t.missingThere()
			data := map[string]any{"variables": names}
			switch {
			case len(names) == 0:
				return pass("nothing of this terminal's is needed")
			case client.Launch == config.LaunchShell:
				f := pass("of your login shell: " + strings.Join(names, ", "))
				f.Data = data
				return f
			case len(t.Server.References()) == 0 && !t.fetches():
				// Whether the server needs them is not known.
				f := pass(client.Title + " starts without " + strings.Join(names, ", ") + ", of which the entry uses none")
				f.Data = data
				return f
			}
			f := warn(strings.Join(names, ", ")+verb(len(names), " is", " are")+" set in this terminal, and "+client.Title+" starts without",
				`write what the server needs into "env" of the entry`)
			f.Data = data
			return f
		},
	}
}

func verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
