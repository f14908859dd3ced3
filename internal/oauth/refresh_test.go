package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// rotator is an authorization server that rotates refresh tokens, and takes the second use of one for theft: it revokes
// the whole family (RFC 9700, 4.14.2).
type rotator struct {
	*httptest.Server

	mu sync.Mutex
	// good is the refresh token that is taken, spent those that were; dead is set when the family is revoked.
	good    string
	spent   map[string]bool
	dead    bool
	issued  int
	forms   []url.Values
	users   []string
	revoked []string
	// life is expires_in, 0 for none. keeps is set for a server that does not rotate.
	life  int
	keeps bool
	// instead answers in place of all, if it is set; before is called first.
	instead http.HandlerFunc
	before  func()
}

func newRotator(t *testing.T) *rotator {
	t.Helper()
	s := &rotator{good: "refresh-0", spent: map[string]bool{}, life: 3600}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *rotator) serve(w http.ResponseWriter, r *http.Request) {
	if s.before != nil {
		s.before()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := r.ParseForm(); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.forms = append(s.forms, r.PostForm)
	user, _, _ := r.BasicAuth()
	s.users = append(s.users, user)
	if s.instead != nil {
		s.instead(w, r)
		return
	}
	if r.URL.Path == "/revoke" {
		s.revoked = append(s.revoked, r.PostForm.Get("token"))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	used := r.PostForm.Get("refresh_token")
	if s.spent[used] {
		s.dead = true
	}
	if s.dead || used != s.good {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error":"invalid_grant","error_description":"no such token"}`))
		return
	}
	s.issued++
	answer := map[string]any{"access_token": fmt.Sprintf("access-%d", s.issued), "token_type": "Bearer"}
	if s.life > 0 {
		answer["expires_in"] = s.life
	}
	if !s.keeps {
		s.spent[used] = true
		s.good = fmt.Sprintf("refresh-%d", s.issued)
		answer["refresh_token"] = s.good
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// requests is how many there were.
func (s *rotator) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.forms)
}

// record is that of a login at the server; its token lasts so long.
func (s *rotator) record(lasts time.Duration) Record {
	r := keptRecordOf("0")
	r.Issuer, r.TokenEndpoint, r.RevocationEndpoint, r.Key = s.URL, s.URL+"/token", s.URL+"/revoke", ""
	r.Client.Method = "client_secret_basic"
	r.Token.Expires = time.Now().Add(lasts).UTC()
	return r
}

// saveAged keeps a record whose token was given an hour ago, as a save says that it is new.
func saveAged(t *testing.T, s *Store, r Record) {
	t.Helper()
	mustSave(t, s, r)
	name, _ := serverFile(r.Server)
	err := s.update(t.Context(), name, func(doc *document) error {
		for i := range doc.Records {
			doc.Records[i].Saved = time.Now().Add(-time.Hour).UTC()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// keeper is an authorizer with a store.
func keeper(store *Store, change ...func(*Options)) *Authorizer {
	o := Options{
		Server: config.Server{Name: "srv", URL: keptURL}, Store: store,
		Client: func(*url.URL) (*http.Client, error) {
			return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, nil
		},
	}
	for _, c := range change {
		c(&o)
	}
	return New(o)
}

// wantToken fails unless the token to use is that.
func wantToken(t *testing.T, a *Authorizer, spent, want string) {
	t.Helper()
	r, ok, err := a.current(t.Context(), spent)
	if err != nil || ok != (want != "") || r.Token.Access != want && ok {
		t.Fatalf("%v, %v, got %q, want %q", ok, err, r.Token.Access, want)
	}
}

// wantReason fails unless there is a failure for that reason.
func wantReason(t *testing.T, a *Authorizer, spent string, want Reason, texts ...string) *Error {
	t.Helper()
	_, ok, err := a.current(t.Context(), spent)
	e, is := errors.AsType[*Error](err)
	if !is || ok || e.Reason != want {
		t.Fatalf("%v, %v, want the reason %d", ok, err, want)
	}
	for _, text := range texts {
		if !strings.Contains(e.Error()+"\n"+e.Hint, text) {
			t.Errorf("%q with the hint %q does not tell %q", e.Error(), e.Hint, text)
		}
	}
	return e
}

func TestTokenIsRefreshedInTime(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lasts time.Duration
		spent string
		want  string
	}{
		"it lasts":                 {10 * time.Minute, "", "access-0"},
		"it lasts, and is refused": {10 * time.Minute, "access-0", "access-1"},
		"another was refused":      {10 * time.Minute, "access-x", "access-0"},
		"within the margin":        {20 * time.Second, "", "access-1"},
		"over":                     {-time.Minute, "", "access-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			as := newRotator(t)
			store := OpenStore(StoreOptions{Dir: t.TempDir()})
			saveAged(t, store, as.record(test.lasts))
			var secrets []string
			a := keeper(store, func(o *Options) { o.Secret = func(s ...string) { secrets = append(secrets, s...) } })
			wantToken(t, a, test.spent, test.want)
			wantToken(t, a, test.spent, test.want)
			r, _, err := OpenStore(store.o).Load(t.Context(), keptURL)
			if err != nil || r.Token.Access != test.want {
				t.Errorf("%v, kept is %q", err, r.Token.Access)
			}
			told := strings.Join(secrets, " ")
			if test.want == "access-0" {
				if as.requests() != 0 || told != "access-0 refresh-0 secret-0" {
					t.Errorf("%d requests; told: %s", as.requests(), told)
				}
				return
			}
			if r.Token.Refresh != "refresh-1" || len(r.Token.Scopes) != 1 || as.requests() != 1 || !strings.Contains(told, "access-1 refresh-1") {
				t.Errorf("%d requests, kept %+v, told: %s", as.requests(), r.Token, told)
			}
			want := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {"refresh-0"}, "resource": {keptURL}}
			if got := as.forms[0]; got.Encode() != want.Encode() || as.users[0] != "client" {
				t.Errorf("asked for %v as %q", got, as.users[0])
			}
		})
	}
}

func TestShortLivesAndClocks(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, test := range map[string]struct {
		saved, expires time.Time
		want           bool // to refresh
	}{
		"no end":                           {now.Add(-time.Hour), time.Time{}, false},
		"ten seconds, two gone":            {now.Add(-2 * time.Second), now.Add(8 * time.Second), false},
		"ten seconds, nearly gone":         {now.Add(-9500 * time.Millisecond), now.Add(500 * time.Millisecond), true},
		"over before it came":              {now, now.Add(-time.Hour), false},
		"the clock was put back":           {now.Add(24 * time.Hour), now.Add(25 * time.Hour), false},
		"the clock was put forward":        {now.Add(-25 * time.Hour), now.Add(-24 * time.Hour), true},
		"an hour, half a minute remaining": {now.Add(-3590 * time.Second), now.Add(29 * time.Second), true},
	} {
		r := Record{Saved: test.saved, Token: Token{Expires: test.expires}}
		if got := over(r, now, margin(r)); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestServerThatDoesNotRotate(t *testing.T) {
	t.Parallel()
	as := newRotator(t)
	as.keeps = true
	store := OpenStore(StoreOptions{Dir: t.TempDir()})
	saveAged(t, store, as.record(-time.Minute))
	a := keeper(store)
	wantToken(t, a, "", "access-1")
	wantToken(t, a, "access-1", "access-2")
	if r, _, err := store.Load(t.Context(), keptURL); err != nil || r.Token.Refresh != "refresh-0" {
		t.Error(err, r.Token.Refresh)
	}
}

func TestNothingToRefreshWith(t *testing.T) {
	t.Parallel()
	as := newRotator(t)
	store := OpenStore(StoreOptions{Dir: t.TempDir()})
	a := keeper(store)
	wantToken(t, a, "", "")
	r := as.record(-time.Minute)
	r.Token.Refresh = ""
	saveAged(t, store, r)
	wantToken(t, a, "", "")
	r.Token.Access, r.Token.Expires = "access-lasts", time.Now().Add(10*time.Second)
	saveAged(t, store, r)
	wantToken(t, a, "", "access-lasts")
	wantToken(t, a, "access-lasts", "")
	wantToken(t, keeper(nil), "", "")
	if as.requests() > 0 {
		t.Error("somebody was asked")
	}
}

func TestRecordOfAnotherConfiguration(t *testing.T) {
	t.Parallel()
	store := OpenStore(StoreOptions{Dir: t.TempDir()})
	mustSave(t, store, newRotator(t).record(time.Hour))
	for name, test := range map[string]struct {
		oauth config.OAuth
		want  string
	}{
		"the same client": {config.OAuth{ClientID: "client", Grant: config.GrantCode}, "access-0"},
		"another client":  {config.OAuth{ClientID: "other"}, ""},
		"another grant":   {config.OAuth{ClientID: "client", Grant: config.GrantClient}, ""},
		"any":             {config.OAuth{Scopes: []string{"x"}}, "access-0"},
	} {
		a := keeper(store, func(o *Options) { o.Server.OAuth = &test.oauth })
		wantToken(t, a, "", test.want)
		st, err := a.State(t.Context())
		if err != nil || (st.Standing == StandingOK) != (test.want != "") {
			t.Errorf("%s: %v, %+v", name, err, st)
		}
	}
}

func TestRefreshThatIsRefused(t *testing.T) {
	t.Parallel()
	refuse := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}
	}
	for name, test := range map[string]struct {
		instead http.HandlerFunc
		reason  Reason
		texts   []string
		dead    bool
		ours    bool
	}{
		"invalid_grant":       {refuse(400, `{"error":"invalid_grant"}`), NeedsLogin, []string{"(invalid_grant)", "mcpctl login srv"}, true, true},
		"our client is gone":  {refuse(401, `{"error":"invalid_client"}`), NeedsLogin, []string{"(invalid_client)", "mcpctl login srv"}, true, true},
		"the user's client":   {refuse(401, `{"error":"invalid_client"}`), Config, []string{"says invalid_client", "client_secret"}, false, false},
		"invalid_target":      {refuse(400, `{"error":"invalid_target"}`), NeedsLogin, []string{"(invalid_target)"}, true, true},
		"it does not work":    {refuse(500, `{"error":"server_error"}`), Unreachable, nil, false, true},
		"busy":                {refuse(429, `{"error":"slow_down"}`), Unreachable, nil, false, true},
		"later":               {refuse(400, `{"error":"temporarily_unavailable"}`), Unreachable, nil, false, true},
		"a web page":          {refuse(200, `<html>Log in to the hotel</html>`), Unreachable, nil, false, true},
		"a web page that 403": {refuse(403, `<html>blocked</html>`), Unreachable, nil, false, true},
		"no token":            {refuse(200, `{}`), Unreachable, nil, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			as := newRotator(t)
			store := OpenStore(StoreOptions{Dir: t.TempDir()})
			r := as.record(-time.Minute)
			if !test.ours {
				r.Client.RedirectURIs = nil
			}
			saveAged(t, store, r)
			if err := store.SaveClient(t.Context(), r.Issuer, r.Client); err != nil {
				t.Fatal(err)
			}
			a := keeper(store)
			as.instead = test.instead
			_ = wantReason(t, a, "", test.reason, test.texts...)
			n := as.requests()
			kept, ok, err := store.Load(t.Context(), keptURL)
			if err != nil || !ok || kept.Dead != test.dead {
				t.Fatal(ok, err, kept.Dead)
			}
			st, err := a.State(t.Context())
			if want := map[bool]Standing{true: StandingNeedsLogin, false: StandingRefreshable}[test.dead]; err != nil || st.Standing != want {
				t.Error(err, st.Standing)
			}
			_, registered, err := store.LoadClient(t.Context(), r.Issuer)
			if forgotten := strings.HasPrefix(name, "our client"); err != nil || registered == forgotten {
				t.Error(err, registered)
			}
			as.mu.Lock()
			as.instead = nil
			as.mu.Unlock()
			if test.dead {
				// It is not asked a second time.
				_ = wantReason(t, a, "", NeedsLogin)
				if as.requests() != n {
					t.Error("it was asked again")
				}
				return
			}
			// Nothing was lost.
			wantToken(t, a, "", "access-1")
		})
	}
}

func TestRefreshBeforeTheEndFails(t *testing.T) {
	t.Parallel()
	as := newRotator(t)
	as.Close()
	store := OpenStore(StoreOptions{Dir: t.TempDir()})
	saveAged(t, store, as.record(20*time.Second))
	a := keeper(store)
	wantToken(t, a, "", "access-0")
	e := wantReason(t, a, "access-0", Unreachable)
	if strings.Contains(e.Error(), "refresh-0") || e.Hint != "" { // who knows the way to it says what to do
		t.Error(e, e.Hint)
	}
	if st, err := a.State(t.Context()); err != nil || st.Standing != StandingOK {
		t.Error(err, st)
	}
}

// TestAnotherMachineWasFaster shows that a refused refresh token is no end if another one is kept by now.
func TestAnotherMachineWasFaster(t *testing.T) {
	t.Parallel()
	as := newRotator(t)
	store := OpenStore(StoreOptions{Dir: t.TempDir()})
	saveAged(t, store, as.record(-time.Minute))
	other := OpenStore(store.o)
	as.good = "refresh-other"
	as.before = sync.OnceFunc(func() {
		r := as.record(-time.Minute)
		r.Token.Access, r.Token.Refresh = "access-other", "refresh-other"
		saveAged(t, other, r)
	})
	wantToken(t, keeper(store), "", "access-1")
	if as.requests() != 2 {
		t.Error(as.requests())
	}
}

// TestRefreshedTokenThatCannotBeKept is used all the same, and the next refresh starts from it.
func TestRefreshedTokenThatCannotBeKept(t *testing.T) {
	t.Parallel()
	as := newRotator(t)
	var told notes
	ring := &switchedRing{Keyring: ringIn(t.TempDir())}
	store := OpenStore(StoreOptions{Dir: t.TempDir(), Kind: StoreKeyring, Keyring: ring, Note: told.note})
	saveAged(t, store, as.record(-time.Minute))
	ring.broken = true
	a := keeper(store)
	wantToken(t, a, "", "access-1")
	if !strings.Contains(told.text(), "cannot be kept") || strings.Contains(told.text(), "refresh-1") {
		t.Error(told.text())
	}
	wantToken(t, a, "", "access-1")
	wantToken(t, a, "access-1", "access-2")
	ring.broken = false
	wantToken(t, a, "access-2", "access-3")
	if as.requests() != 3 || as.dead {
		t.Error(as.requests(), as.dead)
	}
	mustLoadToken(t, OpenStore(store.o), "access-3")
}

func mustLoadToken(t *testing.T, s *Store, want string) {
	t.Helper()
	if r, ok, err := s.Load(t.Context(), keptURL); err != nil || !ok || r.Token.Access != want {
		t.Errorf("%v, %v, kept is %q, want %q", ok, err, r.Token.Access, want)
	}
}

// switchedRing fails to write while it is broken.
type switchedRing struct {
	Keyring
	broken bool
}

func (r *switchedRing) Set(service, user, secret string) error {
	if r.broken {
		return errors.New("it is locked")
	}
	return r.Keyring.Set(service, user, secret)
}

// TestRefreshOutlivesItsRequest gives up a request while the authorization server takes its time: the token that comes is
// kept, as the one before is spent.
func TestRefreshOutlivesItsRequest(t *testing.T) {
	t.Parallel()
	as := newRotator(t)
	arrived, release := make(chan struct{}), make(chan struct{})
	as.before = func() {
		close(arrived)
		<-release
		as.before = nil
	}
	store := OpenStore(StoreOptions{Dir: t.TempDir()})
	saveAged(t, store, as.record(-time.Minute))
	a := keeper(store)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	_, ok, err := a.current(ctx, "")
	if e, is := errors.AsType[*Error](err); !is || ok || e.Reason != Cancelled || !errors.Is(err, context.Canceled) {
		t.Fatal(ok, err)
	}
	close(release)
	wantToken(t, a, "", "access-1")
	mustLoadToken(t, OpenStore(store.o), "access-1")
	if as.requests() != 1 {
		t.Error(as.requests())
	}
}

func TestManyGoroutinesRefreshOnce(t *testing.T) {
	t.Parallel()
	as := newRotator(t)
	o := StoreOptions{Dir: t.TempDir(), Keyring: ringIn(t.TempDir())}
	saveAged(t, OpenStore(o), as.record(-time.Minute))
	stores := []*Store{OpenStore(o), OpenStore(o), OpenStore(o)}
	var wg sync.WaitGroup
	for i := range 30 {
		a := keeper(stores[i%len(stores)])
		wg.Go(func() {
			for _, spent := range []string{"", "access-0"} {
				r, ok, err := a.current(t.Context(), spent)
				if err != nil || !ok || r.Token.Access != "access-1" {
					t.Error(ok, err, r.Token.Access)
				}
			}
		})
	}
	wg.Wait()
	if as.requests() != 1 {
		t.Errorf("%d refreshes", as.requests())
	}
}

// The names of variables by which a test starts itself as another process.
const (
	refreshDir   = "MCPCTL_TEST_REFRESH_IN"
	refreshSpent = "MCPCTL_TEST_REFRESH_SPENT"
)

// TestRefreshProcess is one of the processes of TestTwentyProcessesRefreshOnce.
func TestRefreshProcess(t *testing.T) {
	dir := os.Getenv(refreshDir)
	if dir == "" {
		t.Skip("for another test")
	}
	a := keeper(OpenStore(StoreOptions{Dir: dir + "/files", Keyring: ringIn(dir + "/ring")}))
	fmt.Println("ready")
	// All begin together: the parent closes the pipe.
	_, _ = os.Stdin.Read(make([]byte, 1))
	spent := os.Getenv(refreshSpent)
	wantToken(t, a, spent, "access-1")
	wantToken(t, a, spent, "access-1")
}

// TestTwentyProcessesRefreshOnce lets twenty processes find an expired token at once, or one that is refused, against a
// server that revokes everything when a refresh token is used twice.
func TestTwentyProcessesRefreshOnce(t *testing.T) {
	t.Parallel()
	const processes = 20
	for name, spent := range map[string]string{"expired": "", "refused": "access-0"} {
		t.Run(name, func(t *testing.T) {
			as := newRotator(t)
			dir := t.TempDir()
			if err := os.Mkdir(dir+"/ring", 0o700); err != nil {
				t.Fatal(err)
			}
			o := StoreOptions{Dir: dir + "/files", Keyring: ringIn(dir + "/ring")}
			lasts := time.Hour
			if spent == "" {
				lasts = -time.Minute
			}
			saveAged(t, OpenStore(o), as.record(lasts))
			gate, open, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			var wg, ready sync.WaitGroup
			for i := range processes {
				cmd := anotherSelf(t, "TestRefreshProcess", refreshDir+"="+dir, refreshSpent+"="+spent)
				cmd.Stdin = gate
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				ready.Add(1)
				wg.Go(func() {
					var text strings.Builder
					buf := make([]byte, 1000)
					n, _ := out.Read(buf)
					ready.Done()
					for ; n > 0; n, _ = out.Read(buf) {
						text.Write(buf[:n])
					}
					if err := cmd.Wait(); err != nil {
						t.Errorf("process %d: %v: %s", i, err, text.String())
					}
				})
			}
			ready.Wait()
			_ = open.Close()
			wg.Wait()
			_ = gate.Close()
			if as.requests() != 1 || as.dead {
				t.Errorf("%d refreshes; everything revoked: %v", as.requests(), as.dead)
			}
			wantToken(t, keeper(OpenStore(o)), "", "access-1")
			r, _, err := OpenStore(o).Load(t.Context(), keptURL)
			if err != nil || r.Token.Refresh != "refresh-1" || r.Dead {
				t.Error(err, r.Token.Refresh, r.Dead)
			}
		})
	}
}

func TestState(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*Record)
		want   Standing
	}{
		"ok":          {func(*Record) {}, StandingOK},
		"no end":      {func(r *Record) { r.Token.Expires = time.Time{} }, StandingOK},
		"refreshable": {func(r *Record) { r.Token.Expires = time.Now().Add(-time.Second) }, StandingRefreshable},
		"expired":     {func(r *Record) { r.Token.Expires, r.Token.Refresh = time.Now().Add(-time.Second), "" }, StandingExpired},
		"dead":        {func(r *Record) { r.Dead = true }, StandingNeedsLogin},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, ring := range []Keyring{nil, ringIn(t.TempDir())} {
				o := StoreOptions{Dir: t.TempDir(), Keyring: ring}
				r := newRotator(t).record(time.Hour)
				test.change(&r)
				r.Token.Type = "DPoP"
				saveAged(t, OpenStore(o), r)
				if ring != nil {
					o.Keyring = brokenRing{errors.New("it must not be asked")}
				}
				st, err := keeper(OpenStore(o)).State(t.Context())
				if err != nil || st.Standing != test.want || st.Issuer != r.Issuer || st.ClientID != "client" || !st.Bound ||
					len(st.Scopes) != 1 || !st.Expires.Equal(r.Token.Expires) || (st.Where == "keyring") != (ring != nil) {
					t.Errorf("%v, %+v", err, st)
				}
			}
		})
	}
	if st, err := keeper(OpenStore(StoreOptions{Dir: t.TempDir()})).State(t.Context()); err != nil || st.Standing != StandingNone {
		t.Error(err, st)
	}
	if st, err := keeper(nil).State(t.Context()); err != nil || st.Standing != StandingNone {
		t.Error(err, st)
	}
}

// BenchmarkState is for a list of many servers: it asks no keyring, and reads one small file for each.
func BenchmarkState(b *testing.B) {
	s := OpenStore(StoreOptions{Dir: b.TempDir(), Kind: StoreFile})
	if err := s.Save(b.Context(), keptRecordOf("0")); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if st, err := keeper(OpenStore(s.o)).State(b.Context()); err != nil || st.Standing != StandingOK {
			b.Fatal(err, st)
		}
	}
}
