// Command farm serves a small MCP server over stdio, for benchmarks. See package farm.
package main

import (
	"os"

	"github.com/mcpctl/mcpctl/internal/farm"
)

func main() { os.Exit(farm.Main()) }
