package transport

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// OddityKind says in what a server differs from the specification.
type OddityKind string

// The kinds of oddities. Each was got over.
const (
	// OddContentType is a JSON answer without a Content-Type, or with another one.
	OddContentType OddityKind = "content-type"
	// OddID is a response whose id is not that of the request byte for byte: 1 became "1".
	OddID OddityKind = "id"
	// OddNullID is an error that says of no request that it belongs to it.
	OddNullID OddityKind = "null-id"
	// OddBatch is a message inside an array.
	OddBatch OddityKind = "batch"
	// OddLines is a response among other messages of one JSON answer, one after the other.
	OddLines OddityKind = "lines"
	// OddPosted is a response of the older transport in the answer to the POST, and not on the stream.
	OddPosted OddityKind = "posted"
	// OddUnended is an event that was not ended with a blank line.
	OddUnended OddityKind = "unended"
	// OddLine is a response that stands in a line of standard output with other text.
	OddLine OddityKind = "line"
	// OddSpanning is a message that spans several lines of standard output.
	OddSpanning OddityKind = "spanning"
	// OddNotified is a response to a notification, which has none.
	OddNotified OddityKind = "notified"
	// OddText is a response whose text is not UTF-8.
	OddText OddityKind = "text"
	// OddStray is a response that belongs to no request.
	OddStray OddityKind = "stray"
	// OddReuse is a TCP connection that the server kept open, and closed without a word when it was used again.
	OddReuse OddityKind = "reuse"
	// OddBusy is a request that was refused as one of too many (429). There is nothing wrong with that.
	OddBusy OddityKind = "busy"
	// OddReply is an answer of ours to a request of the server's that the server did not accept.
	OddReply OddityKind = "reply"
)

// Oddity is something that a server does otherwise than the specification says, and that was got over.
type Oddity struct {
	Kind OddityKind
	// First is what was seen the first time, in words; Count is how often it was.
	First string
	Count int
}

// Oddities collects what is odd about one connection. The zero value is empty. Safe for concurrent use.
type Oddities struct {
	mu   sync.Mutex
	list []Oddity
	// asked are the methods of the server's own requests.
	asked []string
}

// note counts an oddity.
func (o *Oddities) note(kind OddityKind, format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range o.list {
		if o.list[i].Kind == kind {
			o.list[i].Count++
			return
		}
	}
	o.list = append(o.list, Oddity{Kind: kind, First: fmt.Sprintf(format, args...), Count: 1})
}

// has reports whether an oddity was noted.
func (o *Oddities) has(kind OddityKind) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.ContainsFunc(o.list, func(odd Oddity) bool { return odd.Kind == kind })
}

// heard looks at a message of the server: a request of its own is remembered.
func (o *Oddities) heard(e envelope) {
	if !e.isCall() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	const most = 16 // different methods; there are four
	if len(o.asked) < most && !slices.Contains(o.asked, e.Method) {
		o.asked = append(o.asked, e.Method)
	}
}

// own compares the id of a response with that of its request, and looks at its text.
func (o *Oddities) own(e, request envelope) {
	if !utf8.Valid(e.Result) {
		o.note(OddText, "the response to request %s is not UTF-8: %s", request.ID, Quote(invalidText(e.Result)))
	}
	switch {
	case e.nullID():
		o.note(OddNullID, "the error for request %s has the id null", request.ID)
	case string(e.ID) != string(request.ID):
		const most = 40 // ids are short
		id := e.ID
		if len(id) > most {
			id = id[:most]
		}
		o.note(OddID, "the response to request %s has the id %s", request.ID, id)
	}
}

// invalidText returns a text around its first byte that is not UTF-8.
func invalidText(text []byte) string {
	const around = 20 // characters that make it recognised
	at := 0
	for at < len(text) {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return strings.ToValidUTF8(string(text[max(0, at-around):min(len(text), at+around)]), "\uFFFD")
}

// List returns what was seen until now.
func (o *Oddities) List() []Oddity {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.list)
}

// Asked returns the methods of the requests that the server made.
func (o *Oddities) Asked() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.asked)
}
