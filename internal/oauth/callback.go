package oauth

import (
	"context"
	"net/url"
)

// callback listens on this machine for the browser that comes back from the authorization server (RFC 8252, 7.3).
type callback struct{}

// listen begins to listen: at the URI that a registration demands, at a port, or at a free one if both are zero. The
// failure is an [*Error] with the reason Config: the port is taken.
func listen(ctx context.Context, redirectURI string, port int) (*callback, error) { return nil, nil }

// uri is what the authorization server is told. It names the port that is listened at.
func (c *callback) uri() string { return "" }

// answer waits for the browser, or for the URL that the person pastes, whichever comes first, and returns the parameters.
// An answer with another state is not the one that is waited for. The browser gets a page that says how it went, once
// done is called with the outcome.
func (c *callback) answer(ctx context.Context, p *Person, state string) (values url.Values, done func(error), err error) {
	return nil, nil, nil
}

// close ends listening.
func (c *callback) close() {}
