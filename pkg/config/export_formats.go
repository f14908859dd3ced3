package config

import "time"

// A writer is how one client's entries are written. A further client is one more value in writers.
//
// Only what a client is known to read is written: a key that it does not know may make it refuse the file.
type writer struct {
	dialect dialect
	// variable is a reference to a variable, with NAME for its name; "" for a client that replaces none. With unsure, it is
	// not known whether it does. With fallback, ${NAME:-text} has a default. Where places is set, variables are replaced
	// below those keys only.
	variable         string
	unsure, fallback bool
	// about says where the client has the value of a variable from, if that is no environment.
	about  string
	places []string
	// headerVariable and bearerVariable are the keys for headers that are a variable, and for a token in Authorization.
	headerVariable, bearerVariable string
	// envVariables is the key for the names of variables that come from the client's environment under the same name; with
	// headerNames, the variables in headers are to be named there, too; with inherits, our inherit_env goes there.
	envVariables          string
	headerNames, inherits bool
	// typeKey is the key for the word of a kind.
	typeKey string
	// kinds are the kinds of servers that the file can hold; elsewhere says where the others go.
	kinds     map[Transport]exportKind
	elsewhere string
	// names are keys of ours that are called otherwise.
	names map[string]string
	// wholeCommand is set when command is a list with the arguments in it.
	wholeCommand bool
	// inner is a key below which the headers are.
	inner string
	// named is set when the entry holds its own name.
	named bool
	// cwd is set when there is a place for the directory.
	cwd bool
	// timeout and connectTimeout are the keys and units of limits.
	timeout, connectTimeout exportUnit
	// include and exclude are the keys for names of tools, below toolsBelow if that is set.
	include, exclude, toolsBelow string
	// globs is set when they may be globs.
	globs bool
	// disabled is the key that switches an entry off, and enabled the one that switches it off with false, which is always
	// written with alwaysEnabled.
	disabled, enabled string
	alwaysEnabled     bool
}

// exportKind is how the client writes a transport.
type exportKind struct {
	// url is the key for the URL, and word the value of typeKey, "" for none.
	url, word string
	// loss says what is not the same.
	loss string
}

// exportUnit is a key for a number of units.
type exportUnit struct {
	key  string
	unit time.Duration
}

// What is told of transports.
const (
	lossFinds = "finds out itself which transport a server has, and cannot be told"
	lossHTTP  = "tries one transport only, so it is written as streamable HTTP; for an older server, set transport: sse"
	lossOnly  = "speaks streamable HTTP only, and no older transport"
)

// remotes returns the kinds of a client whose file has a word for each transport. For auto, http is written.
func remotes(http, stdio, loss string) map[Transport]exportKind {
	return map[Transport]exportKind{
		TransportStdio: {word: stdio},
		TransportAuto:  {url: "url", word: http, loss: loss},
		TransportHTTP:  {url: "url", word: http},
		TransportSSE:   {url: "url", word: "sse"},
	}
}

// finders returns the kinds of a client that finds the transport out.
func finders(url string) map[Transport]exportKind {
	return map[Transport]exportKind{
		TransportStdio: {},
		TransportAuto:  {url: url},
		TransportHTTP:  {url: url, loss: lossFinds},
		TransportSSE:   {url: url, loss: lossFinds},
	}
}

// writers returns the writers by the names of the formats. The sources of what they say are those in Formats, unless
// another one stands beside it.
func writers() map[string]writer {
	return map[string]writer{
		"claude-desktop": {
			dialect: jsonDialect(),
			kinds:   map[Transport]exportKind{TransportStdio: {}},
			// support.claude.com, "Getting started with custom connectors using remote MCP", as of 2025-11: remote servers are
			// not taken from the file.
			elsewhere: "is a URL, and Claude Desktop's file holds commands only; add it there: Settings, Connectors",
		},
		"claude-code": {
			dialect: jsonDialect(), variable: "${NAME}", fallback: true,
			typeKey: "type", kinds: remotes("http", "stdio", lossHTTP),
			timeout: exportUnit{"timeout", time.Millisecond},
		},
		"cursor": {
			dialect: jsonDialect(), variable: "${env:NAME}", kinds: finders("url"),
		},
		"vscode": {
			dialect: jsonDialect(), variable: "${env:NAME}", cwd: true,
			// code.visualstudio.com/docs/copilot/reference/mcp-configuration: http falls back to SSE.
			typeKey: "type", kinds: remotes("http", "stdio", ""),
		},
		"windsurf": {
			dialect: jsonDialect(), variable: "${env:NAME}", kinds: finders("serverUrl"),
			exclude: "disabledTools", disabled: "disabled",
		},
		"cline": {
			dialect: jsonDialect(), unsure: true, cwd: true,
			// cline/cline src/services/mcp/schemas.ts, as of 2025-10: stdio, sse and streamableHttp; a url without a type is SSE.
			typeKey: "type", kinds: remotes("streamableHttp", "stdio", lossHTTP),
			timeout: exportUnit{"timeout", time.Second}, disabled: "disabled",
		},
		"gemini": {
			dialect: jsonDialect(), variable: "${NAME}", cwd: true,
			kinds: map[Transport]exportKind{
				TransportStdio: {},
				TransportAuto:  {url: "httpUrl", loss: lossHTTP},
				TransportHTTP:  {url: "httpUrl"},
				TransportSSE:   {url: "url"},
			},
			timeout: exportUnit{"timeout", time.Millisecond},
			include: "includeTools", exclude: "excludeTools",
		},
		"zed": {
			dialect: jsonDialect(), unsure: true, kinds: finders("url"), enabled: "enabled",
		},
		"codex": {
			dialect: tomlDialect(), cwd: true,
			// openai/codex codex-rs/config/src/mcp_types.rs, 2026-11: RawMcpServerConfig; an entry with a url is streamable HTTP.
			kinds: map[Transport]exportKind{
				TransportStdio: {},
				TransportAuto:  {url: "url", loss: lossOnly},
				TransportHTTP:  {url: "url"},
			},
			elsewhere:      "speaks the older transport, which Codex does not",
			names:          map[string]string{"headers": "http_headers"},
			headerVariable: "env_http_headers", bearerVariable: "bearer_token_env_var", envVariables: "env_vars", inherits: true,
			timeout: exportUnit{"tool_timeout_sec", time.Second}, connectTimeout: exportUnit{"startup_timeout_sec", time.Second},
			include: "enabled_tools", exclude: "disabled_tools", enabled: "enabled",
		},
		"goose": {
			dialect: yamlDialect(), named: true, variable: "${NAME}", places: []string{"headers"}, envVariables: "env_keys", headerNames: true,
			names:   map[string]string{"command": "cmd", "env": "envs"},
			typeKey: "type",
			// block/goose crates/goose/src/agents/extension.rs, as of 2026-11: sse is kept for old files, and not started.
			kinds: map[Transport]exportKind{
				TransportStdio: {word: "stdio"},
				TransportAuto:  {url: "uri", word: "streamable_http", loss: lossOnly},
				TransportHTTP:  {url: "uri", word: "streamable_http"},
			},
			elsewhere: "speaks the older transport, which Goose no longer does",
			timeout:   exportUnit{"timeout", time.Second}, include: "available_tools", enabled: "enabled", alwaysEnabled: true,
		},
		"hermes": {
			dialect: yamlDialect(), variable: "${NAME}", kinds: finders("url"),
			timeout: exportUnit{"timeout", time.Second}, connectTimeout: exportUnit{"connect_timeout", time.Second},
			include: "include", exclude: "exclude", toolsBelow: "tools", globs: true, enabled: "enabled",
		},
		"opencode": {
			dialect: jsonDialect(), variable: "{env:NAME}", wholeCommand: true,
			names: map[string]string{"env": "environment"}, typeKey: "type",
			kinds: map[Transport]exportKind{
				TransportStdio: {word: "local"},
				TransportAuto:  {url: "url", word: "remote"},
				TransportHTTP:  {url: "url", word: "remote", loss: lossFinds},
				TransportSSE:   {url: "url", word: "remote", loss: lossFinds},
			},
			timeout: exportUnit{"timeout", time.Millisecond}, enabled: "enabled", alwaysEnabled: true,
		},
		"continue": {
			dialect: yamlDialect(), named: true, variable: "${{ secrets.NAME }}", cwd: true,
			// docs.continue.dev, "Secrets", as of 2026-11: those on this machine are in ~/.continue/.env.
			about: "has secrets in the place of variables: put the value into ~/.continue/.env",
			inner: "requestOptions", typeKey: "type",
			kinds: map[Transport]exportKind{
				TransportStdio: {},
				TransportAuto:  {url: "url"},
				TransportHTTP:  {url: "url", word: "streamable-http"},
				TransportSSE:   {url: "url", word: "sse"},
			},
			connectTimeout: exportUnit{"connectionTimeout", time.Millisecond},
		},
		"lmstudio": {
			dialect: jsonDialect(), unsure: true, kinds: finders("url"),
		},
		"mcporter": {
			dialect: jsonDialect(), variable: "${NAME}", fallback: true, kinds: finders("baseUrl"), cwd: true,
		},
		"json": {
			dialect: jsonDialect(), variable: "${NAME}", fallback: true, cwd: true,
			typeKey: "type", kinds: remotesOr(TransportAuto, remotes("http", "", "")),
			disabled: "disabled",
		},
	}
}

// remotesOr returns kinds in which one transport has no word.
func remotesOr(plain Transport, kinds map[Transport]exportKind) map[Transport]exportKind {
	kind := kinds[plain]
	kind.word = ""
	kinds[plain] = kind
	return kinds
}

// isList reports whether the client's servers are in a list, each with its name.
func (f Format) isList() bool { return f.list }

// template returns a client's value as a template of ours.
func (f Format) template(text string) (string, []Placeholder) { return f.syntax.template(text, "") }
