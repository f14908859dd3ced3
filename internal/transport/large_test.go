package transport

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// TestALargeResultIsNotForTheSDK keeps what the exchange gets byte for byte, and gives the SDK a stub; what the SDK acts on it
// gets whole.
func TestALargeResultIsNotForTheSDK(t *testing.T) {
	large := strings.Repeat("x", largeResult)
	for _, c := range []struct {
		method, result string
		stub           bool
	}{
		{"tools/call", `{"content":[{"type":"text","text":"` + large + `"}]}`, true},
		{"tools/call", `{"resultType":"complete","content":"` + large + `"}`, true},
		{"tools/call", `{"resultType":"input_required","inputRequests":"` + large + `"}`, false},
		{"tools/list", `{"tools":[{"name":"` + large + `"}]}`, false},
		{"tools/call", `{"content":[]}`, false},
	} {
		request := envelope{ID: []byte("7")}
		data := []byte(`{"jsonrpc":"2.0","id":"7","result":` + c.result + `}`)
		e, ok := parseEnvelope(data)
		if !ok {
			t.Fatal("no message")
		}
		_, ex := WithExchange(t.Context())
		ex.begin(c.method)
		ex.answer(e)
		got := forSDK(data, e, request, ex)
		if stub := string(got) == `{"jsonrpc":"2.0","result":{},"id":7}`; stub != c.stub {
			t.Errorf("%s %.40s: the SDK gets %.60s", c.method, c.result, got)
		}
		if sent, ok := parseEnvelope(got); !ok || string(sent.ID) != "7" {
			t.Errorf("%s: the SDK gets the id %s", c.method, sent.ID)
		}
		if string(ex.State().Result) != c.result {
			t.Errorf("%s: another result is kept", c.method)
		}
	}
}

// TestABodyIsReadToItsLimit reads with the length announced and without.
func TestABodyIsReadToItsLimit(t *testing.T) {
	const limit = 100_000
	for _, size := range []int{0, 1, limit - 1, limit, limit + 1} {
		text := bytes.Repeat([]byte("x"), size)
		for _, length := range []int64{-1, int64(size)} {
			got, err := readWhole(bytes.NewReader(text), length, limit)
			if tooLarge := size > limit; errors.Is(err, errTooLarge) != tooLarge || !tooLarge && (err != nil || !bytes.Equal(got, text)) {
				t.Errorf("%d bytes, %d announced: %d bytes, %v", size, length, len(got), err)
			}
		}
	}
	if _, err := readWhole(io.MultiReader(strings.NewReader("half"), brokenReader{}), -1, limit); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a body that breaks off: %v", err)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
