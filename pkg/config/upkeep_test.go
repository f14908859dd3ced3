package config

import (
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

func TestParseUpkeep(t *testing.T) {
	s := entryOf(t, "url: https://x", "keepalive: 20s", "retry: {initial: 1, reconnect: 9, park_interval: 10m, max_backoff: 30s}",
		"breaker: {threshold: 7, cooldown: 5s}")
	if s.Err != nil {
		t.Fatal(s.Err)
	}
	if s.Keepalive != 20*time.Second || s.Retry != (Retry{1, 9, 10 * time.Minute, 30 * time.Second}) || s.Breaker != (Breaker{7, 5 * time.Second}) {
		t.Errorf("%+v", s)
	}
	for _, key := range []string{"keepalive", "retry.initial", "retry.max_backoff", "breaker.cooldown"} {
		if s.Sources[key].Kind != "entry" {
			t.Errorf("%s: source %+v", key, s.Sources[key])
		}
	}
	for _, off := range []string{"off", "false", `"off"`} {
		if s := entryOf(t, "url: https://x", "keepalive: "+off, "breaker: {threshold: 0}"); s.Err != nil || s.Keepalive != Off || s.Breaker.Threshold != Off {
			t.Errorf("%s: %+v, %v", off, s, s.Err)
		}
	}
}

func TestParseUpkeepProblems(t *testing.T) {
	for line, want := range map[string]string{
		"keepalive: 0":                           "0: must be more than zero",
		"keepalive: on":                          "keepalive",
		"keepalive: 5000":                        "write 5s or 5000s",
		"retry: 3":                               "retry",
		"retry: {initial: 0}":                    "want a number from 1 to 1000",
		"retry: {initial: 99999999999999999999}": "want a number from 1 to 1000",
		"retry: {initial: 1.5}":                  "want a whole number",
		"retry: {max_backof: 1s}":                "max_backoff",
		"retry: {park_interval: -1s}":            "must be more than zero",
		"breaker: {threshold: -1}":               "want a number from 0 to 1000",
		"breaker: {threshold: many}":             "want a whole number",
		"breaker: {cooldown: 25h}":               "more than 24h",
		"breaker: {colldown: 5s}":                "cooldown",
		"breaker: {threshold: 1000000}":          "want a number from 0 to 1000",
	} {
		s := entryOf(t, "url: https://x", line)
		if s.Err == nil || !strings.Contains(s.Err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, s.Err, want)
		}
	}
}

func TestWriteUpkeep(t *testing.T) {
	for _, lines := range [][]string{
		{"keepalive: 20s"},
		{"keepalive: off", "breaker: {threshold: 0}"},
		{"retry: {initial: 1, reconnect: 9, park_interval: 10m, max_backoff: 30s}", "breaker: {threshold: 7, cooldown: 5s}"},
	} {
		want := entryOf(t, append([]string{"url: https://x"}, lines...)...)
		text, err := yaml.Marshal(entryNode(want))
		if err != nil {
			t.Fatal(err)
		}
		written := string(text)
		got := entryOf(t, strings.Split(strings.TrimSpace(written), "\n")...)
		if got.Err != nil || got.Keepalive != want.Keepalive || got.Retry != want.Retry || got.Breaker != want.Breaker {
			t.Errorf("%v: written as\n%s\nread as %+v, %v", lines, written, got, got.Err)
		}
		for _, line := range lines {
			if !strings.Contains(written, line) {
				t.Errorf("%q is not in\n%s", line, written)
			}
		}
	}
}
