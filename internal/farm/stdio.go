package farm

import (
	"context"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Main is a server of a farm over standard input and output, as a program of its own. It returns the exit code.
func Main() int {
	const tools = 2
	if err := NewServer("farm-stdio", tools).Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "farm:", err) //nolint:forbidigo // it is a program of its own
		return 1
	}
	return 0
}
