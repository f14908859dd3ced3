package config

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"
)

// How an entry of another client's file becomes one of ours.
//
// The reading has made templates of its values already (see foreign.go). What is left is what depends on where the entry
// goes: a name that can be typed, variables in the place of secrets and of what only the client knows, and paths that
// mean the same from everywhere. Whatever cannot be taken over, or means something else afterwards, is told; the result
// does not depend on when or how often it is done, so that a second time finds nothing new.

// AdoptOptions say how an entry is taken over.
type AdoptOptions struct {
	// Name is the name to give the entry; "" makes one of the entry's own. It is not checked whether it is taken.
	Name string
	// Taken reports whether a name made of the entry's own must not be used; nil for none.
	Taken func(name string) bool
	// Home is the user's directory, which ${userHome} stands for; "" when it is not known.
	Home string
	// LiteralSecrets copies secrets that are written out. Otherwise a variable takes the place of each.
	LiteralSecrets bool
	// Variables are the variables in use, with the name of the server that uses them: no other one gets a variable of
	// that name for a value of its own. Adopt adds those that it makes, if it is not nil.
	Variables map[string]string
	// File is the file of an entry that came from a file of ours. The others know theirs.
	File string
}

// Adoption tells what became of an entry that was taken over.
type Adoption struct {
	// From is the entry's name in its file, and File and Line are where it stands, as far as that is known.
	From string
	File string
	Line int
	// Variables are those that must be set for the entry to work, because their values were not copied.
	Variables []AdoptedVariable
	// Losses are what the entry says and we have no place for, and Changes what means something else than it did.
	Losses, Changes []Remark
}

// AdoptedVariable is a variable in an adopted entry, and where its value stands now. It does not hold the value.
type AdoptedVariable struct {
	// Name is the variable's, and Place where the entry has it: "headers.Authorization".
	Name, Place string
	// File and Line are where the value stands; File is "" for one that stands nowhere.
	File string
	Line int
	// About says what the value is, when it stands in no file: the client's question, or the folder it has open.
	About string
}

// Remark is something that a person should know of a key in a file. It holds no value of headers, env or a URL.
type Remark struct {
	File string
	Line int
	// Key is the key in the client's file, "" for the whole entry.
	Key     string
	Message string
}

// String returns the remark in a line: mcp.json:7: key "trust": mcpctl has no place for it, and does not use it.
func (r Remark) String() string {
	var b strings.Builder
	b.WriteString(placeOf(r.File, r.Line))
	if r.Key != "" {
		fmt.Fprintf(&b, "key %q: ", r.Key)
	}
	return b.String() + r.Message
}

// placeOf returns a file and a line with a colon after them, "" if neither is known.
func placeOf(file string, line int) string {
	switch {
	case file == "":
		return ""
	case line <= 0:
		return displayName(file) + ": "
	}
	return displayName(file) + ":" + strconv.Itoa(line) + ": "
}

// Adopt returns the entry as one of our own file: with a name of ours, Foreign nil, and valid. Nothing is contacted and
// nothing started; an env file that the entry names is read for the names in it.
//
// A secret that is written out is not copied: a variable takes its place, named after the server and the key, as
// VariableFor does. The error says why the entry cannot be taken over; the Server must not be used then.
func (s Server) Adopt(o AdoptOptions) (Server, Adoption, error) {
	a := &adopter{AdoptOptions: o, foreign: s.Foreign.clone(), from: s, own: map[string]string{}}
	if a.foreign != nil && o.Home != "" && filepath.Clean(o.Home) == a.foreign.Project {
		// The user's own file lies in the home directory as a project's lies in the project.
		a.foreign.Project = ""
	}
	a.File = a.file()
	a.told = Adoption{From: s.Name, File: a.File, Line: a.line("")}
	if s.Err != nil {
		return Server{}, a.told, s.Err
	}
	out := s.Clone()
	out.Foreign = nil
	if out.Name = o.Name; out.Name == "" {
		out.Name = AdoptedName(s.Name, o.Taken)
	}
	a.server = out.Name
	for _, name := range s.VariableNames() {
		a.own[name] = "" // whatever the entry refers to itself is nobody's else
	}
	for key, source := range out.Sources {
		if source.Kind == "default" {
			// A default of their file is none of ours.
			delete(out.Sources, key)
		}
	}
	split := false
	if s.Foreign != nil {
		for _, n := range s.Foreign.Notes {
			a.told.Losses = append(a.told.Losses, Remark{File: a.File, Line: n.Line, Key: n.Key, Message: n.Message})
		}
		split = a.splitCommand(&out)
		a.placeholders(&out)
		a.paths(&out)
		a.envFile(&out)
	}
	if !o.LiteralSecrets {
		a.secrets(&out)
	}
	if split {
		a.change("command", "was a whole command line in one text, and is split: "+out.Redacted().Target())
	}
	if err := a.check(out); err != nil {
		return Server{}, a.told, err
	}
	if o.Variables != nil {
		for _, v := range a.told.Variables {
			if _, used := o.Variables[v.Name]; !used {
				o.Variables[v.Name] = out.Name
			}
		}
	}
	return out, a.told, nil
}

// Same reports whether two entries say the same, apart from their names and from where they say it.
func (s Server) Same(other Server) bool { return len(s.Differences(other)) == 0 }

// Differences returns the keys in which two entries differ, in the order in which they are written.
func (s Server) Differences(other Server) []string {
	a, b := entryNode(s), entryNode(other)
	var keys []string
	for _, key := range entryKeys() {
		x, y := valueOf(a, key), valueOf(b, key)
		if (x == nil) != (y == nil) || x != nil && !sameTree(x, y) {
			keys = append(keys, key)
		}
	}
	return keys
}

// SameTarget reports whether two entries reach the same server by the same words: one URL, or one command line.
func (s Server) SameTarget(other Server) bool {
	return s.URL == other.URL && s.Command == other.Command && slices.Equal(s.Args, other.Args)
}

// VariableNames returns the variables that the entry refers to, in order.
func (s Server) VariableNames() []string {
	var names []string
	for _, t := range s.texts() {
		parts, err := parseTemplate(t.value)
		if err != nil {
			continue
		}
		for _, p := range parts {
			if p.name != "" && validVariable(p.name) && !slices.Contains(names, p.name) {
				names = append(names, p.name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// longestName is the most characters of a name that is made: more fill the first column of every table.
const longestName = 64

// AdoptedName returns a name for an entry of ours, made of another client's: letters, digits, dots, - and _ stay, and
// whatever else there is becomes a hyphen. If that name is taken, a number is added; taken may be nil.
func AdoptedName(theirs string, taken func(string) bool) string {
	var b strings.Builder
	length, gap := 0, false
	for _, r := range theirs {
		if !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-", r) || r == unicode.ReplacementChar {
			gap = true
			continue
		}
		if gap && length > 0 {
			b.WriteByte('-')
			length++
		}
		gap = false
		if length >= longestName {
			break
		}
		b.WriteRune(r)
		length++
	}
	name := strings.Trim(b.String(), "-.")
	if name == "" {
		name = "server"
	}
	unique := name
	for n := 2; taken != nil && taken(unique); n++ {
		unique = name + "-" + strconv.Itoa(n)
	}
	return unique
}

// VariableFor returns the name of the variable that holds a value of a server: SEARCH_API_KEY for the key api-key of the
// server search. A header Authorization holds a token, and is called so.
func VariableFor(server, key string) string {
	if strings.EqualFold(key, "authorization") {
		key = "token"
	}
	upper := func(s string) string {
		return strings.Trim(strings.Map(func(r rune) rune {
			switch {
			case r >= 'a' && r <= 'z':
				return r - 'a' + 'A'
			case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
				return r
			}
			return '_'
		}, s), "_")
	}
	server, key = upper(server), upper(key)
	if server == "" || server[0] >= '0' && server[0] <= '9' {
		server = "MCP" // a name begins with a letter
	}
	return strings.TrimSuffix(server+"_"+key, "_")
}

// adopter is the work of one Adopt.
type adopter struct {
	AdoptOptions
	from    Server
	foreign *Foreign
	// server is the name of the new entry.
	server string
	// own are the variables of the new entry, with what each stands for.
	own  map[string]string
	told Adoption
}

// file returns the file that the entry came from.
func (a *adopter) file() string {
	if a.foreign != nil && a.foreign.File != "" {
		return a.foreign.File
	}
	return a.File
}

// line returns where a place of the old entry is written: its own line, or that of a key around it. The place "" is the
// entry itself.
func (a *adopter) line(place string) int {
	for at := place; ; {
		if a.foreign != nil && a.foreign.lines[at] > 0 {
			return a.foreign.lines[at]
		}
		if _, text, ok := strings.Cut(a.from.Sources[at].Detail, ":"); ok {
			if line, err := strconv.Atoi(text); err == nil {
				return line
			}
		}
		if at == "" {
			return 0
		}
		at = at[:max(strings.LastIndexAny(at, ".[?"), 0)]
	}
}

func (a *adopter) title() string {
	if a.foreign == nil {
		return "the client"
	}
	return a.foreign.Format.Title
}

func (a *adopter) change(place, message string) {
	a.told.Changes = append(a.told.Changes, Remark{File: a.File, Line: a.line(place), Key: place, Message: message})
}

func (a *adopter) lose(place, message string) {
	a.told.Losses = append(a.told.Losses, Remark{File: a.File, Line: a.line(place), Key: place, Message: message})
}

// variable returns a variable of the entry for a key. The same value has the same variable; another one must not get it,
// neither here nor in another entry, because then it would be sent to the wrong server.
func (a *adopter) variable(name, value string) string {
	for n := 1; ; n++ {
		candidate := name
		if n > 1 {
			candidate = name + "_" + strconv.Itoa(n)
		}
		held, mine := a.own[candidate]
		owner, used := a.Variables[candidate]
		if mine && held != value || used && owner != a.server {
			continue
		}
		a.own[candidate] = value
		return candidate
	}
}

// tell adds a variable to be set.
func (a *adopter) tell(v AdoptedVariable) {
	if !slices.Contains(a.told.Variables, v) {
		a.told.Variables = append(a.told.Variables, v)
	}
}

// stands is a variable whose value stands at a place of the old entry.
func (a *adopter) stands(name, place string) {
	a.tell(AdoptedVariable{Name: name, Place: place, File: a.File, Line: a.line(place)})
}

// each calls change with all values of an entry in which references are expanded, and keeps what it returns.
func each(s *Server, change func(place, value string) string) {
	s.Command = change("command", s.Command)
	for i := range s.Args {
		s.Args[i] = change(fmt.Sprintf("args[%d]", i), s.Args[i])
	}
	for _, name := range sortedNames(s.Env) {
		s.Env[name] = change(below("env", name), s.Env[name])
	}
	s.Cwd = change("cwd", s.Cwd)
	s.URL = change("url", s.URL)
	for _, name := range sortedNames(s.Headers) {
		s.Headers[name] = change(below("headers", name), s.Headers[name])
	}
}

// splitCommand takes a command apart that is written as one line. No client's way of starting programs finds one of that
// name; where there may be one, because a path can hold spaces, the command stays.
func (a *adopter) splitCommand(s *Server) bool {
	if !strings.ContainsAny(s.Command, " \t") {
		return false
	}
	words, ok := splitLine(s.Command)
	if !ok || len(words) < 2 {
		return false
	}
	if len(s.Args) > 0 || strings.ContainsAny(words[0], `/\~$`) {
		shown := (Server{Command: words[0], Args: append(slices.Clone(words[1:]), s.Args...)}).Redacted()
		a.change("command", "holds spaces, and is kept as the name of one program; if it is a command line: "+shown.Target())
		return false
	}
	s.Command, s.Args = words[0], words[1:]
	return true
}

// splitLine splits a line into words at white space, as far as that is clear: with quotes, and without backslashes, which
// one system has for paths and another for spaces.
func splitLine(line string) ([]string, bool) {
	if strings.ContainsAny(line, "\\\n|&;<>`") {
		return nil, false
	}
	var words []string
	var word strings.Builder
	inWord, quote := false, rune(0)
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			quote, inWord = r, true
		case r == ' ' || r == '\t':
			if inWord {
				words = append(words, word.String())
				word.Reset()
			}
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, quote == 0
}

// placeholders replaces what means something to the client alone.
func (a *adopter) placeholders(s *Server) {
	for _, p := range a.foreign.Placeholders {
		switch {
		case p.Kind == PlaceholderLiteral && p.Text == "~":
			if p.Place == "command" || p.Place == "cwd" || strings.HasPrefix(p.Place, "args[") {
				a.change(p.Place, fmt.Sprintf("%s passes a ~ on as it is written, and mcpctl replaces it by the home directory", a.title()))
			}
		case p.Kind == PlaceholderLiteral && validReference(p.Text):
			a.change(p.Place, fmt.Sprintf("%s passes %s on as it is written, and so does mcpctl now: it is written $%s; for a variable, take the second dollar away", a.title(), p.Text, p.Text))
		}
	}
	each(s, a.withoutPlaceholders)
}

// validReference reports whether a text looks like a reference to a variable.
func validReference(text string) bool {
	parts, err := parseTemplate(text)
	return err == nil && len(parts) == 1 && validVariable(parts[0].name)
}

// withoutPlaceholders returns a value in which nothing is left that only the client knows. All else stays as it is written.
func (a *adopter) withoutPlaceholders(place, value string) string {
	var b strings.Builder
	for rest := value; ; {
		text, after, found := strings.Cut(rest, "$")
		b.WriteString(text)
		if !found {
			return b.String()
		}
		inner, behind, closed := strings.Cut(strings.TrimPrefix(after, "{"), "}")
		if !strings.HasPrefix(after, "{") || !closed {
			if rest = after; strings.HasPrefix(after, "$") {
				rest = after[1:]
				b.WriteByte('$')
			}
			b.WriteByte('$')
			continue
		}
		rest = behind
		switch p := a.placeholder(inner); {
		case p == nil:
			b.WriteString("${" + inner + "}")
		case inner == "userHome" && b.Len() == 0 && homeExpands(place) && (behind == "" || behind[0] == '/' || behind[0] == '\\'):
			b.WriteByte('~')
		default:
			b.WriteString(a.valueOf(*p, inner, place))
		}
	}
}

// valueOf returns what takes the place of a placeholder: its value, or a variable.
func (a *adopter) valueOf(p Placeholder, inner, place string) string {
	if known, ok := a.foreign.Value(p, a.Home); ok {
		return escapeDollars(known)
	}
	name := a.variable(VariableFor(a.server, snake(inner)), p.Text)
	a.tell(AdoptedVariable{Name: name, Place: place, About: a.about(p)})
	return "${" + name + "}"
}

// about says what a value is that only the client has.
func (a *adopter) about(p Placeholder) string {
	switch {
	case p.Kind == PlaceholderEditor:
		return fmt.Sprintf("%s: the folder that is open in %s", p.Text, a.title())
	case p.About != "":
		return fmt.Sprintf("%s: what %s asks for (%q)", p.Text, a.title(), p.About)
	}
	return fmt.Sprintf("%s: a value that %s has, or asks for", p.Text, a.title())
}

// homeExpands reports whether a leading ~ is replaced in a value.
func homeExpands(place string) bool {
	return place == "command" || place == "cwd" || strings.HasPrefix(place, "args[")
}

// snake returns the name in a placeholder as the key of a variable: input:github-token is github-token, workspaceFolder is
// workspace_folder.
func snake(name string) string {
	if _, id, ok := strings.Cut(name, ":"); ok {
		name = id
	}
	return strings.Join(nameWords(name), "_")
}

// placeholder returns the placeholder that a name in a reference is, nil if it is a variable.
func (a *adopter) placeholder(name string) *Placeholder {
	for _, p := range a.foreign.Placeholders {
		if name != "" && p.Kind != PlaceholderLiteral && p.Text == "${"+name+"}" {
			return &p
		}
	}
	return nil
}

// paths makes the paths of a project's entry mean the same from everywhere. Its client starts the command in the
// project, and so do we from now on.
func (a *adopter) paths(s *Server) {
	if s.Command == "" {
		return
	}
	relative := func(path string) bool {
		return path != "" && !filepath.IsAbs(path) && !strings.HasPrefix(path, "~") && !strings.HasPrefix(path, "$") &&
			!strings.HasPrefix(path, "/") && !strings.HasPrefix(path, `\`) && !hasDrive(path)
	}
	dotted := func(path string) bool {
		return strings.HasPrefix(path, "./") || strings.HasPrefix(path, "../") || strings.HasPrefix(path, `.\`) || strings.HasPrefix(path, `..\`)
	}
	commandIsPath := strings.ContainsRune(s.Command, '/') || strings.ContainsRune(s.Command, filepath.Separator)
	project := a.foreign.Project
	if project == "" {
		for place, path := range map[string]string{"command": s.Command, "cwd": s.Cwd} {
			if relative(path) && (place == "cwd" || commandIsPath) {
				a.change(place, fmt.Sprintf("is a relative path, which starts where %s is started; write the whole path", a.title()))
			}
		}
		return
	}
	project = escapeDollars(project)
	if relative(s.Cwd) {
		s.Cwd = filepath.Join(project, filepath.FromSlash(s.Cwd))
	}
	dir := s.Cwd
	if dir == "" {
		dir = project
	}
	moved := false
	if commandIsPath && relative(s.Command) {
		s.Command, moved = joinTemplate(dir, s.Command), true
	}
	for i, arg := range s.Args {
		if dotted(arg) {
			s.Args[i], moved = joinTemplate(dir, arg), true
		}
	}
	// Whose file it is decides: a file of nobody knows no project.
	if s.Cwd == "" && (moved || a.foreign.Format.Known()) {
		s.Cwd = project
	}
}

// joinTemplate returns a relative path below a directory. What a variable stands for in it is not known, so that nothing
// is made shorter then.
func joinTemplate(dir, path string) string {
	if strings.Contains(dir+path, "${") {
		return dir + string(filepath.Separator) + strings.TrimPrefix(path, "./")
	}
	return filepath.Join(dir, filepath.FromSlash(path))
}

// hasDrive reports whether a path begins with a drive of Windows.
func hasDrive(path string) bool {
	return len(path) > 1 && path[1] == ':' && (path[0]|0x20 >= 'a' && path[0]|0x20 <= 'z')
}

// envFile puts a variable of its own name for each one in the file that the entry names. The file's values stay there.
func (a *adopter) envFile(s *Server) {
	if a.foreign.EnvFile == "" {
		return
	}
	const kept = "; its variables are not taken over"
	if s.Command == "" {
		a.lose("envFile", "belongs to a command, and this entry has a url"+kept)
		return
	}
	path, ok := a.envFilePath()
	if !ok {
		a.lose("envFile", "where it is is known to "+a.title()+" alone"+kept)
		return
	}
	found, err := readEnvLines(path)
	if err != nil {
		a.lose("envFile", err.Error()+kept)
		return
	}
	// Of a variable that is set twice the last one holds.
	last := map[string]envLine{}
	for _, l := range found {
		last[l.name] = l
	}
	if s.Env == nil && len(last) > 0 {
		s.Env = map[string]string{}
	}
	written := s.Clone().Env
	for _, l := range found {
		if _, own := written[l.name]; own || last[l.name] != l {
			continue
		}
		if a.LiteralSecrets {
			s.Env[l.name] = escapeDollars(l.value)
			continue
		}
		name := l.name
		if owner, used := a.Variables[name]; !validVariable(name) || inherited(name) || used && owner != a.server {
			name = VariableFor(a.server, name)
		}
		name = a.variable(name, l.value)
		s.Env[l.name] = "${" + name + "}"
		a.tell(AdoptedVariable{Name: name, Place: below("env", l.name), File: path, Line: l.line})
	}
}

// envFilePath returns the path of the env file, if all of it is known.
func (a *adopter) envFilePath() (string, bool) {
	parts, err := parseTemplate(a.foreign.EnvFile)
	if err != nil {
		return "", false
	}
	var b strings.Builder
	for _, p := range parts {
		if p.name == "" {
			b.WriteString(p.text)
			continue
		}
		placeholder := a.placeholder(p.name)
		if placeholder == nil {
			return "", false
		}
		known, ok := a.foreign.Value(*placeholder, a.Home)
		if !ok {
			return "", false
		}
		b.WriteString(known)
	}
	path := b.String()
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || os.IsPathSeparator(rest[0])) && !a.foreign.Format.NoHome {
		if a.Home == "" {
			return "", false
		}
		path = a.Home + rest
	}
	if !filepath.IsAbs(path) {
		if a.foreign.Project == "" {
			return "", false
		}
		path = filepath.Join(a.foreign.Project, path)
	}
	return path, true
}

// inherited reports whether every process has a variable of that name, with another value than a file's.
func inherited(name string) bool {
	switch name {
	case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TMPDIR", "TMP", "TEMP", "TZ", "PWD":
		return true
	}
	return strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "XDG_")
}

// secrets puts variables in the place of secrets that are written out.
func (a *adopter) secrets(s *Server) {
	for i, arg := range s.Args {
		before := ""
		if i > 0 {
			before = s.Args[i-1]
		}
		place := fmt.Sprintf("args[%d]", i)
		if literal, ok := literalArgOf(before, arg); ok {
			s.Args[i] = a.argWithout(place, before, arg, literal.name)
		}
	}
	values := func(key string, m map[string]string) {
		for _, name := range sortedNames(m) {
			if literalSecret(name, m[name]) {
				m[name] = a.valueWithout(below(key, name), name, m[name])
			}
		}
	}
	values("env", s.Env)
	s.URL = a.queryWithout("url", s.URL)
	_, rest, _ := strings.Cut(before(s.URL, "?#"), "://")
	if _, path, ok := strings.Cut(rest, "/"); ok && LooksSecretValue(path) {
		a.change("url", "a part of the path looks like a secret, and is copied as it is; a variable can stand in its place")
	}
	values("headers", s.Headers)
	if literalProxyPassword(s.Proxy) {
		_, _, password := splitProxy(s.Proxy)
		name := a.variable(VariableFor(s.Name, "proxy_password"), password)
		a.stands(name, "proxy")
		s.Proxy = WithProxyPassword(s.Proxy, "${"+name+"}")
	}
}

// valueWithout returns a value with a variable in the place of the secret in it. The scheme before a credential stays.
func (a *adopter) valueWithout(place, key, value string) string {
	text := strings.TrimSpace(value)
	secret := strings.TrimSpace(credential(text))
	scheme := strings.TrimSuffix(text, secret)
	if parts, err := parseTemplate(secret); err == nil && len(parts) == 1 && parts[0].hasFallback {
		// A variable is there already, with a secret as its default.
		a.stands(parts[0].name, place)
		return scheme + "${" + parts[0].name + "}"
	}
	name := a.variable(VariableFor(a.server, key), secret)
	a.stands(name, place)
	return scheme + "${" + name + "}"
}

// queryWithout returns a URL with variables in the place of secrets in its query. Their values are those that are written
// there, with their escapes.
func (a *adopter) queryWithout(place, raw string) string {
	base, query, found := strings.Cut(raw, "?")
	if !found {
		return raw
	}
	query, fragment, hasFragment := strings.Cut(query, "#")
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		for _, q := range queryParams("?" + pair) {
			if literalSecret(q.name, q.decoded()) {
				written, _, _ := strings.Cut(pair, "=")
				at := place
				if at == "url" {
					at += "?" + q.name
				}
				pairs[i] = written + "=" + a.valueWithout(at, q.name, q.value)
			}
		}
	}
	out := base + "?" + strings.Join(pairs, "&")
	if hasFragment {
		out += "#" + fragment
	}
	return out
}

// argWithout returns an argument with a variable in the place of the secret in it: in the place of all of it, if what is
// left would still be one.
func (a *adopter) argWithout(place, before, arg, key string) string {
	if rest, isFlag := flagName(arg); isFlag {
		if _, value, ok := strings.Cut(rest, "="); ok {
			flag := arg[:len(arg)-len(value)-1]
			return flag + "=" + a.argWithout(place, flag, value, key)
		}
	}
	told, own := slices.Clone(a.told.Variables), a.own
	a.own = map[string]string{}
	maps.Copy(a.own, own)
	out := ""
	if name, value, ok := headerOf(before, arg); ok {
		out = arg[:len(name)+1] + " " + a.valueWithout(place, name, value)
	} else if name, value, ok := variableOf(before, arg); ok {
		out = name + "=" + a.valueWithout(place, name, value)
	} else if strings.Contains(arg, "://") {
		out = a.queryWithout(place, a.withoutPassword(place, arg))
	}
	if out != "" && out != arg {
		if _, still := literalArgOf(before, out); !still {
			return out
		}
	}
	a.told.Variables, a.own = told, own
	return a.valueWithout(place, key, arg)
}

// withoutPassword returns a URL with a variable in the place of the password in it.
func (a *adopter) withoutPassword(place, raw string) string {
	scheme, rest, _ := strings.Cut(raw, "://")
	authority := before(rest, "/?#")
	at := strings.LastIndexByte(authority, '@')
	if at < 0 {
		return raw
	}
	user, password, _ := strings.Cut(authority[:at], ":")
	if password == "" || literalText(password) == "" {
		return raw
	}
	name := a.variable(VariableFor(a.server, "password"), password)
	a.stands(name, place)
	return scheme + "://" + user + ":${" + name + "}" + rest[at:]
}

// check says why the entry cannot be taken over. Its messages name places, not values.
func (a *adopter) check(s Server) error {
	if err := s.Validate(); err != nil {
		return err
	}
	fail := func(place, message, hint string) error {
		return &Error{File: a.File, Line: a.line(place), Server: a.from.Name, Key: place, Message: message, Hint: hint}
	}
	if a.LiteralSecrets {
		return nil
	}
	if left := s.LiteralSecrets(); len(left) > 0 {
		return fail(left[0].Place, "a secret stands there in a way that no variable can take its place", "put it into env or headers")
	}
	if words := strings.Fields(s.Command); len(words) > 1 && len(literalArgs(words)) > 0 {
		return fail("command", "a secret stands in a command line that is one text", "write the program as command, and its arguments as args")
	}
	if LooksSecretValue(s.Command) || LooksSecretValue(s.Cwd) {
		return fail("command", "looks like a secret", "")
	}
	// What is written must be what is read.
	if !sameTree(entryNode(s), rereadNode(s)) {
		return fail("", "holds a value that cannot be written to the file", "use UTF-8 text without control characters")
	}
	return nil
}

// rereadNode returns the entry as it comes back from a file, nil if it does not.
func rereadNode(s Server) *yaml.Node {
	text, err := encode(&yaml.Node{Kind: yaml.MappingNode, Tag: tagMap, Content: []*yaml.Node{textNode("servers"), {
		Kind: yaml.MappingNode, Tag: tagMap, Content: []*yaml.Node{textNode(s.Name), entryNode(s)},
	}}}, 2)
	if err != nil {
		return nil
	}
	cfg, err := Parse("adopted.yaml", []byte(text))
	if err != nil || len(cfg.Servers) != 1 || cfg.Servers[0].Err != nil {
		return nil
	}
	return entryNode(cfg.Servers[0])
}
