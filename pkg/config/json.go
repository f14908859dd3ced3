package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
	"gopkg.in/yaml.v3"
)

// This file makes of JSON the tree that the rest of the package walks. The JSON of other clients may have comments,
// trailing commas and a byte order mark. YAML could read most of plain JSON, but takes a comment for a syntax error.

// deepestJSON bounds the nesting of a file: its reader calls itself, and no client's file comes near.
const deepestJSON = 200

// looksLikeJSON reports whether data begins as an object of JSON does. YAML's flow style begins alike, but for the
// quotes around its first key.
func looksLikeJSON(data []byte) bool {
	rest, opened := skipComments(bytes.TrimPrefix(data, []byte(byteOrderMark))), false
	if opened = bytes.HasPrefix(rest, []byte("{")); !opened {
		return false
	}
	rest = skipComments(rest[1:])
	return len(rest) == 0 || rest[0] == '"' || rest[0] == '}'
}

// skipComments returns data from the first character that is neither white space nor in a comment.
func skipComments(data []byte) []byte {
	for {
		data = bytes.TrimLeft(data, " \t\r\n")
		end := ""
		switch {
		case bytes.HasPrefix(data, []byte("//")):
			end = "\n"
		case bytes.HasPrefix(data, []byte("/*")):
			end = "*/"
		default:
			return data
		}
		_, after, found := bytes.Cut(data[2:], []byte(end))
		if !found {
			return nil
		}
		data = after
	}
}

// isJSONName reports whether a file is called as files of JSON are.
func isJSONName(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".json", ".jsonc", ".json5":
		return true
	}
	return false
}

// parseJSON returns the tree of data, with the places in it. Repeated keys are still there.
func parseJSON(file string, data []byte) (*yaml.Node, *Error) {
	data = bytes.TrimPrefix(data, []byte(byteOrderMark))
	if !utf8.Valid(data) {
		return nil, notText(file, data)
	}
	if place, deep := tooDeep(data); deep {
		line, column := placeIn(data, place)
		return nil, &Error{File: file, Line: line, Column: column, Message: fmt.Sprintf("is nested deeper than %d levels", deepestJSON)}
	}
	// A comment at the end may lack its line end.
	value, err := hujson.Parse(append(bytes.Clone(data), '\n'))
	if err != nil {
		return nil, jsonError(file, data, err)
	}
	t := jsonTree{data: data, line: 1}
	return t.node(value), nil
}

// notText says where data stops being UTF-8.
func notText(file string, data []byte) *Error {
	if bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff}) {
		return &Error{File: file, Line: 1, Message: "the file is UTF-16", Hint: "save it as UTF-8"}
	}
	at := 0
	for at < len(data) {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	line, column := placeIn(data, at)
	return &Error{File: file, Line: line, Column: column, Message: "not UTF-8 text", Hint: "save the file as UTF-8"}
}

// tooDeep returns where data is nested too deep. Brackets in texts and comments do not count.
func tooDeep(data []byte) (place int, deep bool) {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case '/':
			end := ""
			switch {
			case bytes.HasPrefix(data[i:], []byte("//")):
				end = "\n"
			case bytes.HasPrefix(data[i:], []byte("/*")):
				end = "*/"
			default:
				continue
			}
			length := bytes.Index(data[i+2:], []byte(end))
			if length < 0 {
				return 0, false
			}
			i += length + 2
		case '{', '[':
			if depth++; depth > deepestJSON {
				return i, true
			}
		case '}', ']':
			depth--
		}
	}
	return 0, false
}

// placeIn returns the line and the column of an offset, both from 1; columns count characters.
func placeIn(data []byte, offset int) (line, column int) {
	offset = min(offset, len(data))
	start := bytes.LastIndexByte(data[:offset], '\n') + 1
	return bytes.Count(data[:offset], []byte("\n")) + 1, utf8.RuneCount(data[start:offset]) + 1
}

// jsonError returns what the reader says, with its place in the fields for places. What it quotes of the file may be a
// part of a secret, unless it is one character.
func jsonError(file string, data []byte, err error) *Error {
	e := &Error{File: file, Line: 1, Message: strings.TrimPrefix(err.Error(), "hujson: ")}
	if m := regexp.MustCompile(`(?s)^line (\d+), column (\d+): (.*)$`).FindStringSubmatch(e.Message); m != nil {
		e.Line, _ = strconv.Atoi(m[1])
		e.Column, _ = strconv.Atoi(m[2])
		e.Message = m[3]
	}
	switch {
	case strings.HasPrefix(e.Message, "invalid literal:"):
		e.Message, e.Hint = "neither text in double quotes, nor a number, true, false or null", "put double quotes around text"
	case strings.Contains(e.Message, "unexpected EOF"):
		lines := bytes.Count(data, []byte("\n")) + 1
		e.Line, e.Column = min(e.Line, lines), 0
		e.Message, e.Hint = "the file ends too early", "look for a bracket, a brace or a quote that is not closed"
	case strings.Contains(e.Message, "at start of object name"):
		e.Hint = "put double quotes around the key"
	case strings.Contains(e.Message, "(expecting ',' or"):
		e.Hint = "is a comma missing before it?"
	}
	return e
}

// jsonTree makes a tree. It counts lines as it goes, because a file can have many values.
type jsonTree struct {
	data []byte
	// offset is where line begins.
	line, offset int
}

// at puts the place of an offset into a node. The offsets come in rising order.
func (t *jsonTree) at(n *yaml.Node, offset int) *yaml.Node {
	offset = min(offset, len(t.data))
	for {
		i := bytes.IndexByte(t.data[t.offset:offset], '\n')
		if i < 0 {
			break
		}
		t.line++
		t.offset += i + 1
	}
	n.Line, n.Column = t.line, utf8.RuneCount(t.data[t.offset:offset])+1
	return n
}

func (t *jsonTree) node(v hujson.Value) *yaml.Node {
	switch value := v.Value.(type) {
	case *hujson.Object:
		n := t.at(&yaml.Node{Kind: yaml.MappingNode, Tag: tagMap}, v.StartOffset)
		for _, m := range value.Members {
			n.Content = append(n.Content, t.node(m.Name), t.node(m.Value))
		}
		return n
	case *hujson.Array:
		n := t.at(&yaml.Node{Kind: yaml.SequenceNode, Tag: tagSeq}, v.StartOffset)
		for _, item := range value.Elements {
			n.Content = append(n.Content, t.node(item))
		}
		return n
	case hujson.Literal:
		n := &yaml.Node{Kind: yaml.ScalarNode, Value: string(value)}
		switch value.Kind() {
		case '"':
			n.Tag, n.Style = tagString, yaml.DoubleQuotedStyle
			if err := json.Unmarshal(value, &n.Value); err != nil {
				n.Value = ""
			}
		case 't', 'f':
			n.Tag = tagBool
		case 'n':
			n.Tag, n.Value = tagNull, ""
		default:
			n.Tag = tagFloat
			if strings.Trim(n.Value, "-0123456789") == "" {
				n.Tag = tagInt
			}
		}
		return t.at(n, v.StartOffset)
	}
	return t.at(&yaml.Node{Kind: yaml.ScalarNode, Tag: tagNull}, v.StartOffset)
}
