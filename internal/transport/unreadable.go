package transport

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/mcpctl/mcpctl/internal/rawjson"
)

// What is meant as a response, and is none that JSON-RPC 2.0 knows, is looked at here: the request must not wait for another,
// and whoever wrote it wants to know what is wrong with it.

// whatIsWrong says why a text is no JSON-RPC response, nil if there is no more to say than that.
func whatIsWrong(text []byte) error {
	text = trimMessage(text)
	if len(text) == 0 {
		return nil
	}
	value, rest, ok := rawjson.Next(text)
	switch {
	case bytes.HasPrefix(text, []byte("\x1f\x8b")):
		return errors.New("it is compressed with gzip, and no Content-Encoding says so")
	case Wide(string(text)):
		return errors.New("it is UTF-16, and JSON has to be UTF-8")
	case bytes.HasPrefix(text, []byte("event:")) || bytes.HasPrefix(text, []byte("data:")):
		return errors.New("it is a stream of events, and has to say so: Content-Type: text/event-stream")
	case bytes.HasPrefix(text, []byte("\x1f\x8b")):
		return errors.New("it is compressed with gzip, and has no Content-Encoding that says so")
	case !ok && text[0] != '{' && text[0] != '[':
		if message, _, ok := messageIn(text); ok {
			if !bytes.HasSuffix(text, message) {
				return errors.New("other text stands around the message")
			}
			return errors.New("other text stands before the message")
		}
		return nil
	case !ok:
		var whole json.RawMessage
		if err, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(text, &whole)); ok {
			return fmt.Errorf("it is no JSON: %w, at byte %d", err, err.Offset)
		}
		return errors.New("it is no JSON")
	case len(bytes.TrimSpace(rest)) > 0:
		if _, ok := parseEnvelope(value); ok {
			return errors.New("other text follows the message")
		}
		return nil
	}
	if s, ok := rawjson.String(value); ok {
		if _, ok := parseEnvelope(trimMessage([]byte(s))); ok {
			return errors.New("the message is encoded twice: it is the text in a JSON string")
		}
		return nil
	}
	return wrongMembers(value)
}

// cutShort reports whether a text would be JSON if it went on: the connection has broken, and the server has done no wrong.
func cutShort(text []byte) bool {
	var whole json.RawMessage
	err, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(text, &whole))
	return ok && err.Offset >= int64(len(text))
}

// wrongMembers says what keeps an object from being a response.
func wrongMembers(object []byte) error {
	var result, failure, method bool
	version, id := json.RawMessage(nil), json.RawMessage(nil)
	if !rawjson.Object(object, func(key string, value []byte) {
		switch key {
		case "jsonrpc":
			version = value
		case "id":
			id = value
		case "result":
			result = true
		case "error":
			failure = true
		case "method":
			method = string(value) != "null"
		}
	}) {
		return nil
	}
	const most = 40 // a version is short
	switch {
	case len(version) == 0 && id != nil && (result || failure):
		return errors.New(`it has no member "jsonrpc", which has to be "2.0"`)
	case len(version) > 0 && string(version) != `"2.0"`:
		return fmt.Errorf(`its member "jsonrpc" is %s, and has to be "2.0"`, version[:min(len(version), most)])
	case len(version) == 0:
		if s, ok := rawjson.String(rawjson.Get(object, "body")); ok {
			if _, ok := parseEnvelope(trimMessage([]byte(s))); ok {
				return errors.New(`the message is the text in the member "body": a gateway passes on as it is what a function returned for it`)
			}
		}
		return cmp.Or(enclosed(object), unwrapped(object))
	case method && (result || failure):
		return errors.New(`it is a request and a response in one: it has the member "method", too`)
	case !method && !result && !failure:
		return errors.New("it has neither result nor error")
	}
	return nil
}

// enclosed names the member of an object that is the message, nil if none is: some frameworks put a wrapping of their own around
// every answer.
func enclosed(object []byte) (err error) {
	rawjson.Object(object, func(key string, value []byte) {
		if _, ok := parseEnvelope(value); ok {
			err = fmt.Errorf("the message stands in the member %.40q of another object", key)
		}
	})
	return err
}

// unwrapped says of an object that it is a result without its message, or a message whose members have other names; nil if it
// is neither.
func unwrapped(object []byte) error {
	var version string
	keys := map[string]bool{}
	rawjson.Object(object, func(key string, value []byte) {
		if version == "" && strings.EqualFold(key, "jsonrpc") && string(value) == `"2.0"` {
			version = key
		}
		keys[key] = keys[key] || len(value) > 0 && (value[0] == '[' || key == "protocolVersion")
	})
	switch {
	case version != "":
		return fmt.Errorf(`the names of its members are written otherwise: %q in place of "jsonrpc"`, version)
	case keys["protocolVersion"], keys["tools"], keys["content"], keys["resources"], keys["prompts"]:
		return errors.New(`it is a result alone: the message around it is missing, with "jsonrpc", "id" and "result"`)
	}
	return nil
}

// messageIn finds a JSON-RPC message within a line that holds other text, too.
func messageIn(line []byte) ([]byte, envelope, bool) {
	before, _, named := bytes.Cut(line, []byte(`"jsonrpc"`))
	if !named {
		return nil, envelope{}, false
	}
	// The message begins at the brace before the member, if that is its first one, else at the first brace at all.
	for _, start := range []int{bytes.LastIndexByte(before, '{'), bytes.IndexByte(line, '{')} {
		if start < 0 {
			continue
		}
		value, _, ok := rawjson.Next(line[start:])
		if !ok {
			continue
		}
		value = bytes.TrimSpace(value)
		if e, ok := parseEnvelope(value); ok {
			return value, e, true
		}
	}
	return nil, envelope{}, false
}

var (
	// brokenStart is how a response begins that is no JSON, so that it is not taken for a line of a log.
	brokenStart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\{\s*"(jsonrpc|id|result|error)"\s*:`) })
	brokenID    = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`[{,]\s*"id"\s*:\s*("[^"\\]{1,80}"|-?\d{1,18})\s*[,}]`)
	})
)

// brokenAnswer returns the id of the request that a line is the answer to, although it is no JSON-RPC response, and what is
// wrong with it. Lines of logs in JSON may have an id and a result, too: they have other members besides.
func brokenAnswer(line []byte) (json.RawMessage, error) {
	if !brokenStart().Match(line) {
		return nil, nil
	}
	err := whatIsWrong(line)
	if err == nil {
		return nil, nil
	}
	if !rawjson.Valid(line) {
		if m := brokenID().FindSubmatch(line); m != nil && bytes.Contains(line, []byte(`"jsonrpc"`)) {
			return m[1], err
		}
		return nil, nil
	}
	plain, id := true, json.RawMessage(nil)
	rawjson.Object(line, func(key string, value []byte) {
		if key == "id" {
			id = value
		}
		plain = plain && strings.Contains(" jsonrpc id result error ", " "+key+" ")
	})
	if !plain || id == nil {
		return nil, nil
	}
	return id, err
}
