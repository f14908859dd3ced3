package probe

import (
	"context"
	"strings"
)

func configDanger() Check {
	return Check{
		ID: "config.danger", Title: "command does nothing dangerous", Needs: []string{"config.entry"}, Applies: stdio,
		Why: `The command of an entry runs with your rights, and entries are often copied from web pages and from other
people's files. Some things no server needs: running a download unseen, an encoded command, writing to a file
that runs at every login, removing a home directory, sending a credential elsewhere, giving a container the
whole machine, running the server as root. A pass says nothing about the program itself.`,
		Remedy: `Read the command word by word. If you did not write it, or do not know who did, remove the entry, and find out
what it may already have done.`,
		Run: func(_ context.Context, t *Target) Finding {
			dangers := t.Server.Dangers()
			if len(dangers) == 0 {
				return pass("nothing found")
			}
			texts := make([]string, len(dangers))
			kinds := make([]string, len(dangers))
			for i, d := range dangers {
				texts[i], kinds[i] = d.Place+": "+d.Message, string(d.Kind)
			}
			f := warn(strings.Join(texts, "; "), "read what the command does; if you did not write it, remove the entry")
			f.Data = map[string]any{"dangers": kinds}
			return f
		},
	}
}
