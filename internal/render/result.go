package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpctl/mcpctl/internal/rawjson"
)

// Result is what a tool returned. See the MCP specification, 2025-11-25, "Tools", "Tool Result".
type Result struct {
	// Raw is the result as the server sent it, cut by Truncate if that was called.
	Raw json.RawMessage
	// IsError is set when the tool reports an error.
	IsError bool

	Content

	structured json.RawMessage
}

// ParseResult reads a result. What is odd in one block is told in its place; only a result that is no object is an
// error.
func ParseResult(raw json.RawMessage) (*Result, error) {
	r, content, err := parseResult(raw)
	if err != nil {
		return nil, err
	}
	r.Content = ParseContent(content)
	return r, nil
}

// parseResult reads a result as far as its content, which it returns.
func parseResult(raw json.RawMessage) (r *Result, content json.RawMessage, err error) {
	// The parts stay where they are: a result may be large.
	var structured, isError []byte
	object := rawjson.Object(raw, func(key string, value []byte) {
		switch key {
		case "content":
			content = value
		case "structuredContent":
			structured = value
		case "isError":
			isError = value
		}
	})
	if !object {
		return nil, nil, errors.New("not an object")
	}
	r = &Result{Raw: raw}
	switch string(isError) {
	case "", "false", "null", "0", `""`, `"false"`:
	default:
		r.IsError = true // "true" in quotes is not a success
	}
	if !bytes.Equal(structured, []byte("null")) {
		r.structured = structured
	}
	return r, content, nil
}

// BareResult is ParseResult without the content, for those who show the result as the server sent it: what is large in it
// is not decoded.
func BareResult(raw json.RawMessage) (*Result, error) {
	r, _, err := parseResult(raw)
	return r, err
}

// Silent reports whether there is nothing in the result that Write would show.
func (r *Result) Silent() bool { return r.structured == nil && r.Content.Silent() }

// Write writes the result as text: its content, or, where there is no text, the structured content as JSON. See
// [Content.Write].
func (r *Result) Write(w io.Writer, s Screen, line bool) error {
	if r.structured != nil && !r.hasText() {
		return JSON(w, s, r.structured)
	}
	return r.Content.Write(w, s, line)
}

// Truncate cuts the result to most characters, and returns how many are missing: from the text that Write writes, and
// from Raw, in which it cuts text and base64, in the order of the content, and nothing else.
func (r *Result) Truncate(most int) (fromText, fromRaw int) {
	fromText = r.truncate(most)
	left := most
	edited, err := EditStrings(r.Raw, func(path []string, text string) string {
		if !slices.Contains(cuttable(), strings.Join(path, ".")) {
			return text
		}
		kept := firstRunes(text, left)
		n := utf8.RuneCountInString(kept)
		left -= n
		fromRaw += utf8.RuneCountInString(text) - n
		return kept
	})
	if err == nil && fromRaw > 0 {
		r.Raw = edited
	}
	return fromText, fromRaw
}

// cuttable are the strings of a result that may be cut: text and base64.
func cuttable() []string {
	return []string{"content.[].text", "content.[].data", "content.[].resource.text", "content.[].resource.blob"}
}

// firstRunes returns the first n characters of text.
func firstRunes(text string, n int) string {
	if n <= 0 {
		return ""
	}
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}
