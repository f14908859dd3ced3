package farm

import (
	"net/http"
	"strings"
	"testing"
)

// TestAServerIsMadeOnce: what a request costs is not the making of the server, which may have thousands of tools.
func TestAServerIsMadeOnce(t *testing.T) {
	f, err := New(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}()
	ask := func() http.Handler {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.URL(0), strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		made, _ := f.hosts.Load(0)
		h, ok := made.(*host)
		if !ok {
			t.Fatal("no server")
		}
		return h.handler
	}
	if first, second := ask(), ask(); first == nil || first != second {
		t.Errorf("%p, then %p", first, second)
	}
}
