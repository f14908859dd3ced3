package main

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/probe"
)

// page returns what people want to read of a tool. Server are the words that name its server in a call.
func (t tool) page(server string) render.Tool {
	page := render.Tool{
		Name: t.name, Title: t.title, Description: t.description, Signature: toolargs.SignatureParams(t.schema),
		Effects: effects(t.annotations), Params: render.Members{None: "It takes no parameters that its schema tells of."},
	}
	page.Params.Rows, page.Params.LeftOut = toolargs.Rows(t.schema)
	if problem := probe.SchemaProblem(t.schema); problem != "" && len(page.Params.Rows) == 0 {
		page.Params.None = "Its parameters are not known: " + problem + "."
	}
	if isGiven(t.outputSchema) {
		returns := render.Members{None: "It returns: " + toolargs.TypeWords(t.outputSchema)}
		returns.Rows, returns.LeftOut = toolargs.Rows(t.outputSchema)
		page.Returns = &returns
	}
	switch t.taskSupport {
	case "optional":
		page.Effects = append(page.Effects, "may run as a task, whose result is picked up later")
	case "required":
		page.Effects = append(page.Effects, "runs as a task only, whose result is picked up later")
	case "forbidden":
		page.Effects = append(page.Effects, "never runs as a task")
	}
	page.Example, page.Guess = t.example(server)
	return page
}

// isGiven reports whether a member of a definition is there.
func isGiven(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// example returns the line of a call with what is required, and whether its values are a guess that may be refused.
func (t tool) example(server string) (line string, guess bool) {
	words := append([]string{toolargs.Quote(t.name)}, toolargs.Example(t.schema)...)
	dash := func(word string) bool { return strings.HasPrefix(word, "-") || strings.HasPrefix(word, "'-") }
	if slices.ContainsFunc(words, dash) {
		words = slices.Insert(words, 0, "--")
	}
	return "mcpctl call " + server + " " + strings.Join(words, " "), !toolargs.ExampleFits(t.schema)
}

// effects says what a call may do by a tool's annotations. What they do not say is as the specification has it, which is
// the worst: see the MCP specification, 2025-11-25, "Schema Reference", "ToolAnnotations".
func effects(annotations map[string]json.RawMessage) []string {
	says := func(hint string) (value, said bool) {
		switch string(annotations[hint]) {
		case "true":
			return true, true
		case "false":
			return false, true
		}
		return false, false
	}
	readOnly, saidRead := says("readOnlyHint")
	destroys, saidDestroys := says("destructiveHint")
	repeatable, saidRepeat := says("idempotentHint")
	outside, saidOutside := says("openWorldHint")
	if !saidRead && !saidDestroys && !saidRepeat && !saidOutside {
		return []string{"The server does not say what a call does. It may change or destroy something, reach outside, and do more when it is repeated."}
	}
	const unsaid = " (the server does not say)"
	var lines []string
	line := func(value, said bool, yes, no, otherwise string) {
		switch {
		case !said:
			lines = append(lines, otherwise+unsaid)
		case value:
			lines = append(lines, yes)
		default:
			lines = append(lines, no)
		}
	}
	line(readOnly, saidRead, "changes nothing", "may change something", "may change something")
	if !readOnly || destroys { // else the other hints mean nothing, unless they contradict
		line(destroys, saidDestroys, "may destroy something", "destroys nothing", "may destroy something")
	}
	switch {
	case repeatable || readOnly && !saidRepeat:
		lines = append(lines, "may be repeated")
	case !readOnly:
		line(false, saidRepeat, "", "may do more when it is repeated", "may do more when it is repeated")
	}
	line(outside, saidOutside, "reaches outside", "reaches nothing outside", "may reach outside")
	return lines
}
