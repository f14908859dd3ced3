package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestLooksSecretName(t *testing.T) {
	for _, name := range []string{
		"Authorization", "Proxy-Authorization", "X-Api-Key", "Api-Key", "apikey", "apiKey", "X-Auth-Token", "PRIVATE-TOKEN",
		"Cookie", "GITHUB_TOKEN", "GITHUB_PERSONAL_ACCESS_TOKEN", "githubToken", "authtoken", "DB_PASSWORD", "PGPASSWORD",
		"dbPassword", "SECRET", "CLIENT_SECRET", "AWS_SECRET_ACCESS_KEY", "OPENAI_API_KEY", "key", "Ocp-Apim-Subscription-Key",
		"PASSPHRASE", "GOOGLE_CREDENTIALS", "sig", "JWT", "NPM_CONFIG__AUTH", "token",
	} {
		if !LooksSecretName(name) {
			t.Errorf("%s does not look secret", name)
		}
	}
	for _, name := range []string{
		"", "HOME", "Accept", "User-Agent", "AUTHOR", "AUTHORITY", "MAX_TOKENS", "TOKENIZER", "KEYBOARD", "MONKEY", "PUBLIC_KEY",
		"TOKEN_FILE", "SECRET_PATH", "AUTH_URL", "AUTH_MODE", "USERNAME", "SSH_AUTH_SOCK", "Idempotency-Key", "SORT_KEY", "COMPASS",
		"PASSAGE", "region", "X-Request-Id", "AWS_ACCESS_KEY_ID",
	} {
		if LooksSecretName(name) {
			t.Errorf("%s looks secret", name)
		}
	}
}

func TestLooksSecretValue(t *testing.T) {
	for _, value := range []string{
		"ghp_0123456789abcdefghij", "github_pat_11ABCDEFG", "glpat-abcdefgh1234", "sk-abcdefghijklmnop", "sk-proj-abc123def456",
		"xoxb-1234567890-abc", "AKIAIOSFODNN7EXAMPLE", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc", "Bearer ghp_0123456789abcdefghij",
		"9f86d081884c7d659a2feaa0c55ad015", "Zk3vQ9xT2mLp7RbN4sWyE8uA", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY12345",
		"postgres://bob:hunter2@db/x", "-----BEGIN PRIVATE KEY-----\nabc", "${A}ghp_0123456789abcdefghij", "${A:-ghp_0123456789abcdefghij}",
	} {
		if !LooksSecretValue(value) {
			t.Errorf("%s does not look secret", value)
		}
	}
	for _, value := range []string{
		"", "${TOKEN}", "Bearer ${TOKEN}", "${A}${B:-}", "true", "application/json", "en-GB,en;q=0.9", "production-eu-west-1-cluster-02",
		"claude-3-5-sonnet-20241022", "/home/user/projects/mcp-servers-2024/config", "https://example.com/a/b?c=d", "https://bob@example.com",
		"postgres://db/x", "skeleton", "sk-1", "eyJ", "ASIA-PACIFIC-1", "Mozilla/5.0 (X11; Linux x86_64)", "aaaaaaaaaaaaaaaaaaaaaaaaaaa1",
		"ThisIsAVeryLongCamelCaseIdentifier", "550e8400-e29b-41d4-a716-446655440000", "info", "2025-11-25T10:00:00Z",
	} {
		if LooksSecretValue(value) {
			t.Errorf("%s looks secret", value)
		}
	}
}

func secretive() (command, web Server) {
	command = Server{
		Name: "c", Command: "x", Args: []string{"ghp_0123456789abcdefghij"},
		Env: map[string]string{"API_KEY": "hunter22", "TOKEN": "${TOKEN}", "LEVEL": "debug", "USE_AUTH": "true", "X": "ghp_0123456789abcdefghij", "PW_SECRET": "${PW:-hunter22}"},
	}
	web = Server{
		Name: "w", URL: "https://x/mcp?api_key=hunter22&token=${T}&q=a%20b&access_token=s%2Fcret#frag",
		Headers: map[string]string{"Authorization": "Bearer ${TOKEN}", "X-Api-Key": "hunter22", "Cookie": "sid=${SID}; a=b", "Accept": "text/plain"},
	}
	return command, web
}

func TestLiteralSecrets(t *testing.T) {
	command, web := secretive()
	want := []LiteralSecret{{"args[0]", "arg"}, {"env.API_KEY", "API_KEY"}, {"env.PW_SECRET", "PW_SECRET"}, {"env.X", "X"}}
	if got := command.LiteralSecrets(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	want = []LiteralSecret{{"headers.X-Api-Key", "X-Api-Key"}, {"url?api_key", "api_key"}, {"url?access_token", "access_token"}}
	got := web.LiteralSecrets()
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if strings.Contains(fmt.Sprint(got), "hunter22") {
		t.Error("the value is in it")
	}
}

func TestRedactedKeepsReferences(t *testing.T) {
	command, web := secretive()
	before := command.Clone()
	if got, want := command.Redacted().Env, map[string]string{"API_KEY": "***", "TOKEN": "${TOKEN}", "LEVEL": "debug", "USE_AUTH": "true", "X": "***", "PW_SECRET": "***"}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if !maps.Equal(before.Env, command.Env) {
		t.Error("the original was changed")
	}
	r := web.Redacted()
	if want := (map[string]string{"Authorization": "Bearer ${TOKEN}", "X-Api-Key": "***", "Cookie": "sid=${SID}; a=b", "Accept": "text/plain"}); !maps.Equal(r.Headers, want) {
		t.Errorf("got %v, want %v", r.Headers, want)
	}
	if want := "https://x/mcp?api_key=***&token=${T}&q=a%20b&access_token=***#frag"; r.URL != want {
		t.Errorf("got %s, want %s", r.URL, want)
	}
	for url, want := range map[string]string{
		"https://bob:hunter2@x/mcp":  "https://***@x/mcp",
		"https://bob:hun@ter2@x?a=b": "https://***@x?a=b",
		"https://x/@scope/a":         "https://x/@scope/a",
		"https://x:80/@scope/a":      "https://x:80/@scope/a",
		"https://[::1]:80/@scope/a":  "https://[::1]:80/@scope/a",
		"https://${H:-x}/@scope/a":   "https://${H:-x}/@scope/a",
		"https://bob:hun/ter2@x/mcp": "https://***@x/mcp",
		"https://bob:hun?ter#@x/mcp": "https://***@x/mcp",
		"https://x/mcp":              "https://x/mcp",
		"":                           "",
	} {
		if got := (Server{URL: url}).Redacted().URL; got != want {
			t.Errorf("%s: got %s, want %s", url, got, want)
		}
	}
}
