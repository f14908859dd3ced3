//go:build !race

package session

// raceEnabled is set when the race detector is at work.
const raceEnabled = false
