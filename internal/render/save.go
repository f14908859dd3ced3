package render

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Save writes the images, audio and resources into files in dir, which is made if need be, and returns their names; the
// lines that Write has for them name the files, too. A file is named after its resource, or else after stem. No file that
// exists is overwritten, none is left that is not whole, and no name of the server's leads out of dir.
func (c Content) Save(dir, stem string) (saved []string, err error) {
	for i := range c.blocks {
		b := &c.blocks[i]
		if !b.savable() {
			continue
		}
		if err := makeDir(dir); err != nil {
			return saved, err
		}
		looks := b.looks()
		path, err := writeNewFrom(dir, fileName(stem, i+1, b, looks), b.data())
		if err != nil {
			return saved, err
		}
		saved = append(saved, path)
		b.saved = path
		if doubt := doubt(b.mimeType, looks); doubt != "" {
			b.doubt = path + ": " + doubt
		}
	}
	return saved, nil
}

// Warnings returns what is wrong with blocks: data: URIs, and, once they were saved, types that the content does not have.
func (c Content) Warnings() []string {
	var list []string
	for i, b := range c.blocks {
		if b.dataURI {
			list = append(list, fmt.Sprintf("content %d is a data: URI, where plain base64 belongs: many clients refuse the whole result", i+1))
		}
		if b.doubt != "" {
			list = append(list, b.doubt)
		}
	}
	return list
}

// data reads what is saved of a block.
func (b *block) data() io.Reader {
	switch {
	case b.encoded != nil:
		return base64Reader(b.encoded)
	case b.source != nil:
		return b.source.Reader()
	}
	return strings.NewReader(b.text)
}

// looks returns the media type that the content looks like.
func (b *block) looks() string {
	const most = 512 // as many bytes as DetectContentType looks at
	head, _ := io.ReadAll(io.LimitReader(b.data(), most))
	base, _, _ := mime.ParseMediaType(http.DetectContentType(head)) // its own types are well formed
	return base
}

// makeDir makes a directory unless it is there, and says in words what is there instead.
func makeDir(dir string) error {
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		return nil
	}
	switch info, statErr := os.Stat(dir); {
	case statErr == nil && !info.IsDir():
		return fmt.Errorf("%s is not a directory", dir)
	case errors.Is(statErr, os.ErrNotExist):
		if _, linkErr := os.Lstat(dir); linkErr == nil {
			return fmt.Errorf("%s is a symbolic link to something that is not there", dir)
		}
	}
	return fmt.Errorf("directory %s: %w", dir, cause(err))
}

// cause returns what an error says beside the operation and the path.
func cause(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}

// writeNew writes a file under a name that no other has.
func writeNew(dir, name string, data []byte) (path string, err error) {
	return writeNewFrom(dir, name, bytes.NewReader(data))
}

// writeNewFrom writes a file under a name that no other has. One that could not be written to its end is taken away again.
func writeNewFrom(dir, name string, data io.Reader) (path string, err error) {
	ext := filepath.Ext(name)
	stem := strings.TrimSuffix(name, ext)
	for n := 1; ; n++ {
		path = filepath.Join(dir, name)
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, os.ErrExist) {
			name = fmt.Sprintf("%s-%d%s", stem, n+1, ext)
			continue
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", path, cause(err))
		}
		_, err = io.Copy(f, data)
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
		if err == nil {
			return path, nil
		}
		err = fmt.Errorf("%s: %w", path, cause(err))
		if removeErr := os.Remove(path); removeErr != nil {
			return "", fmt.Errorf("%w; a part of it is left there", err)
		}
		return "", err
	}
}

// fileName makes a name for a block: from the last part of the resource's URI, or its name, or else from the stem and the
// block's number; and with the ending that its type has.
func fileName(stem string, number int, b *block, looks string) string {
	name := sensibleName(lastSegment(b.uri))
	if name == "" {
		name = sensibleName(b.name)
	}
	if name == "" {
		name = fmt.Sprintf("%s-%d", firstBytes(safeName(stem), mostStem), number)
		return name + endingFor(b.mimeType, looks)
	}
	ext := extensionOf(name)
	base := strings.TrimSuffix(name, ext)
	if ext == "" || !fits(b.mimeType, ext) {
		base, ext = name, endingFor(b.mimeType, looks)
	}
	return firstBytes(base, mostStem) + ext
}

// mostStem is how long a file's name may be without its ending, in bytes: less than any file system allows, with room for
// a number.
const mostStem = 100

// endingFor is the ending for a type, or for what the content looks like if the type says nothing.
func endingFor(mimeType, looks string) string {
	if len(endings(mimeType)) > 0 {
		return extension(mimeType)
	}
	return extension(looks)
}

// extension returns the usual ending for a media type.
func extension(mimeType string) string {
	if known := endings(mimeType); len(known) > 0 {
		return known[0]
	}
	return ".bin"
}

// fits reports whether a file of a type may have an ending that somebody else chose. Text and what is not known have many
// endings; a picture has those of pictures of its kind, whatever its URI ends in.
func fits(mimeType, ext string) bool {
	known := endings(mimeType)
	return len(known) == 0 || isTextual(mimeType) || slices.Contains(known, strings.ToLower(ext))
}

// lastSegment returns the last part of a URI's path, or what stands in for it.
func lastSegment(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || strings.EqualFold(u.Scheme, "data") {
		return ""
	}
	web := strings.EqualFold(u.Scheme, "http") || strings.EqualFold(u.Scheme, "https")
	path := strings.TrimRight(u.Path, "/")
	switch {
	case u.Opaque != "":
		path = strings.TrimRight(u.Opaque, "/")
		if unescaped, err := url.PathUnescape(path); err == nil {
			path = unescaped
		}
	case path == "" && !web:
		path = u.Host
	}
	return path[strings.LastIndexAny(path, `/\`)+1:]
}

// sensibleName returns a name of the server's as the name of a file, "" if it says nothing: without a letter in it, it is
// a number or a sign.
func sensibleName(name string) string {
	name = safeName(name)
	if !strings.ContainsFunc(name, unicode.IsLetter) {
		return ""
	}
	return name
}

// safeName returns text as the name of a file that every system takes for a plain one: no path, no dot, dash or space at
// the beginning, none of the names that are devices on Windows.
func safeName(text string) string {
	name := strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.L, unicode.M, unicode.Nd) && r != utf8.RuneError || strings.ContainsRune("-_.+=,@()", r) {
			return r
		}
		return '_'
	}, text)
	name = strings.TrimRight(strings.TrimLeft(name, ".-"), ".")
	first, _, _ := strings.Cut(strings.ToLower(name), ".")
	if slices.Contains([]string{"con", "prn", "aux", "nul"}, first) ||
		len(first) == len("com1") && (strings.HasPrefix(first, "com") || strings.HasPrefix(first, "lpt")) && first[3] >= '0' && first[3] <= '9' {
		name = "_" + name
	}
	if name == "" {
		return "_"
	}
	return name
}

// firstBytes returns the beginning of text, at most n bytes, cut between characters.
func firstBytes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// extensionOf returns the ending of a name, with its dot, "" if what follows the last dot is none: it has to be short and
// have a letter in it.
func extensionOf(name string) string {
	const most = 9 // .markdown
	ext := filepath.Ext(name)
	plain := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' }
	if len(ext) < 2 || len(ext) > most || len(ext) == len(name) || strings.ContainsFunc(ext[1:], func(r rune) bool { return !plain(r) }) ||
		!strings.ContainsFunc(ext, unicode.IsLetter) {
		return ""
	}
	return ext
}

// endings returns the usual endings for a media type, the best first, none for one that says nothing. The system's tables
// differ, so the common ones are fixed.
func endings(mimeType string) []string {
	base, _, err := mime.ParseMediaType(mimeType)
	if err != nil {
		return nil
	}
	switch canonical(base) {
	case "image/png":
		return []string{".png", ".apng"}
	case "image/jpeg":
		return []string{".jpg", ".jpeg", ".jpe", ".jfif"}
	case "image/gif":
		return []string{".gif"}
	case "image/webp":
		return []string{".webp"}
	case "image/svg+xml":
		return []string{".svg"}
	case "image/bmp":
		return []string{".bmp"}
	case "image/tiff":
		return []string{".tif", ".tiff"}
	case "image/avif":
		return []string{".avif"}
	case "image/heic":
		return []string{".heic"}
	case "image/x-icon":
		return []string{".ico"}
	case "audio/mpeg":
		return []string{".mp3", ".mpga"}
	case "audio/wav":
		return []string{".wav"}
	case "audio/ogg":
		return []string{".ogg", ".oga", ".opus"}
	case "audio/opus":
		return []string{".opus"}
	case "audio/flac":
		return []string{".flac"}
	case "audio/aac":
		return []string{".aac"}
	case "audio/mp4":
		return []string{".m4a", ".mp4"}
	case "audio/webm":
		return []string{".weba", ".webm"}
	case "audio/midi":
		return []string{".mid", ".midi"}
	case "audio/aiff":
		return []string{".aiff", ".aif"}
	case "video/mp4":
		return []string{".mp4", ".m4v"}
	case "video/webm":
		return []string{".webm"}
	case "video/mpeg":
		return []string{".mpeg", ".mpg"}
	case "video/quicktime":
		return []string{".mov"}
	case "application/pdf":
		return []string{".pdf"}
	case "application/zip":
		return []string{".zip", ".jar", ".docx", ".xlsx", ".pptx", ".odt", ".ods", ".odp", ".epub", ".whl", ".apk"}
	case "application/gzip":
		return []string{".gz", ".tgz"}
	case "application/x-tar":
		return []string{".tar"}
	case "application/wasm":
		return []string{".wasm"}
	case "application/msword":
		return []string{".doc"}
	case "application/vnd.openxmlformats-officedocument.wordprocessingml.document":
		return []string{".docx"}
	case "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":
		return []string{".xlsx"}
	case "application/vnd.openxmlformats-officedocument.presentationml.presentation":
		return []string{".pptx"}
	case "application/json":
		return []string{".json"}
	case "application/x-ndjson":
		return []string{".ndjson", ".jsonl"}
	case "application/yaml", "application/x-yaml", "text/yaml":
		return []string{".yaml", ".yml"}
	case "application/toml":
		return []string{".toml"}
	case "application/sql":
		return []string{".sql"}
	case "application/javascript", "text/javascript":
		return []string{".js", ".mjs"}
	case "text/plain":
		return []string{".txt"}
	case "text/markdown":
		return []string{".md", ".markdown"}
	case "text/html":
		return []string{".html", ".htm"}
	case "text/css":
		return []string{".css"}
	case "text/csv":
		return []string{".csv"}
	case "application/xml":
		return []string{".xml"}
	}
	switch {
	case strings.HasSuffix(base, "+json"):
		return []string{".json"}
	case strings.HasSuffix(base, "+xml"):
		return []string{".xml"}
	case strings.HasPrefix(base, "text/"):
		return []string{".txt"}
	}
	return nil
}

// canonical returns the usual name of a media type that has several.
func canonical(base string) string {
	switch base {
	case "image/jpg", "image/pjpeg":
		return "image/jpeg"
	case "image/x-png":
		return "image/png"
	case "image/vnd.microsoft.icon":
		return "image/x-icon"
	case "audio/mp3":
		return "audio/mpeg"
	case "audio/x-wav", "audio/wave", "audio/vnd.wave":
		return "audio/wav"
	case "application/ogg":
		return "audio/ogg"
	case "audio/x-flac":
		return "audio/flac"
	case "audio/x-m4a", "audio/m4a":
		return "audio/mp4"
	case "application/x-gzip":
		return "application/gzip"
	case "text/xml":
		return "application/xml"
	case "application/x-zip-compressed":
		return "application/zip"
	}
	return base
}

// doubt says that the content is not of the type that the server gives it, "" if it may be. Only types whose every file
// begins in a way of its own are doubted, and text that is something else.
func doubt(mimeType, looks string) string {
	base, _, err := mime.ParseMediaType(mimeType)
	if err != nil {
		return ""
	}
	announced, looks := canonical(base), canonical(looks)
	definite := []string{
		"image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "audio/wav", "audio/ogg",
		"application/pdf", "application/zip", "application/gzip",
	}
	plain := announced == "application/json" || strings.HasPrefix(announced, "text/")
	switch {
	case announced == looks, !slices.Contains(definite, announced) && !plain:
		return ""
	case slices.Contains(definite, looks):
		return fmt.Sprintf("the server says %s, and it looks like %s", announced, looks)
	case plain:
		return ""
	case looks == "text/html" || looks == "text/plain" || looks == "application/xml":
		return fmt.Sprintf("the server says %s, and it looks like text", announced)
	}
	return fmt.Sprintf("the server says %s, and it does not look like that", announced)
}

// readAll returns what is saved of a block.
func (b *block) readAll() ([]byte, error) {
	var data bytes.Buffer
	data.Grow(b.length)
	_, err := data.ReadFrom(b.data())
	return data.Bytes(), err
}
