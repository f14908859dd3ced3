// Package manpage writes pages of a manual in the language of man(7). It knows the shape of the program's help, so that a
// text is written once: what a person reads with `mcpctl help` is what man shows. What the pages say is not its business.
package manpage

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Page is one page of the manual.
type Page struct {
	// Name is the name under which man finds it.
	Name string
	// Section is the section of the manual: 1 for commands, 5 for files, 7 for topics.
	Section int
	// Short says in one line what the page is about.
	Short string
	// Date is the day of what is described, as 2006-01-02, and Source the program with its version.
	Date, Source string
	Parts        []Part
}

// FileName is the name of the file of the page.
func (p Page) FileName() string { return fmt.Sprintf("%s.%d", p.Name, p.Section) }

// Part is one part of a page: a section, or with Sub what lies below the last one.
type Part struct {
	Title string
	Sub   bool
	// Text is written as help is: paragraphs begin at the margin, with empty lines between them. What is indented is a
	// list, if each of its lines begins with a term and two spaces or goes on with the one before, and else is shown as it
	// stands.
	Text string
	// Items come after the text.
	Items []Item
}

// Item is a term and what it means.
type Item struct {
	Term string
	Text string
}

// The columns of man: the text of a section begins at textIndent; what is shown as it stands begins there, too, unless
// it is so wide that it has to begin at wideIndent, as it does in the help.
const (
	width      = 80
	textIndent = 7
	wideIndent = 2
)

// WriteTo writes the page.
func (p Page) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s %d \"%s\" %s \"mcpctl manual\"\n", quote(strings.ToUpper(p.Name)), p.Section, p.Date, quote(p.Source))
	b.WriteString(".nh\n.ad l\n") // words of the command line are not taken apart
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", escape(p.Name), escape(p.Short))
	for _, part := range p.Parts {
		macro := ".SH"
		if part.Sub {
			macro = ".SS"
		}
		fmt.Fprintf(&b, "%s %s\n", macro, quote(part.Title))
		first := true
		for _, block := range Blocks(part.Text) {
			block.write(&b, first)
			first = false
		}
		for _, item := range part.Items {
			item.write(&b)
		}
	}
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}

func (i Item) write(b *strings.Builder) {
	fmt.Fprintf(b, ".TP\n\\fB%s\\fP\n%s", escape(i.Term), filled(i.Text))
}

// Block is a part of a text in the shape of the help: a paragraph, a list, or lines that are shown as they stand. One of the
// three is set.
type Block struct {
	Text  string
	Items []Item
	Lines []string
}

func (k Block) write(b *strings.Builder, first bool) {
	switch {
	case k.Items != nil:
		for _, item := range k.Items {
			item.write(b)
		}
	case k.Lines != nil:
		widest := 0
		for _, l := range k.Lines {
			widest = max(widest, utf8.RuneCountInString(l))
		}
		if !first {
			b.WriteString(".PP\n")
		}
		wide := textIndent+widest > width-2 // man leaves two columns free
		if wide {
			fmt.Fprintf(b, ".in %dn\n", wideIndent)
		}
		b.WriteString(".nf\n")
		for _, l := range k.Lines {
			b.WriteString(line(l) + "\n")
		}
		b.WriteString(".fi\n")
		if wide {
			b.WriteString(".in\n")
		}
	default:
		if !first {
			b.WriteString(".PP\n")
		}
		b.WriteString(filled(k.Text))
	}
}

// heading is what stands above the second column of a list that has a line for that; a manual needs none.
const heading = "meaning"

// listLine is a line of a list: the term, two spaces or more, and what it means.
func listLine() *regexp.Regexp { return regexp.MustCompile(`^( +)(\S+(?: \S+)*?)  +([^\s#].*)$`) }

// Blocks takes a text apart.
func Blocks(text string) []Block {
	var all []Block
	var margin, indented []string
	flush := func() {
		if len(margin) > 0 {
			all = append(all, Block{Text: strings.Join(margin, " ")})
		}
		if len(indented) > 0 {
			all = append(all, indentedBlock(indented))
		}
		margin, indented = nil, nil
	}
	for l := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		l = strings.TrimRight(l, " ")
		switch {
		case l == "":
			flush()
		case strings.HasPrefix(l, " "):
			if len(margin) > 0 {
				flush()
			}
			indented = append(indented, l)
		default:
			if len(indented) > 0 {
				flush()
			}
			margin = append(margin, l)
		}
	}
	flush()
	return all
}

// indentedBlock says what indented lines are.
func indentedBlock(lines []string) Block {
	if items := list(lines); items != nil {
		return Block{Items: items}
	}
	least := width
	for _, l := range lines {
		least = min(least, indent(l))
	}
	shown := make([]string, len(lines))
	for i, l := range lines {
		shown[i] = l[least:]
	}
	return Block{Lines: shown}
}

// list returns the items of lines that are a list, nil for others. A term that is long has its line for itself; what goes
// on is indented by four columns at least. Three columns are a table, which is shown as it stands.
func list(lines []string) []Item {
	var items []Item
	terms, pattern := termIndents(lines), listLine()
	for _, l := range lines {
		at := indent(l)
		match := pattern.FindStringSubmatch(l)
		switch {
		case match != nil && terms[at]:
			if strings.Contains(strings.TrimSpace(match[3]), "  ") {
				return nil
			}
			items = append(items, Item{match[2], match[3]})
		case terms[at]:
			items = append(items, Item{Term: strings.TrimSpace(l)})
		case len(items) > 0 && at >= indent(lines[0])+4:
			last := &items[len(items)-1]
			last.Text = strings.TrimSpace(last.Text + " " + strings.TrimSpace(l))
		default:
			return nil
		}
	}
	for _, item := range items {
		if item.Text == "" {
			return nil
		}
	}
	if len(items) > 1 && items[0].Text == heading {
		return items[1:]
	}
	return items
}

// termIndents are the columns in which terms begin: that of the first line, and for flags both that they have.
func termIndents(lines []string) map[int]bool {
	terms := map[int]bool{indent(lines[0]): true}
	for _, l := range lines {
		if strings.HasPrefix(strings.TrimSpace(l), "-") && indent(l) <= 6 {
			terms[indent(l)] = true
		}
	}
	return terms
}

func indent(l string) int { return len(l) - len(strings.TrimLeft(l, " ")) }

// filled returns running text as lines of a bearable length: each sentence begins a new one, as editors of manuals have it.
func filled(text string) string {
	var b strings.Builder
	column := 0
	for word := range strings.FieldsSeq(text) {
		written := escape(word)
		switch {
		case column == 0:
			written = line(word)
		case column+1+len(written) > width-2:
			b.WriteByte('\n')
			column, written = 0, line(word)
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(written)
		column += len(written)
		if strings.HasSuffix(word, ".") && len(word) > 2 {
			b.WriteByte('\n')
			column = 0
		}
	}
	if column > 0 {
		b.WriteByte('\n')
	}
	return b.String()
}

// line returns a line of text that is not taken for a request.
func line(s string) string {
	s = escape(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, `\(aq`) {
		return `\&` + s
	}
	return s
}

// quote returns an argument of a macro.
func quote(s string) string { return `"` + escape(s) + `"` }

// escape returns text in ASCII whose signs are what people copy: a hyphen that is a minus, straight quotes.
func escape(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`)
		case r == '\'':
			b.WriteString(`\(aq`)
		case r == '"':
			b.WriteString(`\(dq`)
		case r == '`':
			b.WriteString(`\(ga`)
		case r == '^':
			b.WriteString(`\(ha`)
		case r == '~':
			b.WriteString(`\(ti`)
		case r > 126:
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
