package demo

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const greetName = "greet"

func addPrompts(s *mcp.Server) {
	s.AddPrompt(&mcp.Prompt{
		Name:        greetName,
		Title:       "Greet",
		Description: "Ask for a greeting for somebody",
		Arguments: []*mcp.PromptArgument{
			{Name: "name", Title: "Name", Description: "who is greeted", Required: true},
			{Name: "style", Title: "Style", Description: "how: " + strings.Join(styleNames(), ", ") + "; friendly if not given"},
		},
	}, greet)
	s.AddPrompt(&mcp.Prompt{
		Name:        "tour",
		Title:       "Tour",
		Description: "A conversation with each kind of content that a prompt may have",
	}, tour)
}

// tour has more than text, and more than one who speaks.
func tour(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	data, err := drawPicture()
	if err != nil {
		return nil, err
	}
	says := func(role mcp.Role, content mcp.Content) *mcp.PromptMessage {
		return &mcp.PromptMessage{Role: role, Content: content}
	}
	return &mcp.GetPromptResult{
		Description: "A tour of the demonstration server",
		Messages: []*mcp.PromptMessage{
			says("user", &mcp.TextContent{Text: "What does this server offer?"}),
			says("assistant", &mcp.TextContent{Text: "It says so itself:"}),
			says("assistant", &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: readmeURI, MIMEType: "text/markdown", Text: readme}}),
			says("user", &mcp.TextContent{Text: "And what is in this picture?"}),
			says("user", &mcp.ImageContent{Data: data, MIMEType: "image/png"}),
			says("user", &mcp.ResourceLink{URI: pictureURI, Name: "picture", MIMEType: "image/png"}),
		},
	}, nil
}

// style is a way to greet: its name, and what the prompt asks for.
type style struct{ name, request string }

// styles are the ways to greet, by name.
func styles() []style {
	return []style{
		{"brief", "in three words at most"},
		{"formal", "in a formal tone, with title and surname if known"},
		{"friendly", "warmly, as an old friend would"},
		{"pirate", "as the captain of a pirate ship would"},
		{"poetic", "in a poem of four lines"},
	}
}

func styleNames() []string {
	var names []string
	for _, s := range styles() {
		names = append(names, s.name)
	}
	return names
}

// guests are the names proposed in completion.
func guests() []string { return []string{"Ada", "Alan", "Barbara", "Edsger", "Frances", "Grace"} }

func greet(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	name := strings.TrimSpace(req.Params.Arguments["name"])
	if name == "" {
		return nil, invalidParams("greet: argument name is required")
	}
	wanted := req.Params.Arguments["style"]
	if wanted == "" {
		wanted = "friendly"
	}
	for _, s := range styles() {
		if s.name == wanted {
			return &mcp.GetPromptResult{
				Description: "A " + s.name + " greeting for " + name,
				Messages: []*mcp.PromptMessage{{
					Role:    "user",
					Content: &mcp.TextContent{Text: fmt.Sprintf("Please greet %s %s.", name, s.request)},
				}},
			}, nil
		}
	}
	return nil, invalidParams(fmt.Sprintf("greet: unknown style %q: expected one of %s", wanted, strings.Join(styleNames(), ", ")))
}

// invalidParams is the error for arguments that the server cannot take.
func invalidParams(message string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message}
}

// maxCompletions is the most values a completion may have (MCP 2025-11-25, server/utilities/completion).
const maxCompletions = 100

// completer answers completion/complete with the known values that begin as the argument does, in either case.
func completer(kept *notes) func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	return func(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
		ref, argument := req.Params.Ref, req.Params.Argument
		var known []string
		switch [3]string{ref.Type, ref.Name + ref.URI, argument.Name} {
		case [3]string{"ref/prompt", greetName, "style"}:
			known = styleNames()
		case [3]string{"ref/prompt", greetName, "name"}:
			known = guests()
		case [3]string{"ref/resource", noteTemplate, "number"}:
			known = kept.numbers()
		default:
			return nil, invalidParams(fmt.Sprintf("completion: no argument %q of %s %q", argument.Name, ref.Type, ref.Name+ref.URI))
		}
		values := []string{} // not nil: the field is required
		for _, v := range known {
			if len(v) >= len(argument.Value) && strings.EqualFold(v[:len(argument.Value)], argument.Value) {
				values = append(values, v)
			}
		}
		total := len(values)
		return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{
			Values:  values[:min(total, maxCompletions)],
			Total:   total,
			HasMore: total > maxCompletions,
		}}, nil
	}
}
