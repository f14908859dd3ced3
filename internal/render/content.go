package render

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpctl/mcpctl/internal/iostreams"
	"github.com/mcpctl/mcpctl/internal/rawjson"
)

// Content is what a server sends for people and models to read: the content of a tool's result or of a prompt's message.
// See the MCP specification, 2025-11-25, "Tools", "Tool Result".
type Content struct{ blocks []block }

// block is one element of the content.
type block struct {
	kind string
	// text is what is shown; for a block without text, a line about it.
	text string
	// about says what a block without text is, for one that can be saved.
	about string
	// isText is set for text that the server wrote, as opposed to a line about a block.
	isText bool
	// data is what can be saved in a file, nil for nothing.
	data     []byte
	mimeType string
	// name is the file's name, if the server gives it one.
	name string
}

// ParseContent reads an array of content blocks, or one block without its array. What is odd in one block is told in its
// place.
func ParseContent(raw json.RawMessage) Content {
	var c Content
	if begin := bytes.TrimSpace(raw); len(begin) > 0 && begin[0] != '[' && string(begin) != "null" {
		c.blocks = append(c.blocks, parseBlock(raw))
	}
	for b := range rawjson.Elements(raw) {
		c.blocks = append(c.blocks, parseBlock(b))
	}
	return c
}

// Silent reports whether there is nothing that Write would show.
func (c Content) Silent() bool {
	return !slices.ContainsFunc(c.blocks, func(b block) bool { return strings.TrimSpace(b.text) != "" })
}

// hasText reports whether the server wrote any text.
func (c Content) hasText() bool {
	return slices.ContainsFunc(c.blocks, func(b block) bool { return b.isText && b.text != "" })
}

// Write writes the content as text: the blocks with a line end between them. On a terminal text is made harmless and ends
// in a line end; otherwise it stays byte for byte as the server sent it. With line set a line end is added in any case, for
// output that goes on after it.
func (c Content) Write(w io.Writer, s Screen, line bool) error {
	out := bufio.NewWriterSize(w, outPiece) // a text may be large: it is not put together
	last := lastByte{w: out}
	for i, block := range c.blocks {
		if i > 0 {
			_, _ = last.Write([]byte{'\n'}) // Flush tells
		}
		if s.Terminal {
			_ = iostreams.WriteSanitized(&last, block.text)
		} else {
			_, _ = io.WriteString(&last, block.text)
		}
	}
	bare := len(c.blocks) > 0 && !c.blocks[len(c.blocks)-1].isText
	if last.any && last.c != '\n' && (s.Terminal || line || bare) {
		_ = out.WriteByte('\n')
	}
	return out.Flush()
}

// lastByte passes on what is written, and remembers its end.
type lastByte struct {
	w   *bufio.Writer
	any bool
	c   byte
}

func (l *lastByte) Write(p []byte) (int, error) {
	if len(p) > 0 {
		l.any, l.c = true, p[len(p)-1]
	}
	return l.w.Write(p)
}

func (l *lastByte) WriteString(text string) (int, error) {
	if text != "" {
		l.any, l.c = true, text[len(text)-1]
	}
	return l.w.WriteString(text)
}

// truncate cuts the text to most characters, and returns how many are missing.
func (c Content) truncate(most int) (missing int) {
	left := most
	for i := range c.blocks {
		b := &c.blocks[i]
		if !b.isText {
			continue
		}
		kept := firstRunes(b.text, left)
		left -= utf8.RuneCountInString(kept)
		missing += utf8.RuneCountInString(b.text) - utf8.RuneCountInString(kept)
		b.text = kept
	}
	return missing
}

func parseBlock(raw json.RawMessage) block {
	var b struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		Data     string `json:"data"`
		MIMEType string `json:"mimeType"`
		URI      string `json:"uri"`
		Name     string `json:"name"`
		Title    string `json:"title"`
		Resource *struct {
			URI      string  `json:"uri"`
			MIMEType string  `json:"mimeType"`
			Text     *string `json:"text"`
			Blob     *string `json:"blob"`
		} `json:"resource"`
	}
	if err := json.Unmarshal(raw, &b); err != nil {
		return about("unknown", "block that cannot be read; -o json shows it")
	}
	switch b.Type {
	case "text":
		return block{kind: b.Type, text: b.Text, isText: true}
	case "image", "audio":
		return binary(b.Type, b.MIMEType, b.Data, "")
	case "resource_link":
		name := b.Title
		if name == "" {
			name = b.Name
		}
		return about(b.Type, strings.TrimSpace("link "+OneLine(name))+" "+OneLine(b.URI))
	case "resource":
		switch r := b.Resource; {
		case r == nil:
			return about(b.Type, "resource without contents")
		case r.Text != nil:
			return block{kind: b.Type, text: *r.Text, isText: true, data: []byte(*r.Text), mimeType: r.MIMEType, name: r.URI}
		case r.Blob != nil:
			return binary("resource", r.MIMEType, *r.Blob, r.URI)
		default:
			return about(b.Type, "resource "+OneLine(r.URI)+" without contents")
		}
	default:
		return about(b.Type, fmt.Sprintf("block of the unknown type %q; -o json shows it", OneLine(b.Type)))
	}
}

func about(kind, text string) block { return block{kind: kind, text: "[" + text + "]"} }

// binary is a block with base64 in it. Text in base64 is text.
func binary(kind, mimeType, encoded, uri string) block {
	data, err := decodeBase64(encoded)
	if err != nil {
		return about(kind, fmt.Sprintf("%s %s, not valid base64", kind, OneLine(mimeType)))
	}
	b := block{kind: kind, data: data, mimeType: mimeType, name: uri}
	if strings.HasPrefix(mimeType, "text/") && utf8.Valid(data) {
		b.text, b.isText = string(data), true
		return b
	}
	what := strings.TrimSpace(kind + " " + OneLine(mimeType))
	if uri != "" {
		what += " " + OneLine(uri)
	}
	b.about = what + ", " + size(len(data))
	b.text = "[" + b.about + "; --save DIR saves it]"
	return b
}

// decodeBase64 reads base64 in both alphabets, with padding or without, line ends in it or not.
func decodeBase64(s string) ([]byte, error) {
	s = strings.NewReplacer("-", "+", "_", "/", "\n", "", "\r", "", "=", "").Replace(s)
	return base64.RawStdEncoding.DecodeString(s)
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

// Save writes the images, audio and resources into files in dir, which is made if need be, and returns their names; the
// lines that Write has for them name the files, too. The files are named after stem. No file that exists is overwritten,
// and no name of the server's leads out of dir.
func (c Content) Save(dir, stem string) (saved []string, err error) {
	for i, b := range c.blocks {
		if b.data == nil {
			continue
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return saved, err
		}
		path, err := writeNew(dir, fileName(stem, i+1, b), b.data)
		if err != nil {
			return saved, err
		}
		saved = append(saved, path)
		if !b.isText {
			c.blocks[i].text = "[" + b.about + "; saved as " + OneLine(path) + "]"
		}
	}
	return saved, nil
}

// fileName makes a name for a block: the stem, its number, and what its type says.
func fileName(stem string, number int, b block) string {
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, stem)
	return fmt.Sprintf("%.60s-%d%s", safe, number, extension(b.mimeType))
}

// extension returns the usual ending for a media type. The system's tables differ, so the common ones are fixed.
func extension(mimeType string) string {
	base, _, err := mime.ParseMediaType(mimeType)
	if err != nil {
		return ".bin"
	}
	switch base {
	case "image/png":
		return ".png"
	case "image/jpeg":
		return ".jpg"
	case "image/gif":
		return ".gif"
	case "image/webp":
		return ".webp"
	case "image/svg+xml":
		return ".svg"
	case "audio/mpeg":
		return ".mp3"
	case "audio/wav", "audio/x-wav":
		return ".wav"
	case "audio/ogg":
		return ".ogg"
	case "application/pdf":
		return ".pdf"
	case "application/json":
		return ".json"
	case "text/plain":
		return ".txt"
	case "text/markdown":
		return ".md"
	case "text/html":
		return ".html"
	}
	return ".bin"
}

// writeNew writes a file under a name that no other has.
func writeNew(dir, name string, data []byte) (string, error) {
	ext := filepath.Ext(name)
	stem := strings.TrimSuffix(name, ext)
	for n := 1; ; n++ {
		path := filepath.Join(dir, name)
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, os.ErrExist) {
			name = fmt.Sprintf("%s-%d%s", stem, n+1, ext)
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = f.Write(data)
		return path, errors.Join(err, f.Close())
	}
}
