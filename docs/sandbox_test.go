//go:build linux

package docs_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

const (
	// pageHome and pageBin are the home directory and the place of the program as pages name them. The real ones are as
	// wide, so that tables are cut in the same places.
	pageHome = "/home/me"
	pageBin  = "/usr/local/bin"

	// version is what the program says of itself.
	version = "1.0.0"

	// commandLimit is how long a command of a page may take, on a machine that does much else. In a clone it may have
	// to build the program, and has buildLimit.
	commandLimit = 40 * time.Second
	buildLimit   = 5 * time.Minute
)

// sandbox is a machine for the commands of one page.
type sandbox struct {
	home, bin string // pageHome and pageBin
	stand     string // programs that stand for others
	state     string // what a shell leaves to the next: variables, directory, exit code
	world     *world
	programs  map[string]string // of this package: name to executable
	path      string            // what follows the sandbox on the PATH

	env   []string // more of it
	limit time.Duration

	repository string // what stand-ins may look at
}

// newSandbox makes one. Its home is empty.
func newSandbox(ctx context.Context, programs map[string]string) (*sandbox, error) {
	repository, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	s := &sandbox{programs: programs, path: "/usr/bin:/bin", repository: repository, limit: commandLimit}
	for s.home == "" {
		var name [3]byte
		for i := range name {
			name[i] = "abcdefghijklmnopqrstuvwxyz0123456789"[rand.IntN(36)] //nolint:gosec // any name
		}
		path := "/tmp/" + string(name[:]) // as wide as /home/me
		switch err := os.Mkdir(path, 0o700); {
		case err == nil:
			s.home = path
		case !errors.Is(err, os.ErrExist):
			return nil, err
		}
	}
	s.bin = s.home + "/.prog" // as wide as /usr/local/bin
	s.stand, s.state = s.home+"/bin", s.home+"/.state"
	if err := os.Mkdir(s.state, 0o700); err != nil {
		return nil, err
	}
	if s.world, err = newWorld(ctx, filepath.Join(s.state, "ca.pem")); err != nil {
		return nil, err
	}
	return s, s.fill()
}

// fill makes the directories of an empty home.
func (s *sandbox) fill() error {
	for _, dir := range []string{s.bin, s.stand} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	for name, executable := range s.programs {
		if err := os.Link(executable, filepath.Join(s.bin, name)); err != nil {
			if err := copyFile(executable, filepath.Join(s.bin, name)); err != nil {
				return err
			}
		}
	}
	for _, name := range []string{"npx", "uvx"} {
		if err := s.program(name, "exec mcpctl demo-server"); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o700)
}

// fresh empties the home.
func (s *sandbox) fresh() error {
	entries, err := os.ReadDir(s.home)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(s.home, e.Name())
		if path == s.bin || path == s.stand || path == s.state {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	for _, name := range []string{"env", "cwd", "code"} {
		if err := os.RemoveAll(filepath.Join(s.state, name)); err != nil {
			return err
		}
	}
	return nil
}

// close ends the servers, and removes all.
func (s *sandbox) close() error {
	s.world.close()
	return os.RemoveAll(s.home)
}

// below returns the path of a file that a page names: below ~, or in the current directory.
func (s *sandbox) below(name string) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		return filepath.Join(s.home, rest)
	}
	if filepath.IsAbs(name) {
		return s.real(name)
	}
	return filepath.Join(s.directory(), name)
}

// real puts what is there in the place of what the page names.
func (s *sandbox) real(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, pageHome, s.home), pageBin, s.bin)
	for _, host := range slices.Sorted(maps.Keys(s.world.local)) {
		text = strings.ReplaceAll(text, host, s.world.local[host])
	}
	return text
}

// named puts the names of the page in the place of what is there.
func (s *sandbox) named(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, s.bin, pageBin), s.home, pageHome)
	for _, host := range slices.Sorted(maps.Keys(s.world.local)) {
		_, port, _ := strings.Cut(s.world.local[host], ":")
		name, pagePort, _ := strings.Cut(host, ":")
		text = strings.ReplaceAll(text, name+":"+port, host)
		text = strings.ReplaceAll(text, "127.0.0.1:"+port, "127.0.0.1:"+pagePort)
		text = strings.ReplaceAll(text, "[::1]:"+port, "[::1]:"+pagePort)
	}
	return text
}

// program puts a program on the PATH that stands for another.
func (s *sandbox) program(name, script string) error {
	path := filepath.Join(s.stand, name)
	_ = os.Remove(path)
	return os.WriteFile(path, []byte("#!/bin/sh\n"+s.real(script)+"\n"), 0o700)
}

// file writes a file, relative to the current directory or below ~.
func (s *sandbox) file(name string, lines []string) error {
	name = s.below(name)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	mode := os.FileMode(0o600)
	if len(lines) > 0 && strings.HasPrefix(lines[0], "#!") {
		mode = 0o700
	}
	return os.WriteFile(name, []byte(s.real(strings.Join(lines, "\n")+"\n")), mode)
}

// left returns what the last shell has left behind.
func (s *sandbox) left(what, otherwise string) string {
	text, err := os.ReadFile(filepath.Join(s.state, what))
	if err != nil {
		return otherwise
	}
	return strings.TrimSpace(string(text))
}

// directory is where the shell of the page is.
func (s *sandbox) directory() string { return s.left("cwd", s.home) }

// answer is what a person types when the terminal's last line ends in a text.
type answer struct{ when, types string }

// fits reports whether the last line of the terminal is what the person waits for. Who interrupts does so anywhere.
func (a answer) fits(line string) bool {
	return strings.HasSuffix(line, a.when) || a.types == "\x03" && strings.Contains(line, a.when)
}

// how is what a block says of its commands.
type how struct {
	terminal bool // output goes to a terminal
	person   bool // and input comes from one
	columns  uint16
	answers  []answer
}

// shell runs text in bash, where the last one stopped: directory, variables and $? are left to the next.
func (s *sandbox) shell(ctx context.Context, text string, h how) (code int, lines []string, err error) {
	script := filepath.Join(s.state, "script")
	wrapped := fmt.Sprintf(`cd '%[1]s'
[ -e %[2]s/env ] && . %[2]s/env
trap 'echo $? >%[2]s/code; export -p >%[2]s/env; pwd >%[2]s/cwd' EXIT
last() { unset -f last; return %[3]s; }; last
%[4]s
`, s.directory(), s.state, s.left("code", "0"), s.real(text))
	if err := os.WriteFile(script, []byte(wrapped), 0o600); err != nil {
		return 0, nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.limit, fmt.Errorf("it has not ended in %s", s.limit))
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "--noprofile", "--norc", script)
	cmd.Dir = s.home
	cmd.Env = append([]string{
		"HOME=" + s.home, "USER=me", "TZ=" + noon(time.Now()), "LANG=C.UTF-8", "TERM=xterm", "NO_COLOR=1", "SHELL=/bin/bash",
		"PATH=" + s.stand + ":" + s.bin + ":" + s.path, "MCPCTL_CREDENTIALS=file", "REPOSITORY=" + s.repository,
		"HTTPS_PROXY=http://" + s.world.at, "HTTP_PROXY=http://" + s.world.at, "NO_PROXY=localhost,127.0.0.1",
		"SSL_CERT_FILE=" + filepath.Join(s.state, "ca.pem"), "CURL_CA_BUNDLE=" + filepath.Join(s.state, "ca.pem"),
	}, s.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var shown *screen
	if h.terminal {
		shown, err = onTerminal(ctx, cmd, h)
	} else {
		shown = &screen{}
		cmd.Stdout, cmd.Stderr = shown, shown
		cmd.WaitDelay = time.Second // for children that hold the pipe
		err = cmd.Run()
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("%w; so far: %s", context.Cause(ctx), strings.Join(shown.shown(), "\n"))
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, nil, err
	}
	lines = shown.shown()
	for i, line := range lines {
		lines[i] = s.named(line)
	}
	return cmd.ProcessState.ExitCode(), lines, nil
}

// onTerminal runs a command whose output is a terminal; its input is one, too, if a person answers.
func onTerminal(ctx context.Context, cmd *exec.Cmd, h how) (*screen, error) {
	shown := &screen{}
	terminal, tty, err := pty.Open()
	if err != nil {
		return shown, err
	}
	defer func() { _ = terminal.Close() }()
	err = pty.Setsize(terminal, &pty.Winsize{Rows: 24, Cols: h.columns})
	cmd.Stdout, cmd.Stderr = tty, tty
	if h.person {
		cmd.Stdin = tty
	}
	cmd.SysProcAttr.Setctty, cmd.SysProcAttr.Ctty = true, 1
	if err == nil {
		err = cmd.Start()
	}
	_ = tty.Close()
	if err != nil {
		return shown, err
	}
	stop := context.AfterFunc(ctx, func() { _ = terminal.Close() }) // whoever still holds it
	defer stop()
	answers := h.answers
	buffer := make([]byte, 4096)
	for {
		n, err := terminal.Read(buffer)
		_, _ = shown.Write(buffer[:n])
		if len(answers) > 0 && answers[0].fits(shown.last()) {
			if answers[0].types != "\x03" {
				listens(ctx, terminal)
			}
			if _, err := io.WriteString(terminal, answers[0].types); err != nil {
				return shown, err
			}
			answers = answers[1:]
		}
		if err != nil {
			break // the last program that had it open has gone
		}
	}
	err = cmd.Wait()
	if err == nil && len(answers) > 0 {
		err = fmt.Errorf("nothing asked for %q", answers[0].when)
	}
	return shown, err
}

// listens waits until a program reads the keys itself. One that leaves that to the terminal never does, so it is not waited
// for long.
func listens(ctx context.Context, terminal *os.File) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		settings, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS)
		if err != nil || settings.Lflag&unix.ECHO == 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// noon returns a time zone in which it is about noon, so that what will be in an hour is today.
func noon(now time.Time) string {
	const hour = 12
	// These names count westward: Etc/GMT-3 is three hours ahead of UTC.
	return fmt.Sprintf("Etc/GMT%+d", now.UTC().Hour()-hour)
}
