package render

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/pkg/probe"
)

// family is one metric.
type family struct {
	name, help string
	// samples are the lines of its samples so far, and n how many there are.
	samples strings.Builder
	n       int
}

// add adds a sample, with names and values of its labels in turn.
func (f *family) add(value float64, labels ...string) {
	f.n++
	f.samples.WriteString(f.name + labelsOf(labels) + " " + strconv.FormatFloat(value, 'f', -1, 64) + "\n")
}

// write writes the samples, with what they are before them if they are the first.
func (f *family) write(p pen, first bool) {
	if first && f.n > 0 {
		p.printf("# HELP %s %s\n# TYPE %s gauge\n", f.name, f.help, f.name)
	}
	p.text(f.samples.String())
	f.samples.Reset()
}

// doctorPrometheus is Prometheus' text format, for the textfile collector of the node exporter. Labels hold names and ids
// only: an address or a message would make a new series each time it changes. The samples of a metric stand together, so those of
// the checks, of which there are most, are made when all others are known.
func doctorPrometheus(p pen, run DoctorRun) error {
	up := family{name: "mcpctl_up", help: "Whether the server passed the examination, warnings allowed (1), or not, or not all of it is known (0)."}
	status := family{
		name: "mcpctl_check_status",
		help: "What came of a check: -1 skipped, 0 passed, 1 warning, 2 could not be told, 3 failed.",
	}
	phases := family{name: "mcpctl_phase_duration_seconds", help: "How long a phase of the examination took."}
	tools := family{name: "mcpctl_tools", help: "How many tools the server lists."}
	certificate := family{name: "mcpctl_tls_not_after_timestamp_seconds", help: "When the server's certificate ends, in seconds since 1970."}
	token := family{name: "mcpctl_token_expiry_timestamp_seconds", help: "When the access token ends, in seconds since 1970."}
	duration := family{name: "mcpctl_duration_seconds", help: "How long the examination of the server took."}
	last := family{name: "mcpctl_last_run_timestamp_seconds", help: "When the last run ended, in seconds since 1970."}
	failed := family{name: "mcpctl_last_run_failed", help: "Whether the last run itself failed (1): nothing, or not all, was examined."}

	taken := map[string]bool{}
	var servers []string
	for r := range run.reports() {
		server := unique(taken, serverLabel(r))
		servers = append(servers, server)
		up.add(truth(!r.Incomplete && (r.Verdict == probe.Pass || r.Verdict == probe.Warn)), "server", server)
		duration.add(r.Elapsed.Seconds(), "server", server)
		for _, res := range r.Results {
			if n, ok := number(res.Data["count"]); ok && res.ID == "tools.list" {
				tools.add(n, "server", server)
			}
			if at, ok := moment(res.Data["not_after"]); ok && res.ID == "net.tls" {
				certificate.add(at, "server", server)
			}
			if at, ok := moment(res.Data["token_expires_at"]); ok && token.n < up.n {
				token.add(at, "server", server)
			}
		}
		for _, p := range phasesOf(r) {
			phases.add(p.Elapsed.Seconds(), "server", server, "phase", label(phaseKey(p.Name)))
		}
	}
	if f := run.Failure; f != nil && f.Server != "" {
		if server := serverLabel(probe.Report{Name: f.Server}); !taken[server] {
			up.add(0, "server", server)
		}
	}
	last.add(float64(run.Begin.Add(run.Elapsed).UnixMilli()) / 1000)
	incomplete := slices.ContainsFunc(run.Reports.all(), func(k kept) bool { return k.incomplete })
	failed.add(truth(run.Failure != nil || incomplete))

	up.write(p, true)
	first := true
	for r := range run.reports() {
		server := servers[0]
		servers = servers[1:]
		ids := map[string]bool{}
		for _, res := range r.Results {
			status.add(float64(rank(res.Status)-1), "server", server, "check", unique(ids, label(res.ID)))
		}
		status.write(p, first && status.n > 0)
		first = first && status.n == 0
	}
	for _, f := range []*family{&phases, &tools, &certificate, &token, &duration, &last, &failed} {
		f.write(p, true)
	}
	return nil
}

// labelsOf writes labels, whose values are quoted as the format wants it.
func labelsOf(labels []string) string {
	if len(labels) == 0 {
		return ""
	}
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	var parts []string
	for pair := range slices.Chunk(labels, 2) {
		parts = append(parts, fmt.Sprintf(`%s="%s"`, pair[0], escape.Replace(pair[1])))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// serverLabel returns the name of a server for a label: the host for one that was given as a URL, the program for one
// that was given as a command line.
func serverLabel(r probe.Report) string {
	if fields := strings.Fields(r.Name); len(fields) > 1 && r.Name == r.Target {
		return label(path.Base(strings.ReplaceAll(fields[0], `\`, "/")))
	}
	return label(r.Name)
}

// label returns text for the value of a label: no URL, and of a length that a list of labels bears.
func label(text string) string {
	const most = 100
	text = OneLine(text)
	if strings.Contains(text, "://") {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" {
			return "url"
		}
		text = u.Host
	}
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most])
	}
	return text
}

// unique returns name, or name with a number behind it if it is taken: the same series twice is no valid document.
func unique(taken map[string]bool, name string) string {
	free := name
	for n := 2; taken[free]; n++ {
		free = fmt.Sprintf("%s#%d", name, n)
	}
	taken[free] = true
	return free
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// number returns a number of the data of a check.
func number(value any) (float64, bool) {
	switch n := value.(type) {
	case int:
		return float64(n), true
	case int64:
		return float64(n), true
	case float64:
		return n, true
	case json.RawMessage:
		var f float64
		return f, json.Unmarshal(n, &f) == nil
	case json.Number:
		f, err := n.Float64()
		return f, err == nil
	}
	return 0, false
}

// moment returns a moment of the data of a check, in seconds since 1970.
func moment(value any) (float64, bool) {
	text, ok := value.(string)
	if raw, packed := value.(json.RawMessage); packed {
		ok = json.Unmarshal(raw, &text) == nil
	}
	if !ok {
		return 0, false
	}
	at, err := time.Parse(time.RFC3339, text)
	return float64(at.Unix()), err == nil
}

// phasesOf returns where the time of an examination went, each phase once, in the order in which they began. What has no
// name of its own in it is the last one.
func phasesOf(r probe.Report) []probe.Span {
	var out []probe.Span
	rest := r.Elapsed
	for _, s := range r.Timing {
		i := slices.IndexFunc(out, func(o probe.Span) bool { return o.Name == s.Name })
		if i < 0 {
			i = len(out)
			out = append(out, probe.Span{Name: s.Name})
		}
		out[i].Elapsed += s.Elapsed
		rest -= s.Elapsed
	}
	if rest > 0 {
		out = append(out, probe.Span{Name: otherPhase, Elapsed: rest})
	}
	return out
}

// otherPhase is the time that no phase accounts for: the checks themselves, and what they wait for.
const otherPhase = "other"

// phaseKey returns the name of a phase for a key or a label: "tools/list" is tools_list, and of
// "notifications/initialized" the last word says it all.
func phaseKey(name string) string {
	for _, prefix := range []string{"notifications/", "server/"} {
		name = strings.TrimPrefix(name, prefix)
	}
	return strings.Map(func(c rune) rune {
		if c == '/' || c == ' ' || c == '-' {
			return '_'
		}
		return c
	}, name)
}
