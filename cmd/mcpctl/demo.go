package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpctl/mcpctl/internal/demo"
)

// demoCommand is the word that starts the demonstration server.
const demoCommand = "demo-server"

type demoServerOptions struct {
	http      string
	stateless bool
}

func newDemoServerCmd(a *app) *cobra.Command {
	var o demoServerOptions
	cmd := &cobra.Command{
		Use:   demoCommand,
		Short: "Serve the built-in demonstration server",
		Long: `Serve the built-in demonstration server over standard input and output, or over
HTTP until Ctrl-C. With HTTP the URL is printed on stderr; port 0 takes a free
one. It listens on this machine only.

Wherever a command takes SERVER, the word demo starts one over stdio.`,
		Example: `  mcpctl demo-server --http 127.0.0.1:8080
  mcpctl tools http://127.0.0.1:8080/mcp`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd, a) },
	}
	return a.withFlags(cmd, func(flags *pflag.FlagSet) {
		flags.StringVar(&o.http, "http", "", "serve Streamable HTTP on this `address`, HOST:PORT")
		flags.BoolVar(&o.stateless, "stateless", false, "serve HTTP without sessions, as protocol version 2026-07-28 does")
	})
}

func (o *demoServerOptions) run(cmd *cobra.Command, a *app) error {
	ctx := cmd.Context()
	options := demo.Options{Version: a.build.version, Logger: a.logger}
	if !cmd.Flags().Changed("http") {
		if o.stateless {
			return usagef("--stateless needs --http")
		}
		err := demo.RunStdio(ctx, io.NopCloser(a.io.In), nopCloser{a.io.Out}, options)
		if err != nil && err == context.Cause(ctx) { //nolint:errorlint // that very error is the end it is meant to have
			return nil
		}
		return err
	}
	if err := checkAddress(o.http); err != nil {
		return err
	}
	server, err := demo.ServeHTTP(ctx, o.http, demo.HTTPOptions{Options: options, Stateless: o.stateless})
	if err != nil {
		return err
	}
	a.warn("listening on " + server.URL() + "\n")
	return errors.Join(server.Wait(), server.Close())
}

// checkAddress refuses what is no address of this machine, HOST:PORT. Whether the port is free is seen later.
func checkAddress(address string) error {
	const example = "mcpctl demo-server --http 127.0.0.1:8080"
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return usagef("--http: %q is not HOST:PORT", address).hint(example)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return usagef("--http: %q: the port is a number from 0 to 65535", address).hint(example)
	}
	if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.IsLoopback()) {
		return usagef("--http: %q: not a loopback address, and the server asks for no authorization", address).hint(example)
	}
	return nil
}

// nopCloser keeps the process's standard output open.
type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
