package prompt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Option is something that can be chosen.
type Option struct {
	Label string
	// Description is shown beside it, as far as there is room.
	Description string
}

// Choice is a question that is answered by choosing from a list.
type Choice struct {
	Question string
	// Kind stands beside the question.
	Kind string
	// About explains the question, in a few lines below it.
	About string
	// Options are what there is to choose from, one at least.
	Options []Option
	// Chosen are the indices of those that are chosen to begin with. If one is wanted, it is where the cursor is.
	Chosen []int
	// Many means that several may be chosen: Least of them or more, and not more than Most unless that is 0.
	Many        bool
	Least, Most int
	// OrNone allows none, whatever Least says.
	OrNone bool
}

// Choose asks for one or several from a list, and returns their indices. The errors are those of [Asker.Input].
func (a *Asker) Choose(ctx context.Context, c Choice) ([]int, error) {
	l := &list{
		question: oneLine(c.Question), kind: c.Kind, about: c.About, options: tidy(c.Options),
		one: !c.Many, least: c.Least, most: c.Most, orNone: c.OrNone,
	}
	if c.Many {
		l.chosen = make([]bool, len(c.Options))
	}
	for _, i := range c.Chosen {
		if c.Many {
			l.chosen[i] = true
		} else {
			l.cursor = i
		}
	}
	return a.choose(ctx, l)
}

// Select asks for one of several, and returns its index. Enter takes the first. The errors are those of [Asker.Input].
func (a *Asker) Select(ctx context.Context, question string, options []Option) (int, error) {
	chosen, err := a.Choose(ctx, Choice{Question: question, Options: options})
	if err != nil {
		return 0, err
	}
	return chosen[0], nil
}

// MultiSelect asks which of several are wanted, and returns their indices, one at least. All are chosen to begin with, so
// that Enter takes them all. The errors are those of [Asker.Input].
func (a *Asker) MultiSelect(ctx context.Context, question string, options []Option) ([]int, error) {
	c := Choice{Question: question, Options: options, Many: true, Least: 1}
	for i := range options {
		c.Chosen = append(c.Chosen, i)
	}
	return a.Choose(ctx, c)
}

// tidy makes options fit to stand in a line each.
func tidy(options []Option) []Option {
	out := make([]Option, len(options))
	for i, o := range options {
		out[i] = Option{Label: oneLine(o.Label), Description: strings.Join(strings.Fields(oneLine(o.Description)), " ")}
	}
	return out
}

// list is a list while something is chosen from it.
type list struct {
	question    string
	kind, about string
	options     []Option
	// one is set when exactly one is wanted, and else chosen says which are.
	one    bool
	chosen []bool
	// least and most bound how many are chosen; most is 0 for as many as there are.
	least, most int
	orNone      bool

	// filter is what is searched for, and typing is set while it is typed.
	filter string
	typing bool
	// cursor is the place among those that match, and top is the first of them on the screen.
	cursor, top int
	wrong       string
	// columns are those of the terminal.
	columns int
}

func (a *Asker) choose(ctx context.Context, l *list) ([]int, error) {
	switch {
	case !a.Allowed:
		return nil, ErrNobody
	case len(l.options) == 0:
		return nil, errors.New("nothing to choose from")
	case a.Dumb:
		return a.chooseLines(ctx, l)
	}
	t, err := a.open()
	if err != nil {
		return nil, err
	}
	defer t.close()
	b := &block{t: t}
	b.begin()
	for {
		l.columns = t.columns
		lines, column := l.lines(a, t.columns, t.lines)
		b.draw(lines, 0, column)
		k, err := t.next(ctx)
		if errors.Is(err, io.EOF) || err == nil && l.cancels(k) {
			err = cancelled(k)
		}
		if err != nil {
			b.end(a.paint(Faint, "✗ "+l.question))
			return nil, err
		}
		if l.press(k, l.room(t.lines)) {
			b.end(a.paint(Good, "✓") + " " + l.question + " " + a.paint(Strong, l.answer()))
			return l.result(), nil
		}
	}
}

// cancels reports whether a key ends the question. Escape takes a search away first.
func (l *list) cancels(k key) bool {
	return k.is(keyCancel, keyEnd4) || k.is(keyEscape) && !l.typing && l.filter == ""
}

// matching returns the options that the search leaves.
func (l *list) matching() []int {
	var out []int
	words := strings.Fields(strings.ToLower(l.filter))
	for i, o := range l.options {
		text := strings.ToLower(o.Label + " " + o.Description)
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
			out = append(out, i)
		}
	}
	return out
}

// room is how many options are on a screen of so many lines: the question and the help need two, and one stays free.
func (l *list) room(lines int) int {
	return max(lines-3-len(l.explained(lines)), 1)
}

// explained returns the lines that explain the question. On a small screen the options come first.
func (l *list) explained(lines int) []string {
	const small = 12
	if lines < small {
		return nil
	}
	return folded(l.about, l.columns-3)
}

// count returns how many are chosen.
func (l *list) count() int {
	n := 0
	for _, c := range l.chosen {
		if c {
			n++
		}
	}
	return n
}

// press does what a key means, and reports whether the question is answered.
func (l *list) press(k key, room int) bool {
	shown := l.matching()
	if !k.is(keyResize) {
		l.wrong = ""
	}
	switch k.kind {
	case keyUp:
		l.cursor--
	case keyDown:
		l.cursor++
	case keyPageUp:
		l.cursor -= room
	case keyPageDown:
		l.cursor += room
	case keyHome:
		l.cursor = 0
	case keyEnd:
		l.cursor = len(shown)
	case keyEscape:
		l.typing, l.filter = false, ""
	case keyBackspace:
		if r := []rune(l.filter); l.typing && len(r) > 0 {
			l.filter = string(r[:len(r)-1])
		} else {
			l.typing = false
		}
	case keyKillStart:
		l.filter = ""
	case keyText, keyPaste:
		l.text(oneLine(k.text), shown)
	case keyEnter:
		switch {
		case l.typing:
			l.typing = false
		case l.one && len(shown) > 0:
			return true
		case !l.one:
			l.wrong = l.misfit(l.count())
			return l.wrong == ""
		}
	default:
	}
	l.cursor = max(0, min(l.cursor, len(l.matching())-1))
	return false
}

// misfit says what is wrong with choosing n, "" if nothing is.
func (l *list) misfit(n int) string {
	switch {
	case n == 0 && l.orNone:
	case n == 0 && l.least == 1:
		return "none is chosen: choose one, or cancel"
	case n < l.least:
		return fmt.Sprintf("%s chosen: choose at least %d", are(n), l.least)
	case l.most > 0 && n > l.most:
		return fmt.Sprintf("%s chosen: choose at most %d", are(n), l.most)
	}
	return ""
}

func are(n int) string {
	switch n {
	case 0:
		return "none is"
	case 1:
		return "1 is"
	}
	return fmt.Sprintf("%d are", n)
}

// text is a character: part of a search, or a command.
func (l *list) text(text string, shown []int) {
	switch {
	case l.typing:
		l.filter += text
		l.cursor = 0
	case text == "/":
		l.typing = true
	case text == "j":
		l.cursor++
	case text == "k":
		l.cursor--
	case l.one:
		// The options are few, and have numbers.
		if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(shown) {
			l.cursor = n - 1
		}
	case text == " " && len(shown) > 0:
		i := shown[l.cursor]
		l.chosen[i] = !l.chosen[i]
	case text == "a":
		all := !slices.ContainsFunc(shown, func(i int) bool { return !l.chosen[i] })
		for _, i := range shown {
			l.chosen[i] = !all
		}
	}
}

func (l *list) result() []int {
	if l.one {
		return []int{l.matching()[l.cursor]}
	}
	var out []int
	for i, c := range l.chosen {
		if c {
			out = append(out, i)
		}
	}
	return out
}

// answer is what was chosen, for the line that stays.
func (l *list) answer() string {
	result := l.result()
	switch {
	case l.one:
		return l.options[result[0]].Label
	case len(result) == 0:
		return "none"
	case len(result) == len(l.options):
		return fmt.Sprintf("all %d", len(result))
	}
	var names []string
	for _, i := range result {
		names = append(names, l.options[i].Label)
	}
	return fmt.Sprintf("%d of %d: %s", len(result), len(l.options), strings.Join(names, ", "))
}

// lines returns what is shown, and the column of the cursor in the first line, -1 for none.
func (l *list) lines(a *Asker, columns, height int) ([]string, int) {
	shown := l.matching()
	l.cursor = max(0, min(l.cursor, len(shown)-1))
	room := min(l.room(height), len(l.options))
	l.top = max(min(l.top, l.cursor), l.cursor-room+1)
	l.top = max(0, min(l.top, len(shown)-room))

	heading := a.heading(l.question, l.kind, "", columns)
	head, column := heading[0], -1
	if !l.one {
		head += " " + a.paint(Faint, fmt.Sprintf("%d of %d", l.count(), len(l.options)))
	}
	if l.typing || l.filter != "" {
		search := "/" + l.filter
		column = width(search)
		if !l.typing {
			column = -1
		}
		head = search + a.paint(Faint, fmt.Sprintf("   %d found", len(shown)))
	}
	lines := []string{head}
	for _, line := range l.explained(height) {
		lines = append(lines, "  "+a.paint(Faint, line))
	}
	above := len(lines)
	names := 0
	for _, o := range l.options {
		names = max(names, width(o.Label))
	}
	names = min(names, max(columns*2/5, 12))
	if slices.IndexFunc(l.options, func(o Option) bool { return o.Description != "" }) < 0 {
		names = columns
	}
	for n := l.top; n < min(l.top+room, len(shown)); n++ {
		lines = append(lines, l.row(a, shown[n], n == l.cursor, names, columns))
	}
	for len(lines) < room+above {
		lines = append(lines, "") // the block keeps its height while one searches
	}
	return append(lines, l.help(a, columns)), column
}

// row returns the line of an option.
func (l *list) row(a *Asker, i int, here bool, names, columns int) string {
	o := l.options[i]
	lead, style := "  ", Plain
	if here {
		lead, style = a.paint(Good, "› "), Strong
	}
	box := ""
	switch {
	case l.one:
	case l.chosen[i]:
		box = a.paint(Good, "[x]") + " "
	default:
		box = "[ ] "
	}
	label := cut(o.Label, names)
	room := columns - 1 - width(lead) - width(box)
	if o.Description == "" {
		return lead + box + a.paint(style, cut(o.Label, room))
	}
	label = cut(label, room)
	padding := strings.Repeat(" ", max(min(names, room)-width(label), 0))
	description := cut(o.Description, room-width(label)-len(padding)-2)
	if description != "" {
		description = padding + "  " + a.paint(Faint, description)
	}
	return lead + box + a.paint(style, label) + description
}

// help returns the line that says which keys there are: as many of them as fit.
func (l *list) help(a *Asker, columns int) string {
	if l.wrong != "" {
		return "  " + a.paint(Bad, cut(l.wrong, columns-3))
	}
	var parts []string
	switch {
	case l.typing:
		parts = []string{"enter: to the list", "esc: all again"}
	case l.one:
		parts = []string{"↑ ↓", "enter: take", "esc: cancel"}
	default:
		parts = []string{"enter: take", "space: change", "a: all/none", "/: search", "esc: cancel"}
		if l.filter != "" {
			parts = []string{"enter: take", "space: change", "a: all/none of these", "esc: all again"}
		}
	}
	text := "  " + parts[0]
	for _, p := range parts[1:] {
		if width(text)+3+width(p) < columns {
			text += " · " + p
		}
	}
	return a.paint(Faint, text)
}

// chooseLines is choose for a terminal that cannot move its cursor.
func (a *Asker) chooseLines(ctx context.Context, l *list) ([]int, error) {
	columns, _ := a.size()
	var b strings.Builder
	b.WriteString(l.question)
	if l.kind != "" {
		b.WriteString(", " + oneLine(l.kind))
	}
	b.WriteString("\r\n")
	for _, line := range folded(l.about, columns-1) {
		b.WriteString(line + "\r\n")
	}
	for i, o := range l.options {
		line := fmt.Sprintf("%4d  %s", i+1, o.Label)
		if o.Description != "" {
			line += "  " + o.Description
		}
		b.WriteString(cut(line, columns-1) + "\r\n")
	}
	if _, err := io.WriteString(a.Out, b.String()); err != nil {
		return nil, err
	}
	question := "Which ones, as 1,3-5 [" + l.standing() + "]: "
	if l.one {
		question = fmt.Sprintf("Which one [%d]: ", l.cursor+1)
	}
	for {
		answer, err := a.answer(ctx, question, false)
		if err != nil {
			return nil, err
		}
		chosen, wrong := l.parse(answer)
		if wrong == nil && !l.one {
			if text := l.misfit(len(chosen)); text != "" {
				wrong = errors.New(text)
			}
		}
		if wrong == nil {
			return chosen, nil
		}
		if _, err := io.WriteString(a.Out, wrong.Error()+"\r\n"); err != nil {
			return nil, err
		}
	}
}

// standing is what is chosen to begin with, as it can be typed.
func (l *list) standing() string {
	switch n := l.count(); n {
	case 0:
		return "none"
	case len(l.options):
		return "all"
	}
	var numbers []string
	for _, i := range l.result() {
		numbers = append(numbers, strconv.Itoa(i+1))
	}
	return strings.Join(numbers, ",")
}

// parse reads an answer in numbers, or labels.
func (l *list) parse(answer string) ([]int, error) {
	answer = strings.TrimSpace(answer)
	if i := slices.IndexFunc(l.options, func(o Option) bool { return o.Label == answer }); i >= 0 && answer != "" {
		return []int{i}, nil
	}
	if !l.one && answer == "none" {
		return nil, nil
	}
	words := strings.FieldsFunc(answer, func(r rune) bool { return r == ',' || r == ' ' })
	if len(words) == 0 {
		return l.result(), nil
	}
	wanted := make([]bool, len(l.options))
	n := 0
	for _, w := range words {
		from, to, err := l.numbers(w)
		if err != nil {
			return nil, err
		}
		for i := from; i <= to; i++ {
			wanted[i] = true
		}
		n += to - from + 1
	}
	if l.one && n != 1 {
		return nil, errors.New("one is wanted")
	}
	l.chosen = wanted
	var out []int
	for i, w := range wanted {
		if w {
			out = append(out, i)
		}
	}
	return out, nil
}

func (l *list) numbers(word string) (from, to int, err error) {
	if i := slices.IndexFunc(l.options, func(o Option) bool { return o.Label == word }); i >= 0 {
		return i, i, nil
	}
	first, last, isRange := strings.Cut(word, "-")
	if !isRange {
		last = first
	}
	from, err1 := strconv.Atoi(first)
	to, err2 := strconv.Atoi(last)
	if err1 != nil || err2 != nil || from < 1 || to > len(l.options) || from > to {
		return 0, 0, fmt.Errorf("%q: want numbers from 1 to %d", cut(word, 20), len(l.options))
	}
	return from - 1, to - 1, nil
}
