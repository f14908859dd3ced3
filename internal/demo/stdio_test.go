package demo

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// piped is a server over a pair of pipes.
type piped struct {
	toServer   *io.PipeWriter
	fromServer *io.PipeReader
	ended      chan error
}

// runPiped runs a server until its input ends or ctx does.
func runPiped(ctx context.Context) *piped {
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	p := &piped{toServer: toServer, fromServer: fromServer, ended: make(chan error, 1)}
	go func() { p.ended <- RunStdio(ctx, in, out, Options{}) }()
	return p
}

func (p *piped) connect(t *testing.T, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	return connect(t, &mcp.IOTransport{Reader: p.fromServer, Writer: p.toServer}, o)
}

// startSlow leaves a call running.
func (p *piped) startSlow(t *testing.T) (ended <-chan error) {
	t.Helper()
	_, ended = startSlow(t, func(o *mcp.ClientOptions) *mcp.ClientSession { return p.connect(t, o) })
	return ended
}

// wait returns how the server ended.
func (p *piped) wait(t *testing.T) error {
	t.Helper()
	select {
	case err := <-p.ended:
		return err
	case <-time.After(5 * time.Second):
		t.Fatal("the server goes on")
		return nil
	}
}

func TestStdioEndsWithItsInput(t *testing.T) {
	p := runPiped(t.Context())
	s := p.connect(t, nil)
	if got := text(t, call(t, s, "echo", `{"message":"hi"}`)); got != "hi" {
		t.Errorf("echo hi: %q", got)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := p.wait(t); err != nil {
		t.Errorf("ended with %v", err)
	}
}

func TestStdioEndsWithItsInputDuringACall(t *testing.T) {
	p := runPiped(t.Context())
	called := p.startSlow(t)
	if err := p.toServer.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.wait(t); err != nil {
		t.Errorf("ended with %v", err)
	}
	wantFailure(t, called)
}

func TestStdioEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	p := runPiped(ctx)
	called := p.startSlow(t)
	cause := errors.New("enough")
	cancel(cause)
	if err := p.wait(t); !errors.Is(err, cause) {
		t.Errorf("ended with %v", err)
	}
	wantFailure(t, called)
}

// TestStdioEndsThoughNobodyReads shows that an answer that cannot be written does not hold up the end.
func TestStdioEndsThoughNobodyReads(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := runPiped(ctx)
	if _, err := io.WriteString(p.toServer, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := p.wait(t); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	_ = p.fromServer.Close()
	_ = p.toServer.Close()
}

func TestStdioReportsInputThatIsNotJSON(t *testing.T) {
	p := runPiped(t.Context())
	if _, err := io.WriteString(p.toServer, "hello\n"); err != nil {
		t.Fatal(err)
	}
	if err := p.wait(t); err == nil || !strings.Contains(err.Error(), "mcpctl-demo: stdio: ") {
		t.Errorf("ended with %v", err)
	}
	_ = p.fromServer.Close()
	_ = p.toServer.Close()
}
