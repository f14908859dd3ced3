package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// Error is what is wrong with a configuration file, with one entry of it, or with a Server built from flags. It never
// holds the value of a header, a variable or a URL, which may be secret.
type Error struct {
	// File is the file as it was named to Parse or Load, "" for values that come from no file.
	File string
	// Line and Column count from 1; 0 means not known.
	Line, Column int
	// Server is the entry concerned, "" when the whole file is.
	Server string
	// Key is the key concerned, with the keys above it inside the entry: "connect_timeout", "headers.Authorization",
	// "args[1]". It may be "".
	Key string
	// Message says what is wrong.
	Message string
	// Hint is the next step, "" for none.
	Hint string
	// Err is the cause, if there is one below, such as a missing permission.
	Err error
}

// Error returns everything in one line: config.yaml:7:3: server "notes": key "timeout": 0: must be more than zero.
func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(displayName(e.File))
		if e.Line > 0 {
			b.WriteString(":" + strconv.Itoa(e.Line))
			if e.Column > 0 {
				b.WriteString(":" + strconv.Itoa(e.Column))
			}
		}
		b.WriteString(": ")
	}
	if e.Server != "" {
		fmt.Fprintf(&b, "server %q: ", e.Server)
	}
	if e.Key != "" {
		fmt.Fprintf(&b, "key %q: ", e.Key)
	}
	b.WriteString(e.Message)
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// NotFoundError says that the configuration has no server of that name.
type NotFoundError struct {
	Name string
	// Near are the names most like it, the nearest first. It is nil when nothing is close.
	Near []string
}

// Error returns the name and what may have been meant.
func (e *NotFoundError) Error() string {
	text := fmt.Sprintf("no server %q", e.Name)
	if hint := didYouMean(e.Near); hint != "" {
		text += "; " + hint
	}
	return text
}

// NotFound returns the error for a name that the configuration lacks, with the names that are near.
func (c *Config) NotFound(name string) *NotFoundError {
	names := make([]string, len(c.Servers))
	for i, s := range c.Servers {
		names[i] = s.Name
	}
	return &NotFoundError{Name: name, Near: Near(name, names)}
}

// didYouMean returns the question, or "" when nothing is near.
func didYouMean(near []string) string {
	if len(near) == 0 {
		return ""
	}
	quoted := make([]string, len(near))
	for i, n := range near {
		quoted[i] = strconv.Quote(n)
	}
	return "did you mean " + strings.Join(quoted, " or ") + "?"
}

// fileError returns the error of an operation on a file, the path once and the cause still found by errors.Is.
func fileError(path, message string, err error) *Error {
	var pathErr *fs.PathError
	var linkErr *os.LinkError
	switch {
	case errors.As(err, &pathErr):
		err = pathErr.Err
	case errors.As(err, &linkErr):
		err = linkErr.Err
	}
	return &Error{File: path, Message: message, Err: err}
}

// displayName returns how a file is called in messages.
func displayName(file string) string {
	if file == "-" {
		return "standard input"
	}
	return file
}
