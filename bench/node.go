package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// oldestNode is the oldest Node that runs all of the other tools.
const oldestNode = 24

// others are the tools of others, as npm ci --prefix bench installs them, and the Node that runs them.
type others struct {
	// missing says why there are none; all else is empty then.
	missing string
	modules string
	node    string
	// version is that of Node, versions are those of the packages.
	version  string
	versions map[string]string
}

// The packages, and their programs in them.
const (
	mcporter   = "mcporter"
	mcpc       = "@apify/mcpc"
	inspector  = "@modelcontextprotocol/inspector"
	everything = "@modelcontextprotocol/server-everything"
)

// programs are where the packages have their programs.
func programs() map[string]string {
	return map[string]string{
		mcporter:   "dist/cli.js",
		mcpc:       "bin/mcpc",
		inspector:  "clients/launcher/build/index.js",
		everything: "dist/index.js",
	}
}

// findOthers looks for them in a directory of modules.
func findOthers(ctx context.Context, modules string) (others, error) {
	o := others{modules: modules, versions: map[string]string{}}
	for name, program := range programs() {
		data, err := os.ReadFile(filepath.Join(modules, name, "package.json"))
		if err == nil {
			_, err = os.Stat(filepath.Join(modules, name, program))
		}
		if err != nil {
			return others{missing: name + " is not installed: npm ci --prefix bench"}, nil //nolint:nilerr // that is what it says
		}
		var about struct{ Version string }
		if err := json.Unmarshal(data, &about); err != nil {
			return others{}, fmt.Errorf("%s: %w", name, err)
		}
		o.versions[name] = about.Version
	}
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	o.node = filepath.Join(modules, "node-"+runtime.GOOS+"-"+arch, "bin", "node")
	if _, err := os.Stat(o.node); err != nil {
		if o.node, err = exec.LookPath("node"); err != nil {
			return others{missing: "there is no node"}, nil //nolint:nilerr // that is what it says
		}
	}
	out, err := exec.CommandContext(ctx, o.node, "--version").Output()
	if err != nil {
		return others{}, fmt.Errorf("%s --version: %w", o.node, err)
	}
	o.version = strings.TrimPrefix(strings.TrimSpace(string(out)), "v")
	major, _, _ := strings.Cut(o.version, ".")
	if n, err := strconv.Atoi(major); err != nil || n < oldestNode {
		return others{missing: fmt.Sprintf("node is %s, and %d is wanted", o.version, oldestNode)}, nil //nolint:nilerr // that is what it says
	}
	return o, nil
}

// command is the command line of a package's program.
func (o others) command(name string, args ...string) []string {
	return append([]string{o.node, filepath.Join(o.modules, name, programs()[name])}, args...)
}

// path is the variable with which programs find this Node: one of the tools starts "node" by itself.
func (o others) path() string {
	return "PATH=" + filepath.Dir(o.node) + string(os.PathListSeparator) + os.Getenv("PATH")
}
