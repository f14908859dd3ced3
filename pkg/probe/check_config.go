package probe

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/mcpctl/mcpctl/pkg/config"
)

func configEntry() Check {
	return Check{
		ID: "config.entry", Title: "entry is valid",
		Why: `The entry names exactly one of a command and a URL, and every value has the form and the range that it must have.
Nothing can be started or reached with an entry that is not valid.`,
		Run: func(_ context.Context, t *Target) Finding {
			err := t.Server.Err
			if err == nil {
				entry := t.Server
				entry.Name = "server" // checked where it is given; what is not configured has no name to check
				err = entry.Validate()
			}
			if err != nil {
				return Finding{Status: Fail, Message: err.Error(), Class: "config", Fix: "correct the entry in the configuration"}
			}
			return pass("valid")
		},
	}
}

func configVariables() Check {
	return Check{
		ID: "config.variables", Title: "variables are set", Needs: []string{"config.entry"},
		Why: `${NAME} in an entry stands for a variable of the environment. Nothing is started or sent with one that is not set: a
server would get the placeholder for a token, and refuse it with an error that hides the cause.`,
		Run: func(_ context.Context, t *Target) Finding {
			lookup := t.Lookup
			if lookup == nil {
				lookup = func(string) (string, bool) { return "", false }
			}
			expanded, secrets, err := t.Server.Expand(lookup, t.Home)
			if t.OnSecrets != nil {
				t.OnSecrets(secrets)
			}
			if err != nil {
				return Finding{Status: Fail, Message: err.Error(), Class: "config", Fix: "set the variables, or give defaults: ${NAME:-default}"}
			}
			t.expanded = expanded
			return pass("all set")
		},
	}
}

func configSecrets() Check {
	return Check{
		ID: "config.secrets", Title: "secrets are not literal", Needs: []string{"config.entry"},
		Why: `A token that stands in the configuration itself is copied with it: into backups, dotfile repositories, bug reports.
Keep it in the environment and write ${NAME}.`,
		Run: func(_ context.Context, t *Target) Finding {
			literal := writtenSecrets(t)
			if len(literal) == 0 {
				return pass("none")
			}
			places := make([]string, len(literal))
			for i, l := range literal {
				places[i] = l.Place
			}
			return warn("literal secret in "+strings.Join(places, ", "), "put the value into a variable and write ${NAME} in its place")
		},
	}
}

// writtenSecrets returns the literal secrets that stand in the configuration file. What is given by a flag is in no file.
func writtenSecrets(t *Target) []config.LiteralSecret {
	return slices.DeleteFunc(t.Server.LiteralSecrets(), func(l config.LiteralSecret) bool {
		key, _, _ := strings.Cut(l.Place, ".")
		return t.Server.Sources[key].Kind == "flag" || t.Server.Sources[l.Place].Kind == "flag"
	})
}

func configFile() Check {
	return Check{
		ID: "config.file", Title: "file is private",
		Why: `A configuration with secrets in it should not be read by other users of the machine.`,
		Applies: func(t *Target) bool {
			return t.ConfigPath != "" && t.ConfigPath != "-" && runtime.GOOS != "windows"
		},
		Run: func(_ context.Context, t *Target) Finding {
			info, err := os.Stat(t.ConfigPath)
			if err != nil {
				return Finding{Status: Unknown, Message: err.Error()}
			}
			mode := info.Mode().Perm()
			if mode&0o077 != 0 && len(writtenSecrets(t)) == 0 {
				return pass(fmt.Sprintf("mode %04o, and no secret of this entry in it", mode))
			}
			if mode&0o077 != 0 {
				return warn(fmt.Sprintf("%s has mode %04o", t.ConfigPath, mode), "chmod 600 "+t.ConfigPath)
			}
			return pass("only you can read it")
		},
	}
}

func configNetwork() Check {
	return Check{
		ID: "config.network", Title: "certificates and proxy are usable", Needs: []string{"config.variables"}, Applies: overHTTP,
		Why: `The files that tls names must be there and hold certificates and the key that belongs to them, and the proxy of the entry,
or of the environment, must be a URL. The proxy that applies is named here, without its password.`,
		Run: func(_ context.Context, t *Target) Finding {
			r, err := t.dialer().Route(t.expanded)
			switch {
			case err != nil:
				return failure(err)
			case r.Proxy != "":
				f := pass(fmt.Sprintf("through the proxy %s (%s)", r.Proxy, r.ProxySource))
				f.Data = map[string]any{"proxy": r.Proxy, "proxy_source": r.ProxySource}
				return f
			}
			return pass("no proxy")
		},
	}
}

func configTools() Check {
	return Check{
		ID: "config.tools", Title: "tool filters match", Needs: []string{"tools.list"},
		Why: `A filter that matches no tool is usually a misspelling, or the server has renamed the tool: the filter then hides all
tools, or none.`,
		Applies: func(t *Target) bool { return len(t.Server.Tools.Include)+len(t.Server.Tools.Exclude) > 0 },
		Run: func(ctx context.Context, t *Target) Finding {
			list, err := t.list(ctx, "tools/list")
			if err != nil {
				return failure(err)
			}
			var names []string
			for _, item := range list.Items {
				names = append(names, parseTool(item).name)
			}
			var idle []string
			for _, glob := range slices.Concat(t.Server.Tools.Include, t.Server.Tools.Exclude) {
				if !slices.ContainsFunc(names, config.ToolFilter{Include: []string{glob}}.Allows) {
					idle = append(idle, glob)
				}
			}
			if len(idle) > 0 {
				return warn("no tool matches "+strings.Join(idle, ", "), "correct the filter; mcpctl tools lists the names")
			}
			return pass("every filter matches a tool")
		},
	}
}
