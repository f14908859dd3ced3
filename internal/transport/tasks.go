package transport

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
)

// routeTask says in a header which task a request of the modern era is about: what stands between may bring it to the
// instance of the server that has the task. The SDK does that for the methods it knows. See the tasks extension of MCP,
// 2026-07-28, "Streamable HTTP: Routing Headers".
func routeTask(r *http.Request, method string, body []byte) {
	switch method {
	case "tasks/get", "tasks/update", "tasks/cancel":
	default:
		return
	}
	var m struct {
		Params struct {
			ID string `json:"taskId"`
		} `json:"params"`
	}
	if r.Header.Get(methodHeader) == "" || json.Unmarshal(body, &m) != nil || m.Params.ID == "" {
		return
	}
	r.Header.Set(nameHeader, headerValue(m.Params.ID))
}

// headerValue makes text fit for a header: what a header cannot hold goes into base64. See the MCP specification,
// 2026-07-28, "Transports", "Value Encoding".
func headerValue(text string) string {
	const begin, end = "=?base64?", "?="
	odd := func(r rune) bool { return r < ' ' && r != '\t' || r > '~' }
	if strings.ContainsFunc(text, odd) || strings.Trim(text, " \t") != text || strings.HasPrefix(text, begin) && strings.HasSuffix(text, end) {
		return begin + base64.StdEncoding.EncodeToString([]byte(text)) + end
	}
	return text
}
