package probe

import (
	"slices"
	"strings"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// writtenSecrets returns the literal secrets that stand in the configuration file. What is given by a flag is in no file.
func writtenSecrets(t *Target) []config.LiteralSecret {
	return slices.DeleteFunc(t.Server.LiteralSecrets(), func(l config.LiteralSecret) bool {
		key, _, _ := strings.Cut(l.Place, ".")
		key, _, _ = strings.Cut(key, "[")
		return t.Server.Sources[key].Kind == "flag" || t.Server.Sources[l.Place].Kind == "flag"
	})
}
