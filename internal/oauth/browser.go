package oauth

// How a browser is opened: by the commands of BROWSER, or else by what the platform has for it. None of them is a shell.
//
// What is started has no terminal and none of our streams. An opener ends at once, and one that fails does so within
// seconds: then the next one is tried. A command that is a browser itself goes on running, and how long it does is its
// own business once it has brought the answer. If no answer came, what BROWSER names is ended with the login, as a program
// that follows redirects would wait for ever; what the platform's openers have started never is.

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

const (
	// openerTime is how soon an opener that fails does so. Desktop openers ask a few services first.
	openerTime = 5 * time.Second
	// browserEnd is how long a command may take to end when it is asked to.
	browserEnd = time.Second
)

// Browser opens URLs, one for each login.
type Browser struct {
	// Commands are those that the user wants, each in its words; %s is where the URL goes, at the end if it is nowhere. The
	// first one that works is used. If there are none, the platform's openers are.
	Commands [][]string
	// Lookup looks up an environment variable. If nil, none is set.
	Lookup func(string) (string, bool)
	// Failed is told, once, that no browser could be opened, and why. It may be called after Open has returned.
	Failed func(error)

	mu sync.Mutex
	// cancel ends the one that was opened last, and leave lets it be. They are nil if there is none.
	cancel, leave context.CancelFunc
	opening       sync.WaitGroup
}

// Open begins to open a URL, and does not wait for it. Only https and http URLs are opened.
func (b *Browser) Open(_ context.Context, address string) error {
	if err := openable(address); err != nil {
		return err
	}
	commands, chosen := b.Commands, true
	if len(commands) == 0 {
		var err error
		if commands, err = b.openers(); err != nil {
			return err
		}
		chosen = false
	}
	b.Close(false)
	// The life of a browser is not that of the request that wants it: Close ends it.
	ctx, cancel := context.WithCancel(context.Background())
	left, leave := context.WithCancel(context.Background())
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cancel, b.leave = cancel, leave
	b.opening.Go(func() {
		defer cancel()
		defer leave()
		if err := open(ctx, left, commands, address, chosen); err != nil && b.Failed != nil {
			b.Failed(err)
		}
	})
	return nil
}

// Close ends the wait for what was opened. With an answer it may go on running, else it is ended if it can be.
func (b *Browser) Close(answered bool) {
	b.mu.Lock()
	cancel, leave := b.cancel, b.leave
	b.cancel, b.leave = nil, nil
	b.mu.Unlock()
	switch {
	case cancel == nil:
		return
	case answered:
		leave()
	default:
		cancel()
	}
	b.opening.Wait()
}

// openable reports why a URL is not given to a browser. Openers are programs and scripts of many kinds, some of which give
// the URL to a shell: what a shell would do something with is not given to them. An address to log in at has it nowhere but
// in a path, and there hardly ever.
func openable(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '"' }):
		return errors.New("the address to log in at is no URL")
	case u.Scheme != "https" && u.Scheme != "http":
		return errors.New("the address to log in at is neither https nor http")
	case strings.ContainsAny(address, "$`'()|;<>{}\\^!*"):
		return errors.New("the address to log in at has characters that a shell would act on, so it is given to no program")
	}
	return nil
}

// open runs the commands until one works. It returns nil when one of the contexts ends: at ctx, a command is ended if it
// was chosen by the user, at left none is.
func open(ctx, left context.Context, commands [][]string, address string, chosen bool) error {
	var failed []string
	for _, words := range commands {
		if len(words) == 0 {
			continue
		}
		start := time.Now()
		err := runOpener(ctx, left, placed(words, address), chosen)
		if err == nil || ctx.Err() != nil || left.Err() != nil {
			return nil //nolint:nilerr // nobody waits for it any more
		}
		failed = append(failed, fmt.Sprintf("%s: %s", filepath.Base(words[0]), err))
		if time.Since(start) > openerTime {
			break // it has shown something
		}
	}
	if len(failed) == 0 {
		return errors.New("BROWSER names no command")
	}
	return errors.New(strings.Join(failed, "; "))
}

// placed returns a command with the URL in it.
func placed(words []string, address string) []string {
	out, found := make([]string, 0, len(words)+1), false
	for i, w := range words {
		if i > 0 && strings.Contains(w, "%s") {
			w, found = strings.ReplaceAll(w, "%s", address), true
		}
		out = append(out, w)
	}
	if !found {
		out = append(out, address)
	}
	return out
}

// runOpener starts a command, and waits for its end, or until it is taken for a browser.
func runOpener(ctx, left context.Context, words []string, chosen bool) error {
	if _, err := exec.LookPath(words[0]); err != nil {
		if e, ok := errors.AsType[*exec.Error](err); ok {
			return e.Err
		}
		return err
	}
	// Its end is not that of the context: it is asked first, and it may be left.
	cmd := exec.Command(words[0], words[1:]...) //nolint:gosec,noctx // the user's own command, or the platform's
	apart(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	var ended error
	done := make(chan struct{})
	go func() {
		defer close(done)
		ended = cmd.Wait()
	}()
	timer := time.NewTimer(openerTime)
	defer timer.Stop()
	for {
		select {
		case <-done:
			return ended
		case <-timer.C:
			if !chosen {
				return nil
			}
		case <-left.Done():
			return nil
		case <-ctx.Done():
			if chosen {
				endBrowser(cmd, done)
			}
			return nil
		}
	}
}

// endBrowser ends a command and what it has started: it is asked to end, and has a moment for it.
func endBrowser(cmd *exec.Cmd, done <-chan struct{}) {
	askToEnd(cmd)
	timer := time.NewTimer(browserEnd)
	defer timer.Stop()
	select {
	case <-done: // how it ended is its own business
		kill(cmd) // what it has started
	case <-timer.C:
		kill(cmd)
		<-done
	}
}

// Available reports why no browser can be opened, nil if one can be tried.
func (b *Browser) Available() error {
	if len(b.Commands) > 0 {
		return nil
	}
	_, err := b.openers()
	return err
}

// openers are the platform's commands that open a URL in the browser that the person has chosen.
func (b *Browser) openers() ([][]string, error) {
	set := func(name string) bool {
		if b.Lookup == nil {
			return false
		}
		value, _ := b.Lookup(name)
		return value != ""
	}
	var known [][]string
	switch runtime.GOOS {
	case "darwin":
		known = [][]string{{"open"}}
	case "windows":
		known = [][]string{{"rundll32", "url.dll,FileProtocolHandler"}}
	default:
		switch {
		case set("WSL_DISTRO_NAME") || set("WSL_INTEROP"):
			known = [][]string{{"wslview"}, {"rundll32.exe", "url.dll,FileProtocolHandler"}}
		case set("TERMUX_VERSION"):
			known = [][]string{{"termux-open-url"}}
		case !set("DISPLAY") && !set("WAYLAND_DISPLAY"):
			// What they would open then is a browser for the terminal, and there a question stands.
			return nil, errors.New("there is no display here, and BROWSER is not set")
		}
		known = append(known, []string{"xdg-open"}, []string{"gio", "open"}, []string{"x-www-browser"}, []string{"sensible-browser"})
	}
	var there [][]string
	for _, words := range known {
		if _, err := exec.LookPath(words[0]); err == nil {
			there = append(there, words)
		}
	}
	if len(there) == 0 {
		var names []string
		for _, words := range known {
			names = append(names, words[0])
		}
		return nil, fmt.Errorf("there is no program to open it with (%s), and BROWSER is not set", strings.Join(names, ", "))
	}
	return there, nil
}
