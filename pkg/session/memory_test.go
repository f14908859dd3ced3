package session

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpctl/mcpctl/internal/faultlab"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// wire is a trace that is looked at by tests.
type wire struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *wire) count(what string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Count(w.b.String(), what)
}

// opened opens a session with what is remembered in dir, and returns what was found and what went over the wire.
func opened(t *testing.T, dir string, server config.Server) (Info, *wire) {
	t.Helper()
	w := &wire{}
	s, err := (&Dialer{CacheDir: dir, Trace: w}).Dial(t.Context(), server)
	if err != nil {
		t.Fatalf("%v\n%s", err, w.b.String())
	}
	info := s.Info()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return info, w
}

// TestOP04Remembered shows that the second opening asks nothing that the first has found out.
func TestOP04Remembered(t *testing.T) {
	_, legacy := fault(t, "healthy")
	_, old := fault(t, "proto-http-400-new")
	_, sse := fault(t, "sse-only-legacy")
	_, modern := fault(t, "modern-only")
	for name, c := range map[string]struct {
		server config.Server
		// what goes over the wire, and how often at the first and the second opening
		what          string
		first, second int
	}{
		"legacy over http":   {legacy, `"method":"server/discover"`, 1, 0},
		"an older version":   {old, `"method":"initialize"`, 2, 1},
		"old SSE":            {sse, `> POST `, 4, 2}, // the refused ones and the two of the handshake
		"modern over stdio":  {faultChild(t, "modern-only"), "started, pid", 2, 1},
		"modern over http":   {modern, `"method":"server/discover"`, 1, 1}, // it is the opening
		"legacy over stdio":  {faultChild(t, "healthy"), "started, pid", 1, 1},
		"legacy, and pinned": {pinned(legacy, "2025-06-18"), `"method":"initialize"`, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			before, w := opened(t, dir, c.server)
			if got := w.count(c.what); got != c.first {
				t.Errorf("%d times %s at the first opening, want %d\n%s", got, c.what, c.first, w.b.String())
			}
			after, w := opened(t, dir, c.server)
			if got := w.count(c.what); got != c.second {
				t.Errorf("%d times %s at the second opening, want %d\n%s", got, c.what, c.second, w.b.String())
			}
			if before.Era != after.Era || before.Transport != after.Transport || before.ProtocolVersion != after.ProtocolVersion {
				t.Errorf("the second session is another: %+v, %+v", before, after)
			}
		})
	}
}

// TestOP04OfAnotherForm shows that what another release has remembered, in another form, is not used, and is no error.
func TestOP04OfAnotherForm(t *testing.T) {
	t.Parallel()
	_, server := fault(t, "healthy")
	dir := t.TempDir()
	opened(t, dir, server)
	files, err := filepath.Glob(filepath.Join(dir, "servers", "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, other := range []string{`{"version":2,"era":{"name":"modern"}}`, `{"version":0,"era":"modern"}`, `[`, ``} {
		if err := os.WriteFile(files[0], []byte(other), 0o600); err != nil {
			t.Fatal(err)
		}
		if info, w := opened(t, dir, server); w.count(`"method":"server/discover"`) != 1 || info.Era != EraLegacy {
			t.Errorf("with %q: era %s\n%s", other, info.Era, w.b.String())
		}
	}
	if _, w := opened(t, dir, server); w.count(`"method":"server/discover"`) != 0 {
		t.Errorf("what was found out was not remembered anew\n%s", w.b.String())
	}
}

func pinned(s config.Server, version string) config.Server {
	s.Protocol = version
	return s
}

// TestOP04ProvesWrong shows that what is remembered of a server that has become another is dropped.
func TestOP04ProvesWrong(t *testing.T) {
	for _, c := range []struct{ was, is string }{
		{"healthy", "modern-only"},
		{"modern-only", "healthy"},
	} {
		t.Run(c.was+", then "+c.is, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			srv, entry := fault(t, c.was)
			opened(t, dir, entry)
			_ = srv.Close()
			u, err := url.Parse(entry.URL)
			if err != nil {
				t.Fatal(err)
			}
			is, ok := faultlab.Find(c.is)
			if !ok {
				t.Fatal(c.is)
			}
			next, err := is.Serve(faultlab.HTTPOptions{Addr: u.Host})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = next.Close() })
			info, _ := opened(t, dir, entry)
			again, w := opened(t, dir, entry)
			if info.Era != again.Era || info.Transport != again.Transport || len(again.Notes) > 0 {
				t.Errorf("%+v, then %+v\n%s", info, again, w.b.String())
			}
		})
	}
	for name, was := range map[string]string{"healthy": "sse", "sse-only-legacy": "http"} {
		t.Run(name+", remembered as "+was, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			_, entry := fault(t, name)
			(&Dialer{CacheDir: dir}).memory(entry).opened(Info{Era: EraLegacy, Transport: was}, legacyVersion)
			info, w := opened(t, dir, entry)
			if info.Transport == was || len(info.Notes) == 0 && name == "healthy" {
				t.Errorf("%+v\n%s", info, w.b.String())
			}
			if again, _ := opened(t, dir, entry); again.Transport != info.Transport || len(again.Notes) > 0 {
				t.Errorf("the next time: %+v", again)
			}
		})
	}
	t.Run("a server that has the new transport by now, and whose other stream is silent", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		_, entry := fault(t, "healthy")
		behind, err := url.Parse(entry.URL)
		if err != nil {
			t.Fatal(err)
		}
		proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: behind.Scheme, Host: behind.Host})
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet {
				proxy.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}))
		t.Cleanup(front.Close)
		entry.URL = front.URL + behind.Path
		entry.ConnectTimeout = 6 * time.Second // a third of it is waited for the stream
		(&Dialer{CacheDir: dir}).memory(entry).opened(Info{Era: EraLegacy, Transport: "sse"}, legacyVersion)
		info, _ := opened(t, dir, entry)
		if info.Transport != "http" || len(info.Notes) == 0 {
			t.Errorf("%+v", info)
		}
		if again, _ := opened(t, dir, entry); again.Transport != "http" || len(again.Notes) > 0 {
			t.Errorf("the next time: %+v", again)
		}
	})
	t.Run("a child that ends when it is asked for the modern era", func(t *testing.T) {
		dir := t.TempDir()
		entry := faultChild(t, "healthy")
		d := &Dialer{CacheDir: dir}
		entry.Command, entry.Args = "sh", []string{"-c", `read line; case $line in *discover*) exit 1;; esac; { echo "$line"; cat; } | "$0" stdio healthy`, entry.Command}
		d.memory(entry).opened(Info{Era: EraModern, Transport: "stdio"}, "")
		if info, _ := opened(t, dir, entry); info.Era != EraLegacy || len(info.Notes) == 0 {
			t.Errorf("%+v", info)
		}
	})
}

// TestOP04Tools shows how long a list of tools is remembered, and of whom.
func TestOP04Tools(t *testing.T) {
	_, entry := fault(t, "healthy")
	here, err := url.Parse(entry.URL)
	if err != nil {
		t.Fatal(err)
	}
	entry.Headers = map[string]string{"X-Api-Key": "sesame-sesame"}
	entry.ConnectTo, here.Host = here.Host, "far.test:80" // of a server on this machine nothing is taken for granted
	entry.URL = here.String()
	dir := t.TempDir()
	known := func(t *testing.T) (List, bool) {
		t.Helper()
		s := NewSupervisor(&Dialer{CacheDir: dir}, entry)
		t.Cleanup(func() { _ = s.Close() })
		l, ok, err := s.KnownTools(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return l, ok
	}
	if _, ok := known(t); ok {
		t.Error("known before anybody asked")
	}
	s := NewSupervisor(&Dialer{CacheDir: dir}, entry)
	t.Cleanup(func() { _ = s.Close() })
	listed, err := list(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	l, ok := known(t)
	if !ok || len(l.Items) != len(listed.Items) || string(l.Items[0]) != string(listed.Items[0]) {
		t.Errorf("%v, %d tools, want %d", ok, len(l.Items), len(listed.Items))
	}

	files, err := filepath.Glob(filepath.Join(dir, "servers", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%q, %v", files, err)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil || strings.Contains(string(data), "sesame") {
		t.Errorf("%s, %v", data, err)
	}

	m := (&Dialer{CacheDir: dir}).memory(entry)
	m.learn(func(r *remembered) { r.ToolsAt = time.Now().Add(-toolsKept - time.Second) })
	if _, ok := known(t); ok {
		t.Error("known although it is too long ago")
	}
	m.learn(func(r *remembered) { r.ToolsAt = time.Now().Add(toolsKept) })
	if _, ok := known(t); ok {
		t.Error("known although nobody can tell how long ago it was: the clock was put back")
	}
	m.learn(func(r *remembered) { r.ToolsAt, r.ServerVersion = time.Now(), "another" })
	if _, ok := known(t); ok {
		t.Error("known although it is another release of the server")
	}
	if _, err := list(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	s.ForgetTools()
	if _, ok := known(t); ok {
		t.Error("known although it was forgotten")
	}

	if err := os.WriteFile(files[0], []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := known(t); ok {
		t.Error("known from a broken file")
	}
	if l := (&Dialer{}).memory(entry); l != nil {
		t.Error("a zero dialer remembers")
	}
}

func TestOP04Hash(t *testing.T) {
	base := config.Server{Name: "a", URL: "http://h/mcp", Headers: map[string]string{"X": "1"}}
	hash := func(change func(*config.Server)) string {
		s := base.Clone()
		change(&s)
		h, err := entryHash(s)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	was := hash(func(*config.Server) {})
	for name, change := range map[string]func(*config.Server){
		"name":    func(s *config.Server) { s.Name = "b" },
		"limit":   func(s *config.Server) { s.Timeout = time.Second; s.Set("timeout", config.Source{Kind: "flag"}) },
		"filter":  func(s *config.Server) { s.Tools.Include = []string{"x"} },
		"upkeep":  func(s *config.Server) { s.Keepalive, s.Retry.Initial, s.Breaker.Cooldown = time.Minute, 1, time.Second },
		"health":  func(s *config.Server) { s.Health = &config.Health{Tool: "x"} },
		"smoke":   func(s *config.Server) { s.Smoke = []config.Smoke{{}} },
		"nothing": func(s *config.Server) { s.OAuth = &config.OAuth{} },
	} {
		if hash(change) != was {
			t.Errorf("%s makes another server of it", name)
		}
	}
	for name, change := range map[string]func(*config.Server){
		"url":      func(s *config.Server) { s.URL = "http://h/other" },
		"header":   func(s *config.Server) { s.Headers["X"] = "2" },
		"protocol": func(s *config.Server) { s.Protocol = "2025-06-18" },
		"TLS":      func(s *config.Server) { s.TLS.CAFile = "x" },
		"login":    func(s *config.Server) { s.OAuth = &config.OAuth{ClientID: "x"} },
	} {
		if hash(change) == was {
			t.Errorf("%s makes no other server of it", name)
		}
	}
}

// TestOP04HashHasNoAddresses shows that what is hashed holds its values itself: of a pointer it would be the address.
func TestOP04HashHasNoAddresses(t *testing.T) {
	var walk func(typ reflect.Type, path string)
	walk = func(typ reflect.Type, path string) {
		switch typ.Kind() {
		case reflect.Pointer, reflect.Interface, reflect.Func, reflect.Chan:
			t.Errorf("%s is a %s", path, typ.Kind())
		case reflect.Slice, reflect.Array, reflect.Map:
			walk(typ.Elem(), path+"[]")
		case reflect.Struct:
			for f := range typ.Fields() {
				if path != "" || !slices.Contains([]string{"Sources", "Foreign", "Err", "Health", "Smoke", "OAuth"}, f.Name) {
					walk(f.Type, path+"."+f.Name)
				}
			}
		default: // the value itself
		}
	}
	walk(reflect.TypeFor[config.Server](), "")
	walk(reflect.TypeFor[config.OAuth](), "OAuth")
}

// TestOP04HashOfTheDirectory shows that the same command is another server in another directory.
func TestOP04HashOfTheDirectory(t *testing.T) {
	entry := config.Server{Command: "python3", Args: []string{"server.py"}}
	var seen []string
	for range 2 {
		t.Chdir(t.TempDir())
		h, err := entryHash(entry)
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, h)
	}
	if seen[0] == seen[1] {
		t.Error("the same")
	}
}

// TestSE11HintsFromTheFreshSession shows that what is not known of a request is asked on the fresh session, and only when
// it makes a difference.
func TestSE11HintsFromTheFreshSession(t *testing.T) {
	srv, entry := fault(t, "replay-hazard-drop")
	s := supervise(t, entry)
	do := func(tool string, repeatable bool) (asked []int, err error) {
		err = s.Do(t.Context(), Request{Name: "tools/call", Hints: func(_ context.Context, sess *Session) bool {
			asked = append(asked, sess.Info().Generation)
			return repeatable
		}}, func(ctx context.Context, sess *Session) error {
			_, err := sess.Raw(ctx, "tools/call", map[string]any{"name": tool})
			return err
		})
		return asked, err
	}
	if asked, err := do("peek", true); err != nil || len(asked) != 1 || asked[0] != 2 {
		t.Errorf("peek: %v, asked on %v", err, asked)
	}
	if asked, err := do("increment", false); ClassOf(err) != ClassUnknownOutcome || len(asked) != 1 || asked[0] != 3 {
		t.Errorf("increment: %v, asked on %v", err, asked)
	}
	if asked, err := do("echo", true); err != nil || len(asked) != 0 {
		t.Errorf("echo: %v, asked on %v", err, asked)
	}
	if n := srv.Stats().ToolExec["increment"]; n != 1 {
		t.Errorf("%d executions", n)
	}
}
