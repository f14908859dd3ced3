// Package docs holds what of the documentation the program itself prints. The files here are the one source of it.
package docs

import _ "embed"

//go:embed config.schema.json
var configSchema []byte

// ConfigSchema returns the JSON Schema (draft 2020-12) of the configuration file.
func ConfigSchema() []byte { return append([]byte(nil), configSchema...) }
