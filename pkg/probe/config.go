package probe

import (
	"errors"
	"slices"
	"strings"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// writtenSecrets returns the literal secrets that stand in the configuration file. What is given by a flag is in no file.
func writtenSecrets(t *Target) []config.LiteralSecret {
	return slices.DeleteFunc(t.Server.LiteralSecrets(), func(l config.LiteralSecret) bool {
		if t.ConfigPath == "" && strings.HasPrefix(l.Place, "args[") {
			return true // a command line
		}
		key, _, _ := strings.Cut(l.Place, ".")
		key, _, _ = strings.Cut(key, "[")
		return t.Server.Sources[key].Kind == "flag" || t.Server.Sources[l.Place].Kind == "flag"
	})
}

// oneMessage puts everything that is wrong with an entry into one line, and the name of the server once.
func oneMessage(err error) string {
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return err.Error()
	}
	var parts []string
	for i, e := range joined.Unwrap() {
		if c, ok := errors.AsType[*config.Error](e); ok && i > 0 {
			bare := *c
			bare.Server = ""
			e = &bare
		}
		text := e.Error()
		if unset, ok := errors.AsType[*config.UnsetError](e); ok && i > 0 {
			bare := *unset
			bare.Server = ""
			text = bare.Error()
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// emptied returns the variables that are set and empty where that can hardly be meant: in the URL, a header, or a secret.
func emptied(t *Target) []config.UnsetVar {
	return slices.DeleteFunc(t.Server.EmptyVariables(t.lookup), func(v config.UnsetVar) bool {
		switch key, name, _ := strings.Cut(v.Place, "."); key {
		case "url", "headers":
			return false
		case "env":
			return !config.LooksSecretName(name)
		}
		return true
	})
}

// placed names variables with their places: MCP_URL (in url).
func placed(vars []config.UnsetVar) string {
	texts := make([]string, len(vars))
	for i, v := range vars {
		texts[i] = v.Name + " (in " + v.Place + ")"
	}
	return strings.Join(texts, ", ")
}

// namesOf returns the names of variables, each once.
func namesOf(vars []config.UnsetVar) string {
	var names []string
	for _, v := range vars {
		if !slices.Contains(names, v.Name) {
			names = append(names, v.Name)
		}
	}
	return strings.Join(names, ", ")
}
