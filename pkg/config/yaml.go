package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// This file stands between the package and yaml.v3: text to tree and back, with the errors of both in our form.

// The short tags of the scalars that may stand for text. A tag of another kind, such as !vault, is refused.
const (
	tagString    = "!!str"
	tagInt       = "!!int"
	tagFloat     = "!!float"
	tagBool      = "!!bool"
	tagNull      = "!!null"
	tagTimestamp = "!!timestamp"
	tagMerge     = "!!merge"
	tagMap       = "!!map"
	tagSeq       = "!!seq"
)

// byteOrderMark is what some editors write at the head of UTF-8 files.
const byteOrderMark = "\ufeff"

// parseTree returns the root of the only document in data, nil if there is none. Aliases are not followed, so its size
// is bounded by that of data.
func parseTree(file string, data []byte) (*yaml.Node, *Error) {
	data = bytes.TrimPrefix(data, []byte(byteOrderMark))
	if err := checkText(file, data); err != nil {
		return nil, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	if err := decode(decoder, &document); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		return nil, syntaxError(file, data, err)
	}
	var second yaml.Node
	if err := decode(decoder, &second); err == nil {
		return nil, &Error{File: file, Line: second.Line, Column: second.Column, Message: "a second document begins here", Hint: "keep one document in the file"}
	} else if !errors.Is(err, io.EOF) {
		return nil, syntaxError(file, data, err)
	}
	root := document.Content[0]
	if root.Kind == yaml.ScalarNode && root.ShortTag() == tagNull {
		return nil, nil
	}
	return root, nil
}

// decode calls the decoder. It has panics for states that its authors thought impossible ("please report"), and a
// configuration file must not be able to end the program.
func decode(decoder *yaml.Decoder, node *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: %v", r)
		}
	}()
	return decoder.Decode(node)
}

// encode returns the tree as text, indented by that many spaces.
func encode(root *yaml.Node, indent int) (text string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: %v", r)
		}
	}()
	// The encoder would write the tag of a merge key, as in !!merge <<, if it were set.
	merges := mergeKeys(root, nil)
	for _, key := range merges {
		key.Tag = ""
	}
	defer func() {
		for _, key := range merges {
			key.Tag = tagMerge
		}
	}()
	var b strings.Builder
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(indent)
	if err := encoder.Encode(root); err != nil {
		return "", err
	}
	if err := encoder.Close(); err != nil {
		return "", err
	}
	return b.String(), nil
}

// checkText refuses what is not UTF-8 text, with the place that yaml.v3 does not tell.
func checkText(file string, data []byte) *Error {
	if bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff}) {
		return &Error{File: file, Line: 1, Message: "the file is UTF-16", Hint: "save it as UTF-8"}
	}
	line, start := 1, 0
	for i := 0; i < len(data); {
		if c := data[i]; c >= ' ' && c < 0x7f {
			i++
			continue
		}
		r, size := utf8.DecodeRune(data[i:])
		fail := func(message, hint string) *Error {
			return &Error{File: file, Line: line, Column: utf8.RuneCount(data[start:i]) + 1, Message: message, Hint: hint}
		}
		switch {
		case r == utf8.RuneError && size == 1:
			return fail("not UTF-8 text", "save the file as UTF-8")
		case r == 0xfffe, r == 0xffff: // YAML 1.2, 5.1
			return fail(fmt.Sprintf("U+%04X, which is no character", r), "remove it")
		case r < ' ' && r != '\t' && r != '\n' && r != '\r', r == 0x7f, r >= 0x80 && r < 0xa0 && r != 0x85:
			return fail(fmt.Sprintf("the control character U+%04X", r), fmt.Sprintf(`remove it, or write "\x%02x" in double quotes`, r))
		case r == '\n':
			line, start = line+1, i+1
		}
		i += size
	}
	return nil
}

// parseForReading is parseTree for a file that is not going to be changed: comments need not be in the tree.
func parseForReading(file string, data []byte) (*yaml.Node, *Error) {
	text := bytes.TrimPrefix(data, []byte(byteOrderMark))
	if err := checkText(file, text); err != nil {
		return nil, err
	}
	if root, ok := quickTree(text); ok {
		return root, nil
	}
	return parseTree(file, data)
}

// syntaxError returns what yaml.v3 says, with its line in the place for lines.
func syntaxError(file string, data []byte, err error) *Error {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	// No line means the first, whose number the library counts as zero.
	e := &Error{File: file, Line: 1, Message: message}
	if m := regexp.MustCompile(`(?s)^line (\d+): (.*)$`).FindStringSubmatch(message); m != nil {
		e.Line, _ = strconv.Atoi(m[1])
		e.Message = m[2]
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	// The library counts lines from zero in what its parser finds, and from one in what its scanner finds.
	if regexp.MustCompile(`^line \d+: did not find expected (key|node content|'|<)`).MatchString(message) {
		e.Line = min(e.Line+1, len(lines))
	}
	if m := regexp.MustCompile(`^unknown anchor '(.*)' referenced$`).FindStringSubmatch(message); m != nil {
		e.Message = fmt.Sprintf("the alias *%s has no anchor &%s before it", m[1], m[1])
		for i, line := range lines {
			if strings.Contains(line, "*"+m[1]) {
				e.Line = i + 1
				break
			}
		}
	}
	if e.Line <= len(lines) {
		line := lines[e.Line-1]
		if strings.Contains(line[:len(line)-len(strings.TrimLeft(line, " \t"))], "\t") {
			e.Hint = "YAML is indented with spaces, and this line begins with a tab"
		}
	}
	switch {
	case e.Hint != "":
	case strings.HasPrefix(e.Message, "did not find expected"), strings.HasPrefix(e.Message, "found unexpected end of stream"):
		e.Hint = "look here and below for a bracket, a brace or a quote that is not closed, and check the indentation"
	case strings.HasPrefix(e.Message, "mapping values are not allowed"):
		e.Hint = "check the indentation, and put quotes around a value that contains a colon and a space"
	}
	return e
}

// follow returns the node that an alias stands for, or the node itself.
func follow(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// isMerge reports whether key is the merge key, <<.
func isMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.ShortTag() == tagMerge && key.Value == "<<"
}

// mergeKeys returns the merge keys in a tree, added to found.
func mergeKeys(n *yaml.Node, found []*yaml.Node) []*yaml.Node {
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && isMerge(child) {
			found = append(found, child)
		}
		found = mergeKeys(child, found)
	}
	return found
}

// describe says what a node is, without text that could be secret.
func describe(n *yaml.Node) string {
	if n.Kind == yaml.MappingNode {
		return "a mapping"
	}
	if n.Kind == yaml.SequenceNode {
		return "a list"
	}
	switch tag := n.ShortTag(); tag {
	case tagNull:
		return "nothing"
	case tagBool:
		return "the boolean " + n.Value
	case tagInt, tagFloat:
		return "a number"
	case tagTimestamp:
		return "a date"
	case tagString:
		return "text"
	default:
		return "the tag " + tag
	}
}

// sameTree reports whether two trees say the same. Comments, style and positions do not count.
func sameTree(a, b *yaml.Node) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.Kind != b.Kind || a.ShortTag() != b.ShortTag() || a.Value != b.Value || a.Anchor != b.Anchor || len(a.Content) != len(b.Content) {
		return false
	}
	for i := range a.Content {
		if !sameTree(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}
