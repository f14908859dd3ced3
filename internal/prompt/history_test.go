package prompt

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestHistoryOfSeveralAtOnce(t *testing.T) {
	h := HistoryFile{Path: filepath.Join(t.TempDir(), "new", "history")}
	const each = 10
	var all sync.WaitGroup
	for who := range 4 {
		all.Go(func() {
			for i := range each {
				if err := h.Add(t.Context(), fmt.Sprintf("line\n%d \\n %d", who, i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	lines := h.Load()
	if len(lines) != 4*each {
		t.Fatalf("%d lines", len(lines))
	}
	slices.Sort(lines)
	if lines[0] != `line`+"\n"+`0 \n 0` {
		t.Errorf("%q", lines[0])
	}
	if err := h.Add(t.Context(), strings.Repeat("x", mostRemembered+1)); err != nil || len(h.Load()) != 4*each {
		t.Errorf("a long line was kept: %v", err)
	}
}

func TestHistoryIsBounded(t *testing.T) {
	h := HistoryFile{Path: filepath.Join(t.TempDir(), "history")}
	if err := os.WriteFile(h.Path, []byte(strings.Repeat("an old line\n", 2*mostHistory)+"bad\x1b[2J\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := h.Add(t.Context(), "the last"); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(h.Path)
	if n := strings.Count(string(raw), "\n"); err != nil || n != mostHistory || !strings.HasSuffix(string(raw), "\nthe last\n") {
		t.Errorf("%d lines, %v", n, err)
	}
	lines := h.Load()
	if n := len(lines); n != mostHistory || strings.Contains(lines[n-2], "\x1b") {
		t.Errorf("%d lines, %q", n, lines[n-2])
	}
	if info, err := os.Stat(h.Path); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestALineIsLaidOut keeps the cursor where the character is, whatever its width.
func TestALineIsLaidOut(t *testing.T) {
	same := func(s string) string { return s }
	for _, c := range []struct {
		text        string
		at          int
		rows        []string
		row, column int
	}{
		{"", 0, []string{"> "}, 0, 2},
		{"abc", 3, []string{"> abc"}, 0, 5},
		{"abcdefghij", 10, []string{"> abcdefgh", "ij"}, 1, 2},
		{"abcdefghij", 8, []string{"> abcdefgh", "ij"}, 1, 0},
		{"漢字漢字漢", 6, []string{"> 漢字漢字", "漢"}, 0, 6},
		{"a\nb", 3, []string{"> a", "… b"}, 1, 3},
		{"e\u0301x", 3, []string{"> e\u0301x"}, 0, 3},
	} {
		rows, row, column := layout("> ", "… ", c.text, c.at, 10, same)
		if !slices.Equal(rows, c.rows) || row != c.row || column != c.column {
			t.Errorf("%q at %d: %q, %d, %d; want %q, %d, %d", c.text, c.at, rows, row, column, c.rows, c.row, c.column)
		}
	}
}

func TestEditingByCharactersAndWords(t *testing.T) {
	l := &line{e: &LineEditor{History: []string{"one", "two\nlines"}}, past: 2}
	do := func(want string, at int, kinds ...keyKind) {
		t.Helper()
		for _, kind := range kinds {
			l.edit(key{kind: kind})
		}
		if l.text != want || l.at != at {
			t.Errorf("%q at %d, want %q at %d", l.text, l.at, want, at)
		}
	}
	l.insert("call größe=👍🏽")
	do("call größe=", 13, keyBackspace)
	do("call größe=", 5, keyWordLeft)
	do("größe=", 0, keyKillStart)
	do("größe=call ", 13, keyEnd, keyYank)
	do("größe=", 8, keyKillWord, keyKillWord, keyYank, keyBackspace, keyBackspace, keyBackspace, keyBackspace, keyBackspace)
	do("two\nlines", 9, keyUp)
	do("two\nlines", 3, keyUp)
	do("one", 3, keyUp)
	do("two\nlines", 9, keyDown)
	do("größe=", 8, keyDown)
	do("größe=", 2, keyHome, keyRight, keyRight)
	do("g", 1, keyLeft, keyKillEnd)
}
