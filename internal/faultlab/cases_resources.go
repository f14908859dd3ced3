package faultlab

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// labURI is the resource of the cases about resources, and otherURI one that nobody asked for.
const (
	labURI   = "lab://thing"
	otherURI = "lab://elsewhere"
)

// stormSize is how many updates a storm has.
const stormSize = 200

// resourceCases are the cases about resources, prompts and completion.
func resourceCases() []Case {
	return []Case{
		resourceCase("CASE-301", "resource-blob-garbage", Case{
			Title:   "A blob that is not base64",
			Symptom: "A file with garbage in it, or none, and no error.",
			Cause:   "The server puts the bytes, or a data URL, where base64 belongs.",
			Repro:   `The blob is "%PNG not base64".`,
			Right:   "An error that says so; the document has what the server sent.",
			Exit:    "protocol.",
		}, `{"contents":[{"uri":"lab://thing","mimeType":"image/png","blob":"%PNG not base64"}]}`, `%PNG not base64`),
		resourceCase("CASE-302", "resource-no-text", Case{
			Title:   "Contents without text or blob",
			Symptom: "Nothing is printed, as if the resource were empty.",
			Cause:   "The server leaves out what it could not read.",
			Repro:   "Of two contents, the first has neither text nor blob.",
			Right:   "The other is printed, and a warning names the first.",
			Exit:    "ok.",
		}, `{"contents":[{"uri":"lab://thing/a"},{"uri":"lab://thing/b","text":"here"}]}`, `lab://thing/a.*here`),
		resourceCase("CASE-303", "resource-contents-object", Case{
			Title:   "contents is not an array",
			Symptom: "An error of the client's decoder, or nothing.",
			Cause:   "The server sends the one content without the array around it.",
			Repro:   `contents is {"uri":…,"text":…}.`,
			Right:   "An error that says so.",
			Exit:    "protocol.",
		}, `{"contents":{"uri":"lab://thing","text":"here"}}`, `contents(\\)?":\{`),
		resourceCase("CASE-304", "resource-wrong-mime", Case{
			Title:   "Bytes that say they are text",
			Symptom: "A terminal that no longer works.",
			Cause:   "The server guesses the type.",
			Repro:   "A PNG as a blob of type text/plain; text of type image/png.",
			Right:   "Neither acts on a terminal; in a pipe both are what they are.",
			Exit:    "ok.",
		}, `{"contents":[{"uri":"lab://thing","mimeType":"text/plain","blob":"iVBORw0KGgobWzJK/w=="}]}`, `iVBORw0KGgobWzJK`),
		{
			ID: "CASE-305", Name: "resource-session-lost", Area: "resource", Over: HTTP, Level: 2,
			Title:   "The session is lost before a resource is read",
			Source:  ownSource,
			Symptom: "Tools recover, and reading does not.",
			Cause:   "Recovery exists for tools/call only.",
			Repro:   "Dead first session, with a resource.",
			Right:   "One fresh session, and the resource is read on it.",
			Exit:    "ok. Server saw 2 initialize.",
			server:  resourceServer(textContents("here"), nil),
			http:    httpFault{firstSessionDies: true},
			check:   check{want: `list 404 .*Session not found`},
		},
		watchCase("CASE-306", "resource-update-storm", Case{
			Title:   "A storm of updates",
			Symptom: "The client reads for minutes, or loses the last change.",
			Cause:   "One reading is queued for each notification.",
			Repro:   fmt.Sprintf("%d updates at once after the subscription.", stormSize),
			Right:   "Reads one at a time, and once more after the last.",
			Exit:    "ok.",
		}, func(r *request) {
			for range stormSize {
				r.send(updated(labURI))
			}
			r.result(`{}`)
		}, `resources/updated`),
		watchCase("CASE-307", "resource-update-other", Case{
			Title:   "An update of another resource",
			Symptom: "The resource is printed again though it has not changed.",
			Cause:   "The client does not look at the URI of the notification.",
			Repro:   "After the subscription an update of another URI, then one of a part of the resource.",
			Right:   "The first is told of and reads nothing, the second is a change.",
			Exit:    "ok.",
		}, func(r *request) {
			r.result(`{}`)
			r.send(updated(otherURI))
			r.send(updated(labURI + "/part"))
		}, `elsewhere`),
		watchCase("CASE-308", "resource-unsubscribe-refused", Case{
			Title:   "The end of a subscription is refused",
			Symptom: "The command hangs at its end, or fails though it has done its work.",
			Cause:   "The server does not know resources/unsubscribe.",
			Repro:   "resources/unsubscribe is never answered.",
			Right:   "Ends all the same, in a moment.",
			Exit:    "ok.",
		}, func(r *request) {
			r.result(`{}`)
			r.send(updated(labURI))
		}, `resources/updated`),
		watchCase("CASE-309", "resource-gone-while-watched", Case{
			Title:   "A resource goes and comes back",
			Symptom: "The watch ends, or shows nothing any more.",
			Cause:   "The client takes an error of reading for the end.",
			Repro:   "The second reading is answered -32002; after it come another update and the resource.",
			Right:   "The error is told, and the resource is shown when it is back.",
			Exit:    "ok.",
		}, func(r *request) {
			r.result(`{}`)
			r.send(updated(labURI))
		}, `resources/updated`),
		watchCase("CASE-310", "resource-subscribe-refused", Case{
			Title:   "A subscription is refused",
			Symptom: "The command waits for ever.",
			Cause:   "The server announces subscriptions and does not know this resource.",
			Repro:   "resources/subscribe is answered -32002.",
			Right:   "Ends with the server's error.",
			Exit:    "tool.",
		}, func(r *request) { r.fail(-32002, "Resource not found: "+labURI) }, `-32002`),
		{
			ID: "CASE-311", Name: "resource-lists-odd", Area: "resource", Over: HTTP | Stdio, Level: 2,
			Title:   "Odd lists of resources and prompts",
			Source:  ownSource,
			Symptom: "One bad entry hides all others.",
			Cause:   "Whole-list validation.",
			Repro: `Resources: null, one without uri, the same uri twice, a size that is text. Templates: an internal error.
			Prompts on two pages, the second with a cursor that repeats; one without a name, arguments that are no array.`,
			Right:  "Lists what can be used, and warns of the rest.",
			Exit:   "ok.",
			server: oddLists(),
			check: check{
				want: `res.*no uri.*pro.*first`,
				more: []step{{"res", "resources/list", `{}`}, {"pro", "prompts/list", `{}`}},
			},
		},
		{
			ID: "CASE-312", Name: "prompt-odd-messages", Area: "resource", Over: HTTP | Stdio, Level: 2,
			Title:   "Odd messages of a prompt",
			Source:  ownSource,
			Symptom: "No message is shown.",
			Cause:   "Content is bare text in place of a block, and one message has no role.",
			Repro:   "Messages: bare text, a number, one without content, one without a role, and a good one.",
			Right:   "Shows what there is, and warns of the rest.",
			Exit:    "ok.",
			server:  oddLists(),
			check:   check{want: `get.*bare`, more: []step{{"get", "prompts/get", `{"name":"first"}`}}},
		},
		{
			ID: "CASE-313", Name: "completion-odd", Area: "resource", Over: HTTP | Stdio, Level: 2,
			Title:   "A completion without a list of texts",
			Source:  ownSource,
			Symptom: "No values, and no error.",
			Cause:   "The server sends objects in place of texts.",
			Repro:   `values is [{"value":"a"}].`,
			Right:   "An error that says so.",
			Exit:    "protocol.",
			server:  oddLists(),
			check: check{want: `com.*values`, more: []step{
				{"com", "completion/complete", `{"ref":{"type":"ref/prompt","name":"first"},"argument":{"name":"x","value":""}}`},
			}},
		},
	}
}

// textContents is the result of reading a resource that holds a text.
func textContents(text string) string {
	return `{"contents":[{"uri":` + quote(labURI) + `,"mimeType":"text/plain","text":` + quote(text) + `}]}`
}

// resourceCase is a case with one resource whose contents are odd.
func resourceCase(id, name string, c Case, result, want string) Case {
	c.ID, c.Name, c.Area, c.Over, c.Level, c.Source = id, name, "resource", HTTP|Stdio, 2, ownSource
	c.server = resourceServer(result, nil)
	c.check = check{want: `read.*` + want, more: []step{{"read", "resources/read", `{"uri":` + quote(labURI) + `}`}}}
	return c
}

// watchCase is a case with a resource that is watched, which answers a subscription in its own way. It is not served over
// HTTP, where the laboratory has no stream of notifications.
func watchCase(id, name string, c Case, subscribe func(r *request), want string) Case {
	c.ID, c.Name, c.Area, c.Over, c.Level, c.Source = id, name, "resource", Stdio, 2, ownSource
	c.server = resourceServer("", subscribe)
	c.check = check{
		want: `subscribe.*` + want, collect: true,
		more: []step{{"subscribe", "resources/subscribe", `{"uri":` + quote(labURI) + `}`}, {"read", "resources/read", `{"uri":` + quote(labURI) + `}`}},
	}
	return c
}

// updated is the notification that a resource has changed.
func updated(uri string) string {
	return `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":` + quote(uri) + `}}`
}

// resourceServer is a server with one resource. If read is "", its text counts how often it was read.
func resourceServer(read string, subscribe func(r *request)) serverFault {
	f := serverFault{
		capabilities: `{"tools":{},"resources":{"subscribe":true}}`,
		on: map[string]requestFunc{
			"resources/list": func(_ *responder, r *request) bool {
				r.result(`{"resources":[{"uri":` + quote(labURI) + `,"name":"thing"}]}`)
				return true
			},
			"resources/templates/list": failWith(codeNoMethod, "Method not found"),
			"resources/unsubscribe":    ignore,
			"resources/read": func(p *responder, r *request) bool {
				var params struct {
					URI string `json:"uri"`
				}
				n := p.count("read")
				switch {
				case json.Unmarshal(r.Params, &params) != nil || params.URI != labURI:
					r.fail(-32002, "Resource not found: "+params.URI)
				case read != "":
					r.result(read)
				case p.c.Name == "resource-gone-while-watched" && n == 2:
					r.fail(-32002, "Resource not found: "+params.URI)
					r.send(updated(labURI))
				default:
					if strings.HasSuffix(p.c.Name, "-storm") {
						p.pause(p.mainDelay(20 * time.Millisecond))
					}
					r.result(textContents(fmt.Sprintf("reading %d", n)))
				}
				return true
			},
		},
	}
	if subscribe != nil {
		f.on["resources/subscribe"] = func(_ *responder, r *request) bool {
			subscribe(r)
			return true
		}
	}
	return f
}

// oddLists is a server whose lists and answers are odd wherever they can be.
func oddLists() serverFault {
	answer := func(result string) requestFunc {
		return func(_ *responder, r *request) bool {
			r.result(result)
			return true
		}
	}
	return serverFault{
		capabilities: `{"tools":{},"resources":{},"prompts":{}}`,
		on: map[string]requestFunc{
			"resources/list": answer(`{"resources":[null,{"name":"no uri"},{"uri":"lab://a","name":"a","size":"big"},` +
				`{"uri":"lab://a","name":"again"},{"uri":"lab://\u001b[31mred","title":"line\nline","size":1234567}]}`),
			"resources/templates/list": failWith(codeInternal, "no templates today"),
			"prompts/list": func(_ *responder, r *request) bool {
				if cursorOf(r) == nil {
					r.result(`{"prompts":[{"name":"first","arguments":[{"name":"x"},7]}],"nextCursor":"2"}`)
				} else {
					r.result(`{"prompts":[{"description":"no name"},{"name":"second","arguments":"none"}],"nextCursor":"2"}`)
				}
				return true
			},
			"prompts/get": answer(`{"messages":[{"role":"user","content":"bare"},7,{"role":"user"},` +
				`{"content":{"type":"text","text":"no role"}},{"role":"assistant","content":{"type":"text","text":"good"}}]}`),
			"completion/complete": answer(`{"completion":{"values":[{"value":"a"}]}}`),
		},
	}
}
