package oauth

import (
	"context"
	"time"
)

// personTime is how long a person has to log in.
const personTime = 300 * time.Second

// Person is how somebody is asked to log in.
type Person struct {
	// Show is told what the person is asked for, and the URL, right before the browser is opened. It must not block.
	Show func(Asked)
	// Open opens a URL in a browser. If nil, none is opened: the person does it. It does not wait for the browser's end, and
	// a failure ends nothing: the person can open the URL that Show got.
	Open func(ctx context.Context, url string) error
	// Paste reads the URL that the person's browser was sent back to, where it could not reach this machine; it is asked
	// beside the listener, and its context ends when the browser came back. It is asked again after what was no answer.
	// With [io.EOF] nothing is pasted any more, and another error ends the login. If nil, only the listener waits.
	Paste func(ctx context.Context) (string, error)
	// Wrong is told what came, or was pasted, that is not the answer, and why, while the wait goes on. If nil, nobody is.
	Wrong func(why string)
	// Done is told that the wait is over, and whether an answer came. If nil, nobody is.
	Done func(answered bool)
	// Time is how long the person has, 0 for 300 s.
	Time time.Duration
}

// time returns how long the person has.
func (p *Person) time() time.Duration {
	if p == nil || p.Time <= 0 {
		return personTime
	}
	return p.Time
}

// Asked is what a person is asked to allow.
type Asked struct {
	// URL is where the person logs in. It holds no secret.
	URL string
	// Server is the MCP server's name, Resource its identifier, Issuer the authorization server.
	Server, Resource, Issuer string
	// Scopes are those asked for, nil for whatever the authorization server gives.
	Scopes []string
	// RedirectURI is where the browser comes back to.
	RedirectURI string
	// Until is when the person's time is over.
	Until time.Time
}
