package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

// kind is one of the kinds of things that a server lists beside its tools.
type kind struct {
	// method lists them, and key is the one that tells them apart.
	method, key string
	// what is one of them in words.
	what string
}

// The kinds.
func resourceKind() kind { return kind{"resources/list", "uri", "resource"} }

func templateKind() kind { return kind{"resources/templates/list", "uriTemplate", "resource template"} }
func promptKind() kind   { return kind{"prompts/list", "name", "prompt"} }

// listing is what a server lists of one kind.
type listing struct {
	items      []listedItem
	problems   []string
	incomplete bool
	// unsupported is set when the server does not know the method.
	unsupported bool
}

// listedItem is one of them. See the MCP specification, 2025-11-25, "Resources" and "Prompts", "Data Types".
type listedItem struct {
	// id is its URI, its URI template or its name.
	id                                 string
	name, title, description, mimeType string
	// size is the number of bytes in digits, "" if the server does not say.
	size string
	// audience, priority and modified are its annotations, in words.
	audience, priority, modified string
	// arguments are those of a prompt.
	arguments []promptArgument
	raw       json.RawMessage
}

// promptArgument is an argument of a prompt.
type promptArgument struct {
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
}

// about is what a list says of an item, beside its id.
func (i listedItem) about() string {
	name := i.name
	if name == i.id {
		name = ""
	}
	return firstNonEmpty(i.title, name)
}

// mentions reports whether a word is in what people read of an item, in either case.
func (i listedItem) mentions(word string) bool {
	word = strings.ToLower(word)
	return slices.ContainsFunc([]string{i.id, i.name, i.title, i.description}, func(text string) bool {
		return strings.Contains(strings.ToLower(text), word)
	})
}

func (l listing) ids() []string {
	out := make([]string, len(l.items))
	for i, item := range l.items {
		out[i] = item.id
	}
	return out
}

// find returns the item with that id. Of several the first is meant.
func (l listing) find(id string) (listedItem, bool) {
	for _, item := range l.items {
		if item.id == id {
			return item, true
		}
	}
	return listedItem{}, false
}

// foundNothing is the result of a list with --grep in which nothing is left: the exit code of grep.
func foundNothing(none bool, grep string) error {
	if none && grep != "" {
		return reportedError(codeFailed)
	}
	return nil
}

// mentioning returns the items that mention all the words of a text; all, if there are none.
func (l listing) mentioning(text string) listing {
	for word := range strings.FieldsSeq(text) {
		l.items = slices.DeleteFunc(slices.Clone(l.items), func(i listedItem) bool { return !i.mentions(word) })
	}
	return l
}

// raws returns the items as the server sent them, never nil.
func (l listing) raws() []json.RawMessage {
	out := make([]json.RawMessage, len(l.items))
	for i, item := range l.items {
		out[i] = item.raw
	}
	return out
}

// listKind asks a server for what it has of a kind, which does no harm when it is repeated. A server that does not know the
// method has none; an answer without a list in it is an error.
func listKind(ctx context.Context, s *session.Supervisor, server string, k kind) (listing, error) {
	var list session.List
	err := s.Do(ctx, session.Request{Name: k.method, Repeatable: true}, func(ctx context.Context, s *session.Session) error {
		var err error
		list, err = s.List(ctx, k.method)
		return err
	})
	if err == nil && list.Incomplete && len(list.Items) == 0 {
		e := &session.Error{Server: server, Phase: k.method, Class: session.ClassProtocol, Outcome: session.OutcomeExecuted, Message: "the server sent no list of " + k.what + "s"}
		e.Hint = "correct the server: it has to answer " + k.method + " with an array of objects"
		if len(list.Problems) > 0 {
			e.Message += ": " + strings.TrimPrefix(list.Problems[0], k.method+": ")
		}
		return listing{}, e
	}
	return readListing(list, k), err
}

// readListing reads a list. What is odd in one item hides none of the others.
func readListing(list session.List, k kind) listing {
	l := listing{problems: list.Problems, incomplete: list.Incomplete, unsupported: list.Unsupported}
	seen := map[string]bool{}
	for n, raw := range list.Items {
		item, problem := parseListed(raw, k)
		switch {
		case problem != "":
			l.problems = append(l.problems, fmt.Sprintf("%s %d of the list %s", k.what, n+1, problem))
			continue
		case seen[item.id]:
			l.problems = append(l.problems, fmt.Sprintf("%s %d of the list has the %s of an earlier one, %q", k.what, n+1, k.key, item.id))
		}
		seen[item.id] = true
		l.items = append(l.items, item)
	}
	return l
}

// parseListed reads one item by itself, and no more of it than is needed: what else is odd in it is the server's own
// business.
func parseListed(raw json.RawMessage, k kind) (item listedItem, problem string) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		return item, "is not an object"
	}
	text := func(fields map[string]json.RawMessage, key string) string {
		var s string
		_ = json.Unmarshal(fields[key], &s) // not text: as good as missing
		return s
	}
	item = listedItem{
		id: text(fields, k.key), name: text(fields, "name"), title: text(fields, "title"),
		description: text(fields, "description"), mimeType: text(fields, "mimeType"), raw: raw,
	}
	if item.id == "" {
		return item, "has no " + k.key
	}
	var size json.Number
	if json.Unmarshal(fields["size"], &size) == nil {
		item.size = size.String()
	}
	var notes map[string]json.RawMessage
	_ = json.Unmarshal(fields["annotations"], &notes) // malformed annotations say nothing
	var audience []string
	if json.Unmarshal(notes["audience"], &audience) == nil {
		item.audience = strings.Join(audience, ", ")
	}
	item.priority, item.modified = strings.Trim(string(notes["priority"]), `"`), text(notes, "lastModified")
	var arguments []json.RawMessage
	_ = json.Unmarshal(fields["arguments"], &arguments)
	for _, a := range arguments {
		var one struct {
			promptArgument
			Required json.RawMessage `json:"required"`
		}
		if json.Unmarshal(a, &one) == nil && one.Name != "" {
			one.promptArgument.Required = string(one.Required) == "true"
			item.arguments = append(item.arguments, one.promptArgument)
		}
	}
	return item, ""
}

// ask makes a request that only reads, so that it is repeated on a fresh session when the first is lost, and returns the
// result as the server sent it.
func ask(ctx context.Context, s *session.Supervisor, method string, params any) (json.RawMessage, error) {
	var result json.RawMessage
	err := s.Do(ctx, session.Request{Name: method, Repeatable: true}, func(ctx context.Context, s *session.Session) error {
		var err error
		result, err = s.Raw(ctx, method, params)
		return err
	})
	return result, err
}

// badResult is the error for a result that is not what its method returns.
func badResult(server, method string, err error) error {
	return &session.Error{
		Server: server, Phase: method, Class: session.ClassProtocol, Outcome: session.OutcomeExecuted, Err: err,
		Message: "the result cannot be read: " + err.Error(), Hint: "--trace - shows what the server sent",
	}
}

// answered returns the error of a server that understood a request and refused it, nil if err is another.
func answered(err error) *session.Error {
	if e, ok := errors.AsType[*session.Error](err); ok && e.Class == session.ClassAnswered {
		return e
	}
	return nil
}

// hinted returns a copy of a server's error with a next step.
func hinted(e *session.Error, hint string) error {
	if e.Hint != "" || hint == "" {
		return e
	}
	out := *e
	out.Hint = hint
	return &out
}

// hintTime bounds what is asked only to be able to say something useful about a failure.
const hintTime = 3 * time.Second

// nearListed returns the ids of a kind that are like one that the server does not know, as a question.
func nearListed(ctx context.Context, s *session.Supervisor, server, id string, kinds ...kind) string {
	ctx, cancel := context.WithTimeout(ctx, hintTime)
	defer cancel()
	var known []string
	for _, k := range kinds {
		list, err := listKind(ctx, s, server, k)
		if err != nil {
			return ""
		}
		known = append(known, list.ids()...)
	}
	if near := config.Near(id, known); len(near) > 0 {
		return fmt.Sprintf("did you mean %s?", orList(near))
	}
	return ""
}

// maskedTexts returns texts without secrets, never nil.
func (a *app) maskedTexts(texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = a.redact.String(text)
	}
	return out
}

// textSchema is the schema of an object whose values are all text: the arguments of a prompt, or the variables of a URI
// template. Those that may be repeated take a list of texts.
func textSchema(arguments []promptArgument, repeated func(name string) bool) json.RawMessage {
	type property struct {
		Type        any               `json:"type"`
		Items       map[string]string `json:"items,omitempty"`
		Title       string            `json:"title,omitempty"`
		Description string            `json:"description,omitempty"`
	}
	var properties strings.Builder
	required := []string{}
	for i, arg := range arguments {
		p := property{Type: "string", Title: arg.Title, Description: firstNonEmpty(arg.Description, arg.Title)}
		if repeated != nil && repeated(arg.Name) {
			p.Type, p.Items = []string{"string", "array"}, map[string]string{"type": "string"}
		}
		key, _ := json.Marshal(arg.Name) // text can always be encoded
		value, _ := json.Marshal(p)
		if i > 0 {
			properties.WriteByte(',') // by hand, because a map would lose the order
		}
		fmt.Fprintf(&properties, "%s:%s", key, value)
		if arg.Required {
			required = append(required, arg.Name)
		}
	}
	names, _ := json.Marshal(required)
	return json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{%s},"required":%s,"additionalProperties":false}`, properties.String(), names))
}

// lacking returns the names that are required and not given.
func lacking(arguments []promptArgument, given json.RawMessage) []string {
	var values map[string]json.RawMessage
	_ = json.Unmarshal(given, &values) // not an object: nothing is given
	var names []string
	for _, arg := range arguments {
		if _, there := values[arg.Name]; arg.Required && !there {
			names = append(names, arg.Name)
		}
	}
	return names
}

// exampleWords are words that give each required argument a value, quoted for a shell.
func exampleWords(arguments []promptArgument) []string {
	var words []string
	for _, arg := range arguments {
		value := "hi"
		switch name := strings.ToLower(arg.Name); {
		case !arg.Required:
			continue
		case strings.HasSuffix(name, "url"), strings.HasSuffix(name, "uri"):
			value = "https://example.com"
		case strings.HasSuffix(name, "path"), strings.HasSuffix(name, "file"), strings.HasSuffix(name, "filename"):
			value = "file.txt"
		case strings.HasSuffix(name, "id"), name == "n", slices.Contains([]string{"number", "count", "index", "page", "limit", "year"}, name):
			value = "1"
		}
		words = append(words, toolargs.Quote(arg.Name+"="+value))
	}
	return words
}
