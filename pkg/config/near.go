package config

import (
	"cmp"
	"slices"
	"strings"
)

const (
	// nearMost is how many suggestions a person reads before looking at the list instead.
	nearMost = 3
	// nearLongest bounds the work: longer words are no typing errors.
	nearLongest = 100
)

// Near returns the candidates most like name, the nearest first: those that differ only in case or separators, that
// begin with it or hold it, or that are a few typing errors away. It returns three at most, and nil when nothing is
// close.
func Near(name string, candidates []string) []string {
	type scored struct {
		name  string
		score int
	}
	var found []scored
	word := plainWord(name)
	if len(word) == 0 || len(word) > nearLongest {
		return nil
	}
	for _, candidate := range candidates {
		if score, ok := nearness(word, plainWord(candidate)); ok && candidate != name {
			found = append(found, scored{candidate, score})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return cmp.Compare(a.score, b.score) })
	var near []string
	for _, f := range found {
		if f.score > 0 && found[0].score == 0 {
			// The same word in another spelling leaves no doubt.
			break
		}
		if len(near) < nearMost && !slices.Contains(near, f.name) {
			near = append(near, f.name)
		}
	}
	return near
}

// plainWord returns s without what people get wrong most: case and separators.
func plainWord(s string) []rune {
	s = strings.NewReplacer("-", "", "_", "", ".", "", " ", "").Replace(strings.ToLower(s))
	return []rune(s)
}

// nearness says whether b is close to a, and how: 0 is the same word, more is further.
func nearness(a, b []rune) (int, bool) {
	if len(b) == 0 || len(b) > nearLongest {
		return 0, false
	}
	distance := editDistance(a, b)
	// One error in a short word, one in three letters of a long one.
	if distance <= max(1, min(len(a), len(b))/3) && distance < max(len(a), len(b)) {
		return distance, true
	}
	// A part counts when it is long enough not to be found in everything.
	short, long := string(a), string(b)
	if len(a) > len(b) {
		short, long = long, short
	}
	switch {
	case min(len(a), len(b)) >= 2 && strings.HasPrefix(long, short):
		return 10 + distance, true
	case min(len(a), len(b)) >= 3 && strings.Contains(long, short):
		return 20 + distance, true
	}
	return 0, false
}

// editDistance counts the letters to insert, delete, replace or swap with their neighbour to turn a into b.
func editDistance(a, b []rune) int {
	before, previous := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := range a {
		current := make([]int, len(b)+1)
		current[0] = i + 1
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			current[j+1] = min(previous[j+1]+1, current[j]+1, previous[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				current[j+1] = min(current[j+1], before[j-1]+1)
			}
		}
		before, previous = previous, current
	}
	return previous[len(b)]
}
