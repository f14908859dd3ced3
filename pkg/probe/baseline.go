package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpctl/mcpctl/pkg/baseline"
	"github.com/mcpctl/mcpctl/pkg/session"
)

// Baseline is what a server must still offer.
type Baseline struct {
	Offer baseline.Offer
	// FailOn is the least grade of a change that fails. Of the others, risky ones are warnings.
	FailOn baseline.Grade
	// Name is what people call it: the name of a file.
	Name string
}

// Captured returns what the server offers, after [Run], if Capture was set. It returns false if that is not known in full.
func (t *Target) Captured() (baseline.Offer, bool) { return t.captured, t.captured != nil }

// rowIDs returns the IDs of the rows for what the baseline holds.
func (b Baseline) rowIDs() []string {
	ids := newBaselineIDs(b.Offer)
	return slices.Collect(maps.Values(ids.known))
}

// baselineIDs gives each thing that a server offers the ID of its row: first those of the baseline, so that an ID is known
// before the server is asked.
type baselineIDs struct {
	known map[thing]string
	taken uniqueIDs
}

// thing is one that a server offers.
type thing struct {
	kind baseline.Kind
	name string
}

func newBaselineIDs(offer baseline.Offer) *baselineIDs {
	ids := &baselineIDs{known: map[thing]string{}, taken: uniqueIDs{baselineID: true, baselineCompleteID: true}}
	for _, kind := range baseline.Kinds() {
		ids.taken["baseline."+string(kind)] = true
		for _, name := range slices.Sorted(maps.Keys(offer[kind])) {
			ids.of(kind, name)
		}
	}
	return ids
}

// of returns the ID for a thing, or for all of a kind if the name is "".
func (ids *baselineIDs) of(kind baseline.Kind, name string) string {
	if name == "" {
		return "baseline." + string(kind)
	}
	of := thing{kind, name}
	if ids.known[of] == "" {
		ids.known[of] = ids.taken.take("baseline." + strings.ReplaceAll(kind.Noun(), " ", "_") + "." + plainID(name))
	}
	return ids.known[of]
}

// offered is what a server offers, as far as that is known.
type offered struct {
	lists map[baseline.Kind][]json.RawMessage
	// unknown says of the kinds that could not be listed why not.
	unknown map[baseline.Kind]Finding
	// problems tell what was odd in the lists.
	problems []string
	// hidden are the kinds that are listed, and not announced.
	hidden map[baseline.Kind]bool
}

// offers asks what the server offers. What it does not announce is not offered, also if it is listed: a client that goes by
// what is announced never asks.
func (t *Target) offers(ctx context.Context) offered {
	o := offered{lists: map[baseline.Kind][]json.RawMessage{}, unknown: map[baseline.Kind]Finding{}, hidden: map[baseline.Kind]bool{}}
	for _, l := range []struct {
		kind      baseline.Kind
		method    string
		announced func(session.Info) bool
	}{
		{baseline.Tools, "tools/list", func(i session.Info) bool { return i.Capabilities.Tools != nil }},
		{baseline.Prompts, "prompts/list", func(i session.Info) bool { return i.Capabilities.Prompts != nil }},
		{baseline.Resources, "resources/list", func(i session.Info) bool { return i.Capabilities.Resources != nil }},
		{baseline.ResourceTemplates, "resources/templates/list", func(i session.Info) bool { return i.Capabilities.Resources != nil }},
	} {
		list, err := t.list(ctx, l.method)
		switch {
		case !announces(t, l.announced):
			o.hidden[l.kind] = len(list.Items) > 0
		case err != nil:
			f := failure(err)
			f.Status, f.Class = Unknown, ""
			f.Message = "not known: " + f.Message
			o.unknown[l.kind] = f
		case list.Unsupported:
		case list.Incomplete:
			o.unknown[l.kind] = Finding{
				Status: Unknown, Message: "not known: the list was cut short: " + strings.Join(list.Problems, "; "),
				Fix: "answer " + l.method + " as the specification says, with an array and a cursor that ends",
			}
		default:
			o.lists[l.kind] = list.Items
			for _, p := range list.Problems {
				o.problems = append(o.problems, l.method+": "+p)
			}
		}
	}
	return o
}

// capture keeps what the server offers, if it is known in full.
func (t *Target) capture(ctx context.Context) Finding {
	o := t.offers(ctx)
	for _, kind := range baseline.Kinds() {
		if f, ok := o.unknown[kind]; ok {
			f.Message = kind.Plural() + ": " + f.Message
			return f
		}
	}
	const fix = "mend the lists: what is kept has to be what the server offers"
	if len(o.problems) > 0 {
		f := Finding{Status: Fail, Class: "protocol", Message: o.problems[0], Fix: fix}
		f.Detail = strings.Join(o.problems, "\n")
		return f
	}
	offer, problems := baseline.NewOffer(o.lists, t.Mask)
	if len(problems) > 0 {
		return Finding{Status: Fail, Class: "protocol", Message: problems[0].Error(), Detail: problemLines(problems), Fix: fix}
	}
	t.captured = offer
	f := pass(offer.Counts())
	for _, kind := range baseline.Kinds() {
		if o.hidden[kind] {
			f.Message += fmt.Sprintf("; %s are listed, and not announced, and so they are left out", kind.Plural())
			f.Shown = true
		}
	}
	f.Data = map[string]any{}
	for kind, items := range offer {
		f.Data[string(kind)] = len(items)
	}
	return f
}

// compare compares what the server offers with the baseline, and returns a row for each change.
func (t *Target) compare(ctx context.Context) []Result {
	ids := newBaselineIDs(t.Baseline.Offer)
	wants := t.wants(baselineID)
	o := t.offers(ctx)
	before := maps.Clone(t.Baseline.Offer)
	after, problems := baseline.NewOffer(o.lists, t.Mask)
	var rows []Result
	for _, kind := range baseline.Kinds() {
		if f, ok := o.unknown[kind]; ok {
			delete(before, kind) // what is not known has not changed either
			rows = append(rows, Result{ID: ids.of(kind, ""), Title: kind.Plural() + " are as in the baseline", Finding: f})
		}
	}
	rows = append(rows, t.indistinct(ids, before, problems)...)
	whole := len(rows) == 0
	changes, told := baseline.Compare(before, after), map[string]bool{}
	for _, c := range changes {
		if c.Name == "" && o.hidden[c.Kind] {
			c.Differences[0].Words = c.Kind.Plural() + " are not announced any more, though they are still listed: most clients show none"
		}
		id := ids.of(c.Kind, c.Name)
		told[id] = true
		if c.Name != "" && !wants(id) { // a list that is gone as a whole concerns all that was in it
			continue
		}
		rows = append(rows, Result{ID: id, Title: changeTitle(c), Finding: t.Baseline.judge(c)})
	}
	if len(t.Rows.Only) > 0 { // those asked for by their IDs
		for _, kind := range baseline.Kinds() {
			for _, name := range slices.Sorted(maps.Keys(before[kind])) {
				if id := ids.of(kind, name); !told[id] && slices.Contains(t.Rows.Only, id) && wants(id) {
					c := baseline.Change{Kind: kind, Name: name}
					rows = append(rows, Result{ID: id, Title: changeTitle(c), Finding: pass("as in " + t.Baseline.Name)})
				}
			}
		}
	}
	if len(rows) == 0 || len(changes) == 0 && whole && wants(baselineID) {
		f := pass(fmt.Sprintf("%s, as in %s", after.Counts(), t.Baseline.Name))
		if len(changes) > 0 {
			f = pass("nothing else differs from " + t.Baseline.Name)
		}
		rows = append(rows, Result{ID: baselineID, Title: baselineTitle, Finding: f})
	}
	return rows
}

// indistinct returns a row for each kind of which some definitions cannot be compared, as it is not known which is which. Those
// of one name are taken out of what was there before: they are not gone.
func (t *Target) indistinct(ids *baselineIDs, before baseline.Offer, problems []baseline.Problem) []Result {
	of := map[baseline.Kind][]baseline.Problem{}
	for _, p := range problems {
		of[p.Kind] = append(of[p.Kind], p)
	}
	var rows []Result
	for _, kind := range baseline.Kinds() {
		if of[kind] == nil {
			continue
		}
		before[kind] = maps.Clone(before[kind])
		for _, p := range of[kind] {
			delete(before[kind], p.Name)
		}
		f := Finding{Status: Unknown, Message: "not compared: " + of[kind][0].Error(), Fix: "give each a name of its own"}
		if more := len(of[kind]) - 1; more > 0 {
			f.Message += fmt.Sprintf(", and %d more", more)
			f.Detail = problemLines(of[kind])
		}
		rows = append(rows, Result{ID: ids.of(kind, ""), Title: kind.Plural() + " are as in the baseline", Finding: f})
	}
	return rows
}

func problemLines(problems []baseline.Problem) string {
	var lines []string
	for _, p := range problems {
		lines = append(lines, p.Error())
	}
	return strings.Join(lines, "\n")
}

// changeTitle says what would be the case without a change.
func changeTitle(c baseline.Change) string {
	if c.Name == "" {
		return c.Kind.Plural() + " are as in the baseline"
	}
	return c.Kind.Noun() + " " + firstWords(baseline.Visible(c.Name)) + " is as in the baseline"
}

// judge makes the finding about a change.
func (b Baseline) judge(c baseline.Change) Finding {
	grade := c.Grade()
	name := b.Name
	f := Finding{Status: Pass, Message: c.Message(), Detail: strings.Join(c.Detail(), "\n")}
	// What is new is worth a look, but for resources: they are files, and come by hundreds.
	f.Shown = c.Before == nil && (c.Kind != baseline.Resources || c.Name == "")
	switch {
	case grade >= b.FailOn:
		f.Status, f.Class = Fail, "failed"
	case grade == baseline.Risky:
		f.Status = Warn
	}
	switch {
	case f.Status == Pass:
	case grade == baseline.Breaking:
		f.Fix = "find out why the server changed; to accept it: --write-baseline " + name
	default:
		f.Fix = "read the change before anybody uses the server; to accept it: --write-baseline " + name
	}
	differences := []map[string]any{}
	for _, d := range c.Differences {
		differences = append(differences, map[string]any{"grade": d.Grade.String(), "path": d.Path, "message": d.Words})
	}
	f.Data = map[string]any{"grade": grade.String(), "kind": c.Kind.Noun(), "differences": differences, "before": nil, "after": nil}
	if c.Name != "" {
		f.Data["name"] = c.Name
	}
	if c.Before != nil {
		f.Data["before"] = json.RawMessage(c.Before)
	}
	if c.After != nil {
		f.Data["after"] = json.RawMessage(c.After)
	}
	return f
}
