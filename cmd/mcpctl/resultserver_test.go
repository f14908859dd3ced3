package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

// resultServe is a server over stdio that returns what a file says, byte for byte, for the tests of what is shown of
// results:
//
//	{"tools": […as tools/list has them…], "results": {TOOL: {…the result…}}, "errors": {TOOL: {…the JSON-RPC error…}}}
func resultServe() {
	raw, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	var has struct {
		Tools           json.RawMessage
		Results, Errors map[string]json.RawMessage
	}
	if err := json.Unmarshal(raw, &has); err != nil {
		panic(err)
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var request struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
		}
		if json.Unmarshal(in.Bytes(), &request) != nil || request.ID == nil {
			continue
		}
		key, value := "result", json.RawMessage("{}")
		switch request.Method {
		case "initialize":
			value = json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"results","version":"1"}}`)
		case "ping":
		case "tools/list":
			value = json.RawMessage(`{"tools":` + string(has.Tools) + `}`)
		case "tools/call":
			value = has.Results[request.Params.Name]
			if e := has.Errors[request.Params.Name]; e != nil {
				key, value = "error", e
			}
		default:
			key, value = "error", json.RawMessage(`{"code":-32601,"message":"method not found"}`)
		}
		var line bytes.Buffer
		if err := json.Compact(&line, value); err != nil { // one message is one line
			panic(err)
		}
		fmt.Fprintf(os.Stdout, `{"jsonrpc":"2.0","id":%s,"%s":%s}`+"\n", request.ID, key, &line)
	}
}
