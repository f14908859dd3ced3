// Package transport moves the bytes of MCP messages: over the standard streams of a child process ([Child]), or over
// HTTP ([HTTP]). It sits below the SDK's decoder, so that what the SDK throws away is still there: statuses, headers,
// first bytes, exit statuses, whether a byte was written ([Fault]), and the exact bytes of an answer ([Exchange]).
//
// It knows JSON-RPC's envelope and HTTP, and nothing of what MCP's methods mean.
package transport
