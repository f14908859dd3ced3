//go:build !linux

package main

// peakMemory is for Linux only.
func peakMemory() {}
