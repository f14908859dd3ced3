package render

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpctl/mcpctl/internal/iostreams"
	"github.com/mcpctl/mcpctl/internal/rawjson"
)

// How results are read
//
// A result may hold fifty megabytes of text or base64. So nothing in it is copied before it is known to be needed: package
// rawjson finds the parts of a JSON text that is known to be valid. A string stays as it is written there until somebody
// reads it, and then passes through a small buffer.

// Content is what a server sends for people and models to read: the content of a tool's result or of a prompt's message.
// It refers to the JSON text that it was read from. See the MCP specification, 2025-11-25, "Tools", "Tool Result".
type Content struct{ blocks []block }

// block is one element of the content.
type block struct {
	// isText is set for text that the server wrote. Of the other blocks a line tells.
	isText bool
	// source is the text as it stands in the JSON text; nil if it was decoded or cut, and then it is in text.
	source rawjson.Text
	text   string

	// kind, mimeType, uri and name are what the server says of a block.
	kind, mimeType, uri, name string
	// about says what a block without text is. After it comes what can be done with it, and what is wrong with it.
	about, saved, doubt string
	// dataURI is set when the base64 stood in a data: URI.
	dataURI bool
	// encoded is base64, of length bytes, nil if there is none.
	encoded rawjson.Text
	length  int
	// resource is set for what can be saved although it is text.
	resource bool
}

// savable reports whether a block holds something for a file.
func (b *block) savable() bool { return b.encoded != nil || b.resource && b.isText }

// ParseContent reads an array of content blocks, or one block without its array. What is odd in one block is told in its
// place.
func ParseContent(raw json.RawMessage) Content {
	if len(raw) > 0 && !rawjson.Valid(raw) {
		return Content{[]block{unreadable()}}
	}
	return parseContent(raw)
}

// parseContent is ParseContent for JSON that is known to be valid, or nothing.
func parseContent(raw json.RawMessage) Content {
	var c Content
	switch rawjson.Kind(raw) {
	case 0, 'n': // null
	case '[':
		for each := range rawjson.Elements(raw) {
			c.blocks = append(c.blocks, parseBlock(each))
		}
	default:
		c.blocks = append(c.blocks, parseBlock(raw))
	}
	return c
}

// Silent reports whether there is nothing that Write would show.
func (c Content) Silent() bool {
	return !slices.ContainsFunc(c.blocks, func(b block) bool { return !b.isText || strings.TrimSpace(b.content()) != "" })
}

// hasText reports whether the server wrote any text.
func (c Content) hasText() bool {
	return slices.ContainsFunc(c.blocks, func(b block) bool { return b.isText && (b.text != "" || !b.source.Empty()) })
}

// Links returns the URIs of the resources that the content refers to without holding them.
func (c Content) Links() []string {
	var uris []string
	for _, b := range c.blocks {
		if b.kind == "resource_link" && b.uri != "" && !slices.Contains(uris, b.uri) {
			uris = append(uris, b.uri)
		}
	}
	return uris
}

// Write writes the content as text: the blocks with a line end between them. On a terminal text is made harmless, ends in
// a line end, and has pictures above their lines; otherwise it stays byte for byte as the server sent it. With line set a
// line end is added in any case, for output that goes on after it.
func (c Content) Write(w io.Writer, s Screen, line bool) error {
	out := &ending{w: bufio.NewWriterSize(w, c.piece())}
	for i := range c.blocks {
		b := &c.blocks[i]
		if i > 0 {
			_, _ = io.WriteString(out, "\n")
		}
		b.write(out, s)
	}
	bare := len(c.blocks) > 0 && !c.blocks[len(c.blocks)-1].isText
	if out.any && out.last != '\n' && (s.Terminal || line || bare) {
		_, _ = io.WriteString(out, "\n")
	}
	return out.w.Flush() // an error of a write before is kept for here
}

// piece is how much is written at a time: all of a short text, for which nothing larger has to be set aside.
func (c Content) piece() int {
	const least, most = 1 << 10, 1 << 16
	size := least
	for _, b := range c.blocks {
		size += len(b.source) + len(b.text)
		if b.encoded != nil || size > most { // a picture
			return most
		}
	}
	return size
}

// ending is a writer that remembers how its output ends.
type ending struct {
	w    *bufio.Writer
	any  bool
	last byte
}

func (e *ending) Write(p []byte) (int, error) {
	if len(p) > 0 {
		e.any, e.last = true, p[len(p)-1]
	}
	return e.w.Write(p)
}

func (b *block) write(w io.Writer, s Screen) {
	switch {
	case !b.isText:
		why := ""
		if s.Terminal && s.Pictures.Protocol != "" && b.isPicture() {
			var sequence []byte
			if sequence, why = b.picture(s.Pictures); why == "" {
				_, _ = w.Write(append(sequence, '\n'))
			}
		}
		_, _ = io.WriteString(w, b.line(why))
	case s.Terminal:
		_ = iostreams.WriteSanitized(w, b.content()) // Flush tells
	case b.source != nil:
		_, _ = io.Copy(w, io.LimitReader(b.source.Reader(), int64(len(b.source)))) // it is not longer than it is written
	default:
		_, _ = io.WriteString(w, b.text)
	}
}

// content returns the text of a block.
func (b *block) content() string {
	if b.source != nil {
		return b.source.String()
	}
	return b.text
}

// line is what is shown of a block without text. Why says why its picture is not above it.
func (b *block) line(why string) string {
	line := b.about
	if why != "" {
		line += ", not shown here: " + why
	}
	switch {
	case b.saved != "":
		line += "; saved as " + OneLine(b.saved)
	case b.encoded != nil:
		line += "; --save DIR saves it"
	}
	return "[" + line + "]"
}

// truncate cuts the text to most characters, and returns how many are missing.
func (c Content) truncate(most int) (missing int) {
	left := most
	for i := range c.blocks {
		b := &c.blocks[i]
		if !b.isText {
			continue
		}
		text := b.content()
		kept := firstRunes(text, left)
		if len(kept) == len(text) {
			left -= utf8.RuneCountInString(text)
			continue
		}
		left = 0 // what comes after a gap would be read as if it came next
		missing += utf8.RuneCountInString(text[len(kept):])
		b.source, b.text = nil, strings.Clone(kept)
	}
	return missing
}

// firstRunes returns the first n code points of text, or a few less, so that no mark is cut off from its letter, and no part
// from an emoji that is made of several.
func firstRunes(text string, n int) string {
	end := 0
	for ; n > 0 && end < len(text); n-- {
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
	}
	if end == len(text) {
		return text
	}
	// What people write is made of a few code points; text that is nothing but marks is cut where it falls.
	const most = 16
	back := end
	for range most {
		if back == 0 {
			break
		}
		before, size := utf8.DecodeLastRuneInString(text[:back])
		after, _ := utf8.DecodeRuneInString(text[back:])
		if !joined(before, after) {
			return text[:back]
		}
		back -= size
	}
	return text[:end]
}

// joined reports whether a and b, which comes after it, are shown as one character. It knows the usual cases of Unicode's
// annex 29: marks, variation selectors, joiners, the colours of skin, and the two ends of a line end.
func joined(a, b rune) bool {
	const joiner = '\u200d'
	switch {
	case a == '\r' && b == '\n', b == joiner:
		return true
	case unicode.IsControl(a):
		return false
	case a == joiner:
		return b > 0x2000 // joiners hold emoji together, and separate nothing else
	}
	return unicode.In(b, unicode.Mn, unicode.Me, unicode.Mc) || b >= 0x1f3fb && b <= 0x1f3ff || b >= 0xe0020 && b <= 0xe007f
}

func parseBlock(raw []byte) block {
	if text, ok := rawjson.TextOf(raw); ok { // the author forgot the block around it
		return block{kind: "text", isText: true, source: text}
	}
	if rawjson.Kind(raw) != '{' {
		return unreadable()
	}
	f := fieldsOf(raw)
	b := block{kind: f.text("type"), mimeType: f.text("mimeType"), uri: f.text("uri"), name: f.text("name")}
	switch b.kind {
	case "text":
		text, ok := rawjson.TextOf(f["text"])
		if !ok {
			b.about = "text block without text; -o json shows it"
			return b
		}
		b.isText, b.source = true, text
	case "image", "audio":
		b.binary(f["data"], f)
	case "resource_link":
		b.link(f)
	case "resource":
		b.embedded(f)
	default:
		if text, ok := rawjson.TextOf(f["text"]); ok { // what there is to read is read, whatever it is called
			b.isText, b.source = true, text
			return b
		}
		b.about = fmt.Sprintf("block of the unknown type %q; -o json shows it", Cut(OneLine(b.kind), mostName))
	}
	return b
}

func unreadable() block { return block{about: "block that cannot be read; -o json shows it"} }

// mostName is how many columns of a name are shown in a line: a longer one says no more.
const mostName = 60

// fields are the members of a JSON object that have been found in it.
type fields map[string][]byte

func fieldsOf(object []byte) fields {
	f := fields{}
	rawjson.Object(object, func(key string, value []byte) { f[key] = value })
	return f
}

// text returns a short string, "" if the member is missing or something else.
func (f fields) text(name string) string {
	q, _ := rawjson.TextOf(f[name])
	return q.String()
}

// binary completes a block that is base64. Text in base64 is text.
func (b *block) binary(data []byte, f fields) {
	what := strings.TrimSpace(b.kind + " " + OneLine(b.mimeType))
	if b.uri != "" {
		what += " " + OneLine(b.uri)
	}
	encoded, ok := rawjson.TextOf(data)
	if !ok {
		b.about = what + " without data"
		return
	}
	encoded, uri := withoutScheme(encoded)
	length, ok := decodedLength(encoded)
	if !ok {
		b.about = what + ", not valid base64"
		return
	}
	b.encoded, b.length = encoded, length
	if b.kind == "resource" && isTextual(b.mimeType) {
		var text strings.Builder
		text.Grow(length)
		if _, err := io.Copy(&text, base64Reader(encoded)); err == nil && utf8.ValidString(text.String()) {
			b.isText, b.text = true, text.String()
			return
		}
	}
	if width, height := b.pixels(); width > 0 {
		what += fmt.Sprintf(", %dx%d", width, height)
	}
	b.about = what + ", " + size(length) + audience(f)
	b.dataURI = uri
}

// embedded completes a block that holds a resource.
func (b *block) embedded(f fields) {
	b.resource = true
	contents := f["resource"]
	if rawjson.Kind(contents) != '{' {
		b.about = "resource without contents"
		return
	}
	r := fieldsOf(contents)
	b.mimeType, b.uri = r.text("mimeType"), r.text("uri")
	if name := r.text("name"); name != "" {
		b.name = name
	}
	if text, ok := rawjson.TextOf(r["text"]); ok {
		b.isText, b.source = true, text
		return
	}
	if _, ok := rawjson.TextOf(r["blob"]); ok {
		b.binary(r["blob"], f)
		return
	}
	b.about = strings.TrimSpace("resource "+OneLine(b.uri)) + " without contents"
}

// link completes a block that refers to a resource.
func (b *block) link(f fields) {
	parts := []string{"link"}
	name, title := OneLine(b.name), OneLine(f.text("title"))
	switch {
	case title != "" && name != "" && title != name:
		parts = append(parts, Cut(title, mostName), "("+Cut(name, mostName)+")")
	case title != "":
		parts = append(parts, Cut(title, mostName))
	case name != "":
		parts = append(parts, Cut(name, mostName))
	}
	if uri := OneLine(b.uri); uri != "" {
		parts = append(parts, uri)
	} else {
		parts = append(parts, "without a URI")
	}
	b.about = strings.Join(parts, " ")
	if b.mimeType != "" {
		b.about += ", " + OneLine(b.mimeType)
	}
	if n, err := strconv.ParseInt(string(f["size"]), 10, 64); err == nil && n >= 0 {
		b.about += ", " + size(int(n))
	}
	b.about += audience(f)
	if about := FirstSentence(f.text("description")); about != "" {
		const most = 100 // a line of help; the rest is for those who read the resource
		b.about += ": " + Cut(about, most)
	}
}

// audience says for whom a block is, if that is not who reads the line. See the MCP specification, 2025-11-25,
// "Resources", "Annotations".
func audience(f fields) string {
	if rawjson.Kind(f["annotations"]) != '{' {
		return ""
	}
	var roles []string
	for each := range rawjson.Elements(fieldsOf(f["annotations"])["audience"]) {
		role, _ := rawjson.TextOf(each)
		roles = append(roles, role.String())
	}
	if len(roles) == 1 && roles[0] == "assistant" {
		return ", meant for the assistant"
	}
	return ""
}

// isTextual reports whether a media type is one that people read as text.
func isTextual(mimeType string) bool {
	base, _, err := mime.ParseMediaType(mimeType)
	if err != nil {
		return false
	}
	switch base {
	case "application/json", "application/xml", "application/yaml", "application/x-yaml", "application/toml",
		"application/javascript", "application/sql", "application/x-ndjson":
		return true
	}
	return strings.HasPrefix(base, "text/") ||
		strings.HasPrefix(base, "application/") && (strings.HasSuffix(base, "+json") || strings.HasSuffix(base, "+xml"))
}

// size says how many bytes there are.
func size(n int) string {
	switch {
	case n == 1:
		return "1 byte"
	case n < 1000:
		return fmt.Sprintf("%d bytes", n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	default:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
}
