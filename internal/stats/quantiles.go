// Package stats sums measurements up in little and constant memory. It knows durations, and nothing of what was measured.
package stats

import (
	"math"
	"time"
)

const (
	// growth is how much larger each bucket is than the one before: a quantile is at most one percent off.
	growth = 1.02
	// finest is the upper end of the first bucket: what is shorter does not matter to anybody.
	finest = time.Microsecond
	// buckets reach from finest to more than a day, the longest time that anything here may take.
	buckets = 1300
)

// Quantiles takes in any number of durations and tells their quantiles, within one percent, from a fixed number of
// buckets. The least and the greatest are exact. The zero value is empty and ready. It is not safe for concurrent use.
type Quantiles struct {
	count    int64
	min, max time.Duration
	buckets  [buckets]int64
}

// Add takes a duration in. One that is negative counts as 0.
func (q *Quantiles) Add(d time.Duration) {
	d = max(d, 0)
	if q.count == 0 || d < q.min {
		q.min = d
	}
	q.max = max(q.max, d)
	q.count++
	q.buckets[bucket(d)]++
}

// bucket returns the index of the bucket that a duration belongs to.
func bucket(d time.Duration) int {
	if d <= finest {
		return 0
	}
	i := math.Ceil(math.Log(float64(d)/float64(finest)) / math.Log(growth))
	return min(int(i), buckets-1)
}

// Count returns how many durations were taken in.
func (q *Quantiles) Count() int64 { return q.count }

// Min returns the least duration, 0 if there is none.
func (q *Quantiles) Min() time.Duration { return q.min }

// Max returns the greatest duration, 0 if there is none.
func (q *Quantiles) Max() time.Duration { return q.max }

// At returns the duration that the given share of all, from 0 to 1, does not exceed: At(0.5) is the median. It is 0 if
// there is none.
func (q *Quantiles) At(share float64) time.Duration {
	if q.count == 0 {
		return 0
	}
	rank := max(int64(math.Ceil(share*float64(q.count))), 1)
	var seen int64
	for i, n := range q.buckets {
		if seen += n; seen >= rank {
			switch i {
			case 0:
				return q.min // what is so short has no ratios
			case buckets - 1:
				return q.max
			}
			// The middle of the bucket, as ratios go.
			middle := float64(finest) * math.Pow(growth, float64(i)-0.5)
			return min(max(time.Duration(middle), q.min), q.max)
		}
	}
	return q.max
}
