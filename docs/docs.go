// Package docs holds the documents that the program itself can print. Whoever reads the repository and whoever asks the
// program see the same file.
package docs

import _ "embed"

//go:embed config.schema.json
var configSchema []byte

// ConfigSchema returns the JSON Schema (2020-12) of mcpctl's configuration file.
func ConfigSchema() []byte { return configSchema }
