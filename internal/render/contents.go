package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpctl/mcpctl/internal/iostreams"
	"github.com/mcpctl/mcpctl/internal/rawjson"
)

// Contents is what a server returned for a resource: usually one content, several for what is like a directory. See the
// MCP specification, 2025-11-25, "Resources", "Resource Contents".
type Contents struct {
	// Raw is the result as the server sent it, cut by Truncate if that was called.
	Raw json.RawMessage
	// Problems tell what is odd, one sentence each.
	Problems []string

	items []contentItem
}

// contentItem is one content.
type contentItem struct {
	uri, mimeType string
	// data is what it holds: the bytes of the text, or of the blob. It is nil if nothing of it can be used.
	data []byte
	// isText is set for text, which may have come as a blob.
	isText bool
	raw    json.RawMessage
}

// ParseContents reads the result of resources/read. What is odd in one content hides none of the others; a result without
// an array of contents is an error.
func ParseContents(raw json.RawMessage) (*Contents, error) {
	fields, err := object(raw)
	if err != nil {
		return nil, err
	}
	list, ok := fields["contents"]
	if !ok {
		return nil, errors.New(`it has no "contents"`)
	}
	if !bytes.HasPrefix(list, []byte("[")) {
		return nil, errors.New(`"contents" is not an array`)
	}
	c := &Contents{Raw: raw}
	i := -1
	for item := range rawjson.Elements(list) { // which are not copied: there may be megabytes in them
		i++
		parsed, problem := parseContentItem(item)
		if problem != "" {
			c.Problems = append(c.Problems, fmt.Sprintf("content %d of the result %s", i+1, problem))
		}
		c.items = append(c.items, parsed)
	}
	return c, nil
}

// object returns the fields of what has to be an object.
func object(raw json.RawMessage) (map[string]json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if !rawjson.Object(raw, func(key string, value []byte) { fields[key] = value }) {
		return nil, errors.New("it is not an object")
	}
	return fields, nil
}

func parseContentItem(raw json.RawMessage) (item contentItem, problem string) {
	item.raw = raw
	fields, err := object(raw)
	if err != nil {
		return item, "is not an object"
	}
	text := func(key string) (string, bool) {
		return rawjson.String(fields[key]) // not text: as good as missing
	}
	item.uri, _ = text("uri")
	item.mimeType, _ = text("mimeType")
	written, hasText := rawjson.TextOf(fields["text"])
	blob, hasBlob := text("blob")
	switch {
	case hasText:
		var b bytes.Buffer
		b.Grow(len(fields["text"]) + bytes.MinRead)
		_, _ = b.ReadFrom(written.Reader()) // into memory that is there
		item.data, item.isText = b.Bytes()[:b.Len():b.Len()], true
		if hasBlob {
			problem = "has both text and a blob; the text is taken"
		}
	case hasBlob:
		scheme := dataURI().FindString(blob[:min(len(blob), longestScheme)])
		if scheme != "" {
			problem = "has a blob that is a data: URI, where plain base64 belongs"
		}
		data, err := decodeBase64(blob[len(scheme):])
		if err != nil {
			return item, "has a blob that is not base64"
		}
		item.data = data
		if item.data == nil {
			item.data = []byte{}
		}
		item.isText = strings.HasPrefix(item.mimeType, "text/") && utf8.Valid(data)
	case fields["text"] != nil:
		problem = `has a "text" that is not text`
	case fields["blob"] != nil:
		problem = `has a "blob" that is not text in base64`
	default:
		problem = "has neither text nor a blob"
	}
	return item, problem
}

// Len returns how many contents there are, those that cannot be used among them.
func (c *Contents) Len() int { return len(c.items) }

// Unusable reports whether there are contents, and nothing can be used of any.
func (c *Contents) Unusable() bool {
	return len(c.items) > 0 && !slices.ContainsFunc(c.items, func(i contentItem) bool { return i.data != nil })
}

// Equal reports whether both hold the same.
func (c *Contents) Equal(other *Contents) bool {
	return other != nil && slices.EqualFunc(c.items, other.items, func(a, b contentItem) bool {
		return a.uri == b.uri && a.mimeType == b.mimeType && bytes.Equal(a.data, b.data)
	})
}

// Write writes the contents for people on a terminal, and as they are in a pipe: one content byte for byte, also that of a
// blob. Several have a line with their URI each, as head and tail have it for files. With line set text ends in a line
// end in any case, for output that goes on after it.
func (c *Contents) Write(w io.Writer, s Screen, line bool) error {
	if len(c.items) == 1 {
		return c.items[0].write(w, s, line, true)
	}
	for i, item := range c.items {
		head := s.Paint(Strong, "==> "+Cut(OneLine(item.uri), max(s.Width-len("==>  <=="), 0))+" <==") + "\n"
		if i > 0 {
			head = "\n" + head
		}
		if _, err := io.WriteString(w, head); err != nil {
			return err
		}
		if err := item.write(w, s, true, false); err != nil {
			return err
		}
	}
	return nil
}

// write writes one content. One that is alone in a pipe is written as its bytes.
func (i contentItem) write(w io.Writer, s Screen, line, alone bool) error {
	switch {
	case i.data == nil || !i.isText && (s.Terminal || !alone):
		return ParseContent(i.block()).Write(w, s, true)
	case !i.isText:
		_, err := w.Write(i.data)
		return err
	}
	text := i.data
	if s.Terminal {
		text = []byte(iostreams.Sanitize(string(i.data)))
	}
	if _, err := w.Write(text); err != nil {
		return err
	}
	if (s.Terminal || line) && len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		_, err := io.WriteString(w, "\n")
		return err
	}
	return nil
}

// block is the content as the block of a message that it is embedded in.
func (i contentItem) block() json.RawMessage {
	return slices.Concat([]byte(`{"type":"resource","resource":`), i.raw, []byte(`}`))
}

// Truncate cuts the contents to most characters, and returns how many are missing: from the text that Write writes, and
// from Raw, in which it cuts text and base64, in their order, and nothing else. Blobs that Write writes are not cut.
func (c *Contents) Truncate(most int) (fromText, fromRaw int) {
	left := most
	for n := range c.items {
		i := &c.items[n]
		if !i.isText {
			continue
		}
		kept := firstRunes(string(i.data), left)
		runes := utf8.RuneCountInString(kept)
		left -= runes
		fromText += utf8.RuneCount(i.data) - runes
		i.data = []byte(kept)
	}
	c.Raw, fromRaw = cutStrings(c.Raw, most, "contents.[].text", "contents.[].blob")
	return fromText, fromRaw
}

// cutStrings cuts the strings at some paths of a JSON text to most characters together, and returns how many are missing.
func cutStrings(raw json.RawMessage, most int, paths ...string) (cut json.RawMessage, missing int) {
	left := most
	edited, err := EditStrings(raw, func(path []string, text string) string {
		if !slices.Contains(paths, strings.Join(path, ".")) {
			return text
		}
		kept := firstRunes(text, left)
		n := utf8.RuneCountInString(kept)
		left -= n
		missing += utf8.RuneCountInString(text) - n
		return kept
	})
	if err != nil || missing == 0 {
		return raw, 0
	}
	return edited, missing
}

// SaveDir saves the contents as files in dir, which is made if need be, and returns their names. They are named after
// their URIs, and no name leads out of dir. A file that exists is overwritten only with replace.
func (c *Contents) SaveDir(dir string, replace bool) (saved []string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	for _, i := range c.items {
		if i.data == nil {
			continue
		}
		file := filepath.Join(dir, i.fileName())
		if replace && !slices.Contains(saved, file) {
			err = WriteWhole(file, i.data, true)
		} else {
			file, err = writeNew(dir, i.fileName(), i.data)
		}
		if err != nil {
			return saved, err
		}
		saved = append(saved, file)
	}
	return saved, nil
}

// SaveFile saves the one content there is as a file. One that exists is overwritten only with replace.
func (c *Contents) SaveFile(file string, replace bool) error {
	if len(c.items) != 1 {
		return fmt.Errorf("%s is one file, and there are %d contents; a directory ends in a slash: %s%c", file, len(c.items), file, filepath.Separator)
	}
	return WriteWhole(file, c.items[0].data, replace)
}

// fileName makes a name of the last part of the URI, with the ending of its type if it has none.
func (i contentItem) fileName() string {
	name := ""
	if u, err := url.Parse(i.uri); err == nil {
		name = firstName(path.Base(u.Path), u.Host, path.Base(strings.ReplaceAll(u.Opaque, ":", "/")))
	}
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("-_.", r):
			return r
		}
		return '_'
	}, name)
	const most = 100 // less than any file system allows, with room for a number
	if name = strings.TrimLeft(name, "."); len(name) > most {
		name = name[len(name)-most:] // the end has the type
	}
	if name == "" {
		name = "resource"
	}
	if path.Ext(name) == "" {
		switch {
		case i.mimeType == "" && i.isText:
			name += ".txt"
		default:
			name += extension(i.mimeType)
		}
	}
	return name
}

// firstName returns the first of some names that is one.
func firstName(names ...string) string {
	for _, n := range names {
		if n != "" && n != "." && n != "/" {
			return n
		}
	}
	return ""
}

// WriteWhole writes a file in one step: whoever looks sees all of it or nothing. One that exists is overwritten only with
// replace; what is no regular file, as /dev/null, is written to.
func WriteWhole(file string, data []byte, replace bool) error {
	info, err := os.Stat(file)
	switch {
	case err == nil && info.IsDir():
		return &os.PathError{Op: "save", Path: file, Err: errors.New("is a directory")}
	case err == nil && !info.Mode().IsRegular():
		f, err := os.OpenFile(file, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.Write(data)
		return errors.Join(err, f.Close())
	case err == nil && !replace:
		return &os.PathError{Op: "save", Path: file, Err: os.ErrExist}
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return err
	}
	part, err := writeNew(filepath.Dir(file), "."+filepath.Base(file)+".part", data)
	if err != nil {
		return fmt.Errorf("%s: %w", file, errors.Unwrap(err)) // nobody knows the other name
	}
	if replace {
		err = os.Rename(part, file)
	} else if err = os.Link(part, file); err == nil || !errors.Is(err, os.ErrExist) {
		// A link fails if somebody has made the file meanwhile. Some file systems have no links.
		if err != nil {
			err = os.Rename(part, file)
		} else {
			err = os.Remove(part)
		}
	}
	if err != nil && part != "" {
		_ = os.Remove(part)
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return fmt.Errorf("%s: %w", file, e.Err)
	}
	return err
}
