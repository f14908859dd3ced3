package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/pkg/probe"
)

// two is a configuration of a server that is refused at once, and of one that never answers.
const two = "servers: {refused: {url: 'http://127.0.0.1:1/mcp'}, silent: {command: sleep, args: ['30']}}"

func TestAnInterruptedDoctorReportsWhatItKnows(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args := []string{"doctor", "--config", "-", "-o", "tap"}
	for _, f := range doctorFormatNames() {
		args = append(args, "--report", f+"="+filepath.Join(dir, f))
	}
	ctx, cancel := context.WithCancel(t.Context())
	timer := time.AfterFunc(time.Second, cancel)
	defer timer.Stop()
	code, out, errOut := runHere(ctx, t, two, args...)
	if code != codeInterrupted || !strings.Contains(errOut, "mcpctl: error: interrupted") {
		t.Fatalf("exit code %d\n%s%s", code, out, errOut)
	}
	for name, wants := range map[string][]string{
		"text":       {"cause  net.tcp: 127.0.0.1:1: connection refused", "error: interrupted"},
		"json":       {`"check": "net.tcp"`, `"class": "interrupted"`, `"verdict": "unknown"`},
		"junit":      {`<failure message="127.0.0.1:1: connection refused" type="connect">`, `<error message="interrupted" type="interrupted">`, `<testcase name="session.open" classname="silent"`},
		"markdown":   {"the run was not finished; 2 servers: 1 unknown, 1 failed", "`interrupted`", "net.tcp"},
		"github":     {"::error title=mcpctl doctor::interrupted", "::error title=refused::net.tcp"},
		"tap":        {" - refused net.tcp\n  ---\n", "Bail out! interrupted"},
		"prometheus": {`mcpctl_up{server="refused"} 0`, `mcpctl_up{server="silent"} 0`, "mcpctl_last_run_failed 1"},
	} {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(string(raw), want) {
				t.Errorf("%s: no %q in\n%s", name, want, raw)
			}
		}
		if name == "tap" && out != string(raw) {
			t.Errorf("standard output is not what is in the file:\n%s", out)
		}
	}
}

// TestAReportThatCannotBeWritten shows that the others are, that the old one stays, and that nothing is left beside it.
func TestAReportThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	gone, stays := filepath.Join(dir, "gone"), filepath.Join(dir, "stays")
	if err := os.Mkdir(gone, 0o700); err != nil {
		t.Fatal(err)
	}
	files, err := parseReports([]string{"junit=" + filepath.Join(gone, "r.xml"), "tap=" + filepath.Join(stays), "json=" + filepath.Join(dir, "r.json")})
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(stays, "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	o := doctorOutputs{files: files}
	reports := render.NewReports(1)
	reports.Put(0, probe.Report{Name: "a", Verdict: probe.Pass})
	err = o.writeFiles(render.DoctorRun{Reports: reports})
	if err == nil || !strings.Contains(err.Error(), "--report junit=") {
		t.Errorf("the error is %v", err)
	}
	if raw, err := os.ReadFile(filepath.Join(dir, "r.json")); err != nil || !strings.Contains(string(raw), `"passed": 1`) {
		t.Errorf("the last one was not written: %v %s", err, raw)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("there are %v, %v", entries, err)
	}
}

func TestTheLiveLineOfSeveralServers(t *testing.T) {
	t.Parallel()
	e := examined{verb: "examining", servers: 200, only: "first"}
	if got := e.line(); got != "examining 200 servers" {
		t.Error(got)
	}
	if got := (&examined{verb: "examining", servers: 1, only: "notes"}).line(); got != "examining notes" {
		t.Error(got)
	}
	e.count("good", false)
	e.count("meagre", false)
	for _, name := range []string{"a\x1b[2J", "a-name-that-is-rather-long", "c", "d"} {
		e.count(name, true)
	}
	if got := e.line(); got != "examining: 6 of 200 done, 4 failed: a, a-name-that…, c, …" {
		t.Error(got)
	}
}
