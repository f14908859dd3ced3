package faultlab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tryOptions say how to run a client against a case.
type tryOptions struct {
	transport Transport
	limit     time.Duration // the client is killed after it
	interrupt time.Duration // the client gets SIGINT after it, if not 0
	delay     time.Duration
	bin       string // the faultlab program
	command   []string
}

// tryReport is what both sides saw.
type tryReport struct {
	Case            string   `json:"case"`
	Mode            string   `json:"mode"`
	URL             string   `json:"url,omitempty"`
	Exit            int      `json:"exit"`
	State           string   `json:"state,omitempty"`
	ElapsedMS       int64    `json:"elapsed_ms"`
	HitLimit        bool     `json:"hit_limit"`
	Stdout          string   `json:"stdout"`
	Stderr          string   `json:"stderr"`
	StdoutBytes     int      `json:"stdout_bytes"`
	StderrBytes     int      `json:"stderr_bytes"`
	StdoutIsOneJSON bool     `json:"stdout_is_one_json"`
	EscInOutput     bool     `json:"esc_in_output"`
	Stats           *Stats   `json:"stats,omitempty"`
	LeakedPIDs      []int    `json:"leaked_pids"`
	Events          []string `json:"events"`
}

// settleTime is how long after the client's end late requests and dying children have.
const settleTime = 500 * time.Millisecond

// try runs a client against the case and reports. The placeholders in the command are explained in README.md.
func (c Case) try(o tryOptions) (*tryReport, error) {
	dir, err := os.MkdirTemp("", "faultlab-try")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	report := &tryReport{Case: c.Name, Mode: o.transport.String(), LeakedPIDs: []int{}}

	var server *Server
	url, origin := "", ""
	if o.transport != Stdio {
		served := c
		if !c.serves(HTTP) { // the file of a config case may name a URL
			served = Healthy()
		}
		if server, err = served.Serve(HTTPOptions{CertDir: filepath.Join(dir, "certs"), Delay: o.delay}); err != nil {
			return nil, err
		}
		defer func() { _ = server.Close() }()
		url, origin = server.URL, server.Origin
		report.URL = url
	}
	configFile := filepath.Join(dir, "config.json")
	if text, ok := c.ConfigFile(o.bin, url); ok {
		if err := os.WriteFile(configFile, []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	fill := strings.NewReplacer("{URL}", url, "{ORIGIN}", origin, "{BIN}", o.bin, "{CASE}", c.Name, "{DIR}", dir, "{CONFIG}", configFile)
	logFile := filepath.Join(dir, "log.jsonl")
	if err := report.run(o, fill, dir, logFile); err != nil {
		return nil, err
	}
	<-time.After(settleTime)

	events := readEvents(logFile)
	report.LeakedPIDs = leaked(events)
	for _, pid := range report.LeakedPIDs {
		killProcess(pid)
	}
	if server != nil {
		stats := server.Stats()
		report.Stats = &stats
		events = append(server.Events(), events...)
	}
	report.Events = []string{}
	for _, e := range events {
		report.Events = append(report.Events, e.summary())
	}
	return report, nil
}

// esc begins a terminal's control codes.
const esc = 0x1b

// run runs the client. Its outputs go to files in dir.
func (r *tryReport) run(o tryOptions, fill *strings.Replacer, dir, logFile string) error {
	var args []string
	for _, a := range o.command {
		args = append(args, fill.Replace(a))
	}
	ctx, cancel := context.WithTimeout(context.Background(), o.limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "FAULTLAB_LOG="+logFile)
	// Files, because a child that the client leaves behind would keep a pipe open and so the wait for the client.
	stdout, err := os.Create(filepath.Join(dir, "stdout"))
	if err != nil {
		return err
	}
	defer func() { _ = stdout.Close() }()
	stderr, err := os.Create(filepath.Join(dir, "stderr"))
	if err != nil {
		return err
	}
	defer func() { _ = stderr.Close() }()
	cmd.Stdout, cmd.Stderr = stdout, stderr
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("client: %w", err)
	}
	if o.interrupt > 0 {
		t := time.AfterFunc(o.interrupt, func() { _ = cmd.Process.Signal(os.Interrupt) })
		defer t.Stop()
	}
	err = cmd.Wait()
	r.ElapsedMS = time.Since(start).Milliseconds()
	r.HitLimit = errors.Is(ctx.Err(), context.DeadlineExceeded)
	r.Exit = cmd.ProcessState.ExitCode()
	if err != nil {
		r.State = err.Error()
	}
	out, err := os.ReadFile(stdout.Name())
	if err != nil {
		return err
	}
	complaints, err := os.ReadFile(stderr.Name())
	if err != nil {
		return err
	}
	r.Stdout, r.Stderr = head(string(out)), head(string(complaints))
	r.StdoutBytes, r.StderrBytes = len(out), len(complaints)
	r.StdoutIsOneJSON = json.Valid(out)
	r.EscInOutput = bytes.ContainsRune(out, esc) || bytes.ContainsRune(complaints, esc)
	return nil
}

// readEvents reads the log of the stdio servers that the client started.
func readEvents(file string) []Event {
	f, err := os.Open(file)
	if err != nil {
		return nil // the client started none
	}
	defer func() { _ = f.Close() }()
	var events []Event
	d := json.NewDecoder(f)
	for {
		var e Event
		if d.Decode(&e) != nil {
			return events
		}
		events = append(events, e)
	}
}

// leaked returns the stdio servers in the log that still run.
func leaked(events []Event) []int {
	pids := []int{}
	seen := map[int]bool{}
	for _, e := range events {
		n, _ := e["pid"].(float64) // JSON has no other numbers
		pid := int(n)
		if pid <= 0 || seen[pid] {
			continue
		}
		seen[pid] = true
		if isLabProcess(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// psTime bounds ps, which answers at once on a machine that is well.
const psTime = 5 * time.Second

// isLabProcess reports whether pid is a running stdio server of the lab. A number alone does not tell, because the
// system may have given it to another process since.
func isLabProcess(pid int) bool {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	if err != nil {
		ctx, cancel := context.WithTimeout(context.Background(), psTime)
		defer cancel()
		if b, err = exec.CommandContext(ctx, "ps", "-o", "command=", "-p", strconv.Itoa(pid)).Output(); err != nil {
			return false
		}
	}
	return strings.Contains(strings.ReplaceAll(string(b), "\x00", " "), " stdio ")
}

// killProcess kills one process.
func killProcess(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}

// summary returns the event as one line.
func (e Event) summary() string {
	var b strings.Builder
	_, _ = fmt.Fprintf(&b, "%v %v", e["t_ms"], e["kind"])
	if pid, ok := e["pid"].(float64); ok { // read from the log of another process
		_, _ = fmt.Fprintf(&b, " pid=%.0f", pid)
	}
	for _, key := range []string{"method", "url", "rpc", "tool", "n", "sig", "id", "why", "code", "error", "leaked_authorization"} {
		if v, ok := e[key]; ok && v != "" {
			_, _ = fmt.Fprintf(&b, " %s=%v", key, v)
		}
	}
	if headers, ok := e["headers"].(map[string]string); ok && headers["Mcp-Session-Id"] != "" {
		_, _ = io.WriteString(&b, " session="+headers["Mcp-Session-Id"])
	}
	if raw, ok := e["raw"].(string); ok {
		_, _ = io.WriteString(&b, " "+raw)
	}
	return b.String()
}
