package toolargs

import (
	"strings"
	"unicode"
)

// A form is what a word of the command line looks like.
type form uint8

const (
	formAssign form = iota // key=value, key:=JSON
	formObject             // {…}
	formHabit              // a way to write key=value that another tool has
	formBare               // anything else
)

// An item is one word, or the two or three that belong together, and what it says.
type item struct {
	form form
	// key and text are the two sides of an assignment. For a habit they are those of the corrected word; for the other
	// forms text is the word.
	key, text string
	// json means := in place of =.
	json bool
	// typed is how a habit was typed.
	typed string
	// flag means that the habit is that of flags.
	flag bool
}

// word returns the corrected word.
func (it item) word() string {
	switch {
	case it.form == formObject, it.form == formBare:
		return it.text
	case it.json:
		return it.key + ":=" + it.text
	}
	return it.key + "=" + it.text
}

// read takes the words apart.
func (b *builder) read(words []string) []item {
	var items []item
	for i := 0; i < len(words); {
		it, n := b.next(words[i:])
		items = append(items, it)
		i += n
	}
	return items
}

// next returns the first item of words, and how many words it took.
func (b *builder) next(words []string) (item, int) {
	w := words[0]
	if it, ok := b.known(w); ok {
		return it, 1
	}
	if strings.HasPrefix(strings.TrimLeft(w, " \t\r\n"), "{") {
		return item{form: formObject, text: w}, 1
	}
	if it, n := b.flagged(words); n > 0 {
		return it, n
	}
	if it, n := b.coloned(words); n > 0 {
		return it, n
	}
	if it, n := b.spaced(words); n > 0 {
		return it, n
	}
	if it, ok := split(w); ok {
		return it, 1
	}
	return item{form: formBare, text: w}, 1
}

// known takes a word apart whose key is the name of a parameter, whatever is in it: equals signs, colons, dashes and braces
// would mean something else otherwise. The longest such name wins, but for k:=1, which is JSON for k if there is a k.
func (b *builder) known(w string) (item, bool) {
	names := b.names()
	var found item
	ok := false
	for i := 0; i < len(w) && i <= names.longest; i++ {
		switch {
		case w[i] == '=' && names.is[w[:i]] && (!ok || !found.json || len(found.key) != i-1):
			found, ok = item{form: formAssign, key: w[:i], text: w[i+1:]}, true
		case strings.HasPrefix(w[i:], ":=") && names.is[w[:i]]:
			found, ok = item{form: formAssign, key: w[:i], text: w[i+2:], json: true}, true
		}
	}
	return found, ok
}

// split takes key=value and key:=JSON apart. The first equals sign counts; values may hold more.
func split(w string) (item, bool) {
	key, text, ok := strings.Cut(w, "=")
	if !ok {
		return item{}, false
	}
	if name, isJSON := strings.CutSuffix(key, ":"); isJSON {
		return item{form: formAssign, key: name, text: text, json: true}, true
	}
	return item{form: formAssign, key: key, text: text}, true
}

// flagged recognises --k=v, --k v and --k, and the same with one dash: parameters written as flags.
func (b *builder) flagged(words []string) (item, int) {
	w := words[0]
	bare := strings.TrimLeft(w, "-")
	dashes := len(w) - len(bare)
	it, assigned := split(bare)
	if !assigned {
		it = item{key: bare}
	}
	if dashes == 0 || dashes > 2 || !identifier(it.key) || b.names().is[w[:dashes]+it.key] {
		return item{}, 0
	}
	name, sure := b.parameter(it.key)
	if dashes == 1 && !assigned && !sure {
		return item{}, 0 // -x could be anything
	}
	it.form, it.key, it.flag, it.typed = formHabit, name, true, w
	if assigned {
		return it, 1
	}
	follows := len(words) > 1 && !strings.HasPrefix(words[1], "--")
	if follows {
		// What follows may be a word of its own.
		next, assigned := split(words[1])
		follows = !assigned || !b.names().is[next.key]
	}
	if b.schema.expects(b.schema.locate((*path)(nil).to(memberStep(name)))) == typeBoolean {
		follows = follows && (words[1] == "true" || words[1] == "false")
	}
	if !follows {
		it.text = "true"
		return it, 1
	}
	it.text = words[1]
	it.typed += " " + words[1]
	return it, 2
}

// coloned recognises k:v and k: v, in one word or two.
func (b *builder) coloned(words []string) (item, int) {
	w := words[0]
	name, text, ok := strings.Cut(w, ":")
	equals := strings.IndexByte(w, '=')
	switch {
	case !ok, !identifier(name):
		return item{}, 0
	case equals >= 0 && equals <= len(name)+1: // k=v, k:=v
		return item{}, 0
	case equals >= 0 && b.names().is[strings.TrimSuffix(w[:equals], ":")]: // the colon is part of a parameter's name
		return item{}, 0
	case strings.HasPrefix(text, "//"), strings.HasPrefix(text, `\`): // a URL, a path of Windows
		return item{}, 0
	}
	meant, sure := b.parameter(name)
	switch {
	case sure:
	case len(b.names().list) > 0: // a word like nginx:latest, or a name like xml:lang
		return item{}, 0
	case equals >= 0 && !strings.HasPrefix(text, " "):
		return item{}, 0
	}
	it := item{form: formHabit, key: meant, typed: w}
	n := 1
	text = strings.TrimLeft(text, " ")
	if text == "" && len(words) > 1 {
		text = words[1]
		it.typed += " " + text
		n = 2
	}
	// The comma of a: 1, b: 2 is no part of the value if another pair follows.
	if len(words) > n && strings.IndexByte(words[n], ':') > 0 {
		text = strings.TrimSuffix(text, ",")
	}
	it.text = text
	return it, n
}

// spaced recognises k = v, in one word or three, and k= v.
func (b *builder) spaced(words []string) (item, int) {
	w := words[0]
	if len(words) > 2 && words[1] == "=" && identifier(w) {
		return item{form: formHabit, key: w, text: words[2], typed: strings.Join(words[:3], " ")}, 3
	}
	key, text, ok := strings.Cut(w, "=")
	name := strings.TrimSpace(key)
	if !ok || name == key || !identifier(name) || b.names().is[key] {
		return item{}, 0
	}
	return item{form: formHabit, key: name, text: strings.TrimLeft(text, " "), typed: w}, 1
}

// names are those of the tool's parameters.
func (b *builder) names() *nameSet { return b.schema.properties(b.schema.root) }

// parameter returns the parameter that a name means; sure means that the schema has it, or one that is near.
func (b *builder) parameter(name string) (meant string, sure bool) {
	names := b.names()
	if names.is[name] {
		return name, true
	}
	first, rest, nested := strings.Cut(name, ".")
	if nested && names.is[first] {
		return first + "." + rest, true
	}
	if meant := near(name, names.list); meant != "" {
		return meant, true
	}
	return name, false
}

// identifier reports whether s looks like the name of a parameter, and not like a URL, a path or a sentence.
func identifier(s string) bool {
	for i, r := range s {
		switch {
		case unicode.IsLetter(r), r == '_':
		case i > 0 && (unicode.IsDigit(r) || strings.ContainsRune("-.[]", r)):
		default:
			return false
		}
	}
	return s != ""
}

// refuse refuses a habit and says how it is written here.
func (b *builder) refuse(it item) {
	b.habit = true
	e := &UsageError{
		Param:      it.key,
		Message:    cutQuote(it.typed) + ": arguments are written " + Quote(cut(it.word(), 60)),
		Help:       b.schema.help((*path)(nil).to(memberStep(it.key))),
		Suggestion: "write " + Quote(it.word()),
	}
	if it.flag {
		e.Message = cutQuote(it.typed) + ": a tool's parameters are no flags"
	}
	b.fail(e)
}

// bare refuses the run of bare words that items begin with.
func (b *builder) bare(items []item) {
	words := bareRun(items)
	e := &UsageError{Message: cutQuote(strings.Join(words, " ")) + ": arguments are written key=value"}
	names := b.names().list
	switch {
	case words[0] == "-", strings.HasPrefix(words[0], "@"):
		e.Suggestion = "for a whole JSON object write --args " + Quote(words[0])
	case b.only != "":
		b.habit = true
		e.Param = b.only
		e.Help = b.schema.help((*path)(nil).to(memberStep(b.only)))
		e.Suggestion = "write " + strings.Join(b.named(words), " ")
	case strings.HasPrefix(words[0], "["):
		e.Suggestion = "the whole arguments are a JSON object, {…}"
	case b.schema.root != nil && b.schema.root.has("properties") && len(names) == 0:
		e.Suggestion = "the tool takes no arguments"
	case len(names) > 0:
		var shown []string
		for _, name := range names {
			shown = append(shown, show(name))
		}
		e.Suggestion = "known here: " + cut(strings.Join(shown, ", "), 120)
	}
	b.fail(e)
}

func bareRun(items []item) []string {
	var words []string
	for _, it := range items {
		if it.form != formBare {
			break
		}
		words = append(words, it.text)
	}
	return words
}

// onlyParameter returns the parameter that a word without a name must mean: the only required one, or the only one at
// all, unless it is given already. It is "" if there is no telling.
func (b *builder) onlyParameter(items []item) string {
	if b.schema.root == nil {
		return ""
	}
	names := b.schema.required(b.schema.root).list
	if len(names) == 0 {
		names = b.names().list
	}
	if len(names) != 1 || b.root.has(names[0]) {
		return ""
	}
	for _, it := range items {
		if it.key == names[0] && (it.form == formAssign || it.form == formHabit) {
			return ""
		}
	}
	return names[0]
}

// named returns bare words as arguments of the only parameter, quoted: one item each if it takes a list, and otherwise
// as one text, which has lost its quotes.
func (b *builder) named(words []string) []string {
	if b.schema.expects(b.schema.locate((*path)(nil).to(memberStep(b.only))))&(typeArray|typeString) != typeArray {
		words = []string{strings.Join(words, " ")}
	}
	var list []string
	for _, w := range words {
		list = append(list, Quote(b.only+"="+escapeAt(w)))
	}
	return list
}

// correct returns all the words as they should have been written, quoted.
func (b *builder) correct(items []item) []string {
	var words []string
	for i := 0; i < len(items); i++ {
		if run := bareRun(items[i:]); len(run) > 0 && b.only != "" {
			words = append(words, b.named(run)...)
			i += len(run) - 1
			continue
		}
		words = append(words, Quote(items[i].word()))
	}
	return words
}

// FromCallSyntax understands a call as programming languages write it, tool(a: 1, b: "x"), so that it can be refused
// with the words to type in its place. tool is what stands before the parenthesis, server.tool included; words are the
// arguments, each quoted for a POSIX shell as [Quote] does. An argument without a name stays a word without one.
func FromCallSyntax(word string) (tool string, words []string, ok bool) {
	tool, rest, ok := strings.Cut(word, "(")
	if !ok || tool == "" || strings.IndexFunc(tool, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-./", r)
	}) >= 0 {
		return "", nil, false
	}
	rest, ok = strings.CutSuffix(strings.TrimSpace(rest), ")")
	if !ok {
		return "", nil, false
	}
	rest = strings.TrimSpace(rest)
	if strings.HasPrefix(rest, "{") {
		return tool, []string{Quote(rest)}, true
	}
	parts, ok := splitTop(rest)
	if !ok {
		return "", nil, false
	}
	for _, part := range parts {
		words = append(words, Quote(argument(strings.TrimSpace(part))))
	}
	return tool, words, true
}

// splitTop splits at the commas that are in no quotes or brackets. ok is false if those do not match.
func splitTop(s string) (parts []string, ok bool) {
	if s == "" {
		return nil, true
	}
	start := 0
	var open []byte
	for i := 0; i < len(s); i++ {
		c := s[i]
		if n := len(open); n > 0 && (open[n-1] == '"' || open[n-1] == '\'') {
			switch c {
			case '\\':
				i++
			case open[n-1]:
				open = open[:n-1]
			}
			continue
		}
		switch c {
		case '"', '\'':
			// In a bare text, as in it's, a quote is a letter.
			if before := strings.TrimRight(s[start:i], " "); before == "" || strings.IndexByte(":=[{,(", before[len(before)-1]) >= 0 {
				open = append(open, c)
			}
		case '[':
			open = append(open, ']')
		case '{':
			open = append(open, '}')
		case '(':
			open = append(open, ')')
		case ']', '}', ')':
			if len(open) == 0 || open[len(open)-1] != c {
				return nil, false
			}
			open = open[:len(open)-1]
		case ',':
			if len(open) == 0 {
				parts = append(parts, s[start:i])
				start = i + 1
			}
		}
	}
	if len(open) > 0 {
		return nil, false
	}
	if last := s[start:]; strings.TrimSpace(last) != "" { // a comma may end the list
		parts = append(parts, last)
	}
	return parts, true
}

// argument turns one argument of a call into a word.
func argument(part string) string {
	for i, r := range part {
		if r != ':' && r != '=' {
			continue
		}
		name := unquote(strings.TrimSpace(part[:i]))
		if !identifier(name) {
			return unquote(part)
		}
		text := strings.TrimSpace(strings.TrimPrefix(part[i+1:], "="))
		switch {
		case strings.HasPrefix(text, "["), strings.HasPrefix(text, "{"):
			if _, _, err := parse(text); err == nil {
				return name + ":=" + text
			}
		}
		if bare := unquote(text); bare != text {
			text = escapeAt(bare)
		}
		return name + "=" + text
	}
	return unquote(part)
}

// unquote takes the quotes off a text that has them at both ends.
func unquote(s string) string {
	if len(s) < 2 || s[0] != s[len(s)-1] || s[0] != '"' && s[0] != '\'' {
		return s
	}
	if v, _, err := parse(s); err == nil && v.kind == kindString {
		return v.text
	}
	return s[1 : len(s)-1]
}
