package oauth

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// lockPoll is the longest pause between two looks at a lock of another process. Locks that wait in the kernel cannot be
// given up.
const lockPoll = 50 * time.Millisecond

// errNoLock is a place where no lock can be made.
var errNoLock = errors.New("no lock can be made")

// Lock holds off all others, in this process and others, that lock the same server, until unlock is called. It waits as
// long as ctx lasts. Where no lock can be made, as in a directory that cannot be written, it holds off those in this
// process only: a token that cannot be kept can still be refreshed. The failure is an [*Error].
func (s *Store) Lock(ctx context.Context, server string) (unlock func(), err error) {
	name, _ := serverFile(server)
	unlock, err = s.hold(ctx, name)
	if errors.Is(err, errNoLock) {
		s.note(fmt.Sprintf("%s: two commands at once may refresh the same token", plain(err)))
		err = nil
	}
	return unlock, err
}

// hold takes the lock of a name. With [errNoLock] it has taken that of this process alone. What it returns is never nil.
func (s *Store) hold(ctx context.Context, name string) (unlock func(), err error) {
	s.mu.Lock()
	gate := s.gates[name]
	if gate == nil {
		gate = make(chan struct{}, 1)
		s.gates[name] = gate
	}
	s.mu.Unlock()
	select {
	case gate <- struct{}{}:
	case <-ctx.Done():
		return func() {}, lockError(ctx)
	}
	open := sync.OnceFunc(func() { <-gate })
	if s.o.Dir == "" {
		return open, nil
	}
	release, err := s.holdFile(ctx, filepath.Join(s.o.Dir, "."+name+".lock"))
	switch {
	case err == nil:
		return sync.OnceFunc(func() { release(); open() }), nil
	case errors.Is(err, errNoLock):
		return open, err
	}
	open()
	return func() {}, err
}

func lockError(ctx context.Context) *Error {
	err := context.Cause(ctx)
	if errors.Is(err, context.Canceled) {
		return storeError(Cancelled, "", err, "it was given up while another mcpctl worked on the same credentials")
	}
	return storeError(Unreachable, "try again; if another mcpctl hangs, end it", err, "another mcpctl is at work on the same credentials")
}

// holdFile takes the lock that other processes see. It is a file of its own, as the file of credentials is replaced by
// each save. Whoever leaves removes it; whoever enters makes sure that the file it has locked is still the one in the
// directory. The lock of a process that was killed is free.
func (s *Store) holdFile(ctx context.Context, path string) (release func(), err error) {
	if err := s.makeDir(); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoLock, err)
	}
	for {
		// A handle of its own for everybody makes the lock hold between goroutines too.
		l := flock.New(path)
		locked, err := l.TryLock()
		switch {
		case locked && isCurrent(l, path):
			return func() {
				if runtime.GOOS != "windows" { // there a file that is open cannot be removed, so it stays
					_ = os.Remove(path)
				}
				_ = l.Unlock()
			}, nil
		case locked:
			_ = l.Unlock() // its owner removed the file after we opened it
		case errors.Is(err, fs.ErrNotExist):
			if err := s.makeDir(); err != nil {
				return nil, fmt.Errorf("%w: %w", errNoLock, err)
			}
		case unlockable(err):
			return nil, fmt.Errorf("%w: %w", errNoLock, err)
		case err != nil:
			return nil, storeError(Config, "", err, "%s cannot be locked: %s", path, cause(err))
		}
		select {
		case <-ctx.Done():
			return nil, lockError(ctx)
		case <-time.After(rand.N(lockPoll)):
		}
	}
}

// unlockable reports whether a place knows no locks, or none for this user.
func unlockable(err error) bool {
	if errors.Is(err, fs.ErrPermission) {
		return true
	}
	for _, number := range []syscall.Errno{syscall.EROFS, syscall.ENOLCK, syscall.ENOSYS, syscall.ENOTSUP} {
		if errors.Is(err, number) {
			return true
		}
	}
	return false
}

// isCurrent reports whether the locked file is the one that others find.
func isCurrent(l *flock.Flock, path string) bool {
	mine, err := l.Stat()
	if err != nil {
		return false
	}
	theirs, err := os.Stat(path)
	return err == nil && os.SameFile(mine, theirs)
}
