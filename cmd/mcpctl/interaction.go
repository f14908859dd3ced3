package main

import (
	"context"

	"github.com/spf13/pflag"
)

// interactionFlags say how a command deals with what a server says and asks while a request is on its way.
type interactionFlags struct {
	logFlags
	answerFlags
}

// register registers the flags of both.
func (f *interactionFlags) register(flags *pflag.FlagSet) {
	f.logFlags.register(flags)
	f.answerFlags.register(flags)
}

// interact prepares for what the servers of this run say and ask. It comes before anything is contacted.
func (a *app) interact(ctx context.Context, f *interactionFlags) error {
	if err := a.listen(&f.logFlags); err != nil {
		return err
	}
	return a.answer(ctx, &f.answerFlags)
}
