package main

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpctl/mcpctl/internal/iostreams"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

// silentPing serves what answers the opening and is silent on ping, and returns its URL with what is closed at the first.
func silentPing(t *testing.T) (url string, reached <-chan struct{}) {
	t.Helper()
	target, reached := overHTTP(&hangServer{at: "ping", stall: stalls()[0]}, hangTarget{})(t)
	return target.url, reached
}

func TestAPingThatIsInterruptedAtOnce(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		url, reached := silentPing(t)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-reached
			cancel()
		}()
		code, out, errOut := runHere(ctx, t, "", "ping", url, "-o", format)
		if code != codeInterrupted || !strings.Contains(errOut, "interrupted") || strings.Contains(out, "statistics") {
			t.Errorf("%s: exit code %d\n%s%s", format, code, out, errOut)
		}
		if format == "json" && !strings.Contains(out, `"class": "interrupted"`) {
			t.Errorf("got %s", out)
		}
	}
}

func TestAPingThatIsInterruptedWhileTheServerStarts(t *testing.T) {
	defer goleak.VerifyNone(t)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(300*time.Millisecond, cancel)
	if code, out, errOut := runHere(ctx, t, "", "ping", "--stdio", "sleep 60"); code != codeInterrupted || out != "" {
		t.Errorf("exit code %d\n%s%s", code, out, errOut)
	}
}

func TestNoAnswerByTheDeadline(t *testing.T) {
	url, _ := silentPing(t)
	code, out, errOut := runHere(t.Context(), t, "", "ping", url, "-w", "1")
	if code != codeFailed || !strings.Contains(out, "\n0 sent, 0 received, 0 lost (0%), ") ||
		errOut != "mcpctl: error: "+url+": no answer within the deadline 1s (flag --deadline)\n" {
		t.Errorf("exit code %d\n%s%s", code, out, errOut)
	}
	url, _ = silentPing(t)
	code, out, _ = runHere(t.Context(), t, "", "ping", url, "-w", "1", "--jq", "[.sent, .received, .lost]|tostring")
	if code != codeFailed || out != "[0,0,0]\n" {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

func TestASilentServerLosesEachPing(t *testing.T) {
	url, _ := silentPing(t)
	code, out, errOut := runHere(t.Context(), t, "", "ping", url, "--timeout", "200ms", "-c", "2", "-i", "10ms", "-v")
	if code != codeFailed || !strings.Contains(out, "\nseq=2 lost: no answer within timeout 200ms (flag --timeout)\n") ||
		!strings.Contains(out, "\n2 sent, 0 received, 2 lost (100%), ") {
		t.Errorf("exit code %d\n%s%s", code, out, errOut)
	}
	if !strings.Contains(errOut, "ping was sent, and nothing came back") { // the evidence, with -v
		t.Errorf("got %s", errOut)
	}
}

func TestEndsKeepsTheFirstAndTheLast(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ n, omitted int }{{0, 0}, {1, 0}, {100, 0}, {101, 0}, {200, 0}, {201, 1}, {299, 99}, {300, 100}, {1234, 1034}} {
		var e ends[int]
		var want []int
		for i := range c.n {
			e.add(i)
			if i < eventsKept || i >= c.n-eventsKept {
				want = append(want, i)
			}
		}
		list, omitted := e.kept()
		if !slices.Equal(list, want) || omitted != c.omitted || list == nil {
			t.Errorf("of %d: %d omitted, want %d; kept %v", c.n, omitted, c.omitted, list)
		}
	}
}

// TestAPingThatHangsToTheEnd shows that a server which falls silent does not end in success because the deadline comes.
func TestAPingThatHangsToTheEnd(t *testing.T) {
	t.Parallel()
	url, _ := silentPing(t)
	code, out, _ := runHere(t.Context(), t, "", "ping", url, "-w", "4", "-i", "100ms")
	if code != codeFailed || !strings.Contains(out, "\nseq=1 lost: no answer after ") || !strings.Contains(out, "\n1 sent, 0 received, 1 lost (100%), ") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// TestAPingThatBeginsWhenAllIsOver is not lost: the server is there.
func TestAPingThatBeginsWhenAllIsOver(t *testing.T) {
	ios, _, _, _ := iostreams.Test()
	a := newApp(process{io: ios})
	server := config.Server{Name: "demo", Command: unraced("mcpctl"), Args: []string{demoCommand}, Transport: config.TransportStdio}
	server, limit := session.ForPing(server)
	p := &pinger{a: a, server: server, limit: limit, s: session.NewSupervisor(nil, server)}
	defer func() { _ = p.s.Close() }()
	if err := p.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(&deadlineError{limit})
	if p.ping(ctx) || p.lost != 0 || p.seq != 0 {
		t.Errorf("%d of %d are lost", p.lost, p.seq)
	}
}
