package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
)

// noSuchConfig returns the configuration file that somebody named and that is not there, "" if all is well. Without a name
// there need be none.
func (a *app) noSuchConfig() string {
	file, _ := a.lookup("MCPCTL_CONFIG")
	if a.config == nil || a.config.Path == "-" || a.global.config == "" && (file == "" || a.global.from != "") {
		return ""
	}
	if _, err := os.Stat(a.config.Path); !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return a.config.Path
}

// nothingToExamine says why there is no server. A file that is named and not there, or that has none, is most often another
// one than was meant.
func (a *app) nothingToExamine(ctx context.Context) error {
	if file := a.noSuchConfig(); file != "" {
		return usagef("%s: there is no such file", file)
	}
	c := a.config
	switch {
	case c != nil && c.Format != nil && len(c.Servers) == 0:
		return usagef("%s: there is no server to examine below its key %q", c.Path, c.Format.Key)
	case c != nil && a.global.config != "" && len(c.Servers) == 0:
		return usagef("%s: there is no server to examine below a key \"servers\", or \"mcpServers\" as other clients call it", c.Path)
	}
	e := usagef("there is no enabled server to check")
	if c != nil && len(c.Servers) > 0 {
		e.hint("for once: --include-disabled")
	}
	for _, offer := range a.offers(ctx) {
		e.hint("%s", offer)
	}
	if a.global.from != "" {
		return e
	}
	return e.hint("mcpctl add NAME URL, or: mcpctl doctor demo")
}
