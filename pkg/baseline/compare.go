package baseline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// Compare returns what changed between two offers of one server: the worst first, then by kind and name. The grades are those of a client that
// knows the first and meets the second.
func Compare(before, after Offer) []Change {
	var changes []Change
	for _, kind := range Kinds() {
		a, was := before[kind]
		b, is := after[kind]
		switch {
		case was && !is:
			changes = append(changes, Change{Kind: kind, Differences: []Difference{{
				Grade: Breaking, Words: gone(kind, a), Before: before.lists()[string(kind)],
			}}})
		case is && !was:
			changes = append(changes, Change{Kind: kind, Differences: []Difference{{
				Grade: Benign, Words: fmt.Sprintf("%s are offered now: %s", kind.Plural(), count(len(b), kind)), After: after.lists()[string(kind)],
			}}})
		case is:
			changes = append(changes, compareKind(kind, a, b)...)
		}
	}
	slices.SortStableFunc(changes, func(a, b Change) int { return cmp.Compare(b.Grade(), a.Grade()) })
	return changes
}

// gone says that a server offers nothing of a kind any more.
func gone(kind Kind, items map[string]any) string {
	text := fmt.Sprintf("the server offers no %s any more", kind.Plural())
	names := slices.Sorted(maps.Keys(items))
	const most = 5
	switch {
	case len(names) == 0:
		return text + "; its list was empty before"
	case len(names) > most:
		names = append(names[:most], "…")
	}
	return fmt.Sprintf("%s; %s before: %s", text, count(len(items), kind), Visible(strings.Join(names, ", ")))
}

func compareKind(kind Kind, before, after map[string]any) []Change {
	var changes []Change
	names := slices.Sorted(maps.Keys(before))
	for name := range maps.Keys(after) {
		if _, ok := before[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		a, was := before[name].(map[string]any)
		b, is := after[name].(map[string]any)
		c := Change{Kind: kind, Name: name}
		if was {
			c.Before = compact(a)
		}
		if is {
			c.After = compact(b)
		}
		switch {
		case !is:
			c.Differences = []Difference{{Grade: Breaking, Words: fmt.Sprintf("the %s %s was removed", kind.Noun(), shortName(name))}}
		case !was:
			c.Differences = []Difference{added(kind, name, names)}
		default:
			c.Differences = compareDefinitions(kind, a, b)
		}
		if len(c.Differences) > 0 {
			slices.SortStableFunc(c.Differences, func(a, b Difference) int { return cmp.Compare(b.Grade, a.Grade) })
			changes = append(changes, c)
		}
	}
	return changes
}

// added tells of something new. A name that looks like another, and is not, is how one thing is taken for the other.
func added(kind Kind, name string, names []string) Difference {
	d := Difference{Grade: Benign, Words: fmt.Sprintf("the %s %s was added", kind.Noun(), shortName(name))}
	var strange []string
	if unseen := hidden(nil, name); unseen != "" {
		strange = append(strange, "with characters that cannot be seen in its name: "+unseen)
	}
	for _, other := range names {
		if (kind == Tools || kind == Prompts) && other != name && silhouette(other) == silhouette(name) { // files may be called so
			strange = append(strange, "and its name looks like "+shortName(other))
			break
		}
	}
	if len(strange) > 0 {
		d.Grade = Risky
		d.Words += ", " + strings.Join(strange, ", ")
	}
	return d
}

// silhouette returns what a person in a hurry sees of a name: no blanks, nothing invisible, and no difference of case.
func silhouette(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || invisible(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// shortName shows a name, cut, and in quotes if its blanks would be overlooked.
func shortName(name string) string {
	const longest = 80
	name = cut(Visible(name), longest)
	if strings.Contains(name, " ") {
		return `"` + name + `"`
	}
	return name
}

// compareDefinitions compares two definitions key by key.
func compareDefinitions(kind Kind, before, after map[string]any) []Difference {
	var d []Difference
	for _, key := range keysOf(before, after) {
		a, b := before[key], after[key]
		switch {
		case equal(a, b):
		case kind == Tools && key == "inputSchema":
			d = append(d, compareInput(a, b)...)
		case kind == Tools && key == "outputSchema":
			d = append(d, compareOutput(a, b)...)
		case kind == Prompts && key == "arguments":
			d = append(d, compareArguments(a, b)...)
		case key == "annotations":
			d = append(d, compareAnnotations(a, b)...)
		case key == "size": // of a resource: it is data, and not a promise
			d = append(d, changed(Benign, key, key, a, b))
		default:
			d = append(d, changed(Risky, key, key, a, b))
		}
	}
	return d
}

// changed is a difference of which it is only known that there is one.
func changed(grade Grade, path, what string, before, after any) Difference {
	words := Visible(what) + " changed"
	switch {
	case before == nil:
		words = Visible(what) + " added"
	case after == nil:
		words = Visible(what) + " removed"
	}
	if names := hidden(before, after); names != "" {
		words += ", with characters that cannot be seen: " + names
	}
	return Difference{Grade: grade, Path: path, Words: words, Before: before, After: after}
}

// compareAnnotations compares what a definition says of itself: a hint that flips is what a person agreed to.
func compareAnnotations(before, after any) []Difference {
	a, isObject := before.(map[string]any)
	b, isObjectToo := after.(map[string]any)
	if before != nil && !isObject || after != nil && !isObjectToo {
		return []Difference{changed(Risky, "annotations", "annotations", before, after)}
	}
	var d []Difference
	for _, key := range keysOf(a, b) {
		if equal(a[key], b[key]) {
			continue
		}
		grade := Risky
		if key == "lastModified" { // it changes with the data
			grade = Benign
		}
		one := changed(grade, "annotations."+key, key, a[key], b[key])
		_, wasText := a[key].(string)
		if _, isText := b[key].(string); !wasText && !isText {
			one.Words = fmt.Sprintf("%s changed from %s to %s", Visible(key), shown(a[key]), shown(b[key]))
		}
		d = append(d, one)
	}
	return d
}

// compareArguments compares the arguments of a prompt.
func compareArguments(before, after any) []Difference {
	a, readable := arguments(before)
	b, readableToo := arguments(after)
	if !readable || !readableToo {
		return []Difference{changed(Risky, "arguments", "arguments", before, after)}
	}
	var d []Difference
	for _, name := range keysOf(a, b) {
		path, subject := "arguments."+name, "argument "+Visible(name)
		old, was := a[name].(map[string]any)
		now, is := b[name].(map[string]any)
		required := isTrue(now["required"])
		switch {
		case !is:
			d = append(d, Difference{Breaking, path, subject + " removed", old, nil})
			continue
		case !was && required:
			d = append(d, Difference{Breaking, path, "required " + subject + " added", nil, now})
			continue
		case !was:
			d = append(d, Difference{Benign, path, "optional " + subject + " added", nil, now})
			continue
		}
		for _, key := range keysOf(old, now) {
			wasRequired := isTrue(old["required"])
			switch {
			case key == "required" && required && !wasRequired:
				d = append(d, Difference{Breaking, path + ".required", subject + " is required now", wasRequired, required})
			case key == "required" && !required && wasRequired:
				d = append(d, Difference{Benign, path + ".required", subject + " is optional now", wasRequired, required})
			case key == "required", equal(old[key], now[key]):
			default:
				d = append(d, changed(Risky, path+"."+key, subject+": "+key, old[key], now[key]))
			}
		}
	}
	if len(d) == 0 { // the order, in which a person is asked
		d = append(d, Difference{Benign, "arguments", "the order of the arguments changed", before, after})
	}
	return d
}

// arguments returns the arguments of a prompt by name. It returns false for what cannot be told apart.
func arguments(value any) (map[string]any, bool) {
	out := map[string]any{}
	list, ok := value.([]any)
	if value != nil && !ok {
		return nil, false
	}
	for _, item := range list {
		object, _ := item.(map[string]any)
		name, ok := object["name"].(string)
		if _, twice := out[name]; !ok || twice {
			return nil, false
		}
		out[name] = item
	}
	return out, true
}

// keysOf returns the keys of two objects, sorted, each once.
func keysOf(a, b map[string]any) []string {
	keys := map[string]bool{}
	for k := range a {
		keys[k] = true
	}
	for k := range b {
		keys[k] = true
	}
	return slices.Sorted(maps.Keys(keys))
}
