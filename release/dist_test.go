//go:build release

package release

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	distDir = flag.String("dist", "../dist", "the `directory` that goreleaser has filled")
	one     = flag.Bool("one", false, "it is for the platform of this machine alone, without what describes and signs it")
)

// dist is a directory of artifacts.
type dist struct {
	dir string
	// Version, Commit and Date are the release's; all times are Date.
	Version, Commit string
	Date            time.Time
}

func openDist(t *testing.T) dist {
	t.Helper()
	d := dist{dir: *distDir}
	read := func(name string, into any) {
		data, err := os.ReadFile(filepath.Join(d.dir, name))
		if err == nil {
			err = json.Unmarshal(data, into)
		}
		if err != nil {
			t.Fatalf("%v\nmake snapshot fills the directory", err)
		}
	}
	read("metadata.json", &d)
	// The time of the build is no part of what is built; that of the commit is.
	info, err := os.Stat(filepath.Join(d.dir, "metadata.json"))
	if err != nil {
		t.Fatal(err)
	}
	d.Date = info.ModTime().UTC()
	return d
}

// file returns the path of an artifact: file("linux_amd64.deb").
func (d dist) file(end string) string {
	return filepath.Join(d.dir, "mcpctl_"+d.Version+"_"+end)
}

// platforms are those that the release is for.
func platforms() []string {
	if *one {
		return []string{runtime.GOOS + "_" + runtime.GOARCH}
	}
	return []string{"darwin_amd64", "darwin_arm64", "linux_amd64", "linux_arm64", "windows_amd64", "windows_arm64"}
}

// artifacts are the ends of the names of all that is uploaded, but for the checksums.
func artifacts() []string {
	var ends []string
	for _, p := range platforms() {
		archive := p + ".tar.gz"
		if strings.HasPrefix(p, "windows") {
			archive = p + ".zip"
		}
		ends = append(ends, archive)
		if !*one {
			ends = append(ends, archive+".spdx.json")
		}
		if strings.HasPrefix(p, "linux") {
			ends = append(ends, p+".deb", p+".rpm", p+".apk")
		}
	}
	return ends
}

// TestChecksumsCoverEverything compares checksums.txt with what lies beside it.
func TestChecksumsCoverEverything(t *testing.T) {
	d := openDist(t)
	data, err := os.ReadFile(filepath.Join(d.dir, "checksums.txt"))
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]string{}
	for line := range strings.Lines(string(data)) {
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !ok {
			t.Fatalf("checksums.txt: %q", line)
		}
		sums[name] = sum
	}
	var want []string
	for _, end := range artifacts() {
		name := filepath.Base(d.file(end))
		want = append(want, name)
		data, err := os.ReadFile(d.file(end))
		if err != nil {
			t.Error(err)
			continue
		}
		if sum := fmt.Sprintf("%x", sha256.Sum256(data)); sum != sums[name] {
			t.Errorf("%s: checksums.txt has %q, it is %s", name, sums[name], sum)
		}
	}
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(sums)); !slices.Equal(got, want) {
		t.Errorf("checksums.txt has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// entry is a file, a directory or a link in an archive or a package.
type entry struct {
	mode  fs.FileMode
	owner string
	time  time.Time
	data  []byte
}

func (e entry) String() string {
	return fmt.Sprintf("%v %s %s", e.mode, e.owner, e.time.Format(time.RFC3339))
}

// places are the entries by their paths, without a slash or dot at their beginning.
type places map[string]entry

// untar reads a tar archive; what Alpine concatenates is one for Go.
func untar(t *testing.T, r io.Reader) places {
	t.Helper()
	found := places{}
	for a := tar.NewReader(r); ; {
		h, err := a.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(a)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(path.Clean("/"+h.Name), "/")
		if _, twice := found[name]; twice {
			t.Errorf("%s is there twice", name)
		}
		owner := h.Uname + ":" + h.Gname
		if h.Uid != 0 || h.Gid != 0 {
			owner = fmt.Sprintf("%s %d:%d", owner, h.Uid, h.Gid)
		}
		found[name] = entry{h.FileInfo().Mode(), owner, h.ModTime.UTC(), data}
	}
}

func untarFile(t *testing.T, name string) places {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return untar(t, gunzip(t, data))
}

func unzipFile(t *testing.T, name string) places {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	found := places{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		found[f.Name] = entry{f.Mode(), "root:root", f.Modified.UTC(), data}
	}
	return found
}

// check compares the entries with the files that are wanted, by their modes; directories may be there above them.
func (p places) check(t *testing.T, d dist, want map[string]fs.FileMode) {
	t.Helper()
	for name, e := range p {
		mode, wanted := want[name]
		switch {
		case e.mode.IsDir() && !wanted:
			above := slices.ContainsFunc(slices.Collect(maps.Keys(want)), func(w string) bool { return name == "" || strings.HasPrefix(w, name+"/") })
			if !above || e.mode.Perm() != 0o755 {
				t.Errorf("%s: %v: nothing is below it, or its mode is wrong", name, e)
			}
		case !wanted:
			t.Errorf("%s: %v: nobody wants it", name, e)
		case e.mode != mode:
			t.Errorf("%s: %v: its mode should be %v", name, e, mode)
		}
		if e.owner != "root:root" || !e.time.Equal(d.Date) {
			t.Errorf("%s: %v: want root:root and %s", name, e, d.Date.Format(time.RFC3339))
		}
	}
	for name := range want {
		if _, ok := p[name]; !ok {
			t.Errorf("%s is missing", name)
		}
	}
}

// pages are the names of the man pages, from what was generated for the archives.
func pages(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("../build/man/*.[1-9]")
	if err != nil || len(found) < 20 {
		t.Fatalf("build/man has %d pages, %v", len(found), err)
	}
	for i, f := range found {
		found[i] = filepath.Base(f)
	}
	return found
}

// TestArchives looks into the archives of all platforms.
func TestArchives(t *testing.T) {
	d := openDist(t)
	for _, p := range platforms() {
		t.Run(p, func(t *testing.T) {
			binary, end, unpack := "mcpctl", ".tar.gz", untarFile
			if strings.HasPrefix(p, "windows") {
				binary, end, unpack = "mcpctl.exe", ".zip", unzipFile
			}
			want := map[string]fs.FileMode{binary: 0o755}
			for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md", "THIRD_PARTY_NOTICES"} {
				want[name] = 0o644
			}
			for _, shell := range []string{"bash", "zsh", "fish", "ps1"} {
				want["completions/mcpctl."+shell] = 0o644
			}
			for _, page := range pages(t) {
				want["man/"+page] = 0o644
			}
			found := unpack(t, d.file(p+end))
			found.check(t, d, want)
			notices := found["THIRD_PARTY_NOTICES"].data
			for _, module := range []string{"github.com/modelcontextprotocol/go-sdk v", "github.com/spf13/cobra v", "The Go Authors"} {
				if !bytes.Contains(notices, []byte(module)) {
					t.Errorf("the notices lack %s", module)
				}
			}
		})
	}
}

// TestSBOMNamesTheModules takes a module and its version from go.mod and finds them in each list of parts.
func TestSBOMNamesTheModules(t *testing.T) {
	if *one {
		t.Skip("made by make snapshot")
	}
	d := openDist(t)
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	const sdk = "github.com/modelcontextprotocol/go-sdk"
	_, rest, _ := strings.Cut(string(mod), sdk+" ")
	version, _, _ := strings.Cut(rest, "\n")
	for _, end := range artifacts() {
		if !strings.HasSuffix(end, ".spdx.json") {
			continue
		}
		t.Run(end, func(t *testing.T) {
			data, err := os.ReadFile(d.file(end))
			if err != nil {
				t.Fatal(err)
			}
			var doc struct {
				SPDXVersion  string
				CreationInfo struct{ Created time.Time }
				Packages     []struct{ Name, VersionInfo string }
			}
			if err := json.Unmarshal(data, &doc); err != nil {
				t.Fatal(err)
			}
			versions := map[string]string{}
			for _, p := range doc.Packages {
				versions[p.Name] = p.VersionInfo
			}
			if doc.SPDXVersion != "SPDX-2.3" || !doc.CreationInfo.Created.Equal(d.Date) {
				t.Errorf("it is %s of %s", doc.SPDXVersion, doc.CreationInfo.Created)
			}
			if versions[sdk] != version || versions["stdlib"] == "" || versions["mcpctl"] != d.Version {
				t.Errorf("the SDK is %q, the standard library %q, mcpctl %q", versions[sdk], versions["stdlib"], versions["mcpctl"])
			}
			here, _ := filepath.Abs("..")
			if bytes.Contains(data, []byte(here)) {
				t.Errorf("it has the directory %s", here)
			}
		})
	}
}

// TestCask holds the cask of Homebrew against the archives.
func TestCask(t *testing.T) {
	d := openDist(t)
	data, err := os.ReadFile(filepath.Join(d.dir, "homebrew", "Casks", "mcpctl.rb"))
	if err != nil {
		t.Fatal(err)
	}
	cask := string(data)
	for _, p := range platforms() {
		if strings.HasPrefix(p, "windows") {
			continue
		}
		archive, err := os.ReadFile(d.file(p + ".tar.gz"))
		if err != nil {
			t.Fatal(err)
		}
		if sum := fmt.Sprintf("%x", sha256.Sum256(archive)); !strings.Contains(cask, sum) {
			t.Errorf("the sum of the archive for %s is missing", p)
		}
	}
	for _, page := range pages(t) {
		if !strings.Contains(cask, `manpage "man/`+page+`"`) {
			t.Errorf("%s is missing: add it to homebrew_casks in .goreleaser.yaml", page)
		}
	}
	if n := strings.Count(cask, "manpage "); n != len(pages(t)) {
		t.Errorf("it has %d man pages, and the archive %d", n, len(pages(t)))
	}
	for _, want := range []string{`binary "mcpctl"`, "completions/mcpctl.bash", "completions/mcpctl.zsh", "completions/mcpctl.fish", `version "` + d.Version + `"`} {
		if !strings.Contains(cask, want) {
			t.Errorf("%s is missing in\n%s", want, cask)
		}
	}
}

// clean is an environment in which nothing of the person who runs the test is found.
func clean(home string) []string {
	env := []string{"HOME=" + home, "LC_ALL=C.UTF-8", "LANG=C.UTF-8"}
	for _, kind := range []string{"CONFIG", "CACHE", "STATE", "DATA"} {
		env = append(env, "XDG_"+kind+"_HOME="+filepath.Join(home, strings.ToLower(kind)))
	}
	return env
}
