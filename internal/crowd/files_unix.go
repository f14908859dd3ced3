//go:build unix

package crowd

import "syscall"

// mostFiles returns how many files the process may have open. Go has raised the soft limit to the hard one by now.
func mostFiles() int {
	const unknown, enough = 256, 1 << 20 // what the smallest systems allow, and what nobody reaches
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return unknown
	}
	return int(min(limit.Cur, enough)) //nolint:gosec // it fits; some systems have it signed
}
