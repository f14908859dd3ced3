//go:build unix

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpctl/mcpctl/internal/faultlab"
)

// configFault is a case of the laboratory that is a configuration file, with what is right for it.
type configFault struct {
	name string
	runs []configRun
}

// configRun is one command line with --config and the file, and all that is right for it.
type configRun struct {
	do    string
	env   string   // NAME=value
	class string   // of the failure; "" means success
	code  int      // where it is not that of the class
	out   []string // expressions for standard output as text
	says  []string // expressions for standard error
	never []string // text that is nowhere
	sent  int      // how many requests the server may get; 0 means any number, -1 none
}

func configFaults() []configFault {
	const token = "FAULTLAB_TOKEN=s3cret"
	return []configFault{
		{"config-comments", []configRun{
			{do: "list", out: []string{`(?m)^ok\tstdio\t.* stdio healthy\t`, `(?m)^web\thttp\thttp://[^\s]*#not//a-comment\t`}},
			{do: "tools ok", out: []string{"echo"}},
			{do: "call web echo text=hi", out: []string{"^hi$"}},
			{do: "doctor", out: []string{`2 servers: 2 passed`}},
		}},
		{"config-url-no-type", []configRun{
			{do: "list", out: []string{`^web\tauto\thttp`}},
			{do: "tools web", out: []string{"echo"}},
			{do: "call web echo text=hi", out: []string{"^hi$"}},
			{do: "doctor web", out: []string{`^web   PASS`}},
		}},
		{"config-command-string", []configRun{
			{do: "list", out: []string{`^one\tstdio\t'.* stdio healthy'`}},
			{do: "tools one", class: "connect", says: []string{`command holds a whole command line: write command: \S*faultlab, and args: \["stdio", "healthy"\]`}},
			{do: "call one echo text=hi", class: "connect", says: []string{`args: \["stdio", "healthy"\]`}},
			{do: "doctor one", code: 1, out: []string{`cause  command\.found`, `args: \["stdio",`}},
		}},
		{"config-unknown-server", []configRun{
			{do: "list oj", class: "usage", says: []string{`no server "oj"`, `did you mean "ok"\?`}},
			{do: "tools oj", class: "usage", says: []string{`no server "oj"`, `did you mean "ok"\?`}},
			{do: "call oj echo text=hi", class: "usage", says: []string{`no server "oj"`, `did you mean "ok"\?`}},
			{do: "doctor oj", class: "usage", says: []string{`no server "oj"`, `did you mean "ok"\?`}},
		}},
		{"env-literal-header", []configRun{
			{do: "tools web", env: token, out: []string{"echo"}, never: []string{"s3cret"}},
			{do: "call web echo text=hi", env: token, out: []string{"^hi$"}, never: []string{"s3cret"}},
			{do: "doctor web", env: token, out: []string{`^web   PASS`}, never: []string{"s3cret"}},
			{do: "call web echo text=hi", class: "config", says: []string{`web: variable not set: FAULTLAB_TOKEN \(in headers\.Authorization\)`}, sent: -1},
		}},
		{"config-servers-key", []configRun{
			{do: "list", out: []string{`^ok\tstdio`}},
			{do: "tools ok", out: []string{"echo"}},
			{do: "call ok echo text=hi", out: []string{"^hi$"}},
			{do: "doctor", out: []string{`^ok   PASS`}},
		}},
		{"config-dup-key", []configRun{
			{do: "list", class: "config", says: []string{`config\.json:5:5: the server "same" is defined twice, in lines 3 and 5`, `rename or remove one`}},
			{do: "tools other", class: "config", says: []string{`"same" is defined twice`}},
			{do: "call same echo text=hi", class: "config", says: []string{`"same" is defined twice`}},
			{do: "doctor", class: "config", says: []string{`"same" is defined twice`}},
		}},
		{"config-env-unset", []configRun{
			{do: "list", out: []string{`^web\thttp`}},
			{do: "tools web", class: "config", says: []string{`web: variable not set: FAULTLAB_UNSET_VAR \(in headers\.Authorization\)`}, never: []string{"FAULTLAB_OPT"}, sent: -1},
			{do: "call web echo text=hi", class: "config", says: []string{`FAULTLAB_UNSET_VAR`}, sent: -1},
			{do: "doctor web", code: 1, out: []string{`cause  config\.variables: server "web": variable not set: FAULTLAB_UNSET_VAR`}, sent: -1},
			{do: "call web echo text=hi", env: "FAULTLAB_UNSET_VAR=set", out: []string{"^hi$"}},
		}},
		{"timeout-config-floor", []configRun{
			{do: "list", out: []string{`(?m)^zero\t.*\tinvalid$`, `(?m)^tiny\t.*\tenabled$`, `(?m)^text\t.*\tinvalid$`}},
			{do: "tools zero", class: "config", says: []string{`server "zero": key "connect_timeout": 0: must be more than zero`}},
			{do: "tools neg", class: "config", says: []string{`server "neg": key "connect_timeout": -5: must be more than zero`}},
			{do: "call text echo text=hi", class: "config", says: []string{`server "text": key "connect_timeout": "soon" is not a duration`}},
			{do: "tools tiny", class: "timeout", says: []string{`raised from 50ms: 1s is the least`, `connect_timeout`}},
			{do: "doctor", code: 1, out: []string{`(?s)cause  config\.entry:.*server "zero": key "connect_timeout": 0`, `4 servers: 4 failed`}},
		}},
		{"stdio-env-required", []configRun{
			{do: "tools e", out: []string{"echo"}},
			{do: "call e echo text=hi", out: []string{"^hi$"}},
			{do: "doctor e", out: []string{`^e   WARN`, `config\.secrets: literal secret in env\.FAULTLAB_TOKEN`}, never: []string{"s3cret"}},
		}},
		{"stdio-argv", []configRun{
			{do: "tools a", out: []string{"argv"}},
			{do: "call a argv", out: []string{`"argv":\["{HOME}/data","{HOME}/x","\$HOME/y","a~b"\]`}},
			{do: "doctor a", out: []string{`^a   WARN`, `command\.arguments: .*\$HOME/y`}},
		}},
	}
}

// TestConfigFaults runs the commands on the laboratory's configuration files.
func TestConfigFaults(t *testing.T) {
	bin, err := exec.LookPath("faultlab")
	if err != nil {
		t.Fatal(err)
	}
	table := map[string]configFault{}
	for _, c := range configFaults() {
		table[c.name] = c
	}
	for _, fault := range faultlab.Cases() {
		if _, ok := fault.ConfigFile(bin, ""); !ok {
			continue
		}
		c, ok := table[fault.Name]
		if !ok {
			t.Errorf("%s, %q, is not in the table", fault.Name, fault.Title)
		}
		delete(table, fault.Name)
		for _, run := range c.runs {
			t.Run(c.name+"/"+strings.ReplaceAll(run.do, " ", "-"), func(t *testing.T) {
				t.Parallel()
				run.try(t, fault, bin)
			})
		}
	}
	for name := range table {
		t.Errorf("the laboratory has no configuration file %s", name)
	}
}

func (r configRun) try(t *testing.T, fault faultlab.Case, bin string) {
	t.Helper()
	dir := t.TempDir()
	served := fault
	if fault.Over&faultlab.HTTP == 0 {
		served = faultlab.Healthy()
	}
	server, err := served.Serve(faultlab.HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	text, _ := fault.ConfigFile(bin, server.URL)
	file := filepath.Join(dir, "config.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append(strings.Fields(r.do), "--config", file)
	// In a process of its own, which has an environment of its own.
	env := r.env
	if env == "" {
		env = "FAULTLAB_NOTHING="
	}
	o := faultJob{}.mcpctl(t, dir, args, env)
	want := r.code
	if want == 0 {
		want = faultCodes()[r.class]
	}
	if o.code != want {
		t.Errorf("exit code %d, want %d", o.code, want)
	}
	check := func(where, text string, expressions []string) {
		for _, e := range expressions {
			e = strings.ReplaceAll(e, "{HOME}", regexp.QuoteMeta(dir))
			if !regexp.MustCompile(e).MatchString(text) {
				t.Errorf("%s does not match %q", where, e)
			}
		}
	}
	check("stdout", o.out, r.out)
	check("stderr", o.err, r.says)
	for _, word := range r.never {
		if strings.Contains(o.out+o.err, word) {
			t.Errorf("%q in the output", word)
		}
	}
	if r.sent < 0 && server.Stats().SessionsIssued+len(server.Events()) > 0 {
		t.Errorf("something was sent: %v", server.Events())
	}
	// The same, for a program.
	j := faultJob{}.mcpctl(t, dir, append(args, "-o", "json"), env)
	var doc struct{ Error struct{ Class string } }
	if err := json.Unmarshal([]byte(j.out), &doc); err != nil || j.code != o.code || doc.Error.Class != r.class {
		t.Errorf("as JSON: exit code %d, class %q, %v", j.code, doc.Error.Class, err)
	}
	if t.Failed() {
		t.Logf("mcpctl %q: exit code %d\n--- stdout\n%s\n--- stderr\n%s", args, o.code, cut(o.out), cut(o.err))
	}
}
