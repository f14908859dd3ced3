package config

import (
	"fmt"
	"strings"
	"testing"
)

// TestAllocationsOfAPlainEntry: a file of thousands of entries is read in no time only while each takes few allocations.
func TestAllocationsOfAPlainEntry(t *testing.T) {
	const n = 300
	var b strings.Builder
	b.WriteString("version: 1\nservers:\n")
	for i := range n {
		if i%3 == 0 {
			_, _ = fmt.Fprintf(&b, "  s%05d:\n    command: npx\n    args: [-y, \"@example/server-%d\", /srv/data]\n    env:\n      TOKEN: ${TOKEN_%d}\n", i, i, i)
		} else {
			_, _ = fmt.Fprintf(&b, "  s%05d:\n    url: https://host%d.example.com/mcp\n    headers:\n      Authorization: Bearer ${TOKEN}\n    connect_timeout: 10s\n", i, i)
		}
	}
	data := []byte(b.String())
	const most = 37 // 32, and some more in a build for the race detector
	each := testing.AllocsPerRun(5, func() {
		cfg, err := Parse("config.yaml", data)
		if err != nil || len(cfg.Servers) != n {
			t.Fatal(err)
		}
	}) / n
	if each > most {
		t.Errorf("%.1f allocations for each entry, want at most %d", each, most)
	}
	t.Logf("%.1f allocations for each entry", each)
}
