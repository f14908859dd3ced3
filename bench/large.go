package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
)

// largeBytes is the size of the results.
const largeBytes = 50 << 20

// benchLarge takes large results in each way in which they come and go, once each: what they take of memory hardly varies.
func benchLarge(ctx context.Context, w io.Writer, s setting) error {
	chatter, err := build(ctx, s.dir, "./bench/chatter")
	if err != nil {
		return err
	}
	url, stop, err := serve(ctx, chatter, "-http")
	if err != nil {
		return err
	}
	defer stop()
	t := table{heads: []string{"50 MiB that come as", "go out as", "ms", "CPU ms", "MiB", "times the result"}}
	for _, way := range []struct {
		name  string
		words []string
	}{
		{"JSON", []string{url + "/mcp?answer=json"}},
		{"SSE", []string{url + "/mcp?answer=sse"}},
		{"stdio", []string{"--stdio", chatter}},
	} {
		for _, form := range []struct {
			name, kind string
			flags      []string
		}{
			{"text", "text", nil},
			{"-o json", "text", []string{"-o", "json"}},
			{"--jq", "text", []string{"--jq", ".result.content[0].text"}},
			{"--save", "image", []string{"--save", filepath.Join(s.dir, "saved")}},
		} {
			args := append(append([]string{s.mcpctl, "call"}, way.words...), "bulk", fmt.Sprintf("size=%d", largeBytes), "kind="+form.kind)
			_, code, f, err := measured(ctx, s.dir, append(args, form.flags...))
			if err == nil && code != 0 {
				err = fmt.Errorf("exit code %d", code)
			}
			if err != nil {
				return fmt.Errorf("a large result over %s, %s: %w", way.name, form.name, err)
			}
			t.row(way.name, form.name, number(f.ms), number(f.cpu), number(f.mib), times(f.mib*(1<<20)/largeBytes))
		}
	}
	return t.write(w)
}
