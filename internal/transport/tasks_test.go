package transport

import (
	"net/http"
	"testing"
)

// TestTaskIsRouted shows that a request about a task names it in a header, in the modern era only, whatever is in the name.
func TestTaskIsRouted(t *testing.T) {
	for _, c := range []struct {
		method, about, body, want string
	}{
		{"tasks/get", "tasks/get", `{"params":{"taskId":"a-1"}}`, "a-1"},
		{"tasks/cancel", "tasks/cancel", `{"params":{"taskId":"a 1"}}`, "a 1"},
		{"tasks/update", "tasks/update", `{"params":{"taskId":"a\r\nX: y"}}`, "=?base64?YQ0KWDogeQ==?="},
		{"tasks/get", "tasks/get", `{"params":{"taskId":"ä"}}`, "=?base64?w6Q=?="},
		{"tasks/get", "tasks/get", `{"params":{"taskId":"=?base64?eA==?="}}`, "=?base64?PT9iYXNlNjQ/ZUE9PT89?="},
		{"tasks/get", "tasks/get", `{"params":{"taskId":7}}`, ""},
		{"tasks/get", "tasks/get", `{}`, ""},
		{"tasks/result", "tasks/result", `{"params":{"taskId":"a"}}`, ""},
		{"tasks/get", "", `{"params":{"taskId":"a"}}`, ""}, // the legacy era
	} {
		r := &http.Request{Header: http.Header{}}
		if c.about != "" {
			r.Header.Set(methodHeader, c.about)
		}
		routeTask(r, c.method, []byte(c.body))
		if got := r.Header.Get(nameHeader); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.method, c.body, got, c.want)
		}
	}
}
