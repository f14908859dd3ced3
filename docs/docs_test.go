//go:build linux

package docs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"gopkg.in/yaml.v3"

	"github.com/mcpctl/mcpctl/internal/faultlab"
)

var update = flag.Bool("update", false, "write what the commands print into the pages")

// root is the repository, seen from here.
const root = ".."

// generated are pages that other tests write, from what they have run.
var generated = []string{"../docs/checks.md", "../docs/faults.md", "../docs/findings.md"}

// notRun is every command of the pages that is not run here, by page, so that none joins them unseen. The page tells why.
var notRun = map[string][]string{
	"README.md": {
		"brew install --cask mcpctl/tap/mcpctl",
		"sudo dpkg -i mcpctl_1.0.0_linux_amd64.deb",
		"sudo rpm -i mcpctl_1.0.0_linux_amd64.rpm",
		"sudo apk add --allow-untrusted mcpctl_1.0.0_linux_amd64.apk",
	},
	"docs/performance.md": {
		"go build -trimpath -o /tmp/mcpctl ./cmd/mcpctl",
		"GODEBUG=inittrace=1 /tmp/mcpctl version                            # what runs before main",
		"perf stat -r 20 -e page-faults,task-clock /tmp/mcpctl version",
		"perf record -e page-faults -c 1 -g /tmp/mcpctl version             # who touches new memory",
		"strace -f -c /tmp/mcpctl version",
		"go tool nm -size -sort size /tmp/mcpctl | head -50                 # what makes it large",
		"go test ./cmd/mcpctl -run TestAllocationsOfHotPaths -v -memprofile mem.out -memprofilerate 1024",
		"go tool pprof -sample_index=alloc_space -top -cum mem.out",
		"go test ./pkg/session -bench Do -run '^$' -cpuprofile cpu.out",
	},
	"docs/upgrading.md": {
		`cosign verify-blob checksums.txt --bundle checksums.txt.sigstore.json \`,
		`  --certificate-identity-regexp '^https://github\.com/mcpctl/mcpctl/\.github/workflows/release\.yml@refs/tags/v' \`,
		"  --certificate-oidc-issuer https://token.actions.githubusercontent.com",
	},
}

// shortened are the blocks of which a duration is replaced by a shorter one, or whose output is not compared, with the
// directive.
var shortened = map[string][]string{
	"docs/recovery.md": {"varies how many calls are made in two seconds"},
}

// pages returns the pages for readers.
func pages(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, pattern := range []string{root + "/*.md", root + "/docs/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, found...)
	}
	return slices.DeleteFunc(list, func(path string) bool { return path == root+"/CHANGELOG.md" })
}

// sources makes the cache of test results see the code from which the programs are built.
func sources(t *testing.T) {
	t.Helper()
	for _, dir := range []string{"cmd", "pkg", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") || !strings.HasSuffix(path, ".go") {
				return err
			}
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			return f.Close()
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// build builds mcpctl. This test itself is the laboratory.
func build(t *testing.T) map[string]string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	programs := map[string]string{"mcpctl": filepath.Join(t.TempDir(), "mcpctl"), "faultlab": self}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false",
		"-ldflags", "-s -w -X main.version="+version+" -X main.commit=1a2b3c4", "-o", programs["mcpctl"], "./cmd/mcpctl")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return programs
}

// TestMain lets the test binary be faultlab, for pages whose servers misbehave.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "faultlab" {
		os.Exit(faultlab.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

// TestPages runs every command line of the pages, and compares what it prints with what the page shows. With -update it
// writes the pages.
func TestPages(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"bash", "go"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the commands need %s", program)
		}
	}
	sources(t)
	programs := build(t)
	flags := &known{program: programs["mcpctl"], help: map[string]string{}}
	t.Run("all", func(t *testing.T) {
		for _, path := range pages(t) {
			t.Run(filepath.Base(path), func(t *testing.T) {
				t.Parallel()
				p, err := readPage(path)
				if err != nil {
					t.Fatal(err)
				}
				inline(t, p, flags)
				if slices.Contains(generated, path) {
					return
				}
				s, err := newSandbox(t.Context(), programs)
				if err != nil {
					t.Fatal(err)
				}
				r := &reader{t: t, page: p, sandbox: s}
				t.Cleanup(func() {
					if err := s.close(); err != nil {
						t.Error(err)
					}
				})
				r.run(t.Context())
			})
		}
	})
}

var clone = flag.Bool("clone", false, "follow the README in a fresh clone, where nothing stands for git and go")

// TestReadmeInAFreshClone follows the README of the last commit as a stranger would: with an empty home, the real git and the
// real go, and the program that go install has put there. make alone only tells what it would do. What is fetched comes from this
// repository, and modules from the cache of this machine if they are there.
func TestReadmeInAFreshClone(t *testing.T) {
	if !*clone {
		t.Skip("takes a minute or more: make readme")
	}
	ctx := t.Context()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSandbox(ctx, map[string]string{"faultlab": self})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	goEnv := func(name string) string {
		out, err := exec.CommandContext(ctx, "go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	s.limit = buildLimit
	s.path = filepath.Join(goEnv("GOROOT"), "bin") + ":" + s.path
	s.env = []string{
		"GIT_CONFIG_COUNT=2",
		"GIT_CONFIG_KEY_0=url.file://" + s.repository + ".insteadOf", "GIT_CONFIG_VALUE_0=https://github.com/mcpctl/mcpctl",
		"GIT_CONFIG_KEY_1=safe.directory", "GIT_CONFIG_VALUE_1=*",
		"GOPRIVATE=github.com/mcpctl/mcpctl", "GOSUMDB=off",
		"GOPROXY=file://" + goEnv("GOMODCACHE") + "/cache/download|" + goEnv("GOPROXY"),
		// The packages of other modules have been compiled for make build, and the home can be removed.
		"GOCACHE=" + goEnv("GOCACHE"), "CGO_ENABLED=0", "GOFLAGS=-trimpath -modcacherw", "GOTOOLCHAIN=local",
	}
	committed := filepath.Join(t.TempDir(), "README.md")
	text, err := exec.CommandContext(ctx, "git", "-C", root, "show", "HEAD:README.md").Output()
	if err == nil {
		err = os.WriteFile(committed, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	p, err := readPage(committed)
	if err != nil {
		t.Fatal(err)
	}
	(&reader{t: t, page: p, sandbox: s, clone: true}).run(ctx)
}

// reader follows a page word by word.
type reader struct {
	t       *testing.T
	page    *page
	sandbox *sandbox
	clone   bool // a stranger's machine: nothing stands for git and go

	changed map[int][]string // new lines of blocks, by the line of the fence
	notRun  []string
	short   []string
}

func (r *reader) errorf(line int, format string, args ...any) {
	r.t.Helper()
	r.t.Errorf("%s:%d: %s", r.page.path, line, fmt.Sprintf(format, args...))
}

func (r *reader) run(ctx context.Context) {
	r.t.Helper()
	r.changed = map[int][]string{}
	for _, i := range r.page.items {
		if ctx.Err() != nil {
			return
		}
		if i.block {
			r.block(ctx, i)
			continue
		}
		if err := r.directive(ctx, i); err != nil {
			r.t.Fatalf("%s:%d: %v", r.page.path, i.line, err)
		}
	}
	name := strings.TrimPrefix(r.page.path, root+"/")
	if r.clone {
		return
	}
	if !slices.Equal(r.notRun, notRun[name]) {
		r.t.Errorf("%s: not run are\n%q\nand the list of this test has\n%q", name, r.notRun, notRun[name])
	}
	if !slices.Equal(r.short, shortened[name]) {
		r.t.Errorf("%s: shortened or not compared are\n%q\nand the list of this test has\n%q", name, r.short, shortened[name])
	}
	if *update {
		r.write()
	}
}

// directive does what stands by itself.
func (r *reader) directive(ctx context.Context, i item) error {
	s := r.sandbox
	switch i.verb {
	case "serve":
		return s.world.serve(ctx, i.rest, s.below)
	case "stop":
		return s.world.stop(i.rest)
	case "program":
		name, script, _ := strings.Cut(i.rest, ":")
		if r.clone && slices.Contains([]string{"git", "go"}, name) {
			return nil
		}
		return s.program(name, strings.Join(append([]string{strings.TrimSpace(script)}, i.body...), "\n"))
	case "file":
		return s.file(i.rest, i.body)
	case "fresh":
		return s.fresh()
	case "env":
		i.body = []string{"export " + i.rest}
	}
	code, lines, err := s.shell(ctx, "set -e\n"+strings.Join(i.body, "\n"), how{})
	if err == nil && code != 0 {
		err = fmt.Errorf("exit code %d: %s", code, strings.Join(lines, "\n"))
	}
	return err
}

// block does what its language and its directives say.
func (r *reader) block(ctx context.Context, i item) {
	r.t.Helper()
	if why, ok := i.option("not run"); ok {
		if why == "" {
			r.errorf(i.line, "not run: the reason is missing")
		}
		for _, line := range i.text {
			if line = strings.TrimPrefix(line, "$ "); line != "" {
				r.notRun = append(r.notRun, line)
			}
		}
		return
	}
	if name, ok := i.option("file"); ok {
		if err := r.sandbox.file(name, i.text); err != nil {
			r.errorf(i.line, "%v", err)
		}
	}
	switch i.lang {
	case "console":
		r.console(ctx, i)
	case "sh":
		if _, ok := i.option("file"); !ok {
			r.script(ctx, i)
		}
	case "yaml":
		r.yaml(ctx, i)
	case "json":
		if !json.Valid([]byte(strings.Join(i.text, "\n"))) {
			r.errorf(i.line, "this is not JSON")
		}
	case "go":
		r.example(i)
	case "text":
		for n, line := range i.text {
			if strings.HasPrefix(line, "$ ") || strings.HasPrefix(strings.TrimSpace(line), "mcpctl ") {
				r.errorf(i.line+1+n, "a command in a block of text is not run: make it a console block")
			}
		}
	case "":
		r.errorf(i.line, "a block without a language: write ```text, or what it is")
	}
}

// exitCodes returns the exit codes that a block says its commands have.
func (r *reader) exitCodes(i item, n int) []int {
	codes := make([]int, n)
	rest, ok := i.option("exits")
	if !ok {
		return codes
	}
	words := strings.Fields(rest)
	if len(words) != 1 && len(words) != n {
		r.errorf(i.line, "exits %s: there are %d commands", rest, n)
		return codes
	}
	for k, word := range words {
		code, err := strconv.Atoi(word)
		if err != nil {
			r.errorf(i.line, "exits %s: %v", rest, err)
		}
		codes[n-len(words)+k] = code
	}
	return codes
}

// with replaces a duration or a number by a shorter one, so that nobody has to wait.
func (r *reader) with(i item, text string) string {
	rest, ok := i.option("with")
	if !ok {
		return text
	}
	m := regexp.MustCompile(`^(\d+[smh]?) as (\d+m?[smh]?)$`).FindStringSubmatch(rest)
	if m == nil || !strings.Contains(text, m[1]) {
		return text
	}
	return strings.ReplaceAll(text, m[1], m[2])
}

func (r *reader) note(i item) {
	for _, verb := range []string{"with", "varies"} {
		if rest, ok := i.option(verb); ok {
			r.short = append(r.short, verb+" "+rest)
		}
	}
}

// console runs commands one by one, and compares what they print.
func (r *reader) console(ctx context.Context, i item) {
	r.t.Helper()
	r.note(i)
	commands, err := i.commands()
	if err != nil {
		r.errorf(i.line, "%v", err)
		return
	}
	h := how{terminal: true, columns: 80}
	if rest, ok := i.option("columns"); ok {
		n, err := strconv.ParseUint(rest, 10, 16)
		if err != nil {
			r.errorf(i.line, "columns: %v", err)
		}
		h.columns = uint16(n)
	}
	_, h.person = i.option("person")
	for _, o := range i.options {
		if o.verb != "answer" {
			continue
		}
		when, types, ok := strings.Cut(o.rest, " => ")
		if !ok {
			r.errorf(o.line, "write answer TEXT => REPLY")
		}
		switch types {
		case "^C":
			types = "\x03"
		case "^D":
			types = "\x04"
		case "Enter":
			types = "\r"
		default:
			types += "\r"
		}
		h.person = true
		h.answers = append(h.answers, answer{when, types})
	}
	_, varies := i.option("varies")
	codes := r.exitCodes(i, len(commands))
	var lines []string
	same := true
	for k, c := range commands {
		code, got, err := r.sandbox.shell(ctx, r.with(i, c.text), h)
		if err != nil {
			r.errorf(c.line, "%s: %v", c.text, err)
			return
		}
		if code != codes[k] {
			r.errorf(c.line, "%s: exit code %d, and the page says %d:\n%s", c.text, code, codes[k], strings.Join(got, "\n"))
		}
		if r.clone { // the first go run of a machine tells what it fetches
			got = slices.DeleteFunc(got, func(line string) bool { return strings.HasPrefix(line, "go: downloading ") })
		}
		lines = append(append(lines, c.shown...), got...)
		// An empty line before the next command is the page's own.
		if shown := trimEmpty(c.output); (!varies || len(shown) == 0) && !sameText(shown, got) {
			same = false
			if !*update {
				r.errorf(c.line, "%s: the page shows\n%s\nand it printed\n%s\n(go test ./docs -update writes it)",
					c.text, strings.Join(shown, "\n"), strings.Join(got, "\n"))
			}
		}
	}
	if !same {
		r.changed[i.line] = lines
	}
}

func trimEmpty(lines []string) []string {
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// script runs a block as one script. What it prints is not compared, and its exit code is that of the first command that
// fails.
func (r *reader) script(ctx context.Context, i item) {
	r.t.Helper()
	r.note(i)
	text := strings.Join(i.text, "\n")
	code, lines, err := r.sandbox.shell(ctx, "set -e\n"+r.with(i, text), how{})
	if err != nil {
		r.errorf(i.line, "%v", err)
		return
	}
	if want := r.exitCodes(i, 1)[0]; code != want {
		r.errorf(i.line, "exit code %d, want %d, after\n%s", code, want, strings.Join(lines, "\n"))
	}
}

// yaml reads a block; a configuration is validated by the program.
func (r *reader) yaml(ctx context.Context, i item) {
	r.t.Helper()
	text := strings.Join(i.text, "\n")
	var doc any
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		r.errorf(i.line, "%v", err)
		return
	}
	top, ok := doc.(map[string]any)
	if !ok || top["servers"] == nil {
		return
	}
	file := filepath.Join(r.sandbox.state, "config.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		r.errorf(i.line, "%v", err)
		return
	}
	cmd := exec.CommandContext(ctx, filepath.Join(r.sandbox.bin, "mcpctl"), "config", "validate", "--config", file)
	cmd.Env = []string{"HOME=" + r.sandbox.state}
	if out, err := cmd.CombinedOutput(); err != nil {
		r.errorf(i.line, "config validate: %v: %s", err, out)
	}
}

// example compares a block with the example that it is taken from.
func (r *reader) example(i item) {
	r.t.Helper()
	rest, ok := i.option("example")
	if !ok {
		r.errorf(i.line, "a block of Go is taken from an example: write the directive example PACKAGE NAME [FIRST-LAST]")
		return
	}
	lines, err := exampleLines(strings.Fields(rest))
	if err != nil {
		r.errorf(i.line, "%v", err)
		return
	}
	if !slices.Equal(lines, i.text) {
		r.changed[i.line] = lines
		if !*update {
			r.errorf(i.line, "the example differs: go test ./docs -update writes it")
		}
	}
}

// exampleLines returns the body of an example of a package, without its output: words are the directory, the name, and
// the first and last of its paragraphs, as in 2-3.
func exampleLines(words []string) ([]string, error) {
	if len(words) < 2 {
		return nil, fmt.Errorf("write example PACKAGE NAME [FIRST-LAST]")
	}
	files, err := filepath.Glob(filepath.Join(root, words[0], "*_test.go"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, source, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Name.Name != words[1] || f.Recv != nil {
				continue
			}
			body := string(source[set.Position(f.Body.Lbrace).Offset+1 : set.Position(f.Body.Rbrace).Offset])
			body, _, _ = strings.Cut(body, "\n\t// Output:")
			body, _, _ = strings.Cut(body, "\n\t// Unordered output:")
			var lines []string
			for line := range strings.SplitSeq(strings.Trim(body, "\n"), "\n") {
				lines = append(lines, strings.TrimPrefix(line, "\t"))
			}
			lines = trimEmpty(lines)
			if len(words) < 3 {
				return lines, nil
			}
			paragraphs := strings.Split(strings.Join(lines, "\n"), "\n\n")
			var first, last int
			if _, err := fmt.Sscanf(words[2], "%d-%d", &first, &last); err != nil || first < 1 || last < first || last > len(paragraphs) {
				return nil, fmt.Errorf("example %s: it has %d paragraphs", strings.Join(words, " "), len(paragraphs))
			}
			return strings.Split(strings.Join(paragraphs[first-1:last], "\n\n"), "\n"), nil
		}
	}
	return nil, fmt.Errorf("%s has no %s", words[0], words[1])
}

// write puts new output into the page.
func (r *reader) write() {
	r.t.Helper()
	if len(r.changed) == 0 {
		return
	}
	var out []string
	for n := 0; n < len(r.page.lines); n++ {
		out = append(out, r.page.lines[n])
		lines, ok := r.changed[n+1]
		if !ok {
			continue
		}
		out = append(out, lines...)
		for r.page.lines[n+1] != "```" {
			n++
		}
	}
	if err := os.WriteFile(r.page.path, []byte(strings.Join(out, "\n")+"\n"), 0o644); err != nil { //nolint:gosec // a page is for all
		r.t.Error(err)
	}
}

// known is what the program's help says, asked once for each command.
type known struct {
	program string
	mu      sync.Mutex
	help    map[string]string
}

func (k *known) of(ctx context.Context, words string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if text, ok := k.help[words]; ok {
		return text, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, k.program, append(strings.Fields(words), "--help")...)
	cmd.Env = []string{"HOME=/nonexistent"}
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("mcpctl %s --help: %w: %s", words, err, complaint.String())
	}
	k.help[words] = out.String()
	return out.String(), nil
}

var (
	codeSpan = regexp.MustCompile("`(mcpctl [^`]+)`")
	flagWord = regexp.MustCompile(`(^|[\s\[|])(--?[a-z][a-z-]*)`)
)

// inline looks whether the commands and flags that a page names within its text exist.
func inline(t *testing.T, p *page, k *known) {
	t.Helper()
	inBlock := map[int]bool{}
	for _, i := range p.items {
		for n := range len(i.text) + 2 {
			inBlock[i.line+n] = inBlock[i.line+n] || i.block
		}
	}
	for n, line := range p.lines {
		if inBlock[n+1] {
			continue
		}
		for _, m := range codeSpan.FindAllStringSubmatch(line, -1) {
			own, _, _ := strings.Cut(m[1], " -- ") // behind it are the words of another program
			words := strings.Fields(own)[1:]
			general, err := k.of(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			text := general
			if len(words) > 0 && regexp.MustCompile(`^[a-z-]+$`).MatchString(words[0]) && words[0][0] != '-' {
				if text, err = k.of(t.Context(), words[0]); err != nil {
					t.Errorf("%s:%d: `%s`: %v", p.path, n+1, m[1], err)
					continue
				}
				if words[0] == "config" && len(words) > 1 {
					if text, err = k.of(t.Context(), "config "+words[1]); err != nil {
						t.Errorf("%s:%d: `%s`: %v", p.path, n+1, m[1], err)
					}
				}
			}
			for _, f := range flagWord.FindAllStringSubmatch(regexp.MustCompile(`"[^"]*"|'[^']*'`).ReplaceAllString(own, ""), -1) {
				if !regexp.MustCompile(regexp.QuoteMeta(f[2]) + `([\s,=\[]|$)`).MatchString(text + "\n" + general) {
					t.Errorf("%s:%d: `%s`: the help has no %s", p.path, n+1, m[1], f[2])
				}
			}
		}
	}
}
