//go:build e2e && linux

package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestResourcesOfEverything reads each resource that the reference server lists, and what its templates make, over both
// transports.
func TestResourcesOfEverything(t *testing.T) {
	t.Parallel()
	for _, server := range []string{everythingStdio, everythingHTTP} {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			u := newUser(t)
			u.run(slices.Concat([]string{"add", "every"}, words(t, server))...).exits(0)
			u.run("resources", "every").exits(0).complains().
				shows("demo://resource/static/document/features.md\t", "demo://resource/dynamic/text/{resourceId}\t", "\ttemplate\n")
			u.run("resources", "every", "-o", "json").exits(0).complains().json(
				`.server == "every" and .problems == []`, `(.resources | length) >= 5`, `(.resource_templates | length) == 2`,
			)
			list := u.run("resources", "every", "-o", "name").exits(0).complains()
			uris := strings.Fields(list.stdout)
			if len(uris) < 5 {
				t.Fatalf("only %q", uris)
			}
			if server == everythingStdio {
				uris = uris[:1] // each starts the server; TestEverythingInOneScript reads them all in one session
			}
			for _, uri := range uris {
				read := u.run("read", "every", uri).exits(0).complains()
				if strings.TrimSpace(read.stdout) == "" {
					t.Errorf("%s is empty", uri)
				}
			}
			u.run("read", "every", "demo://resource/dynamic/text/{resourceId}", "resourceId=3").exits(0).complains().
				shows("Resource 3: This is a plaintext resource")
			u.run("read", "every", "demo://resource/dynamic/blob/{resourceId}", "resourceId=4").exits(0).complains().
				shows("Resource 4: This is a base64 blob")
			file := filepath.Join(u.home, "blob.txt")
			u.run("read", "every", "demo://resource/dynamic/blob/5", "--save", file).exits(0).prints("")
			if text := u.read(file); !strings.Contains(text, "Resource 5: This is a base64 blob") {
				t.Errorf("saved %q", text)
			}
			u.run("read", "every", "demo://resource/static/document/feature.md").exits(5).prints("").
				complains("features.md")
			u.run("complete", "every", "--resource", "demo://resource/dynamic/text/{resourceId}", "resourceId=7").exits(0).complains().prints("7\n")
		})
	}
}

// TestPromptsOfEverything gets each prompt of the reference server, with its completions.
func TestPromptsOfEverything(t *testing.T) {
	t.Parallel()
	for _, server := range []string{everythingStdio, everythingHTTP} {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			u := newUser(t)
			u.run(slices.Concat([]string{"add", "every"}, words(t, server))...).exits(0)
			u.run("prompts", "every").exits(0).complains().
				shows("simple-prompt\t\t", "args-prompt\tcity, state?\t", "completable-prompt\tdepartment, name\t", "resource-prompt\t")
			u.run("prompt", "every", "simple-prompt").exits(0).complains().prints("This is a simple prompt without arguments.")
			u.run("prompt", "every", "args-prompt", "city=Oslo", "state=7").exits(0).complains().prints("What's weather in Oslo, 7?")
			u.run("prompt", "every", "args-prompt").exits(2).prints("").complains("missing required argument city", "Name of the city")
			u.run("prompt", "every", "completable-prompt", "department=Sales", "name=Eve").exits(0).complains().shows("promote Eve to the head of the Sales team")
			u.run("prompt", "every", "resource-prompt", "resourceType=Text", "resourceId=1").exits(0).complains().
				shows("user:\nThis prompt includes the Text resource with id: 1", "\n\nuser:\nResource 1: This is a plaintext resource")
			u.run("prompt", "every", "resource-prompt", "resourceType=Blob", "resourceId=1", "-o", "json").exits(0).complains().json(
				`.prompt == "resource-prompt" and (.result.messages | length) == 2`, `.result.messages[1].content.resource.blob | length > 0`,
			)
			u.run("complete", "every", "--prompt", "completable-prompt", "department=S").exits(0).complains().prints("Sales\nSupport\n")
			u.run("complete", "every", "--prompt", "completable-prompt", "name=", "--context", "department=Sales").exits(0).complains().
				prints("David\nEve\nFrank\n")
		})
	}
}

// TestWatchingEverything watches a resource whose updates the reference server makes up, when a tool has been called in the
// same session. A script before the server calls it.
func TestWatchingEverything(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	tap := filepath.Join(u.home, "tap.sh")
	u.write(tap, `while IFS= read -r line; do
  printf '%s\n' "$line"
  case "$line" in
  *resources/subscribe*) printf '%s\n' '{"jsonrpc":"2.0","id":"toggle","method":"tools/call","params":{"name":"toggle-subscriber-updates","arguments":{}}}' ;;
  esac
done | node "$1"
`)
	uri := "demo://resource/dynamic/text/1"
	u.run("read", "--stdio", "sh "+tap+" "+script("everything"), uri, "--watch", "--count", "2", "--jq", ".update").
		exits(0).prints("0\n1\n2\n")
}
