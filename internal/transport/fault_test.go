package transport

import (
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
)

// TestDialsThatMayBeTriedAgain tells the failures to connect apart that pass when a server comes back: between its end and
// its return there is a moment in which connections are taken and dropped.
func TestDialsThatMayBeTriedAgain(t *testing.T) {
	for _, c := range []struct {
		err  error
		want Kind
	}{
		{syscall.ECONNREFUSED, KindRefused},
		{syscall.ECONNRESET, KindRefused},
		{syscall.EHOSTUNREACH, KindDial},
		{errors.New("something else"), KindDial},
	} {
		err := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", c.err)}
		if got := netKind(err); got != c.want {
			t.Errorf("%v is of kind %v, want %v", err, got, c.want)
		}
	}
	if got := netKind(&net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}); got != KindSevered {
		t.Errorf("a reset of an open connection is of kind %v", got)
	}
}
