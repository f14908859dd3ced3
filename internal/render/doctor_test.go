package render

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/mcpctl/mcpctl/pkg/probe"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares text with a golden file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\n%s\nwant:\n%s", name, got, want)
	}
}

func result(id string, status probe.Status, message string, ms int) probe.Result {
	return probe.Result{
		ID: id, Title: "title of " + id, Elapsed: time.Duration(ms) * time.Millisecond,
		Finding: probe.Finding{Status: status, Message: message},
	}
}

// blocked is a check that was skipped because of the broken one.
func blocked(id string) probe.Result {
	r := result(id, probe.Skip, "needs http.endpoint", 0)
	r.Blocked = "http.endpoint"
	return r
}

// reports are one of each verdict.
func reports() []probe.Report {
	broken := result("http.endpoint", probe.Fail, "initialize: the answer is a web page (200 text/html): \"Sign in\x1b[2J\"", 12)
	broken.Class, broken.Fix = "connect", "check the URL: the MCP endpoint often has a path of its own, such as /mcp"
	broken.Detail = "POST http://127.0.0.1:1/: 200 text/html\npage title: \"Sign in\"\nthree\nfour\nfive\nsix"
	broken.Data = map[string]any{"http_status": 200}
	noisy := result("session.noise", probe.Warn, "2 line(s) are not MCP; line 1 is \"ready\"", 0)
	noisy.Fix = "write logs and banners to stderr"
	return []probe.Report{
		{
			Name: "web", Transport: "auto", Target: "http://127.0.0.1:1/", Verdict: probe.Fail, Elapsed: 400 * time.Millisecond,
			Cause: &probe.Cause{Check: broken.ID, Class: broken.Class, Message: broken.Message, Detail: broken.Detail, Fix: broken.Fix},
			Results: []probe.Result{
				result("config.entry", probe.Pass, "valid", 0), result("net.tcp", probe.Pass, "127.0.0.1:1", 38), broken,
				result("baseline.none", probe.Skip, "nothing to compare with", 0), blocked("auth.access"), blocked("session.open"), blocked("tools.list"),
			},
		},
		{
			Name: "notes", Transport: "stdio", Target: "npx -y @example/a-server-with-a-rather-long-name --and --many words", Verdict: probe.Pass,
			Elapsed: 1234 * time.Millisecond,
			Results: []probe.Result{
				result("session.open", probe.Pass, "notes 1.0, stdio, protocol 2025-11-25", 900),
				result("recovery.kill", probe.Pass, "SIGKILL to process group 1", 3),
			},
			Timing: []probe.Span{{Name: "start", Elapsed: 3 * time.Millisecond}, {Name: "notifications/initialized", Elapsed: time.Millisecond}},
		},
		{
			Name: "chatty", Transport: "stdio", Target: "chatty", Verdict: probe.Warn, Incomplete: true, Elapsed: 12 * time.Millisecond,
			Results: []probe.Result{
				result("session.open", probe.Pass, "unnamed server, stdio, protocol 2025-11-25", 9), noisy,
				result("tools.list", probe.Unknown, "the check itself broke: boom", 0),
			},
		},
	}
}

// TestDoctor shows the report as people see it: every verdict, short and verbose, one server and several.
func TestDoctor(t *testing.T) {
	for name, tt := range map[string]struct {
		screen  Screen
		reports []probe.Report
		options DoctorOptions
	}{
		"doctor_several.txt": {Screen{}, reports(), DoctorOptions{Next: "mcpctl doctor -v web"}},
		"doctor_one.txt":     {Screen{}, reports()[:1], DoctorOptions{Next: "mcpctl doctor -v web"}},
		"doctor_verbose.txt": {Screen{}, reports(), DoctorOptions{Verbose: true}},
		"doctor_colour.txt":  {Screen{Terminal: true, Colour: true, Width: 80}, reports()[:1], DoctorOptions{}},
		"doctor_narrow.txt":  {Screen{Terminal: true, Width: 50}, reports(), DoctorOptions{}},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := writeText(&b, tt.screen, tt.reports, tt.options); err != nil {
				t.Fatal(err)
			}
			golden(t, name, b.String())
			width := tt.screen.Width
			if width == 0 {
				width = 80
			}
			for line := range strings.Lines(b.String()) {
				if w := ansi.StringWidth(strings.TrimRight(line, "\n")); w > width {
					t.Errorf("%d columns: %s", w, line)
				}
			}
			if !tt.screen.Colour && strings.ContainsRune(b.String(), '\x1b') {
				t.Error("an escape sequence came through")
			}
		})
	}
}

// TestDoctorDocument shows the JSON document.
func TestDoctorDocument(t *testing.T) {
	var b bytes.Buffer
	if err := DoctorJSON(&b, Screen{}, DoctorRun{Reports: reportsOf(reports()...), Elapsed: 1500 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	golden(t, "doctor.json", b.String())
}

// TestTheDoctorDocumentIsWrittenAsAWhole: that it is written a server at a time cannot be told from it, with any number of
// them, whatever their texts are.
func TestTheDoctorDocumentIsWrittenAsAWhole(t *testing.T) {
	list := hostileReports()
	list[0].Name = "\"servers\": []"
	hostile := hostileRun()
	hostile.Reports = reportsOf(list...)
	for name, run := range map[string]DoctorRun{"known": knownRun(), "none": {}, "failed": failedRun(), "interrupted": interruptedRun(), "hostile": hostile} {
		for _, s := range []Screen{{}, {Terminal: true}} {
			var b, whole bytes.Buffer
			if err := DoctorJSON(&b, s, run); err != nil {
				t.Fatal(name, err)
			}
			doc := doctorAround(run)
			if d, ok := doc.(doctorDocument); ok {
				for r := range run.Reports.All() {
					d.Servers = append(d.Servers, newDoctorServer(r))
				}
				doc = d
			}
			if run.Mask != nil { // its masks are those of the formats
				raw, err := Marshal(doc)
				if err != nil {
					t.Fatal(name, err)
				}
				if raw, err = run.maskJSON(raw); err != nil {
					t.Fatal(name, err)
				}
				doc = json.RawMessage(raw)
			}
			if err := JSON(&whole, s, doc); err != nil {
				t.Fatal(name, err)
			}
			if b.String() != whole.String() {
				t.Errorf("%s: it is not the same\n%s\n%s", name, b.String(), whole.String())
			}
		}
	}
}

// largest is a writer that knows the largest piece.
type largest struct{ pieces, bytes int }

func (l *largest) Write(piece []byte) (int, error) {
	l.pieces++
	l.bytes = max(l.bytes, len(piece))
	return len(piece), nil
}

// TestTheDoctorDocumentIsNeverHeldWhole: of a thousand servers it is written in pieces that hold a few of them.
func TestTheDoctorDocumentIsNeverHeldWhole(t *testing.T) {
	run := DoctorRun{Reports: reportsOf(slices.Repeat(reports()[:1], 1000)...)}
	var l largest
	if err := DoctorJSON(&l, Screen{}, run); err != nil {
		t.Fatal(err)
	}
	if l.bytes > outPiece || l.pieces < 10 {
		t.Errorf("%d pieces, the largest of %d bytes", l.pieces, l.bytes)
	}
}
