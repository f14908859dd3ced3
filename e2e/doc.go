// Package e2e shows that mcpctl works with servers that others wrote: the reference servers of the protocol and a few
// more, from npm, in the versions that package-lock.json pins, and small ones in servers on the SDKs that people use.
// `make e2e` installs them and runs the tests, which have the build tag e2e, need Node 20, and run on Linux, where /proc
// says what a test has left running. The official conformance suite needs a newer Node, which comes with it from npm.
//
// The tests run the real program as a child process, each with a home directory of its own, and type what a user would
// type. What mcpctl says of itself is held against what others saw: the log of the server, or a tap on its standard
// input. A server that misbehaves on purpose is internal/faultlab's business.
package e2e
