package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpctl/mcpctl/internal/manpage"
)

// TestManualHasEveryCommand holds that each command and each topic has a page with the sections that people look for, and
// that each of its flags is explained there.
func TestManualHasEveryCommand(t *testing.T) {
	t.Parallel()
	_, root := newTestApp(t)
	pages := map[string]manpage.Page{}
	for _, p := range manualPages(root, "mcpctl 1.0.0", "2026-01-01") {
		if _, twice := pages[p.FileName()]; twice {
			t.Errorf("%s is there twice", p.FileName())
		}
		pages[p.FileName()] = p
	}
	walk(root, func(cmd *cobra.Command) {
		name := pageName(cmd) + ".1"
		p, ok := pages[name]
		switch {
		case cmd.HasParent() && (!cmd.IsAvailableCommand() || cmd.Name() == "help"):
			if ok {
				t.Errorf("%s: a page about what people should not use", name)
			}
			return
		case !ok:
			t.Errorf("no page %s", name)
			return
		}
		want := []string{"SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "EXAMPLES", "SEE ALSO"}
		if !cmd.HasParent() {
			want = append(want, "COMMANDS", "ENVIRONMENT", "FILES")
		}
		for _, title := range want {
			if !slices.ContainsFunc(p.Parts, func(part manpage.Part) bool { return part.Title == title }) {
				t.Errorf("%s: no section %s", name, title)
			}
		}
		cmd.Flags().AddFlagSet(cmd.InheritedFlags())
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			term := regexp.MustCompile(`^(-\w, )?--` + f.Name + `\b`)
			explained := slices.ContainsFunc(p.Parts, func(part manpage.Part) bool {
				return slices.ContainsFunc(part.Items, func(i manpage.Item) bool { return term.MatchString(i.Term) && len(i.Text) > 5 })
			})
			if !explained && !f.Hidden && f.Name != "help" {
				t.Errorf("%s: --%s is not explained", name, f.Name)
			}
		})
	})
	for _, topic := range topicNames() {
		if p, ok := pages["mcpctl-"+topic+".7"]; !ok && topic != "config" || ok && p.Parts[0].Text == "" {
			t.Errorf("no page about %s", topic)
		}
	}
	if _, ok := pages["mcpctl-config.5"]; !ok {
		t.Error("no page about the file")
	}
	for name, p := range pages {
		for _, other := range regexp.MustCompile(`(mcpctl[a-z-]*)\((\d)\)`).FindAllStringSubmatch(p.Parts[len(p.Parts)-1].Text, -1) {
			if _, ok := pages[other[1]+"."+other[2]]; !ok {
				t.Errorf("%s: see also %s, which is not there", name, other[0])
			}
		}
	}
}

// TestManualFits holds that a page is not wider than a terminal, and that what formats it has nothing to complain about.
// What stands in the pages as it is, is measured here; the formatters look at the rest where they are installed.
func TestManualFits(t *testing.T) {
	t.Parallel()
	const columns = 80
	_, root := newTestApp(t)
	dir := t.TempDir()
	var files []string
	signs := strings.NewReplacer(`\e`, `\`, `\-`, "-", `\(aq`, "'", `\(dq`, `"`, `\(ga`, "`", `\(ha`, "^", `\(ti`, "~", `\&`, "")
	special := regexp.MustCompile(`\\\[u[0-9A-F]{4}\]`)
	for _, p := range manualPages(root, "mcpctl 1.0.0", "2026-01-01") {
		var b bytes.Buffer
		if _, err := p.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		files = append(files, filepath.Join(dir, p.FileName()))
		if err := os.WriteFile(files[len(files)-1], b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		at, shown := 7, false
		for line := range strings.Lines(b.String()) {
			line = strings.TrimSuffix(line, "\n")
			switch {
			case strings.HasPrefix(line, ".in"):
				at = 7
				if strings.HasPrefix(line, ".in ") {
					at = 2
				}
			case line == ".nf", line == ".fi":
				shown = line == ".nf"
			case strings.ContainsFunc(line, func(r rune) bool { return r > 126 }):
				t.Errorf("%s: not ASCII: %s", p.FileName(), line)
			case shown:
				if n := at + utf8.RuneCountInString(signs.Replace(special.ReplaceAllString(line, "x"))); n > columns {
					t.Errorf("%s: %d columns: %s", p.FileName(), n, line)
				}
			}
		}
	}
	for _, formatter := range [][]string{
		{"groff", "-man", "-Tutf8", "-ww", "-rLL=80n", "-P-cbou"},
		{"mandoc", "-T", "lint", "-W", "warning"},
	} {
		if _, err := exec.LookPath(formatter[0]); err != nil {
			t.Logf("%s is not installed", formatter[0])
			continue
		}
		var complaints bytes.Buffer
		cmd := exec.CommandContext(t.Context(), formatter[0], append(formatter[1:], files...)...)
		cmd.Stderr = &complaints
		out, err := cmd.Output()
		if formatter[0] == "mandoc" {
			complaints.Write(out)
		}
		if err != nil || complaints.Len() > 0 {
			t.Errorf("%s: %v\n%s", formatter[0], err, complaints.String())
		}
		for line := range strings.Lines(string(out)) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > columns && formatter[0] == "groff" {
				t.Errorf("%d columns: %s", n, line)
			}
		}
	}
}

// TestHelpIsNarrow holds that help on a narrow terminal says the same words, and that only lines to paste are wider than it.
func TestHelpIsNarrow(t *testing.T) {
	t.Parallel()
	const columns = 40
	a, root := newTestApp(t)
	call, _, err := root.Find([]string{"call"})
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{helpText(root), helpText(call)}
	for _, topic := range topics() {
		texts = append(texts, topic.text())
	}
	for _, text := range texts {
		narrow := narrowHelp(text, columns)
		words := func(s string) []string {
			return slices.DeleteFunc(strings.Fields(s), func(w string) bool { return w == "key" || w == "meaning" })
		}
		if !slices.Equal(words(narrow), words(text)) {
			t.Errorf("the words differ:\n%s", narrow)
		}
		for line := range strings.Lines(narrow) {
			line = strings.TrimRight(line, "\n")
			if utf8.RuneCountInString(line) > columns && !strings.HasPrefix(line, "  ") {
				t.Errorf("%d columns: %s", utf8.RuneCountInString(line), line)
			}
		}
	}
	var out bytes.Buffer
	a.io.Out = &out
	for _, tt := range []struct {
		columns int
		tty     bool
		narrow  bool
	}{{columns, true, true}, {columns, false, false}, {100, true, false}} {
		out.Reset()
		a.io.SetTTY(false, tt.tty, false)
		a.io.SetWidth(tt.columns)
		if err := a.writeHelp(topicExitCodes); err != nil {
			t.Fatal(err)
		}
		if narrow := out.String() != topicExitCodes; narrow != tt.narrow {
			t.Errorf("%d columns, a terminal %t: narrow %t", tt.columns, tt.tty, narrow)
		}
	}
}
