package pasted

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// unfenced returns what is inside a fenced block of Markdown, or text itself.
func unfenced(text string) string {
	text = strings.TrimSpace(text)
	_, after, ok := strings.Cut(text, "```")
	if !ok {
		return text
	}
	_, after, ok = strings.Cut(after, "\n") // the language
	if !ok {
		return text
	}
	inside, _, _ := strings.Cut(after, "```")
	return strings.TrimSpace(inside)
}

// braced returns a snippet that was cut out of an object, as READMEs show it, as one.
func braced(text string) string {
	text = unfenced(text)
	if strings.HasPrefix(text, `"`) {
		return "{" + strings.TrimRight(text, ", \t\r\n") + "\n}"
	}
	return text
}

// IsSnippet reports whether a text is meant as JSON.
func IsSnippet(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "{") || strings.HasPrefix(text, "```") || strings.HasPrefix(text, "//") ||
		strings.HasPrefix(text, `"`) && strings.Contains(text, "{")
}

// Unfinished reports whether JSON goes on in the next line.
func Unfinished(text string) bool {
	if !IsSnippet(text) {
		return false
	}
	if strings.HasPrefix(text, "```") && strings.Count(text, "```") < 2 {
		return true
	}
	if strings.HasPrefix(text, "//") && !strings.Contains(text, "{") {
		return true
	}
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
	}
	return depth > 0
}

// Snippet returns the servers that a snippet describes. The name is that of the file in messages: "-" for none. An entry
// without a name gets the one that is given, or stays without.
func Snippet(file, text, name string) ([]config.Server, error) {
	text = braced(text)
	if text == "" {
		return nil, errors.New("nothing in it")
	}
	var fields map[string]json.RawMessage
	plain, err := hujson.Standardize([]byte(text + "\n"))
	if err == nil {
		err = json.Unmarshal(plain, &fields)
	}
	if err != nil || fields == nil {
		// The reader of files says where, and what.
		if _, err := config.LoadReader(file, strings.NewReader(text)); err != nil {
			return nil, ofSnippet(file, err)
		}
		return nil, errors.New("not an object in JSON")
	}
	has := func(key string) bool { return fields[key] != nil }
	isText := func(key string) bool { return has(key) && fields[key][0] == '"' }
	unnamed := false
	switch {
	case ofEditor(fields["mcp"]):
		return Snippet(file, string(fields["mcp"]), name)
	case slices.ContainsFunc(config.Formats(), func(f config.Format) bool { return has(f.Key) }):
	case isText("command"), isText("url"), isText("serverUrl"), isText("httpUrl"):
		unnamed = name == ""
		if isText("name") && name == "" {
			_ = json.Unmarshal(fields["name"], &name) // it is text
			unnamed = name == ""
		}
		if unnamed {
			name = "server"
		}
		delete(fields, "name")
		key, _ := json.Marshal(name)     //nolint:errchkjson // text
		entry, _ := json.Marshal(fields) //nolint:errchkjson // it was JSON before
		text = `{"mcpServers":{` + string(key) + `:` + string(entry) + `}}`
	default:
		text = `{"mcpServers":` + text + `}`
	}
	c, err := config.LoadReader(file, strings.NewReader(text))
	if err != nil {
		return nil, ofSnippet(file, err)
	}
	if len(c.Servers) == 0 {
		return nil, errors.New("no server in it")
	}
	for i, s := range c.Servers {
		if s.Err != nil {
			return nil, ofSnippet(file, s.Err)
		}
		if unnamed {
			c.Servers[i].Name = ""
		}
	}
	return c.Servers, nil
}

// ofEditor reports whether the value of "mcp" is that in the settings of VS Code, and not that of opencode, whose commands are
// lists.
func ofEditor(mcp json.RawMessage) bool {
	var settings struct {
		Servers map[string]struct {
			Command json.RawMessage `json:"command"`
			Type    string          `json:"type"`
		} `json:"servers"`
	}
	if json.Unmarshal(mcp, &settings) != nil {
		return false
	}
	for _, s := range settings.Servers {
		if s.Type == "local" || s.Type == "remote" || strings.HasPrefix(string(s.Command), "[") {
			return false
		}
	}
	return len(settings.Servers) > 0
}

// ofSnippet returns an error of the reader of files, which knows nothing of snippets.
func ofSnippet(file string, err error) error {
	var e *config.Error
	if file != "-" || !errors.As(err, &e) {
		return err
	}
	about := *e
	about.File = "the JSON"
	return &about
}

// oneOf returns the one server that a snippet describes.
func oneOf(text, name string) (config.Server, error) {
	servers, err := Snippet("-", text, name)
	switch {
	case err != nil:
		return config.Server{}, err
	case len(servers) > 1:
		return config.Server{}, fmt.Errorf("%d servers, and one is wanted", len(servers))
	}
	if name != "" {
		servers[0].Name = name
	}
	return servers[0], nil
}
