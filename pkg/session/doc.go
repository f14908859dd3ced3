// Package session opens, keeps and replaces sessions with MCP servers.
//
// A [Session] is one connection: it is used, dies, and is never revived. A [Dialer] opens one. A [Supervisor] keeps one
// server connected: when a request meets a lost session, the supervisor replaces the connection by a fresh one (a higher
// generation with a finished handshake) and repeats the request once, and only if the server cannot have executed it or
// repeating does no harm. [Supervisor.Keep] does so between requests, too: it asks for signs of life, replaces what died,
// parks what stays away, and tells of all of it by [Supervisor.Status] and [Supervisor.Events]. A [Pool] holds many servers.
//
// What a failure means is decided from evidence below the SDK's decoder: HTTP status and headers, exit status of the
// child process, whether a byte of the request was written. See classify.go for the table.
//
// Authorization comes from an [Authorizer], which the [Dialer] has for each server: it is asked for every request, and when
// one is refused. [SDKAuthorizer] makes one of a handler of the SDK.
package session
