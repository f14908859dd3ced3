package config

import (
	"strconv"
	"testing"
	"time"
)

func TestParseDuration(t *testing.T) {
	tests := []struct{ text, want string }{
		{"30s", "30s"},
		{"2m", "2m0s"},
		{"1h30m", "1h30m0s"},
		{"500ms", "500ms"},
		{"24h", "24h0m0s"},
		{"1500s", "25m0s"},
		{"30", "30s"},
		{"+5", "5s"},
		{"0.05", "50ms"},
		{".5", "500ms"},
		{"999", "16m39s"},
		{"999.5", "16m39.5s"},
		{"1000", "error: 1000: write 1s or 1000s"},
		{"1500", "error: 1500: write 1.5s or 1500s"},
		{"30000", "error: 30000: write 30s or 30000s"},
		{"30000.5", "error: 30000.5: write 30.0005s or 30000.5s"},
		{"0", "error: 0: must be more than zero"},
		{"0s", "error: 0s: must be more than zero"},
		{"-5", "error: -5: must be more than zero"},
		{"-30000", "error: -30000: must be more than zero"},
		{"-1m", "error: -1m: must be more than zero"},
		{"0.0000000001", "error: 0.0000000001: must be more than zero"},
		{"25h", "error: 25h: more than 24h"},
		{"86400001", "error: 86400001: more than 24h"},
		{"", `error: "" is not a duration; write 30s, 2m, or a number of seconds`},
		{"soon", `error: "soon" is not a duration; write 30s, 2m, or a number of seconds`},
		{"1d", `error: "1d" is not a duration; write 30s, 2m, or a number of seconds`},
		{"1e3", `error: "1e3" is not a duration; write 30s, 2m, or a number of seconds`},
		{"0x10", `error: "0x10" is not a duration; write 30s, 2m, or a number of seconds`},
		{"inf", `error: "inf" is not a duration; write 30s, 2m, or a number of seconds`},
		{"30 s", `error: "30 s" is not a duration; write 30s, 2m, or a number of seconds`},
		{"-", `error: "-" is not a duration; write 30s, 2m, or a number of seconds`},
	}
	for _, test := range tests {
		d, err := ParseDuration(test.text)
		got := d.String()
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != test.want {
			t.Errorf("%q: got %s, want %s", test.text, got, test.want)
		}
	}
}

func TestDurationsAreWrittenShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		30 * time.Second: "30s", 5 * time.Minute: "5m", time.Hour: "1h", 24 * time.Hour: "24h", 90 * time.Second: "1m30s",
		time.Hour + 5*time.Second: "1h0m5s", 90 * time.Minute: "1h30m", 1500 * time.Millisecond: "1.5s", 10 * time.Minute: "10m",
	} {
		if got := formatDuration(d); got != want {
			t.Errorf("%v: got %s, want %s", d, got, want)
		}
	}
}

func FuzzParseDuration(f *testing.F) {
	for _, seed := range []string{"30s", "30", "1000", "0", "-1", "1e9", "24h", "9999999999999999999", "1.5.2", "１", "1h1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseDuration(text)
		if err != nil {
			if err.Error() == "" {
				t.Error("an empty message")
			}
			return
		}
		if d <= 0 || d > 24*time.Hour {
			t.Errorf("%q: %v", text, d)
		}
		if n, err := strconv.Atoi(text); err == nil && (n >= 1000 || d != time.Duration(n)*time.Second) {
			t.Errorf("%q: %v", text, d)
		}
		if again, err := ParseDuration(formatDuration(d)); err != nil || again != d {
			t.Errorf("%q: written as %s, read as %v, %v", text, formatDuration(d), again, err)
		}
	})
}
