// Package oauth gets, keeps and uses authorization for MCP servers over HTTP: it follows a server's challenge along the
// documents that describe how the server is protected, gets a token by a person in a browser or by a grant without one,
// keeps it, refreshes it, and puts it into requests.
//
// What lives here is the protocol of authorization and the store of credentials. What never comes in: how requests
// travel (package transport, and the client that [Options].Client returns), who may be asked and when (the commands
// choose), and what people read on the screen.
//
// # Design
//
// An [Authorizer] belongs to one server and is asked by the round tripper of each connection: to put what there is into
// a request (Authorize), what to do about a refusal (Refused), and that a request was accepted (Accepted). So it works
// alike for every kind of request and transport, and in both protocol eras.
//
// One flow runs at a time; others that were refused meanwhile wait for its outcome. A flow that failed is remembered: a
// second refusal is not answered by a second browser window. What a flow brings is used at once, but kept only when the
// server has accepted it, so a failed login leaves the earlier credentials as they were. A refreshed token is kept at once,
// under a lock that all processes share, as the authorization server may have rotated its refresh token.
//
// See the MCP specification, 2025-11-25 and 2026-07-28, "Authorization"; RFC 6749, 7523, 7591, 7636, 8414, 8693, 8707,
// 9207, 9449 and 9728.
package oauth
