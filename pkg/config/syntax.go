package config

import (
	"os"
	"path/filepath"
	"strings"
)

// syntax is what a client replaces in the values of an entry. Whatever it does not, it passes on as it is written.
type syntax struct {
	// braced is ${NAME} and ${NAME:-default}, bare is $NAME, and env is ${env:NAME}.
	braced, bare, env bool
	// file is ${file:PATH}.
	file bool
	// editor is ${workspaceFolder} and what else an editor knows.
	editor bool
	// input is ${input:ID}, for which the client asks.
	input bool
	// curly is {env:NAME} and {file:PATH}, without a dollar.
	curly bool
	// double is ${{ secrets.NAME }}, which the client has.
	double bool
	// direct is $env:NAME, as the whole value.
	direct bool
}

// PlaceholderKind says what becomes of a placeholder.
type PlaceholderKind string

// The kinds of placeholders.
const (
	// PlaceholderLiteral is passed on as it is written, though it looks like a variable.
	PlaceholderLiteral PlaceholderKind = "literal"
	// PlaceholderAsked is a value that the client asks for, or has from elsewhere.
	PlaceholderAsked PlaceholderKind = "asked"
	// PlaceholderEditor is something that the editor knows: the folder that is open in it.
	PlaceholderEditor PlaceholderKind = "editor"
)

// Placeholder is a place in an entry that means something to its client alone.
type Placeholder struct {
	// Text is the placeholder as it is written: "${workspaceFolder}", "~".
	Text string
	// Place is where it stands: "args[1]", "env.TOKEN".
	Place string
	Kind  PlaceholderKind
	// About is what the client's file says of it: the question that is asked.
	About string
}

// editorNames are the placeholders that editors know.
func editorNames() []string {
	return []string{"workspaceFolder", "workspaceFolderBasename", "userHome", "pathSeparator"}
}

// askedKinds begin placeholders whose values only the client has.
func askedKinds() []string { return []string{"input:", "command:", "config:", "secrets:", "inputs:"} }

// isAsked reports whether the name in a reference is that of a value that only a client has.
func isAsked(name string) bool {
	for _, kind := range askedKinds() {
		if strings.HasPrefix(name, kind) {
			return true
		}
	}
	return false
}

// template returns a client's value as a template of ours, and the placeholders in it. Paths in it may begin in dir, the
// directory of the client's file.
func (x syntax) template(text, dir string) (string, []Placeholder) {
	if name, ok := strings.CutPrefix(text, "$env:"); x.direct && ok && validVariable(name) {
		return "${" + name + "}", nil
	}
	if x.curly {
		return x.curlyTemplate(text, dir)
	}
	return x.dollarTemplate(text)
}

// curlyTemplate is template for a client whose references have no dollar, which so is a character like all others.
func (x syntax) curlyTemplate(text, dir string) (string, []Placeholder) {
	var b strings.Builder
	var found []Placeholder
	plain := func(text string) {
		own, more := syntax{}.dollarTemplate(text)
		b.WriteString(own)
		found = append(found, more...)
	}
	for {
		before, after, open := strings.Cut(text, "{")
		inner, rest, closed := strings.Cut(after, "}")
		kind, name, _ := strings.Cut(inner, ":")
		name = strings.TrimSpace(name)
		switch {
		case !open || !closed:
			plain(text)
			return b.String(), found
		case kind == "env" && validVariable(name) && !strings.HasSuffix(before, "$"):
			plain(before)
			b.WriteString("${" + name + "}")
			text = rest
		case kind == "file" && name != "" && !strings.HasSuffix(before, "$"):
			plain(before)
			if dir != "" && !filepath.IsAbs(name) && !strings.HasPrefix(name, "~") {
				name = filepath.Join(dir, name)
			}
			b.WriteString("${file:" + name + "}")
			text = rest
		default:
			// All up to the next brace is text, this one included.
			next := strings.IndexByte(after, '{')
			if next < 0 {
				plain(text)
				return b.String(), found
			}
			plain(text[:len(before)+1+next])
			text = after[next:]
		}
	}
}

// dollarTemplate is template for references that begin with a dollar.
func (x syntax) dollarTemplate(text string) (string, []Placeholder) {
	var b strings.Builder
	var found []Placeholder
	for text != "" {
		before, after, dollar := strings.Cut(text, "$")
		b.WriteString(before)
		if !dollar {
			break
		}
		text = after
		inner, rest, closed := strings.Cut(strings.TrimPrefix(after, "{"), "}")
		if x.double && strings.HasPrefix(after, "{{") {
			if name, behind, ok := doubled(after); ok {
				b.WriteString("${" + name + "}")
				found = append(found, Placeholder{Text: "${" + name + "}", Kind: PlaceholderAsked})
				text = behind
				continue
			}
		}
		switch {
		case strings.HasPrefix(after, "{") && closed:
			own, kind := x.reference(inner)
			b.WriteString(own)
			if kind != "" {
				found = append(found, Placeholder{Text: "${" + inner + "}", Kind: kind})
			}
			text = rest
		case x.bare && bareName(after) != "":
			name := bareName(after)
			b.WriteString("${" + name + "}")
			text = after[len(name):]
		case strings.HasPrefix(after, "$"), strings.HasPrefix(after, "{"):
			b.WriteString("$$")
		default:
			b.WriteString("$")
		}
	}
	return b.String(), found
}

// doubled returns the name in {{ secrets.NAME }}, as secrets:NAME, and what is behind it.
func doubled(text string) (name, rest string, ok bool) {
	inner, rest, closed := strings.Cut(strings.TrimPrefix(text, "{{"), "}}")
	kind, id, dotted := strings.Cut(strings.TrimSpace(inner), ".")
	if !closed || !dotted || kind != "secrets" && kind != "inputs" || strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./") != "" {
		return "", "", false
	}
	return kind + ":" + id, rest, true
}

// reference returns what a template of ours has for ${inner}, and the kind of placeholder that it is, if it is one.
func (x syntax) reference(inner string) (own string, kind PlaceholderKind) {
	name, fallback, hasFallback := strings.Cut(inner, ":-")
	editor := false
	for _, n := range editorNames() {
		editor = editor || n == inner
	}
	switch {
	case x.editor && editor:
		return "${" + inner + "}", PlaceholderEditor
	case x.editor && inner == "/":
		return string(os.PathSeparator), ""
	case (x.input || x.editor) && isAsked(inner):
		return "${" + inner + "}", PlaceholderAsked
	case x.env && strings.HasPrefix(inner, "env:") && validVariable(inner[len("env:"):]):
		return "${" + inner + "}", ""
	case x.file && strings.HasPrefix(inner, "file:"):
		return "${" + inner + "}", ""
	case x.braced && validVariable(name):
		if hasFallback {
			return "${" + name + ":-" + strings.ReplaceAll(fallback, "$", "$$") + "}", ""
		}
		return "${" + name + "}", ""
	}
	return "$${" + escapeDollars(inner) + "}", PlaceholderLiteral
}

// escapeDollars returns text so that a template means it as it is.
func escapeDollars(text string) string { return strings.ReplaceAll(text, "$", "$$") }

// bareName returns the name of a variable at the beginning of s.
func bareName(s string) string {
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return s[:i]
		}
	}
	return s
}
