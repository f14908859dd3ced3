package faultlab

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// check says how to see that a case misbehaves: what a plain client does, and what its transcript must then show.
// The client is deliberately simple. It looks at what is on the wire and repairs nothing.
type check struct {
	want       string // regular expression, over HTTP and stdio
	wantHTTP   string // instead of want
	wantStdio  string // instead of want
	wantConfig string

	call  string        // the parameters of the tools/call; "" echoes "hi"
	first []step        // requests before initialize
	more  []step        // requests after tools/list
	delay time.Duration // the main delay of the case; 0 means usualDelay
	wait  time.Duration // for an answer; 0 means the usual time of the transport

	// Over HTTP.
	header map[string]string
	fetch  []string           // paths to get before anything else
	drive  func(p *httpProbe) // instead of the usual requests

	// Over stdio.
	args    []string
	bareEnv bool // starts the server without PATH and HOME
	raw     bool // answers do not end in a newline
	collect bool // goes on reading after the first answer
	cancel  bool // cancels the tools/call
}

// step is one extra request.
type step struct{ label, method, params string }

// usualDelay stands for the main delay of a case, which would make the checks slow. It is longer than slowAnswer, so
// that it shows.
const usualDelay = 600 * time.Millisecond

// slowAnswer is when a transcript says SLOW.
const slowAnswer = 400 * time.Millisecond

// transcriptLimit is how much of an answer a transcript shows.
const transcriptLimit = 3000

const (
	clientInfo    = `"capabilities":{},"clientInfo":{"name":"probe","version":"0"}`
	initializeOld = `{"protocolVersion":"2025-06-18",` + clientInfo + `}`
	initializeNew = `{"protocolVersion":"2025-11-25",` + clientInfo + `}`
	modernMeta    = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	echoHi        = `{"name":"echo","arguments":{"text":"hi"}}`
	initialized   = "notifications/initialized"
)

// requestBody returns a JSON-RPC request.
func requestBody(id int, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%s,"params":%s}`, id, quote(method), params)
}

// initializeBody returns an initialize request, with id 1.
func initializeBody() string { return requestBody(1, "initialize", initializeOld) }

// discover is what a client of the newest revision sends first.
func discover() []step {
	return []step{{"discover", "server/discover", `{` + modernMeta + `}`}}
}

// pattern returns what the transcript over t must match.
func (k check) pattern(t Transport) string {
	switch {
	case t == Config:
		return k.wantConfig
	case t == HTTP && k.wantHTTP != "":
		return k.wantHTTP
	case t == Stdio && k.wantStdio != "":
		return k.wantStdio
	}
	return k.want
}

func (k check) mainDelay() time.Duration {
	if k.delay != 0 {
		return k.delay
	}
	return usualDelay
}

func (k check) toolCall() string {
	if k.call != "" {
		return k.call
	}
	return echoHi
}

// transcript serves the case over t, drives it, and returns what was seen. The program bin serves stdio.
func (c Case) transcript(t Transport, bin string) string {
	if t == HTTP {
		return probeHTTP(c)
	}
	if t == Stdio {
		return probeStdio(c, bin)
	}
	text, _ := c.ConfigFile("/path/to/faultlab", "http://127.0.0.1:8931/mcp")
	return text
}

// verify reports what is wrong if the case does not misbehave over t as it should.
func (c Case) verify(t Transport, bin string) error {
	want := c.check.pattern(t)
	if want == "" {
		return fmt.Errorf("%s over %s: no check", c.Name, t)
	}
	got := c.transcript(t, bin)
	if regexp.MustCompile(`(?s)` + want).MatchString(got) {
		return nil
	}
	return fmt.Errorf("%s over %s:\n  want: %s\n  transcript:\n    %s", c.Name, t, want,
		strings.ReplaceAll(strings.TrimSpace(got), "\n", "\n    "))
}

// transports are the single transports a case can be served over.
func transports() []Transport { return []Transport{HTTP, Stdio, Config} }

// selftest verifies the named cases, or all, jobs at a time, and reports whether all misbehave as they should.
func selftest(out io.Writer, bin string, jobs int, names []string) bool {
	type result struct {
		done chan struct{}
		err  error
	}
	var results []*result
	var wait sync.WaitGroup
	slots := make(chan struct{}, max(jobs, 1))
	for _, c := range append([]Case{Healthy()}, Cases()...) {
		if len(names) > 0 && !slices.Contains(names, c.Name) && !slices.Contains(names, c.ID) {
			continue
		}
		for _, t := range transports() {
			if !c.serves(t) {
				continue
			}
			r := &result{done: make(chan struct{})}
			results = append(results, r)
			wait.Go(func() {
				slots <- struct{}{}
				r.err = c.verify(t, bin)
				<-slots
				close(r.done)
			})
		}
	}
	failed := 0
	for _, r := range results {
		<-r.done
		if r.err != nil {
			failed++
			_, _ = fmt.Fprintln(out, "FAIL", r.err)
		}
	}
	wait.Wait()
	_, _ = fmt.Fprintf(out, "selftest: %d passed, %d failed\n", len(results)-failed, failed)
	return failed == 0 && len(results) > 0
}
