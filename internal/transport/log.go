package transport

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// maxLog is how large the log of a server becomes before it is put aside as the one old log, in bytes. It is some
// thousand lines: enough for the story of a crash, and nothing that fills a disk.
const maxLog = 1 << 20

// stderrLog keeps what a child writes to its standard error in a file: "x.log", and "x.log.1" for what came before. All
// methods of a nil log do nothing, and so do those of one whose disk is full: a log is no reason to fail.
type stderrLog struct {
	path, first string
	file        *os.File
	w           *bufio.Writer
	size        int64
	rotated     bool
}

// newLog returns the log at path, nil if that is "". The file is opened, and begins with the line first, when there is
// something to keep: most servers write nothing.
func newLog(path, first string) *stderrLog {
	if path == "" {
		return nil
	}
	return &stderrLog{path: path, first: first}
}

// open opens the file. Only its owner may read it.
func (l *stderrLog) open() {
	if os.MkdirAll(filepath.Dir(l.path), 0o700) != nil {
		return
	}
	if info, err := os.Stat(l.path); err == nil && !info.Mode().IsRegular() {
		return // a pipe would keep the server waiting
	}
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	info, err := file.Stat()
	if err == nil && info.Size() > maxLog && !l.rotated {
		l.rotated = true // once: another process may hold the old file
		_ = file.Close()
		_ = os.Rename(l.path, l.path+".1")
		l.open()
		return
	}
	l.rotated = false
	if info != nil {
		l.size = info.Size()
	}
	l.file, l.w = file, bufio.NewWriter(file)
}

// line adds a line.
func (l *stderrLog) line(text string) {
	if l == nil {
		return
	}
	if l.size > maxLog {
		l.close()
		l.size = 0
	}
	if l.file == nil {
		l.open()
		if l.file == nil {
			return
		}
		if l.first != "" {
			text, l.first = fmt.Sprintf("--- %s %s\n%s", time.Now().UTC().Format(time.RFC3339), l.first, text), ""
		}
	}
	n, _ := l.w.WriteString(text + "\n")
	l.size += int64(n)
}

// flush writes what has been kept back.
func (l *stderrLog) flush() {
	if l != nil && l.file != nil {
		_ = l.w.Flush()
	}
}

func (l *stderrLog) close() {
	if l != nil && l.file != nil {
		l.flush()
		_ = l.file.Close()
		l.file = nil
	}
}
