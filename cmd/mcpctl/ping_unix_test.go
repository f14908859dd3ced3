//go:build unix

package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"
)

// pingTime bounds the wait for a line of ping: a busy machine takes its time to start a server.
const pingTime = 30 * time.Second

// pinging is a ping whose lines are read as they come.
type pinging struct {
	t      *testing.T
	cmd    *exec.Cmd
	stderr bytes.Buffer
	lines  chan string
	seen   []string
}

// startPing runs ping in a pipe.
func startPing(t *testing.T, args ...string) *pinging {
	t.Helper()
	home := t.TempDir()
	p := &pinging{t: t, cmd: exec.CommandContext(t.Context(), "mcpctl", append([]string{"ping"}, args...)...), lines: make(chan string, 1<<16)}
	p.cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home)
	p.cmd.Stderr = &p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
	go func() {
		defer close(p.lines)
		for in := bufio.NewScanner(out); in.Scan(); {
			p.lines <- in.Text()
		}
	}()
	return p
}

// await reads lines up to one that begins in a certain way.
func (p *pinging) await(begin string) string {
	p.t.Helper()
	limit := time.After(pingTime)
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				p.t.Fatalf("it ended, and there was no line %q… among\n%s", begin, strings.Join(p.seen, "\n"))
			}
			p.seen = append(p.seen, line)
			if strings.HasPrefix(line, begin) {
				return line
			}
		case <-limit:
			p.t.Fatalf("no line %q… came, but\n%s", begin, strings.Join(p.seen, "\n"))
		}
	}
}

// end waits for the end, and returns the exit code with the lines that had not been read.
func (p *pinging) end() (code int, rest string) {
	p.t.Helper()
	var b strings.Builder
	for line := range p.lines {
		b.WriteString(line + "\n")
	}
	_ = p.cmd.Wait() // the code tells
	return p.cmd.ProcessState.ExitCode(), b.String()
}

func (p *pinging) interrupt() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		p.t.Fatal(err)
	}
}

func TestPingEndsWithItsSumAfterCtrlC(t *testing.T) {
	t.Parallel()
	p := startPing(t, "demo", "-c", "1000000", "-i", "10ms")
	p.await("seq=3 ping time=")
	p.interrupt()
	code, rest := p.end()
	sum := regexp.MustCompile(`\n(\d+) sent, (\d+) received, 0 lost \(0%\), `).FindStringSubmatch(rest)
	if code != codeOK || sum == nil || sum[1] != sum[2] || p.stderr.Len() > 0 {
		t.Errorf("exit code %d: %s%s", code, rest, &p.stderr)
	}
}

// demoOverHTTP serves the demonstration server until it is killed.
func demoOverHTTP(t *testing.T) (url string, server *exec.Cmd) {
	t.Helper()
	server = exec.CommandContext(t.Context(), unraced("mcpctl"), demoCommand, "--http", "127.0.0.1:0")
	stderr, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	line, err := bufio.NewReader(stderr).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(strings.TrimPrefix(line, "listening on ")), server
}

// TestAServerThatGoesAwayForGood loses pings from then on, and the exit code tells, also after Ctrl-C.
func TestAServerThatGoesAwayForGood(t *testing.T) {
	t.Parallel()
	url, server := demoOverHTTP(t)
	p := startPing(t, url, "-c", "1000000", "-i", "10ms", "--session-wait", "300ms")
	p.await("seq=2 ping time=")
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	first := regexp.MustCompile(`^seq=\d+ lost: the session was lost \(.*\) and could not be replaced: `)
	for !first.MatchString(p.await("seq=")) {
		continue
	}
	p.await("seq=")
	p.interrupt()
	code, rest := p.end()
	if code != codeFailed || !regexp.MustCompile(`\n\d+ sent, \d+ received, [1-9]\d* lost \(`).MatchString(rest) {
		t.Errorf("exit code %d: %s%s", code, rest, &p.stderr)
	}
	if !strings.HasSuffix(p.stderr.String(), "mcpctl: hint: mcpctl doctor --session-wait 300ms "+url+"\n") {
		t.Errorf("the hint is %q", &p.stderr)
	}
}

// TestTheDeadlineFindsTheServerAway is no success, although the one ping that met it was still waiting.
func TestTheDeadlineFindsTheServerAway(t *testing.T) {
	t.Parallel()
	url, server := demoOverHTTP(t)
	p := startPing(t, url, "-c", "1000000", "-i", "10ms", "-w", "5s")
	p.await("seq=2 ping time=")
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	lost := p.await("")
	for strings.Contains(lost, " time=") {
		lost = p.await("")
	}
	if !regexp.MustCompile(`^seq=\d+ lost: the session was lost \(.*\) and could not be replaced: .*deadline 5s \(flag --deadline\)`).MatchString(lost) {
		t.Errorf("got %q", lost)
	}
	if code, rest := p.end(); code != codeFailed || !strings.Contains(rest, " 1 lost (") {
		t.Errorf("exit code %d: %s%s", code, rest, &p.stderr)
	}
}

// TestAChildThatIsKilledBetweenTwoPings is replaced, and no ping is lost.
func TestAChildThatIsKilledBetweenTwoPings(t *testing.T) {
	t.Parallel()
	pidFile := filepath.Join(t.TempDir(), "pid")
	// A dollar is written twice, because mcpctl replaces variables.
	p := startPing(t, "-c", "1000000", "-i", "10ms", "--", "sh", "-c", `echo $$$$ > "$0"; exec mcpctl demo-server`, pidFile)
	for life := range 3 {
		p.await("seq=")
		raw, err := os.ReadFile(pidFile)
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		line := p.await("session lost (")
		want := regexp.MustCompile(`(killed|broken pipe).*; generation ` + strconv.Itoa(life+1) + ` → ` + strconv.Itoa(life+2) + `, in [\d.]+ m?s$`)
		if !want.MatchString(line) {
			t.Errorf("got %q", line)
		}
	}
	p.await("seq=")
	p.interrupt()
	if code, rest := p.end(); code != codeOK || !strings.Contains(rest, " 0 lost (0%), 3 sessions replaced, in ") {
		t.Errorf("exit code %d: %s%s", code, rest, &p.stderr)
	}
}

// TestPingIntoAClosedPipeEndsQuietly is what head does.
func TestPingIntoAClosedPipeEndsQuietly(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "mcpctl", "ping", "demo", "-c", "1000000", "-i", "10ms")
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home)
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = w, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	if line, err := bufio.NewReaderSize(r, 16).ReadString('\n'); err != nil || !strings.HasPrefix(line, "PING demo ") {
		t.Errorf("read %q, %v", line, err)
	}
	_ = r.Close()
	if err := cmd.Wait(); err != nil || stderr.Len() > 0 {
		t.Errorf("%v: %s", err, &stderr)
	}
}

// awaitText waits until a text is on the terminal.
func (term *terminal) awaitText(text string) {
	term.t.Helper()
	limit := time.After(pingTime)
	tick := time.NewTicker(20 * time.Millisecond) // polls another process
	defer tick.Stop()
	for !strings.Contains(term.out.String(), text) {
		select {
		case <-limit:
			term.t.Fatalf("no %q on the terminal, but\n%s", text, term.out.String())
		case <-tick.C:
		}
	}
}

const ctrlC = "\x03"

// TestPingOnATerminalGoesOnUntilCtrlC presses the key, in the middle of a series that nobody has set an end to.
func TestPingOnATerminalGoesOnUntilCtrlC(t *testing.T) {
	t.Parallel()
	term := onTerminalOf(t, 80, t.TempDir(), "ping", "demo", "-i", "10ms")
	term.awaitText("seq=6 ")
	term.answer(ctrlC)
	code, out := term.end()
	plain := regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(withoutLive(out), "")
	if code != codeOK || !strings.Contains(plain, "\n--- demo ping statistics ---\n") || !strings.Contains(plain, " 0 lost (0%), ") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if strings.Contains(plain, "mcpctl:") {
		t.Errorf("it complains: %s", out)
	}
}

// TestNoLineOfPingIsWiderThanTheTerminal meets a lost session, and a loss with a long reason.
func TestNoLineOfPingIsWiderThanTheTerminal(t *testing.T) {
	t.Parallel()
	for _, columns := range []uint16{24, 40, 80} {
		for _, name := range []string{"session-404-restart", "session-always-dead", "ping-odd-error"} {
			server := serveCase(t, name).URL
			_, out := onTerminalOf(t, columns, t.TempDir(), "ping", server, "-c", "3", "-i", "10ms").end()
			plain := regexp.MustCompile(`\x1b\[[0-9;]*[mK]|.*\r`).ReplaceAllString(out, "")
			for line := range strings.Lines(plain) {
				line = strings.TrimRight(line, "\n")
				if n := utf8.RuneCountInString(line); n > int(columns) && !strings.HasPrefix(line, "mcpctl: ") {
					t.Errorf("%s on %d columns: a line of %d: %q", name, columns, n, line)
				}
			}
			if !strings.Contains(plain, "\nseq=3 ") || columns == 80 && name == "session-404-restart" &&
				!regexp.MustCompile(`\nsession lost \(HTTP 404 Not Found: .*…\); generation 1 → 2, in `).MatchString(plain) {
				t.Errorf("%s on %d columns: %s", name, columns, plain)
			}
		}
	}
}

// TestALiveLineWhileReconnecting tells what is going on while a server is away, and makes room for the lines that follow.
func TestALiveLineWhileReconnecting(t *testing.T) {
	t.Parallel()
	url, server := demoOverHTTP(t)
	term := onTerminalOf(t, 100, t.TempDir(), "ping", url, "-i", "10ms")
	term.awaitText("seq=2 ")
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	term.awaitText(" was lost, reconnecting … ")
	term.answer(ctrlC)
	code, out := term.end()
	if code != codeOK || !regexp.MustCompile(`\r\x1b\[K\n?\n.*--- http://\S+ ping statistics ---`).MatchString(strings.ReplaceAll(out, "^C", "")) {
		t.Errorf("exit code %d: %q", code, out)
	}
}
