package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/shellwords"
)

// The scripts of bash and zsh are our own. The usual ones give the line to eval, so that what is typed, or was completed with
// the name of a tool, is run by the key that asks for completion; and bash's needs another package. These hand over the line
// as it is, and it is taken apart here: nothing in it is run. What is offered comes back ready for the shell.

// completeLineCommand is the hidden word that the scripts of bash and zsh begin with: SHELL, LINE up to the cursor, and for
// bash its COMP_WORDBREAKS and the width of the terminal.
const completeLineCommand = "__complete-line"

const bashScript = `# completion of mcpctl for bash
_mcpctl() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
        "=nospace") compopt -o nospace 2>/dev/null ;;
        "=files") compopt -o default -o filenames 2>/dev/null ;;
        "=dirs") compopt -o dirnames -o filenames 2>/dev/null ;;
        " "*) COMPREPLY+=("${line:1}") ;;
        esac
    done < <("${1/#\~/$HOME}" ` + completeLineCommand + ` bash "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" "${COLUMNS:-80}" </dev/null 2>/dev/null)
}
complete -o nosort -F _mcpctl mcpctl 2>/dev/null || complete -F _mcpctl mcpctl
`

const zshScript = `#compdef mcpctl
# completion of mcpctl for zsh
_mcpctl() {
    local line name
    local -a names shown options
    options=(-V mcpctl)
    for line in "${(@f)$(${~words[1]} ` + completeLineCommand + ` zsh "${(j: :)words[1,CURRENT-1]} ${QIPREFIX}${IPREFIX}${PREFIX}" </dev/null 2>/dev/null)}"; do
        case $line in
        "=nospace") options+=(-S "") ;;
        "=files") compset -P '*[=@]'; _files; return ;;
        "=dirs") _files -/; return ;;
        " "*)
            name=${${line# }%%$'\t'*}
            names+=("$name")
            if [[ $line == *$'\t'* ]]; then
                shown+=("${name}  -- ${line#*$'\t'}")
            else
                shown+=("$name")
            fi
            ;;
        esac
    done
    (( $#names )) && compadd -l "${options[@]}" -d shown -a names
}
if [[ $funcstack[1] == _mcpctl ]]; then
    _mcpctl "$@"
else
    compdef _mcpctl mcpctl
fi
`

// completeLine answers the script of bash or zsh. Whatever is wrong, it offers nothing and says nothing.
func completeLine(ctx context.Context, p process) int {
	args := append(p.args[1:], "", "", "", "")
	shell, typed, breaks := args[0], args[1], args[2]
	words, last := splitTyped(typed, p)
	if len(words) == 0 {
		return codeOK
	}
	offers, directive := offersFor(ctx, p, append(words[1:], last.text))
	if flag, _, assigned := strings.Cut(last.text, "="); assigned && strings.HasPrefix(flag, "-") {
		for i := range offers { // the value of --flag=value alone was asked for
			offers[i].word = flag + "=" + offers[i].word
		}
	}
	if at := strings.LastIndex("="+last.text, "=@"); shell == "bash" && directive == cobra.ShellCompDirectiveDefault && at >= 0 {
		// Bash would look for the names of machines behind an @.
		offers, directive = filesBehind(last.text[:at+1], last.text[at+1:])
	}
	offers = slices.DeleteFunc(offers, func(o offer) bool { return !strings.HasPrefix(o.word, last.text) })
	var out strings.Builder
	switch {
	case directive&cobra.ShellCompDirectiveError != 0:
		return codeOK
	case directive&cobra.ShellCompDirectiveNoSpace != 0:
		out.WriteString("=nospace\n")
	}
	switch {
	case directive&cobra.ShellCompDirectiveFilterDirs != 0:
		out.WriteString("=dirs\n")
	case directive&cobra.ShellCompDirectiveNoFileComp == 0 && len(offers) == 0:
		out.WriteString("=files\n")
	}
	if directive&cobra.ShellCompDirectiveKeepOrder == 0 {
		slices.SortStableFunc(offers, func(a, b offer) int { return strings.Compare(a.word, b.word) })
	}
	if shell == "bash" {
		columns, _ := strconv.Atoi(args[3])
		writeBash(&out, offers, last, breaks, columns)
	} else {
		for _, o := range offers {
			line := " " + o.word
			if o.about != "" {
				line += "\t" + o.about
			}
			out.WriteString(line + "\n")
		}
	}
	_, _ = io.WriteString(p.io.Out, out.String()) // nobody is there to be told
	return codeOK
}

// filesBehind offers the files whose path begins with typed, with what stands before it.
func filesBehind(before, typed string) ([]offer, cobra.ShellCompDirective) {
	dir, base := filepath.Split(typed)
	entries, err := os.ReadDir(cmp.Or(dir, "."))
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var offers []offer
	directive := cobra.ShellCompDirectiveNoFileComp
	for _, e := range entries {
		name := e.Name()
		if !typeable(name) || !strings.HasPrefix(name, base) || base == "" && strings.HasPrefix(name, ".") {
			continue
		}
		if e.IsDir() {
			name += "/"
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		offers = append(offers, offer{word: before + dir + name})
	}
	return offers, directive
}

// offer is a word that can be put in, and what is said of it.
type offer struct{ word, about string }

// offersFor asks the commands for the words that can stand behind others.
func offersFor(ctx context.Context, p process, words []string) ([]offer, cobra.ShellCompDirective) {
	streams := *p.io
	var out bytes.Buffer
	streams.Out, streams.Err = &out, io.Discard
	p.io, p.args = &streams, append([]string{cobra.ShellCompRequestCmd}, words...)
	if run(ctx, p) != codeOK {
		return nil, cobra.ShellCompDirectiveError
	}
	var offers []offer
	directive := cobra.ShellCompDirectiveDefault
	for line := range strings.Lines(out.String()) {
		line = strings.TrimSuffix(line, "\n")
		if rest, ok := strings.CutPrefix(line, ":"); ok {
			if n, err := strconv.Atoi(rest); err == nil {
				directive = cobra.ShellCompDirective(n)
				continue
			}
		}
		word, about, _ := strings.Cut(line, "\t")
		if typeable(word) {
			offers = append(offers, offer{word, render.OneLine(about)})
		}
	}
	return offers, directive
}

// writeBash writes the offers as bash puts them in: quoted, without what stands on the line already. Several are shown with
// their descriptions, which is what bash has for it.
func writeBash(out *strings.Builder, offers []offer, last typedWord, breaks string, columns int) {
	var words []offer
	for _, o := range offers {
		if quoted, ok := last.completed(o.word, breaks); ok {
			words = append(words, offer{quoted, o.about})
		}
	}
	widest := 0
	for _, o := range words {
		widest = max(widest, render.Width(o.word))
	}
	for _, o := range words {
		line := o.word
		// Less than ten columns hold no description.
		if room := columns - widest - len("  ()") - 1; len(words) > 1 && o.about != "" && room >= 10 {
			line += strings.Repeat(" ", widest-render.Width(o.word)) + "  (" + render.Cut(o.about, room) + ")"
		}
		fmt.Fprintf(out, " %s\n", line)
	}
}

// typedWord is the word that the cursor stands behind.
type typedWord struct {
	// raw is as it is typed, text is without its quotes, and quote is the quote that is open, 0 if none is.
	raw, text string
	quote     byte
	// from is where the open quote stands in raw.
	from int
}

// completed returns a word as bash puts it in at the cursor: it replaces what is typed since the last character that divides
// words for bash, or since the open quote.
func (w typedWord) completed(word, breaks string) (string, bool) {
	switch w.quote {
	case '\'':
		if strings.Contains(word, "'") || w.from != 0 {
			return "", false
		}
		return word, true
	case '"':
		if w.from != 0 || strings.Contains(word, "!") { // which bash replaces in these quotes, too
			return "", false
		}
		var b strings.Builder
		for _, r := range word {
			if strings.ContainsRune("\"\\$`", r) {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
		}
		return b.String(), true
	}
	// Bash divides what is typed, so it replaces what is behind the last divider.
	start := 0
	for i := 0; i < len(w.raw); i++ {
		switch {
		case w.raw[i] == '\\':
			i++
		case w.raw[i] == '\'' || w.raw[i] == '"':
			return "", false // quotes that are closed already: there is no telling what would come of it
		case strings.IndexByte(breaks, w.raw[i]) >= 0:
			if start = i + 1; w.raw[i] == '@' {
				start = i // with which a word begins, for bash
			}
		}
	}
	kept := shellwords.Unescape(w.raw[:start], false)
	rest, ok := strings.CutPrefix(word, kept)
	return bashQuote(rest), ok
}

// bashQuote puts a backslash before all that a shell does not take as it is.
func bashQuote(word string) string {
	var b strings.Builder
	for i, r := range word {
		plain := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r > 127 || strings.ContainsRune("_@%+=:,./-", r)
		if !plain || i == 0 && r == '~' {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// splitTyped takes the line before the cursor apart: the words before the cursor's, and that one. Nothing is run or replaced
// but the home directory and plain variables, which are often part of the name of a file.
func splitTyped(line string, p process) (words []string, last typedWord) {
	var text strings.Builder
	start, begun, quote, from, over := 0, false, byte(0), 0, false
	end := func(i int) {
		if begun {
			words = append(words, text.String())
		}
		text.Reset()
		begun, start = false, i+1
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		if !begun && c != ' ' && c != '\t' && c != '\n' {
			begun, start = true, i
		}
		switch {
		case quote == '\'' && c != '\'':
			text.WriteByte(c)
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\' && i+1 < len(line) && (quote == 0 || strings.IndexByte("$`\"\\", line[i+1]) >= 0):
			i++
			text.WriteByte(line[i])
		case c == '$':
			name, length := variableAt(line[i:])
			if value, ok := p.lookup(name); ok && name != "" {
				text.WriteString(value)
				i += length - 1
				continue
			}
			text.WriteByte(c)
		case quote != 0:
			text.WriteByte(c)
		case c == '\'' || c == '"':
			quote, from = c, i-start
		case c == ' ' || c == '\t' || c == '\n':
			end(i)
		case c == ';' || c == '|' || c == '&' || c == '(':
			end(i)
			words, over = nil, false // another command begins
		case c == ')' || c == '`':
			words, over = nil, true // what is before it is part of a word that only a shell can make
		case c == '~' && i == start && (i+1 == len(line) || line[i+1] == '/'):
			text.WriteString(p.home)
		default:
			text.WriteByte(c)
		}
	}
	if over {
		return nil, last
	}
	for len(words) > 0 && strings.Contains(words[0], "=") && !strings.Contains(words[0], "/") {
		words = words[1:] // VARIABLE=value before the command
	}
	last = typedWord{text: text.String(), quote: quote, from: from}
	if begun {
		last.raw = line[start:]
	}
	return words, last
}

// variableAt returns the name in $NAME or ${NAME} at the beginning of a text, and how long that is.
func variableAt(text string) (name string, length int) {
	inner := strings.TrimPrefix(text[1:], "{")
	end := strings.IndexFunc(inner, func(r rune) bool {
		return r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
	if end < 0 {
		end = len(inner)
	}
	if len(inner) == len(text)-1 {
		return inner[:end], 1 + end
	}
	if end == len(inner) || inner[end] != '}' {
		return "", 0
	}
	return inner[:end], end + 3
}
