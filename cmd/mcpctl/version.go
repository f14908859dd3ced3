package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

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
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = new(debug.BuildInfo)
	}
	return build{version: version, commit: commit, date: date}.complete(info)
}

// complete fills in what is missing from what the toolchain recorded.
func (b build) complete(info *debug.BuildInfo) build {
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
		if commit, at := pseudoVersion(b.version); b.commit == "" {
			b.commit, b.date = commit, cmp.Or(b.date, at)
		}
	}
	if b.version == "" {
		b.version = "dev"
	}
	return b
}

// pseudoVersion returns the commit and the time in a version that the toolchain has made for a commit without a tag, "" for
// others. A program that go install has fetched knows nothing else of its commit. See
// https://go.dev/ref/mod#pseudo-versions.
func pseudoVersion(version string) (commit, date string) {
	const stamp = "20060102150405"
	version, _, _ = strings.Cut(version, "+")
	before, commit, ok := cutLast(version, "-")
	if !ok || len(commit) != 12 || len(before) < len(stamp) {
		return "", ""
	}
	at, err := time.Parse(stamp, before[len(before)-len(stamp):])
	if err != nil {
		return "", ""
	}
	return commit, at.Format(time.RFC3339)
}

// cutLast cuts a text around the last separator.
func cutLast(text, separator string) (before, after string, found bool) {
	if i := strings.LastIndex(text, separator); i >= 0 {
		return text[:i], text[i+len(separator):], true
	}
	return text, "", false
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
		Short: "Show the version, and the supported protocol versions",
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
