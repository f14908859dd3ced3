package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
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
	var fields struct {
		Content    json.RawMessage `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    json.RawMessage `json:"isError"`
	}
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, err
	}
	if trimmed := bytes.TrimSpace(raw); len(trimmed) == 0 || trimmed[0] != '{' {
		return nil, errors.New("not an object")
	}
	r := &Result{Raw: raw}
	switch string(fields.IsError) {
	case "", "false", "null", "0", `""`, `"false"`:
	default:
		r.IsError = true // "true" in quotes is not a success
	}
	if s := string(fields.Structured); s != "null" {
		r.structured = fields.Structured
	}
	r.Content = ParseContent(fields.Content)
	return r, nil
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
