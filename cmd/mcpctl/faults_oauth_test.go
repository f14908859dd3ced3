//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpctl/mcpctl/internal/faultlab"
	"github.com/mcpctl/mcpctl/internal/iostreams"
	"github.com/mcpctl/mcpctl/internal/stopwatch"
)

// loginWant is what is right for one command.
type loginWant struct {
	class string // of the failure; "" means success
	says  string // expression for standard error; for doctor for "CHECK CLASS: MESSAGE; FIX" of the cause
	warns string // of doctor: the checks that warn, in their order
}

// loginStep is a command that is run after a login.
type loginStep struct {
	do string
	loginWant
	// revoke forgets all access tokens first, as an operator would.
	revoke bool
	// wait is how long nothing is done first: until a token has expired.
	wait time.Duration
}

// loginFault is a case about logins with what is right for each command. login is the command of that name; browser is a
// call that may open one, call is one that may not, and doctor never does. Each of them starts with nothing.
type loginFault struct {
	name                         string
	flags                        string // for all commands
	login, browser, call, doctor loginWant
	// then is run in this order, after a login.
	then []loginStep
	// pages is how often the call with a browser may ask for the login page: 0 means once, -1 never.
	pages int
	// closes is set when the login page never comes back: whoever waits is interrupted.
	closes bool
	within time.Duration // bounds each command; 0 means soon
}

const (
	toLogIn = `mcpctl login entry`
	call    = "call entry echo text=hi"
	// expired is when a token of a second has ended for good.
	expired = 1100 * time.Millisecond
)

// needsLogin is what is right for a call without a browser.
func mustLogIn() loginWant { return loginWant{class: "auth", says: toLogIn} }

// doctorMustLogIn is what doctor finds before the login.
func doctorMustLogIn(warns ...string) loginWant {
	return loginWant{class: "auth", says: `^auth\.access auth: login required .*; ` + toLogIn, warns: strings.Join(warns, " ")}
}

// goodLogin is a case in which a login works.
func goodLogin(name string, then ...loginStep) loginFault {
	return loginFault{name: name, call: mustLogIn(), doctor: doctorMustLogIn(), then: then}
}

// noLogin is a case in which no login can come about, and no browser is opened.
func noLogin(name, says string, doctor loginWant) loginFault {
	w := loginWant{class: "auth", says: says}
	return loginFault{name: name, login: w, browser: w, call: loginWant{class: "auth"}, doctor: doctor, pages: -1}
}

// failingLogin is a case in which the login fails in the browser, or after it.
func failingLogin(name, says string) loginFault {
	w := loginWant{class: "auth", says: says}
	return loginFault{name: name, login: w, browser: w, call: mustLogIn(), doctor: doctorMustLogIn()}
}

func doctorFails(check, says string, warns ...string) loginWant {
	return loginWant{class: "auth", says: "^" + regexp.QuoteMeta(check) + " auth: .*" + says, warns: strings.Join(warns, " ")}
}

// Steps after a login.
func callWorks() loginStep    { return loginStep{do: call} }
func doctorPasses() loginStep { return loginStep{do: "doctor entry"} }

func callFails(class, says string) loginStep {
	return loginStep{do: call, loginWant: loginWant{class: class, says: says}}
}

// loginTable is what is right for every case about logins, in the order of the catalogue.
func loginTable() []loginFault {
	table := []loginFault{
		goodLogin("login-whole-way", callWorks(), doctorPasses(),
			loginStep{do: call, revoke: true}, // refreshed
			loginStep{do: "logout entry"}, callFails("auth", toLogIn)),
		goodLogin("login-issuer-path", callWorks(), doctorPasses()),
		goodLogin("login-oidc-inserted", doctorPasses()),
		goodLogin("login-oidc-appended", doctorPasses()),
		goodLogin("login-resource-root", callWorks(), doctorPasses()),
		goodLogin("login-older-metadata", callWorks(), doctorPasses()),
		goodLogin("login-older-defaults", callWorks(), loginStep{do: "doctor entry", loginWant: loginWant{warns: "auth.resource"}}),
		goodLogin("login-other-origin", callWorks(), doctorPasses()),
		goodLogin("login-no-challenge", callWorks(), loginStep{do: "doctor entry", loginWant: loginWant{warns: "auth.challenge"}}),
		goodLogin("login-two-challenges", callWorks(), doctorPasses()),

		noLogin("login-resource-other", `https://other\.example/mcp`, doctorFails("auth.resource", `other\.example/mcp, but this server is http://127`)),
		noLogin("login-resource-path", `/mcp-admin`, doctorFails("auth.resource", `/mcp-admin, but this server is http://127.*/mcp`)),
		noLogin("login-issuer-other", `https://as\.example/real`, doctorFails("auth.server", `https://as\.example/real .* and http://127`)),
		noLogin("login-issuers-none", `authorization server`, doctorFails("auth.resource", `names no authorization server`)),
		noLogin("login-resource-html", `text/html`, doctorFails("auth.resource", `text/html`)),
		noLogin("login-server-html", `metadata`, doctorFails("auth.server", `no usable metadata`)),
		noLogin("login-no-pkce", `PKCE|S256`, doctorFails("auth.server", `S256`)),
		noLogin("login-http-endpoints", `http://as\.example/`, doctorFails("auth.server", `not https`)),
		noLogin("login-script-endpoint", `neither https nor http`, doctorFails("auth.server", `neither https nor http`)),
		noLogin("login-file-endpoint", `neither https nor http`, doctorFails("auth.server", `neither https nor http`)),
		noLogin("login-internal-address", `not https`, doctorFails("auth.resource", `not https`)),
		noLogin("login-huge-metadata", `metadata`, doctorFails("auth.resource", `metadata`)),
		noLogin("login-metadata-redirect", `redirects to another origin`, doctorFails("auth.resource", `redirects to another origin`)),
		noLogin("login-metadata-hangs", `no answer within 2s`, doctorFails("auth.resource", `no answer within 2s`)),

		noLogin("login-register-400", `(?s)Only scopes of the house.*--client-id`, doctorMustLogIn()),
		noLogin("login-register-403", `(?s)403.*--client-id`, doctorMustLogIn()),
		noLogin("login-register-html", `(?s)web page|text/html`, doctorMustLogIn()),
		noLogin("login-register-none", `--client-id`, doctorFails("auth.registration", `--client-id`)),

		failingLogin("login-iss-wrong", `https://evil\.example`),
		failingLogin("login-iss-missing", `iss`),
		failingLogin("login-state-wrong", ``),
		failingLogin("login-denied", `The user said no`),
		failingLogin("login-closed-tab", ``),

		failingLogin("login-token-500", `500`),
		failingLogin("login-token-html", `web page|text/html`),
		failingLogin("login-token-refused", `The code was issued to somebody else`),
		failingLogin("login-token-hangs", `token request: .*10s`),
		goodLogin("login-token-slow", callWorks()),
		goodLogin("login-token-text", callWorks(), doctorPasses()),
		goodLogin("login-dpop", callWorks(), doctorPasses()),

		goodLogin("login-expires", callWorks(), loginStep{do: call, wait: expired}, loginStep{do: "doctor entry", wait: expired}, callWorks()),
		goodLogin("login-refresh-revoked",
			loginStep{do: call, revoke: true, loginWant: loginWant{class: "auth", says: toLogIn}},
			loginStep{do: "doctor entry", loginWant: loginWant{class: "auth", says: `^auth\.access auth: .*; ` + toLogIn, warns: "auth.expiry"}}),
		goodLogin("login-refresh-down",
			loginStep{do: call, revoke: true, loginWant: loginWant{class: "connect", says: `token refresh: `}},
			loginStep{do: "doctor entry", loginWant: loginWant{class: "connect", says: `^auth\.access connect: .*the login is kept`}},
			loginStep{do: "get entry"}),
		goodLogin("login-clock-skew", callWorks(), loginStep{do: "doctor entry", loginWant: loginWant{warns: "auth.clock"}}),
		goodLogin("login-issuer-moves", callWorks(), callFails("auth", toLogIn),
			loginStep{do: "doctor entry", loginWant: loginWant{class: "auth", says: `^auth\.access auth: the login is one at .*, and the server names .*; ` + toLogIn}},
			loginStep{do: call + " --browser"}, doctorPasses()),
		goodLogin("login-token-revoked", callWorks(), callWorks(), doctorPasses()),
		failingLogin("login-token-useless", `401`),
		goodLogin("login-token-echoed", callFails("unknown-outcome", `500`), doctorPasses()),

		goodLogin("login-step-up", loginStep{do: call + " --browser"}, callWorks()),
		goodLogin("login-step-up-endless", callFails("auth", `mcp:level-`), doctorPasses()),
		goodLogin("login-call-only", callWorks(), doctorPasses()),
		goodLogin("login-forbidden", callFails("auth", `your role cannot call this tool`), doctorPasses()),
	}
	byName := map[string]*loginFault{}
	for i := range table {
		byName[table[i].name] = &table[i]
	}
	for name, change := range map[string]func(f *loginFault){
		"login-older-defaults": func(f *loginFault) {
			f.call.says = `publishes nothing about a login`
			f.doctor = doctorFails("auth.access", "; send it in a header: .*; if it has a login all the same: "+toLogIn, "auth.resource")
		},
		"login-metadata-hangs": func(f *loginFault) {
			f.login.class, f.browser.class, f.call.class, f.doctor.class = "connect", "connect", "connect", "connect"
			f.doctor.says = `^auth\.resource connect: .*no answer within 2s`
		},
		"login-token-500":   func(f *loginFault) { f.login.class, f.browser.class = "connect", "connect" },
		"login-closed-tab":  func(f *loginFault) { f.closes = true },
		"login-state-wrong": func(f *loginFault) { f.closes = true },
		"login-token-hangs": func(f *loginFault) {
			f.login.class, f.browser.class, f.within = "connect", "connect", 30*time.Second
		},
		"login-no-challenge": func(f *loginFault) { f.doctor = doctorMustLogIn("auth.challenge") },
		"login-clock-skew":   func(f *loginFault) { f.doctor = doctorMustLogIn("auth.clock") },
		"login-token-echoed": func(f *loginFault) { f.browser = loginWant{class: "unknown-outcome", says: `500`} },
		"login-step-up":      func(f *loginFault) { f.pages = 2 },
		"login-step-up-endless": func(f *loginFault) {
			f.browser, f.pages = loginWant{class: "auth", says: `mcp:level-`}, 4 // one to open it, and three for the call
		},
		"login-call-only": func(f *loginFault) { f.doctor = loginWant{} },
		"login-forbidden": func(f *loginFault) {
			f.browser = loginWant{class: "auth", says: `your role cannot call this tool`}
		},
		"login-token-useless": func(f *loginFault) {
			f.login.says, f.browser.says = `401`, `401`
		},
	} {
		change(byName[name])
	}
	return table
}

// TestLoginFaults runs login, a call that may open a browser, one that may not, and doctor, on every case about logins of
// the laboratory: exit codes, classes and words, how often a browser was opened, that no secret is told or sent elsewhere,
// and that nothing is left behind.
func TestLoginFaults(t *testing.T) {
	before := goleak.IgnoreCurrent()
	wants := map[string]loginFault{}
	for _, f := range loginTable() {
		wants[f.name] = f
	}
	places := make(chan struct{}, faultsAtOnce())
	var all sync.WaitGroup
	for _, c := range faultlab.Cases() {
		if !strings.HasPrefix(c.Name, "login-") {
			continue
		}
		f, ok := wants[c.Name]
		if !ok {
			t.Errorf("%s is not in the table", c.Name)
			continue
		}
		delete(wants, c.Name)
		for _, run := range f.runs() {
			all.Go(func() {
				places <- struct{}{}
				defer func() { <-places }()
				t.Run(c.Name+"/"+run.name, func(t *testing.T) { f.try(t, c, run) })
			})
		}
	}
	all.Wait()
	for name := range wants {
		t.Errorf("the laboratory has no case %s", name)
	}
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}

// loginRun is a sequence of commands that begins with nothing.
type loginRun struct {
	name  string
	steps []loginStep
	pages int // how often the login page may be asked for
}

func (f loginFault) runs() []loginRun {
	pages := f.pages
	if pages == 0 {
		pages = 1
	}
	one := func(name, do string, want loginWant, pages int) loginRun {
		return loginRun{name, []loginStep{{do: do, loginWant: want}}, pages}
	}
	runs := []loginRun{
		one("login", "login entry --browser", f.login, pages),
		one("browser", call+" --browser", f.browser, pages),
		one("verbose", call+" --browser -vv", f.browser, pages),
		one("call", call, f.call, -1),
		one("doctor", "doctor entry", f.doctor, -1),
	}
	if len(f.then) > 0 {
		runs = append(runs, loginRun{"then", append([]loginStep{{do: "login entry --browser", loginWant: f.login}}, f.then...), 10})
	}
	return runs
}

// loginSecret begins every secret of the laboratory's authorization server.
const loginSecret = "lab-secret-"

func (f loginFault) try(t *testing.T, c faultlab.Case, run loginRun) {
	t.Helper()
	dir := t.TempDir()
	server, err := c.Serve(faultlab.HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	file := filepath.Join(dir, "mcpctl", "config.yaml") // where it is looked for
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("servers:\n  entry:\n    url: "+server.URL+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, step := range run.steps {
		if step.wait > 0 {
			<-time.After(step.wait)
		}
		if step.revoke {
			server.RevokeTokens(false)
		}
		args := strings.Fields(step.do + " " + f.flags)
		if !strings.Contains(step.do, "-vv") {
			args = append(args, "-o", "json")
		}
		o := f.mcpctl(t, dir, args, server)
		f.checkStep(t, step, o)
		if t.Failed() {
			t.Logf("step %d: mcpctl %q\nafter %s, exit code %d\n--- stdout\n%s\n--- stderr\n%s", i, args, o.elapsed, o.code, cut(o.out), cut(o.err))
			break
		}
	}
	pages := 0
	for _, e := range server.Events() {
		url, _ := e["url"].(string)
		if path, _, _ := strings.Cut(url, "?"); strings.HasSuffix(path, "/authorize") {
			pages++
		}
		if headers, _ := e["headers"].(map[string]string); e["kind"] == "other_origin" && headers["Authorization"] != "" {
			t.Errorf("a token reached another origin: %v", e)
		}
	}
	if pages > max(run.pages, 0) {
		t.Errorf("the login page was asked for %d times, want %d at most", pages, max(run.pages, 0))
	}
	if t.Failed() {
		for _, e := range server.Events() {
			t.Logf("%v ms: %v", e["t_ms"], cut(fmt.Sprint(e)))
		}
	}
}

// mcpctl runs a command in this process, with a browser, and files for credentials.
func (f loginFault) mcpctl(t *testing.T, dir string, args []string, server *faultlab.Server) outcome {
	t.Helper()
	executable := unraced("mcpctl")
	browser, err := exec.LookPath("visit")
	if err != nil {
		t.Fatal(err)
	}
	variables := map[string]string{
		"PATH": os.Getenv("PATH"), "GORACE": raceOptions, "NO_COLOR": "1", "BROWSER": browser, "MCPCTL_CREDENTIALS": "file",
	}
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"} {
		variables[name] = dir
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	defer time.AfterFunc(40*time.Second, cancel).Stop()
	if f.closes {
		watched := make(chan struct{})
		defer func() { <-watched }()
		go func() {
			defer close(watched)
			tick := time.NewTicker(20 * time.Millisecond)
			defer tick.Stop()
			for ctx.Err() == nil {
				for _, e := range server.Events() {
					if url, _ := e["url"].(string); strings.HasPrefix(strings.TrimPrefix(url, server.Origin), "/authorize") {
						cancel()
					}
				}
				select {
				case <-tick.C:
				case <-ctx.Done():
				}
			}
		}()
	}
	ios, _, out, errOut := iostreams.Test()
	lap := stopwatch.Start(t)
	code := run(ctx, process{
		args: args, io: ios, home: dir, executable: executable, build: readBuild("1.2.3", "", ""),
		lookup: func(name string) (string, bool) {
			value, ok := variables[name]
			return value, ok
		},
	})
	cancel()
	return outcome{code, out.String(), errOut.String(), lap.Clock(), lap.End()}
}

// checkStep checks how a command ended, and what it said.
func (f loginFault) checkStep(t *testing.T, step loginStep, o outcome) {
	t.Helper()
	asked := strings.Contains(step.do, "--browser")
	code, doctor := faultCodes()[step.class], strings.HasPrefix(step.do, "doctor")
	class := step.class
	switch {
	case f.closes && asked:
		code, class = codeInterrupted, "interrupted"
	case doctor && class != "":
		code = codeFailed
	}
	if o.code != code {
		t.Errorf("exit code %d, want %d", o.code, code)
	}
	bound := soon
	if f.within != 0 {
		bound = f.within
	}
	if o.took > bound {
		t.Errorf("it took %s, want at most %s", o.took, bound)
	}
	if strings.Contains(o.out+o.err, loginSecret) || strings.ContainsRune(o.out+o.err, '\x1b') {
		t.Error("a secret or an ESC in the output")
	}
	if doctor {
		f.checkReport(t, step, o)
		return
	}
	if !regexp.MustCompile(step.says).MatchString(o.err) {
		t.Errorf("stderr does not match %q", step.says)
	}
	if strings.Contains(step.do, "-vv") {
		return
	}
	var doc struct{ Error struct{ Class string } }
	if err := json.Unmarshal([]byte(o.out), &doc); err != nil || doc.Error.Class != class {
		t.Errorf("class %q in the document, want %q (%v)", doc.Error.Class, class, err)
	}
}

// checkReport checks what doctor found.
func (f loginFault) checkReport(t *testing.T, step loginStep, o outcome) {
	t.Helper()
	var doc struct{ Servers []doctorServerReport }
	if err := json.Unmarshal([]byte(o.out), &doc); err != nil || len(doc.Servers) != 1 {
		t.Fatalf("no report: %v", err)
	}
	r := doc.Servers[0]
	said := ""
	if c := r.Cause; c != nil {
		said = fmt.Sprintf("%s %s: %s; %s", c.Check, c.Class, c.Message, c.Fix)
	}
	if (r.Cause == nil) != (step.class == "") || !regexp.MustCompile(step.says).MatchString(said) {
		t.Errorf("the cause is %q, want %q", said, step.says)
	}
	if failed := r.ids("fail"); len(failed) > 1 {
		t.Errorf("several checks fail for one fault: %v", failed)
	}
	warns := r.ids("warn")
	if step.class == "" || step.warns != "" {
		if got := strings.Join(warns, " "); got != step.warns {
			t.Errorf("%q warn, want %q", got, step.warns)
		}
	}
	for _, c := range r.Checks {
		if c.Status == "unknown" {
			t.Errorf("unknown: %s: %s", c.ID, c.Message)
		}
		if step.class == "" && strings.HasPrefix(c.ID, "auth.") && c.Status == "skip" && c.ID != "auth.challenge" && c.ID != "auth.scopes" {
			t.Errorf("%s was skipped for a login that works: %s", c.ID, c.Message)
		}
	}
}
