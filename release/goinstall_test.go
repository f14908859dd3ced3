//go:build release

package release

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// command runs a program in a directory, and returns what it prints.
func command(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, said.String())
	}
	return strings.TrimSpace(string(out))
}

// versionOf is what a program says of itself.
type versionOf struct{ Mcpctl, Commit, Date string }

func says(t *testing.T, program string) versionOf {
	t.Helper()
	env := clean(t.TempDir())
	var v versionOf
	if err := json.Unmarshal([]byte(command(t, ".", env, program, "version", "-o", "json")), &v); err != nil {
		t.Fatal(err)
	}
	// The three ways to ask have one answer.
	if long, short := command(t, ".", env, program, "version"), command(t, ".", env, program, "--version"); !strings.HasPrefix(long, "mcpctl "+v.Mcpctl) ||
		!strings.Contains(short, v.Mcpctl) {
		t.Errorf("version says %q, --version %q, version -o json %q", long, short, v.Mcpctl)
	}
	return v
}

// clone returns a clone of what is committed, with a tag, and what its commit is called and when it was made.
func clone(t *testing.T, tag string) (dir, commit, date string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "mcpctl")
	command(t, ".", nil, "git", "clone", "-q", "--no-local", "..", dir)
	for old := range strings.FieldsSeq(git(t, dir, "tag", "--points-at", "HEAD")) {
		git(t, dir, "tag", "-d", old)
	}
	git(t, dir, "tag", "-a", "-m", tag, tag)
	commit, date = head(t, dir)
	return dir, commit, date
}

// commitAfter adds a commit.
func commitAfter(t *testing.T, dir string) (commit, date string) {
	t.Helper()
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "Something")
	return head(t, dir)
}

func head(t *testing.T, dir string) (commit, date string) {
	t.Helper()
	date = command(t, dir, []string{"TZ=UTC"}, "git", "log", "-1", "--format=%cd", "--date=format-local:%Y-%m-%dT%H:%M:%SZ")
	return git(t, dir, "rev-parse", "HEAD"), date
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	return command(t, dir, nil, "git", append([]string{"-c", "user.name=A", "-c", "user.email=a@example.com"}, args...)...)
}

// TestGoInstall installs the module as people do, with the tag v1.2.3 on what is committed: the toolchain fetches it with git
// where it thinks GitHub is, makes the module's archive with all its rules, and compiles that. Other modules are taken from
// the module cache of this machine.
func TestGoInstall(t *testing.T) {
	repository, _, _ := clone(t, "v1.2.3")
	cache := filepath.Join(command(t, ".", nil, "go", "env", "GOMODCACHE"), "cache", "download")
	gopath := t.TempDir()
	env := []string{
		"GOPATH=" + gopath, "GOMODCACHE=" + filepath.Join(gopath, "pkg", "mod"), "GOBIN=",
		// -modcacherw is for whoever removes the directory, -trimpath for what is compiled already.
		"GOFLAGS=-mod=mod -modcacherw -trimpath", "CGO_ENABLED=0", "GO111MODULE=on", "GOWORK=off",
		"GOPROXY=file://" + filepath.ToSlash(cache), "GONOPROXY=github.com/mcpctl/mcpctl", "GONOSUMDB=*", "GOPRIVATE=", "GOSUMDB=off",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url." + repository + ".insteadOf", "GIT_CONFIG_VALUE_0=https://github.com/mcpctl/mcpctl",
	}
	program := filepath.Join(gopath, "bin", "mcpctl")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}

	command(t, gopath, env, "go", "install", "github.com/mcpctl/mcpctl/cmd/mcpctl@v1.2.3")
	if v := says(t, program); v != (versionOf{Mcpctl: "1.2.3"}) {
		t.Errorf("installed @v1.2.3 it says %+v", v)
	}
	command(t, gopath, env, "go", "install", "github.com/mcpctl/mcpctl/cmd/mcpctl@latest")
	if v := says(t, program); v.Mcpctl != "1.2.3" {
		t.Errorf("installed @latest it says %+v", v)
	}
	if *one {
		return // what follows compiles all of mcpctl once more
	}
	// A commit after the tag has a version that is made of it, and that is what is told.
	commit, date := commitAfter(t, repository)
	command(t, gopath, env, "go", "install", "github.com/mcpctl/mcpctl/cmd/mcpctl@"+commit)
	if v := says(t, program); !strings.HasSuffix(v.Mcpctl, "-"+commit[:12]) || v.Commit != commit[:12] || v.Date != date {
		t.Errorf("installed @%s it says %+v, want the commit and %s", commit, v, date)
	}
}

// TestVersionOfEachBuild builds in the ways in which people do, from a clone with the tag v1.2.3.
func TestVersionOfEachBuild(t *testing.T) {
	repository, commit, date := clone(t, "v1.2.3")
	env := append(clean(t.TempDir()), "GOFLAGS=-trimpath", "CGO_ENABLED=0", "GOCACHE="+command(t, ".", nil, "go", "env", "GOCACHE"),
		"GOPATH="+command(t, ".", nil, "go", "env", "GOPATH"), "GOMODCACHE="+command(t, ".", nil, "go", "env", "GOMODCACHE"))
	program := filepath.Join(repository, "build", "mcpctl")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	build := func(flags ...string) versionOf {
		t.Helper()
		command(t, repository, env, "go", append(append([]string{"build", "-o", program}, flags...), "./cmd/mcpctl")...)
		return says(t, program)
	}
	if v := build(); v != (versionOf{"1.2.3", commit, date}) {
		t.Errorf("go build: %+v", v)
	}
	if v := build("-buildvcs=false"); v != (versionOf{Mcpctl: "dev"}) {
		t.Errorf("go build -buildvcs=false: %+v", v)
	}
	command(t, repository, env, "make", "build")
	if v := says(t, program); v.Mcpctl != "1.2.3" || v.Commit != commit[:12] || v.Date == "" {
		t.Errorf("make build: %+v", v)
	}
	if out := command(t, repository, env, "go", "run", "./cmd/mcpctl", "--version"); !regexp.MustCompile(`^mcpctl (version )?(dev|1\.2\.3)\b`).MatchString(out) {
		t.Errorf("go run: %q", out)
	}
	// What has been changed is not what was tagged.
	if err := os.WriteFile(filepath.Join(repository, "cmd", "mcpctl", "changed.go"), []byte("package main\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if v := build(); v.Mcpctl == "1.2.3" || !strings.Contains(v.Mcpctl, "dirty") {
		t.Errorf("go build of what is not committed: %+v", v)
	}
}
