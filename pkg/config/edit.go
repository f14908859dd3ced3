package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// How a file is changed.
//
// The lock is a file of its own beside the configuration, because the configuration is replaced by a rename and a lock
// on the old file would guard nothing. It is advisory: it orders mcpctl's own edits. Readers need none, since the
// rename shows them the old file or the new one. The lock is taken on the real file's directory, after symbolic links,
// so that all ways to the file share it. Whoever leaves removes the lock file; whoever enters makes sure that the file
// it has locked is still the one in the directory.

const (
	// lockWait is how long an edit waits while one other edit has the lock. Edits take milliseconds, on a busy disk
	// tenths of a second; one that takes this long is stuck. However many are in the queue, it moves.
	lockWait = 10 * time.Second
	// lockPoll is the longest pause between two looks at the lock. Locks that wait in the kernel cannot be given up.
	lockPoll = 50 * time.Millisecond
	// maxLinks is how many symbolic links are followed, as in Linux.
	maxLinks = 40
)

// Edit changes the configuration file at path. It locks the file against other edits (and waits for them as long as
// none of them takes ten seconds), parses it strictly, lets change work on it, and replaces it as a whole, with mode 0600.
// A file without permission to write is refused, although a rename would not need it. A symbolic link stays one. A file that does not exist is made, and its directories with mode 0700. If change
// returns an error, changes nothing, or if anything else fails, the file stays as it is and nothing else is left behind.
// A file that cannot be parsed is never written.
//
// The Document is valid only until change returns. The change must not call Edit for the same file.
func Edit(path string, change func(*Document) error) error {
	return EditContext(context.Background(), path, change)
}

// EditContext is Edit, giving up the wait for the lock when ctx ends.
func EditContext(ctx context.Context, path string, change func(*Document) error) error {
	if path == "" || path == "-" {
		return &Error{File: path, Message: "there is no file to edit", Hint: "name one with --config"}
	}
	target, err := followLinks(path)
	if err != nil {
		return fileError(path, "cannot be found", err)
	}
	made, err := makeDir(filepath.Dir(target))
	written := false
	if err == nil {
		written, err = editLocked(ctx, path, target, change)
	} else {
		err = fileError(path, "cannot make its directory", err)
	}
	if !written {
		for _, dir := range made {
			// This succeeds for empty ones only, which is what is wanted.
			_ = os.Remove(dir)
		}
	}
	return err
}

// editLocked does the work of Edit on the real file, target, and says whether that was written. Messages use path.
func editLocked(ctx context.Context, path, target string, change func(*Document) error) (written bool, err error) {
	unlock, err := lock(ctx, path, target, lockWait)
	if err != nil {
		return false, err
	}
	defer unlock()

	old, err := readForEdit(path, target)
	if err != nil {
		return false, err
	}
	content := splitContent(old)
	d, err := newDocument(path, content.text)
	if err != nil {
		return false, err
	}
	if err := change(d); err != nil {
		return false, err
	}
	if d.text == content.text {
		return false, nil
	}
	content.text = d.text
	data := content.bytes()
	if _, err := Parse(path, data); err != nil {
		return false, fmt.Errorf("the change would break the file, so it was not written: %w", err)
	}
	if err := replaceFile(path, target, old, data, privateMode); err != nil {
		return false, err
	}
	return true, nil
}

// privateMode is the mode of files of ours: they may hold secrets.
const privateMode fs.FileMode = 0o600

// replaceFile puts data in place of what the file held when it was read under the lock.
func replaceFile(path, target string, old, data []byte, mode fs.FileMode) error {
	removeLeftovers(target)
	err := writeFile(target, data, mode, func() error {
		// Editors and other programs know nothing of the lock.
		now, err := readForEdit(path, target)
		if err != nil || (now == nil) != (old == nil) || !bytes.Equal(now, old) {
			return ErrChanged
		}
		return nil
	})
	if err == nil {
		return nil
	}
	e := fileError(path, "cannot be written", err)
	if errors.Is(err, ErrChanged) {
		e.Hint = "another program has written it; look at it, and try again"
	}
	return e
}

// removeLeftovers removes the temporary files of edits that were killed. Whoever has the lock knows that nobody is
// writing them now. They hold what the file holds, so they are not to lie about.
func removeLeftovers(target string) {
	dir, base := filepath.Split(target)
	entries, err := os.ReadDir(filepath.Dir(target))
	if err != nil {
		return
	}
	for _, entry := range entries {
		number, ours := strings.CutPrefix(entry.Name(), "."+base+".")
		number, temporary := strings.CutSuffix(number, ".tmp")
		if ours && temporary && number != "" && strings.Trim(number, "0123456789") == "" && entry.Type().IsRegular() {
			_ = os.Remove(filepath.Join(dir, entry.Name()))
		}
	}
}

// followLinks returns the file that path stands for, which need not exist.
func followLinks(path string) (string, error) {
	target := path
	for range maxLinks {
		info, err := os.Lstat(target)
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode()&fs.ModeSymlink == 0 {
			return target, nil
		}
		if err != nil {
			return "", err
		}
		link, err := os.Readlink(target)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(link) {
			// Two dots in a link go up from the real directory.
			dir, err := filepath.EvalSymlinks(filepath.Dir(target))
			if err != nil {
				return "", err
			}
			link = filepath.Join(dir, link)
		}
		target = link
	}
	return "", errors.New("too many symbolic links")
}

// makeDir makes a directory and those above it, and returns the ones it made, the deepest first.
func makeDir(dir string) (made []string, err error) {
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(d); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		made = append(made, d)
		if filepath.Dir(d) == d {
			// The root of a drive that is not there.
			break
		}
	}
	return made, os.MkdirAll(dir, 0o700)
}

// lock takes the lock of the file target and returns how to give it back. It waits for others, for each of them at most
// so long.
func lock(ctx context.Context, path, target string, wait time.Duration) (unlock func(), err error) {
	name := filepath.Join(filepath.Dir(target), "."+filepath.Base(target)+".lock")
	// Whoever has the lock has set the time of its file, so that the others see it change hands.
	var taken time.Time
	deadline := time.Now().Add(wait)
	for {
		// A handle of its own for every edit makes the lock hold between goroutines too.
		l := flock.New(name)
		locked, err := l.TryLock()
		switch {
		case locked && isCurrent(l, name):
			now := time.Now()
			_ = os.Chtimes(name, now, now)
			return func() { release(l, name) }, nil
		case locked:
			// Its owner removed the file between our opening it and our locking it.
			_ = l.Unlock()
		case errors.Is(err, fs.ErrNotExist):
			// An edit that failed took the directory away that it had made.
			if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
				return nil, fileError(path, "cannot make its directory", err)
			}
		case err != nil:
			e := fileError(path, "cannot be locked", err)
			e.Hint = "the directory " + filepath.Dir(name) + " must be writable"
			return nil, e
		}
		if info, err := os.Stat(name); err == nil && !info.ModTime().Equal(taken) {
			taken, deadline = info.ModTime(), time.Now().Add(wait)
		}
		if time.Now().After(deadline) {
			return nil, &Error{File: path, Message: "another mcpctl has been changing the file for " + formatDuration(wait), Hint: "end it, or try again; the lock is " + name}
		}
		select {
		case <-ctx.Done():
			return nil, fileError(path, "cannot be locked", context.Cause(ctx))
		case <-time.After(rand.N(lockPoll)):
		}
	}
}

// isCurrent reports whether the locked file is the one that others find under its name.
func isCurrent(l *flock.Flock, name string) bool {
	mine, err := l.Stat()
	if err != nil {
		return false
	}
	theirs, err := os.Stat(name)
	return err == nil && os.SameFile(mine, theirs)
}

// release gives the lock back and removes its file. On Windows a file that is open cannot be removed, and one being
// removed cannot be opened, so there it stays.
func release(l *flock.Flock, name string) {
	if runtime.GOOS != "windows" {
		_ = os.Remove(name)
	}
	_ = l.Unlock()
}

// readForEdit returns the contents of the file, nil for one that does not exist.
func readForEdit(path, target string) ([]byte, error) {
	info, err := os.Stat(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fileError(path, "cannot be read", err)
	case !info.IsDir() && !info.Mode().IsRegular():
		return nil, &Error{File: path, Message: "is not a regular file", Hint: "name a file that can be replaced"}
	case !info.IsDir() && info.Mode()&0o200 == 0:
		// The mode decides, not what the system would let this user do: somebody has protected the file.
		return nil, &Error{File: path, Message: "is read-only", Hint: "make it writable with chmod u+w, or name another file with --config"}
	}
	return readFile(target)
}

// content is a file without what only matters to the bytes in it.
type content struct {
	mark, crlf bool
	text       string
}

func splitContent(data []byte) content {
	var c content
	c.text, c.mark = strings.CutPrefix(string(data), byteOrderMark)
	// A file that mixes line ends keeps them as they are.
	if n := strings.Count(c.text, "\r\n"); n > 0 && n == strings.Count(c.text, "\n") {
		c.crlf = true
		c.text = strings.ReplaceAll(c.text, "\r\n", "\n")
	}
	return c
}

func (c content) bytes() []byte {
	s := c.text
	if c.crlf {
		s = strings.ReplaceAll(s, "\n", "\r\n")
	}
	if c.mark {
		s = byteOrderMark + s
	}
	return []byte(s)
}

// writeFile replaces the file at path as a whole: after a crash there is the old file or the new one. It calls ready
// just before, whose error ends it.
func writeFile(path string, data []byte, mode fs.FileMode, ready func() error) (err error) {
	dir := filepath.Dir(path)
	// The temporary file has mode 0600 from the start, so that no secret is readable in between.
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if _, err := f.Write(data); err != nil {
		return err
	}
	if mode != privateMode {
		if err := f.Chmod(mode); err != nil {
			return err
		}
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := ready(); err != nil {
		return err
	}
	if err := rename(f.Name(), path); err != nil {
		return err
	}
	// The file is in place. A file system that cannot sync a directory is no reason to say that it is not.
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
	return nil
}

// rename is os.Rename with patience on Windows, where it fails while another process, such as a scanner or a reader,
// has the file open.
func rename(from, to string) error {
	const pause, attempts = 20 * time.Millisecond, 50
	err := os.Rename(from, to)
	for range attempts {
		if err == nil || runtime.GOOS != "windows" {
			break
		}
		<-time.After(pause)
		err = os.Rename(from, to)
	}
	return err
}
