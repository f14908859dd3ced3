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
	// Open opens a URL in a browser. If nil, none is opened: the person does it.
	Open func(ctx context.Context, url string) error
	// Paste reads the URL that the person's browser was sent back to, where it could not reach this machine; it is asked
	// beside the listener, and its context ends when the browser came back. If nil, only the listener waits.
	Paste func(ctx context.Context) (string, error)
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
