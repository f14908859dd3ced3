package probe

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcpctl/mcpctl/pkg/config"
)

func clientPlaceholders() Check {
	return Check{
		ID: "client.placeholders", Title: "placeholders mean the same there", Needs: []string{"config.variables"},
		Why: `Each client replaces other placeholders in its file: ${NAME}, ${env:NAME}, ${workspaceFolder}, ${input:…}, or
none at all. What it does not replace reaches the server as written: a token that reads ${GITHUB_TOKEN}, a path
that begins with ~.`,
		Remedy:  "Use the client's own syntax, or the value itself.",
		Applies: func(t *Target) bool { return fromClient(t) && placeholders(t) > 0 },
		Run: func(_ context.Context, t *Target) Finding {
			client := format(t)
			var literal, told []string
			fix := "write the value itself"
			for _, p := range t.Server.Foreign.Placeholders {
				switch p.Kind {
				case config.PlaceholderLiteral:
					literal = append(literal, fmt.Sprintf("%s (in %s)", p.Text, p.Place))
					if name, ok := variableIn(p.Text); ok && client.Reference != "" {
						fix = "write " + strings.Replace(client.Reference, "NAME", name, 1) + ", or the value itself"
					}
				case config.PlaceholderEditor:
					if value, ok := t.Server.Foreign.Value(p, t.Environment.Home); ok {
						told = append(told, fmt.Sprintf("%s is %s here", p.Text, value))
					}
				case config.PlaceholderAsked:
					told = append(told, fmt.Sprintf("%s is asked for by %s, and was given by a flag here", p.Text, client.Title))
				}
			}
			if file := t.Server.Foreign.EnvFile; file != "" {
				told = append(told, "envFile "+file+" was read")
			}
			if len(literal) > 0 {
				return warn(fmt.Sprintf("%s passes %s on as it is written", client.Title, strings.Join(literal, ", ")), fix)
			}
			return pass(strings.Join(told, "; "))
		},
	}
}

func placeholders(t *Target) int {
	n := len(t.Server.Foreign.Placeholders)
	if t.Server.Foreign.EnvFile != "" {
		n++
	}
	return n
}

// variableIn returns the name of the variable that a placeholder means in some client's form.
func variableIn(text string) (string, bool) {
	name := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(text, "${"), "env:"), "}")
	if name == "" || strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return "", false
	}
	return name, true
}
