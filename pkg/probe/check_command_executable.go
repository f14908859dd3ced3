package probe

import (
	"context"
)

func commandExecutable() Check {
	return Check{
		ID: "command.executable", Title: "command can be run", Needs: []string{"command.found"}, Applies: stdio,
		Why: `The file must have execute permission and be a program for this machine, or a script whose first line names an
interpreter that exists. The system's own messages ("no such file", "exec format error") are misleading. This is
checked before anything is started; what only a start can show passes here.`,
		Remedy: "Set the permission with chmod +x, correct the first line of the script, or get a build for this machine.",
		Run: func(_ context.Context, t *Target) Finding {
			if err := t.dialer().CheckCommand(t.expanded); err != nil {
				return failure(err)
			}
			return pass("can be run")
		},
	}
}
