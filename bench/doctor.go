package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/internal/faultlab"
)

// What doctor should take at most, on a machine that is not busy. The figures are printed beside these and never judged
// by them: machines differ.
const (
	aimHTTP  = 300 * time.Millisecond
	aimStdio = 500 * time.Millisecond
	// aimHang is what it may take beyond the limit of a server that does not answer.
	aimHang = time.Second
)

// hangLimit is the limit of a server that hangs.
const hangLimit = time.Second

// The numbers of servers that are examined in one run, and how many of them at a time.
const (
	few      = 20
	many     = 200
	parallel = 16
)

// runsOfMany is how often those are examined: each run takes seconds.
const runsOfMany = 5

// benchDoctor measures doctor.
func benchDoctor(ctx context.Context, w io.Writer, s setting) (err error) {
	lab, err := build(ctx, s.dir, "./internal/faultlab/cmd/faultlab")
	if err != nil {
		return err
	}
	var open servers
	defer func() { err = errors.Join(err, open.close()) }()
	silent, err := open.serve("init-never")
	if err != nil {
		return err
	}
	if err := benchOne(ctx, w, s, lab, silent); err != nil {
		return err
	}
	return benchMany(ctx, w, s, &open)
}

// benchOne measures doctor on one server: a healthy one beside the call that a bare program makes, and one that never
// answers beside its limit.
func benchOne(ctx context.Context, w io.Writer, s setting, lab, silent string) error {
	t := table{heads: []string{"doctor on a server that is", "runs", "ms", "quartiles", "bare call, or limit, ms", "ratio", "aim, ms"}}
	limits := []string{"--connect-timeout", hangLimit.String(), "--timeout", hangLimit.String()}
	call := []string{s.bare, "call", "add", `{"a":2,"b":3}`}
	for _, c := range []struct {
		name   string
		doctor []string
		bare   []string // none for a server that hangs
		failed int
		aim    time.Duration
	}{
		{"healthy, over HTTP", []string{s.url}, slices.Concat(call, []string{"http", s.url}), 0, aimHTTP},
		{"healthy, over stdio", []string{"--stdio", s.mcpctl + " demo-server"}, slices.Concat(call, []string{"stdio", s.mcpctl, "demo-server"}), 0, aimStdio},
		{"hanging, over HTTP", append([]string{silent}, limits...), nil, 1, hangLimit + aimHang},
		{"hanging, over stdio", append([]string{"--stdio", lab + " stdio init-never"}, limits...), nil, 1, hangLimit + aimHang},
	} {
		runs := s.runs
		if c.bare == nil {
			runs = min(runs, runsOfMany)
		}
		var all, bare []figures
		for i := range 1 + runs {
			f, err := s.examine(ctx, c.doctor, 1, c.failed)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			b := figures{ms: milliseconds(hangLimit)}
			if c.bare != nil {
				if b, err = s.once(ctx, contender{name: "bare", steps: [][]string{c.bare}, want: "5"}); err != nil {
					return fmt.Errorf("%s: %w", c.name, err)
				}
			}
			if i > 0 {
				all, bare = append(all, f), append(bare, b)
			}
		}
		a, b := medians(all), medians(bare)
		t.row(c.name, fmt.Sprint(runs), number(a.ms), quarters(all), number(b.ms), times(ratio(a.ms, b.ms)), number(milliseconds(c.aim)))
		s.judge("doctor on a server that is "+c.name, a.ms, milliseconds(c.aim), "ms")
	}
	return t.write(w)
}

// benchMany measures doctor on many servers of mixed health beside few of them.
func benchMany(ctx context.Context, w io.Writer, s setting, open *servers) (err error) {
	t := table{heads: []string{fmt.Sprintf("servers of mixed health, %d at a time", parallel), fmt.Sprint(many), fmt.Sprint(few), "ratio"}}
	var configs [2]string
	numbers := [2]int{many, few}
	for i, n := range numbers {
		if configs[i], err = s.configure(open, n); err != nil {
			return err
		}
	}
	var all [2][]figures
	for run := range 1 + min(s.runs, runsOfMany) {
		for i, n := range numbers {
			f, err := s.examine(ctx, []string{"--config", configs[i], "--parallel", fmt.Sprint(parallel)}, n, n*broken/inTen)
			if err != nil {
				return fmt.Errorf("%d servers: %w", n, err)
			}
			if run > 0 {
				all[i] = append(all[i], f)
			}
		}
	}
	a, b := medians(all[0]), medians(all[1])
	t.row("time, ms", number(a.ms), number(b.ms), times(ratio(a.ms, b.ms)))
	t.row("CPU time, ms", number(a.cpu), number(b.cpu), times(ratio(a.cpu, b.cpu)))
	t.row("peak memory, MiB", number(a.mib), number(b.mib), times(ratio(a.mib, b.mib)))
	s.judge(fmt.Sprintf("time of doctor with %d servers beside %d", many, few), ratio(a.ms, b.ms), float64(many)/few, "times")
	return t.write(w)
}

// examine runs doctor and wants so many servers in its report, so many of them failed.
func (s setting) examine(ctx context.Context, args []string, number, failed int) (figures, error) {
	args = append([]string{s.mcpctl, "doctor", "-o", "json"}, args...)
	out, code, f, err := measured(ctx, s.dir, args)
	if err != nil {
		return figures{}, err
	}
	var doc struct {
		Summary struct{ Servers, Failed int }
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		return figures{}, fmt.Errorf("%s: exit code %d, not a report: %w: %q", strings.Join(args, " "), code, err, out)
	}
	if doc.Summary.Servers != number || doc.Summary.Failed != failed {
		return figures{}, fmt.Errorf("%s: %d servers, %d failed, want %d and %d", strings.Join(args, " "), doc.Summary.Servers, doc.Summary.Failed, number, failed)
	}
	return f, nil
}

// Of ten servers this many are broken.
const (
	inTen  = 10
	broken = 4
)

// configure writes a configuration with servers of mixed health and returns its path. Of ten, three are the
// demonstration server over HTTP, which listens once, two are it over stdio, and one is another healthy one; one serves a
// web page, one wants a token, one never answers, and one is not there. These are all servers of their own.
func (s setting) configure(open *servers, n int) (string, error) {
	var b strings.Builder
	b.WriteString("version: 1\nservers:\n")
	for i := range n {
		_, _ = fmt.Fprintf(&b, "  server-%d:\n    connect_timeout: %s\n    timeout: %s\n", i, hangLimit, hangLimit)
		var url string
		var err error
		switch i % inTen {
		case 0, 1, 2:
			url = s.url
		case 3, 4:
			_, _ = fmt.Fprintf(&b, "    command: %q\n    args: [demo-server]\n", s.mcpctl)
			continue
		case 5:
			url, err = open.serve("healthy")
		case 6:
			url, err = open.serve("http-html-200")
		case 7:
			url, err = open.serve("http-401-static-bearer")
		case 8:
			url, err = open.serve("init-never")
		case 9:
			url, err = closed()
		}
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprintf(&b, "    url: %q\n", url)
	}
	path := filepath.Join(s.dir, fmt.Sprintf("servers-%d.yaml", n))
	return path, os.WriteFile(path, []byte(b.String()), 0o600)
}

// servers are those of faultlab that are open.
type servers []*faultlab.Server

// serve opens a server with a fault and returns its URL.
func (s *servers) serve(name string) (string, error) {
	c, ok := faultlab.Find(name)
	if !ok {
		return "", fmt.Errorf("no case %q", name)
	}
	server, err := c.Serve(faultlab.HTTPOptions{})
	if err != nil {
		return "", err
	}
	*s = append(*s, server)
	return server.URL, nil
}

// close closes all of them.
func (s *servers) close() error {
	errs := make([]error, 0, len(*s))
	for _, server := range *s {
		errs = append(errs, server.Close())
	}
	return errors.Join(errs...)
}

// freePort returns a port that nothing listens on.
func freePort(ctx context.Context) (int, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		return 0, fmt.Errorf("%s: no port", listener.Addr())
	}
	return address.Port, listener.Close()
}

// closed returns a URL at which nothing listens.
func closed() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed at once
	if err != nil {
		return "", err
	}
	return "http://" + listener.Addr().String() + "/mcp", listener.Close()
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
