package prompt

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/mcpctl/mcpctl/internal/iostreams"
)

const (
	// mostHistory is how many lines are kept over runs. Twice as many are in the file before it is made shorter.
	mostHistory = 1000
	// mostRemembered is how long a line can be that is kept, in bytes: longer ones are data.
	mostRemembered = 4 << 10
	// historyWait bounds the wait for another shell that writes: a line that is not kept harms nobody.
	historyWait = 200 * time.Millisecond
)

// HistoryFile keeps lines over runs, in a file that only its owner can read. Several may use it at once: each adds its
// lines at the end, under a lock. The zero value keeps nothing.
type HistoryFile struct {
	// Path is the file's, "" for none. Its directory need not exist.
	Path string
}

// Load returns the lines that are kept, the oldest first.
func (h HistoryFile) Load() []string {
	if h.Path == "" {
		return nil
	}
	raw, err := os.ReadFile(h.Path)
	if err != nil {
		return nil
	}
	var lines []string
	for l := range strings.Lines(string(raw)) {
		if l = readable(strings.TrimSuffix(l, "\n")); l != "" {
			lines = append(lines, l)
		}
	}
	return lines[max(0, len(lines)-mostHistory):]
}

// readable is a line as it was typed. The file may have been written by anybody, so nothing in it acts on the terminal.
func readable(line string) string {
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		if line[i] == '\\' && i+1 < len(line) {
			if i++; line[i] == 'n' {
				b.WriteByte('\n')
				continue
			}
		}
		b.WriteByte(line[i])
	}
	return strings.ReplaceAll(iostreams.Sanitize(strings.ToValidUTF8(b.String(), "")), "\t", " ")
}

// Add keeps a line. Its failure is that it is not kept.
func (h HistoryFile) Add(ctx context.Context, line string) error {
	if h.Path == "" || line == "" || len(line) > mostRemembered {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(h.Path), 0o700); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, historyWait)
	defer cancel()
	lock := flock.New(h.Path+".lock", flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, historyWait/20); err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	f, err := os.OpenFile(h.Path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	kept := strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(line) + "\n"
	_, err = f.WriteString(kept)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return h.shorten()
}

// shorten leaves the latest lines in the file when there are too many. The lock is held.
func (h HistoryFile) shorten() error {
	info, err := os.Stat(h.Path)
	if err != nil || info.Size() < mostHistory*16 { // so few bytes are not twice as many lines as matter
		return err
	}
	raw, err := os.ReadFile(h.Path)
	if err != nil {
		return err
	}
	lines := bytes.SplitAfter(raw, []byte("\n"))
	if len(lines) <= 2*mostHistory {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(h.Path), "history-*") // for its owner alone
	if err != nil {
		return err
	}
	_, err = f.Write(bytes.Join(lines[len(lines)-1-mostHistory:], nil))
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), h.Path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
