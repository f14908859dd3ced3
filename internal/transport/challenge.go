package transport

import "strings"

// Challenge is one way to be authorized that a 401 or 403 names.
type Challenge struct {
	// Scheme is the authentication scheme as the server spelled it: "Bearer".
	Scheme string
	// Params are the parameters by their names in lower case: "scope", "error_description", "resource_metadata". A scheme
	// that has one value in place of parameters ("Negotiate YII=") has it under "". Never nil.
	Params map[string]string
}

// Flag returns the flag with which a credential for the scheme is given, as it stands in a hint. Gateways that want a key in a
// header of their own name it in their challenge.
func (c Challenge) Flag() string {
	name := c.Params["name"]
	switch {
	case strings.EqualFold(c.Scheme, "Basic"):
		return "--header 'Authorization: Basic ${CREDENTIAL}', where CREDENTIAL is USER:PASSWORD in base64"
	case name != "" && strings.Trim(name, tokenChars) == "" && (c.Params["type"] == "header" || c.Params["in"] == "header"):
		return "--header '" + name + ": ${KEY}'"
	case strings.EqualFold(c.Scheme, "Key"): // Kong: the name is its default
		return "--header 'apikey: ${KEY}'"
	}
	return "--header 'Authorization: " + Snippet([]byte(c.Scheme)) + " ${CREDENTIAL}'"
}

// tokenChars are those of which the names of headers consist that people choose.
const tokenChars = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// ParseChallenge reads a WWW-Authenticate header, or several joined with commas. What cannot be read is passed over up to
// the next comma: a challenge with a mistake in it is better than none. Of a parameter that is there twice the first
// counts.
//
// See RFC 9110, 11.6.1.
func ParseChallenge(header string) []Challenge {
	s := challengeScanner(header)
	var list []Challenge
	for s.skip(" \t,"); s != ""; s.skip(" \t,") {
		word := s.take(isToken)
		if word == "" {
			s.junk()
			continue
		}
		if value, ok := s.value(); ok {
			if n := len(list); n > 0 { // else it belongs to nothing
				list[n-1].set(word, value)
			}
			continue
		}
		c := Challenge{Scheme: word, Params: map[string]string{}}
		if single := s.token68(); single != "" {
			c.Params[""] = single
		}
		list = append(list, c)
	}
	return list
}

func (c Challenge) set(name, value string) {
	name = strings.ToLower(name)
	if _, there := c.Params[name]; !there {
		c.Params[name] = value
	}
}

// challengeScanner is what is left of a header.
type challengeScanner string

func (s *challengeScanner) skip(set string) {
	*s = challengeScanner(strings.TrimLeft(string(*s), set))
}

// take returns the bytes at the beginning that are of a kind.
func (s *challengeScanner) take(is func(byte) bool) string {
	n := 0
	for n < len(*s) && is((*s)[n]) {
		n++
	}
	taken := string((*s)[:n])
	*s = (*s)[n:]
	return taken
}

// junk drops everything up to the next comma that is not in quotes.
func (s *challengeScanner) junk() {
	for *s != "" && (*s)[0] != ',' {
		if (*s)[0] == '"' {
			s.quoted()
			continue
		}
		*s = (*s)[1:]
	}
}

// value returns what stands behind an equals sign, and reports whether there is one. A value without quotes may hold more
// than a token may: many servers leave the quotes of a URL out.
func (s *challengeScanner) value() (string, bool) {
	after := *s
	after.skip(" \t")
	if after == "" || after[0] != '=' {
		return "", false
	}
	after = after[1:]
	after.skip(" \t")
	*s = after
	if *s != "" && (*s)[0] == '"' {
		return s.quoted(), true
	}
	return s.take(func(c byte) bool { return c > ' ' && c != ',' && c != '"' }), true
}

// quoted returns the text of a quoted string. One that does not end goes to the end.
func (s *challengeScanner) quoted() string {
	var b strings.Builder
	for i := 1; i < len(*s); i++ {
		switch c := (*s)[i]; {
		case c == '"':
			*s = (*s)[i+1:]
			return b.String()
		case c == '\\' && i+1 < len(*s):
			i++
			b.WriteByte((*s)[i])
		default:
			b.WriteByte(c)
		}
	}
	*s = ""
	return b.String()
}

// token68 returns the one value that a scheme may have in place of parameters, "" if there is none.
func (s *challengeScanner) token68() string {
	after := *s
	if after.skip(" "); after == *s {
		return "" // no space: the next challenge follows, or nothing
	}
	value := after.take(isToken68) + after.take(func(c byte) bool { return c == '=' })
	after.skip(" \t")
	if after != "" && after[0] != ',' {
		return ""
	}
	*s = after
	return value
}

func isAlphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// isToken reports whether c may stand in a token (RFC 9110, 5.6.2).
func isToken(c byte) bool { return isAlphanumeric(c) || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0 }

// isToken68 reports whether c may stand in a token68 before its padding (RFC 9110, 11.2).
func isToken68(c byte) bool { return isAlphanumeric(c) || strings.IndexByte("-._~+/", c) >= 0 }
