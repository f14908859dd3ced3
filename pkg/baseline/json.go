package baseline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
)

// decode reads one JSON value. Its numbers keep their digits.
func decode(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil, err
	}
	if err := dec.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return value, nil
}

// masked returns the value with every text gone through mask, keys excepted.
func masked(value any, mask func(string) string) any {
	switch v := value.(type) {
	case string:
		return mask(v)
	case []any:
		for i := range v {
			v[i] = masked(v[i], mask)
		}
	case map[string]any:
		for key := range v {
			v[key] = masked(v[key], mask)
		}
	}
	return value
}

// write writes a value, keys sorted, on lines that begin with newline; "" writes it on one line.
func write(b *bytes.Buffer, value any, newline string) {
	inner, space := newline, ""
	if newline != "" {
		inner, space = newline+"  ", " "
	}
	switch v := value.(type) {
	case map[string]any:
		b.WriteByte('{')
		for i, key := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(inner + quote(key) + ":" + space)
			write(b, v[key], inner)
		}
		if len(v) > 0 {
			b.WriteString(newline)
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(inner)
			write(b, item, inner)
		}
		if len(v) > 0 {
			b.WriteString(newline)
		}
		b.WriteByte(']')
	case string:
		b.WriteString(quote(v))
	case json.Number:
		b.WriteString(v.String())
	case bool:
		fmt.Fprint(b, v)
	default:
		b.WriteString("null")
	}
}

// compact returns a value on one line.
func compact(value any) json.RawMessage {
	var b bytes.Buffer
	write(&b, value, "")
	return b.Bytes()
}

// quote returns text as JSON, with escapes for what cannot be seen.
func quote(text string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // text can always be encoded
	quoted := strings.TrimSuffix(b.String(), "\n")
	if !strings.ContainsFunc(quoted, invisible) {
		return quoted
	}
	b.Reset()
	for _, r := range quoted {
		switch {
		case !invisible(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// invisible reports whether a character does not show, or shows as another one does: formatting and control characters,
// spaces that are not the usual one, variation selectors, and what belongs to nobody.
func invisible(r rune) bool {
	switch r {
	case ' ', '\n', '\t':
		return false
	case 0x34f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x3164, 0xffa0, 0x2800:
		return true // letters and marks without a shape
	}
	return unicode.In(r, unicode.C, unicode.Z, unicode.Variation_Selector)
}

// Visible returns text with the name of each character that cannot be seen, as <U+200B>, in its place.
func Visible(text string) string {
	if !strings.ContainsFunc(text, invisible) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if invisible(r) {
			fmt.Fprintf(&b, "<U+%04X>", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// isTrue and isFalse report whether a value is that boolean, and nothing else.
func isTrue(value any) bool {
	b, ok := value.(bool)
	return ok && b
}

func isFalse(value any) bool {
	b, ok := value.(bool)
	return ok && !b
}

// equal compares values: numbers by what they mean, objects without regard to order.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equal)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case json.Number:
		b, ok := b.(json.Number)
		return ok && (a == b || number(a) != nil && number(b) != nil && number(a).Cmp(number(b)) == 0)
	}
	return a == b
}

// digits is the precision, in bits, to which numbers are compared. It is more than any type has that they are read into.
const digits = 512

// number returns what a number means, nil if it is none.
func number(value any) *big.Float {
	n, ok := value.(json.Number)
	if !ok {
		return nil
	}
	f, _, err := big.ParseFloat(n.String(), 10, digits, big.ToNearestEven)
	if err != nil {
		return nil
	}
	return f
}
