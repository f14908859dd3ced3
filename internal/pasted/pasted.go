// Package pasted reads what people paste to say which server they mean: a URL, a command line, JSON from a README, or a line
// with which another tool adds a server.
package pasted

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/mcpctl/mcpctl/internal/shellwords"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// Error is what is wrong with a text.
type Error struct {
	Message string
	// Example is what would be right, quoted for a shell, and Hint what is said before it. Either may be "".
	Hint, Example string
}

func (e *Error) Error() string { return e.Message }

// Servers returns the servers that a pasted text describes.
func Servers(text string) ([]config.Server, error) {
	text = strings.TrimSpace(text)
	if IsSnippet(text) {
		servers, err := Snippet("-", text, "")
		if err == nil || !strings.HasPrefix(text, "```") {
			return servers, Short(err)
		}
		text = unfenced(text) // a command line in a block
	}
	text = strings.TrimPrefix(strings.TrimSpace(text), "$ ")
	words, err := Split(text)
	if err == nil && len(words) > 0 {
		for i := range words {
			// A tool that gets ${NAME} in quotes replaces it itself, as we do.
			words[i] = strings.ReplaceAll(words[i], "$$", "$")
		}
		for len(words) > 1 && words[0] == "mcpctl" { // a line of ours, or one of another tool behind it
			words = words[1:]
			if words[0] == "add" {
				words = words[1:]
			}
			if len(words) > 1 && words[0] != "claude" && words[0] != "gemini" && words[0] != "codex" {
				s, err := otherAdd(words)
				return []config.Server{s}, Short(err)
			}
		}
		tool, s, err := Line(words)
		if tool != "" {
			return []config.Server{s}, Short(err)
		}
	}
	s, err := Target(text)
	if err == nil {
		checked := s.Clone()
		checked.Name = "server"
		err = checked.Validate()
	}
	return []config.Server{s}, Short(err)
}

// Short returns an error as it fits below a field.
func Short(err error) error {
	var e *config.Error
	if !errors.As(err, &e) {
		return err
	}
	text := e.Message
	if e.Line > 0 {
		text = fmt.Sprintf("line %d: %s", e.Line, text)
	}
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return errors.New(text)
}

// IsURL reports whether word is a URL that a server may have.
func IsURL(word string) bool {
	scheme, _, found := strings.Cut(word, "://")
	return found && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// LooksLikeHost reports whether word is a URL that lacks only its scheme.
func LooksLikeHost(word string) bool {
	return regexp.MustCompile(`^(localhost|[\w-]+(\.[\w-]+)+)(:\d+)?/`).MatchString(word) ||
		regexp.MustCompile(`^(localhost|[\w.-]+):\d+$`).MatchString(word)
}

// HasOtherScheme reports whether word is a URL of a kind that no server has.
func HasOtherScheme(word string) bool {
	return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`).MatchString(word) && !IsURL(word)
}

// Target returns the server that a text points at: a URL, or a command line with assignments before it.
func Target(text string) (config.Server, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return config.Server{}, errors.New("a URL, or a command line, is wanted")
	case IsURL(text) && !strings.ContainsAny(text, " \t\n"):
		return config.Server{URL: text, Transport: config.TransportAuto, Enabled: true}, nil
	case HasOtherScheme(text):
		return config.Server{}, errors.New("the URL of a server begins with http:// or https://")
	}
	words, err := Split(strings.TrimPrefix(text, "$ "))
	if err != nil {
		return config.Server{}, err
	}
	return Command(words)
}

// Assignment is NAME=value in front of a command.
func Assignment(word string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(word, "=")
	if !ok || name == "" || name[0] >= '0' && name[0] <= '9' {
		return "", "", false
	}
	for _, r := range name {
		if r != '_' && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9') {
			return "", "", false
		}
	}
	return name, value, true
}

// Command returns the server that a command starts. Assignments in front of it are its environment.
func Command(words []string) (config.Server, error) {
	s := config.Server{Transport: config.TransportStdio, Enabled: true}
	if len(words) > 1 && words[0] == "env" {
		words = words[1:]
	}
	for len(words) > 0 {
		name, value, ok := Assignment(words[0])
		if !ok {
			break
		}
		SetEnv(&s, name, value)
		words = words[1:]
	}
	if len(words) == 0 {
		return s, errors.New("no command")
	}
	if len(words) == 1 && LooksLikeHost(words[0]) && !strings.HasPrefix(words[0], ".") && !strings.HasPrefix(words[0], "/") {
		return s, errors.New("for a URL, write https:// before it")
	}
	s.Command, s.Args = words[0], words[1:]
	return s, nil
}

// CommandLine returns a command line that Target reads back as these words. A reference to a variable stays one.
func CommandLine(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		if !strings.Contains(w, "$") {
			out[i] = shellwords.Quote(w)
			continue
		}
		w = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`", "$$", `\$`).Replace(w)
		out[i] = `"` + w + `"`
	}
	return strings.Join(out, " ")
}

// Header splits "Name: value". A value that lacks its credential was lost in the shell.
func Header(s string) (name, value string, err error) {
	name, value, found := strings.Cut(s, ":")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if !found || name == "" {
		return "", "", &Error{Message: "no name and colon in it", Example: "'Name: value'"}
	}
	if strings.ContainsFunc(name, func(r rune) bool { return !isTokenRune(r) }) {
		return "", "", &Error{Message: fmt.Sprintf("%q is not the name of a header", name), Example: "'Name: value'"}
	}
	if strings.ContainsAny(value, "\r\n\x00") {
		return "", "", &Error{Message: name + ": a line end in the value"}
	}
	if scheme := strings.ToLower(value); scheme == "bearer" || scheme == "basic" {
		return "", "", unset(name+": nothing after "+value, name+": "+value+" ${TOKEN}")
	}
	return name, value, nil
}

// Valued is [Header] for one that is kept: its value may not be empty.
func Valued(s string) (name, value string, err error) {
	name, value, err = Header(s)
	if err != nil || value != "" {
		return name, value, err
	}
	example := "${VALUE}"
	if strings.EqualFold(name, "authorization") {
		example = "Bearer ${TOKEN}"
	}
	return "", "", unset(name+": nothing after the colon", name+": "+example)
}

// unset is a header that lacks a value.
func unset(what, example string) error {
	return &Error{what + ": the shell expanded an unset variable", "in single quotes mcpctl puts the variable in", "'" + example + "'"}
}

// isTokenRune reports whether r may stand in the name of a header (RFC 9110, 5.6.2).
func isTokenRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

// SetHeader sets a header in place of one of that name in whatever case.
func SetHeader(server *config.Server, name, value string) {
	for other := range server.Headers {
		if strings.EqualFold(other, name) {
			delete(server.Headers, other)
		}
	}
	if server.Headers == nil {
		server.Headers = map[string]string{}
	}
	server.Headers[name] = value
}

// Env splits NAME=value. A NAME alone is the variable as mcpctl has it.
func Env(s string) (name, value string, err error) {
	name, value, found := strings.Cut(s, "=")
	if name == "" || strings.ContainsAny(name, " \t${}") {
		return "", "", &Error{Message: fmt.Sprintf("%q is not NAME=value", s)}
	}
	if !found {
		value = "${" + name + "}"
	}
	return name, value, nil
}

// SetEnv sets a variable of a server's command.
func SetEnv(server *config.Server, name, value string) {
	if server.Env == nil {
		server.Env = map[string]string{}
	}
	server.Env[name] = value
}

// Glob returns the glob that matches one name alone.
func Glob(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}
