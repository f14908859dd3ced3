//go:build !race

package main

import "time"

// raceAllowance is only granted under the race detector.
const raceAllowance time.Duration = 0
