// Command chatter serves an MCP server that says much, for benchmarks. See package chatter.
package main

import (
	"os"

	"github.com/mcpctl/mcpctl/internal/chatter"
)

func main() { os.Exit(chatter.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
