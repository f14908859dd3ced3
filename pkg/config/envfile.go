package config

import (
	"fmt"
	"path/filepath"
	"strings"
)

// readEnvFile returns the variables of a file with a NAME=value in each line. Values may stand in quotes; # begins a
// comment, and export may stand before the name. Nothing in a value is replaced.
func readEnvFile(path string) (map[string]string, error) {
	lines, err := readEnvLines(path)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, l := range lines {
		found[l.name] = l.value
	}
	return found, nil
}

// envLine is a variable in a file of them.
type envLine struct {
	name, value string
	line        int
}

// readEnvLines returns the variables of a file in its order, one that is set twice twice.
func readEnvLines(path string) ([]envLine, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	var found []envLine
	text := strings.TrimPrefix(string(data), byteOrderMark)
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		name = strings.TrimSpace(name)
		if !ok || !validEnvName(name) || strings.ContainsRune(value, 0) {
			return nil, &Error{File: path, Line: i + 1, Message: "is not NAME=value", Hint: "write one variable in each line"}
		}
		found = append(found, envLine{name, envValue(strings.TrimSpace(value)), i + 1})
	}
	return found, nil
}

// envValue returns a value without its quotes, or without the comment after it.
func envValue(value string) string {
	if len(value) > 1 && (value[0] == '"' || value[0] == '\'') {
		if end := strings.IndexByte(value[1:], value[0]); end >= 0 {
			inner := value[1 : end+1]
			if value[0] == '"' {
				inner = strings.ReplaceAll(inner, `\n`, "\n")
			}
			return inner
		}
	}
	if before, _, comment := strings.Cut(value, " #"); comment {
		value = strings.TrimSpace(before)
	}
	return value
}

// expandEnvFile adds the variables of the file that another client's entry names.
func (x *expansion) expandEnvFile(out *Server, f *Foreign) {
	if f == nil || f.EnvFile == "" {
		return
	}
	unknown := len(x.unset) + len(x.errs)
	path := x.withHome(placedText{key: "envFile", value: f.EnvFile})
	if path == "" || len(x.unset)+len(x.errs) > unknown {
		return // a part of the path is missing, and the rest is that of another file
	}
	if !filepath.IsAbs(path) && f.Project != "" {
		path = filepath.Join(f.Project, path)
	}
	found, err := readEnvFile(path)
	if err != nil {
		x.fail("envFile", fmt.Sprint(err))
		return
	}
	if out.Env == nil {
		out.Env = map[string]string{}
	}
	for _, name := range sortedNames(found) {
		if _, own := out.Env[name]; own {
			continue
		}
		out.Env[name] = found[name]
		x.secret(found[name])
	}
}
