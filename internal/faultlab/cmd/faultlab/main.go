// Command faultlab serves MCP servers and configuration files that misbehave on request.
package main

import (
	"os"

	"github.com/mcpctl/mcpctl/internal/faultlab"
)

func main() {
	os.Exit(faultlab.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
