package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	// maxDuration is the longest limit that is believed. More is a mistake in the unit.
	maxDuration = 24 * time.Hour
	// milliseconds is the bare number from which a writer may have meant milliseconds, as other clients' files do.
	milliseconds = 1000
)

// ParseDuration returns the duration that s means, in a file or on a command line: Go's notation ("30s", "2m"), or a
// bare number of seconds. A bare number of 1000 or more is an error that offers both readings. So are zero, negative
// values, and more than 24 hours. The error begins with the value and names no key.
func ParseDuration(s string) (time.Duration, error) {
	if seconds, ok := bareNumber(s); ok {
		switch {
		case seconds <= 0:
			return 0, fmt.Errorf("%s: must be more than zero", s)
		case seconds/milliseconds > maxDuration.Seconds():
			return 0, fmt.Errorf("%s: more than 24h", s)
		case seconds >= milliseconds:
			return 0, fmt.Errorf("%s: write %ss or %ss", s, decimal(seconds/milliseconds), decimal(seconds))
		}
		return positive(s, time.Duration(seconds*float64(time.Second)))
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration; write 30s, 2m, or a number of seconds", s)
	}
	return positive(s, d)
}

// positive returns d if it is within the limits.
func positive(s string, d time.Duration) (time.Duration, error) {
	switch {
	case d <= 0:
		return 0, fmt.Errorf("%s: must be more than zero", s)
	case d > maxDuration:
		return 0, fmt.Errorf("%s: more than 24h", s)
	}
	return d, nil
}

// bareNumber returns the value of s if it is a decimal number without a unit. What else strconv takes for a number
// ("1e3", "0x10", "inf") is none here.
func bareNumber(s string) (float64, bool) {
	if strings.Trim(s, "+-.0123456789") != "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}

// decimal returns f without an exponent.
func decimal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// formatDuration returns d as people write it: "5m", not "5m0s".
func formatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
