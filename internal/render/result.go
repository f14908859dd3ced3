package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpctl/mcpctl/internal/iostreams"
	"github.com/mcpctl/mcpctl/internal/rawjson"
)

// Result is what a tool returned. See the MCP specification, 2025-11-25, "Tools", "Tool Result".
type Result struct {
	// Raw is the result as the server sent it, cut by Truncate if that was called.
	Raw json.RawMessage
	// IsError is set when the tool reports an error.
	IsError bool
	// Structured is the structured content, nil if there is none.
	Structured json.RawMessage

	Content

	// bare is set when structured content stands in for text that is not there.
	bare bool
	// cut is the text of the structured content, if Truncate has cut it.
	cut *string
}

// ParseResult reads a result. What is odd in one block is told in its place; only a result that is no object is an
// error.
func ParseResult(raw json.RawMessage) (*Result, error) {
	r, content, err := parseResult(raw)
	if err != nil {
		return nil, err
	}
	r.Content = parseContent(content)
	r.bare = r.Structured != nil && !r.hasText()
	return r, nil
}

// BareResult is ParseResult without the content, for those who show the result as the server sent it.
func BareResult(raw json.RawMessage) (*Result, error) {
	r, _, err := parseResult(raw)
	return r, err
}

// parseResult reads a result as far as its content, which it returns.
func parseResult(raw json.RawMessage) (r *Result, content json.RawMessage, err error) {
	if !rawjson.Valid(raw) {
		return nil, nil, errors.New("not valid JSON")
	}
	if rawjson.Kind(raw) != '{' {
		return nil, nil, errors.New("not an object")
	}
	f := fieldsOf(raw)
	r = &Result{Raw: raw}
	switch string(f["isError"]) {
	case "", "false", "null", "0", `""`, `"false"`:
	default:
		r.IsError = true // "true" in quotes is not a success
	}
	if s := f["structuredContent"]; string(s) != "null" {
		r.Structured = s
	}
	return r, f["content"], nil
}

// Silent reports whether there is nothing in the result that Write would show.
func (r *Result) Silent() bool { return r.Structured == nil && r.Content.Silent() }

// Write writes the result as text: its content, and, where there is no text in that, the structured content as JSON
// before it. See [Content.Write].
func (r *Result) Write(w io.Writer, s Screen, line bool) error {
	if !r.bare {
		return r.Content.Write(w, s, line)
	}
	var err error
	switch {
	case r.cut == nil:
		err = JSON(w, s, r.Structured)
	case s.Terminal:
		_, err = io.WriteString(w, iostreams.Sanitize(*r.cut)+"\n")
	default:
		_, err = io.WriteString(w, *r.cut+"\n")
	}
	if err != nil || r.Content.Silent() {
		return err
	}
	return r.Content.Write(w, s, line)
}

// Truncate cuts the result to most characters, and returns how many are missing: from the text that Write writes, and
// from Raw, in which it cuts text and base64, in the order of the content, and nothing else. Structured content that Write
// shows is text for it like any other; in Raw it stays whole, because what is left of a structure is none.
func (r *Result) Truncate(most int) (fromText, fromRaw int) {
	if r.bare {
		fromText = r.cutStructured(most)
	} else {
		fromText = r.truncate(most)
	}
	left := most
	edited, err := EditStrings(r.Raw, func(path []string, text string) string {
		if !slices.Contains(cuttable(), strings.Join(path, ".")) {
			return text
		}
		kept := firstRunes(text, left)
		if len(kept) == len(text) {
			left -= utf8.RuneCountInString(text)
			return text
		}
		left = 0
		fromRaw += utf8.RuneCountInString(text[len(kept):])
		return kept
	})
	if err == nil && fromRaw > 0 {
		r.Raw = edited
	}
	return fromText, fromRaw
}

// cutStructured cuts the text of the structured content.
func (r *Result) cutStructured(most int) (missing int) {
	doc, err := Marshal(r.Structured)
	if err != nil {
		return 0
	}
	text := string(bytes.TrimRight(doc, "\n"))
	kept := firstRunes(text, most)
	if len(kept) == len(text) {
		return 0
	}
	r.cut = &kept
	return utf8.RuneCountInString(text[len(kept):])
}

// cuttable are the strings of a result that may be cut: text and base64.
func cuttable() []string {
	return []string{
		"content.[].text", "content.[].data", "content.[].resource.text", "content.[].resource.blob",
		"content.text", "content.data", "content.resource.text", "content.resource.blob", // one block without its array
	}
}
