package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpctl/mcpctl/internal/faultlab"
	"github.com/mcpctl/mcpctl/internal/iostreams"
)

// loginHere runs a command line in this process, with so much time for the person.
func loginHere(ctx context.Context, t *testing.T, limit time.Duration, env map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	home := t.TempDir()
	ios, _, out, errOut := iostreams.Test()
	code = run(ctx, process{
		args: args, io: ios, home: home, build: readBuild("1.2.3", "", ""), loginTime: limit,
		lookup: func(name string) (string, bool) {
			switch name {
			case "HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME":
				return home, true
			case credentialsVariable:
				return "file", true
			}
			value, set := env[name]
			return value, set
		},
	})
	return code, out.String(), errOut.String()
}

// serveCase serves a case of the laboratory over HTTP, until the test ends.
func serveCase(t *testing.T, name string) *faultlab.Server {
	t.Helper()
	c, ok := faultlab.Find(name)
	if !ok {
		t.Fatalf("no case %s", name)
	}
	server, err := c.Serve(faultlab.HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return server
}

// TestALoginThatNobodyFinishesEndsInTime is somebody who closes the tab.
func TestALoginThatNobodyFinishesEndsInTime(t *testing.T) {
	server := serveCase(t, "oauth-full-chain")
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	code, out, errOut := loginHere(t.Context(), t, 300*time.Millisecond, nil, "login", server.URL, "-o", "json")
	var doc struct {
		Error struct {
			Class, Phase, Message string
			Limit                 limitBody
		}
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err, out)
	}
	e := doc.Error
	if code != codeTimeout || e.Class != classTimeout || e.Phase != "login" || e.Limit.ValueMS != 300 || e.Limit.Name != "login" ||
		!strings.Contains(e.Message, "nobody came back from the browser within 300ms") {
		t.Errorf("exit code %d: %s%s", code, out, errOut)
	}
	if !strings.Contains(errOut, "\n\n"+server.Origin+"/authorize?") {
		t.Errorf("no address in\n%s", errOut)
	}
}

// TestALoginAtASilentServerEndsInTime is a server that takes connections and says nothing: the limit on connecting is what runs
// out, and is told.
func TestALoginAtASilentServerEndsInTime(t *testing.T) {
	t.Parallel()
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	code, stdout, stderr := loginHere(t.Context(), t, 0, nil,
		"login", "http://"+silent.Addr().String()+"/mcp", "--connect-timeout", "1s", "-o", "json")
	var doc struct{ Error errorBody }
	if err := json.Unmarshal([]byte(stdout), &doc); err != nil {
		t.Fatal(err, stdout)
	}
	limit := limitBody{Name: "connect_timeout", ValueMS: 1000, Source: "flag --connect-timeout"}
	if e := doc.Error; code != codeTimeout || e.Class != classTimeout || e.Limit == nil || *e.Limit != limit || !e.Retryable {
		t.Errorf("exit code %d: %s", code, stdout)
	}
	for _, want := range []string{
		"the server does not answer: nothing came within connect_timeout 1s (flag --connect-timeout)", "hint: to see each step: mcpctl doctor ",
	} {
		if !strings.Contains(stderr, want) {
			t.Errorf("no %q in: %s", want, stderr)
		}
	}
}

func TestNothingIsLeftOfALogin(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl")
	}
	server := serveCase(t, "oauth-full-chain")
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	env := map[string]string{"BROWSER": "curl -sSL -o " + os.DevNull}
	for _, args := range [][]string{{"login", "--browser"}, {"tools", "--browser"}} {
		if code, out, errOut := loginHere(t.Context(), t, 0, env, append(args, server.URL)...); code != codeOK {
			t.Errorf("%q: exit code %d: %s%s", args, code, out, errOut)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if code, _, errOut := loginHere(ctx, t, 0, nil, "login", server.URL); code != codeInterrupted {
		t.Errorf("given up: exit code %d: %s", code, errOut)
	}
}

// TestALoginTakesTheAddressFromAPipe is a program that drives mcpctl, and opens the address by itself.
func TestALoginTakesTheAddressFromAPipe(t *testing.T) {
	t.Parallel()
	server, home := serveCase(t, "oauth-full-chain"), t.TempDir()
	cmd := exec.CommandContext(t.Context(), "mcpctl", "login", "--no-browser", server.URL)
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_DATA_HOME="+filepath.Join(home, "data"), "MCPCTL_CREDENTIALS=file")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	for more := true; more && !strings.HasPrefix(lines.Text(), server.Origin+"/authorize?"); {
		more = lines.Scan()
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, lines.Text(), nil)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if _, err := io.WriteString(stdin, "\nnonsense\n"+resp.Header.Get("Location")+"\n"); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(stderr)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(stdout.String(), "logged in to ") || !strings.Contains(string(rest), "a code alone does not say") {
		t.Errorf("%v: %s%s", err, stdout.String(), rest)
	}
}
