// Package redact is the one place that knows what is secret. Whoever writes something a person or a program will read
// (errors, targets, stderr tails, traces, reports) passes it through a [Redactor] first.
//
// What lives here is finding known values in text and masking them. What never comes in is the judgement of which
// values of an entry are secret (package config and the token store hand those over), and the results of tools, which
// are data and pass untouched.
//
// # Design
//
// A secret is rarely written as it was stored: a URL escapes it, a header encodes it in base64 behind a user name, JSON
// and Go quote it, a stderr tail cuts it into lines. So [Redactor.Add] derives every form the value can take (forms.go)
// and text is searched for all of them at once. Forms are kept in buckets by their first four bytes, which every form
// has, since shorter secrets are not masked: the cost of a search grows with the text, not with the number of secrets,
// and adding a secret does not rebuild anything. A thousand servers share one Redactor.
//
// Matches that overlap are masked as one stretch, from the start of the first to the end of the last; with only the
// longest masked, the end of another secret would be left standing.
//
// A text that is cut to a length often ends in the middle of a secret. What stands before the mark of the cut is masked if
// it is the beginning of a secret, so that it does not matter whether a text was cut before it came here.
//
// [Writer] gives the same result as [Redactor.String] on the whole text, however the text is cut into writes. It holds
// back the end of what it was given as long as a secret could still begin there.
package redact

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Mask is what stands in place of a secret.
const Mask = "***"

// MinLength is the length in characters below which a value is never masked. Shorter values occur in ordinary text
// all the time ("on", "80", "dev"); masking them would make messages unreadable and hide nothing.
const MinLength = 4

// cutMark is what stands where a text was cut to a length.
const cutMark = "…"

// keyLen is the number of bytes by which forms are bucketed. Every form has them, because it has MinLength characters.
const keyLen = MinLength

// A Redactor masks the secrets it was given. The zero value is ready for use and masks nothing; so does a nil Redactor,
// which also ignores Add. It is safe for concurrent use.
type Redactor struct {
	mu sync.RWMutex
	// buckets holds all forms by their first bytes, the longest first.
	buckets map[[keyLen]byte][]string
	// first says which bytes begin a form: the cheap test that most positions of a text fail.
	first [256]bool
	// short holds every beginning of a form that is shorter than a bucket's key, for Writer.
	short map[string]struct{}
	// longest is the length in bytes of the longest form.
	longest int
}

// Add makes the given values secret from now on, in every form in which they may be written. Values shorter than
// [MinLength] characters are ignored. Add cannot be undone: what was secret once stays so.
func (r *Redactor) Add(secrets ...string) {
	if r == nil {
		return
	}
	var all []string
	for _, s := range secrets {
		all = append(all, forms(s)...)
	}
	if len(all) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, form := range all {
		r.insert(form)
	}
}

// insert adds one form. The caller holds the lock.
func (r *Redactor) insert(form string) {
	if r.buckets == nil {
		r.buckets = make(map[[keyLen]byte][]string)
		r.short = make(map[string]struct{})
	}
	key := [keyLen]byte([]byte(form[:keyLen]))
	bucket := r.buckets[key]
	at, found := slices.BinarySearchFunc(bucket, form, longestFirst)
	if found {
		return
	}
	r.buckets[key] = slices.Insert(bucket, at, form)
	r.first[form[0]] = true
	for n := 1; n < keyLen; n++ {
		r.short[form[:n]] = struct{}{}
	}
	r.longest = max(r.longest, len(form))
}

// longestFirst orders by length, so that the first form in a bucket that fits is the longest that does.
func longestFirst(a, b string) int {
	if d := len(b) - len(a); d != 0 {
		return d
	}
	return strings.Compare(a, b)
}

// String returns s with every secret in it masked.
func (r *Redactor) String(s string) string {
	if r == nil {
		return s
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	if !r.contains(s) {
		return s
	}
	out, _ := r.mask(make([]byte, 0, len(s)), s, len(s), 0)
	return string(out)
}

// Bytes returns b with every secret in it masked. It returns b itself if there is none, and never changes b.
func (r *Redactor) Bytes(b []byte) []byte {
	if r == nil {
		return b
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	if len(r.buckets) == 0 {
		return b
	}
	s := string(b)
	if !r.contains(s) {
		return b
	}
	out, _ := r.mask(make([]byte, 0, len(s)), s, len(s), 0)
	return out
}

// Strings returns a slice with the elements of list, every secret in them masked. It never changes list. A secret that
// is spread over several elements is found if it has line breaks where the elements end, as lines of stderr have.
func (r *Redactor) Strings(list []string) []string {
	if list == nil {
		return nil
	}
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = r.String(s)
	}
	return out
}

// contains reports whether there is any secret in s. The caller holds the lock.
func (r *Redactor) contains(s string) bool {
	var cuts cutFinder
	for i := range len(s) {
		if r.secretAt(s, i, &cuts) > 0 {
			return true
		}
	}
	return false
}

// secretAt returns how many bytes of s, from i on, are a secret or what is left of one that was cut; 0 if there is none. The
// caller holds the lock, and asks from the left to the right.
func (r *Redactor) secretAt(s string, i int, cuts *cutFinder) int {
	rest := s[i:]
	if len(rest) < keyLen || !r.first[rest[0]] {
		return 0
	}
	bucket := r.buckets[[keyLen]byte{rest[0], rest[1], rest[2], rest[3]}]
	if len(bucket) == 0 {
		return 0
	}
	n := match(bucket, rest)
	if end := cuts.after(s, i); end-i > n && r.beginning(s[i:end]) { // also false if there is no mark
		n = end - i
	}
	return n
}

// match returns the length of the longest of the forms that s begins with, 0 if it begins with none.
func match(bucket []string, s string) int {
	for _, form := range bucket {
		if strings.HasPrefix(s, form) {
			return len(form)
		}
	}
	return 0
}

// beginning reports whether s is so much of the beginning of a longer form that it has to be masked. The caller holds the
// lock.
func (r *Redactor) beginning(s string) bool {
	return len(s) >= keyLen && len(s) < r.longest && r.begins(s) && !tooShort(s)
}

// cutFinder finds the marks of cuts in one text. It looks at each byte once, however often it is asked.
type cutFinder struct {
	// searched is how far the text has been looked through, and at is where the mark before it is, -1 if there is none.
	searched, at int
}

// after returns where the first mark from i on is, -1 if there is none.
func (c *cutFinder) after(s string, i int) int {
	if from := max(i, c.searched); c.searched == 0 || c.at >= 0 && c.at < i {
		if c.at = strings.Index(s[from:], cutMark); c.at >= 0 {
			c.at += from
			c.searched = c.at + len(cutMark)
		} else {
			c.searched = len(s)
		}
	}
	return c.at
}

// mask appends the first n bytes of s to dst, masked; secrets may reach beyond them. The first covered bytes of s belong
// to a stretch whose mask was written before. It returns dst, and how many bytes after the first n belong to the last
// stretch. The caller holds the lock.
func (r *Redactor) mask(dst []byte, s string, n, covered int) ([]byte, int) {
	end := covered // where the last masked stretch ends; what lies before it is done
	var cuts cutFinder
	for i := range n {
		m := r.secretAt(s, i, &cuts)
		if m == 0 {
			continue
		}
		if i >= end {
			dst = append(dst, s[end:i]...)
			dst = append(dst, Mask...)
		}
		end = max(end, i+m)
	}
	if end < n {
		dst = append(dst, s[end:n]...)
		end = n
	}
	return dst, end - n
}

// undecided returns the first position in s from which on s could be the beginning of a form that is longer than what
// there is, or such a beginning and the first bytes of the mark of a cut; len(s) if there is none. No secret that begins
// before it reaches beyond the end of s. The caller holds the lock.
func (r *Redactor) undecided(s string) int {
	whole := len(s) - partOfMark(s)
	for i := max(0, whole-r.longest+1); i < len(s); i++ {
		if r.first[s[i]] && (r.begins(s[i:]) || i < whole && whole < len(s) && r.beginning(s[i:whole])) {
			return i
		}
	}
	return len(s)
}

// partOfMark returns how many bytes at the end of s are the beginning of the mark of a cut, but not all of it.
func partOfMark(s string) int {
	for n := len(cutMark) - 1; n > 0; n-- {
		if strings.HasSuffix(s, cutMark[:n]) {
			return n
		}
	}
	return 0
}

// begins reports whether s is the beginning of a longer form. The caller holds the lock.
func (r *Redactor) begins(s string) bool {
	if len(s) < keyLen {
		_, ok := r.short[s]
		return ok
	}
	for _, form := range r.buckets[[keyLen]byte{s[0], s[1], s[2], s[3]}] {
		if len(form) <= len(s) {
			return false // the rest of the bucket is shorter still
		}
		if strings.HasPrefix(form, s) {
			return true
		}
	}
	return false
}

// tooShort reports whether s has fewer than MinLength characters.
func tooShort(s string) bool { return utf8.RuneCountInString(s) < MinLength }
