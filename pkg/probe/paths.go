package probe

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

// pathLimit bounds the question whether an MCP server answers at another path. The address has answered before.
const pathLimit = 3 * time.Second

// elsewhereLimit bounds the question at all of them.
const elsewhereLimit = 12 * time.Second

// otherPaths returns the URLs at which an MCP server is likely to be found, if none is at this one: at the usual paths
// below the origin, below the path and beside it, and at the path above.
func otherPaths(raw string) []string {
	u, err := url.Parse(raw)
	if err != nil {
		return nil
	}
	own := strings.TrimSuffix(u.Path, "/")
	above := strings.TrimSuffix(path.Dir(own), "/")
	if own == "" {
		above = ""
	}
	var urls []string
	for _, path := range []string{"/mcp", own + "/mcp", above + "/mcp", cmp.Or(above, "/"), "/sse", own + "/sse", above + "/sse", "/mcp/", "/"} {
		other := *u
		other.Path, other.RawPath = path, ""
		if text := other.String(); path != u.Path && !slices.Contains(urls, text) {
			urls = append(urls, text)
		}
	}
	return urls
}

// otherwise returns the transport over which an MCP server answers at the same URL, "" if the entry leaves it open, or none
// does.
func (t *Target) otherwise(ctx context.Context) string {
	other := map[config.Transport]config.Transport{config.TransportSSE: config.TransportHTTP, config.TransportHTTP: config.TransportSSE}[t.expanded.Transport]
	if other == "" {
		return ""
	}
	server := t.expanded.Clone()
	server.Transport, server.ConnectTimeout, server.Wait = other, pathLimit, time.Nanosecond
	s, err := t.dialer().Dial(ctx, server)
	if err != nil {
		return ""
	}
	_ = s.Close()
	return string(other)
}

// elsewhere returns the URL of the same origin at which an MCP server answers, "" if it is at none of the usual paths.
// Sessions that are opened for that are ended again.
func (t *Target) elsewhere(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, elsewhereLimit)
	defer cancel()
	if gatewayFailed(t.openErr) {
		return ""
	}
	for _, other := range otherPaths(t.expanded.URL) {
		server := t.expanded.Clone()
		server.URL, server.ConnectTimeout, server.Wait = other, pathLimit, time.Nanosecond
		s, err := t.dialer().Dial(ctx, server)
		if err == nil {
			_ = s.Close() // what the server says to the end of the session is another check's
		}
		// All sorts of things want a login at the root, and above an endpoint.
		if err == nil || session.ClassOf(err) == session.ClassAuth && usualEnd(other) {
			return other
		}
		if ctx.Err() != nil || gatewayFailed(err) {
			return ""
		}
	}
	return ""
}

// usualEnd reports whether a URL ends as those of MCP servers do.
func usualEnd(raw string) bool {
	raw = strings.TrimSuffix(raw, "/")
	return strings.HasSuffix(raw, "/mcp") || strings.HasSuffix(raw, "/sse")
}

// gatewayFailed reports whether a proxy answered for a server that it does not reach: it reaches none by another path.
func gatewayFailed(err error) bool {
	e, ok := errors.AsType[*session.Error](err)
	return ok && slices.Contains([]int{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}, e.Status)
}
