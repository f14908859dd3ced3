package toolargs

import (
	"strings"
	"unicode"
)

// near returns the one of names that was most likely meant by name, "" if none is likely.
func near(name string, names []string) string {
	want := fold(name)
	for _, n := range names {
		if fold(n) == want {
			return n
		}
	}
	best, least := "", len([]rune(want))/3+1 // a third of the letters wrong is a typo; more is another word
	if len([]rune(want)) <= 2 {
		least = 1 // of two letters any other name is one letter away
	}
	for _, n := range names {
		if d := distance(want, fold(n), least); d < least {
			best, least = n, d
		}
	}
	if best != "" {
		return best
	}
	// An abbreviation that only one name can stand for.
	for _, n := range names {
		if len(want) >= 3 && (strings.HasPrefix(fold(n), want) || strings.HasSuffix(fold(n), want)) {
			if best != "" {
				return ""
			}
			best = n
		}
	}
	return best
}

// fold makes max-items, max_items and maxItems the same name.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// distance is the number of letters to insert, drop, replace or swap with a neighbour to get from a to b, or bound if
// it is at least that.
func distance(a, b string, bound int) int {
	s, t := []rune(a), []rune(b)
	if len(s)-len(t) >= bound || len(t)-len(s) >= bound {
		return bound
	}
	var before []int
	row := make([]int, len(t)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(s); i++ {
		next := make([]int, len(t)+1)
		next[0] = i
		for j := 1; j <= len(t); j++ {
			cost := 1
			if s[i-1] == t[j-1] {
				cost = 0
			}
			next[j] = min(row[j]+1, next[j-1]+1, row[j-1]+cost)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row = row, next
	}
	return min(row[len(t)], bound)
}
