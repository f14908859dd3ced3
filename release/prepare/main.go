// Command prepare makes what the archives and packages of a release hold beside the binary, the man pages and the
// completions: the notices of the modules that are linked in, and what Debian's policy wants of a package.
//
// What it writes depends on the commit and the version alone, so that two builds have the same bytes.
package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	out := flag.String("out", "build", "the `directory` that has man, and gets packages and THIRD_PARTY_NOTICES")
	version := flag.String("version", "0.0.0", "the version of the release")
	date := flag.String("date", "1970-01-01T00:00:00Z", "the time of the commit (RFC 3339)")
	flag.Parse()
	if err := prepare(context.Background(), *out, *version, *date); err != nil {
		fmt.Fprintf(os.Stderr, "prepare: error: %v\n", err)
		os.Exit(1)
	}
}

func prepare(ctx context.Context, out, version, date string) error {
	at, err := time.Parse(time.RFC3339, date)
	if err != nil {
		return fmt.Errorf("date: %w", err)
	}
	dir := filepath.Join(out, "packages")
	if err := os.RemoveAll(dir); err != nil { // what an earlier version wrote must not be packed
		return err
	}
	notices, err := notices(ctx)
	if err != nil {
		return fmt.Errorf("notices: %w", err)
	}
	if err := write(filepath.Join(out, "THIRD_PARTY_NOTICES"), notices); err != nil {
		return err
	}
	changes, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		return err
	}
	files := map[string][]byte{
		"THIRD_PARTY_NOTICES.gz": zipped(notices),
		"changelog.gz":           zipped(changes),
		"changelog.Debian.gz":    zipped(debianChangelog(version, at)),
		"copyright":              []byte(debianCopyright),
		"lintian-overrides":      []byte(lintianOverrides),
	}
	pages, err := filepath.Glob(filepath.Join(out, "man", "*.[1-9]"))
	if err != nil {
		return err
	}
	if len(pages) == 0 {
		return fmt.Errorf("%s: no man pages: run gendocs first", filepath.Join(out, "man"))
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		files[filepath.Join("man", filepath.Base(page)+".gz")] = zipped(text)
	}
	for name, data := range files {
		if err := write(filepath.Join(dir, name), data); err != nil {
			return err
		}
	}
	return nil
}

func write(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o644)
}

// zipped compresses as Debian's policy wants it: as well as gzip can, without a name and a time.
func zipped(data []byte) []byte {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = z.Write(data)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		panic(err) // the level is right, and memory takes everything
	}
	return b.Bytes()
}

// debianChangelog is the changelog of the package, which has a form of its own; what changed for users is in the other one.
func debianChangelog(version string, at time.Time) []byte {
	return fmt.Appendf(nil, `mcpctl (%s-1) stable; urgency=medium

  * Release %s.
    What changed: /usr/share/doc/mcpctl/changelog.gz

 -- The mcpctl authors <mcpctl@users.noreply.github.com>  %s
`, strings.Replace(version, "-", "~", 1), version, at.UTC().Format(time.RFC1123Z))
}

// debianCopyright is in the machine-readable form 1.0.
const debianCopyright = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: mcpctl
Source: https://github.com/mcpctl/mcpctl
Comment: The modules that are linked into the program have licences of their
 own. Their texts are in /usr/share/doc/mcpctl/THIRD_PARTY_NOTICES.gz

Files: *
Copyright: 2026 The mcpctl authors
License: Apache-2.0

License: Apache-2.0
 Licensed under the Apache License, Version 2.0 (the "License"); you may not
 use this file except in compliance with the License.
 .
 Unless required by applicable law or agreed to in writing, software
 distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
 WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
 License for the specific language governing permissions and limitations
 under the License.
 .
 On Debian systems, the full text of the License is in
 /usr/share/common-licenses/Apache-2.0
`

// lintianOverrides say why lintian need not complain.
const lintianOverrides = `# Go links statically, so that the program runs wherever it is put.
mcpctl: statically-linked-binary [usr/bin/mcpctl]
# One of several ways to open a browser; others are tried where it is missing.
mcpctl: missing-depends-on-sensible-utils sensible-browser [usr/bin/mcpctl]
# The package is upstream's own and closes no bug of Debian's.
mcpctl: initial-upload-closes-no-bugs [usr/share/doc/mcpctl/changelog.Debian.gz:1]
# The level of the instruction set, which newer versions of dpkg know.
mcpctl: unknown-field Architecture-Variant
`

// module is one whose code is in the binary of some platform.
type module struct{ path, version, dir string }

// notices returns the licences of all that is linked into any of the binaries. Most of them demand to go along with it.
func notices(ctx context.Context) ([]byte, error) {
	var modules []module
	for _, goos := range []string{"linux", "darwin", "windows"} {
		cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}", "./cmd/mcpctl")
		cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
		list, err := run(cmd)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(list) {
			if m := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); len(m) == 3 && m[1] != "" {
				modules = append(modules, module{m[0], m[1], m[2]})
			}
		}
	}
	slices.SortFunc(modules, func(a, b module) int { return cmp.Compare(a.path, b.path) })
	modules = slices.Compact(modules)
	goroot, err := run(exec.CommandContext(ctx, "go", "env", "GOROOT", "GOVERSION"))
	if err != nil {
		return nil, err
	}
	root, goVersion, _ := strings.Cut(strings.TrimSpace(goroot), "\n")
	modules = append([]module{{"Go, its runtime and standard library", goVersion, root}}, modules...)

	var b bytes.Buffer
	b.WriteString("mcpctl is under the Apache License 2.0. It contains what follows, under the licences given there.\n")
	for _, m := range modules {
		texts, err := licences(m.dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.path, err)
		}
		rule := strings.Repeat("=", 80)
		fmt.Fprintf(&b, "\n%s\n%s %s\n%s\n\n%s", rule, m.path, m.version, rule, texts)
	}
	return b.Bytes(), nil
}

// licences returns the texts of a module's licences and notices.
func licences(dir string) ([]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		is := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
		if e.IsDir() || strings.HasSuffix(name, ".GO") || !is("LICENSE") && !is("LICENCE") && !is("COPYING") && !is("NOTICE") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		text = bytes.TrimSpace(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))
		b.Write(append(text, '\n'))
	}
	if b.Len() == 0 {
		return nil, errors.New("no licence found in " + dir)
	}
	return b.Bytes(), nil
}

// run returns what a command prints; what it says when it fails is in the error.
func run(cmd *exec.Cmd) (string, error) {
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args[:2], " "), err, said.Bytes())
	}
	return string(out), nil
}
