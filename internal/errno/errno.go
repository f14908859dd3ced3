// Package errno recognizes the errors of the system by the names of POSIX, also on Windows.
//
// There the numbers in package syscall under these names are made up, and no error of the network ever has them: a refused
// connection is WSAECONNREFUSED, and [errors.Is] does not know that the two are the same.
package errno

import (
	"errors"
	"runtime"
	"syscall"
)

// Is reports whether an error in err's tree is the one of that name, as [errors.Is] does.
func Is(err error, name syscall.Errno) bool {
	if errors.Is(err, name) {
		return true
	}
	if runtime.GOOS != "windows" {
		return false
	}
	for _, number := range onWindows(name) {
		if errors.Is(err, number) {
			return true
		}
	}
	return false
}

// onWindows returns the numbers that Windows has for a name. See Microsoft, "Windows Sockets Error Codes" and "System Error
// Codes".
func onWindows(name syscall.Errno) []syscall.Errno {
	switch name {
	case syscall.EPIPE:
		return []syscall.Errno{109, 232, 233} // ERROR_BROKEN_PIPE, ERROR_NO_DATA, ERROR_PIPE_NOT_CONNECTED
	case syscall.EADDRINUSE:
		return []syscall.Errno{10048}
	case syscall.EADDRNOTAVAIL:
		return []syscall.Errno{10049}
	case syscall.ENETUNREACH:
		return []syscall.Errno{10051}
	case syscall.ECONNRESET:
		return []syscall.Errno{10053, 10054} // WSAECONNABORTED: by the own machine, after the other did not answer
	case syscall.ECONNREFUSED:
		return []syscall.Errno{10061}
	case syscall.EHOSTUNREACH:
		return []syscall.Errno{10065}
	default: // those that nobody has asked for yet
		return nil
	}
}

// Text is the usual text of an error of the network, "" for any other. Windows has sentences for them, which differ with its
// language.
func Text(err error) string {
	for _, name := range []syscall.Errno{
		syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ENETUNREACH, syscall.EHOSTUNREACH, syscall.EADDRNOTAVAIL, syscall.EADDRINUSE,
	} {
		if Is(err, name) {
			return name.Error()
		}
	}
	return ""
}
