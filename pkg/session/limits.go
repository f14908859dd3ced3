package session

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// Limit is one bound on time: its value and where that comes from.
type Limit struct {
	// Name is the limit's key in the configuration, which is also its flag: "connect_timeout" is --connect-timeout.
	Name  string
	Value time.Duration
	// Source is the place the value comes from, as shown to people: "flag --connect-timeout", "built-in".
	Source string
	// Note says how a configured value was changed: "raised from 200ms: 1s is the least". Usually empty.
	Note string
}

// String returns "connect_timeout 30s (built-in)".
func (l Limit) String() string { return fmt.Sprintf("%s %s (%s)", l.Name, l.Value, l.Source) }

// Flag returns the flag that changes the limit.
func (l Limit) Flag() string { return "--" + strings.ReplaceAll(l.Name, "_", "-") }

// Limits are the bounds on one server's operations.
type Limits struct {
	// Connect covers everything up to a usable session: start or dial, preflight, handshake, initialized notification.
	Connect Limit
	// Request bounds one request together with its recovery. Progress that the server reports begins it anew.
	Request Limit
	// MaxRequest bounds a request however much progress it reports.
	MaxRequest Limit
	// SessionWait bounds the wait of a request for a fresh session.
	SessionWait Limit
	// Wait is how long a first opening goes on against a server that is not there yet.
	Wait Limit
}

// The built-in limits.
const (
	// DefaultConnect is enough for a server that starts or answers at once.
	DefaultConnect = 30 * time.Second
	// DefaultDownloadConnect is for commands that may download the server on first use.
	DefaultDownloadConnect = 120 * time.Second
	// MinConnect is the least connect limit: below it, a healthy server on a busy machine looks dead.
	MinConnect = time.Second
	// DefaultRequest is for tools that work for minutes.
	DefaultRequest = 300 * time.Second
	// sessionWait is the name of the limit for a replacement.
	sessionWait = "session_wait"
	// DefaultSessionWait is a server's restart.
	DefaultSessionWait = 15 * time.Second
	// DefaultWait is short: a server that is down must be reported soon.
	DefaultWait = 4 * time.Second
)

// LimitsFor returns the limits in force for server: the entry's own values, raised to their floors, else the built-in
// ones.
func LimitsFor(server config.Server) Limits {
	connect := Limit{Name: "connect_timeout", Value: DefaultConnect, Source: "built-in"}
	if downloads(server.Command, server.Args) {
		connect.Value, connect.Source = DefaultDownloadConnect, "built-in, for "+path.Base(server.Command)
	}
	connect = configured(connect, server.ConnectTimeout, server)
	if connect.Value < MinConnect {
		connect.Note = fmt.Sprintf("raised from %s: %s is the least", connect.Value, MinConnect)
		connect.Value = MinConnect
	}

	wait := configured(Limit{Name: "wait", Value: DefaultWait, Source: "built-in"}, server.Wait, server)
	if server.Wait > connect.Value {
		connect.Note = fmt.Sprintf("raised from %s to the wait", connect.Value)
		connect.Value = server.Wait
	}

	fresh := Limit{Name: sessionWait, Value: DefaultSessionWait, Source: "built-in"}
	if server.Command != "" {
		fresh.Value, fresh.Source = connect.Value, "the connect limit"
	}
	request := configured(Limit{Name: "timeout", Value: DefaultRequest, Source: "built-in"}, server.Timeout, server)
	most := Limit{Name: "max_timeout", Value: capShare * request.Value, Source: "3 times the request limit"}
	most = configured(most, server.MaxTimeout, server)
	return Limits{
		Connect:     connect,
		Request:     request,
		MaxRequest:  most,
		SessionWait: configured(fresh, server.SessionWait, server),
		Wait:        wait,
	}
}

// ForLogin returns the limits for an operation that begins with a login: each leaves the time that a person needs, from
// the start. Elsewhere the limits are raised when the login begins; see [LoginBegins].
func (l Limits) ForLogin() Limits {
	for _, limit := range []*Limit{&l.Connect, &l.Request, &l.MaxRequest, &l.SessionWait} {
		if limit.Value < loginFloor {
			limit.Note = fmt.Sprintf("raised from %s: %s", limit.Value, loginReason)
			limit.Value = loginFloor
		}
	}
	return l
}

// limitsFor returns the limits of a server for those who open sessions with this dialer.
func (d *Dialer) limitsFor(server config.Server) Limits {
	limits := LimitsFor(server)
	if d.ForLogin {
		return limits.ForLogin()
	}
	return limits
}

// configured returns the limit with the entry's value, if it has one.
func configured(l Limit, value time.Duration, server config.Server) Limit {
	if value <= 0 {
		return l
	}
	l.Value, l.Source, l.Note = value, server.Sources[l.Name].String(), ""
	return l
}

// downloads reports whether a command may fetch the server from a package registry on first use.
func downloads(command string, args []string) bool {
	name := strings.TrimSuffix(strings.TrimSuffix(path.Base(strings.ReplaceAll(command, `\`, "/")), ".exe"), ".cmd")
	switch name {
	case "npx", "bunx", "uvx":
		return true
	case "npm":
		return firstWord(args) == "exec"
	case "uv", "pipx", "docker", "podman", "deno":
		return firstWord(args) == "run"
	}
	return false
}

// firstWord returns the first argument that is not a flag.
func firstWord(args []string) string {
	i := slices.IndexFunc(args, func(a string) bool { return !strings.HasPrefix(a, "-") })
	if i < 0 {
		return ""
	}
	return args[i]
}
