//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpctl/mcpctl/internal/faultlab"
	"github.com/mcpctl/mcpctl/internal/iostreams"
	"github.com/mcpctl/mcpctl/internal/pasted"
	"github.com/mcpctl/mcpctl/internal/stopwatch"
)

const (
	// soon bounds a command that has nothing to wait for. It leaves room for a machine with other work, and is less than
	// all limits that are set unless somebody sets others.
	soon = 20 * time.Second
	// hanging ends a command that does not end.
	hanging = 90 * time.Second
	// limitSlack is what a command may take beyond a limit that ran out, and closingLimit what closing may take then.
	limitSlack   = time.Second
	closingLimit = 3 * time.Second
	// planted begins every secret that the test hands to mcpctl.
	planted = "planted-"
	// plantedHeader and plantedAuthorization are sent to servers over HTTP; plantedEnv is in the environment of the others.
	plantedHeader        = "X-Api-Key: " + planted + "key-5b1c9d7e"
	plantedAuthorization = "Authorization: Bearer " + planted + "token-e02f4a61"
	plantedEnv           = "FAULT_TOKEN=" + planted + "env-77aa03c9d1"
	// goldenFaults is the map of the faults for people.
	goldenFaults = "../../docs/faults.md"
)

// faultsAtOnce is how many commands run at a time. Most of them wait, so there may be more than processors.
func faultsAtOnce() int { return 12 * runtime.NumCPU() }

// faultAreas are the areas of the laboratory whose cases all have to be in the table.
func faultAreas() []string {
	return []string{"session", "http-status", "redirect", "sse", "lifecycle", "jsonrpc", "listing", "stdio", "network"}
}

// faultCodes are the exit codes that the contract of the command line gives the classes.
func faultCodes() map[string]int {
	return map[string]int{
		"": 0, "usage": 2, "config": 2, "connect": 3, "protocol": 3, "session": 3, "busy": 3, "auth": 4, "tool": 5,
		"timeout": 6, "unknown-outcome": 7,
	}
}

// faultCase is one case of the laboratory with what is run on it.
type faultCase struct {
	name string
	args string // further words for the server over stdio, as in a shell
	runs []faultRun
}

// faultRun is one command line and all that is right for it.
//
// In do, env, says and out stand SERVER for the words that name the server, {URL}, {ORIGIN} and {OTHER} for its
// addresses, {PORT} for its port, {DIR} for a directory with its certificates, and
// {AUTHORIZATION} for a header with a planted secret.
type faultRun struct {
	do   string
	over faultlab.Transport // 0 means all that the case is served over, except configuration files
	env  string             // NAME=value, for which the command runs as a process of its own
	// config is keys of an entry in a configuration file, by which the server is named then.
	config string
	// delay replaces the main delay of the case.
	delay time.Duration

	class string   // of the failure; "" means success
	says  []string // expressions for standard error. A success without them says nothing there
	tells []string // more of them, with -vv
	never []string // text that is nowhere, like the planted secrets and ESC
	out   []string // expressions for standard output as text; call has ^hi$ and tools has echo without them
	tools int      // how many tools there are in the document; 0 means any number

	limit      time.Duration // the limit that runs out
	early      bool          // it may end before the limit does
	within     time.Duration // bounds the time; 0 means soon, or the limit and what may come after it
	execs      int           // how often tools ran; -1 means never although the call succeeds, 0 once if it does
	calls      int           // how many tools/call requests the server saw; 0 means any number
	handshakes int           // how many sessions the server issued; 0 means any number
	outcome    string        // of the request, in the document
	logged     string        // a kind of event that the server must have logged
	undeleted  bool          // the case does not let sessions be deleted

	why string // a sentence for readers where the verdict may surprise
}

// command is the run in a line.
func (r faultRun) command() string {
	line := r.do
	if r.env != "" {
		line = r.env + " " + line
	}
	if r.config != "" {
		line += " with " + r.config
	}
	return line
}

// faultJob is one run of a command line on one server.
type faultJob struct {
	c       faultCase
	fault   faultlab.Case
	run     faultRun
	row     int
	over    faultlab.Transport
	verbose bool // -vv and text instead of JSON
}

func (j faultJob) name() string {
	form := "json"
	if j.verbose {
		form = "verbose"
	}
	return fmt.Sprintf("%s/%s-%d-%s-%s", j.c.name, j.over, j.row, strings.Fields(j.run.do)[0], form)
}

// faultResult is what the map tells of a row.
type faultResult struct {
	job  faultJob
	code int
	line string // the first line of the failure, or else of the warnings
	slow bool   // it was held up, and nothing else is known
}

// TestFaults runs the commands on every fault of the laboratory: their exit codes, classes and words, what the servers
// saw of them, and that nothing is left behind. What they say is kept in docs/faults.md.
func TestFaults(t *testing.T) {
	before := goleak.IgnoreCurrent()
	jobs := faultJobs(t)
	results := make([]*faultResult, len(jobs))
	places := make(chan struct{}, faultsAtOnce())
	var all sync.WaitGroup
	for i, job := range jobs {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			t.Run(job.name(), func(t *testing.T) { results[i] = runFault(t, job, false) })
		})
	}
	all.Wait()
	for i, r := range results {
		if r != nil && r.slow { // because of the others, or of itself?
			t.Run(r.job.name()+"-alone", func(t *testing.T) { results[i] = runFault(t, r.job, true) })
		}
	}
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
	if t.Failed() || runtime.GOOS != "linux" { // other systems word some failures in their own way
		return
	}
	var rows []*faultResult
	for i, r := range results {
		switch {
		case jobs[i].verbose:
		case r == nil:
			return // somebody wanted to see only a part
		default:
			rows = append(rows, r)
		}
	}
	compareGolden(t, goldenFaults, faultsMarkdown(rows))
}

// faultJobs returns the whole table, and complains of what it lacks.
func faultJobs(t *testing.T) []faultJob {
	t.Helper()
	cases := map[string]faultCase{}
	for _, c := range faultTable() {
		if cases[c.name].name != "" {
			t.Errorf("%s is in the table twice", c.name)
		}
		cases[c.name] = c
	}
	var jobs []faultJob
	for _, fault := range faultlab.Cases() {
		if !slices.Contains(faultAreas(), fault.Area) {
			continue
		}
		c, ok := cases[fault.Name]
		if !ok {
			t.Errorf("%s, %q, is not in the table", fault.Name, fault.Title)
			continue
		}
		delete(cases, fault.Name)
		for _, over := range []faultlab.Transport{faultlab.HTTP, faultlab.Stdio} {
			if fault.Over&over == 0 {
				continue
			}
			did := map[string]bool{}
			for row, run := range c.runs {
				if run.over != 0 && run.over != over {
					continue
				}
				did[strings.Fields(run.do)[0]] = true
				job := faultJob{c: c, fault: fault, run: run, row: row, over: over}
				jobs = append(jobs, job)
				job.verbose = true
				jobs = append(jobs, job)
			}
			for _, command := range []string{"tools", "call"} {
				if !did[command] {
					t.Errorf("%s has no row with %s over %s", c.name, command, over)
				}
			}
		}
	}
	for name := range cases {
		t.Errorf("the laboratory has no case %s in the areas of the table", name)
	}
	return jobs
}

// faultServer is one server of a job, over either transport.
type faultServer struct {
	http   *faultlab.Server // nil over stdio
	log    string           // the file of events over stdio
	marker string           // in the environment of all processes over stdio
	words  []string         // name it on the command line
	flags  []string         // for the end of the command line
	fill   *strings.Replacer
}

func (j faultJob) serve(t *testing.T, dir string) *faultServer {
	t.Helper()
	s := &faultServer{log: filepath.Join(dir, "events"), marker: "MCPCTL_FAULT_MARK=" + dir}
	url, origin, other := "", "", ""
	if j.over == faultlab.HTTP {
		server, err := j.fault.Serve(faultlab.HTTPOptions{CertDir: dir, Delay: j.run.delay})
		if err != nil {
			t.Fatal(err)
		}
		// Closed by the caller of this function's caller, before goroutines are counted.
		t.Cleanup(func() {
			if err := server.Close(); err != nil {
				t.Error(err)
			}
		})
		s.http, s.words = server, []string{server.URL}
		s.flags = []string{"-H", plantedHeader}
		url, origin, other = server.URL, server.Origin, server.Other
	} else {
		s.words = []string{"--stdio", strings.TrimSpace("faultlab stdio " + j.c.name + " " + j.c.args)}
		for _, variable := range []string{
			"GORACE=" + raceOptions, "FAULTLAB_LOG=" + s.log, s.marker, plantedEnv,
		} {
			s.flags = append(s.flags, "--env", variable)
		}
		if d := j.run.delay; d != 0 {
			s.flags = append(s.flags, "--env", fmt.Sprintf("FAULTLAB_DELAY_MS=%d", d.Milliseconds()))
		}
	}
	if j.run.config != "" {
		s.words = []string{"entry"}
		s.flags = append(s.flags, "--config", j.writeConfig(t, dir, url))
	}
	s.fill = strings.NewReplacer("{URL}", url, "{ORIGIN}", origin, "{OTHER}", other, "{DIR}", dir,
		"{PORT}", origin[strings.LastIndex(origin, ":")+1:], "{AUTHORIZATION}", plantedAuthorization)
	return s
}

// writeConfig writes a configuration with the server as its only entry.
func (j faultJob) writeConfig(t *testing.T, dir, url string) string {
	t.Helper()
	target := []string{"url: " + url}
	if j.over == faultlab.Stdio {
		words, err := pasted.Split(j.c.args)
		if err != nil {
			t.Fatal(err)
		}
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], "$$", "$") // which --stdio takes for a dollar sign, and a file for a variable
		}
		args, err := json.Marshal(append([]string{"stdio", j.c.name}, words...))
		if err != nil {
			t.Fatal(err)
		}
		target = []string{"command: faultlab", "args: " + string(args)}
	}
	file := filepath.Join(dir, "config.yaml")
	text := "servers:\n  entry:\n    " + strings.Join(append(target, j.run.config), "\n    ") + "\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// wantAll complains of expressions that do not match.
func (s *faultServer) wantAll(t *testing.T, where, text string, expressions []string) {
	t.Helper()
	for _, e := range expressions {
		if e = s.fill.Replace(e); !regexp.MustCompile(e).MatchString(text) {
			t.Errorf("%s does not match %q", where, e)
		}
	}
}

// commandLine returns the words of the run.
func (j faultJob) commandLine(t *testing.T, s *faultServer) []string {
	t.Helper()
	do, err := pasted.Split(j.run.do)
	if err != nil {
		t.Fatal(err)
	}
	var args []string
	for _, word := range do {
		if word == "SERVER" {
			args = append(args, s.words...)
			continue
		}
		args = append(args, s.fill.Replace(word))
	}
	args = append(args, s.flags...)
	if j.verbose {
		return append(args, "-vv")
	}
	return append(args, "-o", "json")
}

// outcome is what a command did.
type outcome struct {
	code     int
	out, err string
	elapsed  time.Duration // by the clock
	took     time.Duration // without what the machine withheld
}

// mcpctl runs a command line: in this process, where its goroutines can be counted, unless it needs an environment.
func (j faultJob) mcpctl(t *testing.T, dir string, args []string, env string) outcome {
	t.Helper()
	executable := unraced("mcpctl")
	variables := map[string]string{"PATH": os.Getenv("PATH"), "GORACE": raceOptions, "NO_COLOR": "1"}
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"} {
		variables[name] = dir
	}
	// Without a deadline, which the program would take for a limit of its own: this only ends a command that hangs.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	defer time.AfterFunc(hanging, cancel).Stop()
	lap := stopwatch.Start(t)
	if env != "" {
		cmd := exec.CommandContext(ctx, executable, args...)
		for name, value := range variables {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		cmd.Env = append(cmd.Env, env)
		var out, errOut bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errOut
		var exit *exec.ExitError
		if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return outcome{cmd.ProcessState.ExitCode(), out.String(), errOut.String(), lap.Clock(), lap.End()}
	}
	ios, _, out, errOut := iostreams.Test()
	code := run(ctx, process{
		args: args, io: ios, home: dir, executable: executable, build: readBuild("1.2.3", "", ""),
		lookup: func(name string) (string, bool) {
			value, ok := variables[name]
			return value, ok
		},
	})
	return outcome{code, out.String(), errOut.String(), lap.Clock(), lap.End()}
}

// onTheWay matches the notes of what is being waited for. A busy machine brings them about, too.
func onTheWay() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^mcpctl: note: .*(; waiting [\d.]+ s(, as it asks)?| so far)\n`)
}

// runFault runs one job and checks everything that can be seen of it. A command that took too long, or that did not end its
// session in the seconds that there are for that, may have been kept from it by others, so that is a failure only if it ran
// alone.
func runFault(t *testing.T, j faultJob, alone bool) *faultResult {
	t.Helper()
	dir := t.TempDir()
	s := j.serve(t, dir)
	args := j.commandLine(t, s)
	o := j.mcpctl(t, dir, args, s.fill.Replace(j.run.env))

	if !alone && o.took > j.bound() {
		t.Logf("it took %s, and has to show that it can do with %s", o.took, j.bound())
		return &faultResult{job: j, slow: true}
	}
	if !alone && s.sessions() != 0 && !j.run.undeleted {
		t.Log("it left its session, and has to show that it can end it in the moment that there is for that")
		return &faultResult{job: j, slow: true}
	}
	j.checkOutcome(t, s, o)
	j.checkOutput(t, s, o)
	j.checkServer(t, s, o)
	if left := s.processes(t); len(left) > 0 {
		t.Errorf("processes left: %v", left)
	}
	if t.Failed() {
		t.Logf("mcpctl %q\nafter %s, exit code %d\n--- stdout\n%s\n--- stderr\n%s", args, o.elapsed, o.code, cut(o.out), cut(o.err))
		for _, e := range s.events(t) {
			t.Logf("%v ms: %v", e["t_ms"], cut(fmt.Sprint(e)))
		}
		return nil
	}
	return &faultResult{job: j, code: o.code, line: s.stableLine(j.run, o.err)}
}

// cut shortens text for a log.
func cut(text string) string {
	const most = 2000
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}

// bound is how long the command may take.
func (j faultJob) bound() time.Duration {
	switch r := j.run; {
	case r.within != 0:
		return r.within
	case r.limit != 0:
		return r.limit + limitSlack + closingLimit
	}
	return soon
}

// checkOutcome checks how the command ended, and when.
func (j faultJob) checkOutcome(t *testing.T, s *faultServer, o outcome) {
	t.Helper()
	r := j.run
	if want := faultCodes()[r.class]; o.code != want {
		t.Errorf("exit code %d, want %d", o.code, want)
	}
	if o.took > j.bound() {
		t.Errorf("it took %s, want at most %s", o.took, j.bound())
	}
	if o.elapsed < r.limit && !r.early {
		t.Errorf("it took %s, less than the limit of %s", o.elapsed, r.limit)
	}
	for text := range strings.SplitSeq(o.out+o.err, "\n") {
		if strings.Contains(text, planted) || strings.ContainsRune(text, '\x1b') {
			t.Errorf("a secret or an ESC in the output: %q", text)
		}
	}
	for _, word := range append(slices.Clone(r.never), "DATA RACE") {
		if strings.Contains(o.out+o.err, word) {
			t.Errorf("%q in the output", word)
		}
	}
	stderr := withoutLog(o.err)
	s.wantAll(t, "stderr", stderr, r.says)
	if j.verbose {
		s.wantAll(t, "stderr", o.err, r.tells)
	}
	if rest := onTheWay().ReplaceAllString(o.err, ""); r.class == "" && len(r.says) == 0 && !j.verbose && rest != "" {
		t.Errorf("stderr is not empty: %q", rest)
	}
	if r.class != "" && strings.Count(stderr, "mcpctl: error: ") != 1 {
		t.Error("there is not one error on stderr")
	}
}

// checkOutput checks standard output: text, or the one document.
func (j faultJob) checkOutput(t *testing.T, s *faultServer, o outcome) {
	t.Helper()
	r := j.run
	command := strings.Fields(r.do)[0]
	if j.verbose {
		want := r.out
		if r.class != "" {
			if o.out != "" {
				t.Errorf("stdout is not empty: %q", o.out)
			}
			return
		}
		if want == nil {
			want = []string{map[string]string{"call": "^hi$", "tools": "echo"}[command]}
		}
		s.wantAll(t, "stdout", o.out, want)
		return
	}
	var doc struct {
		Tools []json.RawMessage
		Error struct {
			Class    string
			Outcome  string
			ExitCode int `json:"exit_code"`
		}
	}
	dec := json.NewDecoder(strings.NewReader(o.out))
	if err := dec.Decode(&doc); err != nil {
		t.Errorf("stdout is no JSON document: %v", err)
		return
	}
	if err := dec.Decode(new(any)); !errors.Is(err, io.EOF) {
		t.Error("stdout has more than one document")
	}
	if doc.Error.Class != r.class || doc.Error.ExitCode != o.code {
		t.Errorf("class %q with exit_code %d in the document, want %q with %d", doc.Error.Class, doc.Error.ExitCode, r.class, o.code)
	}
	if r.outcome != "" && doc.Error.Outcome != r.outcome {
		t.Errorf("outcome %q in the document, want %q", doc.Error.Outcome, r.outcome)
	}
	if r.tools != 0 && len(doc.Tools) != r.tools {
		t.Errorf("%d tools, want %d", len(doc.Tools), r.tools)
	}
}

// checkServer checks what the server saw.
func (j faultJob) checkServer(t *testing.T, s *faultServer, o outcome) {
	t.Helper()
	r := j.run
	events := s.events(t)
	execs, calls, logged := 0, 0, r.logged == ""
	for _, e := range events {
		switch e["kind"] {
		case "tool_exec":
			execs++
		case "http":
			if e["rpc"] == "tools/call" {
				calls++
			}
		case "recv":
			if raw, _ := e["raw"].(string); strings.Contains(raw, `"tools/call"`) {
				calls++
			}
		case "other_origin":
			if strings.Contains(fmt.Sprint(e["headers"], e["body"]), planted) {
				t.Errorf("a secret reached another origin: %v", e)
			}
		}
		logged = logged || e["kind"] == r.logged
	}
	want := max(r.execs, 0)
	if r.execs == 0 && r.class == "" && strings.HasPrefix(r.do, "call ") {
		want = 1
	}
	if execs != want {
		t.Errorf("tools ran %d times, want %d", execs, want)
	}
	if r.calls != 0 && calls != r.calls {
		t.Errorf("%d tools/call requests, want %d", calls, r.calls)
	}
	if !logged {
		t.Errorf("the server logged no %s", r.logged)
	}
	if s.http == nil {
		return
	}
	stats := s.http.Stats()
	if r.handshakes != 0 && stats.SessionsIssued != r.handshakes {
		t.Errorf("%d sessions issued, want %d", stats.SessionsIssued, r.handshakes)
	}
	if stats.SessionsLive != 0 && !r.undeleted {
		t.Errorf("%d of %d sessions left at the server", stats.SessionsLive, stats.SessionsIssued)
	}
}

// sessions returns how many sessions are left at the server. Over stdio there are none.
func (s *faultServer) sessions() int {
	if s.http == nil {
		return 0
	}
	return s.http.Stats().SessionsLive
}

// events returns what the server logged.
func (s *faultServer) events(t *testing.T) []faultlab.Event {
	t.Helper()
	if s.http != nil {
		return s.http.Events()
	}
	f, err := os.Open(s.log)
	if errors.Is(err, os.ErrNotExist) {
		return nil // nothing was started
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var events []faultlab.Event
	for dec := json.NewDecoder(f); ; {
		var e faultlab.Event
		if err := dec.Decode(&e); err != nil {
			return events // the last line of a server that was killed may be cut
		}
		events = append(events, e)
	}
}

// dyingTime is what the system may take to bury a process that was killed.
const dyingTime = time.Second

// processes returns those of the server that are left. Over HTTP none are started.
func (s *faultServer) processes(t *testing.T) []string {
	t.Helper()
	if s.http != nil {
		return nil
	}
	return processesWith(t, s.marker)
}

// processesWith returns the processes that have the variable in their environment, which all that they start inherit.
func processesWith(t *testing.T, variable string) []string {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	end := time.After(dyingTime)
	for {
		processes, err := os.ReadDir("/proc") // not Glob, which would list the directory of each process
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		var left []string
		for _, p := range processes { // and some files, which have no environment
			environ, err := os.ReadFile(filepath.Join("/proc", p.Name(), "environ"))
			if err == nil && bytes.Contains(environ, []byte(variable)) {
				left = append(left, p.Name())
			}
		}
		if len(left) == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-end:
			return left
		}
	}
}

// withoutLog returns what was written to standard error without the lines of -vv.
func withoutLog(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "time=") && !strings.HasPrefix(line, "level=") {
			b.WriteString(line)
		}
	}
	return b.String()
}
