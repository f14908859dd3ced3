package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// This file has the readers of keys that only one or two clients have.

// named reads a key as the one that other clients call key. Errors have the name that is written.
func named(key string) foreignKey {
	return func(e *entry, s *Server, f field) {
		written, before := f.name, len(e.errs)
		f.name = key
		foreignKeys()[key](e, s, f)
		e.written[key] = written
		for _, err := range e.errs[before:] {
			if rest, ok := strings.CutPrefix(err.Key, key); ok {
				err.Key = written + rest
			}
		}
	}
}

// label reads what is only shown to people.
func label(*entry, *Server, field) {}

// includedTools and excludedTools read names of tools.
func includedTools(e *entry, s *Server, f field) { e.filter(s, f, &s.Tools.Include) }
func excludedTools(e *entry, s *Server, f field) { e.filter(s, f, &s.Tools.Exclude) }

// includedToolsIfAny is includedTools for a client to which an empty list means all.
func includedToolsIfAny(e *entry, s *Server, f field) {
	if f.value.Kind != yaml.SequenceNode || len(f.value.Content) > 0 {
		includedTools(e, s, f)
	}
}

// variable reads a key whose value is the name of a variable. The message must not show what may be the secret itself.
func (e *entry) variable(n *yaml.Node, key string) (string, bool) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != tagString {
		e.fail(n, key, "want the name of a variable, found "+describe(n), "")
		return "", false
	}
	if !validVariable(n.Value) {
		e.fail(n, key, "is no name of a variable; a name has letters, digits and _", "write the name of the variable that holds the value, not the value")
		return "", false
	}
	return n.Value, true
}

// header sets a header to a template of ours, when the values of the entry have become such ones.
func (e *entry) header(at *yaml.Node, name, template string) {
	place := below("headers", name)
	e.at.set(place, at)
	e.after = append(e.after, func(s *Server) {
		if s.Headers == nil {
			s.Headers = map[string]string{}
		}
		for other := range s.Headers {
			if strings.EqualFold(other, name) {
				delete(s.Headers, other)
			}
		}
		s.Headers[name] = template
		s.Set("headers", e.source("entry", at))
	})
}

// bearerVariable reads the name of a variable with a token.
func bearerVariable(e *entry, s *Server, f field) {
	if name, ok := e.variable(f.value, f.name); ok {
		e.header(f.key, "Authorization", "Bearer ${"+name+"}")
	}
}

// headerVariables reads headers whose values are in variables.
func headerVariables(e *entry, _ *Server, f field) {
	if f.value.Kind != yaml.MappingNode {
		e.fail(f.value, f.name, "want a mapping, found "+describe(f.value), "")
		return
	}
	for _, m := range e.fields(f.value, f.name) {
		if name, ok := e.variable(m.value, below(f.name, m.name)); ok {
			e.header(m.key, m.name, "${"+name+"}")
		}
	}
}

// codexVariables reads the names of variables that the server gets from Codex's own environment: texts, or mappings with
// name and source.
func codexVariables(e *entry, s *Server, f field) {
	if f.value.Kind != yaml.SequenceNode {
		e.fail(f.value, f.name, "want a list, found "+describe(f.value), "")
		return
	}
	e.set(s, f, "inherit_env", func() {
		for i, item := range f.value.Content {
			key := fmt.Sprintf("%s[%d]", f.name, i)
			if item.Kind == yaml.MappingNode {
				if source := valueOf(item, "source"); source != nil && source.Value != "local" {
					e.note(s, item, key, "its value comes from another machine, and is not used")
					continue
				}
				if name := valueOf(item, "name"); name != nil {
					item = name
				}
			}
			if name, ok := e.variable(item, key); ok {
				s.InheritEnv.Names = append(s.InheritEnv.Names, name)
			}
		}
	})
}

// codexStart reads the limit for the start. The one in seconds wins.
func codexStart(unit time.Duration) foreignKey {
	return func(e *entry, s *Server, f field) {
		if unit == time.Millisecond && e.at.get("connect_timeout") != nil {
			e.note(s, f.key, f.name, "startup_timeout_sec wins")
			return
		}
		e.startLimit(s, f, unit)
	}
}

// codexToken refuses a token in the file, as Codex does.
func codexToken(e *entry, _ *Server, f field) {
	e.fail(f.key, f.name, "Codex refuses an entry with it", `write bearer_token_env_var = "NAME", and put the token into that variable`)
}

// gooseInside says that Goose has an extension inside itself.
func gooseInside(entry *yaml.Node) string {
	if entry.Kind != yaml.MappingNode {
		return ""
	}
	kind := valueOf(entry, "type")
	if kind == nil {
		return ""
	}
	switch follow(kind).Value {
	case "builtin", "platform":
		return "it is a part of Goose itself"
	case "frontend", "inline_python":
		return fmt.Sprintf("Goose runs it itself (type %s)", follow(kind).Value)
	}
	return ""
}

// gooseType reads the kind of an extension.
func gooseType(e *entry, s *Server, f field) {
	readType(e, s, f)
	if s.Transport == TransportSSE {
		e.note(s, f.key, f.name, "Goose no longer speaks the older transport, and does not start this one")
	}
}

// gooseKeys reads the names of variables whose values Goose has in its keyring.
func gooseKeys(e *entry, s *Server, f field) {
	if f.value.Kind != yaml.SequenceNode {
		e.fail(f.value, f.name, "want a list, found "+describe(f.value), "")
		return
	}
	var names []string
	for i, item := range f.value.Content {
		if name, ok := e.variable(follow(item), fmt.Sprintf("%s[%d]", f.name, i)); ok && !slices.Contains(names, name) {
			names = append(names, name)
			if e.at.get(below("env", name)) == nil {
				e.at.set(below("env", name), item)
			}
		}
	}
	if len(names) == 0 {
		return
	}
	e.note(s, f.key, f.name, "Goose keeps the values in its keyring, or in a file of its own; here they come from the variables "+strings.Join(names, ", "))
	e.after = append(e.after, func(s *Server) {
		if s.URL != "" {
			return // they are for references in headers
		}
		if s.Env == nil {
			s.Env = map[string]string{}
		}
		for _, name := range names {
			if _, written := s.Env[name]; !written {
				s.Env[name] = "${" + name + "}"
			}
		}
		s.Set("env", e.source("entry", f.key))
	})
}

// gooseHeaders puts the values in envs into the headers of an entry that has a URL: there is no process to get them.
func gooseHeaders(e *entry, s *Server) {
	if s.URL == "" || len(s.Env) == 0 {
		return
	}
	used := map[string]bool{}
	for _, header := range sortedNames(s.Headers) {
		for _, name := range sortedNames(s.Env) {
			for _, reference := range []string{"${" + name + "}", "$" + name} {
				if value := s.Env[name]; !strings.Contains(value, "$") && strings.Contains(s.Headers[header], reference) {
					s.Headers[header] = strings.ReplaceAll(s.Headers[header], reference, value)
					used[name] = true
				}
			}
		}
	}
	for _, name := range sortedNames(s.Env) {
		if !used[name] {
			e.note(s, e.place(below("env", name)), below("envs", name), "no header refers to it, and there is no process that gets it")
		}
	}
	s.Env = nil
	delete(s.Sources, "env")
}

// hermesTools reads a filter of tools, with globs as ours are, in which include wins as it does here.
func hermesTools(e *entry, s *Server, f field) {
	if f.value.Kind != yaml.MappingNode {
		e.fail(f.value, f.name, "want a mapping, found "+describe(f.value), "")
		return
	}
	for _, m := range e.fields(f.value, f.name) {
		key := below(f.name, m.name)
		var globs *[]string
		switch m.name {
		case "include":
			globs = &s.Tools.Include
		case "exclude":
			globs = &s.Tools.Exclude
		default:
			e.note(s, m.key, key, notUsed)
			continue
		}
		if isNull(m.value) || m.value.Kind == yaml.SequenceNode && len(m.value.Content) == 0 {
			continue
		}
		e.at.set(key, m.key)
		if m.value.Kind == yaml.ScalarNode {
			if glob, ok := e.literal(m.value, key); ok {
				*globs = []string{glob}
			}
		} else {
			*globs = e.literals(field{key, m.key, m.value})
		}
		s.Set(key, e.source("entry", m.key))
	}
}

// hermesVerify reads whom an HTTPS connection trusts: true, false, or a file with certificates.
func hermesVerify(e *entry, s *Server, f field) {
	switch {
	case f.value.Kind == yaml.ScalarNode && f.value.ShortTag() == tagBool:
		if e.boolean(f, true) {
			return
		}
		e.set(s, f, "tls.insecure_skip_verify", func() { s.TLS.InsecureSkipVerify = true })
		s.Set("tls", e.source("entry", f.key))
	default:
		e.set(s, f, "tls.ca_file", func() { s.TLS.CAFile = e.text(f) })
		s.Set("tls", e.source("entry", f.key))
	}
}

// hermesCertificate reads the client's own certificate: a file with certificate and key, or a list of two files.
func hermesCertificate(e *entry, s *Server, f field) {
	files := []string{}
	if f.value.Kind == yaml.SequenceNode {
		files = e.items(f.value, f.name)
	} else if file := e.text(f); file != "" {
		files = []string{file}
	}
	if len(files) == 0 {
		return
	}
	if len(files) > 2 {
		e.fail(f.value, f.name, "a key that is encrypted cannot be used here", "decrypt it")
		return
	}
	e.set(s, f, "tls.cert_file", func() { s.TLS.CertFile = files[0] })
	if s.TLS.KeyFile == "" {
		s.TLS.KeyFile = files[len(files)-1]
	}
	s.Set("tls", e.source("entry", f.key))
}

// hermesKey reads the file with the client's own key.
func hermesKey(e *entry, s *Server, f field) {
	e.set(s, f, "tls.key_file", func() { s.TLS.KeyFile = e.text(f) })
	s.Set("tls", e.source("entry", f.key))
}

// commandList reads a program and its arguments as one list.
func commandList(e *entry, s *Server, f field) {
	if f.value.Kind != yaml.SequenceNode {
		e.fail(f.value, f.name, "want a list, found "+describe(f.value), `write ["program", "argument"]`)
		return
	}
	e.set(s, f, "command", func() {
		words := e.items(f.value, f.name)
		if len(words) == 0 || words[0] == "" {
			e.fail(f.value, f.name, "is empty", "give it a program")
			return
		}
		s.Command, s.Args = words[0], words[1:]
		for i := range s.Args {
			e.at.set(fmt.Sprintf("args[%d]", i), e.at.get(fmt.Sprintf("%s[%d]", f.name, i+1)))
		}
	})
}

// commandWords reads a command that is a list, or text. Text without args is a whole command line.
func commandWords(e *entry, s *Server, f field) {
	if f.value.Kind == yaml.SequenceNode {
		commandList(e, s, f)
		return
	}
	e.set(s, f, "command", func() { s.Command = e.text(f) })
}

// splitWords takes a command line apart, where the client does so, too.
func splitWords(_ *entry, s *Server) {
	if words, ok := splitLine(s.Command); ok && len(s.Args) == 0 && len(words) > 1 {
		s.Command, s.Args = words[0], words[1:]
	}
}

// opencodeLimits reads a limit for everything, or a mapping with one for the start and one for requests.
func opencodeLimits(e *entry, s *Server, f field) {
	if f.value.Kind != yaml.MappingNode {
		millisecondsStart(e, s, f)
		return
	}
	for _, m := range e.fields(f.value, f.name) {
		key := below(f.name, m.name)
		switch m.name {
		case "startup":
			millisecondsConnect(e, s, field{key, m.key, m.value})
		case "request":
			milliseconds1(e, s, field{key, m.key, m.value})
		default:
			e.note(s, m.key, key, notUsed)
		}
	}
}

// requestOptions reads how requests are sent, of which the headers have a place here.
func requestOptions(e *entry, s *Server, f field) {
	if f.value.Kind != yaml.MappingNode {
		e.fail(f.value, f.name, "want a mapping, found "+describe(f.value), "")
		return
	}
	for _, m := range e.fields(f.value, f.name) {
		key := below(f.name, m.name)
		switch {
		case m.name != "headers":
			e.note(s, m.key, key, notUsed)
		case !isNull(m.value):
			named("headers")(e, s, field{key, m.key, m.value})
		}
	}
}

// bearerToken reads a token that is written out, or a reference to a variable.
func bearerToken(e *entry, s *Server, f field) {
	if token := e.text(f); token != "" {
		template, _ := s.Foreign.Format.syntax.template(token, "")
		e.header(f.key, "Authorization", "Bearer "+template)
	}
}

// rawVariable reads the name of a variable that is the whole header, its scheme included.
func rawVariable(e *entry, _ *Server, f field) {
	if name, ok := e.variable(f.value, f.name); ok {
		e.header(f.key, "Authorization", "${"+name+"}")
	}
}
