package transport

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// TestWhatIsWrong shows what is said of a text that is no JSON-RPC response, and of what nothing more can be said.
func TestWhatIsWrong(t *testing.T) {
	t.Parallel()
	const message = `{"jsonrpc":"2.0","id":1,"result":{}}`
	for text, want := range map[string]string{
		`{"id":1,"result":{}}`:                                                     `no member "jsonrpc"`,
		`{"jsonrpc":"1.0","id":1,"result":{}}`:                                     `is "1.0"`,
		`{"jsonrpc":2.0,"id":1,"result":{}}`:                                       `is 2.0`,
		`{"jsonrpc":"2.0","id":1}`:                                                 "neither result nor error",
		`{"jsonrpc":"2.0","id":1,"result":{},"method":"x"}`:                        "a request and a response in one",
		`{"jsonrpc":"2.0","id":1,"result":{"x":NaN}}`:                              "invalid character 'N'",
		"<b>Warning</b>: x in y.php " + message:                                    "other text stands before the message",
		"[info] " + message + " sent":                                              "",
		"info " + message + " sent":                                                "other text stands around the message",
		message + " <!-- -->":                                                      "other text follows the message",
		`"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"`:                           "encoded twice",
		`{"statusCode":200,"body":"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"}`: `in the member "body"`,
		"event: message\ndata: " + message:                                         "text/event-stream",
		"\x1f\x8b\x08\x00\x00":                                                     "compressed with gzip",
		`{"code":0,"data":` + message + `}`:                                        `in the member "data"`,
		"\x1f\x8b\x08\x00":                                                         "compressed with gzip",
		"\xff\xfe{\x00\"\x00i\x00d\x00\"\x00:\x00":                                 "UTF-16",
		`{"protocolVersion":"2025-11-25","capabilities":{}}`:                       "a result alone",
		`{"tools":[]}`:                                                             "a result alone",
		`{"tools":3,"uptime":7}`:                                                   "",
		`{"Jsonrpc":"2.0","Id":1,"Result":{}}`:                                     `"Jsonrpc" in place of`,
		`{"error":"Unauthorized"}`:                                                 "",
		"Not Found":                                                                "",
		"":                                                                         "",
		"null":                                                                     "",
	} {
		err := whatIsWrong([]byte(text))
		if want == "" && err != nil && !strings.HasPrefix(text, "[") || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestBrokenAnswer shows which lines are the answer to a request although they are none that can be read: lines of logs are not.
func TestBrokenAnswer(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`{"jsonrpc": "2.0", "id": 7, "result": {"x": NaN}}`:                     "7",
		`{"result": {"x": Infinity}, "id": "a", "jsonrpc": "2.0"}`:              `"a"`,
		`{"id":7,"result":{}}`:                                                  "7",
		`{"jsonrpc":"2.0","id":7}`:                                              "7",
		`{"level":"info","id":7,"result":{},"msg":"done"}`:                      "",
		`{"id":7,"result":{},"time":1}`:                                         "",
		`{"id": 7, "result": broken`:                                            "",
		`{"jsonrpc":"2.0","id":7,"result":{}}`:                                  "",
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"x":NaN}}`: "",
		"id 7": "",
	} {
		id, why := brokenAnswer([]byte(line))
		if string(id) != want || (why != nil) != (want != "") {
			t.Errorf("%s: id %s, %v", line, id, why)
		}
	}
}

// FuzzMessageIn shows that what is found in a line stands there, and is a message.
func FuzzMessageIn(f *testing.F) {
	f.Add([]byte(`log {"jsonrpc":"2.0","id":1,"result":{}} more`))
	f.Add([]byte(`{"a":{"jsonrpc":"2.0","id":1,"result":{}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":7,"result":{"x":NaN}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		if message, e, ok := messageIn(line); ok && (!bytes.Contains(line, message) || e.Version != "2.0") {
			t.Errorf("%q in %q", message, line)
		}
		if id, why := brokenAnswer(line); (id == nil) != (why == nil) {
			t.Errorf("%q: id %s, %v", line, id, why)
		}
		_ = whatIsWrong(line)
	})
}

// TestAnswersToNotifications shows which responses without an id are taken for answers to notifications.
func TestAnswersToNotifications(t *testing.T) {
	t.Parallel()
	unknown := envelope{Error: []byte(`{"code":-32601,"message":"Method not found"}`)}
	failed := envelope{Error: []byte(`{"code":-32000,"message":"disk full"}`)}
	for name, c := range map[string]struct {
		owed   int
		idless bool
		e      envelope
		want   bool
	}{
		"a method that is not known":       {1, false, unknown, true},
		"when there was no notification":   {0, false, unknown, false},
		"of a server that sends no ids":    {1, true, unknown, false},
		"a failure of another kind":        {1, false, failed, false},
		"an empty result":                  {1, false, envelope{Result: []byte("{}")}, true},
		"a result that somebody waits for": {1, false, envelope{Result: []byte(`{"tools":[]}`)}, false},
		"an error that cannot be read":     {1, false, envelope{Error: []byte(`"boom"`)}, false},
	} {
		k := &Child{owed: c.owed, idless: c.idless}
		if got := k.answersNotification(c.e); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestStreamWithoutResponse shows what is said of a stream that has ended without the response, and that one which broke is
// no fault of what was in it.
func TestStreamWithoutResponse(t *testing.T) {
	t.Parallel()
	const message = `{"jsonrpc":"2.0","id":1,"result":{}}`
	for name, c := range map[string]struct {
		body string
		kind Kind
		want string
	}{
		"another name":        {"event: response\ndata: " + message + "\n\n", KindContent, `this one is "response"`},
		"no event":            {message + "\n", KindContent, "there is no event in it"},
		"text behind it":      {"data: " + message + "\ndata: done\n\n", KindContent, "other text follows the message"},
		"lines without data":  {"data: {\n \"jsonrpc\": \"2.0\",\n \"id\": 1\ndata: }\n\n", KindContent, "begin with data:"},
		"encoded twice":       {"data: \"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":1,\\\"result\\\":{}}\"\n\n", KindContent, "encoded twice"},
		"another complaint":   {"data: {\"error\":\"no such key\"}\n\n", KindContent, "no such key"},
		"an empty array":      {"data: []\n\n", KindSevered, errNoResponse.Error()},
		"a comment":           {": hi\n\n", KindSevered, errNoResponse.Error()},
		"an error":            {"event: error\ndata: {\"message\":\"away\"}\n\n", KindContent, `an event of the name "error"`},
		"data: once":          {"data: {\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1\n}\n\n", KindContent, "begin with data:"},
		"a ping":              {"event: ping\ndata: {}\n\n", KindSevered, errNoResponse.Error()},
		"cut short":           {"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"resu", KindSevered, errNoResponse.Error()},
		"one that is resumed": {"id: 1\nevent: response\ndata: " + message + "\n\n", KindSevered, errNoResponse.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, c.body)
			}))
			defer server.Close()
			u, err := url.Parse(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			h := NewHTTP(HTTPOptions{Endpoint: u})
			defer h.Close()
			ctx, ex := WithExchange(t.Context())
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := h.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_, err = io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			f := ex.State().Fault
			if f == nil || f.Kind != c.kind || !strings.Contains(f.Error(), c.want) {
				t.Errorf("%+v, %v", f, err)
			}
			if errors.Is(err, errTooLarge) {
				t.Error(err)
			}
		})
	}
}
