package config_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/mcpctl/mcpctl/pkg/config"
)

func Example() {
	cfg, err := config.Parse("config.yaml", []byte(`
defaults:
  timeout: 1m
servers:
  search:
    url: https://search.example/mcp
    headers: {Authorization: "Bearer ${SEARCH_TOKEN}"}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	server, ok := cfg.Server("search")
	if !ok {
		fmt.Println(cfg.NotFound("search"))
		return
	}
	fmt.Println(server.Target())
	fmt.Println(server.Timeout, "from", server.Sources["timeout"])

	// The environment is always passed in.
	lookup := func(name string) (string, bool) { return "s3cret-" + name, true }
	expanded, secrets, err := server.Expand(config.Environment{Lookup: lookup, Home: "/home/me"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(expanded.Headers["Authorization"])
	fmt.Printf("%q\n", secrets)
	// Output:
	// https://search.example/mcp
	// 1m0s from default, config.yaml:3
	// Bearer s3cret-SEARCH_TOKEN
	// ["Bearer s3cret-SEARCH_TOKEN" "s3cret-SEARCH_TOKEN"]
}

func ExampleEdit() {
	dir, err := os.MkdirTemp("", "config")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "config.yaml")

	err = config.Edit(file, func(d *config.Document) error {
		return d.Add(config.Server{
			Name:    "notes",
			Command: "npx",
			Args:    []string{"-y", "@modelcontextprotocol/server-filesystem", "~/notes"},
			Env:     map[string]string{"NOTES_TOKEN": "${NOTES_TOKEN}"},
			Enabled: true,
		})
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(text))
	// Output:
	// version: 1
	// servers:
	//   notes:
	//     command: npx
	//     args: [-y, "@modelcontextprotocol/server-filesystem", ~/notes]
	//     env: {NOTES_TOKEN: "${NOTES_TOKEN}"}
}

func ExampleParseDuration() {
	for _, text := range []string{"2m", "30", "30000"} {
		d, err := config.ParseDuration(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(d)
	}
	// Output:
	// 2m0s
	// 30s
	// 30000: write 30s or 30000s
}
