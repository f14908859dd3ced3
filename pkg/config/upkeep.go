package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// This file holds the values for whoever keeps a session open for long: keepalive, retry, breaker. What they are when an
// entry does not set them is package session's matter.

// Off is the value of Server.Keepalive and of Breaker.Threshold that switches them off.
const Off = -1

// Retry says how a lost connection is brought back while nobody asks. Zero values mean not set.
type Retry struct {
	// Initial is the number of consecutive failures after which a server that has never worked is parked.
	Initial int
	// Reconnect is the same for one that has worked.
	Reconnect int
	// ParkInterval is the time between the attempts for a parked server.
	ParkInterval time.Duration
	// MaxBackoff is the longest pause between two attempts for one that is not parked.
	MaxBackoff time.Duration
}

// Breaker says when requests are refused at once because those before them failed on the way. Zero values mean not set.
type Breaker struct {
	// Threshold is the number of consecutive failures, or [Off].
	Threshold int
	// Cooldown is how long requests are refused before one is let through.
	Cooldown time.Duration
}

const (
	// mostFailures bounds the numbers of consecutive failures: more is a mistake.
	mostFailures = 1000
	// wordOff is how a file switches the keepalive off.
	wordOff = "off"
)

// keepalive reads a duration, or off.
func (e *entry) keepalive(s *Server, f field) {
	if f.value.Kind == yaml.ScalarNode && (f.value.Value == wordOff || f.value.ShortTag() == tagBool && f.value.Value == "false") {
		s.Keepalive = Off
		return
	}
	e.duration(f, f.name, &s.Keepalive)
}

// retry reads the mapping of that name.
func (e *entry) retry(s *Server, f field) {
	for _, f := range e.fields(f.value, "retry") {
		key := below("retry", f.name)
		e.at.set(key, f.key)
		member := field{key, f.key, f.value}
		switch f.name {
		case "initial":
			s.Retry.Initial = e.number(member, 1)
		case "reconnect":
			s.Retry.Reconnect = e.number(member, 1)
		case "park_interval":
			e.duration(member, key, &s.Retry.ParkInterval)
		case "max_backoff":
			e.duration(member, key, &s.Retry.MaxBackoff)
		default:
			e.unknown(f, key, retryKeys(), "")
			continue
		}
		s.Set(key, e.source("entry", f.key))
	}
}

func retryKeys() []string { return []string{"initial", "reconnect", "park_interval", "max_backoff"} }

// breaker reads the mapping of that name.
func (e *entry) breaker(s *Server, f field) {
	for _, f := range e.fields(f.value, "breaker") {
		key := below("breaker", f.name)
		e.at.set(key, f.key)
		member := field{key, f.key, f.value}
		switch f.name {
		case "threshold":
			if s.Breaker.Threshold = e.number(member, 0); s.Breaker.Threshold == 0 {
				s.Breaker.Threshold = Off
			}
		case "cooldown":
			e.duration(member, key, &s.Breaker.Cooldown)
		default:
			e.unknown(f, key, breakerKeys(), "")
			continue
		}
		s.Set(key, e.source("entry", f.key))
	}
}

func breakerKeys() []string { return []string{"threshold", "cooldown"} }

// number reads a whole number from least to mostFailures.
func (e *entry) number(f field, least int) int {
	// To YAML a whole number that is too large for a machine is a broken one.
	huge := f.value.ShortTag() == tagFloat && strings.Trim(f.value.Value, "0123456789") == ""
	if f.value.Kind != yaml.ScalarNode || f.value.ShortTag() != tagInt && !huge {
		e.fail(f.value, f.name, "want a whole number, found "+describe(f.value), "")
		return 0
	}
	n, err := strconv.Atoi(f.value.Value)
	if err != nil || n < least || n > mostFailures {
		e.fail(f.value, f.name, fmt.Sprintf("%s: want a number from %d to %d", f.value.Value, least, mostFailures), "")
		return 0
	}
	return n
}

// upkeepProblems says what is wrong with the values of this file.
func (s Server) upkeepProblems() []problem {
	var found []problem
	for _, n := range []struct {
		key   string
		value int
	}{{"retry.initial", s.Retry.Initial}, {"retry.reconnect", s.Retry.Reconnect}, {"breaker.threshold", s.Breaker.Threshold}} {
		if n.value < Off || n.value > mostFailures || n.value == Off && n.key != "breaker.threshold" {
			found = append(found, problem{key: n.key, message: fmt.Sprintf("%d: want a number from 1 to %d", n.value, mostFailures)})
		}
	}
	return found
}

// retryNode and breakerNode return the keys as they are written, nil for nothing that is set.
func retryNode(r Retry) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: tagMap, Style: yaml.FlowStyle}
	putNumber(n, "initial", r.Initial)
	putNumber(n, "reconnect", r.Reconnect)
	putTime(n, "park_interval", r.ParkInterval)
	putTime(n, "max_backoff", r.MaxBackoff)
	return filled(n)
}

func breakerNode(b Breaker) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: tagMap, Style: yaml.FlowStyle}
	if b.Threshold == Off {
		n.Content = append(n.Content, textNode("threshold"), numberNode(0))
	} else {
		putNumber(n, "threshold", b.Threshold)
	}
	putTime(n, "cooldown", b.Cooldown)
	return filled(n)
}

func filled(n *yaml.Node) *yaml.Node {
	if len(n.Content) == 0 {
		return nil
	}
	return n
}

func putNumber(n *yaml.Node, key string, value int) {
	if value != 0 {
		n.Content = append(n.Content, textNode(key), numberNode(value))
	}
}

func numberNode(value int) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tagInt, Value: strconv.Itoa(value)}
}

func putTime(n *yaml.Node, key string, value time.Duration) {
	if value != 0 {
		n.Content = append(n.Content, textNode(key), textNode(formatDuration(value)))
	}
}
