package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

// networkFlags say how an HTTP server is reached.
type networkFlags struct {
	caFile, certFile, keyFile string
	insecure                  bool
	proxyURL                  string
	connectTo                 string
}

func (f *networkFlags) registerNetwork(flags *pflag.FlagSet) {
	flags.StringVar(&f.caFile, "ca-file", "", "also trust the certificate authorities in this PEM `file`")
	flags.StringVar(&f.certFile, "cert-file", "", "use the client certificate in this PEM `file`")
	flags.StringVar(&f.keyFile, "key-file", "", "private key of the client certificate, a PEM `file`")
	flags.BoolVar(&f.insecure, "insecure", false, "do not verify the server's certificate")
	flags.StringVar(&f.proxyURL, "proxy", "", "`URL` of a proxy, or none (default HTTPS_PROXY)")
	flags.StringVar(&f.connectTo, "connect-to", "", "connect to this `HOST`, or HOST:PORT, instead of the URL's")
}

// applyNetwork overrides what the flags that were given say.
func (f *networkFlags) applyNetwork(set func(flag, key string, change func()), server *config.Server) {
	set("ca-file", "tls.ca_file", func() { server.TLS.CAFile = f.caFile })
	set("cert-file", "tls.cert_file", func() { server.TLS.CertFile = f.certFile })
	set("key-file", "tls.key_file", func() { server.TLS.KeyFile = f.keyFile })
	set("insecure", "tls.insecure_skip_verify", func() { server.TLS.InsecureSkipVerify = f.insecure })
	set("proxy", "proxy", func() { server.Proxy = f.proxyURL })
	set("connect-to", "connect_to", func() { server.ConnectTo = f.connectTo })
}

// networkFit returns an error if the flags say something that no server with a URL can be reached by.
func (f *networkFlags) networkFit(flags *pflag.FlagSet, server config.Server) error {
	for _, flag := range []string{"ca-file", "cert-file", "key-file", "proxy", "connect-to"} {
		if flags.Changed(flag) && flags.Lookup(flag).Value.String() == "" {
			return usagef("--%s: the value is empty", flag)
		}
	}
	switch {
	case flags.Changed("cert-file") && server.TLS.KeyFile == "":
		return usagef("--cert-file: the private key is missing").hint("--key-file FILE; it is the same file if that holds both")
	case flags.Changed("key-file") && server.TLS.CertFile == "":
		return usagef("--key-file: the certificate is missing").hint("--cert-file FILE; it is the same file if that holds both")
	case !flags.Changed("connect-to"):
		return nil
	}
	if _, _, err := config.SplitConnectTo(f.connectTo); err != nil {
		return usagef("--connect-to: %s", err).hint("--connect-to HOST, or --connect-to HOST:PORT")
	}
	if server.Proxy != "" && server.Proxy != config.ProxyNone {
		return usagef("--connect-to: %s goes through a proxy, which connects by itself", server.Name).hint("to go without it: --proxy none")
	}
	return nil
}

// networkMisfit returns an error if one of the flags was given for a command.
func (f *networkFlags) networkMisfit(flags *pflag.FlagSet, server config.Server) error {
	for _, flag := range []string{"ca-file", "cert-file", "key-file", "insecure", "proxy", "connect-to"} {
		if flags.Changed(flag) {
			return usagef("--%s: %s is a command, and only a URL is reached over a network", flag, server.Name)
		}
	}
	return nil
}

// curlFlag returns what a flag of curl's about the way to a server is called here, "" if it is none or if the command has
// no such flag.
func curlFlag(cmd *cobra.Command, typed string) string {
	if cmd.Flags().Lookup("ca-file") == nil {
		return ""
	}
	switch typed {
	case "--cacert":
		return "--ca-file FILE"
	case "--cert", "-E":
		return "--cert-file FILE --key-file FILE"
	case "--key":
		return "--key-file FILE"
	case "-k":
		return "--insecure"
	case "-x":
		return "--proxy URL"
	case "--noproxy":
		return "--proxy none"
	case "--resolve":
		return "--connect-to HOST:PORT"
	}
	return ""
}

// warnUnverified says, once for each server, that its certificate is not checked.
func (a *app) warnUnverified(server config.Server) {
	source := session.Unverified(server)
	if source == "" {
		return
	}
	if _, said := a.unverified.LoadOrStore(server.Name, true); !said {
		a.warn(fmt.Sprintf("mcpctl: warning: %s: the server's certificate is not checked (%s)\n", oneLine(server.Name), source))
	}
}
