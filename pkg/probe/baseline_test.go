package probe

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpctl/mcpctl/pkg/baseline"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// scripted is an HTTP server without sessions that gives the same answer to a method each time.
type scripted struct {
	// capabilities are what it announces.
	capabilities string
	// results are the answers by method; one that is not there is not known to it.
	results map[string]string
	// errors are the errors by method.
	errors map[string]string
	// fatal is a method on which the connection breaks.
	fatal string

	mu    sync.Mutex
	calls []string
}

func (s *scripted) serve(t *testing.T) config.Server {
	t.Helper()
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	return config.Server{Name: "s", URL: srv.URL, Transport: config.TransportAuto, Enabled: true, Protocol: "2025-11-25"}
}

// called returns the methods that were called, in order.
func (s *scripted) called() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.calls, " ")
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	s.mu.Lock()
	s.calls = append(s.calls, m.Method)
	s.mu.Unlock()
	if m.Method == s.fatal {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	result, ok := s.results[m.Method]
	switch {
	case s.errors[m.Method] != "":
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":%s}`, m.ID, s.errors[m.Method])
		return
	case m.Method == "initialize":
		result = `{"protocolVersion":"2025-11-25","capabilities":` + s.capabilities + `,"serverInfo":{"name":"scripted","version":"1"}}`
	case m.Method == "ping":
		result = `{}`
	case !ok:
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID)
		return
	}
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// everything is a server that offers one thing of each kind.
func everything() *scripted {
	return &scripted{
		capabilities: `{"tools":{},"prompts":{},"resources":{}}`,
		results: map[string]string{
			"tools/list":               `{"tools":[{"name":"read","description":"Read a file.","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{"path":{"type":"string","maxLength":100.0}},"required":["path"]}}]}`,
			"prompts/list":             `{"prompts":[{"name":"greet"}]}`,
			"resources/list":           `{"resources":[{"uri":"a://b/c","name":"c"}]}`,
			"resources/templates/list": `{"resourceTemplates":[{"uriTemplate":"a://{x}","name":"x"}]}`,
		},
	}
}

// capture returns what a server offers.
func capture(t *testing.T, s *scripted) (baseline.Offer, Report) {
	t.Helper()
	target := &Target{Server: s.serve(t), Capture: true}
	r := Run(t.Context(), target, Checks())
	offer, _ := target.Captured()
	return offer, r
}

// compared returns the rows of the stage baseline: "ID STATUS MESSAGE".
func compared(t *testing.T, s *scripted, b Baseline, rows Selection) []string {
	t.Helper()
	b.Name = "b.json"
	r := Run(t.Context(), &Target{Server: s.serve(t), Baseline: &b, Rows: rows}, Checks())
	var out []string
	for _, res := range r.Results {
		if res.Stage() == "baseline" {
			out = append(out, fmt.Sprintf("%s %s %s", strings.TrimPrefix(res.ID, "baseline."), res.Status, res.Message))
		}
	}
	return out
}

// TestBaseline shows which rows a comparison makes: a description that was changed behind everybody's back, what is gone, and a
// capability that is not announced any more.
func TestBaseline(t *testing.T) {
	offer, r := capture(t, everything())
	if offer == nil || byID(r)["baseline.complete"].Message != "1 tool, 1 prompt, 1 resource, 1 resource template" {
		t.Fatalf("%v\n%s", offer, statuses(r))
	}
	b := Baseline{Offer: offer, FailOn: baseline.Breaking}
	for _, tt := range []struct {
		name   string
		change func(*scripted)
		want   []string
	}{
		{"nothing", func(*scripted) {}, []string{"unchanged pass 1 tool, 1 prompt, 1 resource, 1 resource template, as in b.json"}},
		{
			"a rug pull",
			func(s *scripted) {
				s.results["tools/list"] = strings.Replace(s.results["tools/list"], "Read a file.", "Read a file.\u200b", 1)
				s.results["tools/list"] = strings.Replace(s.results["tools/list"], "true", "false", 1)
			},
			[]string{"tool.read warn risky: readOnlyHint changed from true to false; description changed, with characters that cannot be seen: U+200B"},
		},
		{
			"a required argument",
			func(s *scripted) {
				s.results["tools/list"] = strings.Replace(s.results["tools/list"], `["path"]`, `["path","mode"]`, 1)
			},
			[]string{"tool.read fail breaking: required argument mode added"},
		},
		{
			"another tool",
			func(s *scripted) {
				s.results["tools/list"] = `{"tools":[{"name":"rm-","inputSchema":{"type":"object"}}]}`
			},
			[]string{"tool.read fail breaking: the tool read was removed", "tool.rm pass benign: the tool rm- was added"},
		},
		{
			"prompts are announced no more",
			func(s *scripted) {
				s.capabilities = `{"tools":{},"resources":{}}`
				delete(s.results, "prompts/list")
			},
			[]string{"prompts fail breaking: the server offers no prompts any more; 1 prompt before: greet"},
		},
		{
			"an empty list is another thing",
			func(s *scripted) { s.results["prompts/list"] = `{"prompts":[]}` },
			[]string{"prompt.greet fail breaking: the prompt greet was removed"},
		},
		{
			"no templates",
			func(s *scripted) { delete(s.results, "resources/templates/list") },
			[]string{"resource_templates fail breaking: the server offers no resource templates any more; 1 resource template before: a://{x}"},
		},
		{
			"a list that is cut short",
			func(s *scripted) { s.results["resources/list"] = `{"resources":[],"nextCursor":"x"}` },
			[]string{`resources unknown not known: the list was cut short: resources/list: the server sent the cursor "x" twice`},
		},
		{
			"an answer without a list",
			func(s *scripted) { s.results["tools/list"] = `{}` },
			[]string{`tools unknown not known: the list was cut short: tools/list: the result has no "tools": {}`},
		},
		{
			"two of one name",
			func(s *scripted) { s.results["prompts/list"] = `{"prompts":[{"name":"greet"},{"name":"greet"}]}` },
			[]string{"prompts unknown not compared: two prompts are called greet"},
		},
		{
			"a tool that is a look-alike",
			func(s *scripted) {
				s.results["tools/list"] = strings.Replace(s.results["tools/list"], `{"tools":[`, `{"tools":[{"name":"read\u200b"},`, 1)
			},
			[]string{"tool.read-2 warn risky: the tool read<U+200B> was added, with characters that cannot be seen in its name: U+200B, and its name looks like read"},
		},
		{
			"tools are listed, and announced no more",
			func(s *scripted) { s.capabilities = `{"prompts":{},"resources":{}}` },
			[]string{"tools fail breaking: tools are not announced any more, though they are still listed: most clients show none"},
		},
		{
			"templates that cannot be listed today",
			func(s *scripted) {
				s.errors = map[string]string{"resources/templates/list": `{"code":-32603,"message":"db down"}`}
			},
			[]string{"resource_templates unknown not known: resources/templates/list: db down (code -32603)"},
		},
		{
			"an entry without a name hides no other",
			func(s *scripted) {
				s.results["tools/list"] = `{"tools":[{"name":5},{"name":"rm"},{"name":"rm"}]}`
			},
			[]string{
				"tools unknown not compared: tool 1 has no name, and 1 more",
				"tool.read fail breaking: the tool read was removed",
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := everything()
			tt.change(s)
			if got := compared(t, s, b, Selection{}); !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// TestBaselineRows shows that rows can be chosen by their IDs, and that one that was asked for says so when nothing changed.
func TestBaselineRows(t *testing.T) {
	offer, _ := capture(t, everything())
	b := Baseline{Offer: offer, FailOn: baseline.Benign}
	s := everything()
	s.results["tools/list"] = strings.Replace(s.results["tools/list"], "Read a file.", "Read any file.", 1)
	s.results["prompts/list"] = `{"prompts":[{"name":"greet","arguments":[{"name":"whom"}]}]}`
	for _, tt := range []struct {
		rows Selection
		want []string
	}{
		{Selection{}, []string{"tool.read fail risky: description changed", "prompt.greet fail benign: optional argument whom added"}},
		{Selection{Only: []string{"baseline.tool.read"}}, []string{"tool.read fail risky: description changed"}},
		{Selection{Only: []string{"baseline"}, Skip: []string{"baseline.tool.read"}}, []string{"prompt.greet fail benign: optional argument whom added"}},
		{Selection{Only: []string{"baseline.resource.a-b-c"}}, []string{"resource.a-b-c pass as in b.json"}},
		{Selection{Skip: []string{"baseline.tool.read", "baseline.prompt.greet"}}, []string{"unchanged pass nothing else differs from b.json"}},
	} {
		if got := compared(t, s, b, tt.rows); !slices.Equal(got, tt.want) {
			t.Errorf("%+v\ngot  %q\nwant %q", tt.rows, got, tt.want)
		}
	}
	checks := WithRows(Checks(), nil, []Baseline{b})
	if _, unmatched := Select(checks, []string{"baseline.resource_template.a-x", "baseline.tool.gone"}, nil); !slices.Equal(unmatched, []string{"baseline.tool.gone"}) {
		t.Errorf("unmatched %q", unmatched)
	}
}

// TestCaptureWantsTheWhole shows that nothing is kept of a list that is not whole, and that secrets are not kept.
func TestCaptureWantsTheWhole(t *testing.T) {
	for name, change := range map[string]func(*scripted){
		"no templates today": func(s *scripted) {
			s.errors = map[string]string{"resources/templates/list": `{"code":-32603,"message":"db down"}`}
		},
		"a problem":   func(s *scripted) { s.results["tools/list"] = `{"tools":[],"nextCursor":7}` },
		"cut short":   func(s *scripted) { s.results["resources/list"] = `{"resources":[],"nextCursor":"x"}` },
		"no name":     func(s *scripted) { s.results["tools/list"] = `{"tools":[{"inputSchema":{"type":"object"}}]}` },
		"not offered": func(s *scripted) { delete(s.results, "tools/list"); s.results["tools/list"] = `[]` },
	} {
		s := everything()
		change(s)
		if offer, r := capture(t, s); offer != nil {
			t.Errorf("%s: kept %v\n%s", name, offer, statuses(r))
		}
	}
	s := everything() // what is not announced is not offered
	s.capabilities = `{"prompts":{},"resources":{}}`
	if offer, r := capture(t, s); offer[baseline.Tools] != nil || !strings.HasSuffix(byID(r)["baseline.complete"].Message, "; tools are listed, and not announced, and so they are left out") {
		t.Errorf("kept %v\n%s", offer, statuses(r))
	}
	target := &Target{Server: everything().serve(t), Capture: true, Mask: func(text string) string { return strings.ReplaceAll(text, "file", "***") }}
	Run(t.Context(), target, Checks())
	offer, _ := target.Captured()
	if text := string((&baseline.File{One: offer}).Encode()); !strings.Contains(text, `"Read a ***."`) || !strings.Contains(text, `"maxLength": 100.0`) {
		t.Error(text)
	}
}
