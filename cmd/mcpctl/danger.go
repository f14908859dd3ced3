package main

import (
	"context"
	"fmt"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// tellDangers warns of what looks dangerous in the command of an entry, and reports whether anything does.
func (a *app) tellDangers(s config.Server) bool {
	dangers := s.Dangers()
	for _, d := range dangers {
		a.warn(fmt.Sprintf("mcpctl: warning: %s: %s: %s\n", oneLine(s.Name), d.Place, d.Message))
	}
	return len(dangers) > 0
}

// allowDangers is asked before an entry is started for the first time. It warns, and a person at a terminal decides, unless
// the answer was given beforehand. Where nobody can be asked the warning has to do: scripts start what they were told to.
func (a *app) allowDangers(ctx context.Context, s config.Server, yes bool) error {
	if !a.tellDangers(s) || yes || !a.canPrompt() {
		return nil
	}
	start, err := a.asker().Confirm(ctx, "Start it anyway?")
	switch {
	case err != nil:
		return err
	case !start:
		a.note("nothing was started or saved")
		return reportedError(codeFailed)
	}
	return nil
}
