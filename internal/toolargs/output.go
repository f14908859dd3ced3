package toolargs

import (
	"encoding/json"
	"strings"
)

// CheckOutput compares the structured content of a result with the output schema of its tool, and returns what does not
// fit, a line each, with the place: "structuredContent.wind.speed: must be a number, not an object". It returns nothing for
// a schema that cannot be understood, and is otherwise as sure of what it says as [Check]. See the MCP specification,
// 2025-11-25, "Tools", "Output Schema".
func CheckOutput(structured, outputSchema json.RawMessage) []string {
	const whole = "structuredContent"
	s := newSchema(outputSchema)
	if s.root == nil {
		return nil
	}
	v, _, err := parse(string(structured))
	if err != nil {
		return []string{whole + ": " + err.Error()}
	}
	c := checker{schema: s, done: map[visit][]problem{}}
	var root *path
	var found []string
	for _, p := range c.check(s.root, v, root.to(memberStep(whole))) {
		message := p.message
		switch { // the words of the rules are about arguments
		case p.rule == ruleUnknown:
			message = p.at.String() + ": the schema knows no such member, and allows no others"
		case p.rule == ruleMissing && strings.HasPrefix(message, "missing required argument "):
			message = p.at.String() + ": is missing, and required"
		case p.rule == ruleMissing:
			message = p.at.String() + ": is " + message
		}
		found = add(found, message)
	}
	return found
}
