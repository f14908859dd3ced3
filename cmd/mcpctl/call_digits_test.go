package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpctl/mcpctl/internal/toolargs"
)

var argsSeed = flag.Uint64("seed", 0, "repeat a test of random arguments with the seed that it told")

// meantCall is a tool with a random schema, and an object that is valid for it.
type meantCall struct {
	tool, schema, object string
}

// randomCalls returns tools with random schemas. What is meant is written here as JSON text, and never as numbers.
func randomCalls(r *rand.Rand, n int) []meantCall {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	digits := func(most int) string {
		text := pick("1", "9", "4")
		for range r.IntN(most) {
			text += pick("0", "1", "5", "9")
		}
		return text
	}
	number := func() string {
		return pick("", "-") + pick("0", "0.0", "1e400", "0.1000", "1E-7", "9007199254740993", "100000000000000000000", "1.50e+3",
			digits(40), digits(3)+"."+digits(30), digits(2)+"e"+digits(2))
	}
	integer := func() string { return pick("", "-") + pick("0", "7", "9007199254740993", digits(40), "1e3", "2.0") }
	text := func() string {
		return pick(`""`, `"hi"`, `" "`, `"-1"`, `"a=b"`, `"@file"`, `"@@"`, `"7"`, `"1e400"`, `"null"`, `"two\nlines\n"`, `"tab\t\"quoted\" it's \\ back"`,
			`"<&>"`, `"\u2028 é 日本 😀"`, `"{\"a\":1}"`, `"[1]"`, `"--timeout=1"`, `"\u0000\u001b[31m"`, `"\ud83d\ude00"`)
	}
	boolean := func() string { return pick("true", "false") }
	var value func(depth int) (schema string, produce func() string)
	value = func(depth int) (string, func() string) {
		kinds := 8
		if depth > 0 {
			kinds = 11
		}
		switch r.IntN(kinds) {
		case 0:
			return `{"type":"string"}`, text
		case 1:
			return `{"type":"number"}`, number
		case 2:
			return `{"type":"integer"}`, integer
		case 3:
			return `{"type":"boolean"}`, boolean
		case 4:
			return `{"type":["number","null"]}`, func() string { return pick("null", number()) }
		case 5:
			return `{"anyOf":[{"type":"string"},{"type":"integer"}]}`, func() string { return pick(text(), integer()) }
		case 6:
			return `{"enum":["x",1,null,9007199254740993]}`, func() string { return pick(`"x"`, "1", "null", "9007199254740993") }
		case 7:
			return `{}`, func() string { return pick(text(), number(), boolean(), "null", `[1e400,{"a":-0.0}]`, `{"b":[0.10]}`) }
		case 8, 9:
			items, produce := value(depth - 1)
			return `{"type":"array","items":` + items + `}`, func() string {
				var list []string
				for range r.IntN(4) {
					list = append(list, produce())
				}
				return "[" + strings.Join(list, ",") + "]"
			}
		}
		a, makeA := value(depth - 1)
		b, makeB := value(depth - 1)
		return `{"type":"object","properties":{"a":` + a + `,"x.y":` + b + `}}`, func() string {
			return pick("{}", `{"a":`+makeA()+`}`, `{"a":`+makeA()+`,"x.y":`+makeB()+`}`)
		}
	}
	names := []string{"a", "city", "max_items", "filter", "a.b", "list[]", "k:v", "a=b", "a b", "é", "__proto__", "--flag", "-x", "", "timeout", "{z}"}
	calls := make([]meantCall, n)
	for i := range calls {
		var properties, members []string
		for _, at := range r.Perm(len(names))[:1+r.IntN(6)] {
			name, _ := json.Marshal(names[at])
			schema, produce := value(2)
			properties = append(properties, string(name)+":"+schema)
			if r.IntN(4) > 0 {
				members = append(members, string(name)+":"+produce())
			}
		}
		calls[i] = meantCall{
			tool:   fmt.Sprintf("t%d", i),
			schema: `{"type":"object","properties":{` + strings.Join(properties, ",") + `}}`,
			object: "{" + strings.Join(members, ",") + "}",
		}
	}
	return calls
}

// forms returns the ways to write what is meant on a command line.
func (c meantCall) forms(t *testing.T) map[string][]string {
	t.Helper()
	words, whole := toolargs.Complete(toolargs.Input{Schema: json.RawMessage(c.schema)}, json.RawMessage(c.object))
	texts := []string{c.tool, "--"} // some names begin with a dash
	for _, w := range words {
		texts = append(texts, w.Text)
	}
	if whole {
		t.Errorf("no words for %s of %s", c.object, c.schema)
	}
	return map[string][]string{
		"key=value": texts,
		"--args":    {c.tool, "--args", c.object},
		"whole":     {c.tool, c.object},
	}
}

// exactly decodes JSON with the digits of its numbers.
func exactly(t *testing.T, text string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// arrived runs a call, and fails the test unless the server received what was meant, digit for digit, and what it sent back
// came out again.
func (c meantCall) arrived(t *testing.T, how string, target, words []string) {
	t.Helper()
	want := exactly(t, c.object)
	args := append([]string{"call", "-o", "json"}, target...)
	code, out, errOut := runHere(t.Context(), t, "", append(args, words...)...)
	var doc struct {
		Result struct {
			Content           []struct{ Text string }
			StructuredContent struct{ Received json.RawMessage }
		}
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != codeOK || len(doc.Result.Content) != 1 {
		t.Errorf("%s: %q: exit code %d\n%s%s\nschema %s", how, words, code, out, errOut, c.schema)
		return
	}
	if got := exactly(t, doc.Result.Content[0].Text); !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %q: received %s\nwant %s\nschema %s", how, words, doc.Result.Content[0].Text, c.object, c.schema)
	}
	if got := exactly(t, string(doc.Result.StructuredContent.Received)); !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %q: came back %s\nwant %s", how, words, doc.Result.StructuredContent.Received, c.object)
	}
}

func randomSource(t *testing.T) *rand.Rand {
	t.Helper()
	seed := *argsSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("repeat with -seed %d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

func schemasOf(calls []meantCall) []byte {
	var b bytes.Buffer
	for i, c := range calls {
		fmt.Fprintf(&b, "%s%q:%s", map[bool]string{true: "{", false: ","}[i == 0], c.tool, c.schema)
	}
	return append(b.Bytes(), '}')
}

func TestWhatIsMeantArrivesOverHTTP(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) }) // after the servers are closed
	// A few tools for each server: every call lists all of them.
	for calls := range slices.Chunk(randomCalls(randomSource(t), 60), 6) {
		server, err := newArgsServer(schemasOf(calls), "")
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewServer(argsHandler(server))
		t.Cleanup(s.Close)
		for _, c := range calls {
			for how, words := range c.forms(t) {
				c.arrived(t, how, []string{s.URL}, words)
			}
		}
	}
}

func TestWhatIsMeantArrivesOverStdio(t *testing.T) {
	t.Parallel()
	calls := randomCalls(randomSource(t), 6)
	file := filepath.Join(t.TempDir(), "tools.json")
	if err := os.WriteFile(file, schemasOf(calls), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range calls {
		for how, words := range c.forms(t) {
			c.arrived(t, how, []string{"--stdio", "argsserver " + file}, words)
		}
		// As text it is what the server sent, byte for byte.
		code, out, _ := runHere(t.Context(), t, "", "call", "--stdio", "argsserver "+file, c.tool, c.object)
		if code != codeOK || !reflect.DeepEqual(exactly(t, out), exactly(t, c.object)) {
			t.Errorf("exit code %d: %s, want %s", code, out, c.object)
		}
	}
}

// TestARemoteReferenceIsNeverFetched calls a tool whose schema points to a server that counts who comes.
func TestARemoteReferenceIsNeverFetched(t *testing.T) {
	t.Parallel()
	var seen []string
	far := httptest.NewServer(nil)
	far.Config.Handler = recordTo(&seen)
	defer far.Close()
	schema := strings.ReplaceAll(`{"type":"object","$schema":"FAR/meta","properties":{"a":{"$ref":"FAR/a.json#/x"},"b":{"$id":"FAR/b","$ref":"c"},
		"d":{"anyOf":[{"$ref":"FAR/d"},{"type":"integer"}]},"e":{"$dynamicRef":"FAR/e"}},"required":["a"],"allOf":[{"$ref":"FAR/all"}]}`, "FAR", far.URL)
	server, err := newArgsServer([]byte(`{"t":`+schema+`}`), "")
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(argsHandler(server))
	defer s.Close()
	for code, lines := range map[int][][]string{
		codeOK: {
			{"call", s.URL, "t", "a=1", "b=x", "d=2", "e=3", "more=4"},
			{"call", s.URL, "t", "a:=null", "--dry-run"},
			{"tools", s.URL, "t"},
			{"tools", s.URL},
			{"tools", s.URL, "t", "-o", "json"},
		},
		codeUsage: {{"call", s.URL, "t"}},
	} {
		for _, args := range lines {
			if got, out, errOut := runHere(t.Context(), t, "", args...); got != code {
				t.Errorf("%q: exit code %d, want %d\n%s%s", args, got, code, out, errOut)
			}
		}
	}
	if len(seen) > 0 {
		t.Errorf("it was asked for %q", seen)
	}
}

// recordTo writes down what is asked for.
func recordTo(seen *[]string) http.Handler {
	var mu sync.Mutex
	return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		*seen = append(*seen, r.Method+" "+r.URL.Path)
	})
}
