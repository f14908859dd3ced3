//go:build !unix

package config

import "errors"

func limitFiles() error { return errors.ErrUnsupported }
