package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/net/idna"

	"github.com/mcpctl/mcpctl/internal/iostreams"
	"github.com/mcpctl/mcpctl/internal/pasted"
	"github.com/mcpctl/mcpctl/internal/prompt"
	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/pkg/session"
)

// codePagesRequired is the code with which a server refuses a request until a person has been at some pages. See the MCP
// specification, 2025-11-25, "Elicitation", "URL Elicitation Required Error".
const codePagesRequired = -32042

// page is where a server wants a person to go.
type page struct {
	server, message, url, id string
	// wait is set when the request is made again afterwards: the person says when.
	wait bool
}

// checkPage says what is wrong with the address of a page.
func checkPage(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "":
		return errors.New("the URL cannot be read")
	case u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("the URL is no web page: %.20q", u.Scheme+":")
	case u.User != nil:
		return errors.New("the URL holds a user name, which hides where it leads")
	case iostreams.SanitizeLine(address) != address:
		return errors.New("the URL holds control characters")
	}
	return nil
}

// hostOf is the host that an address leads to, in ASCII: letters of other scripts may look like others.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "?"
	}
	host := u.Hostname()
	if ascii, err := idna.Punycode.ToASCII(strings.ToLower(host)); err == nil {
		host = ascii
	}
	if u.Port() != "" {
		host += ":" + u.Port()
	}
	return host
}

// visit asks a person to go to a page, and opens it after a yes.
func (n *answers) visit(ctx context.Context, p page) (string, error) {
	n.say(p.server, p.message)
	paint := render.Screen{Colour: n.a.io.ColorEnabled(false)}
	plain := ""
	if strings.HasPrefix(p.url, "http:") {
		plain = "  (not encrypted)"
	}
	// The address is not cut nor wrapped: it has to be seen, and copied, as a whole.
	n.a.warn(fmt.Sprintf("  to open %s\n  on host %s%s\n", p.url, paint.Paint(render.Strong, hostOf(p.url)), plain))
	at, err := n.a.asker().Select(ctx, "Open the page for "+p.server+"?", []prompt.Option{
		{Label: "Open it in the browser"},
		{Label: "I open it myself"},
		{Label: "Decline", Description: "say no"},
		{Label: "Cancel", Description: "say neither yes nor no"},
	})
	switch {
	case err != nil:
		return "", err
	case at == 2:
		return actionDecline, nil
	case at == 3:
		return actionCancel, nil
	case at == 0:
		if err := n.a.openBrowser(ctx, p.url); err != nil {
			n.a.note(fmt.Sprintf("no browser was opened (%s): open the address yourself", err))
		}
	}
	if !p.wait {
		return actionAccept, nil
	}
	return actionAccept, n.finished(ctx, p)
}

// finished waits until the server says that the page is done, or the person does.
func (n *answers) finished(ctx context.Context, p page) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := errors.New("the page is done")
	if p.id != "" {
		completed := n.a.quickDialer().Completed(p.server, p.id)
		go func() {
			select {
			case <-completed:
				cancel(done)
			case <-ctx.Done():
			}
		}()
	}
	_, err := n.a.asker().Select(ctx, "When you are done there", []prompt.Option{{Label: "Go on"}})
	if errors.Is(err, done) {
		return nil
	}
	return err
}

// openBrowser opens a page in the browser of $BROWSER, or of the desktop. It does not wait for it.
func (a *app) openBrowser(ctx context.Context, address string) error {
	var words []string
	if value, _ := a.lookup("BROWSER"); value != "" {
		// Several may be named; the first is taken, unless it is a path of Windows.
		if first, _, several := strings.Cut(value, ":"); several && runtime.GOOS != "windows" && first != "" {
			value = first
		}
		var err error
		if words, err = pasted.Split(value); err != nil || len(words) == 0 {
			return fmt.Errorf("BROWSER=%s is not a command", value)
		}
	} else {
		switch runtime.GOOS {
		case "darwin":
			words = []string{"open"}
		case "windows":
			words = []string{"rundll32", "url.dll,FileProtocolHandler"}
		default:
			words = []string{"xdg-open"}
		}
	}
	if i := slices.IndexFunc(words, func(w string) bool { return strings.Contains(w, "%s") }); i > 0 {
		words[i] = strings.ReplaceAll(words[i], "%s", address)
	} else {
		words = append(words, address)
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), words[0], words[1:]...) //nolint:gosec // the person's own browser
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }()
	return nil
}

// pagesRequired are the pages that a refused request wants a person to go to first.
func pagesRequired(server string, err error) (pages []page, e *session.Error) {
	if !errors.As(err, &e) || e.RPC == nil || e.RPC.Code != codePagesRequired {
		return nil, nil
	}
	var data struct {
		Elicitations []elicitation `json:"elicitations"`
	}
	if json.Unmarshal(e.RPC.Data, &data) != nil {
		return nil, e
	}
	for _, el := range data.Elicitations {
		if el.Mode == "url" && checkPage(el.URL) == nil {
			pages = append(pages, page{server: server, message: el.Message, url: el.URL, id: el.ID, wait: true})
		}
	}
	return pages, e
}

// visiting makes a request, and makes it once more when the server had refused it until a person has been at some pages,
// and the person has.
func (a *app) visiting(ctx context.Context, server string, request func() error) error {
	err := request()
	pages, refusal := pagesRequired(server, err)
	n := a.answers.Load()
	if refusal == nil || n == nil {
		return err
	}
	for _, p := range pages {
		action, asked := n.flags.elicit, error(nil)
		switch {
		case action == actionAccept:
			n.once(fmt.Sprintf("%s wants you to open %s (%s); accepted as --elicit says", server, p.url, hostOf(p.url)))
		case action == "" && a.canPrompt():
			asked = n.person(ctx, session.Question{Server: server}, func(ctx context.Context) error {
				var err error
				action, err = n.visit(ctx, p)
				return err
			})
			var r elicitResult
			if asked = n.ended(ctx, server, asked, &r); r.Action != "" {
				action = r.Action
			}
		}
		if asked != nil {
			return asked
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if action != actionAccept {
			return notVisited(refusal, pages)
		}
	}
	if len(pages) == 0 {
		return err
	}
	err = request()
	if again, refusal := pagesRequired(server, err); refusal != nil {
		return notVisited(refusal, again)
	}
	return err
}

// notVisited is the failure of a request for which somebody has to go to some pages first.
func notVisited(refusal *session.Error, pages []page) error {
	e := *refusal
	var open []string
	for _, p := range pages {
		open = append(open, fmt.Sprintf("open %s (host %s), then do it again", p.url, hostOf(p.url)))
	}
	e.Message = "the server wants you to open a page first: " + render.OneLine(refusal.Message)
	e.Hint = strings.Join(open, "\n")
	return &e
}
