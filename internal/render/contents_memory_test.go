package render

import (
	"runtime"
	"strings"
	"testing"
)

// TestContentsAreNotCopied holds what it takes to read a large text: the text itself, and little beside it.
func TestContentsAreNotCopied(t *testing.T) {
	const size = 8 << 20
	raw := []byte(`{"contents":[{"uri":"a://b","text":"` + strings.Repeat("x", size) + `"}]}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c, err := ParseContents(raw)
	runtime.ReadMemStats(&after)
	if err != nil || c.Len() != 1 || len(c.items[0].data) != size {
		t.Fatal(c, err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 2*size+size/4 {
		t.Errorf("%d MiB for a text of %d", took>>20, size>>20)
	}
}
