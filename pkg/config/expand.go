package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// shortestSecret is the fewest characters that are worth masking: shorter ones are found in every text.
const shortestSecret = 4

// UnsetError names all the variables that an entry needs and that are not set, and the files and keyring entries that
// cannot be read. Nothing may be started or sent then.
type UnsetError struct {
	Server string
	Vars   []UnsetVar
	// NoDefaults is set for an entry of a client that knows no ${NAME:-default}.
	NoDefaults bool
}

// UnsetVar is one variable that is not set, or a file or a keyring entry that cannot be read, and where the entry needs it: "headers.Authorization", "args[1]", "url".
type UnsetVar struct {
	Name  string
	Place string
	// Kind is KindVariable, or says that Name is the path of a file or SERVICE/USER, and Why then what was wrong with it.
	Kind ReferenceKind
	Why  string
	// Client is set for a value that only another client has, or asks for: it is that client's title, and About what the
	// client's file says of the value.
	Client string
	About  string
}

// Hint returns what to do about a value that only another client has, "" for a variable.
func (v UnsetVar) Hint() string {
	if v.Client == "" && strings.HasPrefix(v.Name, "input:") {
		return "${input:…} is what other clients ask a person for: use a variable, ${NAME}"
	}
	if v.Client == "" {
		return ""
	}
	key, name, _ := strings.Cut(v.Place, ".")
	what := fmt.Sprintf("${%s} is a value that %s has, or asks for", v.Name, v.Client)
	if v.Name == "workspaceFolder" || v.Name == "workspaceFolderBasename" {
		what = fmt.Sprintf("${%s} is the folder that is open in %s", v.Name, v.Client)
	}
	if v.About != "" {
		what += fmt.Sprintf(" (%q)", v.About)
	}
	switch key {
	case "env":
		return what + fmt.Sprintf("; for this run: --env %s=…", name)
	case "headers":
		return what + fmt.Sprintf("; for this run: --header '%s: …'", name)
	}
	return what + "; examine the entry as it is then, with --stdio or by its URL"
}

// Hint returns what to do about values that only another client has, "" if all are variables.
func (e *UnsetError) Hint() string {
	var hints, plain []string
	for _, v := range e.Vars {
		hint := v.Hint()
		switch {
		case v.Kind != KindVariable:
		case hint == "":
			plain = append(plain, v.Name)
		case !slices.Contains(hints, hint):
			hints = append(hints, hint)
		}
	}
	if len(hints) > 0 && len(plain) > 0 {
		hints = append(hints, "set "+strings.Join(plain, ", "))
	}
	return strings.Join(hints, "; ")
}

// Error returns the variables with their places.
func (e *UnsetError) Error() string {
	server := ""
	if e.Server != "" {
		server = fmt.Sprintf("server %q: ", e.Server)
	}
	names := make([]string, len(e.Vars))
	outside := 0
	for i, v := range e.Vars {
		names[i] = fmt.Sprintf("%s (in %s)", v.Name, v.Place)
		if v.Kind != KindVariable {
			outside++
		}
	}
	if outside > 0 {
		return server + e.mixed()
	}
	if hint := e.Hint(); hint != "" {
		return fmt.Sprintf("%snot known here: %s; %s", server, strings.Join(names, ", "), hint)
	}
	switch {
	case e.NoDefaults && len(names) == 1:
		return fmt.Sprintf("%svariable not set: %s; set it", server, names[0])
	case e.NoDefaults:
		return fmt.Sprintf("%svariables not set: %s; set them", server, strings.Join(names, ", "))
	case len(names) == 1:
		return fmt.Sprintf("%svariable not set: %s; set it, or write ${%s:-default}", server, names[0], e.Vars[0].Name)
	}
	return fmt.Sprintf("%svariables not set: %s; set them, or write ${NAME:-default}", server, strings.Join(names, ", "))
}

// mixed lists what is missing when not all of it are variables.
func (e *UnsetError) mixed() string {
	var missing []string
	for _, v := range e.Vars {
		switch v.Kind {
		case KindVariable:
			missing = append(missing, fmt.Sprintf("variable not set: %s (in %s)", v.Name, v.Place))
		case KindFile:
			missing = append(missing, fmt.Sprintf("file %s (in %s): %s", v.Name, v.Place, v.Why))
		case KindKeyring:
			missing = append(missing, fmt.Sprintf("keyring entry %s (in %s): %s", v.Name, v.Place, v.Why))
		}
	}
	if hint := e.Hint(); hint != "" {
		missing = append(missing, hint)
	}
	return strings.Join(missing, "; ")
}

// Expand returns a copy of the server with its references replaced, once: a value that comes from a variable, a file or
// the keyring is not looked into again. A leading ~ in command, args, cwd, the files of tls and the private key becomes
// the home directory. Expand also returns the secrets it met, which must be masked in whatever is shown: values of
// headers, env and oauth whose name looks secret or which came from a variable, what came from a file or the keyring
// wherever it stands, URL query values that look secret, by their names or by themselves, the password in the URL and in the
// proxy's, and secrets that are written out in args. Those that were met before an error come with it.
//
// The error is s.Err if the entry was broken before; an *UnsetError that lists every variable that is not set and
// every file and keyring entry that cannot be read; or one or more *Error. After an error the Server must not be used.
func (s Server) Expand(env Environment) (Server, []string, error) {
	if s.Err != nil {
		return Server{}, nil, s.Err
	}
	x := &expansion{
		server: s.Name, env: env, dir: s.Dir, home: env.Home, foreign: s.Foreign, constants: s.Foreign.constants(env.Home),
	}
	if s.Foreign != nil {
		x.dir = s.Foreign.dir
	}
	out := s.Clone()
	out.Command = x.withHome(placedText{key: "command", value: s.Command})
	for i, arg := range s.Args {
		out.Args[i] = x.withHome(placedText{key: "args", element: i + 1, value: arg})
	}
	x.noteArgs(s.Args, out.Args)
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		value := x.expand(placedText{key: "env", member: name, value: s.Env[name]})
		out.Env[name] = value.text
		x.noteSecret(name, value)
	}
	x.expandEnvFile(&out, s.Foreign)
	out.Cwd = x.withHome(placedText{key: "cwd", value: s.Cwd})
	address := x.expand(placedText{key: "url", value: s.URL})
	out.URL = address.text
	x.noteURL(cmp.Or(address.text, s.URL))
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		value := x.expand(placedText{key: "headers", member: name, value: s.Headers[name]})
		out.Headers[name] = value.text
		x.noteHeader(name, value)
	}
	x.expandOAuth(&out)
	x.expandNetwork(&out, s)
	if err := x.err(); err != nil {
		return Server{}, x.secrets, err
	}
	// Only now are the values known: a URL may have lost its host, a header may end in a line break.
	if err := problemsError(s.Name, becauseEmpty(out.problems(), s.EmptyVariables(env.lookup))); err != nil {
		return Server{}, x.secrets, err
	}
	return out, x.secrets, nil
}

// expansion is the work of one Expand.
type expansion struct {
	server string
	env    Environment
	// dir is where relative paths of files start.
	dir, home string
	// foreign is set for another client's entry, and constants are what its placeholders stand for.
	foreign   *Foreign
	constants map[string]string
	secrets   []string
	unset     []UnsetVar
	errs      []error
	// outside remembers what was read from files and the keyring.
	outside map[part]outsideValue
}

// expanded is a value, and what variables, files and the keyring contributed to it.
type expanded struct {
	text      string
	variables []string
}

// expand replaces the references in one value.
func (x *expansion) expand(t placedText) expanded {
	parts, err := parseTemplate(t.value)
	if err != nil {
		x.fail(t.place(), err.Error())
		return expanded{}
	}
	var b strings.Builder
	var out expanded
	unset := len(x.unset)
	for _, p := range parts {
		if p.name == "" {
			b.WriteString(p.text)
			continue
		}
		if p.kind != KindVariable {
			value := x.fromOutside(p)
			if value.why != "" {
				x.noteUnset(UnsetVar{Name: p.name, Place: t.place(), Kind: p.kind, Why: value.why})
				continue
			}
			b.WriteString(value.text)
			out.variables = append(out.variables, value.text)
			x.secret(value.text)
			continue
		}
		if value, known := x.constants[p.name]; known {
			b.WriteString(value)
			continue
		}
		placeholder := x.placeholder(p.name)
		value, ok := "", false
		if placeholder == nil {
			value, ok = x.env.lookup(p.name)
		}
		switch {
		case p.hasFallback && value == "":
			b.WriteString(p.fallback)
		case ok:
			b.WriteString(value)
			out.variables = append(out.variables, value)
		default:
			v := UnsetVar{Name: p.name, Place: t.place()}
			if placeholder != nil {
				v.Client, v.About = x.foreign.Format.Title, placeholder.About
			}
			x.noteUnset(v)
		}
	}
	if len(x.unset) == unset { // else what is left of it is neither the value nor a secret
		out.text = b.String()
	}
	return out
}

// noteUnset notes what is missing, once for each place.
func (x *expansion) noteUnset(v UnsetVar) {
	if !slices.Contains(x.unset, v) {
		x.unset = append(x.unset, v)
	}
}

// placeholder returns the placeholder of another client that a name in a reference is, nil if it is a variable.
func (x *expansion) placeholder(name string) *Placeholder {
	if x.foreign == nil {
		return nil
	}
	for _, p := range x.foreign.Placeholders {
		if p.Kind != PlaceholderLiteral && p.Text == "${"+name+"}" {
			return &p
		}
	}
	return nil
}

// withHome expands a value that may begin with ~. Only a ~ that is written counts, not one that a variable brings.
func (x *expansion) withHome(t placedText) string {
	rest, found := strings.CutPrefix(t.value, "~")
	if x.foreign != nil && x.foreign.Format.NoHome {
		return x.expand(t).text
	}
	if !found || rest != "" && rest[0] != '/' && rest[0] != '\\' {
		return x.expand(t).text
	}
	if x.home == "" {
		x.fail(t.place(), "the home directory that ~ stands for is not known; write the whole path")
		return ""
	}
	return x.home + x.expand(placedText{key: t.key, member: t.member, element: t.element, value: rest}).text
}

func (x *expansion) fail(place, message string) {
	x.errs = append(x.errs, &Error{Server: x.server, Key: place, Message: message})
}

// err returns everything that went wrong.
func (x *expansion) err() error {
	errs := x.errs
	if len(x.unset) > 0 {
		errs = append(errs, &UnsetError{
			Server: x.server, Vars: x.unset, NoDefaults: x.foreign != nil && !x.foreign.Format.syntax.braced,
		})
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// secret notes values that must be masked.
func (x *expansion) secret(values ...string) {
	for _, value := range values {
		if utf8.RuneCountInString(value) >= shortestSecret && !slices.Contains(x.secrets, value) {
			x.secrets = append(x.secrets, value)
		}
	}
}

// noteSecret notes a value of env or headers, if it is secret, and says whether it is. What a variable contributed is
// noted by itself too: a server may repeat the token without the text around it.
func (x *expansion) noteSecret(name string, value expanded) bool {
	if len(value.variables) == 0 && !LooksSecretName(name) && !LooksSecretValue(value.text) {
		return false
	}
	x.secret(value.text)
	x.secret(value.variables...)
	return true
}

// noteArgs notes the secrets that are written out in arguments.
func (x *expansion) noteArgs(written, args []string) {
	literal := literalArgs(written)
	plain := make([]string, len(args))
	for i, arg := range args {
		plain[i] = strings.ReplaceAll(arg, "$", "$$") // it is no template any more
	}
	for _, a := range literalArgs(plain) {
		if slices.ContainsFunc(literal, func(l literalArg) bool { return l.index == a.index }) {
			x.secret(a.secrets...)
		}
	}
}

// noteHeader notes a header's value, and the credential in it without its scheme.
func (x *expansion) noteHeader(name string, value expanded) {
	if isScheme(strings.TrimSpace(value.text)) {
		return // the credential is missing
	}
	if x.noteSecret(name, value) {
		x.secret(credential(value.text))
	}
}

// noteURL notes the values of query parameters that look secret, as they are written and decoded, and the password, or else the
// name, in front of the host, or what may be one that has lost its host: such an address is refused, and must not be told.
func (x *expansion) noteURL(address string) {
	_, rest, _ := strings.Cut(address, "://")
	name, password, _ := strings.Cut(userInfo(address), ":")
	for _, secret := range []string{cmp.Or(password, name), noPort(before(rest, "@/?#"))} {
		x.secret(secret)
		if decoded, err := url.PathUnescape(secret); err == nil {
			x.secret(decoded)
		}
	}
	for _, q := range queryParams(address) {
		if !LooksSecretName(q.name) && !LooksSecretValue(q.decoded()) || strings.Contains(q.value, "${") {
			continue
		}
		x.secret(q.value)
		if decoded, err := url.QueryUnescape(q.value); err == nil {
			x.secret(decoded)
		}
	}
}
