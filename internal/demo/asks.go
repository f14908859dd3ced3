package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// addAsking adds the tools that ask the client something. They return what they want to know, and the SDK sees to it that
// it is asked in the way of the era: as a request of the server's, or as a result that wants input (MCP 2025-11-25,
// client/elicitation, client/sampling and client/roots, and 2026-07-28, basic/patterns/mrtr).
func addAsking(s *mcp.Server) {
	mcp.AddTool(s, &mcp.Tool{
		Name:        "ask",
		Title:       "Ask",
		Description: "Ask you to fill in a form, or to open a page, and tell what you answered.",
		Annotations: repeatable(),
	}, ask)
	mcp.AddTool(s, &mcp.Tool{
		Name:        "summarize",
		Title:       "Summarize",
		Description: "Have your client's language model sum up a text in one sentence.",
		Annotations: repeatable(),
	}, summarize)
	mcp.AddTool(s, &mcp.Tool{
		Name:        "roots",
		Title:       "Roots",
		Description: "List the directories that your client offers.",
		Annotations: repeatable(),
	}, listRoots)
}

// answerID is the key of the one thing that a tool asks.
const answerID = "answer"

// wants is the result of a call that has to know something first.
func wants(request mcp.InputRequest) *mcp.CallToolResult {
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{answerID: request}}
}

// offered returns what the client says it can be asked.
func offered(req *mcp.CallToolRequest) mcp.ClientCapabilities {
	if p := req.Session.InitializeParams(); p != nil && p.Capabilities != nil {
		return *p.Capabilities
	}
	return mcp.ClientCapabilities{}
}

// askSchema is the form of the tool ask: one of each kind that a form may have.
const askSchema = `{"type":"object","properties":{` +
	`"name":{"type":"string","title":"Name","description":"Who you are","minLength":1,"maxLength":40},` +
	`"colour":{"type":"string","title":"Colour","description":"The colour you like best","enum":["red","green","blue"]},` +
	`"cups":{"type":"integer","title":"Cups","description":"Cups of coffee a day","minimum":0,"maximum":20,"default":2},` +
	`"early":{"type":"boolean","title":"Early","description":"Whether you rise early","default":false}},` +
	`"required":["name","colour"]}`

type askInput struct {
	URL string `json:"url,omitempty" jsonschema:"a page to open, in place of the form"`
}

func ask(_ context.Context, req *mcp.CallToolRequest, in askInput) (*mcp.CallToolResult, any, error) {
	if answer, ok := req.Params.InputResponses[answerID].(*mcp.ElicitResult); ok {
		if answer.Action != "accept" || answer.Content == nil {
			return textResult("answered with " + answer.Action), nil, nil
		}
		content, err := json.Marshal(answer.Content)
		if err != nil {
			return nil, nil, fmt.Errorf("ask: %w", err)
		}
		return textResult("answered with accept: " + string(content)), nil, nil
	}
	can := offered(req).Elicitation
	switch {
	case can == nil, in.URL != "" && can.URL == nil:
		return nil, nil, errors.New("ask: your client does not offer to be asked (elicitation)")
	case in.URL != "":
		return wants(&mcp.ElicitParams{Mode: "url", Message: "Please look at this page.", URL: in.URL, ElicitationID: "demo-page"}), nil, nil
	}
	return wants(&mcp.ElicitParams{
		Mode: "form", Message: "Tell me about you. Nothing of it is kept.", RequestedSchema: json.RawMessage(askSchema),
	}), nil, nil
}

type summarizeInput struct {
	Text string `json:"text" jsonschema:"the text to sum up"`
}

// summaryTokens bounds the summary: a sentence has fewer.
const summaryTokens = 100

func summarize(_ context.Context, req *mcp.CallToolRequest, in summarizeInput) (*mcp.CallToolResult, any, error) {
	switch answer := req.Params.InputResponses[answerID].(type) {
	case *mcp.CreateMessageResult: //nolint:staticcheck // clients have it until 2027 at least
		return summary(answer.Model, answer.Content), nil, nil
	case *mcp.CreateMessageWithToolsResult: //nolint:staticcheck // likewise
		return summary(answer.Model, answer.Content...), nil, nil
	}
	if offered(req).Sampling == nil { //nolint:staticcheck // likewise
		return nil, nil, errors.New("summarize: your client does not offer a language model (sampling)")
	}
	return wants(&mcp.CreateMessageParams{ //nolint:staticcheck // likewise
		MaxTokens:    summaryTokens,
		SystemPrompt: "Sum up the text in one sentence.",
		Messages:     []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: in.Text}}}, //nolint:staticcheck // likewise
	}), nil, nil
}

// summary is what the model said, and which it is.
func summary(model string, content ...mcp.Content) *mcp.CallToolResult {
	var said []string
	for _, c := range content {
		if t, ok := c.(*mcp.TextContent); ok {
			said = append(said, t.Text)
		}
	}
	return textResult(model + ": " + strings.Join(said, " "))
}

func listRoots(_ context.Context, req *mcp.CallToolRequest, _ noInput) (*mcp.CallToolResult, any, error) {
	if answer, ok := req.Params.InputResponses[answerID].(*mcp.ListRootsResult); ok { //nolint:staticcheck // clients have it until 2027 at least
		var lines []string
		for _, r := range answer.Roots {
			lines = append(lines, strings.TrimSpace(r.URI+" "+r.Name))
		}
		return textResult(strings.Join(lines, "\n")), nil, nil
	}
	if offered(req).RootsV2 == nil { //nolint:staticcheck // likewise
		return nil, nil, errors.New("roots: your client does not offer any")
	}
	return wants(&mcp.ListRootsParams{}), nil, nil //nolint:staticcheck // likewise
}
