package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// minLine is the length in characters from which on a single line of a secret with several lines is a secret too.
// It is more than MinLength: lines of a key or of a credentials file are long, while the short ones ("{", "true,") are
// not worth hiding and occur everywhere.
const minLine = 8

// forms returns every way in which a secret may be written, without duplicates, in no particular order. All of them have
// at least MinLength bytes.
func forms(secret string) []string {
	var out []string
	add := func(form string) {
		if len(form) >= MinLength {
			out = append(out, form)
		}
	}
	for _, s := range parts(secret) {
		add(s)
		for _, escape := range []func(string) []string{urlForms, jsonForms, markupForms, base64Forms} {
			for _, form := range escape(s) {
				add(form)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// parts returns the values that are secret when the given one is: itself, what a header or a line reader makes of it,
// and the credential behind an HTTP authentication scheme.
func parts(secret string) []string {
	var out []string
	add := func(s string) {
		if !tooShort(s) && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	trimmed := strings.TrimSpace(secret)
	if trimmed == "" {
		return nil // blanks are in every text
	}
	add(secret)
	add(trimmed)
	if scheme, rest, ok := strings.Cut(trimmed, " "); ok && isScheme(scheme) {
		credential := strings.TrimSpace(rest)
		add(credential)
		if strings.EqualFold(scheme, "basic") {
			if plain, err := base64.StdEncoding.DecodeString(credential); err == nil {
				_, password, _ := strings.Cut(string(plain), ":")
				add(password)
			}
		}
	}
	if strings.ContainsAny(trimmed, "\r\n") {
		for line := range strings.FieldsFuncSeq(trimmed, func(c rune) bool { return c == '\r' || c == '\n' }) {
			if line = strings.TrimSpace(line); utf8.RuneCountInString(line) >= minLine {
				add(line)
			}
		}
	}
	return out
}

// isScheme reports whether s is an HTTP authentication scheme whose parameter is one credential (RFC 9110, 11.1, and
// those that are common without being registered).
func isScheme(s string) bool {
	switch strings.ToLower(s) {
	case "basic", "bearer", "dpop", "token", "apikey", "api-key":
		return true
	}
	return false
}

// urlForms returns the percent-encoded forms: Go's for a path and for a query, and that of JavaScript's
// encodeURIComponent, with upper-case and lower-case digits.
func urlForms(s string) []string {
	query := url.QueryEscape(s)
	strict := strings.ReplaceAll(query, "+", "%20") // RFC 3986; a literal + was escaped before
	component := strings.NewReplacer("%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*").Replace(strict)
	upper := []string{query, strict, component, url.PathEscape(s)}
	out := slices.Clone(upper)
	for _, form := range upper {
		out = append(out, lowerDigits(form, '%', 2))
	}
	return out
}

// jsonForms returns the forms inside a JSON string: as short as it can be, with Go's escapes for HTML, with PHP's for
// slashes, and in ASCII only as Python writes it; then Go's own quoting, as in errors and logs. Each is there also with
// Go's escapes once more: a message that quotes a document is often itself a string in one.
func jsonForms(s string) []string {
	plain := jsonString(s, false)
	once := []string{
		plain,
		jsonString(s, true),
		strings.ReplaceAll(plain, "/", `\/`),
		asciiJSON(plain, `\u%04x`),
		asciiJSON(plain, `\u%04X`),
		inside(strconv.Quote(s)),
		inside(strconv.QuoteToASCII(s)),
	}
	out := slices.Clone(once)
	for _, form := range once {
		out = append(out, jsonString(form, false), jsonString(form, true))
	}
	return out
}

// jsonString returns s as it stands between the quotes of a JSON string.
func jsonString(s string, escapeHTML bool) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(escapeHTML)
	if err := enc.Encode(s); err != nil {
		return s // cannot happen: a string is always encodable
	}
	return inside(strings.TrimSuffix(b.String(), "\n"))
}

// asciiJSON escapes what is not ASCII in the inside of a JSON string, each UTF-16 unit with the given format.
func asciiJSON(s, format string) string {
	var b strings.Builder
	for _, c := range s {
		if c < utf8.RuneSelf {
			b.WriteRune(c)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, c) {
			fmt.Fprintf(&b, format, unit)
		}
	}
	return b.String()
}

// markupForms returns the forms in HTML and XML text and attributes.
func markupForms(s string) []string {
	numeric := html.EscapeString(s)
	return []string{
		numeric,
		strings.ReplaceAll(numeric, "&#34;", "&quot;"),
		strings.NewReplacer("&#34;", "&quot;", "&#39;", "&apos;").Replace(numeric),
		strings.NewReplacer("&#34;", `"`, "&#39;", "'").Replace(numeric), // in text, quotes need no escape
		xmlForm(numeric),
	}
}

// xmlForm returns what an XML encoder makes of escaped text: white space as references, and the replacement character
// for what XML does not allow.
func xmlForm(escaped string) string {
	allowed := func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF {
			return '\uFFFD'
		}
		return r
	}
	return strings.NewReplacer("\t", "&#x9;", "\n", "&#xA;", "\r", "&#xD;").Replace(strings.Map(allowed, escaped))
}

// base64Forms returns the forms in which s appears inside base64, in both alphabets. What precedes s in the encoded
// bytes (a user name and a colon in Basic authentication, the rest of a document) shifts it by 0, 1 or 2 bytes, so there
// are three ways it can fall. Digits that s shares with its neighbours are left out, except at the end, where nothing
// may follow: there the last digit is known, with and without padding.
func base64Forms(s string) []string {
	var out []string
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		for shift := range 3 {
			padded := enc.EncodeToString(append(make([]byte, shift), s...))
			start := (shift*8 + 5) / 6        // the first digit, of 6 bits, that holds nothing of what precedes
			whole := (shift + len(s)) * 8 / 6 // the digits that hold nothing of what follows
			last := strings.TrimRight(padded, "=")
			out = append(out, padded[start:], last[start:], padded[start:whole])
		}
	}
	return out
}

// lowerDigits returns s with the n hexadecimal digits after every mark in lower case.
func lowerDigits(s string, mark byte, n int) string {
	b := []byte(s)
	for i := 0; i < len(b); i++ {
		if b[i] == mark {
			end := min(i+1+n, len(b))
			copy(b[i+1:end], bytes.ToLower(b[i+1:end]))
			i = end - 1
		}
	}
	return string(b)
}

// inside returns a quoted string without its quotes.
func inside(quoted string) string { return quoted[1 : len(quoted)-1] }
