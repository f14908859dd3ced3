package oauth

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestLogoutRevokes(t *testing.T) {
	t.Parallel()
	as := newRotator(t)
	store := OpenStore(StoreOptions{Dir: t.TempDir(), Keyring: ringIn(t.TempDir())})
	r := as.record(time.Hour)
	mustSave(t, store, r)
	if err := store.SaveClient(t.Context(), r.Issuer, r.Client); err != nil {
		t.Fatal(err)
	}
	a := keeper(store)
	if had, revoked, err := a.Logout(t.Context()); !had || !revoked || err != nil {
		t.Fatal(had, err)
	}
	if got := strings.Join(as.revoked, " "); got != "refresh-0 access-0" || as.users[0] != "client" {
		t.Errorf("revoked %q as %v", got, as.users)
	}
	wantToken(t, a, "", "")
	if _, ok, err := store.LoadClient(t.Context(), r.Issuer); !ok || err != nil {
		t.Error("the client is gone", err)
	}
	if had, revoked, err := a.Logout(t.Context()); had || revoked || err != nil {
		t.Error(had, err)
	}
}

func TestLogoutWhoseRevocationFails(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*rotator, *Record)
		reason Reason
		text   string
	}{
		"no place": {func(_ *rotator, r *Record) { r.RevocationEndpoint = "" }, -1, ""},
		"down":     {func(s *rotator, _ *Record) { s.Close() }, Unreachable, "refused"},
		"refused": {func(s *rotator, _ *Record) {
			s.instead = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(403) }
		}, Refused, "HTTP 403"},
		"no URL": {func(_ *rotator, r *Record) { r.RevocationEndpoint = "::" }, Invalid, "no URL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			as := newRotator(t)
			store := OpenStore(StoreOptions{Dir: t.TempDir()})
			r := as.record(time.Hour)
			test.change(as, &r)
			mustSave(t, store, r)
			var told []Event
			a := keeper(store, func(o *Options) { o.Tell = func(e Event) { told = append(told, e) } })
			had, _, err := a.Logout(t.Context())
			e, failed := errors.AsType[*Error](err)
			switch {
			case !had || failed != (test.reason >= 0):
				t.Fatal(had, err)
			case failed && (e.Reason != test.reason || !strings.Contains(e.Error(), test.text) || strings.Contains(e.Error(), "-0")):
				t.Error(err)
			case !failed && (len(told) != 1 || !strings.Contains(told[0].Message, "no way to revoke")):
				t.Error(told)
			}
			wantToken(t, a, "", "")
		})
	}
}

func TestLogoutIsBounded(t *testing.T) {
	t.Parallel()
	as := newRotator(t)
	release := make(chan struct{})
	as.before = func() { <-release }
	t.Cleanup(func() { close(release) })
	store := OpenStore(StoreOptions{Dir: t.TempDir()})
	mustSave(t, store, as.record(time.Hour))
	ctx, cancel := context.WithTimeoutCause(t.Context(), 200*time.Millisecond, errors.New("somebody has no more time"))
	defer cancel()
	had, _, err := keeper(store).Logout(ctx)
	if !had || err == nil || !strings.Contains(err.Error(), "no more time") {
		t.Error(had, err)
	}
	wantToken(t, keeper(store), "", "")
}
