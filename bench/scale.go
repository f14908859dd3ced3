package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/mcpctl/mcpctl/internal/farm"
)

const (
	// slowServer is how long a slow server takes for its first answer, and limitOfMany the limit of one that hangs.
	slowServer  = 2 * time.Second
	limitOfMany = 3 * time.Second
	// aimGrowth is how many times the memory for a thousand servers may be that for a hundred.
	aimGrowth = 2
	// aimConfig is what reading ten thousand entries may take of a processor.
	aimConfig = 100 * time.Millisecond
)

// benchScale measures how time and memory grow with the number of servers, of entries, and of tools.
func benchScale(ctx context.Context, w io.Writer, s setting) error {
	for _, part := range []func(context.Context, io.Writer, setting) error{scaleServers, scaleCommands, scaleConfig, scaleTools} {
		if err := part(ctx, w, s); err != nil {
			return err
		}
	}
	return nil
}

// sizes are those that are measured: a quick run leaves the largest out.
func (s setting) sizes(all ...int) []int {
	if s.quick && len(all) > 1 {
		return all[:len(all)-1]
	}
	return all
}

// mixed is the kind of a server: of ten one is slow, one is dead, and one hangs.
func mixed(i int) farm.Kind {
	const slow, dead, hanging, of = 3, 5, 7, 10
	switch i % of {
	case slow:
		return farm.Slow
	case dead:
		return farm.Dead
	case hanging:
		return farm.Hanging
	}
	return farm.Quick
}

// scaleServers looks at servers over HTTP.
func scaleServers(ctx context.Context, w io.Writer, s setting) error {
	t := table{heads: []string{"servers over HTTP", "number", "s", "slowest, s", "CPU ms each", "MiB", "open at once", "connections", "handshakes", "resumed"}}
	for _, c := range []struct {
		name    string
		command []string
		opts    farm.Options
		slowest time.Duration
	}{
		{"list --check, quick", []string{"list", "--check"}, farm.Options{}, 0},
		{"list --check, quick, https", []string{"list", "--check"}, farm.Options{TLS: true}, 0},
		{"list --check, mixed", []string{"list", "--check"}, farm.Options{Kind: mixed, Delay: slowServer}, limitOfMany},
		{"doctor, quick", []string{"doctor"}, farm.Options{}, 0},
		{"doctor, mixed", []string{"doctor"}, farm.Options{Kind: mixed, Delay: slowServer}, limitOfMany},
	} {
		var peaks []float64
		for _, n := range s.sizes(10, 100, 1000) {
			opts := c.opts
			opts.Ports = min(n, 50)
			f, counts, err := s.look(ctx, opts, n, c.command)
			if err != nil {
				return fmt.Errorf("%s, %d servers: %w", c.name, n, err)
			}
			slowest := "-"
			if c.slowest > 0 {
				slowest = number(c.slowest.Seconds())
			}
			t.row(c.name, strconv.Itoa(n), number(f.ms/1000), slowest, number(f.cpu/float64(n)), number(f.mib),
				strconv.FormatInt(counts.MostOpen, 10), strconv.FormatInt(counts.Accepted, 10),
				strconv.FormatInt(counts.Handshakes, 10), strconv.FormatInt(counts.Resumed, 10))
			peaks = append(peaks, f.mib)
		}
		if n := len(peaks); n > 2 {
			s.judge("memory of "+c.name+" with 1000 servers beside 100", ratio(peaks[n-1], peaks[n-2]), aimGrowth, "times")
		}
	}
	t.note("Mixed: of ten servers one takes %s for its first answer, one is not there, and one never answers within its limit of %s.", slowServer, limitOfMany)
	t.note("The servers are in the process that measures, on the same processors. They are on 50 ports at most; servers of one port share TLS sessions.")
	return t.write(w)
}

// look runs a command over the first servers of a farm.
func (s setting) look(ctx context.Context, opts farm.Options, n int, command []string) (f figures, counts farm.Counts, err error) {
	servers, err := farm.New(s.dir, opts)
	if err != nil {
		return figures{}, farm.Counts{}, err
	}
	defer func() { err = errors.Join(err, servers.Close()) }()
	file, err := servers.Configure(n, "connect_timeout: "+limitOfMany.String(), "timeout: "+limitOfMany.String())
	if err != nil {
		return figures{}, farm.Counts{}, err
	}
	args := append(append([]string{s.mcpctl}, command...), "-o", "json", "--config", file)
	out, code, f, err := measured(ctx, s.dir, args)
	if err == nil && code > 1 {
		err = fmt.Errorf("exit code %d: %s", code, tail(out))
	}
	return f, servers.Counts(), err
}

// scaleCommands looks at servers that are commands.
func scaleCommands(ctx context.Context, w io.Writer, s setting) error {
	program, err := build(ctx, s.dir, "./bench/farm")
	if err != nil {
		return err
	}
	t := table{heads: []string{"servers over stdio", "number", "s", "CPU ms each, with the server's", "MiB"}}
	opts := farm.Options{Kind: func(int) farm.Kind { return farm.Stdio }, Command: []string{program}}
	for _, command := range [][]string{{"list", "--check"}, {"doctor"}} {
		for _, n := range s.sizes(10, 50, 200) {
			f, _, err := s.look(ctx, opts, n, command)
			if err != nil {
				return fmt.Errorf("%v, %d commands: %w", command, n, err)
			}
			name := command[0]
			if len(command) > 1 {
				name += " " + command[1]
			}
			t.row(name, strconv.Itoa(n), number(f.ms/1000), number(f.cpu/float64(n)), number(f.mib))
		}
	}
	return t.write(w)
}

// scaleConfig reads and changes configurations.
func scaleConfig(ctx context.Context, w io.Writer, s setting) error {
	t := table{heads: []string{"entries", "list, CPU ms", "more than for none", "MiB", "complete a name, CPU ms", "set, CPU ms", "remove, CPU ms"}}
	floor := 0.0
	for _, n := range append([]int{0}, s.sizes(10, 100, 1000, 10_000)...) {
		file := filepath.Join(s.dir, fmt.Sprintf("entries-%d.yaml", n))
		if err := os.WriteFile(file, entries(n), 0o600); err != nil {
			return err
		}
		cpu := map[string]float64{}
		var mib float64
		for _, c := range []struct {
			name string
			args []string
			once bool
		}{
			{"list", []string{"list", "-o", "name"}, false},
			{"complete", []string{"__complete", "get", "s0000"}, false},
			{"set", []string{"set", "s00001", "timeout=7s"}, true},
			{"remove", []string{"remove", "--yes", "s00002"}, true},
		} {
			if n == 0 && c.once {
				continue
			}
			runs := s.slowRuns
			if c.once {
				runs = 1 // the second time there is nothing to change
			}
			var all []figures
			for range runs {
				out, code, f, err := measured(ctx, s.dir, append(append([]string{s.mcpctl, "--config", file}, c.args...), []string{}...))
				if err == nil && code != 0 {
					err = fmt.Errorf("exit code %d: %s", code, tail(out))
				}
				if err != nil {
					return fmt.Errorf("%s with %d entries: %w", c.name, n, err)
				}
				all = append(all, f)
			}
			cpu[c.name] = medians(all).cpu
			if c.name == "list" {
				mib = medians(all).mib
			}
		}
		if n == 0 {
			floor = cpu["list"]
			t.row("0", number(floor), "-", number(mib), number(cpu["complete"]), "-", "-")
			continue
		}
		t.row(strconv.Itoa(n), number(cpu["list"]), number(cpu["list"]-floor), number(mib), number(cpu["complete"]), number(cpu["set"]), number(cpu["remove"]))
		if n == 10_000 {
			s.judge("reading 10,000 entries, CPU time beyond that of none", cpu["list"]-floor, milliseconds(aimConfig), "ms")
		}
	}
	return t.write(w)
}

// entries is a configuration with so many entries.
func entries(n int) []byte {
	var b bytes.Buffer
	b.WriteString("version: 1\n")
	if n > 0 {
		b.WriteString("servers:\n")
	}
	for i := range n {
		if i%3 == 0 {
			_, _ = fmt.Fprintf(&b, "  s%05d:\n    command: npx\n    args: [-y, \"@example/server-%d\", /srv/data]\n    env:\n      TOKEN: ${TOKEN_%d}\n", i, i, i)
		} else {
			_, _ = fmt.Fprintf(&b, "  s%05d:\n    url: https://host%d.example.com/mcp\n    headers:\n      Authorization: Bearer ${TOKEN}\n    connect_timeout: 10s\n", i, i)
		}
	}
	return b.Bytes()
}

// scaleTools uses servers with many tools.
func scaleTools(ctx context.Context, w io.Writer, s setting) error {
	t := table{heads: []string{"tools of the server", "tools, ms", "CPU ms", "MiB", "call, first, ms", "CPU ms", "MiB", "call, again, ms", "CPU ms", "MiB", "doctor, ms", "CPU ms", "MiB"}}
	for _, n := range s.sizes(10, 100, 1000, 10_000) {
		if err := s.withTools(ctx, n, &t); err != nil {
			return fmt.Errorf("%d tools: %w", n, err)
		}
	}
	return t.write(w)
}

// withTools measures commands on one server with so many tools.
func (s setting) withTools(ctx context.Context, n int, t *table) (err error) {
	servers, err := farm.New(s.dir, farm.Options{Tools: n})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, servers.Close()) }()
	// The server makes its tools at the first request: that is not what is measured.
	if out, code, _, err := measured(ctx, s.dir, []string{s.mcpctl, "tools", servers.URL(0), "-o", "name"}); err != nil || code != 0 {
		return fmt.Errorf("tools: exit code %d: %s: %w", code, tail(out), err)
	}
	row := []string{strconv.Itoa(n)}
	cold := filepath.Join(s.dir, fmt.Sprintf("cache-%d", n))
	call := []string{"call", servers.URL(0), "echo_1", "text=hello"}
	for _, c := range []struct {
		args []string
		env  string
	}{
		{[]string{"tools", servers.URL(0), "-o", "name"}, "XDG_CACHE_HOME=" + cold + "-other"},
		{call, "XDG_CACHE_HOME=" + cold},
		{call, "XDG_CACHE_HOME=" + cold},
		{[]string{"doctor", servers.URL(0), "-o", "json"}, "XDG_CACHE_HOME=" + cold},
	} {
		out, code, f, err := measured(ctx, s.dir, append([]string{s.mcpctl}, c.args...), c.env)
		if err == nil && code != 0 {
			err = fmt.Errorf("exit code %d: %s", code, tail(out))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.args[0], err)
		}
		row = append(row, number(f.ms), number(f.cpu), number(f.mib))
	}
	t.row(row...)
	return nil
}
