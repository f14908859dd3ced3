package config

import "path"

// Allows reports whether the filter lets the tool of that name through. A name that Include matches is allowed even
// if Exclude matches it too; with an Include that does not match, it is not; without Include, Exclude decides. The
// globs are those of path.Match; one that is malformed matches nothing (it is refused when the file is read).
func (f ToolFilter) Allows(name string) bool {
	if len(f.Include) > 0 {
		return matchesAny(f.Include, name)
	}
	return !matchesAny(f.Exclude, name)
}

func matchesAny(globs []string, name string) bool {
	for _, glob := range globs {
		if ok, err := path.Match(glob, name); err == nil && ok {
			return true
		}
	}
	return false
}
