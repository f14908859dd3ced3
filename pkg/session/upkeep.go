package session

import (
	"cmp"
	"fmt"
	"time"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// Upkeep are the numbers by which a session is held open. See [Supervisor.Keep].
type Upkeep struct {
	// Keepalive is how often an idle session is asked for a sign of life; its Value is 0 for never. It is also how long a
	// connection must last to prove itself without a request.
	Keepalive Limit
	// Initial and Reconnect are the numbers of failures in a row after which a server is parked: one that has never worked,
	// and one that has.
	Initial, Reconnect int
	// ParkInterval is the time between the attempts for a parked server.
	ParkInterval time.Duration
	// MaxBackoff is the longest pause between two attempts for one that is not parked.
	MaxBackoff time.Duration
	// Threshold is the number of failures of requests in a row, on the way, that opens the circuit breaker; 0 for none.
	Threshold int
	// Cooldown is how long an open breaker refuses requests.
	Cooldown time.Duration
}

// The built-in numbers.
const (
	// DefaultKeepalive is less than the few minutes after which load balancers and servers forget who is silent.
	DefaultKeepalive = 180 * time.Second
	// MinKeepalive is the least keepalive: more often is a load, not a sign of life.
	MinKeepalive = 5 * time.Second
	// DefaultInitial is small: a server that has never worked is most likely set up wrongly.
	DefaultInitial = 3
	// DefaultReconnect takes about 15 s: a server's restart.
	DefaultReconnect = 5
	// DefaultParkInterval is a load that nobody notices, and soon enough for a server that nobody asks.
	DefaultParkInterval = 300 * time.Second
	// DefaultMaxBackoff bounds the pauses, which begin at a second and double.
	DefaultMaxBackoff = 60 * time.Second
	// DefaultThreshold is more than bad luck.
	DefaultThreshold = 3
	// DefaultCooldown gives a server time to get over what ails it.
	DefaultCooldown = 60 * time.Second

	// keeperBackoff is the first pause between two attempts, after the one that is made at once.
	keeperBackoff = time.Second
	// signBound bounds the wait for a sign of life.
	signBound = 10 * time.Second
)

// UpkeepFor returns the numbers in force for server: the entry's own, else the built-in ones.
func UpkeepFor(server config.Server) Upkeep {
	u := Upkeep{
		Keepalive:    Limit{Name: "keepalive", Value: DefaultKeepalive, Source: "built-in"},
		Initial:      cmp.Or(server.Retry.Initial, DefaultInitial),
		Reconnect:    cmp.Or(server.Retry.Reconnect, DefaultReconnect),
		ParkInterval: cmp.Or(server.Retry.ParkInterval, DefaultParkInterval),
		MaxBackoff:   cmp.Or(server.Retry.MaxBackoff, DefaultMaxBackoff),
		Threshold:    max(0, cmp.Or(server.Breaker.Threshold, DefaultThreshold)),
		Cooldown:     cmp.Or(server.Breaker.Cooldown, DefaultCooldown),
	}
	u.ParkInterval, u.MaxBackoff = max(u.ParkInterval, keeperBackoff), max(u.MaxBackoff, keeperBackoff)
	switch k := server.Keepalive; {
	case k == config.Off:
		u.Keepalive.Value, u.Keepalive.Source = 0, server.Sources["keepalive"].String()
	case k > 0:
		u.Keepalive = configured(u.Keepalive, k, server)
		if k < MinKeepalive {
			u.Keepalive.Note = fmt.Sprintf("raised from %s: %s is the least", k, MinKeepalive)
			u.Keepalive.Value = MinKeepalive
		}
	}
	return u
}

// proof is how long a connection must last to prove itself without a request.
func (u Upkeep) proof() time.Duration { return cmp.Or(u.Keepalive.Value, DefaultKeepalive) }

// backoff is the pause after so many failures in a row.
func (u Upkeep) backoff(failures int) time.Duration {
	pause := keeperBackoff
	for range failures - 1 {
		if pause *= 2; pause >= u.MaxBackoff {
			break
		}
	}
	return spread(min(pause, u.MaxBackoff))
}
