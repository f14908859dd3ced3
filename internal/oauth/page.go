package oauth

// What the browser shows when it comes back. The pages are whole: they load nothing and run nothing, and nothing of the
// address stands in them.

import (
	"crypto/sha256"
	"encoding/base64"
	"html"
	"io"
	"net/http"
	"strings"
	"unicode"

	"github.com/mcpctl/mcpctl/internal/transport"
)

// page is what a page says.
type page struct {
	// Mark stands before the title, and Good and Bad colour it.
	Mark      string
	Good, Bad bool
	Title     string
	// Detail is what happened, "" for nothing, and Next what to do.
	Detail, Next string
}

func pageLoggedIn() page {
	return page{Mark: "✓", Good: true, Title: "You are logged in", Next: "You can close this tab and go back to mcpctl."}
}

func pageFailed(err error) page {
	return page{
		Mark: "✗", Bad: true, Title: "The login failed", Detail: printable(transport.Snippet([]byte(err.Error()))),
		Next: "You can close this tab. mcpctl says in the terminal what to do.",
	}
}

// printable leaves out of a text what changes how the rest of it is shown: parts of it are a server's.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text)
}

func pageUnknown() page {
	return page{Mark: "→", Title: "mcpctl has the answer", Next: "You can close this tab. The terminal says how the login went."}
}

func pageAgain() page {
	return page{
		Mark: "✓", Title: "This login was answered before",
		Next: "You can close this tab. The terminal says how the login went.",
	}
}

func pageOther() page {
	return page{
		Mark: "✗", Bad: true, Title: "This answers another login",
		Detail: "Its state is not that of the login that mcpctl waits for, so it was not used.",
		Next:   "Close this tab, and log in with the address that mcpctl shows in the terminal. It is still waiting.",
	}
}

func pageNoAnswer() page {
	return page{
		Mark: "✗", Bad: true, Title: "This is not an answer to a login",
		Detail: "The address has no state that says which login it belongs to, or something in it stands twice.",
		Next:   "Log in with the address that mcpctl shows in the terminal. It is still waiting.",
	}
}

func pageNotWaiting() page {
	return page{Mark: "✗", Bad: true, Title: "No login is waited for", Next: "You can close this tab."}
}

func pageNotFound() page {
	return page{Mark: "✗", Bad: true, Title: "There is nothing here", Next: "mcpctl waits here for the end of a login, and serves nothing else."}
}

const pageStyle = `:root{color-scheme:light dark}
body{margin:0;min-height:100vh;display:flex;align-items:center;justify-content:center;` +
	`background:#fff;color:#1f2328;font:1rem/1.5 system-ui,sans-serif}
main{max-width:34rem;padding:2rem}
h1{font-size:1.4rem;margin:0 0 .5rem}
p{margin:.5rem 0;overflow-wrap:anywhere}
.detail{color:#59636e}
.good{color:#1a7f37}.bad{color:#cf222e}
@media(prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}.detail{color:#9198a1}.good{color:#3fb950}.bad{color:#f85149}}`

// html returns the page. Each text stands between tags, where escaping it is enough. A template that finds out by itself where
// a text stands would cost every command a page's worth of tables.
func (p page) html() string {
	var b strings.Builder
	text := html.EscapeString
	class := ""
	switch {
	case p.Good:
		class = ` class="good"`
	case p.Bad:
		class = ` class="bad"`
	}
	b.WriteString(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>` + text(p.Title) + ` – mcpctl</title>
<link rel="icon" href="data:,">
<style>` + pageStyle + `</style>
</head>
<body>
<main>
<h1><span` + class + ` aria-hidden="true">` + text(p.Mark) + `</span> ` + text(p.Title) + `</h1>
`)
	if p.Detail != "" {
		b.WriteString(`<p class="detail">` + text(p.Detail) + "</p>\n")
	}
	b.WriteString(`<p>` + text(p.Next) + `</p>
</main>
</body>
</html>
`)
	return b.String()
}

// writePage writes a page, and has it sent before it returns.
func writePage(rw http.ResponseWriter, status int, p page) {
	style := sha256.Sum256([]byte(pageStyle))
	h := rw.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", strings.Join([]string{
		"default-src 'none'", "style-src 'sha256-" + base64.StdEncoding.EncodeToString(style[:]) + "'", "img-src data:",
		"base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
	}, "; "))
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	rw.WriteHeader(status)
	_, _ = io.WriteString(rw, p.html())        // a browser that has gone needs no page
	_ = http.NewResponseController(rw).Flush() // likewise
}
