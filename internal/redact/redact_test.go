package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

func TestString(t *testing.T) {
	tests := []struct {
		name    string
		secrets []string
		in      string
		want    string
	}{
		{"no secrets", nil, "token hunter22", "token hunter22"},
		{"not in the text", []string{"hunter22"}, "all is well", "all is well"},
		{"in the middle", []string{"hunter22"}, "token hunter22!", "token ***!"},
		{"alone", []string{"hunter22"}, "hunter22", "***"},
		{"twice, adjacent", []string{"hunter22"}, "hunter22hunter22", "******"},
		{"three characters are not masked", []string{"abc"}, "abc", "abc"},
		{"four characters are", []string{"abcd"}, "abcde", "***e"},
		{"characters, not bytes", []string{"äöü"}, "äöü", "äöü"},
		{"four characters of several bytes", []string{"äöüß"}, "xäöüßx", "x***x"},
		{"nothing but blanks", []string{"", "      "}, "a       b", "a       b"},
		{"the longer of two that begin alike", []string{"abcd", "abcdefgh"}, "abcdefgh", "***"},
		{"the shorter of two that begin alike", []string{"abcd", "abcdefgh"}, "abcdefg", "***efg"},
		{"one inside another", []string{"cdef", "abcdefgh"}, "abcdefgh", "***"},
		{"overlapping ones leave nothing of either", []string{"abcd", "cdef"}, "xabcdefx", "x***x"},
		{"overlapping itself", []string{"abab"}, "xabababx", "x***x"},
		{"a chain of overlaps", []string{"abcd", "defg", "ghij"}, "abcdefghij", "***"},
		{"space around is not part of it", []string{" hunter22\n"}, "got hunter22.", "got ***."},
		{"credential without its scheme", []string{"Bearer hunter22"}, "the token hunter22", "the token ***"},
		{"scheme in any case", []string{"bearer  hunter22"}, "hunter22", "***"},
		{"password of basic authentication", []string{"Basic " + base64.StdEncoding.EncodeToString([]byte("me:hunter22"))}, "hunter22", "***"},
		{"basic that is not base64", []string{"Basic hunter22!"}, "hunter22!", "***"},
		{"two words are not a scheme", []string{"correct horse"}, "a horse", "a horse"},
		{"one line of a secret with several", []string{"-----BEGIN KEY-----\nMIIEvQIBADANBg\n-----END KEY-----\n"}, "2: MIIEvQIBADANBg", "2: ***"},
		{"short lines of a secret are ordinary text", []string{"{\n\"key\": 12345678\n}"}, "{ }", "{ }"},
		{"one that was cut", []string{"hunter22"}, "token hunter2… is bad", "token ***… is bad"},
		{"several that were cut", []string{"hunter22", "secret-two"}, "hunter2…, secret-… and secr…", "***…, ***… and ***…"},
		{"a whole one before a mark", []string{"hunter22"}, "hunter22…", "***…"},
		{"cut to three characters", []string{"hunter22", "äöüßé"}, "hun… äöü… äöüß…", "hun… äöü… ***…"},
		{"a beginning that goes on otherwise", []string{"hunter22"}, "hunters… hunter", "hunters… hunter"},
		{"a mark at the beginning", []string{"hunter22"}, "…hunter2…hunt…", "…***…***…"},
		{"the longer of two that were cut", []string{"abcd", "abcdefgh"}, "abcdef… abcdefx…", "***… ***efx…"},
		{"cut in another form", []string{`hun"ter22"`}, `{\"x\": "hun\"ter2…"}`, `{\"x\": "***…"}`},
		{"credential that was cut", []string{"Bearer " + strings.Repeat("eyJ0", 99)}, "token Bearer eyJ0eyJ0… is bad: eyJ0eyJ…", "token ***… is bad: ***…"},
		{"a mark that is part of a secret", []string{"hunt…er22"}, "hunt…er22 hunt…", "*** ***…"},
		{"a secret that is invalid UTF-8", []string{"\xff\xfe\xfd\xfc"}, "x\xff\xfe\xfd\xfcx", "x***x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var r Redactor
			r.Add(tt.secrets...)
			if got := r.String(tt.in); got != tt.want {
				t.Errorf("String(%q) = %q, want %q", tt.in, got, tt.want)
			}
			if got := string(r.Bytes([]byte(tt.in))); got != tt.want {
				t.Errorf("Bytes(%q) = %q, want %q", tt.in, got, tt.want)
			}
			for size := 1; size <= len(tt.in); size++ {
				if got := throughWriter(t, &r, tt.in, func() int { return size }); got != tt.want {
					t.Errorf("Writer, %d bytes a write: %q, want %q", size, got, tt.want)
				}
			}
		})
	}
}

func TestEveryFormIsMasked(t *testing.T) {
	secrets := []string{
		"hunter22",
		"pa/ss+wo=rd?&%",
		`quo"te\back'tick`,
		"<a href='x'>&amp;",
		"sp ace\tand\nline",
		"grüße-€-𝄞",
		"j(a)v!a~s*c.r-i_p't",
		"abcd",
		"\x01\x02\x03\x7f",
	}
	forms := map[string]func(string) string{
		"plain":               func(s string) string { return s },
		"query":               url.QueryEscape,
		"query, lower case":   func(s string) string { return lowerHex(url.QueryEscape(s)) },
		"path":                url.PathEscape,
		"path, lower case":    func(s string) string { return lowerHex(url.PathEscape(s)) },
		"base64":              func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"base64, no padding":  func(s string) string { return base64.RawStdEncoding.EncodeToString([]byte(s)) },
		"base64 url":          func(s string) string { return base64.URLEncoding.EncodeToString([]byte(s)) },
		"base64 url, no pad":  func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
		"base64 behind 1":     func(s string) string { return base64.StdEncoding.EncodeToString([]byte(":" + s))[2:] },
		"base64 behind 2":     func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte("u:" + s))[3:] },
		"json":                func(s string) string { return inside(quoted(t, s)) },
		"json, unescaped":     func(s string) string { return inside(quotedPlain(t, s)) },
		"json, slashes":       func(s string) string { return strings.ReplaceAll(inside(quotedPlain(t, s)), "/", `\/`) },
		"json in json":        func(s string) string { return inside(quoted(t, inside(quoted(t, s)))) },
		"json in json, plain": func(s string) string { return inside(quotedPlain(t, inside(quotedPlain(t, s)))) },
		"json in json, mixed": func(s string) string { return inside(quoted(t, inside(quotedPlain(t, s)))) },
		"%q":                  func(s string) string { return inside(strconv.Quote(s)) },
		"%+q":                 func(s string) string { return inside(strconv.QuoteToASCII(s)) },
		"%q in json":          func(s string) string { return inside(quotedPlain(t, inside(strconv.Quote(s)))) },
		"html":                html.EscapeString,
		"html, named quotes": func(s string) string {
			return strings.ReplaceAll(html.EscapeString(s), "&#34;", "&quot;")
		},
		"xml": func(s string) string {
			var b strings.Builder
			if err := xml.EscapeText(&b, []byte(s)); err != nil {
				t.Fatal(err)
			}
			return b.String()
		},
	}
	for _, secret := range secrets {
		var r Redactor
		r.Add(secret)
		for name, form := range forms {
			text := form(secret)
			if got := r.String("<" + text + ">"); got != "<"+Mask+">" {
				t.Errorf("%q, %s: String(%q) = %q", secret, name, text, got)
			}
		}
	}
}

// A secret in the middle of something encoded shares its first and last digit with its neighbours; nothing but those
// may be left.
func TestBase64InsideOtherText(t *testing.T) {
	const secret = "s3cr3t-t0ken"
	var r Redactor
	r.Add(secret)
	for before := range 4 {
		for after := range 4 {
			plain := strings.Repeat("u", before) + secret + strings.Repeat("v", after)
			text := base64.StdEncoding.EncodeToString([]byte(plain))
			got := r.String(text)
			if !strings.Contains(got, Mask) {
				t.Errorf("%q: %q is not masked", plain, text)
				continue
			}
			if left, limit := len(got)-len(Mask), len(text)-len(secret)*8/6+1; left > limit {
				t.Errorf("%q: %d digits are left in %q, want at most %d", plain, left, got, limit)
			}
		}
	}
}

func TestBasicAuthenticationHeader(t *testing.T) {
	var r Redactor
	r.Add("hunter22")
	for _, user := range []string{"a", "ab", "abc", "someone@example.com"} {
		header := "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":hunter22"))
		got := r.String(header)
		if !strings.HasSuffix(got, Mask) {
			t.Errorf("user %q: %q", user, got)
		}
	}
}

func TestStrings(t *testing.T) {
	var r Redactor
	r.Add("hunter22\nline two of it")
	in := []string{"first", "a hunter22", "line two of it"}
	before := slices.Clone(in)
	got := r.Strings(in)
	if want := []string{"first", "a ***", "***"}; !slices.Equal(got, want) {
		t.Errorf("Strings = %q, want %q", got, want)
	}
	if !slices.Equal(in, before) {
		t.Errorf("the argument was changed to %q", in)
	}
	if r.Strings(nil) != nil {
		t.Error("Strings(nil) is not nil")
	}
}

func TestBytesLeavesTheArgumentAlone(t *testing.T) {
	var r Redactor
	r.Add("hunter22")
	in := []byte("x hunter22 y")
	if got := r.Bytes(in); string(got) != "x *** y" {
		t.Errorf("Bytes = %q", got)
	}
	if string(in) != "x hunter22 y" {
		t.Errorf("the argument was changed to %q", in)
	}
}

func TestNilRedactorDoesNothing(t *testing.T) {
	var r *Redactor
	r.Add("hunter22")
	if got := r.String("hunter22"); got != "hunter22" {
		t.Errorf("String = %q", got)
	}
	if got := r.Bytes([]byte("hunter22")); string(got) != "hunter22" {
		t.Errorf("Bytes = %q", got)
	}
	if got := r.Strings([]string{"hunter22"}); !slices.Equal(got, []string{"hunter22"}) {
		t.Errorf("Strings = %q", got)
	}
	if got := throughWriter(t, r, "hunter22", func() int { return 3 }); got != "hunter22" {
		t.Errorf("Writer = %q", got)
	}
}

func TestWriterHoldsBackNoMoreThanItMust(t *testing.T) {
	var r Redactor
	r.Add("hunter22")
	var out bytes.Buffer
	w := r.Writer(&out)
	steps := []struct{ write, want string }{
		{"plain line\n", "plain line\n"},
		{"ends in hun", "plain line\nends in "},
		{"dred\n", "plain line\nends in hundred\n"},
		{"hunter2", "plain line\nends in hundred\n"},
		{"2", "plain line\nends in hundred\n***"},
		{"hu", "plain line\nends in hundred\n***"},
	}
	for _, step := range steps {
		if n, err := io.WriteString(w, step.write); n != len(step.write) || err != nil {
			t.Fatalf("Write(%q) = %d, %v", step.write, n, err)
		}
		if got := out.String(); got != step.want {
			t.Fatalf("after %q: %q, want %q", step.write, got, step.want)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "plain line\nends in hundred\n***hu"; got != want {
		t.Errorf("after Close: %q, want %q", got, want)
	}
}

// The shorter of two secrets is masked only when it is certain that the longer one does not come.
func TestWriterWaitsForTheLongerSecret(t *testing.T) {
	var r Redactor
	r.Add("abcd", "abcdefgh", "cdxy")
	tests := map[string][]string{
		"***":     {"abcd", "efgh"},
		"***efgx": {"abcd", "efg", "x"},
		"***z":    {"ab", "cdx", "yz"},
		"***xz":   {"abcd", "xz"},
	}
	for want, writes := range tests {
		i := 0
		got := throughWriter(t, &r, strings.Join(writes, ""), func() int { i++; return len(writes[i-1]) })
		if got != want {
			t.Errorf("%q: %q, want %q", writes, got, want)
		}
	}
}

func TestWriterMasksWhatIsAddedLater(t *testing.T) {
	var r Redactor
	r.Add("hunter22")
	var out bytes.Buffer
	w := r.Writer(&out)
	mustWrite(t, w, "token hunt")
	r.Add("huntsman")
	mustWrite(t, w, "sman, token2 se")
	r.Add("secret-two")
	mustWrite(t, w, "cret-two secret-two")
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	// The first "se" had gone before anybody knew that it was the beginning of a secret.
	if got, want := out.String(), "token ***, token2 secret-two ***"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestWriterReportsErrors(t *testing.T) {
	var r Redactor
	r.Add("hunter22")
	broken := errors.New("broken")
	w := r.Writer(writerFunc(func([]byte) (int, error) { return 0, broken }))
	if n, err := io.WriteString(w, "x"); n != 0 || !errors.Is(err, broken) {
		t.Errorf("Write = %d, %v", n, err)
	}
	if n, err := io.WriteString(w, "hunter2"); n != 7 || err != nil {
		t.Errorf("Write of what is held back = %d, %v", n, err)
	}
	if err := w.Close(); !errors.Is(err, broken) {
		t.Errorf("Close = %v", err)
	}
	if err := w.Close(); err != nil {
		t.Errorf("second Close = %v", err)
	}
	short := r.Writer(iotest.TruncateWriter(io.Discard, 0))
	if n, err := io.WriteString(short, "x"); n != 1 || err != nil {
		t.Errorf("Write = %d, %v", n, err)
	}
	short = r.Writer(writerFunc(func(p []byte) (int, error) { return len(p) - 1, nil }))
	if _, err := io.WriteString(short, "x"); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("a short write: %v", err)
	}
}

func TestConcurrentUse(t *testing.T) {
	var r Redactor
	out := &bytes.Buffer{}
	w := r.Writer(out)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 50 {
				secret := fmt.Sprintf("secret-%d-%d", i, j)
				r.Add(secret)
				if got := r.String("a " + secret); got != "a "+Mask {
					t.Errorf("%q: %q", secret, got)
				}
				if _, err := io.WriteString(w, secret+"\n"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "secret") {
		t.Error("a secret was written")
	}
}

// The work is bounded by the text, not by the number of secrets: this takes seconds if each secret is searched by
// itself, or if every Add rebuilds what was there.
func TestManySecrets(t *testing.T) {
	var r Redactor
	for i := range 3000 {
		r.Add(fmt.Sprintf("ghp_%016x", i*7919))
		if got := r.String("token ghp_x"); got != "token ghp_x" {
			t.Fatal(got)
		}
	}
	text := strings.Repeat("no secret in this line, only ghp and ghp_zzzz\n", 2000)
	if got := r.String(text + fmt.Sprintf("ghp_%016x", 2999*7919)); got != text+Mask {
		t.Error("the last secret was not masked, or something else was")
	}
}

// Neither do marks: this takes minutes if each mark, or each place before one, is compared with what came long before.
func TestManyMarks(t *testing.T) {
	var r Redactor
	secret := strings.Repeat("ab", 5000) + "c"
	r.Add(secret)
	text := strings.Repeat("ab…", 200_000)
	if got := r.String(text); got != text {
		t.Error("something was masked")
	}
	cut := strings.Repeat("cd", 200_000) + secret[:9000] + "…"
	if got := r.String(cut); !strings.HasSuffix(got, "cd***…") {
		t.Errorf("the beginning of a long secret was not masked: …%s", got[len(got)-20:])
	}
}

func FuzzWriter(f *testing.F) {
	f.Add("hunter22", "secret-two", "a hunter22 b secret-two c", []byte{1, 2, 3})
	f.Add("abcd", "abcdefgh", "abcdefgabcdefgh", []byte{4})
	f.Add("abab", "baba", "xababababx", []byte{1})
	f.Add("a\nlong line of it\nb", `q"uo\te`, `"q\"uo\\te" long line of it`, []byte{0, 5})
	f.Add("Basic dTpodW50ZXIyMg==", "äöüß", "hunter22 %C3%A4%c3%b6", []byte{7, 1})
	f.Add("hunter22", "secret-two", "hunter2… secret…", []byte{1, 2, 5})
	f.Fuzz(func(t *testing.T, one, two, text string, sizes []byte) {
		if strings.Contains(one+two, "*") {
			t.Skip("the mask itself can complete such a secret")
		}
		var r Redactor
		r.Add(one, two)
		texts := []string{
			text, text + one + text, one + two, text + one[:len(one)/2] + two, url.QueryEscape(one) + text + two,
			base64.StdEncoding.EncodeToString([]byte(text + one)), strconv.Quote(one + text + two),
			text + cutTo(one, len(text)) + cutMark + cutTo(two, len(sizes)) + cutMark + text, cutTo(one+two, len(text)) + cutMark[:2] + two,
		}
		for _, text := range texts {
			whole := r.String(text)
			for _, form := range append(forms(one), forms(two)...) {
				if strings.Contains(whole, form) {
					t.Fatalf("String(%q) = %q, which holds %q", text, whole, form)
				}
			}
			for _, form := range append(forms(one), forms(two)...) {
				if n := len(cutMark); !strings.Contains(form, cutMark) && strings.Contains(whole, cutTo(form, len(form)-1)+cutMark) && len(form) > n+MinLength*utf8.UTFMax {
					t.Fatalf("String(%q) = %q, which holds the beginning of %q", text, whole, form)
				}
			}
			if len(forms(one)) == 0 && len(forms(two)) == 0 && whole != text {
				t.Fatalf("String(%q) = %q without secrets", text, whole)
			}
			i := 0
			split := throughWriter(t, &r, text, func() int {
				if len(sizes) == 0 {
					return 1
				}
				i++
				return int(sizes[i%len(sizes)])%16 + 1
			})
			if split != whole {
				t.Fatalf("text %q in parts: %q, as a whole: %q", text, split, whole)
			}
		}
	})
}

// cutTo returns the first n bytes of s, or all of it.
func cutTo(s string, n int) string { return s[:min(n, len(s))] }

// throughWriter writes text in parts of the sizes that next returns, and returns what arrived. It fails the test if
// more is held back than the longest secret's length less one, and most of a mark.
func throughWriter(t *testing.T, r *Redactor, text string, next func() int) string {
	t.Helper()
	var out bytes.Buffer
	w := r.Writer(&out)
	for len(text) > 0 {
		n := min(max(next(), 1), len(text))
		mustWrite(t, w, text[:n])
		text = text[n:]
		if r != nil && len(w.held) > max(0, r.longest-1)+len(cutMark)-1 {
			t.Fatalf("%d bytes are held back, the longest form has %d", len(w.held), r.longest)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func mustWrite(t *testing.T, w io.Writer, s string) {
	t.Helper()
	if n, err := io.WriteString(w, s); n != len(s) || err != nil {
		t.Fatalf("Write(%q) = %d, %v", s, n, err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// lowerHex is written in another way than the code under test.
func lowerHex(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' {
			b.WriteString(strings.ToLower(s[i : i+3]))
			i += 2
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func quoted(t *testing.T, s string) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func quotedPlain(t *testing.T, s string) string {
	t.Helper()
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
