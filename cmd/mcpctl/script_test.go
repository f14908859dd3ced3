package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/itchyny/gojq"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mcpctl/mcpctl/internal/faultlab"
)

// TestScripts runs the program as people do. Beside testscript's own commands there are
//
//	exits CODE prog arg...   run it, and want that exit code
//	serve VAR [flag...]      start the demonstration server over HTTP until the script ends, and put its URL into VAR
//	fault VAR CASE           serve a case of the laboratory over HTTP until the script ends, and put its URL into VAR,
//	                         where it listens into VAR_ADDRESS and VAR_ORIGIN, and the directory of its certificates into VAR_CERTS
//	tasks VAR [modern|no-tasks|no-list|no-cancel|per-session]...
//	                         start a server of tasks until the script ends, and put its URL into VAR
//	asked VAR METHOD N       want that server to have been asked so often
//	running VAR N            want that server to have so many tasks that have not ended
//	json EXPR...             want standard output to be one JSON document for which all jq expressions are true
//	mode FILE MODE           want the permissions of a file
func TestScripts(t *testing.T) {
	labs := &taskLabs{servers: map[string]*faultlab.TaskServer{}}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, "home")
			e.Setenv("HOME", home)
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
			e.Setenv("XDG_CACHE_HOME", filepath.Join(home, ".cache"))
			e.Setenv("XDG_DATA_HOME", filepath.Join(home, ".local", "share"))
			e.Setenv("MCPCTL_CREDENTIALS", "file")
			e.Setenv("CONFIG", filepath.Join(home, ".config", "mcpctl", "config.yaml"))
			e.Setenv("NO_COLOR", "1")
			e.Setenv("GORACE", raceOptions)
			e.Setenv("PATH", unracedFirst(e.Getenv("PATH")))
			return os.MkdirAll(home, 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": scriptExits,
			"serve": scriptServe,
			"fault": scriptFault,
			"json":  scriptJSON,
			"mode":  scriptMode,
			"args":  scriptArgs,
			"tasks": labs.serve, "asked": labs.asked, "running": labs.running,
		},
	})
}

func scriptExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE prog arg...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	switch err := ts.Exec(args[1], args[2:]...); {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func scriptServe(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: serve VAR [flag...]")
	}
	cmd := exec.Command(unraced("mcpctl"), append([]string{demoCommand, "--http", "127.0.0.1:0"}, args[1:]...)...)
	stderr, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Defer(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		done := make(chan struct{})
		go func() {
			_ = cmd.Wait()
			close(done)
		}()
		select {
		case <-done:
		case <-time.After(5 * time.Second):
			_ = cmd.Process.Kill()
			<-done
		}
	})
	line, err := bufio.NewReader(stderr).ReadString('\n')
	ts.Check(err)
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !ok {
		ts.Fatalf("the server said %q", line)
	}
	ts.Setenv(args[0], address)
}

func scriptJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: json EXPR...")
	}
	out := ts.ReadFile("stdout")
	dec := json.NewDecoder(bytes.NewReader([]byte(out)))
	dec.UseNumber()
	var doc any
	if err := dec.Decode(&doc); err != nil {
		ts.Fatalf("standard output is not JSON: %v\n%s", err, out)
	}
	if err := dec.Decode(new(any)); !errors.Is(err, io.EOF) {
		ts.Fatalf("standard output has more than one document:\n%s", out)
	}
	for _, expression := range args {
		query, err := gojq.Parse(expression)
		ts.Check(err)
		got, _ := query.Run(doc).Next()
		if holds, ok := got.(bool); !ok || !holds {
			ts.Fatalf("%s is %v for\n%s", expression, got, out)
		}
	}
}

func scriptMode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mode FILE MODE")
	}
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	if got := info.Mode().Perm().String(); got != args[1] {
		ts.Fatalf("%s has the mode %s, want %s", args[0], got, args[1])
	}
}

// scriptFault starts a case of the laboratory over HTTP until the script ends. VAR becomes its URL, VAR_ADDRESS where it
// listens, VAR_ORIGIN the same with the scheme, and VAR_CERTS the directory with the certificates of an HTTPS case.
func scriptFault(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: fault VAR CASE")
	}
	c, ok := faultlab.Find(args[1])
	if !ok {
		ts.Fatalf("no case %q", args[1])
	}
	certs := ts.MkAbs("certs-" + args[0])
	server, err := c.Serve(faultlab.HTTPOptions{CertDir: certs})
	ts.Check(err)
	ts.Defer(func() { _ = server.Close() })
	ts.Setenv(args[0], server.URL)
	ts.Setenv(args[0]+"_ORIGIN", server.Origin)
	_, address, _ := strings.Cut(server.Origin, "://")
	ts.Setenv(args[0]+"_ADDRESS", address)
	ts.Setenv(args[0]+"_CERTS", certs)
}

// taskLabs are the servers of tasks that scripts have started, by their URLs: scripts run side by side.
type taskLabs struct {
	mu      sync.Mutex
	servers map[string]*faultlab.TaskServer
}

func (l *taskLabs) serve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: tasks VAR [modern|no-tasks|no-list|no-cancel|per-session]...")
	}
	var o faultlab.TaskOptions
	for _, word := range args[1:] {
		switch word {
		case "modern":
			o.Modern = true
		case "no-tasks":
			o.NoTasks = true
		case "no-list":
			o.NoList = true
		case "no-cancel":
			o.NoCancel = true
		case "per-session":
			o.PerSession = true
		default:
			ts.Fatalf("no server of tasks is %s", word)
		}
	}
	server, err := faultlab.ServeTasks(o)
	ts.Check(err)
	ts.Defer(func() { _ = server.Close() })
	l.mu.Lock()
	defer l.mu.Unlock()
	l.servers[server.URL] = server
	ts.Setenv(args[0], server.URL)
}

func (l *taskLabs) find(ts *testscript.TestScript, name string) *faultlab.TaskServer {
	l.mu.Lock()
	defer l.mu.Unlock()
	server := l.servers[ts.Getenv(name)]
	if server == nil {
		ts.Fatalf("no server of tasks in %s", name)
	}
	return server
}

func (l *taskLabs) asked(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: asked VAR METHOD N")
	}
	want, err := strconv.Atoi(args[2])
	ts.Check(err)
	if got := l.find(ts, args[0]).Asked(args[1]); got != want {
		ts.Fatalf("%s was asked %d times, want %d", args[1], got, want)
	}
}

func (l *taskLabs) running(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: running VAR N")
	}
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	if got := l.find(ts, args[0]).Running(); got != want {
		ts.Fatalf("%d tasks have not ended, want %d", got, want)
	}
}
