package latency

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func of(milliseconds ...int) *Times {
	t := &Times{}
	for _, ms := range milliseconds {
		t.Add(time.Duration(ms) * time.Millisecond)
	}
	return t
}

// TestNearestRank holds the percentiles of small samples, where most definitions differ, to the one by nearest rank.
func TestNearestRank(t *testing.T) {
	twenty := make([]int, 20)
	for i := range twenty {
		twenty[i] = 20 - i
	}
	hundred := make([]int, 100)
	for i := range hundred {
		hundred[i] = i + 1
	}
	for _, c := range []struct {
		in          []int
		p50, p95    int
		least, most int
	}{
		{[]int{7}, 7, 7, 7, 7},
		{[]int{9, 1}, 1, 9, 1, 9},
		{[]int{3, 1, 2}, 2, 3, 1, 3},
		{[]int{4, 3, 2, 1}, 2, 4, 1, 4},
		{[]int{15, 20, 35, 40, 50}, 35, 50, 15, 50},
		{twenty, 10, 19, 1, 20},
		{append([]int{21}, twenty...), 11, 20, 1, 21},
		{hundred, 50, 95, 1, 100},
		{[]int{5, 5, 5}, 5, 5, 5, 5},
	} {
		times := of(c.in...)
		got := [4]time.Duration{times.Percentile(50), times.Percentile(95), times.Min(), times.Max()}
		for i, want := range []int{c.p50, c.p95, c.least, c.most} {
			if got[i] != time.Duration(want)*time.Millisecond {
				t.Errorf("%v: median, p95, min, max are %v, want %d %d %d %d", c.in, got, c.p50, c.p95, c.least, c.most)
				break
			}
		}
		if got, want := times.Percentile(100), times.Max(); got != want {
			t.Errorf("%v: p100 is %v, want the longest, %v", c.in, got, want)
		}
		if times.Count() != len(c.in) {
			t.Errorf("%v: counts %d", c.in, times.Count())
		}
	}
}

func TestNone(t *testing.T) {
	var times Times
	if times.Count() != 0 || times.Min() != 0 || times.Max() != 0 || times.Percentile(50) != 0 || times.Rows() != nil {
		t.Errorf("none are %+v", times)
	}
}

// TestManyAreWithinTheError compares the percentiles of more times than are kept with the true ones, for times as they
// are: most alike, some long, a few a thousand times as long.
func TestManyAreWithinTheError(t *testing.T) {
	for seed := range uint64(5) {
		random := rand.New(rand.NewPCG(seed, 1))
		var times Times
		var all []time.Duration
		for range 50 * Kept {
			d := time.Duration(float64(300*time.Microsecond) * math.Exp(random.NormFloat64()))
			if random.IntN(100) == 0 {
				d *= 1000
			}
			times.Add(d)
			all = append(all, d)
		}
		slices.Sort(all)
		if times.Min() != all[0] || times.Max() != all[len(all)-1] {
			t.Errorf("seed %d: from %v to %v, want %v to %v", seed, times.Min(), times.Max(), all[0], all[len(all)-1])
		}
		for p := 1; p <= 100; p++ {
			want := all[(p*len(all)+99)/100-1]
			got := times.Percentile(p)
			if off := math.Abs(float64(got-want)) / float64(want); off > Error {
				t.Errorf("seed %d: p%d is %v, want %v: off by %.2f %%", seed, p, got, want, 100*off)
			}
		}
	}
}

// TestMemoryIsBounded adds more times than are kept: after that nothing grows.
func TestMemoryIsBounded(t *testing.T) {
	var times Times
	for i := range 10 * Kept {
		times.Add(time.Duration(i) * time.Microsecond)
	}
	allocated := testing.AllocsPerRun(10*Kept, func() { times.Add(time.Millisecond) })
	if allocated != 0 || times.kept != nil {
		t.Errorf("each time takes %v allocations, and %d are kept", allocated, len(times.kept))
	}
}

func TestTheEndsOfTheRange(t *testing.T) {
	for _, d := range []time.Duration{-time.Second, 0, 1, least, most, math.MaxInt64} {
		var times Times
		for range Kept + 1 {
			times.Add(d)
		}
		if got := times.Percentile(95); got != max(d, 0) {
			t.Errorf("of %v only, the percentile is %v", d, got)
		}
		if rows := times.Rows(); len(rows) != 1 || rows[0].Count != Kept+1 || rows[0].From > max(d, 0) || rows[0].To < d {
			t.Errorf("of %v only, the rows are %v", d, rows)
		}
	}
}

func TestRows(t *testing.T) {
	got := of(1, 1, 2, 4, 5, 700).Rows()
	ms := time.Millisecond
	want := []Row{{1 * ms, 2 * ms, 2}, {2 * ms, 5 * ms, 2}, {5 * ms, 10 * ms, 1}, {500 * ms, 1000 * ms, 1}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if !slices.IsSorted(scale()) {
		t.Error("the scale is not in order")
	}
}
