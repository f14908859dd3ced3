package main

import (
	"errors"
	"runtime"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// splitCommand splits a command line as a POSIX shell does, without running any of it. A variable stays a reference,
// to be replaced when the server is used; a dollar that the shell would leave alone is doubled, so that it still is
// one then. On Windows a backslash is part of a path.
func splitCommand(text string) ([]string, error) {
	return splitCommandOn(text, runtime.GOOS == "windows")
}

func splitCommandOn(text string, windows bool) ([]string, error) {
	if windows {
		text = escapeBackslashes(text)
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

// escapeBackslashes doubles the backslashes that would escape something, but those before a double quote, which stays escaped.
func escapeBackslashes(text string) string {
	var b strings.Builder
	single := false
	for i := range len(text) {
		c := text[i]
		single = single != (c == '\'')
		b.WriteByte(c)
		if c == '\\' && !single && !strings.HasPrefix(text[i+1:], `"`) {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// notOneCommand explains what the parser stumbled over.
func notOneCommand(err error) error {
	if e, ok := errors.AsType[syntax.ParseError](err); ok {
		if strings.Contains(e.Text, "not a valid word") || strings.Contains(e.Text, "not valid words") {
			return usagef("--stdio starts one command, without a shell: no ; | & < > ( )").
				hint("quote them, or have a shell do it: --stdio \"sh -c '…'\"")
		}
		return usagef("--stdio: %s", e.Text)
	}
	return usagef("--stdio: %s", err)
}

// writePart appends what one part of a word means.
func writePart(b *strings.Builder, text string, part syntax.WordPart, inQuotes bool) error {
	switch p := part.(type) {
	case *syntax.Lit:
		b.WriteString(double(unescape(p.Value, inQuotes)))
	case *syntax.SglQuoted:
		if p.Dollar {
			return notWithoutShell("$'…'")
		}
		b.WriteString(double(p.Value))
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
	return usagef("--stdio starts a command without a shell, which %s would need", what).
		hint("have a shell do it: --stdio \"sh -c '…'\"")
}

// double makes dollars stay dollars when variables are replaced.
func double(s string) string { return strings.ReplaceAll(s, "$", "$$") }

// unescape removes the backslashes that a shell removes. In double quotes it leaves those before ordinary characters.
func unescape(s string, inQuotes bool) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch {
		case s[i] == '\n': // the line goes on
		case inQuotes && !strings.ContainsRune("$`\"\\", rune(s[i])):
			b.WriteByte('\\')
			b.WriteByte(s[i])
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}
