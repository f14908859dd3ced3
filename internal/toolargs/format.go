package toolargs

import (
	"net/mail"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// Formats are checked where a person types a value and can mend it at once. [Check] leaves them to the server: for JSON
// Schema a format only describes, unless somebody says otherwise.

// formatWords returns what a format wants, in words.
func formatWords(format string) string {
	switch format {
	case "uri", "url", "iri":
		return "URL"
	case "date":
		return "date as 2026-01-31"
	case "time":
		return "time as 12:00:00Z"
	case "date-time":
		return "time as 2026-01-31T12:00:00Z"
	case "ipv4", "ipv6":
		return "address as " + map[string]string{"ipv4": "192.0.2.1", "ipv6": "2001:db8::1"}[format]
	}
	return "format " + show(cut(format, 40))
}

// misformed says what is wrong with a text of a format, "" if nothing is, or the format is not known here.
func misformed(format, text string) string {
	ok := true
	want := ""
	switch format {
	case "email":
		a, err := mail.ParseAddress(text)
		ok, want = err == nil && a.Address == text, "an address such as me@example.com"
	case "uri", "url", "iri":
		u, err := url.Parse(text)
		ok = err == nil && u.IsAbs() && !strings.ContainsAny(text, " \t\n<>\"") && (u.Host != "" || u.Opaque != "" || u.Path != "")
		want = "a URL such as https://example.com"
	case "date":
		_, err := time.Parse(time.DateOnly, text)
		ok, want = err == nil, "a date such as 2026-01-31"
	case "time":
		_, err := time.Parse(time.RFC3339, "2026-01-31T"+strings.ToUpper(text))
		ok, want = err == nil, "a time such as 12:00:00Z, with its zone"
	case "date-time":
		// RFC 3339 allows small letters, and a space, between its parts.
		_, err := time.Parse(time.RFC3339, strings.Replace(strings.ToUpper(text), " ", "T", 1))
		ok, want = err == nil, "a time such as 2026-01-31T12:00:00Z, with its zone"
	case "ipv4", "ipv6":
		a, err := netip.ParseAddr(text)
		ok, want = err == nil && a.Is4() == (format == "ipv4"), "an address as "+formatWords(format)[len("address as "):]
	case "uuid":
		ok, want = isUUID(text), "a UUID such as 123e4567-e89b-12d3-a456-426614174000"
	}
	if ok {
		return ""
	}
	return "must be " + want
}

func isUUID(text string) bool {
	parts := strings.Split(text, "-")
	if len(parts) != 5 {
		return false
	}
	for i, n := range []int{8, 4, 4, 4, 12} {
		if len(parts[i]) != n || strings.Trim(strings.ToLower(parts[i]), "0123456789abcdef") != "" {
			return false
		}
	}
	return true
}
