package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/internal/pasted"
	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

const (
	// sampleLimit is how long the command of --sample-with may take for one answer: a large model on a small machine takes
	// minutes. The limit of the request ends it, too.
	sampleLimit = 5 * time.Minute
	// sampleGrace is how long what the command has left running may keep its output open.
	sampleGrace = 500 * time.Millisecond
	// mostSampled bounds the answer, in bytes; sampleTail is how much of its messages a failure tells.
	mostSampled = 4 << 20
	sampleTail  = 300
)

// samplerOf splits the command line of --sample-with, replaces variables in it as in that of --stdio, and looks whether
// the command is there.
func (a *app) samplerOf(text string) ([]string, error) {
	words, err := pasted.Split(text)
	if err != nil {
		return nil, ofFlag("sample-with", err)
	}
	if len(words) == 0 {
		return nil, usagef("--sample-with: the command line is empty")
	}
	expanded, err := a.expand(config.Server{Name: "--sample-with", Command: words[0], Args: words[1:]})
	if err != nil {
		return nil, err
	}
	if _, err := exec.LookPath(expanded.Command); err != nil {
		return nil, usagef("--sample-with: %s: command not found", expanded.Command)
	}
	return append([]string{expanded.Command}, expanded.Args...), nil
}

// sample has the command of --sample-with answer sampling/createMessage.
func (n *answers) sample(ctx context.Context, q session.Question) (json.RawMessage, error) {
	raw, err := n.runSampler(ctx, q.Params)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		n.a.note(fmt.Sprintf("%s wants a language model, and --sample-with failed: %s", render.OneLine(q.Server), cutRunes(render.OneLine(err.Error()), 2*noteLength)))
		return nil, errors.New("sampling failed at the client")
	}
	return raw, nil
}

// capped keeps the first bytes of what is written, and fails after them. It is no buffer itself: that would read all there is
// past the cap.
type capped struct {
	kept bytes.Buffer
	most int
	over bool
}

var errTooMuch = errors.New("it says too much")

func (c *capped) Write(p []byte) (int, error) {
	if c.kept.Len()+len(p) > c.most {
		c.over = true
		return 0, errTooMuch
	}
	return c.kept.Write(p)
}

// tail keeps the last bytes of what is written.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if over := len(t.text) - sampleTail; over > 0 {
		t.text = t.text[over:]
	}
	return len(p), nil
}

// runSampler runs the command. Its process group is ended with it.
func (n *answers) runSampler(ctx context.Context, request json.RawMessage) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, sampleLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, n.sampler[0], n.sampler[1:]...) //nolint:gosec // it is what the flag is for
	out, messages := &capped{most: mostSampled}, &tail{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(append(bytes.Clone(request), '\n')), out, messages
	cmd.WaitDelay = sampleGrace
	ownGroup(cmd)
	err := cmd.Run()
	if cmd.Process != nil {
		endGroup(cmd)
	}
	if out.over {
		return nil, fmt.Errorf("%s: %w: more than %d bytes", n.sampler[0], errTooMuch, mostSampled)
	}
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%s: no answer within %s", n.sampler[0], sampleLimit)
		}
		if said := strings.TrimSpace(strings.ToValidUTF8(string(messages.text), "")); said != "" {
			return nil, fmt.Errorf("%s: %w: %s", n.sampler[0], err, said)
		}
		return nil, fmt.Errorf("%s: %w", n.sampler[0], err)
	}
	result, err := sampled(out.kept.Bytes(), filepath.Base(n.sampler[0]))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.sampler[0], err)
	}
	return result, nil
}

// sampled makes a result of what the command of --sample-with wrote: a JSON object with a member "content" is one, but for
// the members "role" and "model", which are added if they are missing; anything else is the text of the answer.
func sampled(out []byte, model string) (json.RawMessage, error) {
	var object map[string]json.RawMessage
	name, err := compactJSON(model)
	if err != nil {
		return nil, err
	}
	if json.Unmarshal(out, &object) == nil && object["content"] != nil {
		whole := strings.TrimSuffix(strings.TrimSpace(string(out)), "}")
		if object["role"] == nil {
			whole += `,"role":"assistant"`
		}
		if object["model"] == nil {
			whole += `,"model":` + string(name)
		}
		return json.RawMessage(whole + "}"), nil
	}
	text := strings.ToValidUTF8(strings.TrimRight(string(out), "\r\n"), "\uFFFD")
	if strings.TrimSpace(text) == "" {
		return nil, errors.New("it said nothing")
	}
	return compactJSON(map[string]any{
		"role": "assistant", "model": model, "stopReason": "endTurn",
		"content": map[string]string{"type": "text", "text": text},
	})
}

// root is a directory that a server may take for the place to work at. See the MCP specification, 2025-11-25, "Roots".
type root struct {
	URI  string `json:"uri"`
	Name string `json:"name,omitempty"`
}

// rootsOf makes the answer to roots/list.
func rootsOf(words []string) (json.RawMessage, error) {
	var roots []root
	for _, word := range words {
		r, err := rootOf(word)
		if err != nil {
			return nil, err
		}
		roots = append(roots, r)
	}
	return compactJSON(map[string][]root{"roots": roots})
}

// rootOf reads DIR or file://URI, with =NAME after it or without. A directory that has an equals sign in its name is found.
func rootOf(word string) (root, error) {
	place, name := word, ""
	isURI := strings.HasPrefix(strings.ToLower(word), "file:")
	_, err := os.Stat(word)
	if at := strings.LastIndexByte(word, '='); at >= 0 && (isURI || err != nil) {
		place, name = word[:at], word[at+1:]
	}
	if isURI {
		u, err := url.Parse(place)
		if err != nil || u.Scheme != "file" || u.Path == "" {
			return root{}, usagef("--root %s: it is not a file:// URI", toolargs.Quote(word))
		}
		return root{URI: place, Name: name}, nil
	}
	if strings.Contains(place, "://") {
		return root{}, usagef("--root %s: roots are directories, or file:// URIs", toolargs.Quote(word))
	}
	info, err := os.Stat(place)
	switch {
	case err != nil:
		return root{}, usagef("--root %s: no such directory", toolargs.Quote(word))
	case !info.IsDir():
		return root{}, usagef("--root %s: it is not a directory", toolargs.Quote(word))
	}
	abs, err := filepath.Abs(place)
	if err != nil {
		return root{}, usagef("--root %s: %s", toolargs.Quote(word), err)
	}
	slashed := filepath.ToSlash(abs)
	if !strings.HasPrefix(slashed, "/") { // C:/…
		slashed = "/" + slashed
	}
	return root{URI: (&url.URL{Scheme: "file", Path: slashed}).String(), Name: name}, nil
}
