package baseline

import "fmt"

// Grade says what a change means to those who use a server.
type Grade int

// The grades, from the least to the worst.
const (
	// Benign changes break nothing: something was added, or more is accepted.
	Benign Grade = iota
	// Risky changes break no call, and change what a model is told or what a person agreed to; or they cannot be compared.
	Risky
	// Breaking changes make calls fail that worked, or answers come that were not promised.
	Breaking
)

// String returns the word for the grade.
func (g Grade) String() string { return [...]string{"benign", "risky", "breaking"}[g] }

// Difference is one way in which two definitions differ.
type Difference struct {
	Grade Grade
	// Path is where it is in the definition: "inputSchema.properties.n.type".
	Path string
	// Words say what changed: "argument n: type narrowed from number to integer".
	Words string
	// Before and After are the two values, nil for none.
	Before, After any
}

// Change is one thing that a server offers and that is not what it was.
type Change struct {
	Kind Kind
	// Name is the name or the URI, "" when all things of the kind are meant.
	Name string
	// Differences are never empty, the worst first.
	Differences []Difference
	// Before and After are the two definitions as JSON, nil for none.
	Before, After []byte
}

// Grade returns that of the worst difference.
func (c Change) Grade() Grade { return c.Differences[0].Grade }

// mostWords is how many differences a message tells; the evidence has all.
const mostWords = 3

// Message says in one line what changed.
func (c Change) Message() string {
	text := c.Grade().String() + ": "
	for i, d := range c.Differences {
		if i == mostWords && len(c.Differences) > mostWords+1 {
			return text + fmt.Sprintf("; and %d more", len(c.Differences)-i)
		}
		if i > 0 {
			text += "; "
		}
		text += d.Words
	}
	return text
}
