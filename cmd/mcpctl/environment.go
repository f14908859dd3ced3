package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/zalando/go-keyring"

	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// keyringTime bounds a question to the system's keyring. A locked one asks for a password, which a person finds and types
// within half a minute; one that nobody answers must not hold up a pipeline for ever.
const keyringTime = 30 * time.Second

// environment is where the variables of entries get their values from.
func (a *app) environment() config.Environment {
	return config.Environment{Lookup: a.lookup, Home: a.home, ReadFile: config.ReadValueFile, Keyring: a.keyring.get}
}

// nothing is an environment in which every reference has a value that is no secret: what is secret in words that stand on
// a command line can be told without reading anything.
func nothing() config.Environment {
	return config.Environment{
		Lookup:   func(string) (string, bool) { return "", true },
		ReadFile: func(string) ([]byte, error) { return []byte("-"), nil },
		Keyring:  func(string, string) (string, error) { return "-", nil },
	}
}

// keyringReader reads the system's keyring. A secret is asked for once in a run, as the system may ask a person each
// time, and after one question that was not answered no other is asked.
type keyringReader struct {
	ctx   context.Context //nolint:containedctx // the run's, for a callback that has none
	read  func(service, user string) (string, error)
	limit time.Duration

	mu     sync.Mutex
	silent error
	known  map[[2]string]keyringAnswer
}

type keyringAnswer struct {
	secret string
	err    error
}

// newKeyringReader returns the reader of a run that ends with ctx. If read is nil, there is no keyring.
func newKeyringReader(ctx context.Context, read func(service, user string) (string, error)) *keyringReader {
	return &keyringReader{ctx: ctx, read: read, limit: keyringTime, known: map[[2]string]keyringAnswer{}}
}

// get returns a secret. The errors are for people.
func (k *keyringReader) get(service, user string) (string, error) {
	if k == nil || k.read == nil {
		return "", errors.New("there is no keyring here")
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	key := [2]string{service, user}
	if answer, ok := k.known[key]; ok {
		return answer.secret, answer.err
	}
	if k.silent != nil {
		return "", k.silent
	}
	ctx, cancel := context.WithTimeoutCause(k.ctx, k.limit,
		fmt.Errorf("the keyring did not answer within %s; unlock it, or look for its question on the screen", shortDuration(k.limit)))
	defer cancel()
	answer, err := await(ctx, func() (keyringAnswer, error) {
		secret, err := k.read(service, user)
		return keyringAnswer{secret, keyringError(service, user, err)}, nil
	})
	if err != nil {
		k.silent = err
		return "", err
	}
	k.known[key] = answer
	return answer.secret, answer.err
}

// left reports whether the run was over before all that was asked for was known.
func (k *keyringReader) left() bool { return k != nil && k.silent != nil && k.ctx.Err() != nil }

// keyringError says what is wrong with an answer, and what to do.
func keyringError(service, user string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, keyring.ErrNotFound):
		return fmt.Errorf("the keyring has no such entry; to store it: %s", storeCommand(runtime.GOOS, service, user))
	case errors.Is(err, keyring.ErrUnsupportedPlatform):
		return errors.New("there is no keyring on this system")
	}
	return fmt.Errorf("the keyring cannot be read: %w", err)
}

// storeCommand is the system's own command that stores a secret where go-keyring looks for it: secret-tool of libsecret by
// its attributes service and username, security(1), and cmdkey by the target SERVICE:USER.
func storeCommand(goos, service, user string) string {
	s, u := toolargs.Quote(service), toolargs.Quote(user)
	switch goos {
	case "darwin":
		return fmt.Sprintf("security add-generic-password -s %s -a %s -w", s, u)
	case "windows":
		return fmt.Sprintf("cmdkey /generic:%s /user:%s /pass", toolargs.Quote(service+":"+user), u)
	}
	return fmt.Sprintf("secret-tool store --label=%s service %s username %s", s, s, u)
}
