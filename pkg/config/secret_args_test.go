package config

import (
	"slices"
	"strings"
	"testing"
)

// TestSecretsInArguments shows what is masked in arguments, where each | divides them, and what must not be told then.
func TestSecretsInArguments(t *testing.T) {
	for _, tt := range []struct{ args, want, secrets string }{
		{"mcp-remote|https://x/sse|--header|Authorization: Bearer SEKRETSEKRET", "mcp-remote|https://x/sse|--header|Authorization: ***", "Bearer SEKRETSEKRET|SEKRETSEKRET"},
		{"--header|Authorization:Basic Zm9vOmJhcg==", "--header|Authorization: ***", "Basic Zm9vOmJhcg==|Zm9vOmJhcg=="},
		{"--header=X-Api-Key: hunter22", "--header=X-Api-Key: ***", "hunter22"},
		{"-H|X-Custom-Token: hunter22", "-H|X-Custom-Token: ***", "hunter22"},
		{"Authorization: Bearer hunter22", "Authorization: ***", "Bearer hunter22|hunter22"},
		{"Bearer hunter22x", "Bearer ***", "hunter22x"},
		{"--api-key=sk-ant-api03-abc", "--api-key=***", "sk-ant-api03-abc"},
		{"--api-key|hunter22", "--api-key|***", "hunter22"},
		{"--token|hunter22", "--token|***", "hunter22"},
		{"-token=hunter22", "-token=***", "hunter22"},
		{"--figma-api-key=figd_hunter22", "--figma-api-key=***", "figd_hunter22"},
		{"--client-secret|hunter22", "--client-secret|***", "hunter22"},
		{"--db-password|hunter$$22", "--db-password|***", "hunter$22"},
		{"--access-token|${TOKEN:-hunter22}", "--access-token|***", "hunter22"},
		{"postgres://u:hunter22@h/db", "postgres://***@h/db", "hunter22"},
		{"--dsn=postgres://u:hunter22@h/db?sslmode=off", "--dsn=postgres://***@h/db?sslmode=off", "hunter22"},
		{"mcp-remote|https://x/sse?api_key=hunter22&a=b", "mcp-remote|https://x/sse?api_key=***&a=b", "hunter22"},
		{"-e|GITHUB_TOKEN=hunter22", "-e|GITHUB_TOKEN=***", "hunter22"},
		{"--env=API_KEY=hunter22", "--env=API_KEY=***", "hunter22"},
		{"ghp_0123456789abcdefghij", "***", "ghp_0123456789abcdefghij"},
		{"--x|xoxb-1234567890-abc", "--x|***", "xoxb-1234567890-abc"},
		{"Zk3vQ9xT2mLp7RbN4sWyE8uA", "***", "Zk3vQ9xT2mLp7RbN4sWyE8uA"},
	} {
		s := Server{Name: "s", Command: "x", Args: strings.Split(tt.args, "|")}
		if got := strings.Join(s.Redacted().Args, "|"); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.args, got, tt.want)
		}
		_, secrets, err := s.Expand(Environment{Lookup: lookupIn(nil), Home: "/home/u"})
		if err != nil || !slices.Equal(secrets, strings.Split(tt.secrets, "|")) {
			t.Errorf("%s: %q, %v", tt.args, secrets, err)
		}
		if found := s.LiteralSecrets(); len(found) != 1 || !strings.HasPrefix(found[0].Place, "args[") {
			t.Errorf("%s: %v", tt.args, found)
		}
	}
}

// TestHarmlessArguments shows what people write into arguments, and nobody's secret is.
func TestHarmlessArguments(t *testing.T) {
	for _, args := range []string{
		"-y|@modelcontextprotocol/server-filesystem|/home/me/notes", "-y|mcp-remote@0.1.29|https://mcp.example.com/sse", "mcp-server-fetch",
		"--from|git+https://github.com/oraios/serena@9f86d081884c7d659a2feaa0c55ad015a3bf4f1b|serena", "run|-i|--rm|-e|GITHUB_TOKEN|ghcr.io/github/github-mcp-server",
		"run|--mount|type=bind,src=/a,dst=/b|mcp/filesystem@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		"--header|Authorization: ${AUTH}", "--header|Authorization:${AUTH}", "--header|Accept: text/plain", "--header|X-Request-Id: abcdefgh",
		"--token|${TOKEN}", "--api-key=${API_KEY}", "--token-file|/run/secrets/token", "--token|/run/secrets/token", "--password-stdin|abcdefgh",
		"--key|/etc/ssl/key.pem", "--private-key|key.pem", "--key|users", "--sort-key|created_at", "--primary-key=userid", "--max-tokens|4096",
		"--no-token|package-name", "--use-password|package-name", "--token|GITHUB_TOKEN", "--token|$TOKEN", "--token|<TOKEN>", "--token|--verbose",
		"--secret|id=mytoken,src=token.txt", "--tokenizer|cl100k_base", "--auth|oauth2-provider", "--author=Jane Doe", "--keyboard|qwertz-layout",
		"--env|LOG_LEVEL=debug-everything", "-e|AUTH_URL=https://login.example.com", "-e|TOKEN_FILE=/run/token", "SORT_KEY=created",
		"-m|mcp_server.main", "dist/9f86d081884c7d659a2feaa0c55ad015.js", "./build/index.js", "~/src/Server2024Production/mainEntryPoint1.py", `C:\Users\me\AppData\x1y2z3`,
		"9f86d081884c7d659a2feaa0c55ad015", "--rev|9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", "550e8400-e29b-41d4-a716-446655440000",
		"--sheet|1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms", "--project|my-project-123456", "claude-3-5-sonnet-20241022", "sk-learn-mcp-server", "sk-agent-v2",
		"hf_transfer_tool", "npm_package_runner", "npm_config_registry=https://registry.example", "postgres://localhost/db", "postgresql://user@localhost:5432/db",
		"postgres://${USER}:${PASSWORD}@db/x", "ssh://git@github.com/a/b", "http://localhost:3000/@scope/pkg", "-c|echo token=abcdefgh; exec server", "Bearer of bad news",
		"token", "secret", "password", "--token", "", "-", "--", "=", "a:b", "--=x", "-e|=x", "mcp-server-v2-20250618-production-build", "ThisIsAVeryLongCamelCaseIdentifier",
	} {
		s := Server{Name: "s", Command: "x", Args: strings.Split(args, "|")}
		if got := strings.Join(s.Redacted().Args, "|"); got != args || len(s.LiteralSecrets()) > 0 {
			t.Errorf("%s: %s, %v", args, got, s.LiteralSecrets())
		}
	}
}
