package render

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"

	"github.com/mcpctl/mcpctl/pkg/probe"
)

// How the reports of many servers are kept.
//
// What doctor writes begins with what is known at the end: how many servers passed. So all reports are kept until then. A
// report is forty results, most of whose fields are empty, with measurements in maps: twenty kilobytes. Those of a run are much
// alike, so each is kept as JSON that was compressed with another one as the dictionary, in half a kilobyte, and taken out
// again when its turn to be written comes.

const (
	// fewReports are kept as they are: there is nothing to be won, and the compressor takes a megabyte.
	fewReports = 16
	// dictionarySize is how much of a report is the dictionary of others; no match is found farther than 32 KiB back.
	dictionarySize = 16 << 10
	// packLevel is the first level of the compressor that looks into a dictionary. Higher ones take longer and win little.
	packLevel = 2
)

// Reports are the reports of one run, in the order of the servers. Nil has none. Put may be called by several goroutines at
// once, the rest when all reports are there.
type Reports struct {
	kept []kept

	mu         sync.Mutex
	text       bytes.Buffer
	packed     bytes.Buffer
	compressor *flate.Writer
	dictionary []byte
	expander   io.ReadCloser
}

// kept is a report: whole, or packed with the help of a dictionary.
type kept struct {
	whole              *probe.Report
	packed, dictionary []byte
	// What is asked of all reports at once is at hand.
	verdict    probe.Status
	incomplete bool
	// results counts the results by the rank of their status.
	results [5]int
}

// count returns how many results have one of these statuses.
func (k kept) count(statuses ...probe.Status) int {
	n := 0
	for _, s := range statuses {
		n += k.results[rank(s)]
	}
	return n
}

// NewReports returns room for the reports of n servers.
func NewReports(n int) *Reports { return &Reports{kept: make([]kept, n)} }

// Put keeps the report of the server of a number, which must not be changed any more.
func (r *Reports) Put(i int, report probe.Report) {
	k := keep(report)
	if len(r.kept) > fewReports {
		r.pack(&k)
	}
	r.kept[i] = k
}

// keep keeps a report whole.
func keep(report probe.Report) kept {
	k := kept{whole: &report, verdict: report.Verdict, incomplete: report.Incomplete}
	for _, res := range report.Results {
		k.results[rank(res.Status)]++
	}
	return k
}

// pack takes less room for a report. One that would not come out as it went in stays whole.
func (r *Reports) pack(k *kept) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text.Reset()
	enc := json.NewEncoder(&r.text)
	enc.SetEscapeHTML(false) // data are written as they are encoded here
	// Bytes that are no UTF-8 would become the escape of U+FFFD, which nothing else is written as.
	if err := enc.Encode(k.whole); err != nil || bytes.Contains(r.text.Bytes(), []byte(`\ufffd`)) {
		return
	}
	text := r.text.Bytes()
	if len(r.dictionary) < dictionarySize/2 && len(text) > 2*len(r.dictionary) { // the first, or that of one that was not there
		r.dictionary = bytes.Clone(text[:min(len(text), dictionarySize)])
		r.compressor, _ = flate.NewWriterDict(&r.packed, packLevel, r.dictionary) // the level is one
	}
	r.packed.Reset()
	r.compressor.Reset(&r.packed)
	_, err := r.compressor.Write(text)
	if err != nil || r.compressor.Close() != nil {
		return
	}
	k.whole, k.packed, k.dictionary = nil, bytes.Clone(r.packed.Bytes()), r.dictionary
}

// Len is how many servers there are.
func (r *Reports) Len() int { return len(r.all()) }

// At returns the report of the server of a number. The data of its results may be [json.RawMessage] each.
func (r *Reports) At(i int) probe.Report {
	k := r.kept[i]
	if k.whole != nil {
		return *k.whole
	}
	report, err := r.unpack(k)
	if err != nil {
		panic(fmt.Sprintf("what was packed cannot be unpacked: %v", err))
	}
	return report
}

func (r *Reports) unpack(k kept) (probe.Report, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	packed := bytes.NewReader(k.packed)
	if again, ok := r.expander.(flate.Resetter); !ok {
		r.expander = flate.NewReaderDict(packed, k.dictionary)
	} else if err := again.Reset(packed, k.dictionary); err != nil {
		return probe.Report{}, err
	}
	r.text.Reset()
	if _, err := r.text.ReadFrom(r.expander); err != nil {
		return probe.Report{}, err
	}
	var doc struct {
		probe.Report
		Results []struct {
			probe.Result
			Data map[string]json.RawMessage
		}
	}
	if err := json.Unmarshal(r.text.Bytes(), &doc); err != nil {
		return probe.Report{}, err
	}
	report := doc.Report
	report.Results = make([]probe.Result, len(doc.Results))
	for i, res := range doc.Results {
		report.Results[i] = res.Result
		if res.Data != nil {
			report.Results[i].Data = make(map[string]any, len(res.Data))
			for key, value := range res.Data {
				report.Results[i].Data[key] = value
			}
		}
	}
	return report, nil
}

// All returns the reports in their order.
func (r *Reports) All() iter.Seq[probe.Report] { return r.with() }

// with returns the reports with one of these verdicts, or all if none is named, in their order.
func (r *Reports) with(verdicts ...probe.Status) iter.Seq[probe.Report] {
	return func(yield func(probe.Report) bool) {
		for i, k := range r.all() {
			if (len(verdicts) == 0 || slices.Contains(verdicts, k.verdict)) && !yield(r.At(i)) {
				return
			}
		}
	}
}

// First returns the number of the first server with this verdict, -1 if there is none.
func (r *Reports) First(verdict probe.Status) int {
	return slices.IndexFunc(r.all(), func(k kept) bool { return k.verdict == verdict })
}

func (r *Reports) all() []kept {
	if r == nil {
		return nil
	}
	return r.kept
}
