package render

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/mcpctl/mcpctl/internal/latency"
)

// Ping is the sum of many round trips.
type Ping struct {
	// Server is the server's name.
	Server string
	// Sent are the round trips that came to an end, Lost those without an answer.
	Sent, Lost int
	// Replaced counts the sessions that were lost and replaced.
	Replaced int
	// Elapsed is the time of it all.
	Elapsed time.Duration
	// Times are those of the answers.
	Times *latency.Times
	// Gap is the longest time without an answer, from the beginning to the end.
	Gap time.Duration
}

// PingHead returns the line that begins a series of round trips: the server, how it is spoken to, and what it says of
// itself.
func PingHead(s Screen, server, way, about string) string {
	server = OneLine(server)
	line := Cut(fmt.Sprintf("PING %s (%s): %s", server, OneLine(way), OneLine(about)), s.Width)
	if rest, ok := strings.CutPrefix(line, "PING "+server); ok {
		return "PING " + s.Paint(Strong, server) + rest + "\n"
	}
	return line + "\n"
}

// PingAnswer returns the line of a round trip. Refused is the error that the server answered with, "" for none.
func PingAnswer(s Screen, seq int, method string, elapsed time.Duration, refused string) string {
	line := fmt.Sprintf("seq=%d %s time=%s", seq, OneLine(method), Milliseconds(elapsed))
	if refused == "" {
		return Cut(line, s.Width) + "\n"
	}
	room := s.Width
	if room > 0 {
		room = max(room-ansi.StringWidth(line), 1)
	}
	return Cut(line, s.Width) + s.Paint(Faint, Cut(" answered with an error: "+OneLine(refused), room)) + "\n"
}

// PingLost returns the lines of a round trip without an answer: why is what somebody looks for, so that it may take a few.
func PingLost(s Screen, seq int, why string) string {
	const most = 3
	text := fmt.Sprintf("seq=%d lost: %s", seq, OneLine(why))
	lines := []string{text}
	if s.Width > 0 {
		lines = strings.Split(Wrap(text, s.Width, ""), "\n")
		if len(lines) > most {
			lines = append(lines[:most-1], Cut(strings.Join(lines[most-1:], " "), s.Width))
		}
	}
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(s.Paint(Bad, Cut(line, s.Width)) + "\n")
	}
	return b.String()
}

// PingReplaced returns the line of a lost session that was replaced. The cause gives way to what follows it.
func PingReplaced(s Screen, cause string, before, after int, elapsed time.Duration) string {
	const head = "session lost ("
	tail := fmt.Sprintf("); generation %d → %d, in %s", before, after, Milliseconds(elapsed))
	if s.Width > 0 {
		const leastCause = 8 // less says nothing
		cause = Cut(OneLine(cause), max(s.Width-len(head)-ansi.StringWidth(tail), leastCause))
	}
	return s.Paint(Warning, Cut(head+OneLine(cause)+tail, s.Width)) + "\n"
}

// PingNote returns a line that is neither an answer nor the lack of one.
func PingNote(s Screen, text string) string {
	return s.Paint(Faint, Cut(OneLine(text), s.Width)) + "\n"
}

// Sum returns the lines that close a series of round trips: how many were lost, how long they took, and how these times
// are spread.
func (p Ping) Sum(s Screen) string {
	var b strings.Builder
	line := func(style Style, format string, args ...any) {
		b.WriteString(s.Paint(style, Cut(fmt.Sprintf(format, args...), s.Width)) + "\n")
	}
	b.WriteByte('\n')
	line(Strong, "--- %s ping statistics ---", OneLine(p.Server))
	style := Plain
	if p.Lost > 0 {
		style = Bad
	}
	line(style, "%d sent, %d received, %d lost (%s), %s, in %s", p.Sent, p.Times.Count(), p.Lost, share(p.Lost, p.Sent),
		replaced(p.Replaced), rough(p.Elapsed))
	if p.Times.Count() == 0 {
		if p.Gap > 0 {
			line(Plain, "longest time without an answer %s", Milliseconds(p.Gap))
		}
		return b.String()
	}
	line(Plain, "min %s, median %s, p95 %s, max %s", Milliseconds(p.Times.Min()), Milliseconds(p.Times.Percentile(50)),
		Milliseconds(p.Times.Percentile(95)), Milliseconds(p.Times.Max()))
	if p.Gap > 0 {
		line(Plain, "longest time without an answer %s", Milliseconds(p.Gap))
	}
	if rows := pingRows(p.Times.Rows()); len(rows) > 1 { // one row says no more than the lines above
		b.WriteByte('\n')
		b.WriteString(histogram(s, rows))
	}
	return b.String()
}

func replaced(n int) string {
	if n == 1 {
		return "1 session replaced"
	}
	return strconv.Itoa(n) + " sessions replaced"
}

// share returns n of all in percent, and never 0 or 100 for what is some.
func share(n, all int) string {
	percent := 100 * float64(n) / float64(max(all, 1))
	if n > 0 && percent < 0.1 {
		return "<0.1%"
	}
	if n < all && percent > 99.9 {
		return ">99.9%"
	}
	return strings.TrimSuffix(strconv.FormatFloat(percent, 'f', 1, 64), ".0") + "%"
}

// rough returns a time as people say it: the digits below a second matter only below a minute.
func rough(d time.Duration) string {
	if d < time.Minute {
		return Milliseconds(d)
	}
	return d.Round(time.Second).String()
}

// Milliseconds returns a measured time with the digits that matter: three of them, two below a millisecond.
func Milliseconds(d time.Duration) string {
	number := func(f float64, digits int) string { return strconv.FormatFloat(f, 'f', digits, 64) }
	switch ms := float64(d) / float64(time.Millisecond); {
	case ms < 9.995:
		return number(ms, 2) + " ms"
	case ms < 99.95:
		return number(ms, 1) + " ms"
	case ms < 999.5:
		return number(ms, 0) + " ms"
	case ms < 99_950:
		return number(ms/1000, 1) + " s"
	default:
		return number(ms/1000, 0) + " s"
	}
}

// mostRows is how many rows a histogram has: more are hard to take in at once.
const mostRows = 8

// pingRows joins rows until there are few enough of them: first those of the same power of ten, and then the last ones.
func pingRows(rows []latency.Row) []latency.Row {
	if len(rows) <= mostRows {
		return rows
	}
	var joined []latency.Row
	power := func(r latency.Row) float64 { return math.Floor(math.Log10(float64(max(r.From, 1)))) }
	for _, r := range rows {
		if n := len(joined); n > 0 && power(joined[n-1]) == power(r) || len(joined) == mostRows {
			last := &joined[len(joined)-1]
			last.To, last.Count = r.To, last.Count+r.Count
			continue
		}
		joined = append(joined, r)
	}
	return joined
}

// histogram draws a bar for each row. Its length is the row's share of the largest.
func histogram(s Screen, rows []latency.Row) string {
	const widest, narrowest = 40, 4
	labels, counts := make([]string, len(rows)), make([]string, len(rows))
	wide, digits, most := 0, 0, 0
	for i, r := range rows {
		labels[i], counts[i] = rangeOf(r), strconv.Itoa(r.Count)
		wide, digits, most = max(wide, ansi.StringWidth(labels[i])), max(digits, len(counts[i])), max(most, r.Count)
	}
	bar := widest
	if s.Width > 0 {
		bar = min(max(s.Width-wide-digits-2*len(gap), narrowest), widest)
	}
	var b strings.Builder
	for i, r := range rows {
		line := strings.Repeat(" ", wide-ansi.StringWidth(labels[i])) + labels[i] + gap +
			strings.Repeat(" ", digits-len(counts[i])) + counts[i] + gap + blocks(r.Count, most, bar)
		b.WriteString(Cut(line, s.Width) + "\n")
	}
	return b.String()
}

// blocks returns a bar for n of most, in eighths of a column. What there is shows.
func blocks(n, most, width int) string {
	const eighths = 8
	length := max(n*width*eighths/max(most, 1), 1)
	bar := strings.Repeat("█", length/eighths)
	if rest := length % eighths; rest > 0 {
		bar += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return bar
}

// rangeOf returns the ends of a row, with the unit once if it is the same.
func rangeOf(r latency.Row) string {
	unit := func(d time.Duration) (time.Duration, string) {
		if d >= time.Second {
			return time.Second, "s"
		}
		return time.Millisecond, "ms"
	}
	format := func(d, of time.Duration) string { return strconv.FormatFloat(float64(d)/float64(of), 'f', -1, 64) }
	if r.To == math.MaxInt64 {
		of, name := unit(r.From)
		return format(r.From, of) + " " + name + " and more"
	}
	from, fromName := unit(r.From)
	to, toName := unit(r.To)
	if fromName == toName || r.From == 0 {
		return fmt.Sprintf("%s – %s %s", format(r.From, to), format(r.To, to), toName)
	}
	return fmt.Sprintf("%s %s – %s %s", format(r.From, from), fromName, format(r.To, to), toName)
}
