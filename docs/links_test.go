//go:build linux

package docs_test

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	heading = regexp.MustCompile(`(?m)^#{1,6} +(.*?) *$`)
	link    = regexp.MustCompile(`\[[^\]]*\]\(([^)\s]+)\)`)
	inCode  = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")

	block      = regexp.MustCompile("(?ms)^```.*?^```$")
	linkedText = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	noAnchor   = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors returns the fragments that GitHub makes of the headings of a page.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(block.ReplaceAllString(text, ""), -1) {
		title := linkedText.ReplaceAllString(m[1], "$1")
		title = noAnchor.ReplaceAllString(strings.ToLower(title), "")
		found[strings.ReplaceAll(title, " ", "-")] = true
	}
	return found
}

// TestLinks follows each link of the pages that leads into the repository, to its heading.
func TestLinks(t *testing.T) {
	t.Parallel()
	list := append(pages(t), root+"/CHANGELOG.md", root+"/internal/faultlab/README.md")
	for _, path := range list {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(inCode.ReplaceAllString(string(text), ""), -1) {
			u, err := url.Parse(m[1])
			if err != nil {
				t.Errorf("%s: %s: %v", path, m[1], err)
				continue
			}
			if u.Scheme != "" {
				continue
			}
			target, to := path, string(text)
			if u.Path != "" {
				target = filepath.Join(filepath.Dir(path), u.Path)
				bytes, err := os.ReadFile(target)
				if info, statErr := os.Stat(target); statErr == nil && info.IsDir() {
					continue
				}
				if err != nil {
					t.Errorf("%s: the link %s leads nowhere", path, m[1])
					continue
				}
				to = string(bytes)
			}
			if u.Fragment != "" && !anchors(to)[u.Fragment] {
				t.Errorf("%s: the link %s: %s has no such heading", path, m[1], target)
			}
		}
	}
}
