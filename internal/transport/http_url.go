package transport

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// maxLocation is how long the address that a redirect names may be, in bytes: no server and no proxy takes longer ones.
const maxLocation = 16 << 10

// redirect returns where the hop that a redirect asks for leads, or why it is not made. It never leaves the origin of the
// endpoint.
func redirect(endpoint, from *url.URL, status int, location string, hop int) (*url.URL, *Fault) {
	next, err := from.Parse(location)
	if err != nil || len(location) > maxLocation {
		return nil, &Fault{Kind: KindRedirect, Err: errors.New("the server redirects to what is no URL")}
	}
	f := &Fault{Kind: KindRedirect, Location: bareURL(next)}
	switch {
	case hop >= maxRedirects:
		f.Err = fmt.Errorf("the server redirects in circles: more than %d times, the last to %s", maxRedirects, f.Location)
		return nil, f
	case !Moves(status) || !SameOrigin(next, endpoint):
		return nil, f
	}
	return next, nil
}

// Moves reports whether a status says that a request was not executed, and is to be made elsewhere. After 303, and whatever else
// names a Location, it may have been. See RFC 9110, 15.4.
func Moves(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// bareURL returns the URL without what may be secret: query, fragment, user info.
func bareURL(u *url.URL) string {
	bare := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return bare.String()
}

// SameOrigin reports whether two URLs have the same scheme, host and port. See RFC 6454. Only the letters of ASCII have a
// case in a host (RFC 3986, 6.2.2.1): to Unicode the Kelvin sign is a k, too.
func SameOrigin(a, b *url.URL) bool {
	return asciiLower(a.Scheme) == asciiLower(b.Scheme) && asciiLower(a.Hostname()) == asciiLower(b.Hostname()) && port(a) == port(b)
}

func asciiLower(s string) string {
	lower := []byte(s)
	for i, c := range lower {
		if c >= 'A' && c <= 'Z' {
			lower[i] += 'a' - 'A'
		}
	}
	return string(lower)
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if strings.EqualFold(u.Scheme, "https") {
		return "443"
	}
	return "80"
}
