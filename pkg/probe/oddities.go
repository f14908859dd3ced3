package probe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpctl/mcpctl/pkg/session"
)

// odd returns what was odd about the sessions of the examination in one way, nil if nothing was.
func (t *Target) odd(kind session.OddityKind) *session.Oddity {
	for _, s := range t.sessions() {
		for _, o := range s.Oddities() {
			if o.Kind == kind {
				return &o
			}
		}
	}
	return nil
}

// oddity makes the finding of a check that looks for one way of being odd.
func (t *Target) oddity(kind session.OddityKind, good, fix string) Finding {
	o := t.odd(kind)
	if o == nil {
		return pass(good)
	}
	f := warn(o.First, fix)
	if o.Count > 1 {
		f.Message += fmt.Sprintf(", and %d more like it", o.Count-1)
	}
	f.Data = map[string]any{"count": o.Count}
	return f
}

// warned returns the warning of one kind from the opening, "" if there is none.
func (t *Target) warned(kind session.WarningKind) string {
	if t.opened == nil {
		return ""
	}
	for _, w := range t.opened.Info().Warnings {
		if w.Kind == kind {
			return w.Text
		}
	}
	return ""
}

// andMore joins a few things, and counts the others.
func andMore(things []string, most int) string {
	if len(things) <= most {
		return strings.Join(things, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(slices.Clone(things[:most]), ", "), len(things)-most)
}
