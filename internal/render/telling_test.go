package render

import "testing"

func TestTellingLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lines []string
		want  int
	}{
		"the cause in a trace of Node.js": {[]string{
			"stderr: starting", "stderr: TypeError: fetch failed", "stderr: at node:internal/deps/undici/undici:14976:13 {",
			"stderr: [cause]: Error: getaddrinfo ENOTFOUND api.example.com", "stderr: at GetAddrInfoReqWrap.onlookupall (node:dns:122:26) {",
			"stderr: errno: -3008,", "stderr: code: 'ENOTFOUND',", "stderr: }", "stderr: }",
		}, 3},
		"the last line of a trace of Python": {[]string{
			"stderr: Traceback (most recent call last):", `stderr: File "/srv/a.py", line 1, in <module>`, "stderr: import x", "stderr: ValueError: no such thing",
		}, 3},
		"an error, and words after it": {[]string{"stderr: fatal: no configuration", "stderr: bye"}, 0},
		"words alone":                  {[]string{"stderr: loading", "stderr: ----"}, 0},
		"no words at all":              {[]string{"stderr: {", "stderr: }"}, 1},
	} {
		if got := Telling(c.lines); got != c.want {
			t.Errorf("%s: line %d, want %d", name, got, c.want)
		}
	}
}
