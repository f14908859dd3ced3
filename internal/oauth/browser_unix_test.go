//go:build unix

package oauth

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpctl/mcpctl/internal/stopwatch"
)

// script is a program for tests.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "browser")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// contents polls a file of another process until it is written.
func contents(t *testing.T, path string) string {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(10 * time.Second)
	for {
		if raw, err := os.ReadFile(path); err == nil && strings.HasSuffix(string(raw), "\n") {
			return strings.TrimSpace(string(raw))
		}
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("%s was not written", path)
		}
	}
}

func TestTheFirstCommandThatWorksOpensTheAddress(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "out")
	failed := make(chan error, 1)
	b := &Browser{
		Commands: [][]string{{"no-such-browser"}, {script(t, "exit 3")}, {script(t, `printf '%s|' "$@" >`+file+"\necho >>"+file), "-u", "see=%s"}, {script(t, "exit 9")}},
		Failed:   func(err error) { failed <- err },
	}
	if err := b.Open(t.Context(), "https://as.example/a?b=c&d=%24e"); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, file); got != "-u|see=https://as.example/a?b=c&d=%24e|" {
		t.Errorf("got %s", got)
	}
	b.Close(true)
	select {
	case err := <-failed:
		t.Error(err)
	default:
	}
}

func TestABrowserThatCannotBeOpenedIsToldOf(t *testing.T) {
	t.Parallel()
	failed := make(chan error, 1)
	b := &Browser{Commands: [][]string{{"no-such-browser"}, {script(t, "exit 3")}}, Failed: func(err error) { failed <- err }}
	if err := b.Open(t.Context(), "https://as.example/"); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; err.Error() != "no-such-browser: executable file not found in $PATH; browser: exit status 3" {
		t.Errorf("got %v", err)
	}
	b.Close(false)
	for _, address := range []string{"", "file:///etc/passwd", "javascript:alert(1)", "https://", "https://a.example/ b", "-x", "https://a\"b/"} {
		if err := b.Open(t.Context(), address); err == nil {
			t.Errorf("%q is opened", address)
		}
	}
	if err := new(Browser).Open(t.Context(), "https://as.example/"); err == nil || !strings.Contains(err.Error(), "BROWSER is not set") {
		t.Errorf("without a display: %v", err)
	}
}

// TestACommandIsEndedWithALoginThatHadNoAnswer shows that of the user's own command nothing is left then, whatever it has
// started, and that it is left alone when the answer has come.
func TestACommandIsEndedWithALoginThatHadNoAnswer(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for _, answered := range []bool{false, true} {
		file := filepath.Join(t.TempDir(), "pid")
		b := &Browser{Commands: [][]string{{script(t, "trap '' TERM\nsleep 60 &\necho $$ >"+file+"\nwait")}}}
		if err := b.Open(t.Context(), "https://as.example/"); err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(contents(t, file))
		if err != nil {
			t.Fatal(err)
		}
		lap := stopwatch.Start(t)
		b.Close(answered)
		if took := lap.End(); took > 2*browserEnd {
			t.Errorf("it took %s", took)
		}
		if answered {
			if err := syscall.Kill(-pid, 0); err != nil {
				t.Errorf("it was not left alone: %v", err)
			}
		} else {
			groupIsGone(t, pid)
		}
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
}

// groupIsGone waits until the system has forgotten a group of processes.
func groupIsGone(t *testing.T, pid int) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(2 * time.Second)
	for !errors.Is(syscall.Kill(-pid, 0), syscall.ESRCH) {
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("processes of the group %d are left", pid)
		}
	}
}

// TestCurlIsABrowser follows the redirect of an authorization server to the listener, as conformance tests do.
func TestCurlIsABrowser(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/usr/bin/curl"); err != nil {
		t.Skip("there is no curl")
	}
	c := listening(t, "", 0)
	as := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.RedirectHandler(c.uri()+"?code=c&state=the-state", http.StatusFound)}
	at := listening(t, "", 0) // for its port
	at.close()
	host := strings.TrimSuffix(strings.TrimPrefix(at.uri(), "http://"), callbackPath)
	as.Addr = host
	go func() { _ = as.ListenAndServe() }()
	defer func() { _ = as.Close() }()
	b := &Browser{Commands: [][]string{{"curl", "-sSL", "--retry", "5", "--retry-connrefused", "-o", "/dev/null"}}, Failed: func(err error) { t.Error(err) }}
	defer b.Close(false)
	if err := b.Open(t.Context(), "http://"+host+"/authorize"); err != nil {
		t.Fatal(err)
	}
	values, done, err := c.answer(t.Context(), nil, "the-state")
	if err != nil || values.Get("code") != "c" {
		t.Fatalf("got %v, %v", values, err)
	}
	done(nil)
	b.opening.Wait() // it has got its page
}
