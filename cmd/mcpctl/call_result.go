package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpctl/mcpctl/internal/rawjson"
	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/toolargs"
)

// checkOutput compares a result with what the tool says that it returns. It is the server that is wrong then, and the call
// has been made: the caller is warned, and gets the result all the same. An error need not have the shape of a result.
func (c toolCall) checkOutput(result *render.Result) []string {
	if !result.IsError && noContent(result.Raw) {
		return []string{"the result has neither content nor structuredContent, so a client shows nothing; -o json shows what it has"}
	}
	if content := rawjson.Get(result.Raw, "content"); isGiven(content) && rawjson.Kind(content) != '[' {
		return []string{"the content of the result is not an array of blocks, and clients refuse it"}
	}
	if !isGiven(c.outputSchema) || result.IsError {
		return nil
	}
	if result.Structured == nil {
		return []string{"the tool declares an outputSchema, and its result has no structuredContent"}
	}
	const most = 10 // nobody mends more at once
	found := toolargs.CheckOutput(result.Structured, c.outputSchema)
	if more := len(found) - most; more > 0 {
		found = append(found[:most:most], fmt.Sprintf("and %d more places that do not fit the outputSchema", more))
	}
	for i := range found[:min(len(found), most)] {
		found[i] = "the result does not fit the tool's outputSchema: " + found[i]
	}
	return found
}

// formProblems says which block of a result's content has not the form that MCP specifies, nothing if all have: it is shown as well
// as can be, and clients that check results refuse the whole. See the MCP specification, 2025-11-25, "Tools", "Tool Result".
func formProblems(raw json.RawMessage) []string {
	var first string
	i, wrong := 0, 0
	for block := range rawjson.Elements(rawjson.Get(raw, "content")) {
		if p := blockProblem(block); p != "" {
			if wrong++; first == "" {
				first = fmt.Sprintf("content[%d] %s, and clients that check results refuse it", i, p)
			}
		}
		i++
	}
	switch wrong {
	case 0:
		return nil
	case 1:
		return []string{first}
	}
	return []string{fmt.Sprintf("%s (%d blocks are of a wrong form)", first, wrong)}
}

// blockProblem says what is wrong with the form of one block of content, "" if nothing is.
func blockProblem(block []byte) string {
	if rawjson.Kind(block) != '{' {
		return "is no object"
	}
	kind, ok := rawjson.String(rawjson.Get(block, "type"))
	if !ok {
		return "has no type"
	}
	needs, known := map[string][]string{
		"text": {"text"}, "image": {"data", "mimeType"}, "audio": {"data", "mimeType"}, "resource_link": {"uri", "name"}, "resource": nil,
	}[kind]
	if !known {
		return fmt.Sprintf("has the type %.40q, which MCP does not know", kind)
	}
	for _, name := range needs {
		switch rawjson.Kind(rawjson.Get(block, name)) {
		case '"':
		case 0:
			return "has no " + name
		default:
			return "has a " + name + " that is no string"
		}
	}
	return ""
}

// noContent reports whether a result has none of the members that hold what a tool says. See the MCP specification,
// 2025-11-25, "Tools", "Tool Result".
func noContent(raw json.RawMessage) bool {
	content := rawjson.Get(raw, "content")
	return !isGiven(content) && rawjson.Get(raw, "structuredContent") == nil
}

// warning tells a person of something that is wrong, and does not fail for it.
func (a *app) warning(text string) {
	lines := render.Wrap("mcpctl: warning: "+render.OneLine(text), a.errWidth(), "")
	a.warn(strings.ReplaceAll(lines, "\n", "\n  ") + "\n")
}

// tellLinks says on a terminal how to read the resources that a result refers to.
func (a *app) tellLinks(c toolCall, result *render.Result) {
	if !a.io.StdoutTTY() || result.IsError {
		return
	}
	const most = 3 // by then it is clear how it is done
	told := 0
	for _, uri := range result.Links() {
		if !typeable(uri) {
			continue // a line that would not be what it looks like
		}
		if told == most {
			return
		}
		a.warn("mcpctl: hint: mcpctl read " + c.named + " " + toolargs.Quote(uri) + "\n")
		told++
	}
}

// save writes what can be saved into a directory, and tells of it.
func (a *app) save(dir string, c toolCall, result *render.Result) (saved []string, err error) {
	saved, err = result.Save(dir, c.tool)
	a.tellSaved(saved)
	switch {
	case err != nil || len(saved) > 0:
	case len(result.Links()) > 0:
		a.note("nothing to save: the result has links, which mcpctl read reads, and no images, audio or resources")
	default:
		a.note("nothing to save: the result has no images, audio or resources")
	}
	return saved, err
}
