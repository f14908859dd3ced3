package redact

import (
	"io"
	"sync"
)

// A Writer masks what is written through it. A secret is found also when it is split across writes: the Writer holds
// back the end of the text as long as it could be the beginning of a secret, which is never more than the longest
// secret's length and that of the mark of a cut. Call Flush or Close after the last write. It is safe for concurrent use.
type Writer struct {
	r *Redactor
	w io.Writer

	mu sync.Mutex
	// held is the end of the text so far, not yet written. covered says how many bytes at its start belong to a secret
	// whose mask has been written already; they are held because another secret could begin among them.
	held    string
	covered int
}

// Writer returns a Writer that passes text on to w with every secret masked. A nil Redactor gives one that changes
// nothing. Secrets added later are masked in what is written after that, and in what is still held back.
func (r *Redactor) Writer(w io.Writer) *Writer {
	return &Writer{r: r, w: w}
}

// Write masks p and passes on what can be decided. An error is the underlying writer's; what p held is lost then.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.write(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (w *Writer) write(p []byte) error {
	if w.r == nil {
		return w.emit(p)
	}
	w.r.mu.RLock()
	if len(w.r.buckets) == 0 {
		w.r.mu.RUnlock()
		return w.emit(p) // nothing can be held back while there are no secrets
	}
	s := w.held + string(p)
	n := w.r.undecided(s)
	out, covered := w.r.mask(make([]byte, 0, n), s, n, w.covered)
	w.r.mu.RUnlock() // before writing, which may take as long as it likes

	w.held, w.covered = s[n:], covered
	return w.emit(out)
}

// Flush writes what is held back. A secret that is cut in two by a Flush is not found.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held == "" {
		return nil
	}
	w.r.mu.RLock()
	out, _ := w.r.mask(nil, w.held, len(w.held), w.covered)
	w.r.mu.RUnlock()
	w.held, w.covered = "", 0
	return w.emit(out)
}

// Close flushes. It does not close the underlying writer, which is often a standard stream.
func (w *Writer) Close() error { return w.Flush() }

func (w *Writer) emit(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	n, err := w.w.Write(p)
	if err == nil && n < len(p) {
		return io.ErrShortWrite
	}
	return err
}
