package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
)

// build says which mcpctl this is.
type build struct {
	version string
	commit  string
	date    string
	sdk     string
}

const (
	sdkModule = "github.com/modelcontextprotocol/go-sdk"
	// develVersion is what the toolchain calls a build that is no release.
	develVersion = "(devel)"
)

// readBuild returns what the linker was told, and the rest from what the toolchain recorded in the binary.
func readBuild(version, commit, date string) build {
	b := build{version: version, commit: commit, date: date}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = new(debug.BuildInfo)
	}
	for _, dep := range info.Deps {
		if dep.Path == sdkModule {
			b.sdk = dep.Version
		}
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && b.commit == "":
			b.commit = s.Value
		case s.Key == "vcs.time" && b.date == "":
			b.date = s.Value
		}
	}
	if b.version == "" && info.Main.Version != develVersion {
		b.version = strings.TrimPrefix(info.Main.Version, "v")
	}
	if b.version == "" {
		b.version = "dev"
	}
	return b
}

// versionDocument is the output of version.
type versionDocument struct {
	Version          int      `json:"version"`
	Mcpctl           string   `json:"mcpctl"`
	Commit           string   `json:"commit"`
	Date             string   `json:"date,omitempty"`
	Go               string   `json:"go"`
	GoSDK            string   `json:"go_sdk"`
	Platform         string   `json:"platform"`
	ProtocolVersions []string `json:"protocol_versions"`
}

func newVersionCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the version, and the protocol versions it speaks",
		Args:  noArgs,
		Example: `  mcpctl version
  mcpctl version --jq .mcpctl`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.showVersion(cmd) },
	}
}

func (a *app) showVersion(cmd *cobra.Command) error {
	doc := versionDocument{
		Version:          documentVersion,
		Mcpctl:           a.build.version,
		Commit:           a.build.commit,
		Date:             a.build.date,
		Go:               strings.TrimPrefix(runtime.Version(), "go"),
		GoSDK:            strings.TrimPrefix(a.build.sdk, "v"),
		Platform:         runtime.GOOS + "/" + runtime.GOARCH,
		ProtocolVersions: mcp.SupportedProtocolVersions(),
	}
	if a.json() {
		return a.print(cmd.Context(), doc)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "mcpctl %s", doc.Mcpctl)
	if doc.Commit != "" {
		fmt.Fprintf(&b, " (%.12s", doc.Commit)
		if doc.Date != "" {
			fmt.Fprintf(&b, ", %s", doc.Date)
		}
		b.WriteString(")")
	}
	fmt.Fprintf(&b, "\ngo %s, go-sdk %s, %s\n", doc.Go, doc.GoSDK, doc.Platform)
	fmt.Fprintf(&b, "MCP %s\n", strings.Join(doc.ProtocolVersions, ", "))
	_, err := io.WriteString(a.io.Out, b.String())
	return err
}
