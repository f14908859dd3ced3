package main

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// programsFor builds all that is measured here, once for each test: the cache of go build makes it cheap.
func programsFor(t *testing.T) (s setting, server string) {
	t.Helper()
	dir := t.TempDir()
	s, err := newSetting(t.Context(), dir, options{runs: 1, quick: true, modules: filepath.Join(dir, "none")})
	if err != nil {
		t.Fatal(err)
	}
	s.runs = 1
	if server, err = build(t.Context(), dir, "./bench/server"); err != nil {
		t.Fatal(err)
	}
	return s, server
}

// TestOneRunOfEach does each piece of work once, with our programs alone, and compares what is known of it exactly: what
// goes over the wire.
func TestOneRunOfEach(t *testing.T) {
	t.Parallel()
	s, program := programsFor(t)
	for _, c := range []struct {
		name, era string
		stdio     bool
		tool      string
		bare      []string
		// cold is what mcpctl asks a server that it has not met.
		cold []string
	}{
		{
			"a call over HTTP", "legacy", false, "add",
			[]string{"DELETE", "GET", "initialize", "notifications/initialized", "server/discover", "tools/call"},
			[]string{"DELETE", "initialize", "notifications/initialized", "server/discover", "tools/call", "tools/list"},
		},
		{"a call over HTTP in the modern era", "modern", false, "add", []string{"server/discover", "tools/call"}, []string{"server/discover", "tools/call", "tools/list"}},
		{
			"a list over stdio", "legacy", true, "",
			[]string{"initialize", "notifications/initialized", "server/discover", "tools/list"},
			nil,
		},
	} {
		k := work{name: strings.ReplaceAll(c.name, " ", "-"), tool: c.tool, args: map[string]int{"a": 2, "b": 3}, want: "find_9", modern: c.era == "modern"}
		if c.tool != "" {
			k.want = "the sum is 5"
		}
		if k.command = []string{program, c.era}; !c.stdio {
			url, stop, err := serve(t.Context(), program, c.era, "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(stop)
			k.url, k.command = url, nil
		}
		all, err := s.contenders(k)
		if err != nil {
			t.Fatal(err)
		}
		results, err := s.race(t.Context(), all)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		side, err := s.countWork(t.Context(), k, results)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		for _, r := range results {
			if r.slow {
				if r.excused == "" || r.counted {
					t.Errorf("%s: %s took part and is not installed", c.name, r.name)
				}
				continue
			}
			if len(r.all) != 1 || !r.counted {
				t.Fatalf("%s: %s: %d runs, counted %t", c.name, r.name, len(r.all), r.counted)
			}
			m := r.median()
			if m.ms <= 0 || m.cpu <= 0 || m.mib < 1 || m.mib > 200 {
				t.Errorf("%s: %s: took %+v", c.name, r.name, m)
			}
			sent := slices.Sorted(slices.Values(r.wire.Sent))
			switch {
			case r.floor && !slices.Equal(sent, c.bare):
				t.Errorf("%s: the bare program asked %q, want %q", c.name, sent, c.bare)
			case strings.Contains(r.name, "nothing cached") && c.cold != nil && !slices.Equal(sent, c.cold):
				t.Errorf("%s: mcpctl asked %q, want %q", c.name, sent, c.cold)
			}
			if r.wire.SentBytes < 100*len(sent) && !c.stdio || r.wire.SentBytes < 50 || r.wire.ReceivedBytes < 200 {
				t.Errorf("%s: %s: %d requests in %d bytes, %d bytes received", c.name, r.name, len(sent), r.wire.SentBytes, r.wire.ReceivedBytes)
			}
		}
		if c.stdio && (side.CPUMS <= 0 || side.PeakMiB < 1) {
			t.Errorf("%s: the server took %+v", c.name, side)
		}
		s.judgeWork(c.name, k, results)
		var text bytes.Buffer
		if err := errors.Join(writeRace(&text, "program", results), writeWire(&text, "on the wire", "requests", results)); err != nil {
			t.Fatal(err)
		}
		narrow(t, text.String())
	}
	if text := s.found.reading("0.1", time.Second); !strings.Contains(text, "time beside the bare program") {
		t.Errorf("no aim in what the figures say: %s", text)
	}
	head, err := s.head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	narrow(t, head)
}

// narrow wants lines that a terminal of a hundred columns shows whole.
func narrow(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if len([]rune(line)) > 101 {
			t.Errorf("a line of %d columns: %s", len([]rune(line)), line)
		}
	}
}

// TestWhatFails: a program of ours that fails ends the run, and one of others is excused with the last thing that it said.
func TestWhatFails(t *testing.T) {
	t.Parallel()
	s, _ := programsFor(t)
	bad := contender{name: "bad", steps: [][]string{{s.bare, "nothing"}}}
	if _, err := s.race(t.Context(), []contender{bad}); err == nil || !strings.Contains(err.Error(), "exit code 1") {
		t.Errorf("ours: %v", err)
	}
	bad.slow = true
	results, err := s.race(t.Context(), []contender{bad})
	if err != nil || results[0].excused != "exit code 1: bare: want tools or call, see the source" {
		t.Errorf("others: %v, %q", err, results[0].excused)
	}
	silent := contender{name: "silent", steps: [][]string{{s.mcpctl, "version"}}, want: "what it never says"}
	if _, err := s.race(t.Context(), []contender{silent}); err == nil || !strings.Contains(err.Error(), "no \"what it never says\"") {
		t.Errorf("a program that did not do its work: %v", err)
	}
}

// TestInterrupted: the end of the context ends what runs.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	s, program := programsFor(t)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	begin := time.Now()
	_, err := s.race(ctx, []contender{{name: "long", steps: [][]string{{s.mcpctl, "ping", "-c", "1000", "--stdio", program + " legacy"}}}})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("err = %v", err)
	}
	if took := time.Since(begin); took > runLimit/2 {
		t.Errorf("ended after %s", took)
	}
}

func TestFiguresAreComputed(t *testing.T) {
	t.Parallel()
	var all []figures
	for _, v := range []float64{4, 1, 3, 2, 100} {
		all = append(all, figures{ms: v, cpu: 2 * v, mib: 7})
	}
	if m := medians(all); m != (figures{3, 6, 7}) {
		t.Errorf("medians = %+v", m)
	}
	if q := quarters(all); q != "2.0 - 4.0" {
		t.Errorf("quarters = %q", q)
	}
	if m := medians(all[:4]); m.ms != 2.5 {
		t.Errorf("the median of four = %v", m.ms)
	}
	if m := medians(nil); m != (figures{}) {
		t.Errorf("the median of none = %+v", m)
	}
	if got := ratio(3, 2); got != 1.5 || !math.IsNaN(ratio(3, 0)) {
		t.Errorf("ratio = %v", got)
	}
	if sum := (figures{1, 2, 3}).plus(figures{10, 20, 2}); sum != (figures{11, 22, 3}) {
		t.Errorf("one behind the other = %+v", sum)
	}
}

func TestTableIsAligned(t *testing.T) {
	t.Parallel()
	tab := table{heads: []string{"who", "ms", "which"}, wide: true}
	tab.row("one", "1.0", "a, b")
	tab.row("the other", "100", "c")
	tab.note("short")
	var b bytes.Buffer
	if err := tab.write(&b); err != nil {
		t.Fatal(err)
	}
	want := "    who         ms  which\n    one        1.0  a, b\n    the other  100  c\n\n- short\n\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestReadingNamesWhatWasMissed(t *testing.T) {
	t.Parallel()
	s := setting{found: new(findings)}
	s.judge("a call", 1.3, 1.15, "times")
	s.judge("a start", 3, 10, "ms")
	gauge := result{contender: contender{gauge: true}, all: []figures{{ms: 10}}}
	for _, ms := range []float64{50, 200} {
		s.compare([]result{gauge, {contender: contender{name: "other", slow: true}, all: []figures{{ms: ms}}}})
	}
	text := s.found.reading("0.5", 90*time.Second)
	for _, want := range []string{
		"1 of 2 aims were missed:\n\n- a call: 1.30 times, at most 1.15\n",
		"Met:\n\n- a start: 3.00 ms, at most 10\n",
		"- other: 5.00 to 20.0, less than hoped for\n",
		"It took 1m30s. The load of the machine at the end: 0.5.\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
}

func TestBenchmarksOfGoAreRead(t *testing.T) {
	t.Parallel()
	got, err := benchmarks("goos: linux\nBenchmarkDo/held-open-2 \t 100\t 1500 mcpctl-ns/op\t 1.2 ratio\t 1250 sdk-ns/op\t 7 lost\t 64 B/op\t 3 allocs/op\nPASS\n")
	if err != nil || len(got.rows) != 1 || !slices.Equal(got.rows[0], []string{"Do/held-open", "100", "1.5", "1.2", "1.2", "64", "3", "7 lost"}) {
		t.Errorf("%q, %v", got.rows, err)
	}
	if _, err := benchmarks("PASS\n"); err == nil {
		t.Error("nothing was read as a table")
	}
}

func TestPartsAreChosenByName(t *testing.T) {
	t.Parallel()
	all, err := chosen("")
	if err != nil || len(all) != len(names()) {
		t.Errorf("%d parts, %v", len(all), err)
	}
	some, err := chosen("doctor,start")
	if err != nil || len(some) != 2 || some[0].name != "doctor" {
		t.Errorf("%v, %v", some, err)
	}
	if _, err := chosen("nothing"); err == nil {
		t.Error("a part that is not there was found")
	}
}

// TestPackagesArePinned: what npm installs is the same everywhere, and no registry is named.
func TestPackagesArePinned(t *testing.T) {
	t.Parallel()
	lock, err := os.ReadFile("package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(lock, []byte(`"resolved"`)) {
		t.Error("the lock file names where the packages came from")
	}
	manifest, err := os.ReadFile("package.json")
	if err != nil {
		t.Fatal(err)
	}
	for name := range programs() {
		if !bytes.Contains(lock, []byte(`"node_modules/`+name+`"`)) || !bytes.Contains(manifest, []byte(`"`+name+`": "`)) {
			t.Errorf("%s is not in the files of npm", name)
		}
	}
	if bytes.ContainsAny(manifest, "^~*") {
		t.Error("a version is not exact")
	}
}

// TestOtherToolsAreFound, if they are installed.
func TestOtherToolsAreFound(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("node_modules"); err != nil {
		t.Skip("npm has installed nothing here")
	}
	o, err := findOthers(t.Context(), "node_modules")
	if err != nil || o.missing != "" {
		t.Fatalf("%v, %q", err, o.missing)
	}
	if len(o.versions) != len(programs()) {
		t.Errorf("versions %v", o.versions)
	}
	if err := exec.CommandContext(t.Context(), o.node, "--version").Run(); err != nil {
		t.Error(err)
	}
}
