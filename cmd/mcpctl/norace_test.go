//go:build !race

package main

import "time"

// raced tells that the race detector watches this binary.
const raced = false

// raceAllowance is only granted under the race detector.
const raceAllowance time.Duration = 0
