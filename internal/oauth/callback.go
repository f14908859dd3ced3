package oauth

// The way back from the browser.
//
// The listener is bound before the URL is made, so that the port that is told and the one that is listened at are the
// same. Whatever else comes to it is answered and forgotten: other paths, other methods, answers of another login. Only
// the first request with the right state is the answer, and it counts also if the browser is gone before it is told so.
// The browser is held for a moment, until it is known how the login went, because its page is where the person looks.

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mcpctl/mcpctl/internal/errno"
)

const (
	// callbackPath is where the browser comes back to, unless a registration demands another place.
	callbackPath = "/callback"
	// portTries is how often another free port is tried, when the one that was free for IPv4 is not for IPv6.
	portTries = 16
	// mostConnections are served at once: a browser opens a few, some of which it never uses. Others wait.
	mostConnections = 64
	// requestTime bounds the reading of a request, which a browser sends at once.
	requestTime = 5 * time.Second
	// outcomeTime is how long a browser is held for the outcome: longer than the token request may take, shorter than a
	// person's patience.
	outcomeTime = 15 * time.Second
	// pageTime is how long the listener stays for pages that are being written.
	pageTime = time.Second
	// mostRequest bounds a request, in bytes. Codes that are tokens have some thousand.
	mostRequest = 64 << 10
	// mostWrong is how many wrong answers of a browser are told of: a page that is loaded again and again is one mistake.
	mostWrong = 3
)

// errPersonTime is why a wait is over when nobody came.
var errPersonTime = errors.New("the time for the login is over")

// callback listens on this machine for the browser that comes back from the authorization server (RFC 8252, 7.3).
type callback struct {
	at     string
	path   string
	server *http.Server
	// serving are the goroutines of the server, and pages the requests that are being answered.
	serving, pages sync.WaitGroup
	closed         chan struct{}
	once           sync.Once

	mu sync.Mutex
	// waiting is the answer that is waited for, nil until then, and begun is closed when it is set for the first time.
	waiting *awaited
	begun   chan struct{}
	// shut is set when no request is answered any more.
	shut bool
}

// awaited is an answer that is waited for.
type awaited struct {
	state  string
	values chan url.Values
	wrong  chan string
	// outcome is closed when it is known how the login went: err is that.
	outcome chan struct{}
	err     error

	mu       sync.Mutex
	answered bool
	wrongs   int
}

// take makes what came the answer, unless there is one already.
func (w *awaited) take() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := !w.answered
	w.answered = true
	return first
}

// tell tells whoever waits of what came in place of the answer.
func (w *awaited) tell(why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.wrongs++; w.wrongs <= mostWrong && !w.answered {
		w.wrong <- why // there is room for all of them
	}
}

// listen begins to listen: at the URI that a registration demands, at a port, or at a free one if both are zero. The
// failure is an [*Error] with the reason Config: the port is taken.
func listen(ctx context.Context, redirectURI string, port int) (*callback, error) {
	host, path, key := "127.0.0.1", callbackPath, "oauth.redirect_port"
	u := &url.URL{Path: path}
	if redirectURI != "" {
		key = "oauth.redirect_uri"
		var err error
		if u, err = url.Parse(redirectURI); err != nil || u.Scheme != "http" || u.Hostname() != "localhost" && u.Hostname() != "127.0.0.1" {
			return nil, &Error{
				Step: StepCallback, Reason: Config, Message: key + " is no http URL at localhost or 127.0.0.1",
				Hint: "write it as http://127.0.0.1:8765/callback", Err: err,
			}
		}
		host, path, port = u.Hostname(), u.EscapedPath(), 0
		if p := u.Port(); p != "" {
			if port, err = strconv.Atoi(p); err != nil || port < 1 || port > 65535 {
				return nil, &Error{Step: StepCallback, Reason: Config, Message: key + ": the port is not between 1 and 65535", Err: err}
			}
		}
	}
	listeners, err := bind(ctx, host, port)
	if err != nil {
		return nil, cannotListen(err, host, port, key)
	}
	c := &callback{path: path, closed: make(chan struct{}), begun: make(chan struct{})}
	if c.path == "" {
		c.path = "/" // as a browser asks for it
	}
	// What is demanded is told as it was written, but for the port: it may be one that is free.
	_, bound, _ := net.SplitHostPort(listeners[0].Addr().String())
	at := url.URL{Scheme: "http", Host: net.JoinHostPort(host, bound), Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery}
	c.at = at.String()
	c.server = &http.Server{
		Handler:           http.HandlerFunc(c.serve),
		ReadHeaderTimeout: requestTime,
		ReadTimeout:       requestTime,
		WriteTimeout:      requestTime + 2*outcomeTime,
		MaxHeaderBytes:    mostRequest,
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
	}
	c.server.SetKeepAlivesEnabled(false)
	room := make(chan struct{}, mostConnections)
	for _, l := range listeners {
		c.serving.Go(func() { _ = c.server.Serve(&limited{Listener: l, room: room, closed: c.closed}) }) // ends with close
	}
	return c, nil
}

// bind listens at a port of this machine, 0 for a free one. A browser may take localhost for either of its addresses, so
// there it is the same port of both, where the machine has both.
func bind(ctx context.Context, host string, port int) ([]net.Listener, error) {
	var lc net.ListenConfig
	for try := 1; ; try++ {
		four, err := lc.Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			return nil, err
		}
		if host != "localhost" {
			return []net.Listener{four}, nil
		}
		_, bound, _ := net.SplitHostPort(four.Addr().String())
		six, err := lc.Listen(ctx, "tcp6", net.JoinHostPort("::1", bound))
		switch {
		case err == nil:
			return []net.Listener{four, six}, nil
		case !inUse(err): // there is no IPv6 here
			return []net.Listener{four}, nil
		}
		_ = four.Close() // nobody has come yet
		if port != 0 || try == portTries {
			return nil, err
		}
	}
}

// inUse reports whether a port is taken.
func inUse(err error) bool {
	return errno.Is(err, syscall.EADDRINUSE)
}

// cannotListen explains why the browser could not come back.
func cannotListen(err error, host string, port int, key string) error {
	e := &Error{Step: StepCallback, Reason: Config, Err: err}
	why := err.Error()
	if cause, ok := errors.AsType[*net.OpError](err); ok {
		why = cause.Err.Error()
	}
	switch {
	case port == 0:
		e.Message = fmt.Sprintf("no port of %s can be listened at, where the browser is to come back: %s", host, why)
	case inUse(err):
		e.Message = fmt.Sprintf("port %d of %s is taken by another program, and the browser is to come back there (%s)", port, host, key)
		e.Hint = fmt.Sprintf("end the program that listens at port %d, or set %s to another port that is registered for the client", port, key)
	default:
		e.Message = fmt.Sprintf("port %d of %s cannot be listened at, and the browser is to come back there (%s): %s", port, host, key, why)
		e.Hint = fmt.Sprintf("set %s to another port that is registered for the client", key)
	}
	return e
}

// limited is a listener that accepts no more connections than it has room for.
type limited struct {
	net.Listener
	room   chan struct{}
	closed <-chan struct{}
}

// Accept implements [net.Listener].
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.room <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.room
		return nil, err
	}
	return &counted{Conn: conn, leave: sync.OnceFunc(func() { <-l.room })}, nil
}

// counted is a connection that leaves its room to another one when it is closed.
type counted struct {
	net.Conn
	leave func()
}

// Close implements [net.Conn].
func (c *counted) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// uri is what the authorization server is told. It names the port that is listened at.
func (c *callback) uri() string { return c.at }

// answer waits for the browser, or for the URL that the person pastes, whichever comes first, and returns the parameters.
// An answer with another state is not the one that is waited for. The browser gets a page that says how it went, once
// done is called with the outcome. The failure is an [*Error].
func (c *callback) answer(ctx context.Context, p *Person, state string) (values url.Values, done func(error), err error) {
	limit := p.time()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errPersonTime)
	defer cancel()
	if p == nil {
		p = &Person{}
	}
	if p.Done != nil {
		defer func() { p.Done(err == nil) }()
	}
	w := &awaited{
		state: state, values: make(chan url.Values, 1), wrong: make(chan string, mostWrong), outcome: make(chan struct{}),
	}
	c.expect(w)
	pastes := make(chan pasting)
	if p.Paste != nil {
		var reading sync.WaitGroup
		reading.Go(func() { c.paste(ctx, p, w, pastes) })
		defer reading.Wait() // the terminal is then as it was before
		defer cancel()
	}
	for {
		select {
		case values := <-w.values:
			return values, w.end, nil
		case got := <-pastes:
			if got.err == nil && w.take() {
				return got.values, w.end, nil
			}
			err = got.err
		case why := <-w.wrong:
			p.wrong(why)
		case <-ctx.Done():
			err = waitedInVain(ctx, limit)
		}
		if err != nil {
			w.take() // who comes now is too late
			w.end(err)
			return nil, nil, err
		}
	}
}

// waitedInVain is why nobody came.
func waitedInVain(ctx context.Context, limit time.Duration) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, errPersonTime) || errors.Is(cause, context.DeadlineExceeded) {
		return &Error{
			Step: StepBrowser, Reason: TimedOut, Limit: loginLimit(limit), Err: cause,
			Message: fmt.Sprintf("nobody came back from the browser within %s", limit),
			Hint:    "begin again, and finish the login in the browser within that time",
		}
	}
	return &Error{Step: StepBrowser, Reason: Cancelled, Message: "the login was given up", Err: cause}
}

// wrong tells of what was not the answer.
func (p *Person) wrong(why string) {
	if p.Wrong != nil {
		p.Wrong(why)
	}
}

// pasting is what was pasted, or that the person does not want to.
type pasting struct {
	values url.Values
	err    error
}

// paste reads what the person pastes until it is the answer.
func (c *callback) paste(ctx context.Context, p *Person, w *awaited, to chan<- pasting) {
	for {
		text, err := p.Paste(ctx)
		var got pasting
		switch {
		case ctx.Err() != nil, errors.Is(err, io.EOF):
			return
		case err != nil:
			got.err = &Error{Step: StepBrowser, Reason: Cancelled, Message: "the login was given up", Err: err}
		default:
			var why string
			if got.values, why = parsePasted(text, w.state, c.at); why != "" {
				p.wrong(why)
			}
			if got.values == nil {
				continue
			}
		}
		select {
		case to <- got:
		case <-ctx.Done():
		}
		return
	}
}

// parsePasted returns the parameters of an answer that a person has pasted: the URL that the browser was sent to, or its
// query. Else it says why it is not the answer, "" if nothing was pasted. What was pasted is never repeated: it may hold a
// code.
func parsePasted(text, state, redirectURI string) (values url.Values, why string) {
	text = strings.Trim(strings.Join(strings.Fields(text), ""), `"'<>`+"`") // a terminal breaks lines, people quote
	if text == "" {
		return nil, ""
	}
	wanted := "paste the whole address that the browser was sent to: it begins with " + redirectURI + " and has code= and state= in it"
	_, query, found := strings.Cut(text, "?")
	if !found {
		switch query = text; {
		case strings.Contains(text, "://"):
			return nil, "there is nothing behind the path of that address; " + wanted
		case !strings.Contains(text, "="):
			return nil, "that is no address, and a code alone does not say which login it answers; " + wanted
		}
	}
	query, _, _ = strings.Cut(query, "#")
	values, err := url.ParseQuery(query)
	switch {
	case err != nil:
		return nil, "that address cannot be read; " + wanted
	case values.Has("response_type") || values.Has("code_challenge"):
		return nil, "that is the address to log in at; open it in a browser, log in, and " + wanted
	case repeated(values) != "":
		return nil, repeated(values) + " is in it twice; " + wanted
	case !values.Has("code") && !values.Has("error"):
		return nil, "there is no code in it; " + wanted
	case !values.Has("state"):
		return nil, "there is no state in it, which says which login it answers; " + wanted
	case !sameState(values, state):
		return nil, "it answers another login: its state is not this one's; log in at the address above, and paste where that ends"
	}
	return values, ""
}

// repeated returns the parameter that is there more than once, which RFC 6749, 3.1, forbids, "" for none.
func repeated(values url.Values) string {
	for _, name := range []string{"state", "code", "error", "iss"} {
		if len(values[name]) > 1 {
			return name
		}
	}
	return ""
}

// sameState reports whether an answer is that of the login with this state.
func sameState(values url.Values, state string) bool {
	return state != "" && subtle.ConstantTimeCompare([]byte(values.Get("state")), []byte(state)) == 1
}

// expect waits for an answer from now on.
func (c *callback) expect(w *awaited) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting == nil {
		close(c.begun)
	}
	c.waiting = w
}

// expected returns the answer that is waited for. A browser that redirects at once may be here sooner.
func (c *callback) expected(ctx context.Context) *awaited {
	timer := time.NewTimer(requestTime)
	defer timer.Stop()
	select {
	case <-c.begun:
	case <-c.closed:
	case <-ctx.Done():
	case <-timer.C:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiting
}

// enter reports whether a request is still answered. Then leave is called when it was.
func (c *callback) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.shut {
		c.pages.Add(1)
	}
	return !c.shut
}

// serve answers a request.
func (c *callback) serve(rw http.ResponseWriter, r *http.Request) {
	if !c.enter() {
		return
	}
	defer c.pages.Done()
	switch {
	case r.URL.EscapedPath() != c.path:
		writePage(rw, http.StatusNotFound, pageNotFound())
		return
	case r.Method != http.MethodGet:
		rw.Header().Set("Allow", http.MethodGet)
		writePage(rw, http.StatusMethodNotAllowed, pageNotFound())
		return
	}
	w := c.expected(r.Context())
	if w == nil {
		writePage(rw, http.StatusServiceUnavailable, pageNotWaiting())
		return
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	twice := repeated(values)
	switch {
	case err != nil || twice != "" || !values.Has("state"):
		w.tell("the browser came with an address that is no answer to this login, and it is still waited for")
		writePage(rw, http.StatusBadRequest, pageNoAnswer())
		return
	case !sameState(values, w.state):
		w.tell("the browser came with the answer to another login (its state differs), and this one's is still waited for")
		writePage(rw, http.StatusBadRequest, pageOther())
		return
	case !w.take():
		writePage(rw, http.StatusConflict, pageAgain())
		return
	}
	w.values <- values // there is room for it
	c.outcome(r.Context(), rw, w)
}

// outcome tells the browser how the login went, if that is known soon.
func (c *callback) outcome(ctx context.Context, rw http.ResponseWriter, w *awaited) {
	timer := time.NewTimer(outcomeTime)
	defer timer.Stop()
	select {
	case <-w.outcome:
	case <-c.closed:
	case <-timer.C:
	case <-ctx.Done():
		return // the browser has gone, and nobody needs a page
	}
	select {
	case <-w.outcome:
		if w.err != nil {
			writePage(rw, http.StatusBadRequest, pageFailed(w.err))
			return
		}
		writePage(rw, http.StatusOK, pageLoggedIn())
	default:
		writePage(rw, http.StatusOK, pageUnknown())
	}
}

// end says how the login went, once.
func (w *awaited) end(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.outcome:
	default:
		w.err = err
		close(w.outcome)
	}
}

// close ends listening. The pages that are being written are finished first, within a moment.
func (c *callback) close() {
	c.once.Do(func() {
		close(c.closed)
		c.mu.Lock()
		c.shut = true
		c.mu.Unlock()
		written := make(chan struct{})
		go func() {
			defer close(written)
			c.pages.Wait()
		}()
		timer := time.NewTimer(pageTime)
		defer timer.Stop()
		select {
		case <-written:
		case <-timer.C:
		}
		_ = c.server.Close() // nothing is left to tell
		<-written            // a closed connection ends the writing of a page
		c.serving.Wait()
	})
}
