// Package latency keeps how long things took, in a bounded amount of memory however many there were: least, most,
// percentiles, and how they are spread.
//
// What never comes in: clocks, units for people, bars.
package latency

import (
	"math"
	"slices"
	"time"
)

const (
	// Kept is up to how many times percentiles are exact. It is more than a person looks at.
	Kept = 1000
	// Error is how far a percentile of more times may be off, as a share of the true one: that of the times of a bucket
	// from its middle.
	Error = 0.01
)

const (
	// growth is the width of a bucket: its ends are apart by this factor, so that the geometric middle is less than Error
	// from both.
	growth = 1.02
	// least is the shortest time that is told from none.
	least = time.Microsecond
	// most is the longest time that is told from longer ones: that of the longest limit there is, and some more.
	most = 100 * time.Hour
)

// Times are how long things took. The zero value is none. They are not safe for concurrent use.
type Times struct {
	n        int
	min, max time.Duration
	// kept are the times themselves, as long as there are no more than Kept; sorted tells whether they are in order.
	kept   []time.Duration
	sorted bool
	// buckets count the times by size, bucket i those from least times growth to the i.
	buckets []uint64
	// rows count them by the steps of a scale for people: rows[i] those below scale()[i], and not below the one before.
	rows []int
}

// Add adds one time.
func (t *Times) Add(d time.Duration) {
	d = max(d, 0)
	if t.n == 0 {
		t.min, t.max = d, d
		t.buckets = make([]uint64, bucketOf(most)+1)
		t.rows = make([]int, len(scale())+1)
	}
	t.n++
	t.min, t.max = min(t.min, d), max(t.max, d)
	t.buckets[bucketOf(d)]++
	step, found := slices.BinarySearch(scale(), d)
	if found {
		step++ // a step begins with its own value
	}
	t.rows[step]++
	if t.n > Kept {
		t.kept = nil
		return
	}
	t.kept, t.sorted = append(t.kept, d), false
}

// Count is how many there were.
func (t *Times) Count() int { return t.n }

// Min is the shortest, 0 if there were none.
func (t *Times) Min() time.Duration { return t.min }

// Max is the longest, 0 if there were none.
func (t *Times) Max() time.Duration { return t.max }

// Percentile is the time that p percent of all times do not exceed, by nearest rank: it is one of them, the one at rank
// ⌈p·n/100⌉ from the shortest. p is between 1 and 100. It is exact for up to Kept times, and off by at most Error for
// more. It is 0 if there were none.
func (t *Times) Percentile(p int) time.Duration {
	if t.n == 0 {
		return 0
	}
	rank := max((p*t.n+99)/100, 1)
	if t.kept != nil {
		if !t.sorted {
			slices.Sort(t.kept)
			t.sorted = true
		}
		return t.kept[rank-1]
	}
	seen := uint64(0)
	for i, n := range t.buckets {
		if seen += n; seen >= uint64(rank) {
			middle := time.Duration(float64(least) * math.Pow(growth, float64(i)+0.5))
			return min(max(middle, t.min), t.max)
		}
	}
	return t.max
}

// Row is how many times lie in a range. To is not part of it.
type Row struct {
	From, To time.Duration
	Count    int
}

// Rows tells how the times are spread, over the steps 1, 2, 5, 10 … of a scale. Steps that hold none are left out.
func (t *Times) Rows() []Row {
	var out []Row
	edges := scale()
	for i, n := range t.rows {
		if n == 0 {
			continue
		}
		r := Row{To: math.MaxInt64, Count: n}
		if i > 0 {
			r.From = edges[i-1]
		}
		if i < len(edges) {
			r.To = edges[i]
		}
		out = append(out, r)
	}
	return out
}

// bucketOf returns the bucket that a time belongs to.
func bucketOf(d time.Duration) int {
	d = min(max(d, least), most)
	return int(math.Log(float64(d)/float64(least)) / math.Log(growth))
}

// scale returns the steps of the scale: 1, 2, 5 in every power of ten that matters.
func scale() []time.Duration {
	return []time.Duration{
		1 * time.Microsecond, 2 * time.Microsecond, 5 * time.Microsecond,
		10 * time.Microsecond, 20 * time.Microsecond, 50 * time.Microsecond,
		100 * time.Microsecond, 200 * time.Microsecond, 500 * time.Microsecond,
		1 * time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond,
		10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
		100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
		1 * time.Second, 2 * time.Second, 5 * time.Second,
		10 * time.Second, 20 * time.Second, 50 * time.Second,
		100 * time.Second, 200 * time.Second, 500 * time.Second,
		1000 * time.Second,
	}
}
