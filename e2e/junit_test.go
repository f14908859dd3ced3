//go:build e2e && linux

package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// validate asks libxml2 whether files are valid by the schema of JUnit's format.
func validate(t *testing.T, files ...string) (string, error) {
	t.Helper()
	schema := filepath.Join(directory, "..", "internal", "render", "testdata", "junit.xsd")
	out, err := exec.CommandContext(t.Context(), "node", append([]string{filepath.Join(directory, "xsd.mjs"), schema}, files...)...).CombinedOutput()
	return string(out), err
}

// TestJUnitIsValid validates what doctor writes: of a healthy server, of one that says what XML cannot hold, and of runs that
// came to nothing.
func TestJUnitIsValid(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.run(append([]string{"add", "it"}, words(t, memory)...)...).exits(0)
	u.run("add", "hostile", "--no-check", "--", "sh", "-c", `printf '\001\033[2J<a>&"]]></failure>\357\277\276\nlast words' >&2; exit 3`).exits(0)
	path := func(name string) string { return filepath.Join(u.cwd, name) }
	u.run("doctor", "it", "--report", "junit=good.xml").exits(0)
	u.run("doctor", "it", "hostile", "http://127.0.0.1:1/mcp", "--report", "junit=bad.xml").exits(1)
	u.run("doctor", "it", "--kill-session", "--strict", "--report", "junit=strict.xml").exits(0)
	u.run("doctor", "nobody", "--report", "junit=usage.xml").exits(2)
	u.run("doctor", "it", "--no-such-flag", "--report", "junit=flag.xml").exits(2)
	if out, err := validate(t, path("good.xml"), path("bad.xml"), path("strict.xml"), path("usage.xml"), path("flag.xml")); err != nil {
		t.Errorf("%v\n%s\n%s", err, out, u.read(path("bad.xml")))
	}
	// The validator is awake: an attribute less, and an element in the wrong place.
	for was, is := range map[string]string{` hostname="localhost"`: "", "<properties>": "<system-out/><properties>"} {
		u.write(path("wrong.xml"), strings.Replace(u.read(path("good.xml")), was, is, 1))
		if out, err := validate(t, path("wrong.xml")); err == nil {
			t.Errorf("%q in place of %q is valid: %s", is, was, out)
		}
	}
}
