package pasted

import (
	"errors"
	"runtime"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/mcpctl/mcpctl/internal/shellwords"
)

// Split splits a command line as a POSIX shell does, without running any of it. A variable stays a reference,
// to be replaced when the server is used; a dollar that the shell would leave alone is doubled, so that it still is
// one then. On Windows a backslash is part of a path. What needs a shell is an [*Error].
func Split(text string) ([]string, error) { return splitOn(text, runtime.GOOS == "windows") }

func splitOn(text string, windows bool) ([]string, error) {
	if windows {
		text = shellwords.EscapeBackslashes(text)
	}
	var words []string
	for word, err := range syntax.NewParser().WordsSeq(strings.NewReader(text)) {
		if err != nil {
			return nil, notOneCommand(err)
		}
		var b strings.Builder
		for _, part := range word.Parts {
			if err := writePart(&b, text, part, false); err != nil {
				return nil, err
			}
		}
		words = append(words, b.String())
	}
	return words, nil
}

// aShell is a command line for what needs one.
const aShell = `"sh -c '…'"`

// notOneCommand explains what the parser stumbled over.
func notOneCommand(err error) error {
	if e, ok := errors.AsType[syntax.ParseError](err); ok {
		if strings.Contains(e.Text, "not a valid word") || strings.Contains(e.Text, "not valid words") {
			return &Error{"one command is started, without a shell: no ; | & < > ( )", "quote them, or have a shell do it", aShell}
		}
		return &Error{Message: e.Text}
	}
	return &Error{Message: err.Error()}
}

// writePart appends what one part of a word means.
func writePart(b *strings.Builder, text string, part syntax.WordPart, inQuotes bool) error {
	switch p := part.(type) {
	case *syntax.Lit:
		b.WriteString(Literal(shellwords.Unescape(p.Value, inQuotes)))
	case *syntax.SglQuoted:
		if p.Dollar {
			return notWithoutShell("$'…'")
		}
		b.WriteString(Literal(p.Value))
	case *syntax.DblQuoted:
		if p.Dollar {
			return notWithoutShell(`$"…"`)
		}
		for _, inner := range p.Parts {
			if err := writePart(b, text, inner, true); err != nil {
				return err
			}
		}
	case *syntax.ParamExp:
		if p.Short {
			b.WriteString("${" + p.Param.Value + "}")
		} else {
			b.WriteString(text[p.Pos().Offset():p.End().Offset()])
		}
	default:
		return notWithoutShell(text[part.Pos().Offset():part.End().Offset()])
	}
	return nil
}

func notWithoutShell(what string) error {
	return &Error{"the command is started without a shell, which " + what + " would need", "have a shell do it", aShell}
}

// Literal makes dollars stay dollars when variables are replaced.
func Literal(s string) string { return strings.ReplaceAll(s, "$", "$$") }
