//go:build !linux

package main

// peakMemory and limited are for Linux only.
func peakMemory() {}
func limited()    {}
