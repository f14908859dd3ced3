package probe

import (
	"slices"
	"strings"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// Selection says which rows are wanted of the checks that make a row for each of many things: its words are IDs of rows,
// IDs of checks, and stages.
type Selection struct {
	// Only are the words of which one must match, all rows if it is empty; Skip are those of which none may.
	Only, Skip []string
}

// wants returns whether a row is wanted, by its ID, of the check of that ID.
func (t *Target) wants(check string) func(row string) bool {
	return func(row string) bool {
		matches := func(words []string) bool {
			return slices.Contains(words, row) || slices.Contains(words, check) || slices.Contains(words, stage(check))
		}
		return (len(t.Rows.Only) == 0 || matches(t.Rows.Only)) && !matches(t.Rows.Skip)
	}
}

// WithRows returns the checks with the IDs of the rows that are known before anything is asked: those of the smoke calls
// of the servers, and those of what baselines hold.
func WithRows(checks []Check, servers []config.Server, known []Baseline) []Check {
	checks = slices.Clone(checks)
	for i, c := range checks {
		var rows []string
		switch c.ID {
		case callSmokeID:
			for _, s := range servers {
				rows = append(rows, SmokeIDs(s)...)
			}
		case baselineID:
			for _, b := range known {
				rows = append(rows, b.rowIDs()...)
			}
		}
		slices.Sort(rows)
		checks[i].Rows = slices.Compact(rows)
	}
	return checks
}

// Wanted returns the IDs of the checks that are selected, without those that they need.
func Wanted(checks []Check, only, skip []string) []string {
	var ids []string
	for _, c := range checks {
		if c.selected(only, skip) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// named reports whether one of the words is the check's ID, or its stage.
func (c Check) named(words []string) bool {
	return slices.Contains(words, c.ID) || slices.Contains(words, c.Stage())
}

// hasRow reports whether one of the words is a row of the check that is known before.
func (c Check) hasRow(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(c.Rows, w) })
}

// selected reports whether a check is wanted. One that makes rows is if any of them is.
func (c Check) selected(only, skip []string) bool {
	if len(only) > 0 && !c.named(only) && !c.hasRow(only) || c.named(skip) {
		return false
	}
	left := func(row string) bool {
		return !slices.Contains(skip, row) && (len(only) == 0 || c.named(only) || slices.Contains(only, row))
	}
	return !c.hasRow(skip) || c.ID == baselineID || slices.ContainsFunc(c.Rows, left) // what is new to a baseline is not known before
}

// CheckOf returns the ID of the check that makes the row of an ID, which is the same for most: an ID that looks like none of
// a check is that of a row, if a check of its stage makes many. Any other ID is returned as it is.
func CheckOf(id string) string {
	var of string
	for _, c := range Checks() {
		if c.ID == id {
			return id
		}
		if c.Each != nil && c.Stage() == stage(id) && stage(id) != id {
			of = c.ID
		}
	}
	if of == "" || len(Near(Checks(), id)) > 0 {
		return id
	}
	return of
}

// Near returns the IDs and stages of checks, and of their rows, that are like a word.
func Near(checks []Check, word string) []string {
	var names []string
	for _, c := range checks {
		names = append(names, c.ID)
		names = append(names, c.Rows...)
		if !slices.Contains(names, c.Stage()) {
			names = append(names, c.Stage())
		}
	}
	if strings.Contains(word, ".") {
		names = slices.DeleteFunc(names, func(n string) bool { return !strings.Contains(n, ".") })
	}
	return config.Near(word, names)
}
