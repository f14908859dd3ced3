package transport

import (
	"net/http"
	"slices"
	"testing"
)

// TestSignsOfALoadBalancer shows that the cookie by which a load balancer knows a client is named, without its value, and that
// other cookies are not.
func TestSignsOfALoadBalancer(t *testing.T) {
	t.Parallel()
	h := http.Header{"Server": {"awselb/2.0"}, "Set-Cookie": {"sid=secret; Path=/", "AWSALB=secret; Path=/"}}
	if got, want := signs(h, nil), []string{"Server: awselb/2.0", "Set-Cookie: AWSALB"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestCutOff shows what is said of an answer that ended before its end.
func TestCutOff(t *testing.T) {
	t.Parallel()
	for length, want := range map[int64]string{
		184: "the answer broke off after 134 of the 184 bytes that its Content-Length announces",
		-1:  "the answer broke off after 134 bytes",
	} {
		if got := cutOff(134, length); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
