package probe

import (
	"context"
	"fmt"
)

const (
	// mostTools is how many tools the function calling of the OpenAI API takes; clients on it refuse or drop the others.
	mostTools = 128
	// mostTokens is an eighth of a context of 200,000 tokens, which the list takes from every conversation.
	mostTokens = 25_000
	// tokenBytes is how many bytes of JSON are a token, roughly: it differs between models.
	tokenBytes = 4
)

func toolsSize() Check {
	return Check{
		ID: "tools.size", Title: "list of tools is not too large", Needs: []string{"tools.list"}, Applies: announcesTools,
		Why: `Clients pass the name, the description and the input schema of every tool to a model in every conversation: their size is
paid for each time, and models choose worse among many tools. Some accept only a limited number, such as 128 functions in the OpenAI
API. The number of tokens is an estimate, a quarter of the bytes; output schemas, annotations and icons stay in the client and are
not counted.`,
		Remedy: "Offer fewer tools, or shorter descriptions and schemas. The key tools.include of an entry selects some of them.",
		Run: func(ctx context.Context, t *Target) Finding {
			list, err := t.list(ctx, "tools/list")
			if err != nil {
				return failure(err)
			}
			bytes, handed := 0, 0
			for _, item := range list.Items {
				bytes += len(item)
				handed += parseTool(item).handed()
			}
			tokens := handed / tokenBytes
			f := pass(fmt.Sprintf("about %d tokens", tokens))
			switch {
			case tokens > mostTokens:
				f = warn(fmt.Sprintf("%d tools take about %d tokens in every conversation", len(list.Items), tokens), "offer fewer tools, or shorter descriptions")
			case len(list.Items) > mostTools:
				f = warn(fmt.Sprintf("%d tools, and clients on the OpenAI API take %d", len(list.Items), mostTools), "offer fewer tools, or let people choose some")
			}
			f.Data = map[string]any{"tools": len(list.Items), "bytes": bytes, "tokens": tokens}
			return f
		},
	}
}

// handed returns how many bytes of a tool a model gets: the function calling of models knows nothing else of a tool.
func (t tool) handed() int { return len(t.name) + len(t.description) + len(t.schema) }
