package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestSettleLeavesNothingToTimeAndChance has two runs of syft end in the same bytes.
func TestSettleLeavesNothingToTimeAndChance(t *testing.T) {
	t.Parallel()
	document := func(created, id, module string) []byte {
		return []byte(`{"spdxVersion":"SPDX-2.3","documentNamespace":"https://example.com/mcpctl-` + id + `","creationInfo":{"creators":["Tool: syft"],"created":"` +
			created + `"},"packages":[{"name":"` + module + `"}]}`)
	}
	settled := func(data []byte) []byte {
		t.Helper()
		data, err := settle(data, "mcpctl.tar.gz", "2026-01-02T03:04:05Z")
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	first := settled(document("2026-11-30T15:00:00Z", "1", "a"))
	if second := settled(document("2026-11-30T16:00:00Z", "2", "a")); !bytes.Equal(first, second) {
		t.Errorf("two runs differ:\n%s\n%s", first, second)
	}
	if other := settled(document("2026-11-30T15:00:00Z", "1", "b")); namespace(first) == namespace(other) {
		t.Errorf("two documents have one name: %s", namespace(first))
	}
	for _, want := range []string{`"created": "2026-01-02T03:04:05Z"`, `"Tool: syft"`, `"name": "a"`} {
		if !bytes.Contains(first, []byte(want)) {
			t.Errorf("%s is missing in\n%s", want, first)
		}
	}
	if _, err := settle([]byte(`{"creationInfo":{}}`), "", ""); err == nil {
		t.Error("what is no SPDX was taken for it")
	}
}

func namespace(document []byte) string {
	_, rest, _ := strings.Cut(string(document), `"documentNamespace": "`)
	name, _, _ := strings.Cut(rest, `"`)
	return name
}
