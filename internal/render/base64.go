package render

import (
	"encoding/base64"
	"io"
	"regexp"
	"strings"
	"sync"

	"github.com/mcpctl/mcpctl/internal/rawjson"
)

// base64Reader decodes a string in either alphabet of base64, with padding or without, white space in it or not.
func base64Reader(encoded rawjson.Text) io.Reader {
	return base64.NewDecoder(base64.RawStdEncoding, &alphabet{encoded.Reader()})
}

// decodeBase64 decodes text as base64Reader does.
func decodeBase64(text string) ([]byte, error) {
	return io.ReadAll(base64.NewDecoder(base64.RawStdEncoding, &alphabet{strings.NewReader(text)}))
}

// dataURI is how a data: URI begins that holds base64 (RFC 2397), as it may stand in JSON.
var dataURI = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^"?data:[^,"]{0,100};base64,`) })

// withoutScheme returns base64 without the beginning of a data: URI, which some servers put there, and whether there was one.
func withoutScheme(encoded rawjson.Text) (rawjson.Text, bool) {
	begin := dataURI().FindIndex(encoded[:min(len(encoded), longestScheme)])
	if begin == nil {
		return encoded, false
	}
	return encoded.After(begin[1] - 1), true
}

// longestScheme is how much of a text is looked at for the beginning of a data: URI.
const longestScheme = 128

// alphabet passes on the characters of the standard alphabet.
type alphabet struct{ r io.Reader }

// Read implements [io.Reader].
func (a *alphabet) Read(p []byte) (int, error) {
	for {
		n, err := a.r.Read(p)
		kept := 0
		for _, c := range p[:n] {
			switch c {
			case '-':
				c = '+'
			case '_':
				c = '/'
			case '=', '\n', '\r', ' ', '\t':
				continue
			}
			p[kept] = c
			kept++
		}
		if kept > 0 || err != nil || len(p) == 0 {
			return kept, err
		}
	}
}

// decodedLength returns how many bytes there are in base64, false if it is none. Nothing is decoded.
func decodedLength(encoded rawjson.Text) (int, bool) {
	var buf [4096]byte
	n := 0
	for r := (&alphabet{encoded.Reader()}); ; {
		k, err := r.Read(buf[:])
		for _, c := range buf[:k] {
			if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '+' && c != '/' {
				return 0, false
			}
		}
		n += k
		if err != nil {
			return n/4*3 + max(0, n%4-1), n%4 != 1
		}
	}
}
