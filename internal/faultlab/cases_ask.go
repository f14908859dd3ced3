package faultlab

import (
	"strings"
	"time"
)

// askCases are the cases about servers that ask their client something while they work on a call.
func askCases() []Case {
	const form = `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`
	return []Case{
		{
			ID: "CASE-214", Name: "ask-never-finishes", Area: "call", Over: HTTP | Stdio, Level: 2,
			Title:   "A call that is not answered after its question was",
			Source:  "aklivity/zilla#2060",
			Symptom: "The question is answered, and the call hangs.",
			Cause:   "The answer does not lead back to the call.",
			Repro:   "Tool ask sends elicitation/create with a form and, whatever is answered, never answers the call.",
			Right:   "The limit of the request ends it: time for the answer is not counted twice, nor without end.",
			Exit:    "timeout.",
			server: serverFault{tools: []tool{{
				name: "ask", def: describe("ask", "Ask, and never finish.", noArguments),
				call: func(p *responder, c *toolCall) {
					p.askWith("srv-ask-1", "elicitation/create", `{"message":"Your name?","requestedSchema":`+form+`}`, 30*time.Second, c.send)
					select {
					case <-c.cancelled:
					case <-p.done:
					}
				},
			}}},
			http: httpFault{stream: plainStream},
			check: check{
				call:      `{"name":"ask","arguments":{}}`,
				wantHTTP:  `call 200 .*"method":"elicitation/create".*readerr=context deadline`,
				wantStdio: `call< .*elicitation/create`,
			},
		},
		{
			ID: "CASE-215", Name: "ask-not-announced", Area: "call", Over: HTTP | Stdio, Level: 2,
			Title:   "Sampling that the client did not offer",
			Source:  "mastra-ai/mastra#19189; modelcontextprotocol/python-sdk#1084",
			Symptom: "The call fails with \"Method not found\", or hangs, and nobody knows what was wanted.",
			Cause:   "The server does not look at the client's capabilities.",
			Repro:   "Tool ask sends sampling/createMessage and answers the call with what came back.",
			Right:   "Answers -32601 at once, and says what was asked and what would have answered it.",
			Exit:    "ok.",
			server: serverFault{tools: []tool{{
				name: "ask", def: describe("ask", "Ask for a model nobody offered.", noArguments),
				call: func(p *responder, c *toolCall) {
					answer, ok := p.askWith("srv-ask-1", "sampling/createMessage",
						`{"maxTokens":10,"messages":[{"role":"user","content":{"type":"text","text":"hi"}}]}`, 30*time.Second, c.send)
					if ok {
						c.text("answered with " + string(answer.Result) + string(answer.Error))
					}
				},
			}}},
			http: httpFault{stream: plainStream},
			check: check{
				call:      `{"name":"ask","arguments":{}}`,
				wantHTTP:  `call 200 .*"method":"sampling/createMessage".*readerr=context deadline`,
				wantStdio: `call< .*sampling/createMessage`,
			},
		},
		{
			ID: "CASE-216", Name: "ask-huge-message", Area: "call", Over: HTTP | Stdio, Level: 3,
			Title:   "A question that fills the screen and moves the cursor",
			Source:  "PrefectHQ/fastmcp#3409; jonigl/mcp-client-for-ollama#270",
			Symptom: "The question clears the screen, and looks like the client's own words.",
			Cause:   "Server strings printed raw.",
			Repro: `Tool ask sends elicitation/create whose message has ESC[2J, ESC]0;owned BEL, a line that begins
			with "mcpctl: error:", and 200 KB of text; its requestedSchema is no schema: "form".`,
			Right: "Says that it cannot be answered: harmless, short, with -32602 to the server. Never a crash.",
			Exit:  "ok; no ESC byte from the server on stderr.",
			server: serverFault{tools: []tool{{
				name: "ask", def: describe("ask", "Ask in a loud voice.", noArguments),
				call: func(p *responder, c *toolCall) {
					message := "\x1b[2J\x1b]0;owned\x07\nmcpctl: error: all is lost\n" + strings.Repeat("loud ", 40000)
					answer, ok := p.askWith("srv-ask-1", "elicitation/create", `{"message":`+quote(message)+`,"requestedSchema":"form"}`, 30*time.Second, c.send)
					if ok {
						c.text("answered with " + string(answer.Result) + string(answer.Error))
					}
				},
			}}},
			http: httpFault{stream: plainStream},
			check: check{
				call:      `{"name":"ask","arguments":{}}`,
				wantHTTP:  `call 200 .*"method":"elicitation/create".*u001b`,
				wantStdio: `call< .*elicitation/create.*u001b`,
			},
		},
		{
			ID: "CASE-217", Name: "ask-endless", Area: "call", Over: HTTP, Level: 3,
			Title:   "A server that goes on asking",
			Source:  "anthropics/claude-code#94806",
			Symptom: "The call ends after minutes, and the server is blamed for a timeout.",
			Cause:   "A result that asks for input is not answered, or for ever.",
			Repro:   "Revision 2026-07-28: every tools/call of echo gets resultType input_required with an elicitation.",
			Right:   "Answers a bounded number of times, then says that the server never finishes.",
			Exit:    "protocol.",
			server: serverFault{every: modernOnly, tools: []tool{{
				name: "echo",
				call: func(p *responder, c *toolCall) {
					p.log("asks", "n", c.run)
					c.result(`{"resultType":"input_required","requestState":"again","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"Sure?","requestedSchema":{"type":"object","properties":{}}}}}}`)
				},
			}}},
			http: httpFault{request: modernHTTP, reply: modernReply},
			check: check{
				want:  `call 200 .*input_required.*elicitation/create`,
				drive: (*httpProbe).modern,
			},
		},
		{
			ID: "CASE-218", Name: "ask-legacy-type", Area: "call", Over: HTTP | Stdio, Level: 3,
			Title:   "A result of the older protocol that says it wants input",
			Source:  "Kuadrant/kuadrant-console-plugin#779; topcheer/ggcode#2499",
			Symptom: "One call runs the tool again and again.",
			Cause:   "resultType is of 2026-07-28; the client makes the request again also where the protocol does not know it.",
			Repro:   `Revision 2025-11-25: echo answers with its text, and resultType input_required beside it.`,
			Right:   "Takes the result as it is. Does not make the call again.",
			Exit:    "ok; the tool ran once.",
			server: serverFault{tools: []tool{{
				name: "echo",
				call: func(_ *responder, c *toolCall) {
					c.result(`{"resultType":"input_required","content":[{"type":"text","text":"hi"}]}`)
				},
			}}},
			check: check{want: `call.*input_required`},
		},
		{
			ID: "CASE-219", Name: "ask-nothing", Area: "call", Over: HTTP, Level: 3,
			Title:   "A server that wants input, and does not say what",
			Source:  "topcheer/ggcode#2499; anthropics/claude-ai-mcp#1027",
			Symptom: "One call runs the tool again and again, and fails in the end.",
			Cause:   "A result that asks for input must have inputRequests or requestState. Without either, asking again changes nothing.",
			Repro:   "Revision 2026-07-28: every tools/call of echo gets resultType input_required, and nothing else.",
			Right:   "Says that the result has neither, after one call.",
			Exit:    "protocol; the tool ran once.",
			server: serverFault{every: modernOnly, tools: []tool{{
				name: "echo",
				call: func(_ *responder, c *toolCall) { c.result(`{"resultType":"input_required"}`) },
			}}},
			http: httpFault{request: modernHTTP, reply: modernReply},
			check: check{
				want:  `call 200 .*input_required`,
				drive: (*httpProbe).modern,
			},
		},
	}
}
