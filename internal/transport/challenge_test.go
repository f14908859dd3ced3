package transport

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestParseChallenge(t *testing.T) {
	type params = map[string]string
	for header, want := range map[string][]Challenge{
		"":            nil,
		" , ,":        nil,
		"Bearer":      {{"Bearer", params{}}},
		"Negotiate, ": {{"Negotiate", params{}}},
		`Bearer realm="mcp", error="invalid_token", error_description="The \"token\" has expired, renew it"`: {
			{"Bearer", params{"realm": "mcp", "error": "invalid_token", "error_description": `The "token" has expired, renew it`}},
		},
		`Bearer resource_metadata="https://a.example/.well-known/oauth-protected-resource", scope="files:read files:write"`: {
			{"Bearer", params{"resource_metadata": "https://a.example/.well-known/oauth-protected-resource", "scope": "files:read files:write"}},
		},
		// The examples of RFC 9110, 11.6.1, and of RFC 4559.
		`Newauth realm="apps", type=1, title="Login to \"apps\"", Basic realm="simple"`: {
			{"Newauth", params{"realm": "apps", "type": "1", "title": `Login to "apps"`}}, {"Basic", params{"realm": "simple"}},
		},
		"Negotiate a87421000492aa874209af8bc028==, Basic realm=x": {
			{"Negotiate", params{"": "a87421000492aa874209af8bc028=="}}, {"Basic", params{"realm": "x"}},
		},
		`Basic , Negotiate,Bearer scope=a`: {{"Basic", params{}}, {"Negotiate", params{}}, {"Bearer", params{"scope": "a"}}},
		// What servers get wrong.
		`Bearer realm = "a" , Scope= b`:                    {{"Bearer", params{"realm": "a", "scope": "b"}}},
		`Bearer realm="a" error="b"`:                       {{"Bearer", params{"realm": "a", "error": "b"}}},
		`Bearer resource_metadata=https://a.example/x?y=1`: {{"Bearer", params{"resource_metadata": "https://a.example/x?y=1"}}},
		`Bearer error="a", error="b"`:                      {{"Bearer", params{"error": "a"}}},
		`Bearer realm="no end`:                             {{"Bearer", params{"realm": "no end"}}},
		`Bearer realm="a", @@@ "x, y" ?, scope=b`:          {{"Bearer", params{"realm": "a", "scope": "b"}}},
		`realm="a"`:              nil,
		`Bearer error=, scope=b`: {{"Bearer", params{"": "error=", "scope": "b"}}},
		`Bearer, realm="a"`:      {{"Bearer", params{"realm": "a"}}},
	} {
		if got := ParseChallenge(header); !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n got %v\nwant %v", header, got, want)
		}
	}
}

// FuzzChallenge shows that any header can be read, and that what was read is read again when it is written properly.
func FuzzChallenge(f *testing.F) {
	f.Add(`Bearer realm="mcp", error="invalid_token", Basic realm="x"`)
	f.Add("Negotiate a87421000492aa874209af8bc028==, Basic realm=x")
	f.Add(`Bearer realm="a", @@@ "x, y" ?, scope=b\"`)
	f.Add(`a b, c="\`)
	f.Fuzz(func(t *testing.T, header string) {
		list := ParseChallenge(header)
		total := 0
		var b strings.Builder
		for i, c := range list {
			if c.Scheme == "" || c.Params == nil {
				t.Fatalf("%q: %v", header, c)
			}
			total += len(c.Scheme)
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(c.Scheme)
			separator := " "
			if single, ok := c.Params[""]; ok {
				b.WriteString(" " + single)
				separator = ", "
			}
			for name, value := range c.Params {
				total += len(name) + len(value)
				if name == "" {
					continue
				}
				quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value)
				fmt.Fprintf(&b, `%s%s="%s"`, separator, name, quoted)
				separator = ", "
			}
		}
		if total > len(header) {
			t.Fatalf("%q: %v is longer", header, list)
		}
		if again := ParseChallenge(b.String()); !reflect.DeepEqual(again, list) {
			t.Fatalf("%q: read as\n%v, written as\n%q, read again as\n%v", header, list, b.String(), again)
		}
	})
}

// FuzzRetryAfter shows that a wait is never negative and, but for dates, never over a day.
func FuzzRetryAfter(f *testing.F) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for _, seed := range []string{"", "0", "120", "-1", "99999999999999999999", "1.5", "Fri, 01 May 2026 12:00:10 GMT", "Fri, 01 Jan 9999 12:00:10 GMT", "Friday, 01-May-26 12:00:10 GMT"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		wait, ok := retryAfter(http.Header{"Retry-After": {value}}, now)
		switch {
		case wait < 0, !ok && wait != 0:
			t.Fatalf("%q: %s, %t", value, wait, ok)
		case !strings.ContainsAny(value, ":") && wait > 24*time.Hour:
			t.Fatalf("%q: %s", value, wait)
		}
	})
}
