package main

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/spf13/pflag"

	"github.com/mcpctl/mcpctl/pkg/config"
)

const (
	// mostConnections bounds --connections: more is a load test.
	mostConnections = 256
	// mostIdle bounds --idle: above it a machine does that better that starts mcpctl anew.
	mostIdle = 24 * time.Hour
	// mostAddresses bounds --each-address: a name with more addresses is not one server.
	mostAddresses = 64
	// resolveTime bounds the resolution of a name for --each-address.
	resolveTime = 10 * time.Second
)

// operatorFlags are for those who run servers behind load balancers.
type operatorFlags struct {
	connections int
	idle        durationValue
	eachAddress bool
}

func (o *operatorFlags) register(flags *pflag.FlagSet) {
	flags.Var((*numberValue)(&o.connections), "connections", "use the session on `N` new connections at once (default 8)")
	flags.Var(&o.idle, "idle", "send nothing for this `time`, then use the session again")
	flags.BoolVar(&o.eachAddress, "each-address", false, "check each IP address of the host separately")
}

func (o *operatorFlags) check(flags *pflag.FlagSet) error {
	switch {
	case flags.Changed("connections") && (o.connections < 1 || o.connections > mostConnections):
		return usagef("--connections: %d: the number of connections is from 1 to %d", o.connections, mostConnections)
	case flags.Changed("idle") && (o.idle.Duration <= 0 || o.idle.Duration > mostIdle):
		return usagef("--idle: %s: a silence is longer than 0 and at most 24h", o.idle.Duration)
	case o.eachAddress && flags.Changed("connect-to"):
		return usagef("--each-address and --connect-to contradict each other")
	}
	return nil
}

// addresses replaces each server that is reached by a host name by one for each of its addresses: "prod@10.0.0.7". A name
// that does not resolve stays, and its examination says so.
func (o *operatorFlags) addresses(ctx context.Context, a *app, servers []config.Server) ([]config.Server, error) {
	if !o.eachAddress {
		return servers, nil
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTime)
	defer cancel()
	var out []config.Server
	for _, s := range servers {
		expanded, secrets, err := s.Expand(a.environment())
		a.redact.Add(secrets...)
		if s.URL == "" || err != nil {
			out = append(out, s)
			continue
		}
		r, err := a.dialer().Route(expanded)
		if err != nil || r.Proxy != "" {
			out = append(out, s)
			continue
		}
		found, err := net.DefaultResolver.LookupHost(ctx, r.Host)
		if err != nil {
			out = append(out, s)
			continue
		}
		if len(found) > mostAddresses {
			return nil, usagef("%s has %d addresses, and --each-address takes at most %d", r.Host, len(found), mostAddresses)
		}
		for _, address := range found {
			one := s.Clone()
			one.Name, one.ConnectTo = fmt.Sprintf("%s@%s", s.Name, address), net.JoinHostPort(address, r.Port)
			out = append(out, one)
		}
	}
	return out, nil
}
