package stderrlog

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind says what a line of a log is.
type Kind string

// The kinds.
const (
	// KindStderr is a line that a server wrote.
	KindStderr Kind = "stderr"
	// KindStart says that a process was started, and with which command.
	KindStart Kind = "start"
	// KindEnd says how a process ended.
	KindEnd Kind = "end"
)

// Line is one line of a log.
type Line struct {
	// Time is when it was written, in UTC; zero if the log does not tell.
	Time time.Time
	// PID is the id of the server's process, 0 if the log does not tell.
	PID  int
	Kind Kind
	// Text is what the server wrote, the command that was started, or how it ended.
	Text string
}

// parse reads a line. What is not of our making is text without a time.
func parse(text string) Line {
	at, rest, _ := strings.Cut(text, " ")
	pid, rest, _ := strings.Cut(rest, " ")
	t, err := time.Parse(stamp, at)
	n, pidErr := strconv.Atoi(pid)
	if err != nil || pidErr != nil || n <= 0 || len(rest) < 2 || rest[1] != ' ' {
		return Line{Kind: KindStderr, Text: text}
	}
	line := Line{Time: t, PID: n, Text: rest[2:]}
	switch rest[0] {
	case markStderr:
		line.Kind = KindStderr
	case markStart:
		line.Kind = KindStart
	case markEnd:
		line.Kind = KindEnd
	default:
		return Line{Kind: KindStderr, Text: text}
	}
	return line
}

// Exists reports whether there is a log at path, be it an old one.
func Exists(path string) bool {
	for _, name := range []string{path, path + oldSuffix} {
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// maxRead bounds what is read of a file at once. A log is larger only if it could not be put aside for long.
const maxRead = 16 << 20

// Reader reads a log while it is being written. It holds no file open between the calls, so that the log can be put aside.
type Reader struct {
	path string
	// files are how far the old log and the log have been read. Both are looked at each time: a process that opened the
	// log before it was put aside writes to it afterwards.
	files []*position
	// missed is set when the log was put aside twice since it was looked at, and so the end of one is gone unread.
	missed bool
}

// Missed reports whether lines are missing before those that [Reader.Next] has returned last: they were written, put aside
// and thrown away before anybody looked.
func (r *Reader) Missed() bool { return r.missed }

// position is how much of a file has been read.
type position struct {
	info os.FileInfo
	// head is how the file begins. The system gives the number of a file that is gone to a new one, so that alone does not
	// tell whether it is the same.
	head   []byte
	offset int64
	// rest is the beginning of a line whose end has not been read.
	rest []byte
}

// maxHead is how much of a file's beginning is remembered: a time, a process, and some of what it said.
const maxHead = 64

// NewReader returns a reader that begins with the oldest line that is kept of the log at path. The log need not exist yet.
func NewReader(path string) *Reader { return &Reader{path: path} }

// Next returns the lines that have come since the last call, none if there are none.
func (r *Reader) Next() ([]Line, error) {
	const attempts = 10 // each but the first is for a log that was put aside between two looks
	r.missed = false
	for range attempts {
		lines, ok, err := r.look()
		if ok || err != nil {
			return lines, err
		}
	}
	return nil, nil // another time
}

// look returns what is new in both files, and false if the log was put aside in between.
func (r *Reader) look() (lines []Line, ok bool, err error) {
	now, err := r.read(r.path)
	if err != nil {
		return nil, false, err
	}
	defer now.close() // not before the end: while it is open no other file can get its number
	before, err := r.read(r.path + oldSuffix)
	if err != nil {
		return nil, false, err
	}
	defer before.close()
	there, err := os.Stat(r.path)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, false, err
	case (err == nil) != (now != nil), now != nil && !os.SameFile(there, now.at.info),
		now != nil && before != nil && os.SameFile(now.at.info, before.at.info):
		return nil, false, nil
	}
	return r.take(before, now), true, nil
}

// piece is what is new in a file, which is open.
type piece struct {
	file *os.File
	// at is how much had been read before.
	at   position
	data []byte
}

func (p *piece) close() {
	if p != nil {
		_ = p.file.Close() // it was only read
	}
}

// read returns what is new in one file, nil if there is no such file.
func (r *Reader) read(name string) (p *piece, err error) {
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // a file that is not there is nothing wrong
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = file.Close() // it was only read
			p = nil
		}
	}()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errNotRegular}
	}
	head := make([]byte, maxHead)
	n, err := file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	p = &piece{file: file, at: position{info: info, head: head[:n]}}
	for _, f := range r.files {
		if os.SameFile(f.info, info) && bytes.HasPrefix(p.at.head, f.head) && info.Size() >= f.offset {
			p.at.offset, p.at.rest = f.offset, f.rest
		}
	}
	if from := info.Size() - maxRead; from > p.at.offset {
		p.at.offset, p.at.rest = from, nil
	}
	p.data, err = io.ReadAll(io.NewSectionReader(file, p.at.offset, info.Size()-p.at.offset))
	return p, err
}

// take returns the lines of what is new, and remembers how far that is.
func (r *Reader) take(pieces ...*piece) []Line {
	var lines []Line
	var files []*position
	known := func(p *piece) bool {
		return slices.ContainsFunc(r.files, func(f *position) bool { return os.SameFile(f.info, p.at.info) && p.at.offset == f.offset })
	}
	r.missed = len(r.files) > 0
	for _, p := range pieces {
		r.missed = r.missed && p != nil && !known(p) // if one is gone altogether, somebody has cleared away
	}
	for _, f := range r.files {
		on := func(p *piece) bool { return p != nil && os.SameFile(f.info, p.at.info) && p.at.offset == f.offset }
		if len(f.rest) > 0 && !slices.ContainsFunc(pieces, on) {
			lines = append(lines, parse(string(f.rest))) // its end will never come
		}
	}
	for _, p := range pieces {
		if p == nil {
			continue
		}
		data := append(p.at.rest, p.data...)
		for {
			text, rest, found := bytes.Cut(data, []byte("\n"))
			if !found {
				break
			}
			lines = append(lines, parse(string(text)))
			data = rest
		}
		at := p.at
		at.offset += int64(len(p.data))
		at.rest = bytes.Clone(data)
		files = append(files, &at)
	}
	r.files = files
	return lines
}
