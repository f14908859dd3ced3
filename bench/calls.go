package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// aimCall is how many times the time and the memory of the bare program a call may take.
const aimCall = 1.15

// sdkGrace is how long go-sdk waits for a server over stdio to end.
const sdkGrace = 5 * time.Second

// work is what all are given to do: list the tools of a server, or call one.
type work struct {
	// name is of this work alone, in names of files and sessions.
	name string
	// tool is called, with numbers; "" lists the tools.
	tool string
	args map[string]int
	// want is in the output of whoever has done it.
	want string
	// url or command is the server.
	url     string
	command []string
	// modern is set for a server that speaks that era alone.
	modern bool
}

// json are the arguments as an object.
func (k work) json() (string, error) {
	data, err := json.Marshal(k.args)
	return string(data), err
}

// pairs are the arguments with a sign between name and value, in order.
func (k work) pairs(sign string) []string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(k.args)) {
		words = append(words, fmt.Sprintf("%s%s%d", name, sign, k.args[name]))
	}
	return words
}

// contenders are all programs that can do the work.
func (s setting) contenders(k work) ([]contender, error) {
	ours, err := s.mcpctls(k)
	if err != nil {
		return nil, err
	}
	bare, err := s.bareFor(k)
	if err != nil {
		return nil, err
	}
	all := append(ours, bare)
	theirs, err := s.theirs(k)
	return append(all, theirs...), err
}

// mcpctls are mcpctl with what it remembers and without.
func (s setting) mcpctls(k work) ([]contender, error) {
	args := func(server []string) []string {
		if k.tool == "" {
			return slices.Concat([]string{s.mcpctl, "tools"}, server)
		}
		return slices.Concat([]string{s.mcpctl, "call"}, server, []string{k.tool}, k.pairs("="))
	}
	adHoc := []string{k.url}
	if k.url == "" {
		adHoc = []string{"--stdio", quoted(k.command)}
	}
	file, err := s.entry(k)
	if err != nil {
		return nil, err
	}
	entry := []string{"--config", file, "bench"}
	cold := filepath.Join(s.dir, "cold-"+k.name)
	fresh := func(context.Context) error { return os.RemoveAll(cold) }
	alone := k.command == nil
	return []contender{
		{name: "mcpctl", steps: [][]string{args(entry)}, env: []string{"XDG_CACHE_HOME=" + filepath.Join(s.dir, "warm-"+k.name)}, want: k.want, alone: alone, gauge: true},
		{name: "mcpctl, nothing cached", steps: [][]string{args(adHoc)}, env: []string{"XDG_CACHE_HOME=" + cold}, want: k.want, alone: alone, before: fresh},
	}, nil
}

// entry writes a configuration with the server in it.
func (s setting) entry(k work) (string, error) {
	var b strings.Builder
	b.WriteString("version: 1\nservers:\n  bench:\n")
	if k.url != "" {
		fmt.Fprintf(&b, "    url: %q\n", k.url)
	} else {
		args, err := json.Marshal(k.command[1:]) // which is YAML, too
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "    command: %q\n    args: %s\n", k.command[0], args)
	}
	path := filepath.Join(s.dir, "entry-"+k.name+".yaml")
	return path, os.WriteFile(path, []byte(b.String()), 0o600)
}

// bareFor is the bare program.
func (s setting) bareFor(k work) (contender, error) {
	args := []string{s.bare, "tools"}
	if k.tool != "" {
		object, err := k.json()
		if err != nil {
			return contender{}, err
		}
		args = []string{s.bare, "call", k.tool, object}
	}
	if k.url != "" {
		args = append(args, "http", k.url)
	} else {
		args = slices.Concat(args, []string{"stdio"}, k.command)
	}
	return contender{name: "bare go-sdk", steps: [][]string{args}, want: k.want, alone: k.command == nil, floor: true}, nil
}

// theirs are the tools of others. All of them take a server that is not configured, but one, over stdio.
func (s setting) theirs(k work) ([]contender, error) {
	names := []string{"mcporter", "inspector --cli", "mcpc, session open", "mcpc, connect to close"}
	all := make([]contender, len(names))
	for i, name := range names {
		all[i] = contender{name: name, want: k.want, slow: true, alone: k.command == nil, excused: s.others.missing}
	}
	if s.others.missing != "" {
		return all, nil
	}
	object, err := k.json()
	if err != nil {
		return nil, err
	}
	server := []string{"--http-url", k.url, "--allow-http"}
	if k.url == "" {
		server = []string{"--stdio", k.command[0]}
		for _, arg := range k.command[1:] {
			server = append(server, "--stdio-arg", arg)
		}
	}
	args := append([]string{"list", "--name", "bench"}, server...)
	if k.tool != "" {
		args = slices.Concat([]string{"call"}, server, []string{"--tool", k.tool, "--args", object})
	}
	all[0].steps = [][]string{s.others.command(mcporter, args...)}

	args = append([]string{"--cli"}, k.command...)
	if k.url != "" {
		args = append(args, k.url)
	}
	if k.tool == "" {
		args = append(args, "--method", "tools/list")
	} else {
		args = slices.Concat(args, []string{"--method", "tools/call", "--tool-name", k.tool, "--tool-arg"}, k.pairs("="))
	}
	if k.modern { // it does not try
		args = append(args, "--protocol-era", "modern")
	}
	all[1].steps = [][]string{s.others.command(inspector, args...)}

	if err := s.sessions(k, &all[2], &all[3]); err != nil {
		return nil, err
	}
	if k.tool == "" { // the whole differs from that of a call by next to nothing, and takes long
		all = all[:3]
	}
	return all, nil
}

// sessions are the two ways to measure mcpc, which does all in sessions that a process of its own holds: the work in a
// session that is open, and all of it, from the session's opening to its end.
func (s setting) sessions(k work, open, whole *contender) error {
	server := k.url
	if server == "" { // it takes a command from a file alone
		config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
			"bench": map[string]any{"command": k.command[0], "args": k.command[1:]},
		}})
		if err != nil {
			return err
		}
		path := filepath.Join(s.dir, "mcpc-"+k.name+".json")
		if err := os.WriteFile(path, config, 0o600); err != nil {
			return err
		}
		server = path + ":bench"
	}
	words := []string{"tools-list"}
	if k.tool != "" {
		words = append([]string{"tools-call", k.tool}, k.pairs(":=")...)
	}
	for _, c := range []*contender{open, whole} {
		name := "@" + k.name
		if c == whole {
			name += "-whole"
		}
		c.kin = mcpc
		c.env = []string{s.others.path(), "MCPC_HOME_DIR=" + filepath.Join(s.dir, "mcpc")}
		connect := s.others.command(mcpc, "connect", server, name)
		do := s.others.command(mcpc, append([]string{name}, words...)...)
		shut := s.others.command(mcpc, "close", name)
		if c == whole {
			c.long = true
			c.steps = [][]string{connect, do, shut}
			continue
		}
		c.steps = [][]string{do}
		side := func(args []string) func(context.Context) error {
			return func(ctx context.Context) error {
				_, err := s.once(ctx, contender{name: "mcpc", steps: [][]string{args}, env: c.env})
				return err
			}
		}
		c.prepare, c.finish = side(connect), side(shut)
	}
	return nil
}

// quoted is a command line as a shell reads it.
func quoted(words []string) string {
	all := make([]string, len(words))
	for i, word := range words {
		all[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return strings.Join(all, " ")
}

// far is a server that all of them work with.
type far struct {
	name, era string
	url       string
	command   []string
	tool      string
	args      map[string]int
	// listed is in the list of its tools, said in the answer of the tool.
	listed, said string
}

// benchCalls measures the two things that people do most, over HTTP and over stdio, with a fast server and with one that
// many know.
func benchCalls(ctx context.Context, w io.Writer, s setting) (err error) {
	var stops []func()
	defer func() {
		for _, stop := range stops {
			stop()
		}
	}()
	program, err := build(ctx, s.dir, "./bench/server")
	if err != nil {
		return err
	}
	fast := map[string]far{}
	for _, era := range []string{"legacy", "modern"} {
		url, stop, err := serve(ctx, program, era, "127.0.0.1:0")
		if err != nil {
			return err
		}
		stops = append(stops, stop)
		fast[era] = far{
			name: "fast server", era: era, url: url, command: []string{program, era},
			tool: "add", args: map[string]int{"a": 2, "b": 3}, listed: "find_9", said: "the sum is 5",
		}
	}
	fars := []far{fast["legacy"], fast["modern"]}
	if s.others.missing == "" {
		f, stop, err := s.everything(ctx)
		if err != nil {
			return err
		}
		stops = append(stops, stop)
		fars = append(fars, f)
	}
	for _, f := range fars {
		if err := s.benchFar(ctx, w, f); err != nil {
			return err
		}
	}
	return nil
}

// everything starts server-everything.
func (s setting) everything(ctx context.Context) (far, func(), error) {
	port, err := freePort(ctx)
	if err != nil {
		return far{}, nil, err
	}
	url := fmt.Sprintf("http://127.0.0.1:%d/mcp", port)
	_, stop, err := serveAs(ctx, environment(s.dir, s.others.path(), fmt.Sprintf("PORT=%d", port)), url, s.others.command(everything, "streamableHttp"))
	return far{
		name: "server-everything", era: "legacy", url: url, command: s.others.command(everything, "stdio"),
		tool: "get-sum", args: map[string]int{"a": 2, "b": 3}, listed: "get-sum", said: "The sum of 2 and 3 is 5",
	}, stop, err
}

// benchFar measures what is done with one server.
func (s setting) benchFar(ctx context.Context, w io.Writer, f far) error {
	for _, over := range []string{"HTTP", "stdio"} {
		for _, verb := range []string{"call", "tools"} {
			if over == "stdio" && f.era == "modern" {
				continue // what would be seen has been seen
			}
			k := work{name: strings.ToLower(verb + "-" + over + "-" + f.name[:4] + "-" + f.era), want: f.listed, url: f.url, modern: f.era == "modern"}
			if over == "stdio" {
				k.url, k.command = "", f.command
			}
			if verb == "call" {
				k.tool, k.args, k.want = f.tool, f.args, f.said
			}
			title := fmt.Sprintf("%s over %s, %s, %s era", verb, over, f.name, f.era)
			if err := s.benchWork(ctx, w, title, k); err != nil {
				return fmt.Errorf("%s: %w", title, err)
			}
		}
	}
	return nil
}

// benchWork measures one piece of work, and then counts what it puts on the wire, in runs of their own.
func (s setting) benchWork(ctx context.Context, w io.Writer, title string, k work) error {
	all, err := s.contenders(k)
	if err != nil {
		return err
	}
	results, err := s.race(ctx, all)
	if err != nil {
		return err
	}
	side, err := s.countWork(ctx, k, results)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "### %s\n\n", title); err != nil {
		return err
	}
	unit := "requests"
	var notes []string
	if k.command != nil {
		unit = "messages"
		if side.PeakMiB > 0 {
			notes = append(notes, fmt.Sprintf("The server's part, counted apart: %s ms of CPU, %s MiB. The CPU time above has it in it, for those that wait for their children; the memory has not.", number(side.CPUMS), number(side.PeakMiB)))
		}
	}
	for _, r := range results {
		if r.floor && r.median().ms > milliseconds(sdkGrace) {
			notes = append(notes, fmt.Sprintf("go-sdk gives a server that does not end with its input %s to end: so long waits %s.", sdkGrace, r.name))
		}
	}
	if err := writeRace(w, "program", results, notes...); err != nil {
		return err
	}
	if err := writeWire(w, "on the wire", unit, results); err != nil {
		return err
	}
	s.judgeWork(title, k, results)
	s.compare(results)
	return nil
}

// judgeWork takes down what the aims ask of a call.
func (s setting) judgeWork(title string, k work, results []result) {
	ours, bare := results[0], results[slices.IndexFunc(results, func(r result) bool { return r.floor })]
	a, b := ours.median(), bare.median()
	s.judge(title+": time beside the bare program", ratio(a.ms, b.ms), aimCall, "times")
	s.judge(title+": memory beside the bare program", ratio(a.mib, b.mib), aimCall, "times")
	if ours.counted && bare.counted && k.tool != "" {
		s.judge(title+": requests beside the bare program", float64(len(ours.wire.Sent)), float64(len(bare.wire.Sent)), "")
	}
}

// countWork lets all do the work once more, with something that counts between them and the server, and returns what the
// server took over stdio.
func (s setting) countWork(ctx context.Context, k work, results []result) (side traffic, err error) {
	var c *counter
	path := filepath.Join(s.dir, "wire-"+k.name)
	k.name += "-wire"
	if k.url != "" {
		if c, err = count(ctx, k.url); err != nil {
			return traffic{}, err
		}
		defer func() { err = errors.Join(err, c.close()) }()
		k.url = c.URL
	}
	for i := range results {
		r := &results[i]
		if r.excused != "" {
			continue
		}
		one := k
		if k.command != nil {
			one.command = slices.Concat([]string{s.meter, "pipe", fmt.Sprintf("%s-%d", path, i)}, k.command)
		}
		now := func() (traffic, error) {
			if c != nil {
				return c.now(ctx)
			}
			return piped(fmt.Sprintf("%s-%d", path, i))
		}
		all, err := s.contenders(one)
		if err != nil {
			return traffic{}, err
		}
		seen, err := s.counted(ctx, all[i], now)
		switch {
		case err == nil:
			r.wire, r.counted = seen, true
			if seen.Ended && side.PeakMiB == 0 {
				side = seen
			}
		case !r.slow || ctx.Err() != nil:
			return traffic{}, fmt.Errorf("%s: %w", r.name, err)
		}
	}
	return side, nil
}

// counted lets one do its work and returns what that put on the wire. What is remembered is learned in a run before.
func (s setting) counted(ctx context.Context, c contender, now func() (traffic, error)) (traffic, error) {
	if c.prepare != nil {
		if err := c.prepare(ctx); err != nil {
			return traffic{}, err
		}
	}
	if c.gauge {
		if _, err := s.once(ctx, c); err != nil {
			return traffic{}, err
		}
	}
	before, err := now()
	if err != nil {
		return traffic{}, err
	}
	if _, err := s.once(ctx, c); err != nil {
		return traffic{}, err
	}
	after, err := now()
	if err != nil {
		return traffic{}, err
	}
	if c.finish != nil {
		if err := c.finish(ctx); err != nil {
			return traffic{}, err
		}
	}
	return after.since(before), nil
}
