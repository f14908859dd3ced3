//go:build e2e && linux

package e2e

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image/png"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/mcpctl/mcpctl/internal/shellwords"
)

// step is a command on the reference server, and what has to come of it.
type step struct {
	// line is the command without mcpctl and the server.
	line string
	// code is its exit code.
	code int
	// json are true of its document in a script, and text is on standard output when it is run by itself. A step without
	// text needs what steps before it have done.
	json []string
	text []string
	// flags are those of the script that it needs when it is run by itself.
	flags []string
}

const (
	// said is the text of a call's first block, and raw what the server has got as answer to its question: its last block.
	said = `.result.content[0].text`
	raw  = `(.result.content[-1].text | ltrimstr("\nRaw result: ") | fromjson)`

	staticURI = "demo://resource/static/document/"
	textURI   = "demo://resource/dynamic/text/"
	blobURI   = "demo://resource/dynamic/blob/"
	gzipURI   = "demo://resource/session/hello.txt.gz"
)

// sampler answers a server that wants a language model: with the number of lines that ask for what the test asks for.
var sampler = []string{"--sample-with", `sh -c 'printf "%s said" "$(grep -c hello)"'`}

// rooted are flags that offer a root.
var rooted = []string{"--root", "file:///srv/data=Data", "--root", "file:///srv/more"}

// steps are commands for everything that the reference server has. TestEverythingIsExercised holds them against its lists.
func steps() []step {
	elicits := `name=Ada check=true firstLine= email=ada@example.com homepage=https://example.com/ada birthdate=1815-12-10 ` +
		`integer=7 number=2.50 untitledSingleSelectEnum=Ross untitledMultipleSelectEnum=["Piano","Bass"] ` +
		`titledSingleSelectEnum=hero-3 titledMultipleSelectEnum=["fish-2","fish-3"] legacyTitledEnum=pet-2`
	var all string
	for word := range strings.FieldsSeq(elicits) {
		all += " --elicit-set '" + word + "'"
	}
	return []step{
		{
			line: "call echo message='two words, \"ü\" and = @ $HOME'",
			json: []string{said + ` == "Echo: two words, \"ü\" and = @ $HOME"`},
			text: []string{"Echo: two words, \"ü\" and = @ $HOME"},
		},
		{
			line: "call get-annotated-message messageType=error",
			json: []string{`.result.content == [{type: "text", text: "Error: Operation failed", annotations: {priority: 1, audience: ["user", "assistant"]}}]`},
			text: []string{"Error: Operation failed"},
		},
		{
			line: "call get-annotated-message messageType=success includeImage=true",
			json: []string{
				`.result.content | length == 2 and .[0].annotations.audience == ["user"]`,
				`.result.content[1] | .type == "image" and .mimeType == "image/png" and .annotations == {priority: 0.5, audience: ["user"]}`,
			},
			text: []string{"Operation completed successfully\n", "[image image/png, 20x20, "},
		},
		{
			line: "call get-annotated-message messageType=debug includeImage=false",
			json: []string{`.result.content | length == 1 and .[0].annotations == {priority: 0.3, audience: ["assistant"]}`},
			text: []string{"Debug: Cache hit ratio 0.95, latency 150ms"},
		},
		{
			line: "call get-annotated-message messageType=other", code: 2,
			json: []string{`.error | .class == "usage" and (.message | contains("messageType"))`}, text: []string{},
		},
		{
			line: "call get-env",
			json: []string{said + ` | fromjson | has("PATH") and has("HOME")`}, text: []string{`"PATH": "`},
		},
		{
			line: "call get-resource-links count=4",
			json: []string{`[.result.content[] | select(.type == "resource_link").uri] == ["` + blobURI + `1", "` + textURI + `2", "` + blobURI + `3", "` + textURI + `4"]`},
			text: []string{"Here are 4 resource links", "[link Blob Resource 1 " + blobURI + "1, text/plain", "[link Text Resource 4 "},
		},
		{
			line: "call get-resource-links",
			json: []string{`.result.content | length == 4`}, text: []string{"Here are 3 resource links"},
		},
		{
			line: "call get-resource-links count=11", code: 2,
			json: []string{`.error.message | contains("count") and contains("10")`}, text: []string{},
		},
		{
			line: "call get-resource-reference",
			json: []string{`.result.content[1].resource | .uri == "` + textURI + `1" and (.text | startswith("Resource 1: This is a plaintext resource"))`},
			text: []string{"Resource 1: This is a plaintext resource", "using the URI: " + textURI + "1"},
		},
		{
			line: "call get-resource-reference resourceType=Blob resourceId=7",
			json: []string{`.result.content[1].resource | .uri == "` + blobURI + `7" and (.blob | @base64d | startswith("Resource 7: This is a base64 blob"))`},
			text: []string{"Returning resource reference for Resource 7:", blobURI + "7"},
		},
		{
			line: "call get-resource-reference resourceId=0", code: 5,
			json: []string{`.result.isError and (` + said + ` | contains("Invalid resourceId: 0"))`}, text: []string{},
		},
		{
			line: "call get-structured-content location='New York'",
			json: []string{`.result.structuredContent == {temperature: 33, conditions: "Cloudy", humidity: 82}`},
			text: []string{`"conditions":"Cloudy"`},
		},
		{
			line: "call get-structured-content location=Chicago",
			json: []string{`.result.structuredContent.conditions == "Light rain / drizzle"`}, text: []string{`Light rain / drizzle`},
		},
		{
			line: "call get-structured-content location='Los Angeles'",
			json: []string{`.result.structuredContent.temperature == 73`}, text: []string{`73`},
		},
		{
			line: "call get-sum a=-1.5 b=2e2",
			json: []string{said + ` == "The sum of -1.5 and 200 is 198.5."`}, text: []string{"The sum of -1.5 and 200 is 198.5."},
		},
		{
			line: "call get-sum a=1", code: 2,
			json: []string{`.error.message == "get-sum: missing required argument b"`}, text: []string{},
		},
		{
			line: "call get-tiny-image",
			json: []string{`[.result.content[].type] == ["text", "image", "text"]`, `.result.content[1].data | startswith("iVBORw0KGgo")`},
			text: []string{"Here's the image you requested:\n[image image/png, 20x20, 4.0 kB; --save DIR saves it]\nThe image above is the MCP logo."},
		},
		{
			line: "call gzip-file-as-resource name=hello.txt.gz data=data:text/plain,hello",
			json: []string{`.result.content == [{type: "resource_link", name: "hello.txt.gz", uri: "` + gzipURI + `", mimeType: "application/gzip"}]`},
			text: []string{"[link hello.txt.gz " + gzipURI + ", application/gzip]"},
		},
		{
			line: "call gzip-file-as-resource name=hello.txt.gz data=data:text/plain,hello outputType=resourceLink",
			json: []string{`.result.content[0].type == "resource_link"`}, text: []string{"[link hello.txt.gz "},
		},
		{line: "resources", // lists the new one, too
			json: []string{`[.resources[].uri] | index("` + gzipURI + `") != null`}},
		{
			line: "read " + gzipURI,
			json: []string{`.result.contents[0] | .mimeType == "application/gzip" and (.blob | startswith("H4sI"))`},
		},
		{
			line: "call gzip-file-as-resource name=hello.txt.gz data=data:text/plain,hello outputType=resource",
			json: []string{`.result.content[0].resource | .uri == "` + gzipURI + `" and (.blob | startswith("H4sI"))`},
			text: []string{"[resource application/gzip " + gzipURI + ", "},
		},
		{
			line: "call gzip-file-as-resource data=file:///etc/passwd", code: 5,
			json: []string{said + ` | contains("Unsupported URL protocol")`}, text: []string{},
		},
		{
			line: "call trigger-long-running-operation duration=0.4 steps=2",
			json: []string{said + ` == "Long running operation completed. Duration: 0.4 seconds, Steps: 2."`, `.elapsed_ms >= 400`},
			text: []string{"Duration: 0.4 seconds, Steps: 2."},
		},

		// What the server asks.
		{
			line: "call trigger-elicitation-request --elicit-set name=Ada", // the others have defaults, or stay empty
			json: []string{raw + ` == {action: "accept", content: {name: "Ada", firstLine: "It was a dark and stormy night.", integer: 42, number: 3.14,
				untitledSingleSelectEnum: "Monica", untitledMultipleSelectEnum: ["Guitar"], titledSingleSelectEnum: "hero-1",
				titledMultipleSelectEnum: ["fish-1"], legacyTitledEnum: "pet-1"}}`},
			text: []string{"User provided the requested information!", "- Name: Ada\n- Favorite Integer: 42\n- Favorite Number: 3.14"},
		},
		{
			line: "call trigger-elicitation-request" + all,
			json: []string{raw + ` == {action: "accept", content: {name: "Ada", check: true, firstLine: "", email: "ada@example.com",
				homepage: "https://example.com/ada", birthdate: "1815-12-10", integer: 7, number: 2.5, untitledSingleSelectEnum: "Ross",
				untitledMultipleSelectEnum: ["Piano", "Bass"], titledSingleSelectEnum: "hero-3",
				titledMultipleSelectEnum: ["fish-2", "fish-3"], legacyTitledEnum: "pet-2"}}`},
			text: []string{"- Agreed to terms: true\n- Email: ada@example.com\n- Homepage: https://example.com/ada\n- Birthdate: 1815-12-10"},
		},
		{
			line: "call trigger-elicitation-request --elicit-set name=Ada --elicit-set integer=101",
			json: []string{raw + ` == {action: "decline"}`}, text: []string{"User declined"},
		},
		{line: "call trigger-elicitation-request --elicit accept", // without the name that is required
			json: []string{raw + ` == {action: "decline"}`}, text: []string{"User declined"}},
		{
			line: "call trigger-elicitation-request --elicit decline",
			json: []string{raw + ` == {action: "decline"}`}, text: []string{"User declined to provide the requested information."},
		},
		{
			line: "call trigger-elicitation-request --elicit cancel",
			json: []string{raw + ` == {action: "cancel"}`}, text: []string{"User cancelled the elicitation dialog."},
		},
		{line: "call trigger-elicitation-request", // nobody is there
			json: []string{raw + ` == {action: "decline"}`}, text: []string{"User declined"}},
		{
			line: "call trigger-url-elicitation url=https://example.com/x --elicit accept",
			json: []string{raw + ` == {action: "accept"}`}, text: []string{"User completed the URL elicitation flow.", "URL: https://example.com/x"},
		},
		{
			line: "call trigger-url-elicitation url=https://example.com/x --elicit decline",
			json: []string{raw + ` == {action: "decline"}`}, text: []string{"User declined to open the URL"},
		},
		{
			line: "call trigger-url-elicitation url=https://example.com/x elicitationId=mine --elicit cancel",
			json: []string{raw + ` == {action: "cancel"}`, said + ` | contains("(Elicitation ID: mine)")`}, text: []string{"User cancelled the URL elicitation"},
		},
		{line: "call trigger-url-elicitation url=https://example.com/y errorPath=true --elicit accept", // another page first, and then again
			json: []string{raw + ` == {action: "accept"}`}, text: []string{"User completed the URL elicitation flow."}},
		{
			line: "call trigger-url-elicitation url=https://example.com/z errorPath=true --elicit decline", code: 5,
			json: []string{`.error | .rpc.code == -32042 and .class == "tool" and (.hint | contains("https://modelcontextprotocol.io"))`}, text: []string{},
		},
		{
			line: "call trigger-sampling-request prompt=hello", flags: sampler,
			json: []string{said + ` | ltrimstr("LLM sampling result: \n") | fromjson == {model: "sh", stopReason: "endTurn", role: "assistant", content: {type: "text", text: "1 said"}}`},
			text: []string{"LLM sampling result: ", `"text": "1 said"`},
		},
		{
			line: "call trigger-sampling-request prompt=bye maxTokens=7", flags: sampler,
			json: []string{said + ` | contains("\"text\": \"0 said\"")`}, text: []string{`"text": "0 said"`},
		},
		{
			line: "call get-roots-list", flags: rooted,
			json: []string{said + ` | contains("Current MCP Roots (2 total):\n\n1. Data\n   URI: file:///srv/data\n\n2. Unnamed Root\n   URI: file:///srv/more\n")`},
			text: []string{"1. Data\n   URI: file:///srv/data\n\n2. Unnamed Root\n   URI: file:///srv/more\n"},
		},
		{
			line: "call simulate-research-query topic=python ambiguous=true --elicit-set interpretation=snake",
			json: []string{said + ` | startswith("# Research Report: python (snake)\n")`, `.task | .status == "completed" and .ttl_ms == 300000`},
			text: []string{"# Research Report: python (snake)\n", "- **Clarification**: snake"},
		},

		// The resources, and what the templates make.
		{line: "read " + staticURI + "architecture.md", json: markdown(), text: []string{"# Everything Server"}},
		{line: "read " + staticURI + "extension.md", json: markdown(), text: []string{"# Everything Server"}},
		{line: "read " + staticURI + "features.md", json: markdown(), text: []string{"# Everything Server"}},
		{line: "read " + staticURI + "how-it-works.md", json: markdown(), text: []string{"# Everything Server"}},
		{line: "read " + staticURI + "instructions.md", json: markdown(), text: []string{"# Everything Server"}},
		{line: "read " + staticURI + "startup.md", json: markdown(), text: []string{"# Everything Server"}},
		{line: "read " + staticURI + "structure.md", json: markdown(), text: []string{"# Everything Server"}},
		{
			line: "read " + textURI + "{resourceId} resourceId=3",
			json: []string{`.uri == "` + textURI + `3" and (.result.contents[0].text | startswith("Resource 3: This is a plaintext"))`},
			text: []string{"Resource 3: This is a plaintext resource"},
		},
		{
			line: "read " + blobURI + "{resourceId} resourceId=4",
			json: []string{`.result.contents[0].blob | @base64d | startswith("Resource 4: This is a base64 blob")`},
			text: []string{"Resource 4: This is a base64 blob"},
		},
		{
			line: "read " + blobURI + "none", code: 5,
			json: []string{`.error.rpc.message | contains("Unknown resource: ` + blobURI + `none")`}, text: []string{},
		},

		// The prompts, and what the server completes.
		{
			line: "prompt simple-prompt",
			json: []string{`.result.messages == [{role: "user", content: {type: "text", text: "This is a simple prompt without arguments."}}]`},
			text: []string{"This is a simple prompt without arguments."},
		},
		{
			line: "prompt args-prompt city=Oslo",
			json: []string{`.result.messages[0].content.text == "What's weather in Oslo?"`}, text: []string{"What's weather in Oslo?"},
		},
		{line: "prompt args-prompt city=Oslo state=7", // an argument of a prompt is text
			json: []string{`.result.messages[0].content.text == "What's weather in Oslo, 7?"`}, text: []string{"What's weather in Oslo, 7?"}},
		{
			line: "prompt args-prompt", code: 2,
			json: []string{`.error.message == "args-prompt: missing required argument city"`}, text: []string{},
		},
		{
			line: "prompt completable-prompt department=Sales name=Eve",
			json: []string{`.result.messages[0].content.text == "Please promote Eve to the head of the Sales team."`},
			text: []string{"Please promote Eve to the head of the Sales team."},
		},
		{
			line: "prompt resource-prompt resourceType=Text resourceId=1",
			json: []string{`.result.messages | length == 2 and (.[1].content.resource.text | startswith("Resource 1: "))`},
			text: []string{"This prompt includes the Text resource with id: 1", "Resource 1: This is a plaintext resource"},
		},
		{
			line: "prompt resource-prompt resourceType=Blob resourceId=2",
			json: []string{`.result.messages[1].content.resource.blob | @base64d | startswith("Resource 2: ")`},
			text: []string{"This prompt includes the Blob resource with id: 2"},
		},
		{
			line: "prompt resource-prompt resourceType=Text resourceId=none", code: 5,
			json: []string{`.error.rpc.message | contains("Invalid resourceId: none")`}, text: []string{},
		},
		{
			line: "complete --prompt completable-prompt department=",
			json: []string{`.result.completion.values == ["Engineering", "Sales", "Marketing", "Support"]`},
			text: []string{"Engineering\nSales\nMarketing\nSupport\n"},
		},
		{
			line: "complete --prompt completable-prompt name=F --context department=Sales",
			json: []string{`.result.completion == {values: ["Frank"], total: 1, hasMore: false}`}, text: []string{"Frank\n"},
		},
		{line: "complete --prompt completable-prompt name=", // who does not say the department has no choice
			json: []string{`.result.completion.values == []`}, text: []string{}},
		{
			line: "complete --prompt resource-prompt resourceType=",
			json: []string{`.result.completion.values == ["Text", "Blob"]`}, text: []string{"Text\nBlob\n"},
		},
		{
			line: "complete --prompt resource-prompt resourceId=12",
			json: []string{`.result.completion.values == ["12"]`}, text: []string{"12\n"},
		},
		{
			line: "complete --resource " + textURI + "{resourceId} resourceId=7",
			json: []string{`.result.completion.values == ["7"]`}, text: []string{"7\n"},
		},
		{
			line: "complete --resource " + blobURI + "{resourceId} resourceId=x",
			json: []string{`.result.completion.values == []`}, text: []string{},
		},

		// What goes on by itself until it is called again.
		{
			line: "call toggle-simulated-logging --log-level debug",
			json: []string{said + ` | startswith("Started simulated, random-leveled logging")`}, text: []string{"Started simulated"},
		},
		{
			line: "call toggle-simulated-logging",
			json: []string{said + ` | startswith("Stopped simulated logging")`},
		},
		{
			line: "call toggle-subscriber-updates",
			json: []string{said + ` | startswith("Started simulated resource updated notifications")`}, text: []string{"Started simulated"},
		},
		{line: "read " + textURI + "1 --watch --count 1 --log-level info", // two documents: how it is, and the update
			json: []string{`.uri == "` + textURI + `1" and (.result.contents | length) == 1`, `.update == 0 or .update == 1`}},
		{
			line: "call toggle-subscriber-updates",
			json: []string{said + ` | startswith("Stopped simulated resource updates")`},
		},
		{line: "ping -c 1", json: []string{`.received == 1`}, text: []string{"1"}},
	}
}

// markdown is what is true of the documents of the reference server.
func markdown() []string {
	return []string{`.result.contents[0] | .mimeType == "text/markdown" and (.text | startswith("# Everything Server"))`}
}

// TestEverythingInOneScript carries out all steps in one script, on one session over each transport.
func TestEverythingInOneScript(t *testing.T) {
	t.Parallel()
	for _, server := range []string{everythingStdio, everythingHTTP, everythingSSE} {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			u := newUser(t)
			u.run(append([]string{"add", "every", "--no-check"}, words(t, server)...)...).exits(0)
			var script strings.Builder
			first := 0
			for _, s := range steps() {
				script.WriteString(s.line + "\n")
				if first == 0 {
					first = s.code
				}
			}
			u.stdin = script.String()
			o := u.run(append([]string{"shell", "every", "-o", "json", "--keep-going"}, append(rooted, sampler...)...)...).exits(first)
			documents := map[int][]*outcome{}
			for line := range strings.Lines(o.stdout) {
				var numbered struct{ Line int }
				if err := json.Unmarshal([]byte(line), &numbered); err != nil {
					o.fatalf("%q is no document: %v", line, err)
				}
				documents[numbered.Line] = append(documents[numbered.Line], &outcome{t: t, stdout: line, stderr: o.stderr})
			}
			for i, s := range steps() {
				want := 1
				if strings.Contains(s.line, "--count 1") {
					want = 2
				}
				if got := len(documents[i+1]); got != want {
					t.Errorf("%s: %d documents, want %d", s.line, got, want)
				}
				for _, d := range documents[i+1] {
					d.line = s.line
					d.json(`.version == 1`)
					d.json(s.json...)
					if s.code != 2 {
						d.json(`.session | .handshakes == 1 and .recovered == false`)
					}
				}
				if failed := strings.Contains(o.stderr, fmt.Sprintf("mcpctl: note: line %d: exit code %d\n", i+1, s.code)); failed != (s.code != 0) {
					t.Errorf("%s: want code %d; standard error is\n%s", s.line, s.code, o.stderr)
				}
			}
			o.complains(
				"every info: Received Subscribe Resource request for URI: "+textURI+"1",
				`every asks "Please provide inputs for the following fields:"; declined, as the answer is not complete: integer: must be at most 100`,
				`declined, as there is nobody to ask; to answer: --elicit-set name=…`,
				"asks to open https://example.com/x (example.com); accepted as --elicit says",
				"open https://modelcontextprotocol.io (host modelcontextprotocol.io), then do it again",
			)
			if !regexp.MustCompile(`(?m)^every (debug|info|notice|warning|error|critical|alert|emergency): \w+[- ]level[- ]message`).MatchString(o.stderr) {
				o.fatalf("no message of the simulated log on standard error")
			}
		})
	}
}

// TestEverythingByItself runs each step as a command of its own over HTTP, calls over HTTP+SSE, and one call of each tool
// over stdio, where each starts the server.
func TestEverythingByItself(t *testing.T) {
	t.Parallel()
	for _, server := range []string{everythingStdio, everythingHTTP, everythingSSE} {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			line := append([]string{"add", "every", "--no-check"}, words(t, server)...)
			const shares = 4 // most of the time each command waits for the server
			for share := range shares {
				t.Run(fmt.Sprint(share), func(t *testing.T) {
					t.Parallel()
					u := newUser(t)
					u.run(line...).exits(0)
					called := map[string]bool{}
					for i, s := range steps() {
						split, err := shellwords.Split(s.line)
						if err != nil {
							t.Fatal(err)
						}
						args := shellwords.Texts(split)
						if s.text == nil || server != everythingHTTP && args[0] != "call" || server == everythingStdio && called[args[1]] {
							continue
						}
						called[args[1]] = true
						if i%shares != share {
							continue
						}
						o := u.run(slices.Concat(args[:1], []string{"every"}, args[1:], s.flags)...).exits(s.code).shows(s.text...)
						if s.code != 0 {
							o.prints("")
						}
					}
				})
			}
		})
	}
}

// taskClients are tools of the reference server that are there only for clients that run what the server asks as a task of
// their own, which mcpctl does not.
var taskClients = []string{"trigger-elicitation-request-async", "trigger-sampling-request-async"}

// TestEverythingIsExercised holds the steps against what the server lists, and against the names in its program: what a new
// release adds fails here until there is a step for it.
func TestEverythingIsExercised(t *testing.T) {
	t.Parallel()
	exercised := map[string][]string{}
	for _, s := range steps() {
		split, err := shellwords.Split(s.line)
		if err != nil {
			t.Fatal(err)
		}
		if args := shellwords.Texts(split); len(args) > 1 && s.code == 0 {
			exercised[args[0]] = append(exercised[args[0]], args[1])
			if args[0] == "complete" {
				name, _, _ := strings.Cut(args[3], "=")
				exercised["complete "+args[2]] = append(exercised["complete "+args[2]], name)
			}
		}
	}
	sorted := func(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }

	u := newUser(t)
	u.run("add", "every", "--no-check", "--", "node", script("everything")).exits(0)
	u.stdin = "tools --jq .tools[].name\nresources --jq .resources[].uri,.resource_templates[].uriTemplate\nprompts --jq .prompts[].name\n"
	listed := strings.Fields(u.run(append([]string{"shell", "every"}, append(rooted, sampler...)...)...).exits(0).complains().stdout)
	var tools, read, prompts []string
	for _, name := range listed {
		switch {
		case strings.HasPrefix(name, "demo:"):
			read = append(read, name)
		case strings.HasSuffix(name, "-prompt"):
			prompts = append(prompts, name)
		default:
			tools = append(tools, name)
		}
	}
	if got, want := sorted(exercised["call"]), sorted(tools); !slices.Equal(got, want) {
		t.Errorf("the steps call\n%q, the server has\n%q", got, want)
	}
	for _, uri := range read {
		if !slices.Contains(exercised["read"], uri) {
			t.Errorf("no step reads %s", uri)
		}
		if strings.Contains(uri, "{") && exercised["complete "+uri] == nil {
			t.Errorf("no step completes a variable of %s", uri)
		}
	}
	if got, want := sorted(exercised["prompt"]), sorted(prompts); !slices.Equal(got, want) {
		t.Errorf("the steps get\n%q, the server has\n%q", got, want)
	}
	for prompt, arguments := range map[string][]string{"completable-prompt": {"department", "name"}, "resource-prompt": {"resourceId", "resourceType"}} {
		if got := sorted(exercised["complete "+prompt]); !slices.Equal(got, arguments) {
			t.Errorf("the steps complete %q of %s, want %q", got, prompt, arguments)
		}
	}

	// What the program names and the server does not list would go unseen.
	files, err := filepath.Glob(module("@modelcontextprotocol/server-everything/dist/tools/*.js"))
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, file := range files {
		for _, found := range regexp.MustCompile(`(?:const name = |registerToolTask\()"([^"]+)"`).FindAllStringSubmatch(u.read(file), -1) {
			named[found[1]] = true
		}
	}
	if got, want := sorted(slices.Concat(tools, taskClients)), slices.Sorted(maps.Keys(named)); !slices.Equal(got, want) {
		t.Errorf("the server lists, or does not list to mcpctl,\n%q, its program has\n%q", got, want)
	}
	o := u.run("call", "every", taskClients[0], "--elicit", "decline").exits(2).prints("")
	o.complains("every has no tool", "trigger-elicitation-request")
}

// TestWhatEverythingReturnsIsSaved saves an image and a resource, and looks into the files.
func TestWhatEverythingReturnsIsSaved(t *testing.T) {
	t.Parallel()
	for _, server := range []string{everythingStdio, everythingHTTP} {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			u := newUser(t)
			u.run(append([]string{"add", "every", "--no-check"}, words(t, server)...)...).exits(0)
			u.run("call", "every", "get-tiny-image", "--save", "out").exits(0).
				shows("Here's the image you requested:\n[image image/png, 20x20, 4.0 kB; saved as out/get-tiny-image-2.png]\n")
			saved := u.read(filepath.Join(u.cwd, "out", "get-tiny-image-2.png"))
			if picture, err := png.DecodeConfig(strings.NewReader(saved)); err != nil || picture.Width != 20 || picture.Height != 20 {
				t.Errorf("the image is %v: %v", picture, err)
			}
			u.run("call", "every", "get-tiny-image", "--jq", ".result.content[1].data").exits(0).
				prints(base64.StdEncoding.EncodeToString([]byte(saved)) + "\n")
			u.run("call", "every", "gzip-file-as-resource", "name=hello.txt.gz", "data=data:text/plain,hello", "outputType=resource", "--save", "out").
				exits(0).shows("saved as out/hello.txt.gz")
			unpacked, err := gzip.NewReader(strings.NewReader(u.read(filepath.Join(u.cwd, "out", "hello.txt.gz"))))
			if err != nil {
				t.Fatal(err)
			}
			if text, err := io.ReadAll(unpacked); err != nil || string(text) != "hello" {
				t.Errorf("the file holds %q: %v", text, err)
			}
			u.run("call", "every", "gzip-file-as-resource", "name=hello.txt.gz", "data=data:text/plain,hello", "--save", "out").
				exits(0).complains("nothing to save: the result has links")
			u.run("read", "every", staticURI+"structure.md", "--save", "out/").exits(0).prints("")
			if text := u.read(filepath.Join(u.cwd, "out", "structure.md")); !strings.HasPrefix(text, "# Everything Server") {
				t.Errorf("the file holds %q", text)
			}
			if names, err := os.ReadDir(filepath.Join(u.cwd, "out")); err != nil || len(names) != 3 {
				t.Errorf("there are %v: %v", names, err)
			}
		})
	}
}

// TestProgressOfEverything tells of progress in lines, over each transport.
func TestProgressOfEverything(t *testing.T) {
	t.Parallel()
	for _, server := range []string{everythingStdio, everythingHTTP, everythingSSE} {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			u := newUser(t)
			u.run(append([]string{"add", "every", "--no-check"}, words(t, server)...)...).exits(0)
			o := u.run("call", "every", "trigger-long-running-operation", "duration=2.8", "steps=4", "-v").exits(0).
				prints("Long running operation completed. Duration: 2.8 seconds, Steps: 4.")
			o.complains("calling trigger-long-running-operation of every: 25%, ")
			if !regexp.MustCompile(`(?m)^mcpctl: note: calling trigger-long-running-operation of every: (75|100)%, \d.*$`).MatchString(o.stderr) {
				o.fatalf("no progress beyond a half")
			}
			u.run("call", "every", "trigger-long-running-operation", "duration=0.2", "steps=2").exits(0).complains()
		})
	}
}

// TestATaskIsPickedUpInAShell leaves a task to the server, goes on in the same session, and picks up what came of it.
func TestATaskIsPickedUpInAShell(t *testing.T) {
	t.Parallel()
	for _, server := range []string{everythingStdio, everythingHTTP} {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			u := newUser(t)
			u.run(append([]string{"add", "every", "--no-check"}, words(t, server)...)...).exits(0)
			in, out, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			lines, into, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), mcpctl, "shell", "every", "-o", "json")
			cmd.Env, cmd.Dir = u.environ(), u.cwd
			var stderr bytes.Buffer
			cmd.Stdin, cmd.Stdout, cmd.Stderr = in, into, &stderr
			cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
			cmd.WaitDelay = endTime
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			_, _ = in.Close(), into.Close()
			documents := bufio.NewReader(lines)
			// say types a line, and returns the document that it brings.
			say := func(format string, args ...any) *outcome {
				t.Helper()
				line := fmt.Sprintf(format, args...)
				if _, err := io.WriteString(out, line+"\n"); err != nil {
					t.Fatal(err)
				}
				text, err := documents.ReadString('\n')
				if err != nil {
					t.Fatalf("%s: %v; standard error is\n%s", line, err, stderr.String())
				}
				return &outcome{t: t, line: line, stdout: text}
			}
			detached := say("call simulate-research-query topic=python --detach")
			detached.json(`.task | .status == "working" and .pollInterval == 1000`)
			id, _ := detached.evaluate(detached.document(), ".task.taskId").(string)
			say("tasks").json(`.tasks | length == 1 and .[0].taskId == "` + id + `"`)
			say("call echo message=meanwhile").json(said + ` == "Echo: meanwhile"`)
			say("task %s", id).json(`.task.status == "completed"`, said+` | startswith("# Research Report: python\n")`)
			other := say("call simulate-research-query topic=other --detach")
			id, _ = other.evaluate(other.document(), ".task.taskId").(string)
			say("task %s --cancel", id).json(`.task.status == "cancelled"`)
			if err := out.Close(); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("%v; standard error is\n%s", err, stderr.String())
			}
			_ = lines.Close()
			nothingRuns(t, u.home)
		})
	}
}

// completionTime is after what time a person presses Tab again.
const completionTime = 2 * time.Second

// TestAPersonWithEverything completes names and arguments on a terminal, as the server proposes them, and answers a form.
func TestAPersonWithEverything(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.run("add", "every", "--no-check", "--", "node", script("everything")).exits(0)
	cmd := exec.CommandContext(t.Context(), mcpctl, "shell", "every")
	cmd.Env, cmd.Dir = append(u.environ(), "TERM=xterm"), u.cwd
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 100})
	if err != nil {
		t.Fatal(err)
	}
	var screen writing
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_, _ = io.Copy(&screen, terminal) // ends with an error when the program has gone
	}()
	t.Cleanup(func() { _ = terminal.Close() })
	sequences := regexp.MustCompile("\x1b\\[[0-9;?]*[a-zA-Z]")
	// then types keys, and waits for a text that comes after them.
	then := func(keys, text string) {
		t.Helper()
		seen := len(screen.String())
		if _, err := io.WriteString(terminal, keys); err != nil {
			t.Fatal(err)
		}
		after := func() string { return sequences.ReplaceAllString(screen.String()[seen:], "") }
		eventually(t, startTime, func() string { return fmt.Sprintf("no %q after %q, but\n%q", text, keys, after()) },
			func() bool { return strings.Contains(after(), text) })
	}
	// line types the end of a line, and waits for a text and the next prompt.
	line := func(keys, text string) {
		t.Helper()
		seen := len(screen.String())
		then(keys+"\r", text)
		eventually(t, startTime, func() string { return fmt.Sprintf("no prompt after %q, but\n%q", keys, screen.String()[seen:]) }, func() bool {
			return strings.HasSuffix(strings.TrimRight(sequences.ReplaceAllString(screen.String()[seen:], ""), "\r"), "> ")
		})
	}
	const tab, ctrlD = "\t", "\x04"
	// complete types keys and a tab, and another one after a while: a machine that is busy does not answer within the second
	// that the server has.
	complete := func(keys, text string) {
		t.Helper()
		seen := len(screen.String())
		if _, err := io.WriteString(terminal, keys+tab); err != nil {
			t.Fatal(err)
		}
		after := func() string { return sequences.ReplaceAllString(screen.String()[seen:], "") }
		next := time.Now().Add(completionTime)
		eventually(t, startTime, func() string { return fmt.Sprintf("no %q after %q, but\n%q", text, keys, after()) }, func() bool {
			if time.Now().After(next) {
				next = time.Now().Add(completionTime)
				_, _ = io.WriteString(terminal, tab)
			}
			return strings.Contains(after(), text)
		})
	}
	then("", "every> ")
	complete("prompt compl", "completable-prompt ")
	complete("department=Sa", "department=Sales ")
	complete("name=E", "name=Eve")
	line("", "Please promote Eve to the head of the Sales team.")
	complete("call get-struc", "get-structured-content ")
	complete("", "location=")
	complete("Ch", "Chicago")
	line("", "Light rain / drizzle")
	complete("read demo://resource/static/document/how", "how-it-works.md")
	line("", "# Everything Server")
	line("call get-sum a=1 b=2", "The sum of 1 and 2 is 3.")
	line("_ --jq .tool", "get-sum")
	then("call trigger-elicitation-request\r", "Fill in the form")
	line("\x1b[B", "User declined to provide the requested information.")
	then(ctrlD, "")
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v; on the terminal:\n%s", err, screen.String())
	}
	<-closed
	nothingRuns(t, u.home)
}
