package toolargs

import (
	"cmp"
	"math/big"
	"strconv"
	"strings"
)

// A decimal is the exact value of a JSON number: 0.digits × 10^exp. Literals such as 1e400 or 2^53+1 have no exact
// float, and 1e999999999 must not be written out, so comparing goes by sign, exponent and digits.
type decimal struct {
	neg    bool
	digits string // without zeros at either end; "" is zero
	exp    int64
}

// maxExponent keeps sums of an exponent and a length of digits far from overflow. Numbers beyond it are all the same
// size to us, and to every server.
const maxExponent = 1 << 60

// parseDecimal reads a valid JSON number.
func parseDecimal(literal string) decimal {
	var d decimal
	literal, d.neg = strings.CutPrefix(literal, "-")
	mantissa, exponent := literal, ""
	if i := strings.IndexAny(literal, "eE"); i >= 0 {
		mantissa, exponent = literal[:i], literal[i+1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	d.digits = whole + fraction
	d.exp = int64(len(whole))
	if exponent != "" {
		// A range error leaves the largest or smallest value, which the bounds below then take.
		e, _ := strconv.ParseInt(exponent, 10, 64)
		d.exp += max(-maxExponent, min(maxExponent, e))
	}
	trimmed := strings.TrimLeft(d.digits, "0")
	d.exp -= int64(len(d.digits) - len(trimmed))
	d.digits = strings.TrimRight(trimmed, "0")
	if d.digits == "" {
		return decimal{}
	}
	return d
}

// isInteger reports whether the number has no fraction: 3.0 has none, as JSON Schema sees it.
func (d decimal) isInteger() bool { return d.exp >= int64(len(d.digits)) }

func (d decimal) compare(e decimal) int {
	sign := func(d decimal) int {
		switch {
		case d.digits == "":
			return 0
		case d.neg:
			return -1
		}
		return 1
	}
	if c := cmp.Compare(sign(d), sign(e)); c != 0 {
		return c
	}
	c := cmp.Compare(d.exp, e.exp)
	if c == 0 {
		c = strings.Compare(d.digits, e.digits)
	}
	if d.neg {
		return -c
	}
	return c
}

// multipleOf reports whether v is a multiple of step, both valid JSON numbers. It says yes when finding out would need
// numbers too long to be worth it.
func multipleOf(v, step string) bool {
	// 400 covers every float64, which is what the schemas of this world mean.
	const longest = 400
	for _, literal := range []string{v, step} {
		d := parseDecimal(literal)
		if len(literal) > longest || d.exp > longest || d.exp < -longest {
			return true
		}
	}
	n, ok := new(big.Rat).SetString(v)
	m, ok2 := new(big.Rat).SetString(step)
	if !ok || !ok2 || m.Sign() <= 0 {
		return true
	}
	return n.Quo(n, m).IsInt()
}
