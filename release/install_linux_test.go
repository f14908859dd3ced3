//go:build release

package release

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// dpkg runs Debian's package manager on a root of its own, as whoever runs the test.
func dpkg(t *testing.T, root string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), needs(t, "dpkg"), append([]string{
		"--root=" + root, "--force-not-root", "--force-bad-path", "--log=/dev/null",
	}, args...)...)
	cmd.Env = append(clean(t.TempDir()), "PATH=/usr/sbin:/usr/bin:/sbin:/bin")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("dpkg %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// emptyRoot returns a root that has nothing but the books of dpkg.
func emptyRoot(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"info", "updates", "triggers"} {
		if err := os.MkdirAll(filepath.Join(root, "var/lib/dpkg", dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"status", "available"} {
		if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg", file), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// below are the files and directories below a root, but for the books of dpkg and what is above them.
func below(t *testing.T, root string) map[string]fs.FileMode {
	t.Helper()
	found := map[string]fs.FileMode{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case name == "var/lib/dpkg":
			return fs.SkipDir
		case name == "." || name == "var" || name == "var/lib":
			return nil
		}
		info, err := e.Info()
		found[name] = info.Mode()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// mcpctl returns a command that runs the installed program: with nothing but the root around it, if that is allowed.
func mcpctl(t *testing.T, root string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(root, "usr/bin/mcpctl"), args...)
	cmd.Env = clean(t.TempDir())
	if os.Geteuid() == 0 {
		cmd.Path, cmd.Args[0], cmd.Dir = "/usr/bin/mcpctl", "/usr/bin/mcpctl", "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
		cmd.Env = clean("/nowhere")
	}
	return cmd
}

// TestDebInEmptyRoot installs the package for this machine where nothing else is, uses it, and removes it.
func TestDebInEmptyRoot(t *testing.T) {
	d := openDist(t)
	root := emptyRoot(t)
	dpkg(t, root, "--install", d.file(runtime.GOOS+"_"+runtime.GOARCH+".deb"))

	t.Run("files", func(t *testing.T) {
		want := installed(t, "deb")
		for name, mode := range below(t, root) {
			if _, wanted := want[name]; wanted && mode != want[name] || !wanted && mode != fs.ModeDir|0o755 {
				t.Errorf("%s: %v", name, mode)
			}
			delete(want, name)
		}
		for name := range want {
			t.Errorf("%s is missing", name)
		}
		if out := dpkg(t, root, "--verify", "mcpctl"); out != "" {
			t.Errorf("dpkg --verify: %s", out)
		}
		if out := dpkg(t, root, "--status", "mcpctl"); !strings.Contains(out, "Status: install ok installed\n") {
			t.Error(out)
		}
	})

	t.Run("program", func(t *testing.T) {
		out, err := mcpctl(t, root, "version", "-o", "json").Output()
		if err != nil {
			t.Fatalf("%v: is it linked statically?\n%s", err, out)
		}
		var doc struct{ Mcpctl, Commit, Date, Platform string }
		if err := json.Unmarshal(out, &doc); err != nil {
			t.Fatal(err)
		}
		if doc.Mcpctl != d.Version || doc.Commit != d.Commit[:12] || doc.Platform != runtime.GOOS+"/"+runtime.GOARCH || doc.Date == "" {
			t.Errorf("it is %+v, want %s of %s", doc, d.Version, d.Commit)
		}
		// Without /proc, /dev, /etc and /tmp the main job is still done.
		if out, err := mcpctl(t, root, "doctor", "demo").CombinedOutput(); err != nil {
			t.Errorf("doctor demo: %v\n%s", err, out)
		}
	})

	t.Run("completions are those of the program", func(t *testing.T) {
		for shell, place := range map[string]string{
			"bash": "usr/share/bash-completion/completions/mcpctl",
			"zsh":  zshOfDebian,
			"fish": "usr/share/fish/vendor_completions.d/mcpctl.fish",
		} {
			want, err := mcpctl(t, root, "completion", shell).Output()
			if err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(filepath.Join(root, place)); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: %s is another script, %v", shell, place, err)
			}
		}
	})

	for _, name := range []string{"bash", "zsh"} {
		t.Run("completion in "+name, func(t *testing.T) {
			s := startShell(t, name, root)
			// The second key lists what there is.
			_, shown := s.complete("mcpctl \t")
			for _, want := range []string{"doctor", "call", "tools", "add", "list"} {
				if !strings.Contains(shown, want) {
					t.Errorf("no %q in what is shown:\n%s", want, shown)
				}
			}
			for typed, want := range map[string]string{
				"mcpctl too":                   "mcpctl tools ",
				"mcpctl tools dem":             "mcpctl tools demo ",
				"mcpctl doctor --explain conf": "mcpctl doctor --explain config.",
				"mcpctl help exit":             "mcpctl help exit-codes ",
			} {
				if line, _ := s.complete(typed); line != want {
					t.Errorf("%s: got %q, want %q", typed, line, want)
				}
			}
		})
	}

	t.Run("completion in fish", func(t *testing.T) {
		fish, err := exec.LookPath("fish")
		if err != nil {
			t.Skip("fish is not installed, and not needed elsewhere")
		}
		cmd := exec.CommandContext(t.Context(), fish, "--no-config", "-c",
			"source "+filepath.Join(root, "usr/share/fish/vendor_completions.d/mcpctl.fish")+"; complete -C 'mcpctl too'")
		cmd.Env = append(clean(t.TempDir()), "PATH="+filepath.Join(root, "usr/bin")+":/usr/bin:/bin")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "tools\t") {
			t.Errorf("%v: %q", err, out)
		}
	})

	t.Run("man pages", func(t *testing.T) {
		groff := needs(t, "groff")
		found, err := filepath.Glob(filepath.Join(root, "usr/share/man/man*/*.gz"))
		if err != nil || len(found) != len(pages(t)) {
			t.Fatalf("%d pages, %v", len(found), err)
		}
		for _, page := range found {
			zipped, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			// All warnings; -z formats without printing.
			cmd := exec.CommandContext(t.Context(), groff, "-man", "-Kutf8", "-Tutf8", "-ww", "-z")
			cmd.Stdin, cmd.Env = gunzip(t, zipped), append(clean(t.TempDir()), "PATH=/usr/bin:/bin")
			if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%s: %v\n%s", filepath.Base(page), err, out)
			}
		}
	})

	dpkg(t, root, "--purge", "mcpctl")
	for name, mode := range below(t, root) {
		t.Errorf("%s (%v) is left after it was removed", name, mode)
	}
	if out := dpkg(t, root, "--get-selections"); slices.Contains(strings.Fields(out), "mcpctl") {
		t.Errorf("dpkg still knows it: %s", out)
	}
}
