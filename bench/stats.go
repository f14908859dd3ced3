package main

import (
	"fmt"
	"math"
	"slices"
)

// figures are what one run of a program took: its time, its CPU time and its peak memory.
type figures struct{ ms, cpu, mib float64 }

// plus is what two programs took that ran one after the other.
func (f figures) plus(g figures) figures {
	return figures{ms: f.ms + g.ms, cpu: f.cpu + g.cpu, mib: max(f.mib, g.mib)}
}

// quantile returns the value below which this share of the values lies, between two of them if need be; 0 if there are none.
func quantile(values []float64, share float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	at := share * float64(len(sorted)-1)
	low := int(math.Floor(at))
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (sorted[high]-sorted[low])*(at-float64(low))
}

// quantiles returns that of each figure for itself.
func quantiles(all []figures, share float64) figures {
	of := func(get func(figures) float64) float64 {
		values := make([]float64, len(all))
		for i, f := range all {
			values[i] = get(f)
		}
		return quantile(values, share)
	}
	return figures{
		ms:  of(func(f figures) float64 { return f.ms }),
		cpu: of(func(f figures) float64 { return f.cpu }),
		mib: of(func(f figures) float64 { return f.mib }),
	}
}

// medians are the middle of all.
func medians(all []figures) figures { return quantiles(all, 0.5) }

// quarters are between what the middle half of the runs took of time.
func quarters(all []figures) string {
	return number(quantiles(all, 0.25).ms) + " - " + number(quantiles(all, 0.75).ms)
}

// ratio returns how many times b is a, and no number if b is nothing.
func ratio(a, b float64) float64 {
	if b == 0 {
		return math.NaN()
	}
	return a / b
}

// number writes a figure with as many digits as mean something.
func number(v float64) string {
	switch {
	case math.IsNaN(v):
		return "-"
	case math.Abs(v) < 100:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// times writes a ratio.
func times(v float64) string {
	switch {
	case math.IsNaN(v):
		return "-"
	case math.Abs(v) < 10:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.1f", v)
}
