package toolargs

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Build returns the arguments that a command line means, as a JSON object: the members of the whole object first, if
// one is given, then the others in the order of the words. Numbers are passed on digit for digit.
//
// The schema says of which type the text of a key=value word is; text that fits no allowed type stays a string, for
// [Check] to refuse. An error is a [*UsageError] with everything that is wrong with the words themselves.
func Build(in Input) (json.RawMessage, error) {
	b := builder{
		schema: newSchema(in.Schema),
		source: in.Source,
		root:   newObject(),
		given:  map[string]bool{},
	}
	items := b.read(in.Words)
	b.whole(in.Args, items)
	b.only = b.onlyParameter(items)
	for i, it := range items {
		switch it.form {
		case formAssign:
			b.assign(it)
		case formHabit:
			b.refuse(it)
		case formBare:
			if i == 0 || items[i-1].form != formBare {
				b.bare(items[i:])
			}
		case formObject: // laid down before the others
		}
	}
	if len(b.problems) > 0 {
		all := join(b.problems)
		if b.habit {
			all.Correct = b.correct(items)
		}
		return nil, all
	}
	out := b.root.json()
	if !json.Valid(out) { // which only the depth can be the reason for
		return nil, &UsageError{Message: "arguments: nested too deeply for JSON"}
	}
	return out, nil
}

// A builder is at work on the words of one command line.
type builder struct {
	schema *schema
	source Source
	root   *value
	// given holds the keys of every place that a word has written to, and of the places above it.
	given map[string]bool
	// stdin is the argument that has read standard input, "" if none has.
	stdin string
	// only is the parameter that a word without a name must mean, "" if there is no telling.
	only     string
	problems []*UsageError
	// habit means that one of the problems is a known habit, or a word whose name is clear: all can be corrected.
	habit bool
}

func (b *builder) fail(e *UsageError) { b.problems = append(b.problems, e) }

// whole lays down the object that is given as a whole, by --args or by a word.
func (b *builder) whole(args string, items []item) {
	const flag = "--args"
	by := ""
	if args != "" {
		by = flag
		b.object(flag, args)
	}
	for _, it := range items {
		if it.form != formObject {
			continue
		}
		if by != "" {
			b.fail(&UsageError{
				Message:    "the whole object is given twice: by " + by + " and by " + cutQuote(it.text),
				Suggestion: "write one object, and lay key=value over it",
			})
			continue
		}
		by = cutQuote(it.text)
		b.object("arguments", it.text)
	}
}

// object reads the whole object from text: the JSON itself or, for --args, also @FILE or "-".
func (b *builder) object(name, text string) {
	flag := name == "--args"
	file, isFile := strings.CutPrefix(text, "@")
	if text == "-" {
		file, isFile = "-", true
	}
	switch {
	case flag && isFile:
		data, err := b.load(name, file)
		if err != nil {
			b.fail(err)
			return
		}
		text = strings.TrimPrefix(data, byteOrderMark)
	case flag && !strings.HasPrefix(strings.TrimSpace(text), "{"):
		e := &UsageError{Message: name + ": must be a JSON object, @FILE or -, not " + cutQuote(text)}
		switch key, _, isWord := strings.Cut(text, "="); {
		case isWord && identifier(key):
			e.Suggestion = "write " + Quote(text) + " without --args"
		case !strings.HasPrefix(text, "["):
			e.Suggestion = "for a file write " + Quote("@"+text)
		}
		b.fail(e)
		return
	}
	v, twice, err := parse(text)
	switch {
	case err != nil:
		e := &UsageError{Message: name + ": " + err.Error(), Err: err}
		if !isFile {
			e.Suggestion = "put the whole object in single quotes"
		}
		b.fail(e)
	case v.kind != kindObject:
		b.fail(&UsageError{Message: name + ": must be a JSON object, not " + describe(v)})
	case twice != "":
		b.fail(&UsageError{Param: twice, Message: fmt.Sprintf("%s: the name %s appears twice", name, show(twice))})
	default:
		b.root = v
	}
}

// load returns the text of a file, or of standard input for "-".
func (b *builder) load(name, file string) (string, *UsageError) {
	var data []byte
	var err error
	switch {
	case file == "":
		return "", &UsageError{Param: name, Message: name + ": @ without the name of a file"}
	case file == "-" && b.stdin != "":
		return "", &UsageError{Param: name, Message: fmt.Sprintf("%s: standard input is read by %s already", name, b.stdin)}
	case file == "-" && b.source.Stdin == nil:
		err = noSource("standard input")
	case file == "-":
		b.stdin = name
		data, err = ReadAll("standard input", b.source.Stdin)
	case b.source.ReadFile == nil:
		err = noSource("files")
	default:
		data, err = b.source.ReadFile(file)
	}
	if err != nil {
		return "", &UsageError{Param: name, Message: name + ": " + err.Error(), Err: err}
	}
	if !utf8.Valid(data) {
		what := file
		if file == "-" {
			what = "standard input"
		}
		return "", &UsageError{Param: name, Message: fmt.Sprintf("%s: %s is not UTF-8 text, and JSON can hold nothing else", name, what)}
	}
	return string(data), nil
}

// assign does what a key=value or key:=JSON word says.
func (b *builder) assign(it item) {
	to, problem := b.target(it.key)
	if problem != nil {
		problem.Help = b.schema.help(to.path)
		b.fail(problem)
		return
	}
	fail := func(e *UsageError) {
		e.Param = to.path.raw()
		e.Help = b.schema.help(to.path)
		b.fail(e)
	}
	if !utf8.ValidString(it.key + it.text) {
		fail(&UsageError{Message: show(it.key) + ": not UTF-8 text, and JSON can hold nothing else"})
		return
	}
	text, file := it.text, false
	switch rest, isFile := strings.CutPrefix(text, "@"); {
	case isFile && strings.HasPrefix(rest, "@") && !it.json:
		text = rest
	case isFile:
		loaded, e := b.load(to.path.String(), rest)
		if e != nil {
			if !it.json && (e.Err != nil || rest == "") {
				e.Suggestion = "for the text itself write " + Quote(it.key+"=@"+it.text)
			}
			fail(e)
			return
		}
		text, file = loaded, true
	}
	if it.json {
		b.exact(it, to, text, file, fail)
		return
	}
	b.put(to, text, file, fail)
}

// exact puts the JSON of a key:=JSON word in its place.
func (b *builder) exact(it item, to target, text string, file bool, fail func(*UsageError)) {
	if file {
		text = strings.TrimPrefix(text, byteOrderMark)
	}
	v, twice, err := parse(text)
	switch {
	case err != nil:
		e := &UsageError{Message: to.path.String() + ": " + err.Error(), Err: err}
		const short = 60 // a longer text was meant as JSON
		if !file && len(it.text) <= short {
			e.Suggestion = "for text write " + Quote(it.key+"="+it.text)
		}
		fail(e)
	case twice != "":
		fail(&UsageError{Message: fmt.Sprintf("%s: the name %s appears twice", to.path, show(twice))})
	case to.item:
		b.append(to, []*value{v}, fail)
	case b.given[to.key()]:
		fail(&UsageError{Message: to.path.String() + " is given twice"})
	default:
		b.set(to, v, fail)
	}
}

// put puts the text of a key=value word in its place.
func (b *builder) put(to target, text string, file bool, fail func(*UsageError)) {
	n := b.schema.locate(to.path)
	duplicate := func(twice string) {
		fail(&UsageError{Message: fmt.Sprintf("%s: the name %s appears twice", to.path, show(twice))})
	}
	if to.item || b.given[to.key()] {
		have := b.at(to)
		list := to.item
		if !list {
			// Only a list takes a second value. What may be a list becomes one.
			allowed := b.schema.expects(n)
			list = have.isArray() || allowed != typeAny && allowed&typeArray != 0 && !have.isObject()
		}
		if !list {
			fail(&UsageError{Message: to.path.String() + " is given twice, and takes one value"})
			return
		}
		count := 0
		if have.isArray() {
			count = len(have.items)
		}
		item := b.schema.at(n, itemStep(count))
		if js, twice := spelt(text, file); !to.item && js.isArray() && b.schema.expects(item)&(typeArray|typeString) != typeArray {
			if twice != "" {
				duplicate(twice)
				return
			}
			b.append(to, js.items, fail)
			return
		}
		v, twice := b.schema.typedItem(item, text, file)
		if twice != "" {
			duplicate(twice)
			return
		}
		b.append(to, []*value{v}, fail)
		return
	}
	v, twice := b.schema.typed(n, text, file)
	if twice != "" {
		duplicate(twice)
		return
	}
	b.set(to, v, fail)
}

// A target is the place that a key names.
type target struct {
	path *path
	item bool // a new item of the list there
}

func (t target) key() string {
	var b strings.Builder
	for _, st := range t.path.steps() {
		b.WriteString(quoteJSON(st.name))
	}
	return b.String()
}

// at returns what is in a place, nil if nothing is.
func (b *builder) at(t target) *value {
	v := b.root
	for _, st := range t.path.steps() {
		v = v.get(st.name)
	}
	return v
}

// parent returns the object that holds a place, made as far as it is missing.
func (b *builder) parent(t target) (*value, *UsageError) {
	v := b.root
	steps := t.path.steps()
	var at *path
	for _, st := range steps[:len(steps)-1] {
		at = at.to(st)
		next := v.get(st.name)
		if next == nil {
			next = newObject()
			v.put(st.name, next)
		}
		if next.kind != kindObject {
			return nil, &UsageError{Message: fmt.Sprintf("%s: %s is %s already, and no object", t.path, at, describe(next))}
		}
		v = next
	}
	return v, nil
}

func (b *builder) set(t target, v *value, fail func(*UsageError)) {
	parent, problem := b.parent(t)
	if problem != nil {
		fail(problem)
		return
	}
	parent.put(t.path.step.name, v)
	for at := t.path; at != nil; at = at.parent {
		b.given[target{path: at}.key()] = true
	}
}

// append adds items to the list in a place. A single value that is there and was given by an earlier word becomes the
// first item.
func (b *builder) append(t target, items []*value, fail func(*UsageError)) {
	have := b.at(t)
	switch {
	case have == nil:
		have = newArray()
	case have.kind != kindArray && (t.item || !b.given[t.key()]):
		fail(&UsageError{Message: fmt.Sprintf("%s is %s already, and no list", t.path, describe(have))})
		return
	case have.kind != kindArray:
		have = newArray(have)
	}
	b.set(t, newArray(slices.Concat(have.items, items)...), fail)
}

// maxPath bounds the names in a path. Nobody types more, and the work grows with the square.
const maxPath = 100

// target finds out which place a key names: a parameter whose own name holds the dots wins, at every level, and the
// longest such name does.
func (b *builder) target(key string) (target, *UsageError) {
	var at *path
	rest := key
	bad := func(format string, args ...any) (target, *UsageError) {
		name := show(cut(key, 60))
		return target{path: at}, &UsageError{Param: at.raw(), Message: name + ": " + fmt.Sprintf(format, args...)}
	}
	n := b.schema.root
	for depth := 1; ; depth++ {
		if depth > maxPath {
			return bad("a path of more than %d names; give it in a JSON object", maxPath)
		}
		names := b.schema.properties(n)
		if names.is[rest] {
			return target{path: at.to(memberStep(rest))}, nil
		}
		if list, ok := strings.CutSuffix(rest, "[]"); ok && names.is[list] {
			return target{path: at.to(memberStep(list)), item: true}, nil
		}
		end := -1
		for i := min(len(rest)-1, names.longest); i > 0; i-- {
			if rest[i] == '.' && names.is[rest[:i]] {
				end = i
				break
			}
		}
		first := end < 0
		if first {
			end = strings.IndexByte(rest, '.')
		}
		last := end < 0
		name := rest
		if !last {
			name = rest[:end]
		}
		item := false
		if open := strings.IndexByte(name, '['); first && open >= 0 {
			inside, closed := strings.CutSuffix(name[open+1:], "]")
			switch {
			case last && closed && inside == "" && open > 0:
				name, item = name[:open], true
			case closed && inside == "" && open > 0:
				list := at.to(memberStep(name[:open]))
				return bad("a path ends at an item; write the items as JSON: %s", Quote(list.String()+`:=[{"`+rest[end+1:]+`": …}]`))
			case closed && inside != "" && strings.Trim(inside, "0123456789") == "" && open > 0:
				list := at.to(memberStep(name[:open]))
				return bad("items have no numbers here; %s appends one, %s sets the list", Quote(list.String()+"[]=…"), Quote(list.String()+":=[…]"))
			case closed && inside != "" && open > 0 && strings.IndexByte(inside, '[') < 0:
				return bad("write %s for a value inside another", show(at.to(memberStep(name[:open])).to(memberStep(inside)).String()))
			default:
				return bad("brackets in a name; give it in a JSON object")
			}
		}
		if name == "" {
			return bad("a name is empty")
		}
		at = at.to(memberStep(name))
		if last {
			return target{path: at, item: item}, nil
		}
		n = b.schema.at(n, memberStep(name))
		rest = rest[end+1:]
	}
}

// cutQuote returns a text in quotes, short enough for a message.
func cutQuote(text string) string { return describe(newString(text)) }
