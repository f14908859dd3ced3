package session

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"unicode/utf8"
)

// host is the machine on which a program is to run.
type host struct {
	os, arch string
	// emulates reports whether the system has handlers for the programs of other machines, and whether that is known.
	emulates func() (some, known bool)
}

func thisHost() host { return host{os: runtime.GOOS, arch: runtime.GOARCH, emulates: binfmtHandlers} }

// binfmtHandlers looks for what Linux calls miscellaneous binary formats: with them it runs the programs of other machines
// and systems. In a container they may work and not be visible.
func binfmtHandlers() (some, known bool) {
	entries, err := os.ReadDir("/proc/sys/fs/binfmt_misc")
	if err != nil {
		return false, false
	}
	for _, e := range entries {
		switch e.Name() {
		case "register", "status":
			known = true
		default:
			some = true
		}
	}
	return some, known || some
}

// headBytes is how much of a file is looked at: more than any first line and any header.
const headBytes = 4 << 10

// inspect looks at a file that is to be started and says why it cannot run, nil if nothing speaks against it. It is
// certain unless the system may have a handler for such files that cannot be seen from here: then only a start can tell.
func inspect(path string, env []string, dir string, h host) (e *commandError, certain bool) {
	if h.os == "windows" {
		return nil, true // what it starts depends on the registry
	}
	head, readable := readHead(path)
	if !readable {
		return nil, true // to be run, a file need not be readable
	}
	bad := func(message, hint string, args ...any) *commandError {
		return &commandError{message: fmt.Sprintf("command %s: ", path) + message, hint: fmt.Sprintf(hint, args...), path: path}
	}
	if len(head) == 0 {
		return bad("the file is empty", "install it again"), true
	}
	if script, ok := parseShebang(head); ok {
		return script.inspect(env, dir, h, bad), true
	}
	some, known := h.emulates()
	if format := formatOf(head); format.name != "" {
		if !format.runsOn(h) {
			return bad(fmt.Sprintf("it is a program for %s, and this is %s/%s", format, h.os, h.arch),
				"get the program for %s/%s", h.os, h.arch), known && !some
		}
		if loader := loaderOf(path, format, h); loader != "" {
			return bad("it needs "+loader+", which does not exist here",
				"get a build for this system: that loader belongs to another C library (glibc and musl are not the same) or to another machine"), true
		}
		return nil, true
	}
	if !isText(head) {
		return nil, true
	}
	hint := "begin the script with a line such as #!/bin/sh, or give it to its interpreter"
	if by := interpreterFor(path); by != "" {
		hint = fmt.Sprintf("start it with its interpreter: command: %s, args: [%q]", by, path)
	}
	return bad("it is a text without a first line (#!) that names its interpreter, and no shell starts it", "%s", hint), !some
}

// readHead returns the beginning of a file, and whether it can be read.
func readHead(path string) ([]byte, bool) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, false
	}
	head, err := io.ReadAll(io.LimitReader(f, headBytes))
	return head, err == nil
}

// isText reports whether a file begins with text.
func isText(head []byte) bool {
	if len(head) == headBytes {
		head = head[:len(head)-utf8.UTFMax] // the last character may be cut
		for len(head) > 0 && !utf8.RuneStart(head[len(head)-1]) {
			head = head[:len(head)-1]
		}
		if len(head) > 0 {
			head = head[:len(head)-1]
		}
	}
	return utf8.Valid(head) && bytes.IndexByte(head, 0) < 0
}

// interpreterFor returns the program that usually runs a script with such a name, "" if none is known.
func interpreterFor(path string) string {
	return map[string]string{
		".py": "python3", ".js": "node", ".mjs": "node", ".cjs": "node", ".ts": "tsx", ".sh": "sh", ".bash": "bash", ".rb": "ruby",
		".php": "php",
	}[strings.ToLower(filepath.Ext(path))]
}

// shebang is the first line of a script.
type shebang struct {
	// interpreter is the program that the system starts, and rest what follows it on the line.
	interpreter, rest string
	// program is what runs the script in the end: the interpreter, or what env finds on PATH.
	program string
	byEnv   bool
}

func readShebang(path string) (shebang, bool) {
	head, _ := readHead(path)
	return parseShebang(head)
}

// parseShebang reads the first line of a script. A carriage return at its end belongs to it, as the system has it.
func parseShebang(head []byte) (shebang, bool) {
	line, ok := bytes.CutPrefix(head, []byte("#!"))
	if !ok {
		return shebang{}, false
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	text := strings.Trim(string(line), " \t")
	interpreter, rest := text, ""
	if i := strings.IndexAny(text, " \t"); i >= 0 {
		interpreter, rest = text[:i], strings.Trim(text[i:], " \t")
	}
	s := shebang{interpreter: interpreter, rest: rest, program: interpreter}
	if filepath.Base(interpreter) != "env" {
		return s, interpreter != ""
	}
	words := strings.Split(rest, " ")
	split := false
	for len(words) > 0 && (words[0] == "" || words[0] == "-S" || words[0] == "--split-string") {
		split = split || words[0] != ""
		words = words[1:]
	}
	switch {
	case len(words) == 0 || strings.HasPrefix(words[0], "-") || strings.Contains(words[0], "="):
		return s, true // options and variables: what env makes of them is its own affair
	case split || len(words) == 1:
		s.program, s.byEnv = words[0], true
	case runtime.GOOS == "linux": // the rest of the line is one argument there
		s.program, s.byEnv = rest, true
	default:
		s.program, s.byEnv = words[0], true
	}
	return s, true
}

// inspect says why a script cannot run.
func (s shebang) inspect(env []string, dir string, h host, bad func(string, string, ...any) *commandError) *commandError {
	program, ends := strings.CutSuffix(s.program, "\r")
	switch {
	case ends && program != "":
		return bad(fmt.Sprintf("its first line ends in a carriage return, as on Windows, so the system looks for %q", s.program),
			"give the script line ends of Unix: sed -i 's/\\r$//' FILE, or dos2unix FILE")
	case !filepath.IsAbs(s.interpreter):
		return nil
	}
	if _, err := os.Stat(s.interpreter); err != nil {
		hint := "install " + commandName(s.interpreter) + ", or correct the first line of the script"
		if strings.Contains(s.interpreter, "venv") {
			hint = "the virtual environment was moved or removed: make it again, and install the server in it"
		}
		return bad(fmt.Sprintf("its first line names the interpreter %s, which does not exist", s.interpreter), "%s", hint)
	}
	if !s.byEnv {
		return nil
	}
	if strings.ContainsAny(s.program, " \t") && h.os == "linux" {
		return bad(fmt.Sprintf("its first line makes env look for a program called %q", s.program), "write #!/usr/bin/env -S %s", s.program)
	}
	if _, err := (lookup{name: s.program, dir: dir, env: env, ours: env}).find(); err != nil && err.path == "" {
		e := bad(fmt.Sprintf("its first line needs %s, which is not on the PATH that the server gets", s.program), "%s", err.hint)
		e.evidence = err.evidence
		return e
	}
	return nil
}

// format is the machine and the system that a binary is for.
type format struct {
	// name is that of the format: "ELF", "Mach-O", "PE".
	name string
	os   string
	// archs are the machines, as Go names them.
	archs []string
}

// String returns "linux/arm64".
func (f format) String() string {
	arch := strings.Join(f.archs, ", ")
	if arch == "" {
		arch = "another machine"
	}
	return f.os + "/" + arch
}

// runsOn reports whether nothing speaks against running the program on h.
func (f format) runsOn(h host) bool {
	elfHost := h.os != "darwin" && h.os != "windows"
	switch f.name {
	case "ELF":
		if !elfHost {
			return false
		}
	case "Mach-O":
		if h.os != "darwin" {
			return false
		}
	case "PE":
		return h.os == "windows"
	}
	also := map[string]string{"amd64": "386", "arm64": "arm"}[h.arch] // most systems run the older one of the family, too
	if h.os == "darwin" && h.arch == "arm64" {
		also = "amd64" // with Rosetta
	}
	for _, arch := range f.archs {
		if arch == h.arch || arch == also {
			return true
		}
	}
	return len(f.archs) == 0 // a machine that is not known here is not judged
}

// formatOf reads the headers of a binary, zero if it is none that is known.
func formatOf(head []byte) format {
	const (
		elfMachine = 18
		peOffset   = 0x3c
		// The first words of Mach-O: for 32 bits, for 64, and for several machines.
		macho32, macho64, machoFat = 0xfeedface, 0xfeedfacf, 0xcafebabe
	)
	be, le := binary.BigEndian, binary.LittleEndian
	switch {
	case len(head) > elfMachine+2 && bytes.HasPrefix(head, []byte("\x7fELF")):
		order := elfOrder(head)
		return format{name: "ELF", os: "linux", archs: nonEmptyList(elfArch(order.Uint16(head[elfMachine:]), order == le))}
	case len(head) >= 8 && (le.Uint32(head) == macho64 || le.Uint32(head) == macho32):
		return format{name: "Mach-O", os: "darwin", archs: nonEmptyList(machoArch(le.Uint32(head[4:])))}
	case len(head) >= 8 && be.Uint32(head) == machoFat && be.Uint32(head[4:]) < 20: // compiled Java begins alike, with a higher number
		f := format{name: "Mach-O", os: "darwin"}
		const header, each = 8, 20
		for i := range int(be.Uint32(head[4:])) {
			if at := header + i*each; at+4 <= len(head) {
				f.archs = append(f.archs, nonEmptyList(machoArch(be.Uint32(head[at:])))...)
			}
		}
		return f
	case len(head) > peOffset+4 && bytes.HasPrefix(head, []byte("MZ")):
		at := int(le.Uint32(head[peOffset:]))
		if at < 0 || at+6 > len(head) || !bytes.HasPrefix(head[at:], []byte("PE\x00\x00")) {
			return format{}
		}
		return format{name: "PE", os: "windows", archs: nonEmptyList(peArch(le.Uint16(head[at+4:])))}
	}
	return format{}
}

func nonEmptyList(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

// elfOrder returns the order of the bytes in the numbers of an ELF file (System V ABI, "ELF Identification").
func elfOrder(head []byte) binary.ByteOrder {
	const data, bigEndian = 5, 2
	if head[data] == bigEndian {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// elfArch returns the machine of an ELF file as Go names it, "" if it has no name here. The numbers are those of e_machine
// in the System V ABI.
func elfArch(machine uint16, little bool) string {
	if machine == 21 && little { // PowerPC of 64 bits
		return "ppc64le"
	}
	return map[uint16]string{
		3: "386", 21: "ppc64", 22: "s390x", 40: "arm", 62: "amd64", 183: "arm64", 243: "riscv64", 258: "loong64",
	}[machine]
}

// machoArch returns the machine of a Mach-O file, by cputype of mach/machine.h.
func machoArch(cpu uint32) string {
	return map[uint32]string{7: "386", 0x0100_0007: "amd64", 0x0100_000c: "arm64"}[cpu]
}

// peArch returns the machine of a PE file, by "Machine Types" of the PE format.
func peArch(machine uint16) string {
	return map[uint16]string{0x014c: "386", 0x8664: "amd64", 0xaa64: "arm64"}[machine]
}

// loaderOf returns the loader that a program of this machine names and that does not exist, "" if it is there or there is
// none. Without it the system says of the program itself that there is no such file.
func loaderOf(path string, f format, h host) string {
	if f.name != "ELF" || h.os != "linux" || len(f.archs) == 0 || f.archs[0] != h.arch {
		return ""
	}
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	loader := elfInterpreter(file)
	if !filepath.IsAbs(loader) {
		return ""
	}
	if _, err := os.Stat(loader); os.IsNotExist(err) {
		return loader
	}
	return ""
}

// elfInterpreter returns the loader that an ELF file names in its program headers, "" if it names none or is damaged
// (System V ABI, "Program Header"). The standard library's reader would bring the tables of debuggers into every command.
func elfInterpreter(file io.ReaderAt) string {
	const (
		header  = 64 // the longer one, of 64 bits
		class   = 4
		bits64  = 2
		interp  = 3 // PT_INTERP
		longest = 4096
		most    = 1 << 10 // program headers; real files have about ten
	)
	head := make([]byte, header)
	if n, err := file.ReadAt(head, 0); n < header && err != nil {
		return ""
	}
	order := elfOrder(head)
	word := func(b []byte, at32, at64 int) int64 { // an offset or a size, of the width of the file's class
		if head[class] == bits64 {
			return int64(order.Uint64(b[at64:])) //nolint:gosec // a negative one is refused below
		}
		return int64(order.Uint32(b[at32:]))
	}
	half := func(at32, at64 int) int64 {
		if head[class] == bits64 {
			return int64(order.Uint16(head[at64:]))
		}
		return int64(order.Uint16(head[at32:]))
	}
	table, each, count := word(head, 28, 32), half(42, 54), half(44, 56)
	if table <= 0 || each < 32 || head[class] == bits64 && each < 56 || count > most {
		return ""
	}
	entry := make([]byte, each)
	for i := range count {
		if _, err := file.ReadAt(entry, table+i*each); err != nil {
			return ""
		}
		if order.Uint32(entry) != interp {
			continue
		}
		at, size := word(entry, 4, 8), word(entry, 16, 32)
		if at < 0 || size <= 0 || size > longest {
			return ""
		}
		name := make([]byte, size)
		if _, err := file.ReadAt(name, at); err != nil {
			return ""
		}
		return strings.TrimRight(string(name), "\x00")
	}
	return ""
}
