package config

import (
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"gopkg.in/yaml.v3"
)

// flowWidth is the widest list or mapping that is written on one line. With its key and indentation it stays within
// the hundred columns that a terminal or a diff usually has.
const flowWidth = 80

// entryNode returns the entry as it is written: the keys that are set, in the order of the documentation. What the
// file's defaults or the kind of target imply is left out.
func entryNode(s Server) *yaml.Node {
	m := &yaml.Node{Kind: yaml.MappingNode, Tag: tagMap}
	put := func(key string, value *yaml.Node) { m.Content = append(m.Content, textNode(key), value) }
	for _, key := range entryKeys() {
		switch key {
		case "command":
			putText(put, key, s.Command)
		case "args":
			if len(s.Args) > 0 {
				put(key, listNode(s.Args))
			}
		case "env":
			if len(s.Env) > 0 {
				put(key, mapNode(s.Env))
			}
		case "inherit_env":
			if s.InheritEnv.All {
				put(key, boolNode(true))
			} else if len(s.InheritEnv.Names) > 0 {
				put(key, listNode(s.InheritEnv.Names))
			}
		case "cwd":
			putText(put, key, s.Cwd)
		case "url":
			putText(put, key, s.URL)
		case "headers":
			if len(s.Headers) > 0 {
				put(key, mapNode(s.Headers))
			}
		case "auth":
			if s.Auth != "" {
				put(key, textNode(string(s.Auth)))
			}
		case "oauth":
			if n := oauthNode(s.OAuth); n != nil {
				put(key, n)
			}
		case "tls":
			if n := tlsNode(s.TLS); n != nil {
				put(key, n)
			}
		case "proxy":
			putText(put, key, s.Proxy)
		case "transport":
			if s.Transport != "" && s.Transport != impliedTransport(Server{Command: s.Command}) {
				putText(put, key, string(s.Transport))
			}
		case "protocol":
			if s.Protocol != "" {
				// A date without quotes, as people write it; it is read as text.
				n := textNode(s.Protocol)
				if (&yaml.Node{Kind: yaml.ScalarNode, Value: s.Protocol}).ShortTag() == tagTimestamp {
					n = &yaml.Node{Kind: yaml.ScalarNode, Tag: tagTimestamp, Value: s.Protocol}
				}
				put(key, n)
			}
		case "enabled":
			if !s.Enabled {
				put(key, boolNode(false))
			}
		case "connect_timeout":
			putDuration(put, s, key, s.ConnectTimeout)
		case "timeout":
			putDuration(put, s, key, s.Timeout)
		case "max_timeout":
			putDuration(put, s, key, s.MaxTimeout)
		case "wait":
			putDuration(put, s, key, s.Wait)
		case "session_wait":
			putDuration(put, s, key, s.SessionWait)
		case "keepalive":
			if s.Keepalive == Off {
				// Without quotes, as people write it: every reader of ours takes it as it is meant.
				put(key, &yaml.Node{Kind: yaml.ScalarNode, Tag: tagString, Value: wordOff})
			} else {
				putDuration(put, s, key, s.Keepalive)
			}
		case "retry":
			if n := retryNode(s.Retry); n != nil {
				put(key, n)
			}
		case "breaker":
			if n := breakerNode(s.Breaker); n != nil {
				put(key, n)
			}
		case "skip_preflight":
			if s.SkipPreflight {
				put(key, boolNode(true))
			}
		case "tools":
			if n := filterNode(s.Tools); n != nil {
				put(key, n)
			}
		case "health":
			if n := healthNode(s.Health); n != nil {
				put(key, n)
			}
		case "smoke":
			if n := smokeNode(s.Smoke); n != nil {
				put(key, n)
			}
		}
	}
	return m
}

func putText(put func(string, *yaml.Node), key, value string) {
	if value != "" {
		put(key, textNode(value))
	}
}

func putDuration(put func(string, *yaml.Node), s Server, key string, value time.Duration) {
	if value != 0 && s.Sources[key].Kind != "default" {
		put(key, textNode(formatDuration(value)))
	}
}

func boolNode(value bool) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: tagBool, Value: "false"}
	if value {
		n.Value = "true"
	}
	return n
}

// textNode returns a scalar that every YAML reader takes for text: without quotes only if nobody could misread it.
func textNode(value string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: tagString, Value: value}
	switch {
	case isPlain(value):
	case strings.ContainsAny(value, `\"`) && !strings.ContainsFunc(value, unicode.IsControl):
		n.Style = yaml.SingleQuotedStyle
	default:
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// isPlain reports whether value needs no quotes.
func isPlain(value string) bool {
	web := strings.HasPrefix(value, "http://") || strings.HasPrefix(value, "https://")
	for i, r := range value {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_'
		switch {
		case letter, strings.ContainsRune("./~-", r):
		case i > 0 && strings.ContainsRune("@%+=", r):
		case web && strings.ContainsRune(":?&", r) && !strings.HasSuffix(value, ":"):
		default:
			return false
		}
	}
	switch strings.ToLower(value) {
	case "y", "n", "yes", "no", "on", "off":
		// Booleans to YAML 1.1 readers.
		return false
	}
	// A dash alone opens a list item, and three end a document.
	return strings.Trim(value, "-.") != "" && (&yaml.Node{Kind: yaml.ScalarNode, Value: value}).ShortTag() == tagString
}

// listNode returns a list on one line if it is short.
func listNode(values []string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: tagSeq}
	width := 0
	for _, value := range values {
		n.Content = append(n.Content, textNode(value))
		width += len(value) + len(`"", `)
	}
	if width <= flowWidth {
		n.Style = yaml.FlowStyle
	}
	return n
}

// mapNode returns a mapping with sorted keys, on one line if it is short.
func mapNode(values map[string]string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: tagMap}
	width := 0
	for _, name := range slices.Sorted(maps.Keys(values)) {
		n.Content = append(n.Content, textNode(name), textNode(values[name]))
		width += len(name) + len(values[name]) + len(`: "", `)
	}
	if width <= flowWidth {
		n.Style = yaml.FlowStyle
	}
	return n
}

// tlsNode returns the tls key, nil for nothing that is set: on one line if it is short.
func tlsNode(t TLS) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: tagMap}
	width := 0
	for _, key := range tlsKeys() {
		value := map[string]string{"ca_file": t.CAFile, "cert_file": t.CertFile, "key_file": t.KeyFile, "server_name": t.ServerName}[key]
		node := textNode(value)
		if key == "insecure_skip_verify" {
			if !t.InsecureSkipVerify {
				continue
			}
			node, value = boolNode(true), "true"
		}
		if value == "" {
			continue
		}
		n.Content = append(n.Content, textNode(key), node)
		width += len(key) + len(value) + len(`: "", `)
	}
	if len(n.Content) == 0 {
		return nil
	}
	if width <= flowWidth {
		n.Style = yaml.FlowStyle
	}
	return n
}

// filterNode returns the tools key, nil for no filter.
func filterNode(f ToolFilter) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: tagMap}
	flow := true
	for _, list := range []struct {
		key   string
		globs []string
	}{{"include", f.Include}, {"exclude", f.Exclude}} {
		if len(list.globs) == 0 {
			continue
		}
		globs := listNode(list.globs)
		flow = flow && globs.Style == yaml.FlowStyle && len(list.globs) <= 3
		n.Content = append(n.Content, textNode(list.key), globs)
	}
	if len(n.Content) == 0 {
		return nil
	}
	if flow {
		n.Style = yaml.FlowStyle
	}
	return n
}
