package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestQuantiles compares the quantiles with those of the sorted measurements, over all lengths of time that occur.
func TestQuantiles(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 10, 1000, 20_000} {
		var q Quantiles
		all := make([]time.Duration, n)
		for i := range all {
			all[i] = time.Duration(float64(2*time.Microsecond) * math.Exp(random.Float64()*math.Log(4e10))) // up to 22 h
			q.Add(all[i])
		}
		slices.Sort(all)
		if q.Count() != int64(n) || q.Min() != all[0] || q.Max() != all[n-1] {
			t.Errorf("%d: %d from %s to %s, want %s to %s", n, q.Count(), q.Min(), q.Max(), all[0], all[n-1])
		}
		for _, share := range []float64{0, 0.5, 0.95, 0.99, 1} {
			want := all[max(int(math.Ceil(share*float64(n)))-1, 0)]
			if got := q.At(share); math.Abs(float64(got-want)) > 0.0101*float64(want) {
				t.Errorf("%d: at %v %s, want %s", n, share, got, want)
			}
		}
	}
}

// TestQuantilesCorners shows what nothing, less than nothing and more than a day give.
func TestQuantilesCorners(t *testing.T) {
	var q Quantiles
	if q.At(0.5) != 0 || q.Min() != 0 || q.Max() != 0 || q.Count() != 0 {
		t.Error("the empty one is not")
	}
	q.Add(-time.Second)
	if q.At(1) != 0 || q.Min() != 0 {
		t.Errorf("%s", q.At(1))
	}
	q.Add(1000 * time.Hour)
	if q.Max() != 1000*time.Hour || q.At(0) != 0 || q.At(1) > q.Max() {
		t.Errorf("from %s to %s", q.At(0), q.At(1))
	}
}
