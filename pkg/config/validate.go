package config

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// problem is something wrong with the values of a server, wherever they came from.
type problem struct {
	key, message, hint string
	// missing marks what may be the consequence of another error.
	missing bool
}

// Validate reports what is wrong with a server that was built from flags, by the rules for entries of a file: each
// problem is an *Error with its key, several are joined. The values are taken as written, before Expand. An ad-hoc
// server whose name is a URL is no entry; its values are checked by Expand.
func (s Server) Validate() error {
	problems := append(s.ownNameProblems(), append(s.problems(), s.writtenProblems()...)...)
	return problemsError(s.Name, problems)
}

// ownNameProblems says why the entry cannot have its name.
func (s *Server) ownNameProblems() []problem {
	if s.Foreign != nil {
		return foreignNameProblems(s.Name)
	}
	return nameProblems(s.Name)
}

// ValidateName reports why name cannot be the name of an entry.
func ValidateName(name string) error { return problemsError(name, nameProblems(name)) }

func problemsError(server string, problems []problem) error {
	var errs []error
	for _, p := range problems {
		errs = append(errs, &Error{Server: server, Key: p.key, Message: p.message, Hint: p.hint})
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// ParseTransport returns the transport of that name. Other clients' words for streamable HTTP are accepted.
func ParseTransport(s string) (Transport, error) {
	switch s {
	case "auto", "http", "sse", "stdio":
		return Transport(s), nil
	case "streamable-http", "streamable_http", "streamableHttp":
		return TransportHTTP, nil
	}
	return "", fmt.Errorf("%q is not a transport; write auto, http, sse or stdio", s)
}

// nameProblems says why a name cannot be typed where a server is asked for: it would be taken for a flag, a URL, a glob
// or several words.
func nameProblems(name string) []problem {
	const hint = "use letters, digits, - and _"
	switch {
	case name == "":
		return []problem{{message: "the name of a server is empty", hint: hint}}
	case strings.HasPrefix(name, "-"):
		return []problem{{message: "the name of a server must not begin with -, as a flag does", hint: hint}}
	case strings.ContainsAny(name, "/*?["):
		return []problem{{message: "the name of a server must not hold any of / * ? [", hint: hint}}
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		return []problem{{message: "the name of a server must not hold white space or control characters", hint: hint}}
	}
	return nil
}

// problems says what is wrong with the values, in the order of the keys. It holds before and after expansion.
func (s *Server) problems() []problem {
	var found []problem
	add := func(key, message, hint string) {
		found = append(found, problem{key: key, message: message, hint: hint})
	}

	switch {
	case s.Command == "" && s.URL == "":
		found = append(found, problem{message: "neither command nor url is set", hint: "set one of them", missing: true})
	case s.Command != "" && s.URL != "":
		add("url", "command and url are both set", "keep one of them")
	case s.Command != "":
		if len(s.Headers) > 0 {
			add("headers", "headers belong to a url, and this entry starts a command", "give the command its values in env or args")
		}
		if s.Transport == TransportHTTP || s.Transport == TransportSSE {
			add("transport", fmt.Sprintf("%s needs a url, and this entry starts a command", s.Transport), "remove transport, or set url")
		}
	default:
		for _, unfit := range []struct {
			key string
			set bool
		}{
			{"args", len(s.Args) > 0},
			{"env", len(s.Env) > 0},
			{"inherit_env", s.InheritEnv.All || len(s.InheritEnv.Names) > 0},
			{"cwd", s.Cwd != ""},
		} {
			if unfit.set {
				add(unfit.key, "belongs to a command, and this entry has a url", "remove it")
			}
		}
		if s.Transport == TransportStdio {
			add("transport", "stdio needs a command, and this entry has a url", "remove transport, or set command")
		}
		if message, hint := urlProblem(s.URL); message != "" {
			add("url", message, hint)
		}
	}
	found = append(found, s.authProblems()...)
	found = append(found, s.networkProblems()...)
	switch s.Transport {
	case "", TransportAuto, TransportHTTP, TransportSSE, TransportStdio:
	default:
		add("transport", fmt.Sprintf("%q is not a transport", string(s.Transport)), "write auto, http, sse or stdio")
	}

	for _, text := range s.processTexts() {
		if strings.IndexByte(text.value, 0) >= 0 {
			add(text.place(), "holds a NUL character, which no program can be given", "remove it")
		}
	}
	for _, name := range sortedKeys(s.Env) {
		if !validEnvName(name) {
			add(below("env", name), "is not the name of a variable", "a name has no =, no white space and no control characters")
		}
	}
	for i, name := range s.InheritEnv.Names {
		if !validEnvName(name) {
			add(fmt.Sprintf("inherit_env[%d]", i), "is not the name of a variable", "a name has no =, no white space and no control characters")
		}
	}
	found = append(found, headerProblems(s.Headers)...)

	if s.Protocol != "" && s.Protocol != "auto" {
		if _, err := time.Parse(time.DateOnly, s.Protocol); err != nil {
			add("protocol", fmt.Sprintf("%q is no protocol version", s.Protocol), "write auto, or a date such as 2025-11-25")
		}
	}
	for _, limit := range []struct {
		key   string
		value time.Duration
	}{
		{"connect_timeout", s.ConnectTimeout},
		{"timeout", s.Timeout},
		{"max_timeout", s.MaxTimeout},
		{"wait", s.Wait},
		{"session_wait", s.SessionWait},
		{"keepalive", max(s.Keepalive, 0)},
		{"retry.park_interval", s.Retry.ParkInterval},
		{"retry.max_backoff", s.Retry.MaxBackoff},
		{"breaker.cooldown", s.Breaker.Cooldown},
	} {
		switch {
		case limit.value < 0:
			add(limit.key, limit.value.String()+": must be more than zero", "")
		case limit.value > maxDuration:
			add(limit.key, limit.value.String()+": more than 24h", "")
		}
	}
	found = append(found, s.upkeepProblems()...)
	globs := func(key string, globs []string) {
		for i, glob := range globs {
			place := fmt.Sprintf("%s[%d]", key, i)
			if glob == "" {
				add(place, "is empty", "remove it")
			} else if _, err := path.Match(glob, ""); err != nil {
				add(place, fmt.Sprintf("%q is no glob", glob), `close the bracket, or write \[ for a plain one`)
			}
		}
	}
	globs("tools.include", s.Tools.Include)
	globs("tools.exclude", s.Tools.Exclude)
	found = append(found, s.healthProblems()...)
	return found
}

// urlProblem says why a URL cannot be used, without printing it: it may hold a password or a token. References stand
// for something that is not known yet.
func urlProblem(raw string) (message, hint string) {
	const example = "write it as https://host/path"
	masked := maskReferences(raw, "1")
	scheme, rest, hasScheme := strings.Cut(masked, "://")
	// The authority ends where path, query or fragment begin. What is before its last @ is user info.
	authority := before(rest, "/?#")
	if hasScheme && strings.Contains(authority, "@") {
		return "has a user name or password in it", "remove it, and put the credential into headers, as Authorization: Basic"
	}
	if strings.HasPrefix(raw, "${") {
		return "", ""
	}
	if !hasScheme {
		return "is not a complete URL", example
	}
	if s := strings.ToLower(scheme); s != "http" && s != "https" {
		return "must begin with http:// or https://", example
	}
	u, err := url.Parse(masked)
	if err != nil {
		// The message of a url.Error repeats the whole URL, and others repeat parts.
		var host url.InvalidHostError
		var escape url.EscapeError
		switch {
		case errors.As(err, &host):
			return "the host name has a character that cannot be in one", example
		case errors.As(err, &escape):
			return "has a % that begins no escape", "write %25 for a plain one"
		}
		return "the host or the port is malformed", example
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return "the port is not between 1 and 65535", ""
		}
	}
	if u.Hostname() == "" {
		return "has no host", example
	}
	return "", ""
}

// before returns s up to the first of several characters.
func before(s, chars string) string {
	if i := strings.IndexAny(s, chars); i >= 0 {
		return s[:i]
	}
	return s
}

// ownHeaders are those of the protocol itself (specification 2025-11-25, "Streamable HTTP"; 2026-07-28, "Routing Headers").
// One in an entry, copied from another client's request, would take the place of the session's own: the server would
// refuse every request, as if it had lost the session.
var ownHeaders = []string{"mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name"}

// headerProblems says what is wrong with headers, naming them and never printing a value.
func headerProblems(headers map[string]string) []problem {
	var found []problem
	first := map[string]string{}
	for _, name := range sortedKeys(headers) {
		key := below("headers", name)
		if !validHeaderName(name) {
			found = append(found, problem{key: key, message: "is not the name of a header", hint: "a name has letters, digits and -, and no colon"})
			continue
		}
		if slices.Contains(ownHeaders, strings.ToLower(name)) {
			found = append(found, problem{key: key, message: "differs from session to session, and is set by mcpctl", hint: "remove it; protocol pins a version"})
		}
		if other, ok := first[strings.ToLower(name)]; ok {
			found = append(found, problem{key: key, message: fmt.Sprintf("is the same header as %q", other), hint: "keep one"})
		}
		first[strings.ToLower(name)] = name
		value := headers[name]
		if strings.ContainsFunc(value, func(r rune) bool { return r != '\t' && unicode.IsControl(r) }) {
			found = append(found, problem{key: key, message: "the value holds a line break or another control character", hint: "remove it; a token read from a file may end in one"})
		}
		if scheme := strings.TrimSpace(value); strings.EqualFold(scheme, "Bearer") || strings.EqualFold(scheme, "Basic") {
			found = append(found, problem{key: key, message: "nothing follows " + scheme, hint: "a variable was empty, or the shell expanded it too early; put single quotes around ${…} there"})
		}
	}
	return found
}

// validHeaderName reports whether name is a token (RFC 9110, section 5.6.2).
func validHeaderName(name string) bool {
	return name != "" && strings.IndexFunc(name, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	}) < 0
}

// validEnvName reports whether a child could be given a variable of that name. It is wider than a shell's rule:
// ProgramFiles(x86) is a name on Windows.
func validEnvName(name string) bool {
	return name != "" && strings.IndexFunc(name, func(r rune) bool {
		return r == '=' || unicode.IsSpace(r) || unicode.IsControl(r)
	}) < 0
}

// sortedKeys returns the keys of a mapping in their order.
func sortedKeys(m map[string]string) []string {
	if len(m) == 0 {
		return nil
	}
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// placedText is a value together with its place in the entry: a key, an element of it, or a member.
type placedText struct {
	key, member string
	// element is one more than the index.
	element int
	value   string
}

// place names the place: "url", "args[1]", "headers.Authorization".
func (t placedText) place() string {
	switch {
	case t.element > 0:
		return indexed(t.key, t.element-1)
	case t.member != "":
		return below(t.key, t.member)
	}
	return t.key
}

// processTexts returns the values that go to a child process.
func (s Server) processTexts() []placedText { return s.appendProcessTexts(nil) }

func (s *Server) appendProcessTexts(texts []placedText) []placedText {
	texts = slices.Grow(texts, 2+len(s.Args)+len(s.Env))
	texts = append(texts, placedText{key: "command", value: s.Command})
	for i, arg := range s.Args {
		texts = append(texts, placedText{key: "args", element: i + 1, value: arg})
	}
	for _, name := range sortedKeys(s.Env) {
		texts = append(texts, placedText{key: "env", member: name, value: s.Env[name]})
	}
	return append(texts, placedText{key: "cwd", value: s.Cwd})
}

// texts returns the values in which references are expanded, in the order of the keys.
func (s *Server) texts() []placedText {
	const others = 3 // command, cwd and url
	texts := s.appendProcessTexts(make([]placedText, 0, others+len(s.Args)+len(s.Env)+len(s.Headers)))
	texts = append(texts, placedText{key: "url", value: s.URL})
	for _, name := range sortedKeys(s.Headers) {
		texts = append(texts, placedText{key: "headers", member: name, value: s.Headers[name]})
	}
	texts = append(texts, s.OAuth.placed()...)
	return append(texts, s.networkTexts()...)
}

// writtenProblems says what is wrong with the values as they are written, before expansion: malformed references, and
// text that no file can hold.
func (s *Server) writtenProblems() []problem {
	var found []problem
	for _, t := range s.texts() {
		if !utf8.ValidString(t.value) {
			found = append(found, problem{key: t.place(), message: "is not UTF-8 text, which a file cannot hold"})
			continue
		}
		if !strings.Contains(t.value, "$") {
			continue
		}
		parts, err := parseTemplate(t.value)
		if err != nil {
			found = append(found, problem{key: t.place(), message: err.Error()})
			continue
		}
		for _, p := range parts {
			if s.Foreign == nil && isAsked(p.name) {
				kind, _, _ := strings.Cut(p.name, ":")
				found = append(found, problem{key: t.place(), message: fmt.Sprintf("${%s:…} is for other clients' files; use a variable, ${NAME}", kind)})
			}
		}
	}
	return found
}
