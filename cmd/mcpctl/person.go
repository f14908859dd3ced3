package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/mcpctl/mcpctl/internal/oauth"
	"github.com/mcpctl/mcpctl/internal/prompt"
	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/shellwords"
)

// loginFlags say how a person is asked to log in.
type loginFlags struct {
	// browser opens a browser also without a terminal, noBrowser opens none: the URL is shown, and the answer may be pasted.
	browser, noBrowser bool
	// waits is set for a command whose purpose is the login: without a terminal it shows the URL and waits.
	waits bool
}

// person returns how the person is asked, nil if nobody may be: there is no terminal, or nothing is to be asked.
func (a *app) person(o loginFlags) *oauth.Person {
	terminal := a.canPrompt()
	if a.global.noInput || !terminal && !o.browser && !o.waits {
		return nil
	}
	l := &loginScreen{a: a, o: o, terminal: terminal}
	p := &oauth.Person{Show: l.show, Wrong: l.wrong, Done: l.done, Time: a.loginTime}
	if !o.noBrowser && (terminal || o.browser) {
		l.browser = &oauth.Browser{Lookup: a.lookup, Failed: l.noBrowser}
		p.Open = l.open
	}
	switch {
	case terminal:
		p.Paste = l.paste
	case o.waits && o.noBrowser && !a.io.StdinTTY() && a.global.config != "-":
		p.Paste = l.pasteLines
	}
	return p
}

// loginScreen shows one login after the other: whatever is said of it, the address, what is waited for.
type loginScreen struct {
	a        *app
	o        loginFlags
	terminal bool
	// browser is nil if none is to be opened.
	browser *oauth.Browser

	mu    sync.Mutex
	asked oauth.Asked
	// shown is set while a login is shown.
	shown bool
	// rest ends what is shown while the browser is waited for.
	rest func()
	// lines are those of standard input, nil until one is wanted.
	lines chan string
}

// show says what is asked for, and where.
func (l *loginScreen) show(asked oauth.Asked) {
	l.done(true) // of one before
	a, width := l.a, l.a.errWidth()
	var b strings.Builder
	say := func(indent, text string) { b.WriteString(render.Wrap(text, width, indent) + "\n") }
	say("", "mcpctl: "+oneLine(asked.Server)+" wants you to log in.")
	if asked.Resource != "" && asked.Resource != asked.Server {
		say("  ", "server: "+oneLine(asked.Resource))
	}
	say("  ", "issuer: "+oneLine(asked.Issuer))
	scopes := "none in particular"
	if len(asked.Scopes) > 0 {
		scopes = strings.Join(asked.Scopes, " ")
	}
	say("  ", "scopes: "+oneLine(scopes))
	var absent error
	if l.browser != nil {
		if l.browser.Commands, absent = browserCommands(a.lookup); absent == nil {
			absent = l.browser.Available()
		}
	}
	switch {
	case l.browser == nil:
		say("", "Open this address in a browser:")
	case absent != nil:
		say("", "No browser can be opened: "+oneLine(absent.Error())+".")
		say("", "Open this address in one yourself:")
	default:
		say("", "This address is opened in your browser. If it is not, open it yourself:")
	}
	a.warn(b.String() + "\n")
	l.address(asked.URL)
	b.Reset()
	switch {
	case l.terminal || l.o.waits && l.o.noBrowser:
		say("", "If the browser is on another machine, it ends at a page that cannot be reached, "+oneLine(asked.RedirectURI)+
			"?…: paste the whole address of that page here.")
		a.warn("\n" + b.String())
	default:
		say("", "mcpctl waits for the answer until "+asked.Until.Format(time.TimeOnly)+".")
		a.warn("\n" + b.String())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked, l.shown = asked, true
	switch {
	case l.terminal || !a.animates():
		l.rest = a.hush()
	default:
		l.rest = a.drawn(l.waiting, func(time.Duration) string { return l.waiting() }, time.Second)
	}
}

// address shows a URL to open, on a line of its own. It is not masked: it holds no secret, and with a word that is one
// somewhere else it would lead nowhere.
func (l *loginScreen) address(url string) {
	l.a.errLock.Lock()
	defer l.a.errLock.Unlock()
	if l.a.liveShown {
		_, _ = io.WriteString(l.a.io.Err, eraseLine)
	}
	_, _ = io.WriteString(l.a.io.Err, oneLine(url)+"\n")
}

// waiting says what is waited for, and how long it still is.
func (l *loginScreen) waiting() string {
	left := max(time.Until(l.asked.Until).Round(time.Second), 0)
	return fmt.Sprintf("%d:%02d left for the login in the browser", int(left.Minutes()), int(left.Seconds())%60)
}

// open opens the browser. That it could not is told, and ends nothing.
func (l *loginScreen) open(ctx context.Context, url string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.shown {
		return nil // it is over already
	}
	if _, err := browserCommands(l.a.lookup); err != nil || l.browser.Available() != nil {
		return nil // it was said when the address was shown
	}
	if err := l.browser.Open(ctx, url); err != nil {
		l.noBrowser(err)
	}
	return nil
}

func (l *loginScreen) noBrowser(err error) {
	l.a.note("the browser failed, so open the address above yourself: " + oneLine(err.Error()))
}

func (l *loginScreen) wrong(why string) { l.a.note(oneLine(why)) }

// done ends what is shown.
func (l *loginScreen) done(answered bool) {
	l.mu.Lock()
	rest := l.rest
	l.rest, l.shown = nil, false
	l.mu.Unlock()
	if rest != nil {
		rest()
	}
	if l.browser != nil {
		l.browser.Close(answered)
	}
}

// paste reads the address that the browser ended at, at the terminal.
func (l *loginScreen) paste(ctx context.Context) (string, error) {
	a := l.a
	p := &prompt.Paste{Asker: a.asker(), Status: l.waiting, Question: "or paste the address"}
	above := func(p *prompt.Paste) {
		a.errLock.Lock()
		defer a.errLock.Unlock()
		a.pasting = p
	}
	above(p)
	defer above(nil)
	text, err := p.Read(ctx)
	if errors.Is(err, prompt.ErrInterrupted) && a.interrupt != nil {
		a.interrupt()
	}
	return text, err
}

// pasteLines reads it where standard input is no terminal: from whoever writes there.
func (l *loginScreen) pasteLines(ctx context.Context) (string, error) {
	l.mu.Lock()
	if l.lines == nil {
		l.lines = make(chan string)
		go func() { // a read cannot be stopped, so it is left behind
			defer close(l.lines)
			scanner := bufio.NewScanner(l.a.io.In)
			scanner.Buffer(nil, mostPastedLine)
			for scanner.Scan() {
				l.lines <- scanner.Text()
			}
		}()
	}
	l.mu.Unlock()
	select {
	case line, ok := <-l.lines:
		if !ok {
			return "", io.EOF
		}
		return line, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// mostPastedLine bounds a line that is read in place of a paste, in bytes: an address has some thousand.
const mostPastedLine = 256 << 10

// browserCommands returns the commands of BROWSER, the first of which that works opens the browser; nil for the
// platform's. Several are separated as directories in PATH are, and each is split as a shell would.
func browserCommands(lookup func(string) (string, bool)) ([][]string, error) {
	value, _ := lookup("BROWSER")
	if value = strings.TrimSpace(value); value == "" {
		return nil, nil
	}
	if _, err := exec.LookPath(value); err == nil {
		return [][]string{{value}}, nil // a path with spaces, or backslashes
	}
	var commands [][]string
	for _, text := range browserParts(value, runtime.GOOS == "windows") {
		text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "&")) // it is not waited for anyway
		if text == "" {
			continue
		}
		if runtime.GOOS == "windows" {
			text = shellwords.EscapeBackslashes(text)
		}
		split, err := shellwords.Split(text)
		if err != nil {
			return nil, fmt.Errorf("BROWSER: %w", err)
		}
		if len(split) > 0 {
			commands = append(commands, shellwords.Texts(split))
		}
	}
	return commands, nil
}

// browserParts parts the commands of BROWSER. A colon in quotes, or before //, is one of a command's words.
func browserParts(value string, windows bool) []string {
	if windows {
		return strings.Split(value, ";")
	}
	var parts []string
	start, quote := 0, byte(0)
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case c == '\\' && quote != '\'':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == ':' && !strings.HasPrefix(value[i:], "://"):
			parts = append(parts, value[start:i])
			start = i + 1
		}
	}
	return append(parts, value[start:])
}
