package main

import "github.com/spf13/pflag"

// answerFlags say what a server that asks something is answered.
type answerFlags struct{}

func (f *answerFlags) register(*pflag.FlagSet) {}

// answer prepares for what the servers of this run ask.
func (a *app) answer(*answerFlags) error { return nil }
