// Package toolargs turns the words of a command line into the JSON object that a tool is called with, guided by the
// tool's input schema, and says what is wrong with it in words a person can act on.
//
// [Build] makes the object and never consults the schema to refuse anything: what fits no allowed type stays text.
// [Check] compares the object with the schema. The two are apart so that a caller may skip the second and send what was
// written all the same. [Params], [Signature] and [Example] show a schema to people.
//
// Nothing here loses a digit of a number, follows a reference out of its document, or reads anything but what the
// [Source] it is given lets it read. Servers, sessions, flags and output never come in.
package toolargs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
)

// Source gives access to the files and the standard input that arguments may name.
type Source struct {
	// ReadFile reads a whole file. If nil, arguments that name a file are refused.
	ReadFile func(name string) ([]byte, error)
	// Stdin is what "@-" and "-" read, to its end. If nil, arguments that name it are refused.
	Stdin io.Reader
}

// MaxFile is how many bytes a file may have that an argument names, and standard input: 64 MiB, as many as a message may
// have that comes from a server. Something that never ends, such as /dev/zero, would take all memory.
const MaxFile = 64 << 20

// ReadAll reads what an argument names, to its end. More than [MaxFile] is an error, as any other a [*fs.PathError].
func ReadAll(name string, r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxFile+1))
	if err == nil && len(data) > MaxFile {
		err = &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("larger than %d MiB", MaxFile>>20)}
	}
	return data, err
}

// Cached returns a source that reads every file, and standard input, at most once and gives the same bytes again
// afterwards. Whoever builds the same words twice, for a stale schema and then for a fresh one, needs it: standard
// input and process substitutions (/dev/fd/63) have nothing left to give the second time. It is not safe for use by
// several goroutines at once.
func (s Source) Cached() Source {
	var kept Source
	if s.ReadFile != nil {
		type content struct {
			data []byte
			err  error
		}
		files := map[string]content{}
		kept.ReadFile = func(name string) ([]byte, error) {
			c, ok := files[name]
			if !ok {
				c.data, c.err = s.ReadFile(name)
				files[name] = c
			}
			return bytes.Clone(c.data), c.err
		}
	}
	if s.Stdin != nil {
		kept.Stdin = &replay{from: s.Stdin}
	}
	return kept
}

// A replay passes a reader on to its end, once, and then starts again from what it has passed on.
type replay struct {
	from io.Reader
	buf  []byte
	pos  int
	end  error // the error that ended the reader, nil before that
}

func (r *replay) Read(p []byte) (int, error) {
	if r.pos < len(r.buf) {
		n := copy(p, r.buf[r.pos:])
		r.pos += n
		return n, nil
	}
	if r.end != nil {
		r.pos = 0
		return 0, r.end
	}
	n, err := r.from.Read(p)
	r.buf = append(r.buf, p[:n]...)
	r.pos = len(r.buf)
	r.end = err
	if err != nil {
		r.pos = 0
	}
	return n, err
}

// Input is what a command line says about a tool's arguments.
type Input struct {
	// Words are the arguments as typed: key=value, key:=JSON, key=@FILE, key:=@FILE, a.b=1, list[]=x, or a whole JSON
	// object.
	Words []string
	// Args is the value of --args: a JSON object, @FILE, or "-" for standard input. "" means the flag was not given.
	Args string
	// Schema is the tool's inputSchema as the server sent it. It may be odd, null or missing; what cannot be understood
	// in it guides nothing.
	Schema json.RawMessage
	// Source gives access to the files and the standard input that the words name.
	Source Source
}

// UsageError says what is wrong with arguments. If several things are, Problems holds them one by one, and the other
// fields hold what all of them say together.
type UsageError struct {
	// Param is the parameter's name, or path ("filter.limit", "items[0].name"), "" if no single one is meant.
	Param string
	// Message is one line, lower case, without a full stop.
	Message string
	// Help is the parameter's line of help ("a  number (required)  First addend"), "" if it has none. Several lines if
	// several parameters are meant.
	Help string
	// Suggestion is one line about what to do ("did you mean message?", "write a=1000"), "" for none.
	Suggestion string
	// Correct is there if the mistake is a known habit from another tool: all the words, corrected, each one quoted for
	// a POSIX shell. The flags of the command, --args among them, are not in it.
	Correct []string
	// Problems are the single mistakes, if there are several.
	Problems []*UsageError
	// Err is the cause, if there is one below: a file that could not be read.
	Err error

	// missing means that the parameter is missing, and that this is all there is to say.
	missing bool
}

// Error returns the message.
func (e *UsageError) Error() string { return e.Message }

// Unwrap returns the cause and the single problems.
func (e *UsageError) Unwrap() []error {
	var errs []error
	if e.Err != nil {
		errs = append(errs, e.Err)
	}
	for _, p := range e.Problems {
		errs = append(errs, p)
	}
	return errs
}

// join makes one error of problems, of which there is at least one.
func join(problems []*UsageError) *UsageError {
	if len(problems) == 1 {
		return problems[0]
	}
	all := &UsageError{Problems: problems, Param: problems[0].Param}
	var messages, help, suggestions []string
	for _, p := range problems {
		if p.Param != all.Param {
			all.Param = ""
		}
		messages = add(messages, p.Message)
		help = add(help, p.Help)
		suggestions = add(suggestions, p.Suggestion)
	}
	all.Message = strings.Join(messages, "; ")
	all.Help = strings.Join(help, "\n")
	all.Suggestion = strings.Join(suggestions, "; ")
	return all
}

// add appends s to list unless it is empty or there already.
func add(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// noSource is the cause when an argument names a file or standard input and the [Source] has none to give.
func noSource(what string) error { return errors.New(what + " cannot be read here") }
