//go:build unix

package session

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// journalFile is a child's journal: the books, written as things happen, a line a write, so that SIGKILL takes nothing
// away. The words of a line are separated by a space.
type journalFile struct{ f *os.File }

func (j journalFile) note(words ...string) {
	_, _ = j.f.WriteString(strings.Join(words, " ") + "\n")
}

// chaosChild is the server that the test binary plays as a child: it notes what it does in a journal, and ends itself
// now and then, by the dice.
func chaosChild(args []string, in io.Reader, out io.Writer) int {
	f, err := os.OpenFile(args[0], os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return 2
	}
	journal := journalFile{f}
	seed, err := strconv.ParseUint(args[1], 10, 64)
	if err != nil {
		return 2
	}
	// The time tells two processes with the same id apart.
	session := fmt.Sprintf("%d-%d", os.Getpid(), time.Now().UnixNano())
	journal.note("issue", session)
	var writing sync.Mutex
	write := func(text string) {
		writing.Lock()
		defer writing.Unlock()
		_, _ = io.WriteString(out, text)
	}
	die := func(d *rand.Rand) {
		journal.note("kill", session)
		if d.IntN(2) == 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		os.Exit(3)
	}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return 0
		}
		var req chaosRequest
		if json.Unmarshal([]byte(line), &req) != nil || req.ID == nil {
			continue
		}
		key := req.Params.Meta.Key
		if key == "" {
			write(req.answer(session) + "\n")
			continue
		}
		go func() {
			d := dice(seed, key, session)
			fault := d.IntN(8000)
			switch fault {
			case 0: // before it is executed
				die(d)
			case 1, 2, 3: // and after
				journal.note("exec", key)
				if fault == 2 { // in the middle of the answer
					answer := req.answer(session)
					writing.Lock()
					_, _ = io.WriteString(out, answer[:d.IntN(len(answer))])
				}
				die(d)
			}
			journal.note("exec", key)
			write(req.answer(session) + "\n")
		}()
	}
}

// readJournal makes books of a journal.
func readJournal(t *testing.T, path string, b *books) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		words := strings.Fields(line)
		if len(words) != 2 {
			t.Fatalf("a line of the journal is %q", line)
		}
		switch words[0] {
		case "issue":
			b.issue(words[1])
		case "exec":
			b.executed(words[1])
		case "kill":
			b.kill(words[1])
		}
	}
}

// TestChaosStdio shows the same with child processes, behind a shell that is the leader of their group.
func TestChaosStdio(t *testing.T) {
	nothing := nothingLeft(t)
	run := newChaosRun(t, 200, 3000, 60000)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	journal := filepath.Join(t.TempDir(), "journal")
	if err := os.WriteFile(journal, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b := newBooks(run.seed)
	var mu sync.Mutex
	var groups []int
	run.kill = func(ctx context.Context, n int, d *rand.Rand, current *Session) {
		session, leader := current.info.ServerVersion, current.PID()
		server, _ := strconv.Atoi(session[:strings.IndexByte(session, '-')])
		if !slices.Contains(groupOf(leader), server) {
			return // it has ended, and its id may be another's
		}
		mu.Lock()
		groups = append(groups, leader)
		mu.Unlock()
		b.kill(session)
		switch d.IntN(5) {
		case 0: // the server alone: the shell ends by itself
			_ = syscall.Kill(server, syscall.SIGKILL)
		case 1: // the shell alone: the server is an orphan
			_ = syscall.Kill(leader, syscall.SIGKILL)
		case 2:
			_ = syscall.Kill(-leader, syscall.SIGKILL)
		case 3:
			_ = syscall.Kill(server, syscall.SIGTERM)
		case 4: // the drill
			if k, err := current.Kill(ctx); err != nil || !k.Confirmed {
				t.Errorf("kill %+v, %v", k, err)
			}
		}
	}
	s := NewSupervisor(nil, config.Server{
		Name: "chaos", Transport: config.TransportStdio, Command: "/bin/sh",
		// The shell stays: the command is not its last.
		Args: []string{"-c", `"$0" "$@"; exit $?`, exe, "chaos", journal, strconv.FormatUint(run.seed, 10)},
		Env:  map[string]string{"GORACE": "atexit_sleep_ms=0"},
	})
	calls := run.run(t.Context(), s)
	st := s.Stats()
	last, err := s.Session(t.Context())
	if err == nil {
		groups = append(groups, last.PID())
	}
	_ = s.Close()
	readJournal(t, journal, b)
	if err == nil {
		st.Info = last.Info()
	}
	run.check(t, calls, b, st)
	for _, leader := range groups {
		if left := groupOf(leader); len(left) > 0 {
			t.Errorf("processes %v of group %d are left", left, leader)
		}
	}
	for _, session := range b.issued {
		pid, _ := strconv.Atoi(session[:strings.IndexByte(session, '-')])
		if running(pid) && slices.Contains(childrenLeft(exe), pid) {
			t.Errorf("the server %d is left", pid)
		}
	}
	nothing()
}

// groupOf returns the processes of a group that run. Where the system does not list them, the group stands for all.
func groupOf(pgid int) []int {
	var pids []int
	entries, err := os.ReadDir("/proc")
	if err != nil || len(entries) == 0 {
		if syscall.Kill(-pgid, 0) == nil {
			pids = append(pids, pgid)
		}
		return pids
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err == nil && running(pid) {
			if got, err := syscall.Getpgid(pid); err == nil && got == pgid {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// running reports whether a process runs: a zombie does not.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return syscall.Kill(pid, 0) == nil && !isLinux()
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	return len(fields) > 0 && fields[0] != "Z" && fields[0] != "X"
}

func isLinux() bool {
	_, err := os.Stat("/proc/self/stat")
	return err == nil
}

// childrenLeft returns the processes that were started as chaotic children of this binary.
func childrenLeft(exe string) []int {
	var pids []int
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		cmdline, err := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if err == nil && strings.HasPrefix(string(cmdline), exe+"\x00chaos\x00") {
			if pid, err := strconv.Atoi(e.Name()); err == nil && running(pid) {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
