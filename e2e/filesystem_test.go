//go:build e2e && linux

package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFilesystem walks from add to doctor with the server "filesystem", which gets its arguments on the command line.
func TestFilesystem(t *testing.T) {
	t.Parallel()
	u, dir := newUser(t), t.TempDir()
	note := filepath.Join(dir, "note.txt")
	u.write(note, "first\nsecond\n")
	u.run("add", "files", "--", "node", script("filesystem"), dir).
		exits(0).complains().shows("by stdio", "14 tools: read_file, ")
	u.run("list", "--check", "-o", "json").exits(0).json(`.servers[0] | .state == "ready" and .tools == 14`)
	u.run("tools", "files").exits(0).complains().shows("list_directory\t", "write_file\t")
	u.run("tools", "files", "write_file").exits(0).complains().
		shows("path\tstring\trequired", "content\tstring\trequired", "mcpctl call files write_file path=")

	u.run("call", "files", "list_directory", "path="+dir).exits(0).complains().prints("[FILE] note.txt")
	// Text comes back byte for byte.
	u.run("call", "files", "read_text_file", "path="+note).exits(0).complains().prints("first\nsecond\n")
	// A number in the schema is a number on the wire.
	u.run("call", "files", "read_text_file", "path="+note, "head=1").exits(0).complains().prints("first")
	u.run("call", "files", "read_multiple_files", `paths=["`+note+`"]`, "-o", "json").exits(0).
		json(`.result.content[0].text | contains("first\nsecond\n")`)

	// What is written is exactly what was given, from a file and from the words.
	written, text := filepath.Join(dir, "copy.txt"), "a=b: \"ü\" $HOME @ \n\n"
	source := filepath.Join(u.cwd, "source.txt")
	u.write(source, text)
	u.run("call", "files", "write_file", "path="+written, "content=@source.txt").exits(0).complains().
		shows("Successfully wrote to " + written)
	if got := u.read(written); got != text {
		t.Errorf("the file holds %q, want %q", got, text)
	}
	u.run("call", "files", "write_file", "path="+written, "content=7", "-o", "json").exits(0).
		json(`.result.content[0].text | startswith("Successfully")`)
	if got := u.read(written); got != "7" {
		t.Errorf("the file holds %q, want %q", got, "7")
	}
	u.run("call", "files", "edit_file", "path="+written, `edits:=[{"oldText":"7","newText":"8"}]`).exits(0).shows("-7", "+8")
	if got := u.read(written); got != "8" {
		t.Errorf("the file holds %q, want %q", got, "8")
	}

	u.run("doctor", "files", "--kill-session").exits(0).complains().shows("files   PASS", "✓ recovery.fresh")
}

// TestFilesystemRefuses shows that an error of the tool is one of the tool: code 5, with nothing on standard output.
func TestFilesystemRefuses(t *testing.T) {
	t.Parallel()
	u, dir := newUser(t), t.TempDir()
	outside := filepath.Join(t.TempDir(), "outside.txt")
	u.write(outside, "secret")
	u.run("add", "files", "--no-check", "--", "node", script("filesystem"), dir).exits(0)
	u.run("call", "files", "read_text_file", "path="+outside).exits(5).prints("").
		complains("Access denied", outside)
	u.run("call", "files", "read_text_file", "path="+outside, "-o", "json").exits(5).json(
		`.server == "files" and .result.isError and (.result.content[0].text | contains("Access denied"))`,
		`has("error") | not`,
	)
	u.run("call", "files", "write_file", "path="+outside, "content=x").exits(5).prints("")
	if got := u.read(outside); got != "secret" {
		t.Errorf("the file outside holds %q", got)
	}
	u.run("call", "files", "read_text_file").exits(2).prints("").complains("path")
	// The server ends at once when it is given a directory that does not exist, and says why.
	missing := filepath.Join(dir, "missing")
	u.run("add", "broken", "--", "node", script("filesystem"), missing).exits(3).prints("").
		complains("broken", missing, "nothing was saved")
	u.run("doctor", "-o", "json", "--", "node", script("filesystem"), missing).exits(1).json(
		`.servers[0].cause | .check == "session.open" and .class == "connect"`,
		`check("session.open") | .data.exit_status == 1 and (.detail | contains("`+missing+`"))`,
	)
	if _, err := os.Stat(missing); err == nil {
		t.Error("the directory was made")
	}
}
