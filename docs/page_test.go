//go:build linux

package docs_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// A page is a Markdown file whose blocks of code are run. CONTRIBUTING.md tells its form.
type page struct {
	path  string
	lines []string
	items []item // in their order
}

// item is a block of code with the directives that belong to it, or a directive by itself.
type item struct {
	line    int    // of the file, from 1: of the fence, or of the directive
	verb    string // of a directive by itself, else ""
	rest    string
	body    []string // lines of a directive after its first
	block   bool
	lang    string
	text    []string // lines of a block
	options []item   // directives of a block
}

// option returns the rest of a directive of a block.
func (i item) option(verb string) (string, bool) {
	for _, o := range i.options {
		if o.verb == verb {
			return o.rest, true
		}
	}
	return "", false
}

// ofBlocks are the directives that belong to the block that follows. The others stand by themselves.
var ofBlocks = []string{"exits", "answer", "person", "not run", "varies", "columns", "example", "with"}

// byThemselves are the others. "file" is either: with lines of its own it stands by itself.
var byThemselves = []string{"serve", "stop", "program", "env", "run", "fresh", "file"}

var fenceLine = regexp.MustCompile("^```(.*)$")

// readPage takes a page apart.
func readPage(path string) (*page, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	p := &page{path: path, lines: strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")}
	var waiting []item
	for i := 0; i < len(p.lines); i++ {
		line := p.lines[i]
		switch m := fenceLine.FindStringSubmatch(line); {
		case m != nil:
			block := item{line: i + 1, block: true, lang: m[1], options: waiting}
			waiting = nil
			for i++; ; i++ {
				if i == len(p.lines) {
					return nil, fmt.Errorf("%s:%d: the block has no end", path, block.line)
				}
				if p.lines[i] == "```" {
					break
				}
				block.text = append(block.text, p.lines[i])
			}
			p.items = append(p.items, block)
		case strings.HasPrefix(line, "<!-- docs: "):
			d := item{line: i + 1}
			first, end := strings.CutSuffix(strings.TrimPrefix(line, "<!-- docs: "), "-->")
			for ; !end; d.body = append(d.body, p.lines[i]) {
				if i++; i == len(p.lines) {
					return nil, fmt.Errorf("%s:%d: the directive has no end", path, d.line)
				}
				if end = p.lines[i] == "-->"; end {
					break
				}
			}
			first = strings.TrimSpace(first)
			for _, verb := range slices.Concat(ofBlocks, byThemselves) {
				if rest, ok := strings.CutPrefix(first, verb); ok && (rest == "" || strings.ContainsAny(rest[:1], " :")) {
					d.verb, d.rest = verb, strings.TrimSpace(strings.TrimPrefix(rest, ":"))
				}
			}
			switch {
			case d.verb == "":
				return nil, fmt.Errorf("%s:%d: no directive is %q", path, d.line, first)
			case d.verb == "file" && d.body == nil || slices.Contains(ofBlocks, d.verb):
				waiting = append(waiting, d)
			default:
				p.items = append(p.items, d)
			}
		case strings.TrimSpace(line) != "" && len(waiting) > 0:
			return nil, fmt.Errorf("%s:%d: no block follows the directive %q", path, waiting[0].line, waiting[0].verb)
		}
	}
	if len(waiting) > 0 {
		return nil, fmt.Errorf("%s:%d: no block follows the directive %q", path, waiting[0].line, waiting[0].verb)
	}
	return p, nil
}

// command is one command line of a block, and the lines that the page shows after it.
type command struct {
	line   int // of the file
	text   string
	shown  []string // as the page has it: with "$ "
	output []string
}

// commands splits a console block. A command goes on over lines that end with a backslash, and up to the end of a here
// document.
func (i item) commands() ([]command, error) {
	var list []command
	for n := 0; n < len(i.text); n++ {
		text, ok := strings.CutPrefix(i.text[n], "$ ")
		if !ok {
			if len(list) == 0 {
				return nil, fmt.Errorf("line %d: a console block begins with \"$ COMMAND\"", i.line+1+n)
			}
			last := &list[len(list)-1]
			last.output = append(last.output, i.text[n])
			continue
		}
		c := command{line: i.line + 1 + n, text: text, shown: []string{i.text[n]}}
		end := ""
		if m := regexp.MustCompile(`<<-?'?(\w+)'?`).FindStringSubmatch(text); m != nil {
			end = m[1]
		}
		for (end != "" || strings.HasSuffix(c.text, `\`)) && n+1 < len(i.text) {
			n++
			c.text += "\n" + i.text[n]
			c.shown = append(c.shown, i.text[n])
			if i.text[n] == end {
				end = ""
			}
		}
		list = append(list, c)
	}
	return list, nil
}
