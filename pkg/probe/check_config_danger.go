package probe

import (
	"context"
	"strings"
)

func configDanger() Check {
	return Check{
		ID: "config.danger", Title: "the command does nothing dangerous", Needs: []string{"config.entry"}, Applies: stdio,
		Why: `What an entry starts runs with your rights, and entries are copied from pages and from other people's files. Some forms no
server needs: a download that is run unseen, a command that is encoded, a write to a file that is run at each login, the removal
of a home directory, a credential that is sent elsewhere, a container that is given the whole machine, a server that runs as root.
That nothing is found here says nothing about the program itself.`,
		Remedy: `Read what the command does, word by word. If you did not write it, or do not know who did, remove the entry, and see to what it may have done already.`,
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
