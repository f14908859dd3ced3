package main

import (
	"strings"
	"testing"
)

// TestTheStreamOfNotificationsIsOpenedOnRequest is OP-09: a call opens none by itself, nor with -v; with --log-level it does,
// and what comes there is shown.
func TestTheStreamOfNotificationsIsOpenedOnRequest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flags  []string
		opened bool
	}{
		{nil, false}, {[]string{"-v"}, false}, {[]string{"--log-level", "off"}, false}, {[]string{"--log-level", "info"}, true},
	} {
		h := newHeard(t)
		url := startChatter(t, "-heard", string(h)) + "/mcp"
		code, _, stderr := runHere(t.Context(), t, "", append([]string{"call", url, "say", "pause=0.5"}, c.flags...)...)
		if code != codeOK {
			t.Errorf("%q: exit code %d: %s", c.flags, code, stderr)
		}
		if got := strings.Contains(h.all(), "GET\n"); got != c.opened {
			t.Errorf("%q: opened %t", c.flags, got)
		}
		if got := strings.Contains(stderr, "/mcp warning standalone: unasked\n"); got != c.opened {
			t.Errorf("%q: %s", c.flags, stderr)
		}
	}
}

func TestALogMessageIsBounded(t *testing.T) {
	t.Parallel()
	long := logText([]byte(`"` + strings.Repeat("é", 100_000) + `"`))
	if n := len([]rune(long)); n != mostLogged+1 || !strings.HasSuffix(long, "é…") {
		t.Errorf("%d characters: %.20q", n, long)
	}
	if got := logText([]byte(`{"a":"` + strings.Repeat("x", 100_000) + `"}`)); len([]rune(got)) != mostLogged+1 {
		t.Errorf("%d bytes", len(got))
	}
}
