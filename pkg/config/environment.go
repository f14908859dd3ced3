package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Environment is where the references in an entry get their values from. Nothing of it is used before an entry is
// expanded. The zero value knows nothing: every reference without a default is reported as missing.
type Environment struct {
	// Lookup returns the value of a variable for ${NAME}, and whether it is set, as [os.LookupEnv] does. If nil, none is
	// set.
	Lookup func(name string) (string, bool)
	// Home is the home directory, for a leading ~. With "" a ~ is an error.
	Home string
	// ReadFile returns what a file holds, for ${file:PATH}; [ReadValueFile] is meant for it. The path is relative only if
	// the entry's Dir is. The path that an [fs.PathError] repeats is left out of messages. If nil, files are not read, and
	// a reference to one is reported as missing.
	ReadFile func(path string) ([]byte, error)
	// Keyring returns a secret of the system's keyring, for ${keyring:SERVICE/USER}. It may have to ask a person, so
	// whoever provides it bounds its time. Its error is shown. If nil, a reference to the keyring is reported as missing.
	Keyring func(service, user string) (string, error)
}

// lookup is Lookup, which may be nil.
func (e Environment) lookup(name string) (string, bool) {
	if e.Lookup == nil {
		return "", false
	}
	return e.Lookup(name)
}

// MaxValueSize is the largest file that ${file:PATH} reads, in bytes. Tokens and keys have a few thousand; what is
// larger is the wrong file, and no server takes it as a header or a variable.
const MaxValueSize = 1 << 20

// ReadValueFile returns the contents of a file for ${file:PATH}. It wants a regular file of at most [MaxValueSize] bytes,
// so that it neither waits for the other end of a pipe nor reads a device for ever.
func ReadValueFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if err := regular(info); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read from
	data, err := io.ReadAll(io.LimitReader(f, MaxValueSize+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxValueSize {
		return nil, errTooLarge()
	}
	return data, nil
}

func errTooLarge() error { return fmt.Errorf("is larger than %d MiB", MaxValueSize>>20) }

// regular says why a file is none that holds a value.
func regular(info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsDir():
		return errors.New("is a directory")
	case mode&fs.ModeNamedPipe != 0:
		return errors.New("is a pipe, and must be a regular file")
	case !mode.IsRegular():
		return errors.New("is not a regular file")
	case info.Size() > MaxValueSize:
		return errTooLarge()
	}
	return nil
}

// outsideValue is what a reference to a file or to the keyring stands for, or why there is nothing.
type outsideValue struct{ text, why string }

// fromOutside returns the value of a reference to a file or to the keyring, which is read once for an entry.
func (x *expansion) fromOutside(p part) outsideValue {
	if value, ok := x.outside[p]; ok {
		return value
	}
	var value outsideValue
	if p.kind == KindFile {
		value = x.fromFile(p.name)
	} else {
		value = x.fromKeyring(p.name)
	}
	if value.why == "" && value.text == "" {
		value.why = "is empty"
	}
	if x.outside == nil {
		x.outside = map[part]outsideValue{}
	}
	x.outside[p] = value
	return value
}

// fromFile returns what a file holds, without the newline at its end.
func (x *expansion) fromFile(path string) outsideValue {
	if x.env.ReadFile == nil {
		return outsideValue{why: "no files are read here"}
	}
	name := path
	switch rest, home := strings.CutPrefix(path, "~"); {
	case home && (rest == "" || rest[0] == '/' || rest[0] == '\\'):
		if x.home == "" {
			return outsideValue{why: "the home directory that ~ stands for is not known; write the whole path"}
		}
		path = filepath.Join(x.home, rest)
	case !filepath.IsAbs(path):
		path = filepath.Join(x.dir, path)
	}
	data, err := x.env.ReadFile(path)
	if err != nil {
		if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
			err = pathErr.Err
		}
		if path != name {
			return outsideValue{why: path + ": " + err.Error()}
		}
		return outsideValue{why: err.Error()}
	}
	// An editor on Windows may have begun the file with a mark that nobody sees.
	text, cut := strings.CutSuffix(strings.TrimPrefix(string(data), byteOrderMark), "\n")
	if cut {
		text = strings.TrimSuffix(text, "\r")
	}
	return outsideValue{text: text}
}

// fromKeyring returns a secret of the keyring. A service may have a slash in its name, a user has none.
func (x *expansion) fromKeyring(name string) outsideValue {
	if x.env.Keyring == nil {
		return outsideValue{why: "no keyring is read here"}
	}
	slash := strings.LastIndex(name, "/")
	text, err := x.env.Keyring(name[:slash], name[slash+1:])
	if err != nil {
		return outsideValue{why: err.Error()}
	}
	return outsideValue{text: text}
}

// directoryOf returns the directory of a configuration file, "" for the working directory.
func directoryOf(file string) string {
	if dir := filepath.Dir(file); file != "-" && dir != "." {
		return dir
	}
	return ""
}
