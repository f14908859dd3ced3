package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// MaxSize is the largest configuration file that is read, in bytes. Hand-written files have kilobytes; more than this
// is the wrong file, and reading it would only use up memory.
const MaxSize = 64 << 20

// Load reads the configuration file at path. A file that does not exist is an empty configuration with its Path set.
// The error is an *Error for everything that is wrong with the file as a whole; what is wrong with one entry is in its
// Err.
func Load(path string) (*Config, error) {
	data, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &Config{Path: path}, nil
	}
	if err != nil {
		return nil, err
	}
	return Parse(path, data)
}

// LoadReader reads a configuration from r. The name, "-" for standard input, becomes its Path and appears in messages.
func LoadReader(name string, r io.Reader) (*Config, error) {
	data, err := readAll(name, r)
	if err != nil {
		return nil, err
	}
	return Parse(name, data)
}

// readFile returns the contents of the file at path. The error is an *Error.
func readFile(path string) ([]byte, error) {
	f, err := open(path)
	if err != nil {
		return nil, fileError(path, "cannot be read", err)
	}
	defer f.Close() //nolint:errcheck // only read from
	info, err := f.Stat()
	if err != nil {
		return nil, fileError(path, "cannot be read", err)
	}
	if info.IsDir() {
		return nil, &Error{File: path, Message: "is a directory", Hint: "name a file, such as " + filepath.Join(path, "config.yaml")}
	}
	return readAll(path, f)
}

// open is os.Open with patience on Windows, where it fails at the moment at which another process puts a new file in place.
func open(path string) (*os.File, error) {
	const sharingViolation = syscall.Errno(32) // ERROR_SHARING_VIOLATION
	const pause, attempts = 20 * time.Millisecond, 50
	f, err := os.Open(path)
	for range attempts {
		if runtime.GOOS != "windows" || !errors.Is(err, sharingViolation) {
			break
		}
		<-time.After(pause)
		f, err = os.Open(path)
	}
	return f, err
}

func readAll(name string, r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxSize+1))
	if err != nil {
		return nil, fileError(name, "cannot be read", err)
	}
	if len(data) > MaxSize {
		return nil, &Error{File: name, Message: fmt.Sprintf("is larger than %d MiB", MaxSize>>20), Hint: "this is not a configuration file"}
	}
	return data, nil
}
