//go:build race

package main

import "time"

// raced tells that the race detector watches this binary.
const raced = true

// raceAllowance is what the time assertions of the hang matrix grant on top of the design's bounds. Under the race
// detector code runs up to ten times slower, and the matrix keeps both processors of a small machine busy.
const raceAllowance = 2 * time.Second
