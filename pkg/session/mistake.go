package session

// Mistakes that authors of servers make with the SDKs are recognised here, from what the servers say of them: the words are an
// SDK's, and tell nobody what to do. The table is rows, as that of the symptoms of children; the first that fits counts.

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// mistake is one row of the table.
type mistake struct {
	// id names the row in tests, and in [Error.Symptom].
	id string
	// text is found in a JSON-RPC error, its message or its data, or in an answer without one: its first bytes and telling headers.
	text func() *regexp.Regexp
	// means says what is wrong, "" if that is not certain, and do is the next step.
	means, do string
	// opening is set for those that let no session be opened: later the words are about something else.
	opening bool
}

// mistakes returns the table, which is made once.
var mistakes = sync.OnceValue(func() []mistake {
	return []mistake{
		{
			id: "one-transport", text: lazily(`(?i)server (?:is |was )?already initialized|already connected to a transport`),
			means: "it has one server or one transport for all clients",
			do:    "restart the server for now; its author has to make a server and a transport for each session",
		},
		{
			id: "zod", text: lazily(`reading '_(?:zod|def|parse)'|\b\w+\._(?:parse|zod) is not a function`),
			means: "versions of zod that do not go together meet in the server",
			do:    "update the server; its author has to bring zod and @modelcontextprotocol/sdk to versions that go together: npm ls zod",
		},
		{
			id: "body-read", text: lazily(`(?i)stream is not readable|body (?:stream )?(?:has )?already (?:been )?(?:read|consumed|used)`), opening: true,
			means: "the body of the request was read before the transport came to it",
			do:    "pass on what was parsed, handleRequest(req, res, req.body), or leave express.json() out for this path",
		},
		{
			id: "lifespan", text: lazily(`(?i)task group (?:is|was) not initialized`), opening: true,
			means: "the MCP app is mounted in another, which does not run its lifespan",
			do:    "hand its lifespan to the app around it: lifespan=mcp_app.lifespan, or session_manager.run() in its own",
		},
		{
			id: "legacy-post", text: lazily(`"query"\s*,\s*"session_?[iI]d"|^session_id is required|Missing sessionId(?: query)? parameter`), opening: true,
			means: "the older HTTP with SSE transport takes messages at this address, once a stream has been opened at another",
			do:    "use the address of the stream, which often ends with /sse",
		},
		{
			id: "uvicorn", text: lazily(`(?s)^Internal Server Error\s.*\bServer: uvicorn`), opening: true,
			do: `see the server's log; if it says "Task group is not initialized", the MCP app is mounted in another, which needs its lifespan: lifespan=mcp_app.lifespan`,
		},
	}
})

// mend says what the author of a server has done wrong, if that was recognised.
func (s seen) mend(e *Error) {
	if e.Hint != "" || e.Symptom != "" || s.abandoned() {
		return
	}
	var shown string
	switch {
	case s.rpc != nil:
		shown = s.rpc.Message + "\n" + string(s.rpc.Data)
	case s.isStatus() && s.status != http.StatusNotFound:
		shown = string(s.fault.Body) + "\n" + strings.Join(s.fault.Signs, "\n")
	default:
		return
	}
	i := slices.IndexFunc(mistakes(), func(m mistake) bool { return (!m.opening || !s.opened) && m.text().MatchString(shown) })
	if i < 0 {
		return
	}
	m := mistakes()[i]
	e.Symptom, e.Hint = m.id, m.do
	if m.means != "" {
		e.Message += "; " + m.means
	}
}
