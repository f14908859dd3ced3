//go:build !unix

package main

// hangServe is for systems whose processes stop in the ways of Unix.
func hangServe() {}

func stdioRuns() []hangRun { return nil }

func greedyRuns() []hangRun { return nil }
