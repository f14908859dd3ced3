package main

import (
	"context"
	"io"
)

// The aims of start-up.
const (
	// aimStart is how many milliseconds it may take beyond an empty Go program.
	aimStart = 10
	// aimTimes is how many times as long the tools of others should take for the same work.
	aimTimes = 10
)

// benchStart measures start-up: a program that only says which version it is, or helps.
func benchStart(ctx context.Context, w io.Writer, s setting) error {
	empty, err := build(ctx, s.dir, "./bench/empty")
	if err != nil {
		return err
	}
	for _, what := range []struct {
		name   string
		mcpctl []string
		others map[string][]string
	}{
		{"version", []string{"version"}, map[string][]string{
			mcporter: {"--version"}, inspector: {"--version"}, mcpc: {"--version"},
		}},
		{"--help", []string{"--help"}, map[string][]string{
			mcporter: {"--help"}, inspector: {"--cli", "--help"}, mcpc: {"--help"},
		}},
	} {
		all := []contender{
			{name: "mcpctl " + what.name, steps: [][]string{append([]string{s.mcpctl}, what.mcpctl...)}, want: "mcpctl", alone: true, gauge: true},
			{name: "empty Go program", steps: [][]string{{empty}}, alone: true, floor: true},
		}
		for _, name := range []string{mcporter, inspector, mcpc} {
			args := what.others[name]
			c := contender{name: name, slow: true, alone: true, excused: s.others.missing}
			if c.excused == "" {
				c.steps, c.env = [][]string{s.others.command(name, args...)}, []string{s.others.path()}
			}
			c.name = short(name, args[:len(args)-1]...) + " " + args[len(args)-1]
			all = append(all, c)
		}
		results, err := s.race(ctx, all)
		if err != nil {
			return err
		}
		if err := writeRace(w, "start-up: "+what.name, results); err != nil {
			return err
		}
		s.judge("start-up ("+what.name+") beyond an empty Go program", results[0].median().ms-results[1].median().ms, aimStart, "ms")
		s.compare(results)
	}
	return nil
}

// short is the name of a tool as its users know it.
func short(name string, more ...string) string {
	word := map[string]string{mcpc: "mcpc", inspector: "inspector"}[name]
	if word == "" {
		word = name
	}
	for _, m := range more {
		word += " " + m
	}
	return word
}
