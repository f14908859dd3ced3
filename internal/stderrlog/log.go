// Package stderrlog keeps what servers write to their standard error in files, and reads it again.
//
// How a log is kept. Each server has a file, and one more with ".1" at its end for what came before: when the file has
// become large it is renamed, so that a crash at any moment leaves everything where it was. Several processes write to one
// file, each whole lines with one write at its end, and none holds the file open in between. Only the renaming is done
// under a lock, which nobody waits for: without that two processes could rename one after the other, and the second would
// put an empty log in the place of a full one. What was written to a file that was renamed meanwhile is in the old log.
//
// What is written here has been masked and made harmless. Whose standard error it is, and where the file is, is not known
// here.
package stderrlog

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

const (
	// oldSuffix is at the end of the name of the log that came before.
	oldSuffix = ".1"
	// maxSize is how large a log becomes before it is put aside as the one old log, in bytes. It is some thousand lines:
	// enough for the story of a crash, and nothing that fills a disk.
	maxSize = 1 << 20
	// maxHeld is how much is kept back before it is written, in bytes.
	maxHeld = 64 << 10
	// stamp is the form of a time in a log: UTC, in milliseconds, always of the same length.
	stamp = "2006-01-02T15:04:05.000Z"
)

// The marks of the kinds of lines.
const (
	markStderr = '|'
	markStart  = '+'
	markEnd    = '-'
)

// Log writes the log of one process. All methods of a nil Log do nothing, and so do those of one whose disk is full: a log
// is no reason to fail. It is not safe for concurrent use.
type Log struct {
	path    string
	pid     int
	command string
	begun   time.Time
	// most is the size that the file may have.
	most int64
	held []byte
	// told is set when the start of the process has been written down.
	told bool
}

// New returns the log at path for the process of that id and command, which has been started just now; nil if path is "".
// The file is opened when there is something to keep: most servers write nothing.
func New(path string, pid int, command string) *Log {
	if path == "" {
		return nil
	}
	return &Log{path: path, pid: pid, command: command, begun: time.Now(), most: maxSize}
}

// Line adds a line, with the time. It is in the file after [Log.Flush].
func (l *Log) Line(text string) {
	if l == nil {
		return
	}
	l.tell()
	l.add(time.Now(), markStderr, text)
	if len(l.held) > maxHeld {
		l.Flush()
	}
}

// End adds how the process ended, and when, and writes everything. If the process wrote nothing, this is kept only if it is
// worth telling by itself.
func (l *Log) End(at time.Time, how string, worth bool) {
	if l == nil || !l.told && !worth {
		return
	}
	l.tell()
	l.add(at, markEnd, how)
	l.Flush()
}

// tell writes the start of the process down, once.
func (l *Log) tell() {
	if !l.told {
		l.told = true
		l.add(l.begun, markStart, l.command)
	}
}

func (l *Log) add(at time.Time, mark byte, text string) {
	l.held = at.UTC().AppendFormat(l.held, stamp)
	l.held = append(l.held, ' ')
	l.held = strconv.AppendInt(l.held, int64(l.pid), 10)
	l.held = append(l.held, ' ', mark, ' ')
	l.held = append(l.held, strings.ReplaceAll(text, "\n", " ")...)
	l.held = append(l.held, '\n')
}

// Flush writes what has been kept back.
func (l *Log) Flush() {
	if l == nil || len(l.held) == 0 {
		return
	}
	const attempts = 5 // each but the first is for a log that grew by twice its size while it was written to
	for range attempts {
		if l.write() {
			break
		}
	}
	l.held = l.held[:0]
}

// write writes what is held to the end of the file. It reports false if the file is gone: renamed twice, and so replaced.
func (l *Log) write() bool {
	file, err := l.open()
	if err != nil {
		return true // there is no better place
	}
	// While it is open no other file can get its number.
	defer func() { _ = file.Close() }() // there is nobody to tell
	_, err = file.Write(l.held)
	info, statErr := file.Stat()
	if err != nil || statErr != nil {
		return true
	}
	for _, name := range []string{l.path, l.path + oldSuffix} {
		if there, err := os.Stat(name); err == nil && os.SameFile(there, info) {
			return true
		}
	}
	return false
}

// errNotRegular is a log that is no file: a pipe would keep the server waiting.
var errNotRegular = errors.New("not a regular file")

// open opens the file, which only its owner may read, and puts a large one aside before.
func (l *Log) open() (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
		return nil, err
	}
	if info, err := os.Stat(l.path); err == nil {
		if !info.Mode().IsRegular() {
			return nil, errNotRegular
		}
		if info.Size() > l.most {
			l.rotate()
		}
	}
	return os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}

// rotate puts the file aside, unless another process is about to, or has done it. Where it cannot be done (Windows does not
// rename a file that is being read), the log goes on growing until it can.
func (l *Log) rotate() {
	lock := flock.New(filepath.Join(filepath.Dir(l.path), ".lock"), flock.SetPermissions(0o600))
	if mine, err := lock.TryLock(); err != nil || !mine {
		return
	}
	defer func() { _ = lock.Unlock() }()
	if info, err := os.Stat(l.path); err == nil && info.Size() > l.most {
		_ = os.Rename(l.path, l.path+oldSuffix)
	}
}
