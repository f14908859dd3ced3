// Package faultlab serves MCP servers that misbehave on request, so that a client can be tried against faults
// which people met in practice.
//
// A [Case] is one fault: its text (symptom, cause, what the lab does, what a good client does) and the few functions
// that make the otherwise healthy server wrong in that one way. [Cases] lists them, [Case.Serve] opens one over HTTP,
// [Case.ServeStdio] plays one over standard streams, and [Case.ConfigFile] gives the bytes of a configuration case.
// [Main] is the command around them.
//
// Where to look:
//
//   - cases_*.go: the cases, one file an area. Each value holds the text, the fault and a check that the fault shows.
//   - responder.go, tools.go: the healthy server's answers to JSON-RPC messages, the same on every transport.
//   - http_*.go, stdio.go: how those answers travel.
//   - try.go: runs a client against a case and reports what both sides saw.
//   - check*.go: the lab's test of itself.
//
// Only tests import it; it never comes into the shipped binary. Every listener is on 127.0.0.1. Only the standard
// library is used. Nothing here is fit to face a network: tokens are fixed, and requests are logged with their
// credentials.
package faultlab
