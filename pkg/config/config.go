// Package config is the address book: files of server entries and the values in them.
//
// It reads and edits mcpctl's own YAML file strictly, and expands ${NAME} variables late, when a server is used. It
// knows no network, starts nothing, and prints nothing. Expansion returns the secrets it met; whoever writes output
// registers them with a redactor.
package config

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Transport says how a server is reached.
type Transport string

// The transports of an entry. See the MCP specification, 2025-11-25, "Transports".
const (
	// TransportAuto tries streamable HTTP first and the older HTTP with SSE when the server asks for it.
	TransportAuto Transport = "auto"
	// TransportHTTP is streamable HTTP only.
	TransportHTTP Transport = "http"
	// TransportSSE is the HTTP with SSE transport of 2024-11-05.
	TransportSSE Transport = "sse"
	// TransportStdio is a child process that speaks over its standard streams.
	TransportStdio Transport = "stdio"
)

// Config is the contents of one configuration file. The zero value is an empty configuration.
type Config struct {
	// Path is the file the configuration came from, "-" for standard input, "" for none.
	Path string
	// Defaults hold for every server that does not say otherwise.
	Defaults Defaults
	// Servers are the entries, in the order of the file.
	Servers []Server
	// Format is that of another client's file, which is read and never edited; nil for mcpctl's own.
	Format *Format
	// Notes are what another client's file says and mcpctl has no place for, as far as it concerns no single entry.
	Notes []Note
}

// Defaults are the values for every server that does not say otherwise. Zero means not set.
type Defaults struct {
	ConnectTimeout time.Duration
	Timeout        time.Duration
}

// Server is one entry: how to reach one MCP server. It is a plain value; changing a copy changes nothing else.
// Durations are zero when neither the entry nor the file's defaults set them.
type Server struct {
	Name string

	// Command and Args start a stdio server. Exactly one of Command and URL is set.
	Command    string
	Args       []string
	Env        map[string]string
	InheritEnv InheritEnv
	Cwd        string

	// URL and Headers reach an HTTP server.
	URL     string
	Headers map[string]string

	// Auth says when a login may begin, "" for AuthAuto.
	Auth Auth
	// OAuth are the values for a login, nil for none.
	OAuth *OAuth

	// TLS says whom an HTTPS connection trusts.
	TLS TLS
	// Proxy is the URL of the proxy that all requests go through, ProxyNone for none, and "" for what the environment
	// says (HTTP_PROXY, HTTPS_PROXY, NO_PROXY).
	Proxy string
	// ConnectTo is the address, HOST or HOST:PORT, that is dialled in place of the URL's; the URL keeps its say in the Host
	// header and in the name that the certificate must have. No file sets it, and it is never written.
	ConnectTo string

	// Transport is never empty after loading: TransportStdio for a command, else TransportAuto unless set.
	Transport Transport
	// Protocol pins the protocol version, "" or "auto" for negotiation.
	Protocol string
	Enabled  bool

	ConnectTimeout time.Duration
	Timeout        time.Duration
	// MaxTimeout bounds a request whose Timeout begins anew with each sign of progress.
	MaxTimeout  time.Duration
	Wait        time.Duration
	SessionWait time.Duration

	// Keepalive is how often a session that is held open is asked for a sign of life; Off for never.
	Keepalive time.Duration
	Retry     Retry
	Breaker   Breaker

	SkipPreflight bool
	Tools         ToolFilter
	// Health is the call that shows whether the server does its work, nil for none.
	Health *Health
	// Smoke are further calls, made to see whether the server does its work.
	Smoke []Smoke

	// Sources says where values come from, by key ("connect_timeout", "url", …). A key that is missing here has its
	// built-in value.
	Sources map[string]Source

	// Dir is the directory of our own file that the entry came from, in which the relative paths of ${file:PATH} start; ""
	// is the working directory.
	Dir string

	// Foreign is set for an entry that came from another client's file.
	Foreign *Foreign

	// Err is what is wrong with this entry alone; the other entries of the file still work. It is reported when the
	// entry is used.
	Err error
}

// InheritEnv says which variables of mcpctl's own environment a child gets beyond the usual ones.
type InheritEnv struct {
	All   bool
	Names []string
}

// ToolFilter selects a server's tools by globs on their names. Include wins over Exclude; the zero value selects all.
type ToolFilter struct {
	Include []string
	Exclude []string
}

// Source is the place a value comes from.
type Source struct {
	// Kind is "flag", "entry", "default" (the file's defaults) or "environment".
	Kind string
	// Detail is the flag ("--connect-timeout"), or the file and line ("config.yaml:7").
	Detail string
}

// String returns the source as it is shown to people: "flag --connect-timeout", "entry, config.yaml:7".
func (s Source) String() string {
	switch {
	case s.Kind == "":
		return "built-in"
	case s.Detail == "":
		return s.Kind
	case s.Kind == "flag":
		return "flag " + s.Detail
	default:
		return fmt.Sprintf("%s, %s", s.Kind, s.Detail)
	}
}

// Clone returns a copy that shares nothing with s.
func (s Server) Clone() Server {
	s.Args = slices.Clone(s.Args)
	s.Env = maps.Clone(s.Env)
	s.Headers = maps.Clone(s.Headers)
	s.InheritEnv.Names = slices.Clone(s.InheritEnv.Names)
	s.Tools.Include = slices.Clone(s.Tools.Include)
	s.Tools.Exclude = slices.Clone(s.Tools.Exclude)
	s.OAuth = s.OAuth.clone()
	s.Health = s.Health.clone()
	s.Smoke = cloneSmoke(s.Smoke)
	s.Foreign = s.Foreign.clone()
	s.Sources = maps.Clone(s.Sources)
	return s
}

// Set records where the value of key comes from. It allocates Sources when needed.
func (s *Server) Set(key string, source Source) {
	if s.Sources == nil {
		s.Sources = map[string]Source{}
	}
	s.Sources[key] = source
}

// Server returns the entry called name.
func (c *Config) Server(name string) (Server, bool) {
	for i := range c.Servers {
		if c.Servers[i].Name == name {
			return c.Servers[i].Clone(), true
		}
	}
	return Server{}, false
}

// Editable returns why the file cannot be edited: it is another client's. The error is an *Error.
func (c *Config) Editable() error {
	if c.Format == nil {
		return nil
	}
	return notEdited(c.Path, *c.Format)
}

// notEdited is the refusal to change another client's file.
func notEdited(file string, f Format) *Error {
	if !f.Known() {
		return &Error{File: file, Message: "is another client's file, which is read but not edited", Hint: "change it by hand, or leave --config out"}
	}
	return &Error{File: file, Message: "is " + f.Title + "'s file, which is read but not edited", Hint: "change it in " + f.Title + ", or leave --config out"}
}

// Target returns what the entry points at, as people would write it: the URL, or the command line, unexpanded.
func (s Server) Target() string {
	if s.URL != "" {
		return s.URL
	}
	words := slices.Clone(s.Args)
	if s.Command != "" {
		words = slices.Insert(words, 0, s.Command)
	}
	for i, w := range words {
		words[i] = Quote(w)
	}
	return join(words)
}
