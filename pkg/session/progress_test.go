package session

import (
	"encoding/json"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// TestProgressIsToldByOneAtATime, also when a server reports it on two streams at once: that of the answer, and that of the
// session.
func TestProgressIsToldByOneAtATime(t *testing.T) {
	t.Parallel()
	const each = 2000
	var within, together atomic.Int32
	told := 0
	var p progress
	params, done := p.expect(WithProgress(t.Context(), func(Progress) {
		if within.Add(1) > 1 {
			together.Add(1)
		}
		told++
		for range 20 {
			runtime.Gosched() // there is time for another
		}
		within.Add(-1)
	}), "tools/call", json.RawMessage(`{"name":"x"}`))
	var call struct {
		Meta struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(params, &call); err != nil {
		t.Fatal(err)
	}
	var streams sync.WaitGroup
	for range 2 {
		streams.Go(func() {
			for i := range each {
				p.hear(fmt.Appendf(nil, `{"progressToken":%s,"progress":%d}`, call.Meta.Token, i))
			}
		})
	}
	streams.Wait()
	if n := together.Load(); n > 0 || told != 2*each || done() != 2*each {
		t.Errorf("%d reports were told while another was, and %d of %d altogether", n, told, 2*each)
	}
}
