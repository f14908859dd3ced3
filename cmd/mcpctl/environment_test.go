package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zalando/go-keyring"
)

func TestKeyringIsAskedOnceForEachSecret(t *testing.T) {
	asked := 0
	k := newKeyringReader(t.Context(), func(service, user string) (string, error) {
		asked++
		if user == "me" {
			return service + "-secret", nil
		}
		return "", keyring.ErrNotFound
	})
	for range 2 {
		if got, err := k.get("svc", "me"); got != "svc-secret" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		if _, err := k.get("svc", "you"); err == nil || !strings.HasPrefix(err.Error(), "the keyring has no such entry; to store it: ") {
			t.Error(err)
		}
	}
	if asked != 2 {
		t.Errorf("asked %d times", asked)
	}
	if _, err := newKeyringReader(t.Context(), nil).get("a", "b"); err == nil || err.Error() != "there is no keyring here" {
		t.Error(err)
	}
}

func TestKeyringThatHangsIsGivenUpOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		k := newKeyringReader(t.Context(), func(string, string) (string, error) {
			<-release
			return "late", nil
		})
		start := time.Now()
		for _, user := range []string{"a", "b"} {
			if _, err := k.get("svc", user); err == nil || !strings.HasPrefix(err.Error(), "the keyring did not answer within 30s") {
				t.Error(err)
			}
		}
		if elapsed := time.Since(start); elapsed != keyringTime {
			t.Errorf("it took %s", elapsed)
		}
		close(release)
	})
}

func TestKeyringIsLeftWithTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		release := make(chan struct{})
		k := newKeyringReader(ctx, func(string, string) (string, error) {
			<-release
			return "", nil
		})
		time.AfterFunc(time.Second, cancel)
		if _, err := k.get("svc", "me"); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		close(release)
	})
}

func TestStoreCommand(t *testing.T) {
	for goos, want := range map[string]string{
		"linux":   "secret-tool store --label='a b' service 'a b' username me",
		"darwin":  "security add-generic-password -s 'a b' -a me -w",
		"windows": "cmdkey /generic:'a b:me' /user:me /pass",
	} {
		if got := storeCommand(goos, "a b", "me"); got != want {
			t.Errorf("%s: got %s, want %s", goos, got, want)
		}
	}
}
