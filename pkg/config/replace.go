package config

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrChanged says that a file is no longer what it was when somebody began to work on it.
var ErrChanged = errors.New("the file has changed in the meantime")

// Content returns the bytes of a file that is to be edited as a whole, nil if it does not exist.
func Content(path string) ([]byte, error) {
	data, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// Replace puts data in place of the contents of the file at path, under the lock and with the guarantees of [Edit]. The
// file must still hold what old holds, nil or nothing for one that does not exist; otherwise it stays as it is and the
// error is [ErrChanged]. Data that cannot be parsed is not written; what is wrong inside one entry does not hinder.
func Replace(ctx context.Context, path string, old, data []byte) (err error) {
	cfg, err := Parse(path, data)
	if err != nil {
		return err
	}
	if err := cfg.Editable(); err != nil {
		return err
	}
	target, err := followLinks(path)
	if err != nil {
		return fileError(path, "cannot be found", err)
	}
	made, err := makeDir(filepath.Dir(target))
	defer func() {
		if err != nil {
			for _, dir := range made {
				_ = os.Remove(dir) // only empty ones go
			}
		}
	}()
	if err != nil {
		return fileError(path, "cannot make its directory", err)
	}
	unlock, err := lock(ctx, path, target, lockWait)
	if err != nil {
		return err
	}
	defer unlock()
	now, err := readForEdit(path, target)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, old) {
		return ErrChanged
	}
	return replaceFile(path, target, now, data, privateMode)
}
