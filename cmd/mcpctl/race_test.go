//go:build race

package main

import "time"

// raceAllowance is what the time assertions of the hang matrix grant on top of the design's bounds. Under the race
// detector code runs up to ten times slower, and the matrix keeps both processors of a small machine busy.
const raceAllowance = 2 * time.Second
