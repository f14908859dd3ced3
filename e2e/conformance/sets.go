package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// release is one of the suite.
type release string

// The releases that package.json pins.
const (
	stable release = "0.1.16"
	alpha  release = "0.2.0-alpha.12"
)

// The versions of the protocol for which the suite can be run. legacy is what scenarios are run at that have no version of
// their own.
const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

// pair is a scenario at a version of the protocol: what is run once, however many sets it is in.
type pair struct {
	release  release
	scenario string
	// version is "" for a release that does not tell the client one.
	version string
}

// set is a part of the suite, as its own flags choose it.
type set struct {
	name  string
	pairs []pair
}

// sets asks the suite for its scenarios and returns the sets, with all pairs that are in them.
func (s *suite) sets(ctx context.Context) (sets []set, pairs []pair, err error) {
	add := func(name string, r release, scenarios []listed, version func(listed) string) {
		one := set{name: name}
		for _, l := range scenarios {
			p := pair{release: r, scenario: l.name}
			if version != nil {
				p.version = version(l)
			}
			one.pairs = append(one.pairs, p)
			if !slices.Contains(pairs, p) {
				pairs = append(pairs, p)
			}
		}
		sets = append(sets, one)
	}
	// Each list is a start of Node, so all are asked for at once.
	first, all := s.asked(ctx, stable), s.asked(ctx, alpha)
	versions := []string{modern, legacy}
	var some, required []func() ([]listed, error)
	for _, version := range versions {
		some = append(some, s.asked(ctx, alpha, "--spec-version", version))
		required = append(required, s.asked(ctx, alpha, "--requirements", version))
	}

	list, err := first()
	if err != nil {
		return nil, nil, err
	}
	add(string(stable)+", all", stable, list, nil)
	if list, err = all(); err != nil {
		return nil, nil, err
	}
	add(string(alpha)+", all", alpha, list, listed.version)
	for i, version := range versions {
		if list, err = some[i](); err != nil {
			return nil, nil, err
		}
		add(string(alpha)+", --spec-version "+version, alpha, list, func(listed) string { return version })
	}
	for i, version := range versions {
		if list, err = required[i](); err != nil {
			return nil, nil, err
		}
		scored := slices.DeleteFunc(slices.Clone(list), func(l listed) bool { return l.unscored })
		add(string(alpha)+", --requirements "+version, alpha, scored, func(listed) string { return version })
		unscored := slices.DeleteFunc(list, func(l listed) bool { return !l.unscored })
		add("  what that runs beside and does not score", alpha, unscored, func(listed) string { return version })
	}
	return sets, pairs, nil
}

// asked asks for a list, and returns what waits for it.
func (s *suite) asked(ctx context.Context, r release, flags ...string) func() ([]listed, error) {
	var found []listed
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		found, err = s.list(ctx, r, flags...)
	}()
	return func() ([]listed, error) {
		<-done
		return found, err
	}
}

// listed is a scenario in a list of the suite's.
type listed struct {
	name string
	// versions are those of the protocol to which it applies, "extension" for one that belongs to none, and nothing where
	// the list does not say.
	versions []string
	// unscored is set in a list of requirements for what is run and not required.
	unscored bool
}

// version is the one at which the suite runs a scenario when it is not told another.
func (l listed) version() string {
	if len(l.versions) > 0 && l.versions[0] == modern {
		return modern
	}
	return legacy
}

// listLine is a line of a list: "  - NAME [VERSION,…]", or in a list of requirements "  - NAME" and "    - NAME [client]".
var listLine = regexp.MustCompile(`^ +- (\S+)(?: \[(\S+)\])?$`)

// list returns the scenarios for clients.
func (s *suite) list(ctx context.Context, r release, flags ...string) ([]listed, error) {
	args := append([]string{"list", "--client"}, flags...)
	out, err := s.command(ctx, r, args...).Output()
	if err != nil {
		return nil, fmt.Errorf("the suite %s: %s: %w", r, strings.Join(args, " "), err)
	}
	var found []listed
	part := ""
	for line := range strings.Lines(string(out)) {
		line = strings.TrimRight(line, "\r\n")
		m := listLine.FindStringSubmatch(line)
		if m == nil {
			if line != "" && !strings.HasPrefix(line, " ") {
				part = line
			}
			continue
		}
		l := listed{name: m[1]}
		switch {
		case strings.HasPrefix(part, "Client scenarios"):
			if m[2] != "" {
				l.versions = strings.Split(m[2], ",")
			}
		case strings.HasPrefix(part, "Run and reported") && m[2] == "client":
			l.unscored = true
		default:
			continue // what is for servers
		}
		found = append(found, l)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("the suite %s: %s: there is no scenario in the list: %q", r, strings.Join(args, " "), out)
	}
	return found, nil
}
