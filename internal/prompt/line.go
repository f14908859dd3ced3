package prompt

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// How a line is edited.
//
// It uses the same keys and the same drawing as questions do, so that both read the terminal through one reader and no key
// is lost between them. A library for lines would have a reader of its own, and most leave it behind in a read when a line
// is done, which takes the first key of the question that a server asks next.
//
// What is typed is one text, with line ends in it when it goes on. It is drawn anew after each key, broken at the width, and
// at most as many rows as the terminal has. A completion runs beside, under a context that the next key ends. Lines that
// come from elsewhere are put above: what is drawn is taken away, they are written, and it is drawn again.

// Candidate is a word that can be put in.
type Candidate struct {
	// Text is what is put in, quoted as it has to be.
	Text string
	// Label is what is shown in the list, and About what is said of it.
	Label, About string
	// NoSpace is set when the word goes on behind it.
	NoSpace bool
}

// Completion is what can stand at the cursor.
type Completion struct {
	// From is where in the text before the cursor the word begins that is replaced, in bytes.
	From       int
	Candidates []Candidate
}

// LineEditor reads lines of a person, one at a time, with history and completion. Its fields are set before the first
// line is read.
type LineEditor struct {
	Asker *Asker
	// Prompt returns what stands before the first line. It is asked each time the line is drawn.
	Prompt func() string
	// More is what stands before the lines that follow.
	More string
	// Unfinished reports whether the text goes on in the next line. If nil, a line is all there is.
	Unfinished func(string) bool
	// Complete returns what can stand at the end of the text. It ends soon after ctx does. If nil, nothing is completed.
	Complete func(ctx context.Context, before string) Completion
	// History are the lines of before, the oldest first.
	History []string

	mu      sync.Mutex
	reading bool
	above   []byte
	wake    chan struct{}
}

// Above writes whole lines above the one that is being read. It returns false, and writes nothing, if none is.
func (e *LineEditor) Above(lines []byte) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.reading {
		return false
	}
	e.above = append(e.above, lines...)
	e.poke()
	return true
}

// Redraw brings the prompt up to date, if a line is being read.
func (e *LineEditor) Redraw() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.reading {
		e.poke()
	}
}

func (e *LineEditor) poke() {
	select {
	case e.wake <- struct{}{}:
	default: // it has not seen the last one yet
	}
}

// Remember adds a line to the history, unless it is the same as the last one.
func (e *LineEditor) Remember(line string) {
	if n := len(e.History); line != "" && (n == 0 || e.History[n-1] != line) {
		e.History = append(e.History, line)
	}
}

// Read reads a line, or several if the text goes on. It returns [ErrCancelled] for Ctrl-C, [io.EOF] for Ctrl-D in an empty
// line and at the end of the input, and the cause of ctx when that ends first.
func (e *LineEditor) Read(ctx context.Context) (string, error) {
	t, err := e.Asker.open()
	if err != nil {
		return "", err
	}
	defer t.close()
	e.mu.Lock()
	if e.wake == nil {
		e.wake = make(chan struct{}, 1)
	}
	e.reading = true
	e.mu.Unlock()
	e.Asker.keys.wake = e.wake
	l := &line{e: e, t: t, b: &block{t: t}, at: 0, past: len(e.History)}
	defer func() {
		l.cancel()
		l.asking.Wait()
		e.Asker.keys.wake = nil
		e.mu.Lock()
		e.reading = false
		rest := e.above
		e.above = nil
		e.mu.Unlock()
		_, _ = e.Asker.Out.Write(raw(rest))
	}()
	if e.Asker.Dumb {
		return l.plain(ctx)
	}
	l.b.begin()
	for {
		l.flush()
		l.draw()
		k, err := t.next(ctx)
		if err == nil {
			err = l.press(ctx, k)
		}
		switch {
		case err == nil:
			continue
		case errors.Is(err, errEntered):
			l.finish("")
			return l.text, nil
		case errors.Is(err, ErrCancelled):
			l.finish("^C")
		default:
			l.finish("")
		}
		return "", err
	}
}

// raw writes line ends as a terminal in raw mode wants them.
func raw(text []byte) []byte {
	return []byte(strings.ReplaceAll(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n", "\r\n"))
}

// errEntered says that the line is done.
var errEntered = errors.New("entered")

// line is a line while it is edited.
type line struct {
	e *LineEditor
	t *terminal
	b *block

	text string
	// at is where the cursor is, in bytes.
	at int
	// past is the line of the history that is shown, and typed what stood there before.
	past  int
	typed string
	// killed is what can be put in again.
	killed string

	search *search
	menu   *menu
	// pending is a completion under way, nil if none is.
	pending chan Completion
	cancel0 context.CancelFunc
	asking  sync.WaitGroup
}

// search looks for a line of the history.
type search struct {
	query string
	// at is the line that was found, len(History) for none.
	at     int
	failed bool
	// before is what stood there when it began.
	before string
}

// menu are candidates to choose from.
type menu struct {
	Completion
	// chosen is the one that is put in, -1 for none yet, and end is where what it replaced ends.
	chosen int
	end    int
}

// cancel ends a completion that is under way.
func (l *line) cancel() {
	if l.cancel0 != nil {
		l.cancel0()
	}
	l.pending, l.cancel0 = nil, nil
}

// flush writes what was said meanwhile above the line.
func (l *line) flush() {
	l.e.mu.Lock()
	above := l.e.above
	l.e.above = nil
	l.e.mu.Unlock()
	if len(above) > 0 {
		l.b.write(l.b.up() + eraseBelow + string(raw(above)))
		l.b.widths, l.b.at = nil, 0
	}
}

func (l *line) draw() {
	a := l.e.Asker
	prompt, text, at := l.e.Prompt(), l.text, l.at
	if s := l.search; s != nil {
		failed := ""
		if s.failed {
			failed = "no "
		}
		prompt = "(" + failed + "search: " + oneLine(s.query) + ") "
		if i := strings.Index(text, s.query); i >= 0 {
			at = i + len(s.query)
		}
	}
	limit := max(l.t.columns-1, 8)
	rows, row, column := layout(cut(prompt, limit*3/4), l.e.More, text, at, limit, func(p string) string { return a.paint(Strong, p) })
	room := max(l.t.lines-1, 1)
	var below []string
	if l.menu != nil {
		below = l.menu.rows(a, limit, max(1, min(mostShown, room-min(len(rows), room/2))))
		room = max(1, room-len(below))
	}
	if len(rows) > room {
		from := min(max(0, row-room/2), len(rows)-room)
		rows, row = rows[from:from+room], row-from
	}
	l.b.draw(append(rows, below...), row, column)
}

// layout breaks a text into rows of at most limit columns, and tells where the cursor is.
func layout(prompt, more, text string, at, limit int, paint func(string) string) (rows []string, row, column int) {
	var b strings.Builder
	b.WriteString(paint(prompt))
	x := width(prompt)
	state := byte(0)
	for i := 0; ; {
		if i == at {
			row, column = len(rows), x
		}
		if i >= len(text) {
			break
		}
		seq, w, n, next := ansi.DecodeSequence(text[i:], state, nil)
		state = next
		if n == 0 {
			break
		}
		switch {
		case seq == "\n":
			rows = append(rows, b.String())
			b.Reset()
			b.WriteString(paint(more))
			x = width(more)
		case x+w > limit:
			rows = append(rows, b.String())
			b.Reset()
			if x = 0; i == at {
				row, column = len(rows), 0
			}
			fallthrough
		default:
			b.WriteString(seq)
			x += w
		}
		i += n
	}
	return append(rows, b.String()), row, column
}

// finish leaves the line as it is on the screen, and goes on below it.
func (l *line) finish(mark string) {
	l.menu, l.search = nil, nil
	limit := max(l.t.columns-1, 8)
	rows, _, _ := layout(cut(l.e.Prompt(), limit*3/4), l.e.More, l.text, 0, limit, func(p string) string { return l.e.Asker.paint(Strong, p) })
	if room := max(l.t.lines-1, 1); len(rows) > room {
		rows = rows[len(rows)-room:]
	}
	rows[len(rows)-1] += mark
	l.b.draw(rows, 0, -1)
	l.b.write("\r\n" + showCursor + pasteOff)
}

// press does what a key says.
func (l *line) press(ctx context.Context, k key) error {
	switch k.kind {
	case keyResize:
		return nil
	case keyWake:
		l.completed()
		return nil
	default:
	}
	l.cancel()
	if l.search != nil && l.searching(k) {
		return nil
	}
	if m := l.menu; m != nil {
		switch k.kind {
		case keyTab, keyDown:
			l.choose((m.chosen + 1) % len(m.Candidates))
			return nil
		case keyBackTab, keyUp:
			l.choose((max(m.chosen, 0) + len(m.Candidates) - 1) % len(m.Candidates))
			return nil
		case keyEscape, keyAbort:
			l.menu = nil
			return nil
		case keyEnter:
			if l.menu = nil; m.chosen >= 0 {
				l.space(m.Candidates[m.chosen])
				return nil
			}
		default:
			l.menu = nil
		}
	}
	switch k.kind {
	case keyEnter:
		if l.e.Unfinished != nil && l.e.Unfinished(l.text) {
			l.at = len(l.text)
			l.insert("\n")
			return nil
		}
		return errEntered
	case keyCancel:
		return ErrCancelled
	case keyEnd4:
		if l.text == "" {
			return io.EOF
		}
		l.cutTo(l.right(), false)
	case keyTab:
		l.complete(ctx)
	default:
		l.edit(k)
	}
	return nil
}

// edit changes the text, or moves in it.
func (l *line) edit(k key) {
	switch k.kind {
	case keyText:
		l.insert(k.text)
	case keyPaste:
		l.insert(strings.TrimRight(strings.ReplaceAll(k.text, "\t", " "), "\n"))
	case keyBackspace:
		l.cutTo(l.left(), false)
	case keyDelete:
		l.cutTo(l.right(), false)
	case keyLeft:
		l.at = l.left()
	case keyRight:
		l.at = l.right()
	case keyHome:
		l.at = strings.LastIndexByte(l.text[:l.at], '\n') + 1
	case keyEnd:
		l.at = l.lineEnd()
	case keyWordLeft:
		l.at = l.wordLeft(letter)
	case keyWordRight:
		l.at = l.wordRight()
	case keyKillStart:
		l.cutTo(strings.LastIndexByte(l.text[:l.at], '\n')+1, true)
	case keyKillEnd:
		end := l.lineEnd()
		if end == l.at {
			end = l.right() // the line end itself
		}
		l.cutTo(end, true)
	case keyKillWord:
		l.cutTo(l.wordLeft(func(r rune) bool { return !unicode.IsSpace(r) }), true)
	case keyKillWordRight:
		l.cutTo(l.wordRight(), true)
	case keyYank:
		l.insert(l.killed)
	case keyUp:
		l.up()
	case keyDown:
		l.down()
	case keySearch:
		l.search = &search{at: len(l.e.History), before: l.text}
	case keyClear:
		l.b.write("\x1b[H\x1b[2J")
		l.b.widths, l.b.at = nil, 0
	default:
	}
}

func (l *line) insert(text string) {
	l.text = l.text[:l.at] + text + l.text[l.at:]
	l.at += len(text)
}

// cutTo takes out what is between the cursor and another place.
func (l *line) cutTo(to int, keep bool) {
	from := min(to, l.at)
	to = max(to, l.at)
	if keep && from < to {
		l.killed = l.text[from:to]
	}
	l.text = l.text[:from] + l.text[to:]
	l.at = from
}

// right is where the next character begins, as a person sees characters.
func (l *line) right() int {
	if l.at == len(l.text) {
		return l.at
	}
	_, _, n, _ := ansi.DecodeSequence(l.text[l.at:], 0, nil)
	return l.at + max(n, 1)
}

// left is where the character before begins.
func (l *line) left() int {
	before := 0
	for i := 0; i < l.at; {
		before = i
		_, _, n, _ := ansi.DecodeSequence(l.text[i:], 0, nil)
		i += max(n, 1)
	}
	return before
}

func (l *line) lineEnd() int {
	if i := strings.IndexByte(l.text[l.at:], '\n'); i >= 0 {
		return l.at + i
	}
	return len(l.text)
}

func letter(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

func (l *line) wordLeft(in func(rune) bool) int {
	before := []rune(l.text[:l.at])
	n := len(before)
	for n > 0 && !in(before[n-1]) {
		n--
	}
	for n > 0 && in(before[n-1]) {
		n--
	}
	return len(string(before[:n]))
}

func (l *line) wordRight() int {
	n, begun := l.at, false
	for _, r := range l.text[l.at:] {
		if letter(r) {
			begun = true
		} else if begun {
			break
		}
		n += len(string(r))
	}
	return n
}

// up goes to the line above, in the text or in the history.
func (l *line) up() {
	begin := strings.LastIndexByte(l.text[:l.at], '\n')
	if begin >= 0 {
		above := strings.LastIndexByte(l.text[:begin], '\n') + 1
		l.at = above + min(l.at-begin-1, begin-above)
		l.at = l.boundary(l.at)
		return
	}
	if l.past > 0 {
		l.show(l.past - 1)
	}
}

func (l *line) down() {
	if end := l.lineEnd(); end < len(l.text) {
		begin := strings.LastIndexByte(l.text[:l.at], '\n') + 1
		offset := l.at - begin
		l.at = end + 1
		l.at = l.boundary(min(l.at+offset, l.lineEnd()))
		return
	}
	if l.past < len(l.e.History) {
		l.show(l.past + 1)
	}
}

// boundary is the last place at or before another between two characters.
func (l *line) boundary(at int) int {
	last := 0
	for i := 0; i <= at && i < len(l.text); {
		last = i
		_, _, n, _ := ansi.DecodeSequence(l.text[i:], 0, nil)
		i += max(n, 1)
		if i == at {
			return at
		}
	}
	if at >= len(l.text) {
		return len(l.text)
	}
	return last
}

// show shows a line of the history, or what was typed before.
func (l *line) show(past int) {
	if l.past == len(l.e.History) {
		l.typed = l.text
	}
	l.past = past
	if l.text = l.typed; past < len(l.e.History) {
		l.text = l.e.History[past]
	}
	l.at = len(l.text)
}

// searching takes a key of a search. It returns false for one that ends it and means something else, too.
func (l *line) searching(k key) bool {
	s := l.search
	switch k.kind {
	case keyText, keyPaste:
		s.query += oneLine(k.text)
		if k.text == " " {
			s.query += " "
		}
		l.find(min(s.at, len(l.e.History)-1))
	case keyBackspace:
		if r := []rune(s.query); len(r) > 0 {
			s.query = string(r[:len(r)-1])
			l.find(len(l.e.History) - 1)
		}
	case keySearch:
		l.find(s.at - 1)
	case keyCancel, keyAbort:
		l.text, l.search = s.before, nil
		l.at = len(l.text)
	default:
		if l.search = nil; s.at < len(l.e.History) {
			l.past = s.at
		}
		return k.is(keyEscape)
	}
	return true
}

// find shows the latest line of the history up to one that holds what is looked for.
func (l *line) find(from int) {
	s := l.search
	if s.failed = false; s.query == "" {
		l.text, s.at = s.before, len(l.e.History)
		l.at = len(l.text)
		return
	}
	for i := min(from, len(l.e.History)-1); i >= 0; i-- {
		if h := l.e.History[i]; strings.Contains(h, s.query) && (h != l.text || i == s.at) {
			s.at, l.text, l.at = i, h, len(h)
			return
		}
	}
	s.failed = true
}

// complete begins a completion.
func (l *line) complete(ctx context.Context) {
	if l.e.Complete == nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	pending := make(chan Completion, 1)
	l.pending, l.cancel0 = pending, cancel
	before := l.text[:l.at]
	l.asking.Go(func() {
		defer cancel()
		pending <- l.e.Complete(ctx, before)
		l.e.Redraw()
	})
}

// completed puts in what a completion has found, if it is there.
func (l *line) completed() {
	var c Completion
	select {
	case c = <-l.pending:
	default:
		return
	}
	l.cancel()
	switch {
	case len(c.Candidates) == 0 || c.From > l.at:
		return
	case len(c.Candidates) == 1:
		l.replace(c.From, c.Candidates[0].Text)
		l.space(c.Candidates[0])
		return
	}
	common := c.Candidates[0].Text
	for _, other := range c.Candidates[1:] {
		for !strings.HasPrefix(other.Text, common) {
			r := []rune(common)
			common = string(r[:len(r)-1])
		}
	}
	// The beginning of a quoted word alone would be an open quote.
	if len(common) > l.at-c.From && strings.HasPrefix(common, l.text[c.From:l.at]) && !strings.ContainsAny(common, `'"\`) {
		l.replace(c.From, common)
	}
	l.menu = &menu{Completion: c, chosen: -1, end: l.at}
}

// replace puts text in the place of what is between from and the cursor.
func (l *line) replace(from int, text string) {
	l.text = l.text[:from] + text + l.text[l.at:]
	l.at = from + len(text)
}

// space separates a word from what is typed next.
func (l *line) space(c Candidate) {
	if !c.NoSpace && !strings.HasPrefix(l.text[l.at:], " ") {
		l.insert(" ")
	}
}

func (l *line) choose(i int) {
	m := l.menu
	m.chosen = i
	l.replace(m.From, m.Candidates[i].Text)
}

// mostShown is how many candidates are shown at a time.
const mostShown = 8

// rows shows the candidates around the chosen one.
func (m *menu) rows(a *Asker, limit, room int) []string {
	n := len(m.Candidates)
	from := 0
	if n > room {
		room = max(1, room-1) // for how many more there are
		from = min(max(0, m.chosen-room/2), n-room)
	}
	shown := m.Candidates[from:min(n, from+room)]
	widest := 0
	for _, c := range shown {
		widest = max(widest, width(oneLine(c.Label)))
	}
	widest = min(widest, limit/2)
	var rows []string
	for i, c := range shown {
		label := cut(oneLine(c.Label), limit-4)
		text := label
		if pad := widest - width(label); c.About != "" && pad >= 0 {
			text += strings.Repeat(" ", pad) + "  " + oneLine(c.About)
		}
		text = cut(text, limit-2)
		if from+i == m.chosen {
			rows = append(rows, a.paint(Good, "› ")+a.paint(Strong, text))
			continue
		}
		rest := strings.TrimPrefix(text, label)
		rows = append(rows, "  "+label+a.paint(Faint, rest))
	}
	if more := n - len(shown); more > 0 {
		rows = append(rows, a.paint(Faint, cut("  … "+strconv.Itoa(more)+" more", limit)))
	}
	return rows
}

// plain reads a line on a terminal that cannot move its cursor. Nothing is completed there.
func (l *line) plain(ctx context.Context) (string, error) {
	echo := func(text string) {
		if l.t.raw {
			_, _ = io.WriteString(l.e.Asker.Out, text)
		}
	}
	_, _ = io.WriteString(l.e.Asker.Out, l.e.Prompt())
	begin := 0 // of the line that is being typed
	for {
		k, err := l.t.next(ctx)
		if err == nil && k.is(keyWake) {
			l.e.mu.Lock()
			above := l.e.above
			l.e.above = nil
			l.e.mu.Unlock()
			if len(above) > 0 {
				_, _ = l.e.Asker.Out.Write(append([]byte("\r\n"), raw(above)...))
				_, _ = io.WriteString(l.e.Asker.Out, l.e.Prompt()+l.text[begin:])
			}
			continue
		}
		switch {
		case errors.Is(err, io.EOF) && l.text != "":
			echo("\r\n")
			return l.text, nil
		case err != nil:
			echo("\r\n")
			return "", err
		case k.is(keyCancel):
			echo("^C\r\n")
			return "", ErrCancelled
		case k.is(keyEnd4) && l.text == "":
			echo("\r\n")
			return "", io.EOF
		case k.is(keyEnter):
			echo("\r\n")
			if l.e.Unfinished == nil || !l.e.Unfinished(l.text) {
				return l.text, nil
			}
			l.text += "\n"
			begin = len(l.text)
			_, _ = io.WriteString(l.e.Asker.Out, l.e.More)
		case k.is(keyBackspace) && len(l.text) > begin:
			l.at = len(l.text)
			from := l.left()
			n := width(l.text[from:])
			l.text = l.text[:from]
			echo(strings.Repeat("\b", n) + strings.Repeat(" ", n) + strings.Repeat("\b", n))
		case k.is(keyText, keyPaste):
			text := strings.TrimRight(k.text, "\n")
			l.text += text
			echo(strings.ReplaceAll(text, "\n", "\r\n"))
		}
	}
}
