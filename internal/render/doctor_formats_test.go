package render

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/yuin/goldmark"
	gfm "github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"
	"gopkg.in/yaml.v3"

	"github.com/mcpctl/mcpctl/pkg/probe"
)

// hostile is what a server may say to get out of the place that its words have in a format.
const hostile = "a | b\n| c | <script>alert(1)</script> <img src=x> ![i](https://evil.example/i.png) [l](https://evil.example) " +
	"https://evil.example www.evil.example @everyone #1 a@b.example `` ``` x` \\| \\` <!-- --> ]]> </failure> & \x1b[2J\x00\ufffe " +
	"%0A::error::y\r\n::set-output name=a::b ##[group]g ##vso[task.x]y # SKIP not ok 9 \"q\" 'q' 漢字 \u202ertl"

// reportsOf are the reports of a run.
func reportsOf(list ...probe.Report) *Reports {
	r := NewReports(len(list))
	for i, report := range list {
		r.Put(i, report)
	}
	return r
}

// hostileReports are those of a server whose every word is hostile, with each status.
func hostileReports() []probe.Report {
	results := []probe.Result{}
	for _, s := range []probe.Status{probe.Fail, probe.Warn, probe.Unknown, probe.Skip, probe.Pass} {
		r := result("x."+string(s)+hostile, s, hostile, 1)
		r.Detail, r.Note, r.Fix, r.Class = hostile+"\n::error::z\n"+hostile, hostile, hostile, ""
		results = append(results, r)
	}
	r := results[0]
	return []probe.Report{{
		Name: hostile, Transport: "http", Target: hostile, Verdict: probe.Fail, Incomplete: true, Elapsed: time.Second, Results: results,
		Cause:  &probe.Cause{Check: r.ID, Message: r.Message, Detail: r.Detail, Fix: r.Fix},
		Timing: []probe.Span{{Name: hostile, Elapsed: time.Millisecond}},
	}}
}

// hostileRun is that server as a run.
func hostileRun() DoctorRun {
	return DoctorRun{Reports: reportsOf(hostileReports()...), Begin: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Elapsed: time.Second}
}

// knownReports are reports with some measurements.
func knownReports() []probe.Report {
	list := reports()
	list[1].Results = append(list[1].Results, func() probe.Result {
		r := result("tools.list", probe.Pass, "7 tools", 2)
		r.Data = map[string]any{"count": 7}
		return r
	}(), func() probe.Result {
		r := result("net.tls", probe.Pass, "30 days left", 2)
		r.Data = map[string]any{"not_after": "2026-02-01T00:00:00Z"}
		return r
	}(), func() probe.Result {
		r := result("auth.token", probe.Pass, "an hour left", 2)
		r.Data = map[string]any{"token_expires_at": "2026-01-02T04:00:00Z"}
		return r
	}())
	return list
}

// knownRun is knownReports as a run.
func knownRun() DoctorRun {
	return DoctorRun{Reports: reportsOf(knownReports()...), Begin: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Elapsed: 1500 * time.Millisecond}
}

// failedRun is a run that found nothing out.
func failedRun() DoctorRun {
	return DoctorRun{Begin: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Failure: &DoctorFailure{
		Class: "usage", Message: `no server "wbe"`, Hints: []string{`did you mean "web"?`}, Evidence: []string{"c.yaml:3"},
		Body: map[string]any{"class": "usage", "message": `no server "wbe"`},
	}}
}

// interruptedRun is one that somebody stopped.
func interruptedRun() DoctorRun {
	run := knownRun()
	run.Failure = &DoctorFailure{Class: "interrupted", Message: "interrupted", Body: map[string]any{"class": "interrupted"}}
	return run
}

// writeText writes reports as text.
func writeText(w io.Writer, s Screen, list []probe.Report, o DoctorOptions) error {
	text, _ := FindDoctorFormat("text")
	return text.Write(w, DoctorRun{Reports: reportsOf(list...), Screen: s, Options: o})
}

func document(t *testing.T, format string, run DoctorRun) string {
	t.Helper()
	f, ok := FindDoctorFormat(format)
	if !ok {
		t.Fatalf("no format %q", format)
	}
	doc, err := f.Document(run)
	if err != nil {
		t.Fatal(err)
	}
	return string(doc)
}

// TestDoctorFormats shows each format, of a run with each verdict and of one that failed.
func TestDoctorFormats(t *testing.T) {
	for _, f := range DoctorFormats() {
		t.Run(f.Name, func(t *testing.T) {
			golden(t, "format_"+f.Name+".txt", document(t, f.Name, knownRun()))
			golden(t, "format_"+f.Name+"_failed.txt", document(t, f.Name, failedRun()))
			for _, run := range []DoctorRun{knownRun(), failedRun(), interruptedRun(), hostileRun(), {}} {
				if doc := document(t, f.Name, run); doc == "" && f.Name != "text" && f.Name != "github" {
					t.Error("an empty document")
				}
			}
		})
	}
}

// TestSecretsAreMaskedBeforeTheyAreEscaped shows that no format lets a secret through that it writes in another form, and that
// a secret of digits does not make a number unreadable.
func TestSecretsAreMaskedBeforeTheyAreEscaped(t *testing.T) {
	const secret = "a&b<\"c`|"
	mask := strings.NewReplacer(secret, "***", "1500", "***").Replace
	list := knownReports()
	for i := range list {
		for j := range list[i].Results {
			r := &list[i].Results[j]
			r.Message += " " + secret
			r.Detail += "\n" + secret
			r.Fix += secret
			if r.Data != nil {
				r.Data["leak"] = secret
			}
		}
		if c := list[i].Cause; c != nil {
			c.Message += secret
		}
		list[i].Name += secret
	}
	run := knownRun()
	run.Mask, run.Reports = mask, reportsOf(list...)
	for _, f := range DoctorFormats() {
		doc := document(t, f.Name, run)
		for _, form := range []string{secret, "a&amp;b", `a&b<\"`, "a\\u0026b", "a%26b"} {
			if strings.Contains(doc, form) {
				t.Errorf("%s: %q is in\n%s", f.Name, form, doc)
			}
		}
		if !strings.Contains(doc, "***") {
			t.Errorf("%s: nothing is masked", f.Name)
		}
	}
	if doc := document(t, "json", run); !strings.Contains(doc, `"elapsed_ms": 1500`) {
		t.Errorf("a number was masked:\n%s", doc)
	}
}

// element is an XML element with its children in order.
type element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Text     string     `xml:",chardata"`
	Children []element  `xml:",any"`
}

func (e element) attr(name string) string {
	for _, a := range e.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func (e element) count(t *testing.T, name string) int {
	t.Helper()
	n, err := strconv.Atoi(e.attr(name))
	if err != nil {
		t.Errorf("<%s %s>: %v", e.XMLName.Local, name, err)
	}
	return n
}

// TestJUnitIsStrict checks the shape that testdata/junit.xsd asks for, of which the end-to-end tests ask a validator, and
// that counts are those of what is there.
func TestJUnitIsStrict(t *testing.T) {
	strict := knownRun()
	strict.Strict = true
	wants := map[string][]string{
		"testsuite": {"id", "name", "package", "timestamp", "hostname", "tests", "failures", "errors", "skipped", "time"},
		"testcase":  {"name", "classname", "time"},
		"failure":   {"message", "type"}, "error": {"message", "type"},
	}
	order := []string{"properties", "testcase", "system-out", "system-err"}
	for name, run := range map[string]DoctorRun{
		"known": knownRun(), "failed": failedRun(), "interrupted": interruptedRun(), "hostile": hostileRun(), "strict": strict, "empty": {},
	} {
		doc := document(t, "junit", run)
		var root element
		if err := xml.Unmarshal([]byte(doc), &root); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, doc)
		}
		for _, c := range doc {
			if c < 0x20 && c != '\n' && c != '\t' || c == 0xfffe || c == 0xffff {
				t.Errorf("%s: %U is no character of XML 1.0", name, c)
			}
		}
		var tests, failures, errs int
		for i, suite := range root.Children {
			if suite.count(t, "id") != i {
				t.Errorf("%s: suite %d has the id %s", name, i, suite.attr("id"))
			}
			last := 0
			counts := map[string]int{}
			for _, child := range append([]element{suite}, suite.Children...) {
				if at := slices.Index(order, child.XMLName.Local); at >= 0 && at < last {
					t.Errorf("%s: <%s> comes too late", name, child.XMLName.Local)
				} else if at >= 0 {
					last = at
				}
				if child.XMLName.Local == "testcase" {
					counts["tests"]++
					for _, outcome := range child.Children {
						counts[outcome.XMLName.Local]++
						for _, attr := range wants[outcome.XMLName.Local] {
							if outcome.attr(attr) == "" {
								t.Errorf("%s: <%s> lacks %s", name, outcome.XMLName.Local, attr)
							}
						}
					}
				}
				for _, attr := range wants[child.XMLName.Local] {
					if child.attr(attr) == "" {
						t.Errorf("%s: <%s> lacks %s", name, child.XMLName.Local, attr)
					}
				}
			}
			for attr, kind := range map[string]string{"tests": "tests", "failures": "failure", "errors": "error", "skipped": "skipped"} {
				if got := suite.count(t, attr); got != counts[kind] {
					t.Errorf("%s: %s=%d, and there are %d", name, attr, got, counts[kind])
				}
			}
			tests, failures, errs = tests+counts["tests"], failures+counts["failure"], errs+counts["error"]
		}
		if root.count(t, "tests") != tests || root.count(t, "failures") != failures || root.count(t, "errors") != errs {
			t.Errorf("%s: the sums are not those of the suites: %v", name, root.Attrs)
		}
		if name == "strict" && failures != 2 || name == "known" && failures != 1 {
			t.Errorf("%s: %d failures", name, failures)
		}
		if name == "failed" && (errs != 1 || !strings.Contains(doc, `type="usage"`)) {
			t.Errorf("the failure of the run is no error:\n%s", doc)
		}
	}
}

// TestMarkdownIsNotBrokenByAServer renders the report as GitHub does and looks for what a server may have put into it.
func TestMarkdownIsNotBrokenByAServer(t *testing.T) {
	md := goldmark.New(goldmark.WithExtensions(gfm.GFM), goldmark.WithRendererOptions(html.WithUnsafe()))
	inCode := regexp.MustCompile(`(?s)<code[^>]*>.*?</code>`)
	for name, run := range map[string]DoctorRun{"hostile": hostileRun(), "known": knownRun(), "failed": failedRun()} {
		if name == "hostile" {
			run.Failure = &DoctorFailure{Class: "usage", Message: hostile, Hints: []string{hostile}}
		}
		doc := document(t, "markdown", run)
		var b bytes.Buffer
		if err := md.Convert([]byte(doc), &b); err != nil {
			t.Fatal(err)
		}
		page := inCode.ReplaceAllString(b.String(), "")
		for _, bad := range []string{"<a ", "<img", "<script", "<!--", "evil", "@", "#1", "|", "`", "漢"} {
			if strings.Contains(page, bad) {
				t.Errorf("%s: %q outside code:\n%s", name, bad, page)
			}
		}
		if rows := strings.Count(page, "<tr>"); run.Reports.Len() > 0 && rows != run.Reports.Len()+1 {
			t.Errorf("%s: %d rows:\n%s", name, rows, page)
		}
		if cells := strings.Count(page, "<td"); cells != 6*run.Reports.Len() {
			t.Errorf("%s: %d cells:\n%s", name, cells, page)
		}
	}
}

// TestMarkdownFitsIntoAComment shows that causes give way when there are too many.
func TestMarkdownFitsIntoAComment(t *testing.T) {
	run := hostileRun()
	run.Reports = reportsOf(slices.Repeat(hostileReports(), 61)...)
	doc := document(t, "markdown", run)
	if !strings.Contains(doc, "more, which the JSON report has") || len(doc) > mostMarkdown+61*1200 {
		t.Errorf("%d bytes", len(doc))
	}
}

// TestGitHubAnnotations checks that each line is one command of ours, as the runner reads it.
func TestGitHubAnnotations(t *testing.T) {
	command := regexp.MustCompile(`^::(error|warning|notice) title=([^:,\r\n]*)::([^\r\n]*)$`)
	for _, run := range []DoctorRun{hostileRun(), knownRun(), failedRun(), interruptedRun()} {
		doc := document(t, "github", run)
		for line := range strings.Lines(doc) {
			m := command.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
			if m == nil {
				t.Errorf("not a command of ours: %q", line)
				continue
			}
			if percent := regexp.MustCompile(`%([^2]|2[^5]|0[^AD])`); percent.MatchString(strings.NewReplacer("%25", "", "%0A", "", "%3A", "", "%2C", "").Replace(m[2] + m[3])) {
				t.Errorf("a percent sign is left: %q", line)
			}
		}
	}
	if doc := document(t, "github", knownRun()); !strings.HasPrefix(doc, "::error title=web::http.endpoint: ") {
		t.Errorf("the first is not the error:\n%s", doc)
	}
}

// TestLogsTakeNoInstructions shows that what goes to a log as text holds nothing that a build server obeys.
func TestLogsTakeNoInstructions(t *testing.T) {
	bad := regexp.MustCompile(`(?m)^[ \t]*::|##[a-z]*\[`)
	run := hostileRun()
	run.Options.Verbose = true
	for _, f := range []string{"text", "markdown", "tap", "junit", "github"} {
		for _, run := range []DoctorRun{hostileRun(), run} {
			doc := document(t, f, run)
			if f == "github" { // whose own commands TestGitHubAnnotations looks at
				doc = strings.ReplaceAll(doc, "\n::", "\n")[2:]
			}
			if found := bad.FindString(doc); found != "" {
				t.Errorf("%s: %q in\n%s", f, found, document(t, f, run))
			}
		}
	}
}

// TestTAP reads the document as a harness does.
func TestTAP(t *testing.T) {
	test := regexp.MustCompile(`^(not )?ok (\d+) - ((?:[^#\\]|\\.)*)( # SKIP.*)?$`)
	for name, run := range map[string]DoctorRun{"known": knownRun(), "hostile": hostileRun(), "interrupted": interruptedRun(), "failed": failedRun()} {
		doc := document(t, "tap", run)
		lines := strings.Split(strings.TrimSuffix(doc, "\n"), "\n")
		if lines[0] != "TAP version 14" {
			t.Errorf("%s: %q", name, lines[0])
		}
		n, plan, bail, block := 0, -1, false, ""
		for _, line := range lines[1:] {
			switch m := test.FindStringSubmatch(line); {
			case m != nil:
				n++
				if m[2] != strconv.Itoa(n) {
					t.Errorf("%s: %q is test %d", name, line, n)
				}
			case strings.HasPrefix(line, "1.."):
				plan, _ = strconv.Atoi(line[3:])
			case strings.HasPrefix(line, "Bail out! "):
				bail = true
			case line == "  ---":
				block = "\n"
			case line == "  ...":
				var diagnostics map[string]any
				if err := yaml.Unmarshal([]byte(block), &diagnostics); err != nil || diagnostics["message"] == "" || diagnostics["severity"] == nil {
					t.Errorf("%s: %v in %s", name, err, block)
				}
				block = ""
			case block != "" && strings.HasPrefix(line, "  "):
				block += line[2:] + "\n"
			default:
				t.Errorf("%s: %q is nothing", name, line)
			}
		}
		if plan >= 0 && plan != n || bail != (run.Failure != nil) || plan < 0 && n > 0 {
			t.Errorf("%s: plan %d, %d tests, bail out %t", name, plan, n, bail)
		}
	}
	doc := document(t, "tap", knownRun())
	for _, want := range []string{"not ok 3 - web http.endpoint\n", "ok 4 - web baseline.none # SKIP nothing to compare with\n", "not ok 15 - chatty tools.list\n", "ok 14 - chatty session.noise\n"} {
		if !strings.Contains(doc, want) {
			t.Errorf("no %q in\n%s", want, doc)
		}
	}
}

// TestPrometheus parses the document as the textfile collector does.
func TestPrometheus(t *testing.T) {
	for name, run := range map[string]DoctorRun{"known": knownRun(), "hostile": hostileRun(), "interrupted": interruptedRun(), "failed": failedRun()} {
		if name == "known" { // servers that were given as URLs and as commands, two with the same host
			list := knownReports()
			for i, target := range []string{"https://user@host.example:8443/mcp", "https://host.example:8443/other", "/opt/bin/notes --token x https://elsewhere.example"} {
				r := list[i]
				r.Name, r.Target = target, target
				list = append(list, r)
			}
			run.Reports = reportsOf(list...)
		}
		doc := document(t, "prometheus", run)
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(strings.NewReader(doc))
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, doc)
		}
		value := func(metric string, labels ...string) float64 {
			for _, m := range families[metric].GetMetric() {
				var have []string
				for _, l := range m.GetLabel() {
					have = append(have, l.GetName(), l.GetValue())
				}
				if slices.Equal(have, labels) {
					return m.GetGauge().GetValue()
				}
			}
			return math.NaN()
		}
		seen := map[string]bool{}
		for metric, f := range families {
			if f.GetHelp() == "" || f.GetType().String() != "GAUGE" {
				t.Errorf("%s: %s has no help, or no type", name, metric)
			}
			for _, m := range f.GetMetric() {
				series := metric
				for _, l := range m.GetLabel() {
					series += fmt.Sprintf(",%s=%q", l.GetName(), l.GetValue())
					if strings.Contains(l.GetValue(), "://") || len(l.GetValue()) > 400 {
						t.Errorf("%s: %s has the label %q", name, metric, l.GetValue())
					}
				}
				if seen[series] {
					t.Errorf("%s: %s is there twice", name, series)
				}
				seen[series] = true
			}
		}
		if got := value("mcpctl_last_run_failed"); (got == 1) != (run.Failure != nil || slices.ContainsFunc(slices.Collect(run.Reports.All()), func(r probe.Report) bool { return r.Incomplete })) {
			t.Errorf("%s: mcpctl_last_run_failed is %v", name, got)
		}
		if name != "known" {
			continue
		}
		for series, want := range map[[5]string]float64{
			{"mcpctl_up", "server", "web"}:                                               0,
			{"mcpctl_up", "server", "notes"}:                                             1,
			{"mcpctl_up", "server", "host.example:8443"}:                                 0,
			{"mcpctl_up", "server", "host.example:8443#2"}:                               1,
			{"mcpctl_up", "server", "notes#2"}:                                           0,
			{"mcpctl_check_status", "server", "web", "check", "http.endpoint"}:           3,
			{"mcpctl_check_status", "server", "chatty", "check", "tools.list"}:           2,
			{"mcpctl_check_status", "server", "chatty", "check", "session.noise"}:        1,
			{"mcpctl_check_status", "server", "notes", "check", "session.open"}:          0,
			{"mcpctl_check_status", "server", "web", "check", "tools.list"}:              -1,
			{"mcpctl_phase_duration_seconds", "server", "notes", "phase", "start"}:       0.003,
			{"mcpctl_phase_duration_seconds", "server", "notes", "phase", "initialized"}: 0.001,
			{"mcpctl_tools", "server", "notes"}:                                          7,
			{"mcpctl_tls_not_after_timestamp_seconds", "server", "notes"}:                1769904000,
			{"mcpctl_token_expiry_timestamp_seconds", "server", "notes"}:                 1767326400,
			{"mcpctl_last_run_timestamp_seconds"}:                                        1767323046.5,
			{"mcpctl_duration_seconds", "server", "web"}:                                 0.4,
		} {
			var labels []string
			for _, l := range series[1:] {
				if l != "" {
					labels = append(labels, l)
				}
			}
			if got := value(series[0], labels...); got != want {
				t.Errorf("%v is %v, want %v\n%s", series, got, want, doc)
			}
		}
	}
}

// TestAFailingServerFitsOnAScreen shows that one server that failed takes at most twelve lines, whatever it said.
func TestAFailingServerFitsOnAScreen(t *testing.T) {
	talkative := hostileReports()
	long := strings.Repeat("many words that say little ", 30)
	talkative[0].Cause.Message = long
	talkative[0].Cause.Fix = strings.Repeat("do this ", 20)
	for _, reports := range [][]probe.Report{talkative, reports()[:1], hostileReports()} {
		for i := range reports {
			if len(reports[i].Cause.Fix) > 200 {
				reports[i].Cause.Fix = "do this"
			}
		}
		var b bytes.Buffer
		if err := writeText(&b, Screen{Terminal: true, Width: 80}, reports, DoctorOptions{Next: "mcpctl doctor -v web"}); err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(b.String(), "\n"); lines > 12 {
			t.Errorf("%d lines:\n%s", lines, &b)
		}
		if !strings.HasSuffix(b.String(), "\nnext: mcpctl doctor -v web\n") || !strings.Contains(b.String(), "  fix:   ") {
			t.Errorf("no fix, or no next command at the end:\n%s", &b)
		}
	}
}

// TestReportsOnAnyWidth shows that no line is wider than the screen, whatever a server says, down to 40 columns.
func TestReportsOnAnyWidth(t *testing.T) {
	for _, width := range []int{40, 50, 60, 80, 200} {
		for _, verbose := range []bool{false, true} {
			all := append(knownReports(), hostileReports()...)
			all[3].Results[0].ID, all[3].Results[1].ID, all[3].Results[2].ID = "protocol.unknown-method", "x.漢字漢字漢字漢字漢字漢字漢字漢字", "x.y"
			var b bytes.Buffer
			if err := writeText(&b, Screen{Terminal: true, Width: width}, all, DoctorOptions{Verbose: verbose}); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(b.String()) {
				if w := ansi.StringWidth(strings.TrimRight(line, "\n")); w > width {
					t.Errorf("%d columns on a screen of %d: %s", w, width, line)
				}
			}
			if strings.ContainsAny(b.String(), "\x1b\x00\u202e\r") {
				t.Errorf("a control character came through:\n%q", &b)
			}
		}
	}
}

// TestPassingServersAreOneLine shows that of several servers those that pass have one line each, and that what failed
// comes last.
func TestPassingServersAreOneLine(t *testing.T) {
	good := knownReports()[1]
	good.Results = good.Results[:1]
	var all []probe.Report
	for i := range 30 {
		r := good
		r.Name = fmt.Sprintf("good-%d", i)
		all = append(all, r)
	}
	all = append(all[:7], append([]probe.Report{reports()[0]}, all[7:]...)...)
	var b bytes.Buffer
	if err := writeText(&b, Screen{Terminal: true, Width: 80}, all, DoctorOptions{Next: "n"}); err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		if n := strings.Count(b.String(), fmt.Sprintf("good-%d ", i)); n != 1 {
			t.Errorf("good-%d has %d lines", i, n)
		}
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if end := lines[len(lines)-5:]; !strings.HasPrefix(end[0], "web ") || end[2] != "31 servers: 30 passed, 1 failed" || end[4] != "next: n" {
		t.Errorf("the end is %q", end)
	}
}

// TestAPipeHasTheSameText shows that a log reads what a person on a terminal of 80 columns reads, without the colours.
func TestAPipeHasTheSameText(t *testing.T) {
	for _, verbose := range []bool{false, true} {
		var pipe, terminal bytes.Buffer
		o := DoctorOptions{Verbose: verbose, Next: "mcpctl doctor -v web"}
		if err := writeText(&pipe, Screen{}, reports(), o); err != nil {
			t.Fatal(err)
		}
		if err := writeText(&terminal, Screen{Terminal: true, Colour: true, Width: 80}, reports(), o); err != nil {
			t.Fatal(err)
		}
		if ansi.Strip(terminal.String()) != pipe.String() || terminal.String() == pipe.String() {
			t.Errorf("a pipe has\n%s\na terminal\n%s", &pipe, &terminal)
		}
	}
}

// TestAnIncompleteReportIsNoPass shows that nothing says that a server passed of which not all is known: the exit code does not.
func TestAnIncompleteReportIsNoPass(t *testing.T) {
	run := DoctorRun{Reports: reportsOf(reports()[2:]...)} // a warning, and a check that could not be told
	for format, wants := range map[string][]string{
		"prometheus": {"mcpctl_up{server=\"chatty\"} 0\n", "mcpctl_last_run_failed 1\n"},
		"markdown":   {"## ❔ mcpctl doctor: 1 server: 1 incomplete\n", "| ❔ | `chatty` | warn (incomplete) |"},
		"github":     {"::notice title=mcpctl doctor::1 server: 1 incomplete\n"},
	} {
		f, _ := FindDoctorFormat(format)
		doc, err := f.Document(run)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(string(doc), want) {
				t.Errorf("%s: no %q in\n%s", format, want, doc)
			}
		}
	}
}
