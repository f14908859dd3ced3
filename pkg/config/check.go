package config

import (
	"cmp"
	"errors"
	"slices"
)

// Check reads a file's contents as [Parse] does and returns everything that is wrong with it, in the order of the
// lines: what concerns the file, and what concerns one entry alone. The Config holds what could be read; it is nil when
// nothing could, as with a mistake in the syntax. Files of other clients are checked, too.
func Check(name string, data []byte) (*Config, []*Error) {
	root, format, err := parseAny(name, data)
	var cfg *Config
	switch {
	case err != nil:
	case format != nil:
		cfg, err = readForeign(name, root, *format)
	default:
		cfg, err = readAsFarAsGoes(name, root)
	}
	problems := flatten(err)
	if cfg != nil {
		for _, s := range cfg.Servers {
			problems = append(problems, flatten(s.Err)...)
		}
	}
	slices.SortStableFunc(problems, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return cfg, problems
}

// flatten returns the single errors of a joined one.
func flatten(err error) []*Error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []*Error
		for _, e := range joined.Unwrap() {
			all = append(all, flatten(e)...)
		}
		return all
	}
	if one, ok := errors.AsType[*Error](err); ok {
		return []*Error{one}
	}
	return []*Error{{Message: err.Error()}}
}
