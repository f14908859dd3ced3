package probe

import (
	"context"
)

func commandFound() Check {
	return Check{
		ID: "command.found", Title: "command is found", Needs: []string{"config.variables"}, Applies: stdio,
		Why: `The command is looked up on the PATH that the child process gets; a relative path starts at cwd. Desktop
applications often have a different PATH than your terminal, so a command that works here may be missing there.
A full path works in both.`,
		Remedy: "Install the program, correct its name, or give its full path. Arguments belong into args, not into command.",
		Run: func(_ context.Context, t *Target) Finding {
			path, err := t.dialer().FindCommand(t.expanded)
			if err != nil {
				return failure(err)
			}
			f := pass(path)
			f.Data = map[string]any{"path": path}
			return f
		},
	}
}
