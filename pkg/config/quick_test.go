package config

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// sameAsYAML compares the tree of the quick reader, where it has one, with that of yaml.v3 without the comments.
func sameAsYAML(t *testing.T, data []byte) (quick bool) {
	t.Helper()
	if checkText("f", bytes.TrimPrefix(data, []byte(byteOrderMark))) != nil {
		return false // nobody reads it
	}
	got, ok := quickTree(data)
	if !ok {
		return false
	}
	want, err := parseTree("f", data)
	if err != nil {
		t.Fatalf("%q: read quickly, and yaml.v3 says %v", data, err)
	}
	if where := difference(got, want, "root"); where != "" {
		t.Fatalf("%q: %s", data, where)
	}
	return true
}

// difference tells where two trees differ, comments apart.
func difference(a, b *yaml.Node, where string) string {
	if b == nil {
		return where + ": nothing is wanted"
	}
	if a.Kind != b.Kind || a.Tag != b.Tag || a.Value != b.Value || a.Style != b.Style || a.Line != b.Line || a.Column != b.Column || len(a.Content) != len(b.Content) {
		return fmt.Sprintf("%s: %+v, want %+v", where, *a, *b)
	}
	for i := range a.Content {
		if d := difference(a.Content[i], b.Content[i], fmt.Sprintf("%s[%d]", where, i)); d != "" {
			return d
		}
	}
	return ""
}

// quickSeeds are files that are read quickly, and some that nearly are.
func quickSeeds() []string {
	return []string{
		"version: 1\nservers:\n  a:\n    url: https://a.example/mcp # here\n    headers:\n      Authorization: Bearer ${TOKEN}\n",
		"servers:\n  a:\n    command: npx\n    args: [-y, \"@x/y\", 'z', /a=b, 8080, true]\n    env:\n      A: \"\"\n      B: 'x # y'\n    enabled: false\n",
		"servers:\n  a:\n    command: x\n    args:\n    - one\n    - -two\n    - \"three: four\"\n  b:\n    command: y\n    args:\n      - 1.5\n      - 2025-11-25\n      - ~x\n",
		"# head\n\nversion: 1   \n\n  # odd\nservers:\n    ü: \n      url: http://h/ä\n",
		"a: b\n c\n", "a: b: c\n", "a:\n", "a: [b,]\n", "a: [b, [c]]\n", "a: {b: c}\n", "a: 'it''s'\n", "a: \"\\n\"\n", "a: &x b\nc: *x\n",
		"a: |\n  b\n", "- a\n- b\n", "a: b # c: d\n", "a: b#c\n", "a : b\n", "a:b\n", "<<: x\n", "a: []\n", "a: [ ]\n", "a: [b c, d ]\n",
		"a: ä: b\n", "a: [a:b, a:, :b]\n", "a: -\n", "a: - b\n", "a: b\n---\nc: d\n", "---\na: b\n", "a: b\n...\n", "a:\n- b\n -c\n", "a:\n  b: c\n d: e\n",
		"a: \"b\" c\n", "a: 'b'#c\n", "a: [b] # c\n", "a: [b]c\n", "null: ~\n", "a: 0x1F\nb: 0o7\nc: 1_000\nd: .5\ne: 1e3\nf: yes\ng: <<\n", "a: (b)\nc: +1\n", "a: b\uffff\n# \ufffe\n",
	}
}

func FuzzQuickTree(f *testing.F) {
	for _, s := range quickSeeds() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) { sameAsYAML(t, data) })
}

// manyServers is a file with so many entries, of the kinds that there are.
func manyServers(n int) []byte {
	var b strings.Builder
	b.WriteString("version: 1\ndefaults:\n  connect_timeout: 10s\nservers:\n")
	for i := range n {
		switch i % 3 {
		case 0:
			fmt.Fprintf(&b, "  s%05d:\n    command: npx\n    args: [-y, \"@example/server-%d\", /srv/data]\n    env:\n      TOKEN: ${TOKEN_%d}\n", i, i, i)
		case 1:
			fmt.Fprintf(&b, "  # the one of team %d\n  s%05d:\n    url: https://host%d.example.com/mcp\n    headers:\n      Authorization: Bearer ${TOKEN}\n", i, i, i)
		case 2:
			fmt.Fprintf(&b, "  s%05d:\n    url: \"https://host%d.example.com/mcp\"\n    connect_timeout: 5s\n    tools:\n      include:\n        - read\n        - \"list_*\"\n    enabled: false\n", i, i)
		}
	}
	return []byte(b.String())
}

// TestTheQuickReaderReadsWhatYAMLDoes compares both on the files of this package's tests, and on one with a mistake in every
// tenth entry: also the errors are the same.
func TestTheQuickReaderReadsWhatYAMLDoes(t *testing.T) {
	t.Parallel()
	if !sameAsYAML(t, manyServers(30)) {
		t.Error("a plain file is not read quickly")
	}
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	texts := [][]byte{[]byte(strings.ReplaceAll(string(manyServers(100)), "0:\n    command", "0:\n    comand"))}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, data)
	}
	for _, data := range texts {
		sameAsYAML(t, data)
		tree, syntaxErr := parseTree("f.yaml", data)
		if syntaxErr != nil {
			continue
		}
		if format, err := recognise("f.yaml", tree, languageYAML); format != nil || err != nil {
			continue
		}
		want, wantErr := read("f.yaml", tree)
		got, gotErr := Parse("f.yaml", data)
		if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(gotErr, wantErr) { //nolint:govet // errors are to be the same, too
			t.Errorf("%.200s: %v, %v, want %v, %v", data, got, gotErr, want, wantErr)
		}
	}
}

// TestReadingGrowsWithTheFileOnly shows that ten times the entries take ten times the memory, and how little of it.
func TestReadingGrowsWithTheFileOnly(t *testing.T) { //nolint:paralleltest // it counts allocations
	per := func(n int) float64 {
		data := manyServers(n)
		return testing.AllocsPerRun(3, func() {
			if c, err := Parse("f.yaml", data); err != nil || len(c.Servers) != n {
				t.Fatal(err)
			}
		}) / float64(n)
	}
	few, many := per(100), per(1000)
	const most = 50 // it takes 42
	if many > few*1.05 || many > most {
		t.Errorf("an entry takes %.1f allocations among 100, and %.1f among 1000; want at most %d", few, many, most)
	}
	t.Logf("%.1f allocations an entry", many)
}

// BenchmarkParse reads a file with 10,000 entries.
func BenchmarkParse(b *testing.B) {
	data := manyServers(10_000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse("f.yaml", data); err != nil {
			b.Fatal(err)
		}
	}
}

// TestReplacingTogetherIsReplacingOneByOne: the text is the same, with all comments that stay.
func TestReplacingTogetherIsReplacingOneByOne(t *testing.T) {
	t.Parallel()
	texts := []string{
		string(manyServers(12)),
		"# top\nversion: 1\n\nservers:\n\n    # of a\n    s00000: # here\n        command: x # why\n        # below\n\n    s00001:\n        url: http://h/ # old\n        timeout: 3s\n\n    # of the last\n    s00002:\n        url: http://i/\n\n# end\n",
		"version: 1\ndefaults: &d {timeout: 4s}\nservers:\n  s00000: {command: x}\n  s00001: {url: http://h/}\n  s00002:\n    url: http://i/\n",
		"version: 1\ndefaults:\n  timeout: 4s\nservers:\n  s00000:\n    command: x\n  s00001:\n    url: http://h/\n  s00002:\n    bad: 1\n",
	}
	for n, text := range texts {
		var servers []Server
		for i := range 3 {
			s := Server{Name: fmt.Sprintf("s%05d", 2-i), URL: fmt.Sprintf("http://new/%d", i), Enabled: true, Transport: TransportAuto}
			if i == 1 {
				s.Headers = map[string]string{"X-A": "${B}"}
			}
			servers = append(servers, s)
		}
		one, err := newDocument("f.yaml", text)
		if err != nil {
			t.Fatal(n, err)
		}
		all, err := newDocument("f.yaml", text)
		if err != nil {
			t.Fatal(n, err)
		}
		for _, s := range servers {
			if err := one.Replace(s); err != nil {
				t.Fatal(n, err)
			}
		}
		if err := all.ReplaceAll(servers); err != nil {
			t.Fatal(n, err)
		}
		if all.text != one.text {
			t.Errorf("%d: together\n%s\none by one\n%s", n, all.text, one.text)
		}
	}
}
