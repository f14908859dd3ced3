package pasted

import (
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// Line reads a line with which another tool adds a server: claude, gemini or codex mcp add, or code --add-mcp. It
// returns the name of the tool, "" if it is no such line.
//
// Facts: code.claude.com/docs/en/mcp and github.com/google-gemini/gemini-cli docs/tools/mcp-server.md, as of 2026-11-30:
// options before or after the name, then a URL or a command; openai/codex discussions/30870, 2026-07: --url and
// --bearer-token-env-var; code.visualstudio.com/docs/copilot/customization/mcp-servers, as of 2026-11: an entry with its name.
func Line(words []string) (tool string, found config.Server, err error) {
	if len(words) < 2 {
		return "", found, nil
	}
	tool = strings.TrimSuffix(path.Base(words[0]), ".exe")
	switch {
	case slices.Contains([]string{"claude", "gemini", "codex", "qwen"}, tool) && len(words) > 2 && words[1] == "mcp":
		switch words[2] {
		case "add":
			found, err = otherAdd(words[3:])
			return tool, found, err
		case "add-json":
			rest := slices.DeleteFunc(withoutScope(words[3:]), func(w string) bool { return strings.HasPrefix(w, "-") })
			if len(rest) != 2 {
				return tool, found, errors.New("a name and JSON are wanted")
			}
			found, err = oneOf(rest[1], rest[0])
			return tool, found, err
		}
	case strings.HasPrefix(tool, "code") || tool == "cursor":
		for i, w := range words {
			text, assigned := strings.CutPrefix(w, "--add-mcp=")
			if w == "--add-mcp" && i+1 < len(words) {
				text, assigned = words[i+1], true
			}
			if assigned {
				found, err = oneOf(text, "")
				return tool, found, err
			}
		}
	}
	return "", found, nil
}

// withoutScope leaves out where another tool would write to.
func withoutScope(words []string) []string {
	var out []string
	for i := 0; i < len(words); i++ {
		if words[i] == "-s" || words[i] == "--scope" {
			i++
			continue
		}
		out = append(out, words[i])
	}
	return out
}

// otherAdd reads what comes after "mcp add".
func otherAdd(words []string) (config.Server, error) {
	s := config.Server{Transport: config.TransportAuto, Enabled: true}
	var own []string // the name, and then the command or URL
	transport, address := "", ""
	for i := 0; i < len(words); i++ {
		word := words[i]
		if word == "--" {
			own = append(own, words[i+1:]...)
			break
		}
		flag, value, assigned := strings.Cut(word, "=")
		if !strings.HasPrefix(word, "-") || len(own) > 1 && !otherFlag(flag) {
			own = append(own, word) // or an argument of the command
			continue
		}
		if flag == "--trust" {
			continue
		}
		if !assigned {
			if i++; i == len(words) {
				return s, errors.New(flag + ": nothing after it")
			}
			value = words[i]
		}
		switch flag {
		case "-e", "--env":
			name, v, err := Env(value)
			if err != nil {
				return s, err
			}
			SetEnv(&s, name, v)
		case "-H", "--header":
			name, v, err := Header(value)
			if err != nil {
				return s, err
			}
			SetHeader(&s, name, v)
		case "-t", "--transport", "--type":
			transport = value
		case "--url":
			address = value
		case "--bearer-token-env-var":
			SetHeader(&s, "Authorization", "Bearer ${"+value+"}")
		case "--include-tools":
			s.Tools.Include = globsFor(value)
		case "--exclude-tools":
			s.Tools.Exclude = globsFor(value)
		case "-s", "--scope", "--timeout", "--description", "--callback-port", "--client-id":
			// where it is written, and what has no place here, or another unit
		default:
			return s, errors.New(flag + ": not known")
		}
	}
	if address != "" && len(own) > 0 {
		own = slices.Insert(own, 1, address)
	}
	if len(own) < 2 {
		return s, errors.New("a name, and a URL or a command, are wanted")
	}
	s.Name = own[0]
	if IsURL(own[1]) && len(own) == 2 {
		s.URL = own[1]
		if t, err := config.ParseTransport(transport); err == nil && transport == "sse" {
			s.Transport = t
		}
		return s, nil
	}
	env := s.Env
	c, err := Command(own[1:])
	if err != nil {
		return s, err
	}
	s.Command, s.Args, s.Transport = c.Command, c.Args, c.Transport
	for name, value := range c.Env {
		SetEnv(&s, name, value)
	}
	for name, value := range env {
		SetEnv(&s, name, value)
	}
	return s, nil
}

func otherFlag(flag string) bool {
	return slices.Contains([]string{
		"-e", "--env", "-H", "--header", "-t", "--transport", "-s", "--scope", "--url", "--bearer-token-env-var", "--include-tools", "--exclude-tools", "--trust",
	}, flag)
}

func globsFor(names string) []string {
	var out []string
	for name := range strings.SplitSeq(names, ",") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, Glob(name))
		}
	}
	return out
}
