//go:build unix

package session

import (
	"bytes"
	"debug/elf"
	"debug/macho"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// hosts on which a program may be.
func onLinux() host {
	return host{os: "linux", arch: "amd64", emulates: func() (bool, bool) { return false, true }}
}

func onMac() host {
	return host{os: "darwin", arch: "arm64", emulates: func() (bool, bool) { return false, true }}
}

// elfHead is the beginning of an ELF file.
func elfHead(m elf.Machine) []byte {
	head := make([]byte, 64)
	copy(head, elf.ELFMAG)
	head[elf.EI_CLASS], head[elf.EI_DATA] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB)
	binary.LittleEndian.PutUint16(head[18:], uint16(m))
	return head
}

func machoHead(c macho.Cpu) []byte {
	head := make([]byte, 64)
	binary.LittleEndian.PutUint32(head, macho.Magic64)
	binary.LittleEndian.PutUint32(head[4:], uint32(c))
	return head
}

func fatHead(cpus ...macho.Cpu) []byte {
	head := make([]byte, 256)
	binary.BigEndian.PutUint32(head, macho.MagicFat)
	binary.BigEndian.PutUint32(head[4:], uint32(len(cpus)))
	for i, c := range cpus {
		binary.BigEndian.PutUint32(head[8+20*i:], uint32(c))
	}
	return head
}

func peHead() []byte {
	head := make([]byte, 256)
	copy(head, "MZ")
	binary.LittleEndian.PutUint32(head[0x3c:], 0x80)
	copy(head[0x80:], "PE\x00\x00\x64\x86")
	return head
}

// TestInspect shows what is said of a file before it is started, and that a good one is never refused.
func TestInspect(t *testing.T) {
	dir := t.TempDir()
	sh := filepath.Join(dir, "tools", "here")
	write(t, sh, "#!/bin/sh\n", 0o755)
	emulating, hidden := onLinux(), onLinux()
	emulating.emulates = func() (bool, bool) { return true, true }
	hidden.emulates = func() (bool, bool) { return false, false }
	intel := onMac()
	intel.arch = "amd64"
	arm := onLinux()
	arm.arch = "arm64"
	for _, tt := range []struct {
		name, file string
		head       []byte
		on         host
		says       string // "" if nothing speaks against it
		do         string
		doubtful   bool
	}{
		{name: "script", head: []byte("#!/bin/sh\necho\n"), on: onLinux()},
		{name: "script with options", head: []byte("#! /bin/sh -e\n"), on: onLinux()},
		{name: "script of env", head: []byte("#!/usr/bin/env here\n"), on: onLinux()},
		{name: "script of env -S", head: []byte("#!/usr/bin/env -S here --flag\n"), on: onLinux()},
		{name: "env with a variable", head: []byte("#!/usr/bin/env -S A=1 nowhere\n"), on: onLinux()},
		{name: "env with an option", head: []byte("#!/usr/bin/env -i nowhere\n"), on: onLinux()},
		{name: "a text that begins with #", head: []byte("# a comment\n"), on: onLinux(), says: "without a first line"},
		{name: "python without a first line", file: "server.py", head: []byte("import mcp\n"), on: onLinux(), says: "without a first line", do: "python3"},
		{name: "text with cut characters", head: bytes.Repeat([]byte("é"), headBytes), on: onLinux(), says: "without a first line"},
		{name: "text, and handlers", head: []byte("import mcp\n"), on: emulating, says: "without a first line", doubtful: true},
		{name: "carriage return", head: []byte("#!/usr/bin/env here\r\necho\r\n"), on: onLinux(), says: `looks for "here\r"`, do: "dos2unix"},
		{name: "carriage return after the interpreter", head: []byte("#!/bin/sh\r\n"), on: onLinux(), says: `"/bin/sh\r"`},
		{name: "carriage return after an option", head: []byte("#!/bin/sh -e\r\n"), on: onLinux()},
		{name: "no interpreter", head: []byte("#!/nonexistent/python9\n"), on: onLinux(), says: "/nonexistent/python9, which does not exist", do: "python9"},
		{name: "a virtual environment that is gone", head: []byte("#!/nonexistent/.venv/bin/python3\n"), on: onLinux(), says: "does not exist", do: "virtual environment"},
		{name: "env finds nothing", head: []byte("#!/usr/bin/env nowhere-to-be-found\n"), on: onLinux(), says: "nowhere-to-be-found, which is not on the PATH"},
		{name: "empty", head: nil, on: onLinux(), says: "is empty"},
		{name: "some binary", head: []byte("\x00\x01\x02"), on: onLinux()},
		{name: "own machine", head: elfHead(elf.EM_X86_64), on: onLinux()},
		{name: "older machine", head: elfHead(elf.EM_386), on: onLinux()},
		{name: "unknown machine", head: elfHead(elf.EM_BPF), on: onLinux()},
		{name: "other machine", head: elfHead(elf.EM_AARCH64), on: onLinux(), says: "linux/arm64, and this is linux/amd64", do: "linux/amd64"},
		{name: "other machine, emulated", head: elfHead(elf.EM_AARCH64), on: emulating, says: "linux/arm64", doubtful: true},
		{name: "other machine, perhaps emulated", head: elfHead(elf.EM_AARCH64), on: hidden, says: "linux/arm64", doubtful: true},
		{name: "32 bits on arm64", head: elfHead(elf.EM_ARM), on: arm},
		{name: "Mach-O on Linux", head: machoHead(macho.CpuArm64), on: onLinux(), says: "darwin/arm64"},
		{name: "PE on Linux", head: peHead(), on: onLinux(), says: "windows/amd64"},
		{name: "PE in WSL", head: peHead(), on: emulating, says: "windows/amd64", doubtful: true},
		{name: "ELF on a Mac", head: elfHead(elf.EM_AARCH64), on: onMac(), says: "linux/arm64"},
		{name: "Rosetta", head: machoHead(macho.CpuAmd64), on: onMac()},
		{name: "Apple silicon on an Intel Mac", head: machoHead(macho.CpuArm64), on: intel, says: "darwin/arm64"},
		{name: "universal", head: fatHead(macho.CpuAmd64, macho.CpuArm64), on: intel},
		{name: "compiled Java", head: []byte{0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 0x41, 0, 1}, on: onMac()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := tt.file
			if file == "" {
				file = "file"
			}
			path := filepath.Join(t.TempDir(), file)
			write(t, path, string(tt.head), 0o755)
			e, certain := inspect(path, []string{"PATH=" + filepath.Dir(sh) + ":/usr/bin:/bin"}, "", tt.on)
			if tt.says == "" {
				if e != nil {
					t.Fatalf("a good file is refused: %v", e)
				}
				return
			}
			if e == nil || !strings.Contains(e.message, tt.says) || !strings.Contains(e.hint, tt.do) || e.hint == "" {
				t.Fatalf("%+v does not say %q, %q", e, tt.says, tt.do)
			}
			if certain == tt.doubtful {
				t.Errorf("certain %v", certain)
			}
		})
	}
}

// TestInspectPrograms shows that the programs of this machine can be run.
func TestInspectPrograms(t *testing.T) {
	env := os.Environ()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	programs := []string{self}
	for _, dir := range []string{"/bin", "/usr/bin"} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries[:min(len(entries), 300)] {
			path := filepath.Join(dir, e.Name())
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 && info.Size() > 0 {
				programs = append(programs, path)
			}
		}
	}
	for _, p := range programs {
		// What a system has for its own use may be a script of an interpreter that is not installed.
		if e, certain := inspect(p, env, "", thisHost()); e != nil && certain && !strings.Contains(e.message, "first line") {
			t.Errorf("%v", e)
		}
	}
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// TestFindCommand shows what is said of a command that is not found.
func TestFindCommand(t *testing.T) {
	dir := t.TempDir()
	bin, home, shell := filepath.Join(dir, "bin"), filepath.Join(dir, "home"), filepath.Join(dir, "shell")
	for _, p := range []string{
		bin + "/npx", bin + "/python3", shell + "/only-mine", home + "/.local/bin/localtool",
		home + "/.nvm/versions/node/v9.11.2/bin/nvmtool", home + "/.nvm/versions/node/v20.1.0/bin/nvmtool",
	} {
		write(t, p, "#!/bin/sh\n", 0o755)
	}
	write(t, bin+"/locked", "#!/bin/sh\n", 0o644)
	write(t, bin+"/npxy", "no program", 0o644)
	write(t, dir+"/server.py", "print()\n", 0o644)
	d := &Dialer{Environ: []string{"PATH=" + bin + ":" + shell, "HOME=" + home}}
	own := map[string]string{"PATH": bin}
	for _, tt := range []struct {
		name     string
		server   config.Server
		path     string // what is found
		says     string
		evidence string
		do       []string
		not      string
	}{
		{name: "found", server: config.Server{Command: "npx"}, path: bin + "/npx"},
		{name: "there, and locked", server: config.Server{Command: "locked"}, path: bin + "/locked"},
		{name: "a directory", server: config.Server{Command: bin}, path: bin},
		{name: "relative to cwd", server: config.Server{Command: "./npx", Cwd: bin}, path: bin + "/npx"},
		{name: "typing error", server: config.Server{Command: "npxx"}, says: "command not found: npxx", evidence: "looked in " + bin + ", " + shell, do: []string{"did you mean npx?"}},
		{name: "letters swapped", server: config.Server{Command: "pyhton3"}, do: []string{"python3"}},
		{name: "the shell of Windows", server: config.Server{Command: "cmd", Args: []string{"/c", "npx"}}, do: []string{"use what follows /c as the command"}},
		{name: "python where python3 is", server: config.Server{Command: "python"}, do: []string{"did you mean python3"}},
		{name: "no suggestion for a part of a long name", server: config.Server{Command: "npx-and-much-more-behind-it"}, do: []string{"install it"}},
		{name: "a runtime", server: config.Server{Command: "dnx"}, says: "it comes with .NET", do: []string{"install .NET", "https://dotnet.microsoft.com"}},
		{name: "on our PATH, not on the child's", server: config.Server{Command: "only-mine", Env: own}, evidence: "the PATH that the entry sets in env", do: []string{"use the full path: " + shell + "/only-mine", "the PATH that env sets hides it"}},
		{name: "in a usual place", server: config.Server{Command: "localtool"}, evidence: "found at " + home + "/.local/bin/localtool", do: []string{"full path"}},
		{name: "of the newest Node.js", server: config.Server{Command: "nvmtool"}, do: []string{"v20.1.0"}},
		{name: "a whole command line", server: config.Server{Command: `npx -y "@a/b"`}, do: []string{`command: npx, and args: ["-y", "@a/b"]`}},
		{name: "a whole command line with a path", server: config.Server{Command: bin + "/npx -y x"}, do: []string{"command: " + bin + "/npx, and args"}},
		{name: "no such path", server: config.Server{Command: "./nothing", Cwd: bin}, says: "no such file", evidence: bin + "/nothing"},
		{name: "no such path, and no cwd", server: config.Server{Command: "./nothing"}, do: []string{"cwd"}},
		{name: "a path of Windows", server: config.Server{Command: `C:\Program Files\nodejs\node.exe`}, do: []string{"path of Windows"}},
		{name: "the home of another", server: config.Server{Command: "~bob/server"}, do: []string{"whole path"}},
		{name: "no PATH", server: config.Server{Command: "npx", Env: map[string]string{"PATH": ""}}, evidence: "no directory"},
		{name: "no cwd", server: config.Server{Command: "npx", Cwd: dir + "/none"}, says: "cwd " + dir + "/none", do: []string{"cwd"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.server.Name = "s"
			path, err := d.FindCommand(tt.server)
			if path != tt.path {
				t.Fatalf("found %q, %v", path, err)
			}
			if tt.path != "" {
				return
			}
			e, ok := err.(*Error) //nolint:errorlint // documented
			if !ok || e.Class != ClassConnect || e.Hint == "" {
				t.Fatalf("%#v", err)
			}
			if !strings.Contains(e.Message, tt.says) || !strings.Contains(strings.Join(e.Evidence, "\n"), tt.evidence) {
				t.Errorf("%s\n%q", e.Message, e.Evidence)
			}
			for _, w := range tt.do {
				if !strings.Contains(e.Hint, w) {
					t.Errorf("%q does not say %q", e.Hint, w)
				}
			}
		})
	}
	for name, tt := range map[string]struct {
		server config.Server
		says   string
	}{
		"good":          {config.Server{Command: "npx"}, ""},
		"locked":        {config.Server{Command: "locked"}, "is not executable"},
		"locked script": {config.Server{Command: dir + "/server.py"}, "is not executable"},
		"directory":     {config.Server{Command: bin}, "is a directory"},
	} {
		err := d.CheckCommand(tt.server)
		if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := d.CheckCommand(config.Server{Command: dir + "/server.py"}); err == nil || !strings.Contains(err.(*Error).Hint, "python3") { //nolint:errorlint,forcetypeassert // documented
		t.Errorf("no interpreter is named: %v", err)
	}
}

// TestRuntime shows which runtime is asked for its version, and what becomes of the answer.
func TestRuntime(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/node", "#!/bin/sh\necho v16.20.2\n", 0o755)
	write(t, dir+"/npx", "#!/usr/bin/env node\n", 0o755)
	write(t, dir+"/python3", "#!/bin/sh\necho Python 3.11.7\n", 0o755)
	write(t, dir+"/venv/bin/python3.9", "#!/bin/sh\necho Python 3.9.1\n", 0o755)
	write(t, dir+"/server", "#!"+dir+"/venv/bin/python3.9\n", 0o755)
	write(t, dir+"/plain", "#!/bin/sh\n", 0o755)
	write(t, dir+"/broken/node", "#!/bin/sh\nexit 1\n", 0o755)
	write(t, dir+"/mute/node", "#!/bin/sh\necho hello\n", 0o755)
	d := &Dialer{Environ: []string{"PATH=" + dir + ":/usr/bin:/bin"}}
	for command, tt := range map[string]struct {
		title, version string
		old            bool
	}{
		"node": {"Node.js", "16.20.2", true}, "npx": {"Node.js", "16.20.2", true}, "python3": {"Python", "3.11.7", false},
		dir + "/server": {"Python", "3.9.1", true}, dir + "/plain": {}, "missing": {}, dir + "/none": {},
		dir + "/broken/node": {title: "Node.js"}, dir + "/mute/node": {title: "Node.js"},
	} {
		r, ok := d.Runtime(config.Server{Command: command})
		if ok != (tt.title != "") || r.Title != tt.title {
			t.Errorf("%s: %+v, %v", command, r, ok)
			continue
		}
		if !ok {
			continue
		}
		version, err := r.Version(t.Context())
		if version != tt.version || (err != nil) != (tt.version == "") {
			t.Errorf("%s: %q, %v", command, version, err)
		}
		if version != "" && r.Old(version) != tt.old {
			t.Errorf("%s: %s is old: %v", command, version, !tt.old)
		}
	}
}

func TestCompareVersions(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{{"18.0.0", "18", 1}, {"v9.1", "v20.1", -1}, {"3.10", "3.9", 1}, {"3.10.0", "3.10.0", 0}, {"03.1", "3.1", 0}, {"17.9.1", "18", -1}} {
		if got := compareVersions(tt.a, tt.b); got != tt.want {
			t.Errorf("%s, %s: %d", tt.a, tt.b, got)
		}
	}
}

// TestElfInterpreter shows that the loader is read as the standard library reads it, and that a damaged file names none.
func TestElfInterpreter(t *testing.T) {
	t.Parallel()
	read := 0
	for _, path := range []string{"/bin/sh", "/bin/ls", "/usr/bin/env", "/proc/self/exe"} {
		file, err := elf.Open(path)
		if err != nil {
			continue // not on this system
		}
		want := ""
		for _, p := range file.Progs {
			if p.Type != elf.PT_INTERP {
				continue
			}
			name, err := io.ReadAll(p.Open())
			if err != nil {
				t.Fatal(err)
			}
			want = strings.TrimRight(string(name), "\x00")
		}
		_ = file.Close()
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := elfInterpreter(bytes.NewReader(raw)); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
		if got := elfInterpreter(bytes.NewReader(raw[:100])); got != "" {
			t.Errorf("%s, cut: %q", path, got)
		}
		read++
	}
	if read == 0 && runtime.GOOS == "linux" {
		t.Error("no ELF file was found on Linux")
	}
	endless := elfHead(elf.EM_X86_64)
	for i := 32; i < len(endless); i++ {
		endless[i] = 0xff
	}
	if got := elfInterpreter(bytes.NewReader(endless)); got != "" {
		t.Errorf("damaged: %q", got)
	}
}
