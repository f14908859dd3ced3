package main

import (
	"runtime/debug"
	"testing"
)

// TestBuildSaysWhatIsKnown gives each way of building what it leaves in the binary.
func TestBuildSaysWhatIsKnown(t *testing.T) {
	t.Parallel()
	const revision = "0123456789abcdef0123456789abcdef01234567"
	vcs := []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: revision}, {Key: "vcs.time", Value: "2026-11-30T15:12:12Z"}}
	for name, tt := range map[string]struct {
		linked   build
		main     string
		settings []debug.BuildSetting
		want     build
	}{
		"release":                        {build{version: "1.2.3", commit: "0123456789ab", date: "2026-11-30T15:12:12Z"}, "v1.2.3", vcs, build{version: "1.2.3", commit: "0123456789ab", date: "2026-11-30T15:12:12Z"}},
		"go build at a tag":              {build{}, "v1.2.3", vcs, build{version: "1.2.3", commit: revision, date: "2026-11-30T15:12:12Z"}},
		"go build between tags":          {build{}, "v1.2.4-0.20261130151212-0123456789ab+dirty", vcs, build{version: "1.2.4-0.20261130151212-0123456789ab+dirty", commit: revision, date: "2026-11-30T15:12:12Z"}},
		"go run":                         {build{}, "(devel)", nil, build{version: "dev"}},
		"go build without git":           {build{}, "", nil, build{version: "dev"}},
		"make build without git":         {build{}, "(devel)", nil, build{version: "dev"}},
		"go install of a tag":            {build{}, "v1.2.3", nil, build{version: "1.2.3"}},
		"go install of a prerelease":     {build{}, "v1.2.3-rc.1", nil, build{version: "1.2.3-rc.1"}},
		"go install of a commit":         {build{}, "v0.0.0-20261130151212-0123456789ab", nil, build{version: "0.0.0-20261130151212-0123456789ab", commit: "0123456789ab", date: "2026-11-30T15:12:12Z"}},
		"go install after a tag":         {build{}, "v1.2.4-0.20261130151212-0123456789ab", nil, build{version: "1.2.4-0.20261130151212-0123456789ab", commit: "0123456789ab", date: "2026-11-30T15:12:12Z"}},
		"what looks like one and is not": {build{}, "v1.2.3-12345678901234-abcdefabcdef", nil, build{version: "1.2.3-12345678901234-abcdefabcdef"}},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Path: "github.com/mcpctl/mcpctl", Version: tt.main}, Settings: tt.settings}
		if got := tt.linked.complete(info); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", name, got, tt.want)
		}
	}
}
