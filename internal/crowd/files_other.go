//go:build !unix

package crowd

// mostFiles returns how many files the process may have open: here, as many as there is memory for.
func mostFiles() int { return 1 << 20 }
