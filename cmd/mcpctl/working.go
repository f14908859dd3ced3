package main

import (
	"context"

	"github.com/spf13/pflag"
)

// logFlags say which of a server's log messages are shown.
type logFlags struct{}

func (f *logFlags) register(*pflag.FlagSet) {}

// listen prepares for what the servers of this run say.
func (a *app) listen(*logFlags) error { return nil }

// working shows that a request is on its way, and its progress as the server reports it to requests that are made with
// the returned context. What it shows is gone when stop has been called, which may be done more than once.
func (a *app) working(ctx context.Context, what string) (working context.Context, stop func()) {
	return ctx, a.live(what)
}
