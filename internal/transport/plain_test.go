package transport

import (
	"context"
	"strings"
	"testing"
	"time"
)

func TestPlainAndQuote(t *testing.T) {
	for line, want := range map[string]string{
		"ready":                              "ready",
		"\x1b[32mINFO\x1b[0m  up\t now":      "INFO up now",
		"\x1b]0;title\x07ok":                 "ok",
		"\uFEFFready":                        "ready",
		"abc\u202Etxt.exe":                   "abctxt.exe",
		"r\x00e\x00a\x00d\x00y\x00":          "ready",
		"10%\r100%":                          "10% 100%",
		"\xff\xfe bad":                       "\uFFFD bad",
		"\u009b31mred":                       "red",
		"a zero\u200Bwidth":                  "a zerowidth",
		"\x1bPdevice control\x1b\\the text":  "the text",
		"\x1b(Bcharacter set, \x1b7and more": "character set, and more",
	} {
		if got := Plain(line); got != want {
			t.Errorf("Plain(%q) = %q, want %q", line, got, want)
		}
	}
	if got := Quote(strings.Repeat("é", 1<<20)); got != `"`+strings.Repeat("é", 100)+`…"` {
		t.Errorf("a long line is quoted as %.300q", got)
	}
	for line, want := range map[string]bool{
		"r\x00e\x00a\x00d\x00y\x00": true, "\x00r\x00e\x00a\x00d\x00y": true,
		"ready": false, "": false, "a\x00b": false, "\xff\xfea\x00": false,
	} {
		if got := Wide(line); got != want {
			t.Errorf("Wide(%q) = %v", line, got)
		}
	}
}

// TestAnswersFramed shows that a server which reads frames is told from one that reads lines, from one that is silent,
// and from one that ends.
func TestAnswersFramed(t *testing.T) {
	const answer = `{"jsonrpc":"2.0","id":1,"result":{}}`
	const framed = `printf 'Content-Length: 36\r\n\r\n` + answer + `'`
	for name, tt := range map[string]struct {
		script string
		want   bool
	}{
		"frames":            {`head -c 30 >/dev/null; ` + framed + `; cat >/dev/null`, true},
		"lines":             {`while read -r line; do case $line in '{'*) echo '` + answer + `';; esac; done`, false},
		"complains":         {`while read -r line; do echo '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}'; done`, false},
		"silent":            {`cat >/dev/null`, false},
		"ends":              {`exit 1`, false},
		"answers to others": {`printf 'Content-Length: 36\r\n\r\n{"jsonrpc":"2.0","id":7,"result":{}}'; cat >/dev/null`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := shell(t, tt.script)
			limit := 300 * time.Millisecond
			if tt.want {
				limit = 10 * time.Second
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			if got := k.AnswersFramed(ctx, []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)); got != tt.want {
				t.Errorf("%v", got)
			}
		})
	}
}
