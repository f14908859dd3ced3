package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
)

// traffic is what went between a client and a server. The file that it is written to has this form.
type traffic struct {
	// Sent are the messages of the client: their methods, or "answer".
	Sent []string `json:"sent"`
	// SentBytes and ReceivedBytes are all bytes, as the client sees it.
	SentBytes     int `json:"sent_bytes"`
	ReceivedBytes int `json:"received_bytes"`
	// CPUMS and PeakMiB are the server's, when it has ended.
	Ended   bool    `json:"ended"`
	CPUMS   float64 `json:"cpu_ms"`
	PeakMiB float64 `json:"peak_mib"`

	mu   sync.Mutex
	path string
}

// add changes the counts and writes them down.
func (t *traffic) add(change func()) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	change()
	data, err := json.Marshal(t)
	if err != nil {
		return err
	}
	if err := os.WriteFile(t.path+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(t.path+".new", t.path)
}

// pipe starts a server and passes all on in both directions. What is passed on has been counted and written down before, so
// that a client that has its answer finds it counted, and one that kills us does no harm.
func pipe(file string, args []string) int {
	t := &traffic{path: fmt.Sprintf("%s.%d", file, os.Getpid())}
	code, err := t.serve(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "meter:", err)
		return 1
	}
	return code
}

func (t *traffic) serve(args []string) (int, error) {
	cmd := exec.CommandContext(context.Background(), args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s)
		}
	}()
	go func() {
		_ = lines(os.Stdin, in, func(line []byte) error {
			return t.add(func() {
				t.Sent = append(t.Sent, method(line))
				t.SentBytes += len(line)
			})
		})
		_ = in.Close()
	}()
	if err := lines(out, os.Stdout, func(line []byte) error {
		return t.add(func() { t.ReceivedBytes += len(line) })
	}); err != nil {
		_ = cmd.Process.Kill()
	}
	err = cmd.Wait()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		return 0, err
	}
	state := cmd.ProcessState
	return max(state.ExitCode(), 0), t.add(func() {
		t.Ended, t.CPUMS = true, milliseconds(state.UserTime()+state.SystemTime())
		t.PeakMiB, _ = peakMiB(state) // 0 where it is not told
	})
}

// lines passes lines on after they have been counted.
func lines(from io.Reader, to io.Writer, count func([]byte) error) error {
	r := bufio.NewReader(from)
	for {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			if err := count(line); err != nil {
				return err
			}
			if _, err := to.Write(line); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// method is what a message is about.
func method(line []byte) string {
	var m struct{ Method string }
	if json.Unmarshal(line, &m) != nil || m.Method == "" {
		return "answer"
	}
	return m.Method
}
