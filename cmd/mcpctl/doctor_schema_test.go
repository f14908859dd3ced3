package main

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mcpctl/mcpctl/internal/faultlab"
)

// doctorSchema reads the schema that is shipped for the documents of doctor.
func doctorSchema(t *testing.T) (*jsonschema.Schema, *jsonschema.Resolved) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "doctor.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &schema, resolved
}

// TestDoctorSchemaFitsTheDocuments validates real documents of each kind, and shows that a key which the schema does not
// know is an error.
func TestDoctorSchemaFitsTheDocuments(t *testing.T) {
	t.Parallel()
	_, schema := doctorSchema(t)
	serve := func(name string) string {
		c, ok := faultlab.Find(name)
		if !ok {
			t.Fatalf("no case %q", name)
		}
		server, err := c.Serve(faultlab.HTTPOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = server.Close() })
		return server.URL
	}
	for _, c := range []struct {
		name    string
		code    int
		verdict string
		args    []string
		after   time.Duration
	}{
		{name: "pass", verdict: "pass", args: []string{"demo"}},
		{name: "drill", verdict: "pass", args: []string{"demo", "--kill-session=2"}},
		{name: "warn", verdict: "warn", args: []string{serve("tools-bad-entry")}},
		{name: "strict", code: codeFailed, verdict: "fail", args: []string{serve("tools-bad-entry"), "--strict"}},
		{name: "fail", code: codeFailed, verdict: "fail", args: []string{serve("http-html-200")}},
		{name: "refused", code: codeFailed, verdict: "fail", args: []string{"http://127.0.0.1:1/mcp"}},
		{name: "timeout", code: codeFailed, verdict: "fail", args: []string{serve("list-never"), "--timeout", "1s"}},
		{name: "lost", code: codeFailed, verdict: "fail", args: []string{serve("session-404-restart"), "--kill-session"}},
		{name: "process", code: codeFailed, verdict: "fail", args: []string{"--stdio", "sh -c 'echo no; exit 3'"}},
		{name: "interrupted", code: codeInterrupted, verdict: "unknown", args: []string{"--stdio", "sleep 30"}, after: time.Second},
		{name: "usage", code: codeUsage, args: []string{"no-such-server"}},
		{name: "flag", code: codeUsage, args: []string{"demo", "--no-such-flag"}},
		{name: "config", code: codeUsage, args: []string{"--config", "-"}},
		{name: "unset", code: codeFailed, verdict: "fail", args: []string{"http://127.0.0.1:1/mcp", "-H", "X: ${NO_SUCH_VARIABLE_HERE}"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.after > 0 {
				timer := time.AfterFunc(c.after, cancel)
				defer timer.Stop()
			}
			code, out, errOut := runHere(ctx, t, "servers: [", append([]string{"doctor", "-o", "json"}, c.args...)...)
			var doc map[string]any
			if err := json.Unmarshal([]byte(out), &doc); err != nil || code != c.code {
				t.Fatalf("exit code %d, want %d; %v\n%s%s", code, c.code, err, out, errOut)
			}
			if err := schema.Validate(doc); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			servers, _ := doc["servers"].([]any)
			if c.verdict == "" {
				if doc["error"] == nil || servers != nil {
					t.Errorf("not the document of a failure:\n%s", out)
				}
				return
			}
			server, _ := servers[0].(map[string]any)
			if server["verdict"] != c.verdict || (doc["error"] != nil) != (c.code == codeInterrupted) {
				t.Errorf("the verdict is %v, want %s:\n%s", server["verdict"], c.verdict, out)
			}
			// A key more, at each level, is one too many; what is in data is free.
			checks, _ := server["checks"].([]any)
			check, _ := checks[0].(map[string]any)
			check["data"] = map[string]any{"whatever": 1}
			if err := schema.Validate(doc); err != nil {
				t.Errorf("data is not free: %v", err)
			}
			levels := []map[string]any{doc, server, check}
			for _, key := range []string{"summary", "error"} {
				if level, ok := doc[key].(map[string]any); ok {
					levels = append(levels, level)
				}
			}
			for _, level := range levels {
				kept := maps.Clone(level)
				level["surplus"] = true
				if schema.Validate(doc) == nil {
					t.Errorf("a key is allowed beside %v", kept)
				}
				delete(level, "surplus")
			}
		})
	}
}

// TestDoctorSchemaDescribesEveryKey keeps the schema readable.
func TestDoctorSchemaDescribesEveryKey(t *testing.T) {
	t.Parallel()
	schema, _ := doctorSchema(t)
	var walk func(path string, s *jsonschema.Schema)
	walk = func(path string, s *jsonschema.Schema) {
		for name, p := range s.Properties {
			described := p
			if def, ok := strings.CutPrefix(p.Ref, "#/$defs/"); ok && p.Description == "" {
				described = schema.Defs[def]
			}
			if described.Description == "" {
				t.Errorf("%s.%s has no description", path, name)
			}
			walk(path+"."+name, p)
		}
		for name, d := range s.Defs {
			walk(name, d)
		}
	}
	walk("", schema)
}
