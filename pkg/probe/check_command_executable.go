package probe

import (
	"context"
)

func commandExecutable() Check {
	return Check{
		ID: "command.executable", Title: "command can be run", Needs: []string{"command.found"}, Applies: stdio,
		Why: `The file must have execute permission and be a program for this machine, or a script whose first line names an
interpreter that exists. What the system says otherwise ("no such file", "exec format error") names the wrong thing. It is
looked at before anything is started; where only a start can tell, it passes.`,
		Remedy: `Set the permission with chmod +x, mend the first line of the script, or get a build for this machine.`,
		Run: func(_ context.Context, t *Target) Finding {
			if err := t.dialer().CheckCommand(t.expanded); err != nil {
				return failure(err)
			}
			return pass("can be run")
		},
	}
}
