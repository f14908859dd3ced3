package stderrlog

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMain is also the process that writes to a log, for the tests that want several.
func TestMain(m *testing.M) {
	if path := os.Getenv("STDERRLOG_TEST_PATH"); path != "" {
		writeMany(path, os.Getenv("STDERRLOG_TEST_NAME"))
		return
	}
	m.Run()
}

// manyLines is how many lines each of several processes writes.
const manyLines = 2000

func writeMany(path, name string) {
	l := New(path, os.Getpid(), "writer "+name)
	if n, err := strconv.ParseInt(os.Getenv("STDERRLOG_TEST_SIZE"), 10, 64); err == nil {
		l.most = n
	}
	for i := range manyLines {
		l.Line(fmt.Sprintf("%s %d %s", name, i, strings.Repeat("x", 40)))
		if i%7 == 0 {
			l.Flush()
		}
	}
	l.End(time.Now(), "exit status 0", false)
}

// writers is how many processes write to a log at the same time.
const writers = 4

// startWriters has several processes write to a log that is put aside at that size. The channel is closed at their end.
func startWriters(t *testing.T, path string, size int) <-chan struct{} {
	t.Helper()
	var all sync.WaitGroup
	for i := range writers {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), "STDERRLOG_TEST_PATH="+path, "STDERRLOG_TEST_NAME="+strconv.Itoa(i), "STDERRLOG_TEST_SIZE="+strconv.Itoa(size))
		all.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	done := make(chan struct{})
	go func() {
		all.Wait()
		close(done)
	}()
	return done
}

// counted looks at the lines of the writers: each must be whole, and those of each process in their order.
func counted(t *testing.T, lines []Line, next map[string]int) (total int) {
	t.Helper()
	for _, l := range lines {
		if l.Kind != KindStderr {
			continue
		}
		words := strings.Fields(l.Text)
		if l.PID == 0 || len(words) != 3 || words[2] != strings.Repeat("x", 40) {
			t.Errorf("a torn line: %q", l.Text)
			continue
		}
		n, err := strconv.Atoi(words[1])
		// What was written while the log was put aside twice is written again, to be sure: the lines of one write.
		if again := n < next[words[0]] && n >= next[words[0]]-7; again {
			continue
		}
		if err != nil || n < next[words[0]] {
			t.Errorf("process %s: line %s after line %d", words[0], words[1], next[words[0]]-1)
			continue
		}
		next[words[0]] = n + 1
		total++
	}
	return total
}

func TestST03Log(t *testing.T) {
	path := filepath.Join(t.TempDir(), "logs", "srv.log")
	quiet := New(path, 1, "srv")
	quiet.Flush()
	quiet.End(time.Now(), "exit status 0", false)
	if Exists(path) {
		t.Error("a file for a server that wrote nothing and ended well")
	}
	before := time.Now().UTC().Truncate(time.Millisecond)
	for pid := range 2 {
		l := New(path, pid+1, "srv -v")
		l.Line("boom | + -")
		l.Flush()
		l.Line("and\nmore")
		l.End(time.Now(), "exit status 7", false)
	}
	crashed := New(path, 3, "srv")
	crashed.End(time.Now(), "signal: killed", true)
	lines, err := NewReader(path).Next()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"1 start srv -v", "1 stderr boom | + -", "1 stderr and more", "1 end exit status 7",
		"2 start srv -v", "2 stderr boom | + -", "2 stderr and more", "2 end exit status 7",
		"3 start srv", "3 end signal: killed",
	}
	var got []string
	for _, l := range lines {
		got = append(got, fmt.Sprintf("%d %s %s", l.PID, l.Kind, l.Text))
		if l.Time.Before(before) || l.Time.After(time.Now()) || l.Time.Location() != time.UTC {
			t.Errorf("%v is not the time, in UTC", l.Time)
		}
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q, want %q", got, want)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 && os.PathSeparator == '/' {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// TestST03LogIsBounded shows that a flood leaves one old log and one new one, each of about the limit.
func TestST03LogIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "srv.log")
	line := strings.Repeat("x", 1000)
	for range 3 {
		l := New(path, 1, "srv")
		for range 2 * maxSize / 1000 {
			l.Line(line)
		}
		l.Flush()
	}
	var total int64
	for _, name := range []string{path, path + oldSuffix} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if total > 2*maxSize+3*maxHeld || total < maxSize {
		t.Errorf("%d bytes", total)
	}
	if files, _ := filepath.Glob(path + "*"); len(files) != 2 {
		t.Errorf("files %q", files)
	}
}

func TestST03LogThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l := New(filepath.Join(dir, "file", "srv.log"), 1, "srv")
	l.Line("boom")
	l.Flush()
	l.End(time.Now(), "exit status 1", true)
	l = New(dir, 1, "srv")
	l.Line("boom")
	l.Flush()
	if _, err := NewReader(dir).Next(); err == nil {
		t.Error("a directory is read as a log")
	}
	none := New("", 1, "srv")
	none.Line("boom")
	none.Flush()
	none.End(time.Now(), "exit status 1", true)
}

// TestSeveralProcessesLoseNothing has the log put aside once, by whichever of the processes comes first: all lines are
// in the two files then.
func TestSeveralProcessesLoseNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "srv.log")
	const size = writers * manyLines * 50 // of a line of about 75 bytes
	<-startWriters(t, path, size)
	lines, err := NewReader(path).Next()
	if err != nil {
		t.Fatal(err)
	}
	if got := counted(t, lines, map[string]int{}); got != writers*manyLines {
		t.Errorf("%d of %d lines", got, writers*manyLines)
	}
	if info, err := os.Stat(path + oldSuffix); err != nil || info.Size() < size {
		t.Errorf("the old log was put aside before it was full: %v", err)
	}
}

// TestReaderBesideSeveralProcesses reads a log that is put aside all the time. What is put aside twice between two looks
// is missed, and nothing else: no line is torn or comes in another order.
func TestReaderBesideSeveralProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "srv.log")
	done := startWriters(t, path, 32<<10)
	r := NewReader(path)
	next := map[string]int{}
	total := 0
	for over := false; ; {
		lines, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		total += counted(t, lines, next)
		if over && len(lines) == 0 {
			break
		}
		select {
		case <-done:
			over = true
		default:
		}
	}
	if total < manyLines/2 {
		t.Errorf("%d lines of %d processes", total, len(next))
	}
}

// TestReaderTellsWhatItMissed has the log put aside once between two looks, which loses nothing, and then twice.
func TestReaderTellsWhatItMissed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "srv.log")
	r := NewReader(path)
	for i, times := range []int{1, 1, 2, 1, 5, 0} {
		for n := range times {
			l := New(path, i+1, "srv")
			l.most = 1 // so that each begins a file
			l.Line(strings.Repeat("x", n+1))
			l.Flush()
		}
		lines, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if want := times > 1; r.Missed() != want {
			t.Errorf("%d: after %d files: missed is %t, and %d lines came", i, times, r.Missed(), len(lines))
		}
	}
	if err := errors.Join(os.Remove(path), os.Remove(path+oldSuffix)); err != nil {
		t.Fatal(err)
	}
	New(path, 9, "srv").End(time.Now(), "exit status 1", true)
	if lines, err := r.Next(); err != nil || len(lines) != 2 || r.Missed() {
		t.Errorf("after the log was cleared away: %d lines, missed is %t, %v", len(lines), r.Missed(), err)
	}
}

// TestReaderGoesOn follows a log that does not exist yet, is put aside, emptied, and has half a line at its end.
func TestReaderGoesOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "srv.log")
	r := NewReader(path)
	read := func(want ...string) {
		t.Helper()
		lines, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range lines {
			got = append(got, l.Text)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	write := func(name, text string) {
		t.Helper()
		f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	move := func() {
		t.Helper()
		if err := os.Rename(path, path+oldSuffix); err != nil {
			t.Fatal(err)
		}
	}
	read()
	write(path, "1\n2\n")
	read("1", "2")
	read()
	write(path, "3")
	read()
	write(path, "3\n4\n")
	move()
	read("33", "4")
	write(path+oldSuffix, "5\n")
	write(path, "6\n")
	read("5", "6")
	move()
	write(path, "7\n")
	move()
	write(path, "8\n")
	read("7", "8") // put aside twice between two looks
	write(path, "half")
	read()
	move()
	write(path, "9\n")
	write(path+oldSuffix, " a line\n")
	read("half a line", "9")
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	read()
	write(path, "10\n")
	read("10")

	r = NewReader(path)
	read("8", "half a line", "10")
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"2026-11-30T08:32:45.123Z 4711 | boom", "2026-11-30T08:32:45.123Z 4711 + npx", "2026-11-30T08:32:45.123Z 4711 -",
		"boom", "", " ", "2026-11-30T08:32:45.123Z 4711 ?", "2026-11-30T08:32:45.123Z -1 | x", "a b | c",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l := parse(text)
		if l.PID == 0 && (l.Text != text || !l.Time.IsZero() || l.Kind != KindStderr) || !strings.HasSuffix(text, l.Text) {
			t.Errorf("%q is %+v", text, l)
		}
	})
}
