package pasted

import (
	"net"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// NameForURL makes a name for a server of the host in its URL.
func NameForURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "NAME"
	}
	host := u.Hostname()
	if host == "" || host == "localhost" || net.ParseIP(host) != nil {
		return "local"
	}
	labels := strings.Split(host, ".")
	if len(labels) > 1 {
		labels = labels[:len(labels)-1] // without the top-level domain
	}
	labels = slices.DeleteFunc(labels, func(l string) bool { return l == "" || l == "www" || l == "api" || l == "mcp" || l == "co" })
	if len(labels) == 0 {
		return "NAME"
	}
	return labels[len(labels)-1]
}

// Runners are programs that start others: their own names say nothing of the server.
func Runners() []string {
	return []string{
		"npx", "uvx", "bunx", "pnpx", "node", "bun", "deno", "python", "python3", "py", "uv", "pipx", "docker", "podman", "npm", "pnpm", "yarn",
		"go", "java", "dotnet", "ruby", "php", "sh", "bash", "cmd", "cmd.exe", "env", "wsl",
	}
}

// nameOfCommand makes a name for a server of the command that starts it: of the package, the image or the script.
func nameOfCommand(s config.Server) string {
	base := func(word string) string {
		word = path.Base(strings.ReplaceAll(word, `\`, "/"))
		if before, _, ok := strings.Cut(word, "@"); ok && before != "" {
			word = before // a version
		}
		word, _, _ = strings.Cut(word, ":") // a tag
		word = strings.TrimSuffix(word, "/")
		return strings.TrimSuffix(word, path.Ext(word))
	}
	name := base(s.Command)
	if slices.Contains(Runners(), name) {
		for i, arg := range s.Args {
			valued := i > 0 && slices.Contains([]string{"-e", "--env", "-v", "--volume", "--mount", "--name", "-p", "--network", "--from", "--directory"}, s.Args[i-1])
			switch {
			case strings.HasPrefix(arg, "-"), valued, slices.Contains([]string{"run", "exec", "x", "tool", "dlx", "/c"}, arg), strings.Contains(arg, "$"):
				continue
			}
			name = base(arg)
			break
		}
	}
	for _, affix := range []string{"mcp-server-", "server-", "mcp-"} {
		name = strings.TrimPrefix(name, affix)
	}
	for _, affix := range []string{"-mcp-server", "-server", "-mcp"} {
		name = strings.TrimSuffix(name, affix)
	}
	if name == "" || name == "." || name == "/" {
		return "server"
	}
	return name
}

// SuggestName returns a name for a server that is not taken.
func SuggestName(s config.Server, taken func(string) bool) string {
	name := s.Name
	switch {
	case name != "":
	case s.URL != "":
		if name = NameForURL(s.URL); name == "NAME" {
			name = "server"
		}
	default:
		name = nameOfCommand(s)
	}
	return config.AdoptedName(name, taken)
}
