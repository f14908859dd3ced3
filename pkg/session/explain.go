package session

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpctl/mcpctl/internal/transport"
)

const (
	hintPath   = "check the URL: the MCP endpoint often has a path of its own, such as /mcp"
	hintToken  = "the server wants authorization: give it with --header 'Authorization: Bearer ${TOKEN}'"
	hintRefuse = "the server refuses the authorization that it got: check that the token is right and has not expired"
	hintLogin  = "a login page stands before the server: give it a token with --header 'Authorization: Bearer ${TOKEN}', or go round the page"
	hintHost   = "the server, or a proxy, allows certain host names or origins only: use one of those in the URL"
)

// loginWords are those of pages that want a person to log in.
var loginWords = lazily(`(?i)\b(sign[ -]?in|log[ -]?in|login|sso|single sign-on|authenticate)\b`)

// hostWords are those of refusals that are about the Host or Origin header.
var hostWords = lazily(`(?i)\b(invalid|allowed|unknown|untrusted|bad) (host|origin)\b`)

// explain adds the next step to the failure of an opening, where there is an obvious one.
func (o *opening) explain(e *Error) {
	o.explainWay(e)
	if e.Hint != "" {
		return
	}
	f, ok := errors.AsType[*transport.Fault](e.Err)
	if !ok {
		if e.Class == ClassProtocol && strings.Contains(e.Message, "protocol version") {
			versions := mcp.SupportedProtocolVersions()
			e.Hint = fmt.Sprintf("the versions known here are %s to %s: update the older side", versions[len(versions)-1], versions[0])
		}
		return
	}
	switch f.Kind {
	case transport.KindDNS:
		e.Hint = o.hintName()
	case transport.KindRefused:
		e.Hint = "nothing listens there: start the server, or check the port in the URL; --wait 30s waits for it"
	case transport.KindTLS:
		e.Hint = o.tlsHint(f)
	case transport.KindProxy:
		e.Hint = proxyHint(f)
	case transport.KindRedirect:
		e.Hint = "if that is the right address, use it: " + f.Location
		if f.Err != nil {
			e.Hint = "correct the redirects of the server"
		}
	case transport.KindContent:
		switch {
		case f.IsPage() && loginWords().MatchString(f.Title+" "+f.Snippet()):
			e.Hint = hintLogin
		case f.IsPage():
			e.Hint = hintPath
		default:
			e.Hint = contentHint(f)
		}
	case transport.KindNotHTTP:
		e.Hint = "check the port in the URL: something else than HTTP answers there"
		if transport.SpeaksTLS(f.Err) {
			e.Hint = hintHTTPS
		}
	case transport.KindExit:
		e.Hint = "run the command by hand to see what it says"
	case transport.KindStatus:
		o.explainStatus(e, f)
	case transport.KindOther, transport.KindDial, transport.KindSevered, transport.KindStart, transport.KindTooLarge:
	}
}

func (o *opening) explainStatus(e *Error, f *transport.Fault) {
	authorized := false
	for name := range o.server.Headers {
		authorized = authorized || strings.EqualFold(name, "Authorization")
	}
	hint := statusHint(f)
	switch {
	case hint != "":
		e.Hint = hint
	case hostWords().Match(f.Body):
		e.Hint = hintHost
	case e.Class == ClassAuth && f.Status == http.StatusForbidden:
		e.Hint = "the server knows who asks, and refuses: ask for the right to use it"
		if !authorized {
			e.Hint = hintToken
		}
	case e.Class == ClassAuth && authorized:
		e.Hint = hintRefuse
	case e.Class == ClassAuth:
		e.Hint = hintToken
	case f.SessionID:
		e.Hint = "the session was lost while it was being opened: several instances without shared sessions behind one address?"
	case f.Status == http.StatusNotFound || f.Status == http.StatusMethodNotAllowed:
		e.Hint = hintPath
	}
}
