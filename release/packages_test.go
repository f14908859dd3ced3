//go:build release

package release

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// installed are the files of a package by the paths at which they are installed.
func installed(t *testing.T, format string) map[string]fs.FileMode {
	t.Helper()
	want := map[string]fs.FileMode{
		"usr/bin/mcpctl": 0o755,
		"usr/share/bash-completion/completions/mcpctl":                          0o644,
		"usr/share/fish/vendor_completions.d/mcpctl.fish":                       0o644,
		"usr/share/doc/mcpctl/THIRD_PARTY_NOTICES.gz":                           0o644,
		"usr/share/doc/mcpctl/changelog.gz":                                     0o644,
		map[bool]string{true: zshOfDebian, false: zshOfOthers}[format == "deb"]: 0o644,
	}
	if format == "deb" {
		want["usr/share/doc/mcpctl/copyright"] = 0o644
		want["usr/share/doc/mcpctl/changelog.Debian.gz"] = 0o644
		want["usr/share/lintian/overrides/mcpctl"] = 0o644
	} else {
		want["usr/share/licenses/mcpctl/LICENSE"] = 0o644
	}
	for _, page := range pages(t) {
		want["usr/share/man/man"+page[len(page)-1:]+"/"+page+".gz"] = 0o644
	}
	return want
}

// Where zsh looks for completions depends on who packaged it.
const (
	zshOfDebian = "usr/share/zsh/vendor-completions/_mcpctl"
	zshOfOthers = "usr/share/zsh/site-functions/_mcpctl"
)

// linux are the platforms for which there are packages.
func linux() []string {
	return slices.DeleteFunc(platforms(), func(p string) bool { return !strings.HasPrefix(p, "linux") })
}

// checkCompressed looks at what is compressed: as well as gzip can, with no time and no name in it.
func (p places) checkCompressed(t *testing.T) {
	t.Helper()
	for name, e := range p {
		if !strings.HasSuffix(name, ".gz") {
			continue
		}
		z, err := gzip.NewReader(bytes.NewReader(e.data))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if text, err := io.ReadAll(z); err != nil || len(text) == 0 {
			t.Errorf("%s: %d bytes, %v", name, len(text), err)
		}
		if effort := e.data[8]; !z.ModTime.IsZero() || z.Name != "" || effort != 2 {
			t.Errorf("%s: its header has the time %s, the name %q, and says %d of the compression", name, z.ModTime, z.Name, effort)
		}
	}
}

// TestDebPlaces reads the packages of Debian without its tools: an ar archive with two tar archives in it.
func TestDebPlaces(t *testing.T) {
	d := openDist(t)
	for _, p := range linux() {
		t.Run(p, func(t *testing.T) {
			members := unar(t, d.file(p+".deb"))
			if string(members["debian-binary"]) != "2.0\n" {
				t.Errorf("debian-binary is %q", members["debian-binary"])
			}
			data := untar(t, gunzip(t, members["data.tar.gz"]))
			data.check(t, d, installed(t, "deb"))
			data.checkCompressed(t)
			control := untar(t, gunzip(t, members["control.tar.gz"]))
			for name := range control {
				// Neither scripts nor files of configuration: there is nothing to do but to unpack.
				if name != "" && name != "control" && name != "md5sums" {
					t.Errorf("the control archive has %s", name)
				}
			}
			fields := string(control["control"].data)
			for _, want := range []string{
				"Package: mcpctl\n", "Architecture: " + strings.TrimPrefix(p, "linux_") + "\n", "Section: utils\n", "Priority: optional\n",
				"Version: " + strings.Replace(d.Version, "-", "~", 1) + "-1\n", "Homepage: https://github.com/mcpctl/mcpctl\n", "Installed-Size: ",
				"Description: ", "Maintainer: The mcpctl authors <",
			} {
				if !strings.Contains("\n"+fields, "\n"+want) {
					t.Errorf("no %q in\n%s", want, fields)
				}
			}
			if strings.Contains(fields, "Depends:") {
				t.Errorf("it depends on something:\n%s", fields)
			}
		})
	}
}

func gunzip(t *testing.T, data []byte) io.Reader {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// unar reads an ar archive.
func unar(t *testing.T, name string) map[string][]byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	rest, ok := bytes.CutPrefix(data, []byte("!<arch>\n"))
	if !ok {
		t.Fatalf("%s is no ar archive", name)
	}
	members := map[string][]byte{}
	for len(rest) >= 60 {
		field := func(from, to int) string { return strings.TrimSpace(string(rest[from:to])) }
		size, err := strconv.Atoi(field(48, 58))
		if err != nil || 60+size > len(rest) {
			t.Fatalf("%s: a member of %q bytes", name, field(48, 58))
		}
		if ids := field(28, 34) + field(34, 40); ids != "00" {
			t.Errorf("%s: %s has the owner %s", name, field(0, 16), ids)
		}
		members[strings.TrimSuffix(field(0, 16), "/")] = rest[60 : 60+size]
		rest = rest[min(60+size+size%2, len(rest)):]
	}
	return members
}

// TestApkPlaces reads the packages of Alpine: three tar archives, one after the other, of which two are about the third.
func TestApkPlaces(t *testing.T) {
	d := openDist(t)
	for _, p := range linux() {
		t.Run(p, func(t *testing.T) {
			found := untarFile(t, d.file(p+".apk"))
			info := string(found[".PKGINFO"].data)
			arch := map[string]string{"linux_amd64": "x86_64", "linux_arm64": "aarch64"}[p]
			for _, want := range []string{"pkgname = mcpctl\n", "arch = " + arch + "\n", "license = Apache-2.0\n", "url = https://github.com/mcpctl/mcpctl\n"} {
				if !strings.Contains(info, want) {
					t.Errorf("no %q in\n%s", want, info)
				}
			}
			for name := range found {
				if strings.HasPrefix(name, ".") {
					if name != ".PKGINFO" {
						t.Errorf("it has %s", name)
					}
					delete(found, name)
				}
			}
			found.check(t, d, installed(t, "apk"))
			found.checkCompressed(t)
		})
	}
}

// The tags of an RPM header that are looked at.
const (
	rpmName, rpmVersion, rpmRelease, rpmBuildTime, rpmBuildHost = 1000, 1001, 1002, 1006, 1007
	rpmLicense, rpmArch                                         = 1014, 1022
	rpmPreIn, rpmPostIn, rpmPreUn, rpmPostUn                    = 1023, 1024, 1025, 1026
	rpmModes, rpmTimes, rpmUsers, rpmGroups, rpmRequires        = 1030, 1034, 1039, 1040, 1049
	rpmDirIndexes, rpmBaseNames, rpmDirNames                    = 1116, 1117, 1118
)

// rpmHeader are the values of a header by their tags: strings, and numbers.
type rpmHeader struct {
	texts   map[uint32][]string
	numbers map[uint32][]int64
}

func (h rpmHeader) text(tag uint32) string { return strings.Join(h.texts[tag], " ") }

// readRPMHeader reads a header at the beginning of data, and returns what follows it.
func readRPMHeader(t *testing.T, data []byte) (rpmHeader, []byte) {
	t.Helper()
	h := rpmHeader{map[uint32][]string{}, map[uint32][]int64{}}
	if !bytes.HasPrefix(data, []byte{0x8e, 0xad, 0xe8, 1}) {
		t.Fatalf("no header of RPM: %x", data[:4])
	}
	u32 := binary.BigEndian.Uint32
	count, size := int(u32(data[8:])), int(u32(data[12:]))
	index, store := data[16:16+16*count], data[16+16*count:16+16*count+size]
	for ; len(index) > 0; index = index[16:] {
		tag, kind, at, n := u32(index), u32(index[4:]), store[u32(index[8:]):], int(u32(index[12:]))
		for i := range n {
			switch kind {
			case 3:
				h.numbers[tag] = append(h.numbers[tag], int64(binary.BigEndian.Uint16(at[2*i:])))
			case 4:
				h.numbers[tag] = append(h.numbers[tag], int64(u32(at[4*i:])))
			case 6, 8, 9:
				text, rest, _ := bytes.Cut(at, []byte{0})
				h.texts[tag], at = append(h.texts[tag], string(text)), rest
			}
		}
	}
	return h, data[16+16*count+size:]
}

// TestRpmPlaces reads the packages of Fedora and its kin without their tools: a lead, two headers, and a cpio archive.
func TestRpmPlaces(t *testing.T) {
	d := openDist(t)
	for _, p := range linux() {
		t.Run(p, func(t *testing.T) {
			data, err := os.ReadFile(d.file(p + ".rpm"))
			if err != nil {
				t.Fatal(err)
			}
			const lead = 96
			_, rest := readRPMHeader(t, data[lead:])
			at := len(data) - len(rest)
			h, payload := readRPMHeader(t, data[at+(8-at%8)%8:])

			base, _, prerelease := strings.Cut(d.Version, "-")
			if h.text(rpmName) != "mcpctl" || !strings.HasPrefix(h.text(rpmVersion), base) || h.text(rpmRelease) != "1" ||
				strings.Contains(h.text(rpmVersion), "~") != prerelease {
				t.Errorf("it is %s-%s-%s", h.text(rpmName), h.text(rpmVersion), h.text(rpmRelease))
			}
			arch := map[string]string{"linux_amd64": "x86_64", "linux_arm64": "aarch64"}[p]
			if h.text(rpmLicense) != "Apache-2.0" || h.text(rpmArch) != arch || h.text(rpmBuildHost) != "localhost" {
				t.Errorf("licence %s, architecture %s, built on %s", h.text(rpmLicense), h.text(rpmArch), h.text(rpmBuildHost))
			}
			for _, r := range h.texts[rpmRequires] {
				if !strings.HasPrefix(r, "rpmlib(") {
					t.Errorf("it requires %s", r)
				}
			}
			if scripts := h.text(rpmPreIn) + h.text(rpmPostIn) + h.text(rpmPreUn) + h.text(rpmPostUn); scripts != "" {
				t.Errorf("it has a script: %s", scripts)
			}
			if built := time.Unix(h.numbers[rpmBuildTime][0], 0); !built.Equal(d.Date) {
				t.Errorf("built at %s", built.UTC())
			}
			contents := uncpio(t, gunzip(t, payload))
			found := places{}
			for i, name := range h.texts[rpmBaseNames] {
				name = strings.TrimPrefix(path.Join(h.texts[rpmDirNames][h.numbers[rpmDirIndexes][i]], name), "/")
				text, ok := contents[name]
				if !ok {
					t.Errorf("%s is announced and not there", name)
				}
				found[name] = entry{
					mode: unixMode(h.numbers[rpmModes][i]), owner: h.texts[rpmUsers][i] + ":" + h.texts[rpmGroups][i],
					time: time.Unix(h.numbers[rpmTimes][i], 0).UTC(), data: text,
				}
			}
			if len(found) != len(contents) {
				t.Errorf("%d files are announced, and %d there", len(found), len(contents))
			}
			found.check(t, d, installed(t, "rpm"))
			found.checkCompressed(t)
		})
	}
}

// unixMode turns the mode that a system call returns into Go's.
func unixMode(mode int64) fs.FileMode {
	m := fs.FileMode(mode & 0o777)
	switch mode &^ 0o777 {
	case 0o100000:
	case 0o040000:
		m |= fs.ModeDir
	default:
		m |= fs.ModeIrregular // nothing else belongs here
	}
	return m
}

// uncpio reads a cpio archive of the kind newc.
func uncpio(t *testing.T, r io.Reader) map[string][]byte {
	t.Helper()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]byte{}
	for at := 0; ; {
		if at+110 > len(data) || string(data[at:at+6]) != "070701" {
			t.Fatalf("no entry of a cpio archive at %d", at)
		}
		field := func(i int) int {
			n, err := strconv.ParseInt(string(data[at+6+8*i:at+14+8*i]), 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			return int(n)
		}
		four := func(n int) int { return (n + 3) &^ 3 }
		size, nameSize := field(6), field(11)
		name := string(data[at+110 : at+110+nameSize-1])
		start := at + four(110+nameSize)
		if name == "TRAILER!!!" {
			return found
		}
		found[strings.TrimPrefix(path.Clean("/"+name), "/")] = data[start : start+size]
		at = start + four(size)
	}
}
