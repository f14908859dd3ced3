package config

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// A Format is how one client writes down its servers, and what is known of how it treats them. A further client is one
// more value in Formats.
//
// What is stated of a client has a source and a date beside it. Clients change; where nothing certain is known, the
// field is empty, and nobody says anything about it.
type Format struct {
	// Name is what --from takes, and Title what people call the client.
	Name, Title string
	// Key is the key of the file that holds the servers.
	Key string
	// Launch says where the client gets the environment that it gives to its servers.
	Launch Launch
	// Reference is how a variable of the environment is written, with NAME for its name; "" if the client has none.
	Reference string
	// StartLimit is how long the client waits for a server to start, and StartRemedy how one changes that.
	StartLimit  time.Duration
	StartRemedy string
	// MostTools is how many tools the client offers to its model, from all servers together.
	MostTools int
	// LongestName is the most characters that NamePrefix and a tool's name may have together; {server} in the prefix is
	// the name of the server. LongNames says what becomes of longer ones: "are left out".
	LongestName int
	NamePrefix  string
	LongNames   string
	// NoHome is set when the client passes a leading ~ on as it is written.
	NoHome bool

	// place returns the path of the user's own file, "" if there is none on the platform.
	place func(p place) string
	// files are the ends of the paths by which the files of the client are known, those of projects, too.
	files []string
	// marks are keys of the file or of an entry that no other client with the same Key has.
	marks []string
	// syntax is what the client replaces in the values of an entry.
	syntax syntax
	// keys are the keys of an entry that differ from those that all clients have.
	keys map[string]foreignKey
	// groups are further places for servers in the file, below which each key is a project.
	groups string
	// disabled is the key of a project with the names of its servers that are switched off.
	disabled string
	// elsewhere says why an entry is for a server that is nowhere but in the client, "" if it is not.
	elsewhere func(entry *yaml.Node) string
	// language is what the file is written in: "" for JSON, with YAML read alike.
	language language
	// list is set when the servers are in a list, each with its name.
	list bool
	// nested is a key below Key that may hold the servers in its stead.
	nested string
	// common is set for a Key that other programs have for other things.
	common bool
	// comments is set for a client that also reads a file called .jsonc.
	comments bool
	// finish does what can only be done when all keys of an entry are read.
	finish func(e *entry, s *Server)
}

// Launch is where a client gets the environment from that it gives to its servers.
type Launch string

// The kinds of launch.
const (
	// LaunchUnknown means that nothing is known.
	LaunchUnknown Launch = ""
	// LaunchTerminal means that the client is a program of the terminal: its servers get what the shell has.
	LaunchTerminal Launch = "terminal"
	// LaunchShell means that the client is a desktop application that asks the user's login shell for its variables.
	LaunchShell Launch = "shell"
	// LaunchDesktop means that the client is a desktop application, with the variables that such ones get.
	LaunchDesktop Launch = "desktop"
)

// place is what the places of files depend on.
type place struct {
	goos string
	// home is the user's directory.
	home   string
	lookup func(string) (string, bool)
}

// below returns a path below home.
func (p place) below(elements ...string) string {
	if p.home == "" {
		return ""
	}
	return filepath.Join(append([]string{p.home}, elements...)...)
}

// support returns a path below the directory in which desktop applications keep their settings.
func (p place) support(elements ...string) string {
	switch p.goos {
	case "windows":
		if dir, _ := p.lookup("AppData"); dir != "" {
			return filepath.Join(append([]string{dir}, elements...)...)
		}
		return p.below(append([]string{"AppData", "Roaming"}, elements...)...)
	case "darwin":
		return p.below(append([]string{"Library", "Application Support"}, elements...)...)
	}
	return p.below(append([]string{".config"}, elements...)...)
}

// config returns a path below the directory in which programs of the terminal keep their settings.
func (p place) config(elements ...string) string {
	if dir, _ := p.lookup("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(append([]string{dir}, elements...)...)
	}
	return p.below(append([]string{".config"}, elements...)...)
}

// homeOr returns a path below the directory that a variable names, or below one in the home directory.
func (p place) homeOr(variable, directory, name string) string {
	if dir, _ := p.lookup(variable); dir != "" {
		return filepath.Join(dir, name)
	}
	return p.below(directory, name)
}

// Formats returns the formats of other clients' files. The last one for a key is for files that any of several clients
// may have written.
func Formats() []Format {
	return []Format{
		{
			Name: "claude-desktop", Title: "Claude Desktop", Key: keyMCPServers,
			// anthropics/claude-code#42602, 2026-04-02: the application has the system's PATH, whatever its settings say;
			// aaddrick/claude-desktop-debian#247, 2026-02-21: directories of nvm are missing.
			Launch: LaunchDesktop,
			// modelcontextprotocol/servers#1039, 2025-03-24: ${APPDATA} reaches the server as it is written.
			// anthropics/claude-code#84136, 2026-08-05: initialize is cancelled after 60 s, which nothing changes.
			StartLimit: 60 * time.Second, StartRemedy: "nothing raises the limit: install the package beforehand, so that starting it downloads nothing",
			NoHome: true,
			place:  func(p place) string { return p.support("Claude", "claude_desktop_config.json") },
			files:  []string{"/claude_desktop_config.json"},
			marks:  []string{"globalShortcut"},
		},
		{
			Name: "claude-code", Title: "Claude Code", Key: keyMCPServers,
			Launch: LaunchTerminal, Reference: "${NAME}",
			// code.claude.com/docs/en/mcp, as of 2026-09-22: ${VAR} and ${VAR:-default} in command, args, env, url, headers.
			syntax: syntax{braced: true},
			// utensils/mcp-nixos#31, 2025-06-13: "timed out after 30000ms"; code.claude.com/docs/en/env-vars: MCP_TIMEOUT.
			StartLimit: 30 * time.Second, StartRemedy: "start Claude Code with MCP_TIMEOUT=60000 (milliseconds)",
			// anthropics/claude-code#22276, 2026-01-31: mcp__SERVER__TOOL has at most 64 characters; #2485, 2025-06-23: a
			// longer one makes every request fail.
			LongestName: 64, NamePrefix: "mcp__{server}__", LongNames: "make every request of Claude Code fail",
			// anthropics/claude-code#37580: ~ in args and env is not replaced.
			NoHome: true,
			place: func(p place) string {
				if dir, _ := p.lookup("CLAUDE_CONFIG_DIR"); dir != "" {
					return filepath.Join(dir, ".claude.json")
				}
				return p.below(".claude.json")
			},
			files:  []string{"/.mcp.json", "/.claude.json"},
			marks:  []string{"numStartups", "projects", "headersHelper"},
			groups: "projects", disabled: "disabledMcpServers",
			keys: map[string]foreignKey{"timeout": milliseconds1},
		},
		{
			Name: "cursor", Title: "Cursor", Key: keyMCPServers,
			// code.visualstudio.com/docs/supporting/faq, "Resolving shell environment fails": the editor that Cursor is made
			// of starts the login shell and takes its variables over.
			Launch: LaunchShell, Reference: "${env:NAME}",
			// docs.cursor.com/context/mcp, "Config interpolation", as of 2025-11.
			syntax: syntax{env: true, editor: true},
			// Snowflake-Labs/mcp#77, 2025-09-02, and DaxianLee/cocos-mcp-server#11, 2026-02-06: 80; it was 40 before.
			MostTools: 80,
			// ComposioHQ/composio#2788, 2026-02-27: the names of server and tool have fewer than 60 characters together.
			LongestName: 59, NamePrefix: "{server}", LongNames: "are left out",
			place: func(p place) string { return p.below(".cursor", "mcp.json") },
			files: []string{"/.cursor/mcp.json"},
		},
		{
			Name: "vscode", Title: "VS Code", Key: "servers",
			// code.visualstudio.com/docs/supporting/faq, "Resolving shell environment fails".
			Launch: LaunchShell, Reference: "${env:NAME}",
			// code.visualstudio.com/docs/copilot/reference/mcp-configuration and /docs/reference/variables-reference.
			syntax: syntax{env: true, editor: true, input: true},
			// microsoft/vscode#258890, 2025-07-17, and microsoft/vscode-copilot-release#13065, 2025-12-06.
			MostTools: 128,
			place:     func(p place) string { return p.support("Code", "User", "mcp.json") },
			files:     []string{"/.vscode/mcp.json", "/Code/User/mcp.json"},
			marks:     []string{"inputs"},
		},
		{
			Name: "windsurf", Title: "Windsurf", Key: keyMCPServers,
			// It is made of the same editor as Cursor.
			Launch: LaunchShell, Reference: "${env:NAME}",
			// docs.windsurf.com/windsurf/cascade/mcp, as of 2026-06: ${env:NAME} and ${file:PATH}.
			syntax: syntax{env: true, file: true},
			// The same page: 100 tools at any given time.
			MostTools: 100,
			place:     func(p place) string { return p.below(".codeium", "windsurf", "mcp_config.json") },
			files:     []string{"/.codeium/windsurf/mcp_config.json", "/.windsurf/mcp_config.json"},
			marks:     []string{"serverUrl", "disabledTools"},
		},
		{
			Name: "cline", Title: "Cline", Key: keyMCPServers,
			// It runs inside VS Code.
			Launch: LaunchShell,
			// Which variables it replaces is not known for sure, so all common forms are taken for variables.
			syntax: syntax{braced: true, env: true},
			place: func(p place) string {
				return p.support("Code", "User", "globalStorage", "saoudrizwan.claude-dev", "settings", "cline_mcp_settings.json")
			},
			files: []string{"/cline_mcp_settings.json"},
			marks: []string{"autoApprove", "alwaysAllow"},
			// cline/cline src/shared/mcp.ts: DEFAULT_MCP_TIMEOUT_SECONDS.
			keys: map[string]foreignKey{"timeout": seconds1},
		},
		{
			Name: "gemini", Title: "Gemini CLI", Key: keyMCPServers,
			Launch: LaunchTerminal, Reference: "${NAME}",
			// google-gemini/gemini-cli docs/tools/mcp-server.md, as of 2025-09: $NAME and ${NAME}; timeout in milliseconds,
			// 10 minutes unless set, for the start, too; names of more than 63 characters get ___ in the middle.
			syntax:     syntax{braced: true, bare: true},
			StartLimit: 10 * time.Minute, StartRemedy: `raise "timeout" in the entry (milliseconds)`,
			LongestName: 63, LongNames: "are shortened in the middle, so that other instructions no longer name them",
			place: func(p place) string { return p.below(".gemini", "settings.json") },
			files: []string{"/.gemini/settings.json"},
			marks: []string{"httpUrl", "trust", "includeTools", "excludeTools"},
			keys: map[string]foreignKey{
				"timeout": millisecondsStart,
				// The same page: url is the older transport, and httpUrl the streamable one.
				"url":     urlOver(TransportSSE),
				"httpUrl": urlOver(TransportHTTP),
			},
		},
		{
			Name: "zed", Title: "Zed", Key: "context_servers",
			// zed.dev/docs/environment: a Zed that is not started from a terminal asks the login shell for its variables.
			Launch: LaunchShell,
			// Which variables it replaces is not known for sure.
			syntax: syntax{braced: true, env: true},
			place: func(p place) string {
				if p.goos == "windows" {
					return p.support("Zed", "settings.json")
				}
				return p.below(".config", "zed", "settings.json")
			},
			files: []string{"/zed/settings.json", "/.zed/settings.json"},
			// zed.dev/docs/ai/mcp: command was a mapping with path, args and env, and is text since.
			keys:      map[string]foreignKey{"command": commandMapping, "source": zedSource},
			elsewhere: zedExtension,
		},
		{
			Name: "codex", Title: "Codex", Key: "mcp_servers", language: languageTOML,
			Launch: LaunchTerminal,
			// openai/codex codex-rs/codex-mcp/src/rmcp_client.rs, 2026-11: DEFAULT_STARTUP_TIMEOUT is 30 s; it was 10 s
			// before (openai/codex#11851, 2026-02-15, whose message says what to change).
			StartLimit: 30 * time.Second, StartRemedy: "raise startup_timeout_sec in the entry (seconds)",
			place: func(p place) string { return p.homeOr("CODEX_HOME", ".codex", "config.toml") },
			files: []string{"/.codex/config.toml"},
			// openai/codex codex-rs/config/src/mcp_types.rs, 2026-11: RawMcpServerConfig. It replaces nothing in the values.
			keys: map[string]foreignKey{
				"http_headers":         named("headers"),
				"env_http_headers":     headerVariables,
				"bearer_token_env_var": bearerVariable,
				"bearer_token":         codexToken,
				"env_vars":             codexVariables,
				"startup_timeout_sec":  codexStart(time.Second),
				"startup_timeout_ms":   codexStart(time.Millisecond),
				"tool_timeout_sec":     seconds1,
				"enabled_tools":        includedTools,
				"disabled_tools":       excludedTools,
				"name":                 label,
			},
		},
		{
			Name: "goose", Title: "Goose", Key: "extensions", language: languageYAML, common: true,
			// deepwiki.com/block/goose, "Extension types and configuration", as of 2026-11: ${NAME} and $NAME in headers.
			syntax: syntax{braced: true, bare: true},
			// block/goose documentation/docs/guides/config-files.md, as of 2026-11: the places, and timeout in seconds.
			place: func(p place) string {
				if p.goos == "windows" {
					return p.support("Block", "goose", "config", "config.yaml")
				}
				return p.config("goose", "config.yaml")
			},
			files: []string{"/goose/config.yaml", "/Block/goose/config/config.yaml"},
			// block/goose crates/goose/src/agents/extension.rs, as of 2026-11: ExtensionConfig.
			keys: map[string]foreignKey{
				"type":            gooseType,
				"cmd":             named("command"),
				"envs":            named("env"),
				"env_keys":        gooseKeys,
				"uri":             urlOver(""),
				"timeout":         seconds1,
				"available_tools": includedToolsIfAny,
				"name":            label,
				"display_name":    label,
				"description":     label,
				"bundled":         label,
			},
			elsewhere: gooseInside,
			finish:    gooseHeaders,
		},
		{
			Name: "hermes", Title: "Hermes Agent", Key: "mcp_servers", language: languageYAML,
			Launch: LaunchTerminal, Reference: "${NAME}",
			// NousResearch/hermes-agent website/docs/reference/mcp-config-reference.md, as of 2026-11: ${NAME} and
			// ${env:NAME}, ${userHome} and ${workspaceFolder}; timeout and connect_timeout in seconds, 60 for the latter.
			syntax:     syntax{braced: true, env: true, editor: true},
			StartLimit: 60 * time.Second, StartRemedy: "raise connect_timeout in the entry (seconds)",
			place: func(p place) string {
				if dir, _ := p.lookup("HERMES_HOME"); dir != "" {
					return filepath.Join(dir, "config.yaml")
				}
				// developer.mittwald.de, "Getting Connected with Hermes Agent", as of 2026-11: %LOCALAPPDATA%\hermes.
				if dir, _ := p.lookup("LOCALAPPDATA"); p.goos == "windows" && dir != "" {
					return filepath.Join(dir, "hermes", "config.yaml")
				}
				return p.below(".hermes", "config.yaml")
			},
			files: []string{"/.hermes/config.yaml", "/hermes/config.yaml"},
			keys: map[string]foreignKey{
				"timeout":         seconds1,
				"connect_timeout": secondsConnect,
				"tools":           hermesTools,
				"ssl_verify":      hermesVerify,
				"client_cert":     hermesCertificate,
				"client_key":      hermesKey,
			},
		},
		{
			Name: "opencode", Title: "opencode", Key: "mcp", language: languageJSON, common: true, comments: true,
			Launch: LaunchTerminal, Reference: "{env:NAME}",
			// opencode.ai/docs/config, "Variables", as of 2026-11: {env:NAME}, and {file:PATH} from the file's directory.
			syntax: syntax{curly: true},
			// opencode.ai/docs/mcp-servers, as of 2026-11: timeout is in milliseconds, 5 s unless set.
			StartLimit: 5 * time.Second, StartRemedy: `raise "timeout" in the entry (milliseconds)`,
			place: func(p place) string { return p.config("opencode", "opencode.json") },
			files: []string{"/opencode.json", "/opencode.jsonc"},
			// opencode.ai/v2/docs/mcp-servers, as of 2026-11: the servers of version 2 are below mcp.servers.
			nested: "servers",
			keys: map[string]foreignKey{
				"command":     commandList,
				"environment": named("env"),
				"timeout":     opencodeLimits,
			},
		},
		{
			Name: "continue", Title: "Continue", Key: keyMCPServers, language: languageYAML, list: true,
			// docs.continue.dev/reference, as of 2026-11: ${{ secrets.NAME }} and ${{ inputs.NAME }}.
			syntax: syntax{double: true},
			// continuedev/continue core/context/mcp/MCPConnection.ts, as of 2026-11: DEFAULT_MCP_TIMEOUT is 20 s, and
			// connectionTimeout is in milliseconds.
			StartLimit: 20 * time.Second, StartRemedy: "raise connectionTimeout in the entry (milliseconds)",
			place: func(p place) string { return p.below(".continue", "config.yaml") },
			files: []string{"/.continue/config.yaml"},
			// continuedev/continue packages/config-yaml/src/schemas/mcp/index.ts, as of 2026-11.
			keys: map[string]foreignKey{
				"name":              label,
				"serverName":        label,
				"faviconUrl":        label,
				"sourceFile":        label,
				"connectionTimeout": millisecondsConnect,
				"requestOptions":    requestOptions,
			},
		},
		{
			Name: "lmstudio", Title: "LM Studio", Key: keyMCPServers,
			// Which variables it replaces is not known for sure.
			syntax: syntax{braced: true, env: true},
			// stacklok/toolhive#1529, 2025-08-21.
			place: func(p place) string { return p.below(".lmstudio", "mcp.json") },
			files: []string{"/.lmstudio/mcp.json", "/.cache/lm-studio/mcp.json"},
		},
		{
			Name: "mcporter", Title: "mcporter", Key: keyMCPServers, comments: true,
			Launch: LaunchTerminal, Reference: "${NAME}",
			// steipete/mcporter src/env.ts and docs/config.md, as of 2026-11: ${NAME}, ${NAME:-default}, and $env:NAME alone.
			syntax: syntax{braced: true, direct: true},
			place:  func(p place) string { return p.below(".mcporter", "mcporter.json") },
			files:  []string{"/mcporter.json", "/mcporter.jsonc"},
			marks:  []string{"baseUrl", "base_url", "bearerTokenEnv", "bearer_token_env", "tokenCacheDir", "imports"},
			// steipete/mcporter src/config-normalize.ts, as of 2026-11: a command may be a list or a whole line, and the variable
			// for the header holds its scheme, too.
			keys: map[string]foreignKey{
				"baseUrl":          urlOver(""),
				"base_url":         urlOver(""),
				"server_url":       urlOver(""),
				"command":          commandWords,
				"executable":       commandWords,
				"bearerToken":      bearerToken,
				"bearer_token":     bearerToken,
				"bearerTokenEnv":   rawVariable,
				"bearer_token_env": rawVariable,
				"description":      label,
			},
			finish: splitWords,
		},
		{
			// Whoever wrote it, it is read with what the files of all of them have in common.
			Name: "json", Title: "the client", Key: keyMCPServers,
			syntax: syntax{braced: true, env: true, editor: true, input: true}, Reference: "${NAME}",
		},
	}
}

// keyMCPServers is the key that most clients have.
const keyMCPServers = "mcpServers"

// Clients returns the formats of the clients whose files --from finds.
func Clients() []Format {
	return slices.DeleteFunc(Formats(), func(f Format) bool { return f.place == nil })
}

// FindClients returns the clients that a word names: one, several for the first word of their names ("claude"), or none.
func FindClients(word string) []Format {
	var found []Format
	for _, f := range Clients() {
		if f.Name == word {
			return []Format{f}
		}
		if first, _, ok := strings.Cut(f.Name, "-"); ok && first == word {
			found = append(found, f)
		}
	}
	return found
}

// UserFile returns the path of the client's file for this user. The environment is read through lookup, which has the
// form of [os.LookupEnv]; goos is that of package runtime. It is "" when there is no such place.
func (f Format) UserFile(goos, home string, lookup func(string) (string, bool)) string {
	if f.place == nil {
		return ""
	}
	return f.place(place{goos: goos, home: home, lookup: lookup})
}

// Known reports whether it is known which client the format is that of.
func (f Format) Known() bool { return f.place != nil }

// StartLimitOf returns how long the client waits for the start of a server: what the entry says, or else its own limit.
func (f Format) StartLimitOf(s Server) time.Duration {
	if s.Foreign != nil && s.Foreign.startLimit > 0 {
		return s.Foreign.startLimit
	}
	return f.StartLimit
}

// is reports whether a path is one of the client's.
func (f Format) is(path string) bool {
	path = "/" + filepath.ToSlash(path)
	return slices.ContainsFunc(f.files, func(end string) bool { return strings.HasSuffix(path, end) })
}

// project returns the directory of the project to which a file of the client's belongs, "" if it is the user's own, or
// nothing is known of it.
func (f Format) project(path string) string {
	if path == "" || path == "-" {
		return ""
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	dir := filepath.Dir(absolute)
	switch base := filepath.Base(dir); {
	case f.place == nil, filepath.Base(absolute) == ".mcp.json":
		return dir
	case f.Key == keyMCPServers && base == ".cursor", base == ".vscode", base == ".zed", base == ".gemini", base == ".codex", base == ".opencode", base == ".continue":
		return filepath.Dir(dir)
	case f.Name == "opencode" && base != "opencode":
		return dir
	case f.Name == "mcporter" && base != ".mcporter":
		// steipete/mcporter src/config-normalize.ts, as of 2026-11: it starts commands where the file is.
		return dir
	}
	return ""
}
