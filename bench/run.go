package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// runLimit is how long one run of a program may take: the slowest takes seconds, on a machine that is busy, too.
const runLimit = 90 * time.Second

// grace is how long a program that is being ended may take to do so.
const grace = 3 * time.Second

// environment is that of all programs that are measured: a home of their own below the directory, and nothing else that
// could change what they do.
func environment(dir string, more ...string) []string {
	home := filepath.Join(dir, "home")
	env := []string{
		"HOME=" + home, "USERPROFILE=" + home,
		"XDG_CONFIG_HOME=" + filepath.Join(home, "config"), "XDG_CACHE_HOME=" + filepath.Join(home, "cache"),
		"XDG_STATE_HOME=" + filepath.Join(home, "state"), "XDG_DATA_HOME=" + filepath.Join(home, "data"),
		"LANG=C.UTF-8", "TERM=dumb",
	}
	for _, name := range []string{"PATH", "TMPDIR", "SYSTEMROOT", "TEMP", "TMP"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return append(env, more...)
}

// measured runs a program and returns its output, its exit code and its figures. Its memory is its own, without that of
// what it starts. An error means that it could not be measured.
func measured(ctx context.Context, dir string, args []string, env ...string) (out string, code int, f figures, err error) {
	return metered(ctx, dir, append([]string{"run"}, args...), env)
}

// measuredAlone is measured for a program that starts no other: its memory is then exact.
func measuredAlone(ctx context.Context, dir string, args []string, env ...string) (out string, code int, f figures, err error) {
	return metered(ctx, dir, append([]string{"run", "-alone"}, args...), env)
}

// metered runs a program by way of the meter, which was built in the directory.
func metered(ctx context.Context, dir string, args, env []string) (out string, code int, f figures, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, runLimit, fmt.Errorf("not done after %s", runLimit))
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "meter"), args...)
	cmd.Dir, cmd.Env = dir, environment(dir, env...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = grace
	endTogether(cmd)
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return "", 0, figures{}, fmt.Errorf("%s: %w, output %q, errors %q", strings.Join(args, " "), err, tail(stdout.String()), tail(stderr.String()))
	}
	out = strings.TrimSuffix(stdout.String(), "\n")
	end := strings.LastIndex(out, "\n") + 1
	if _, err := fmt.Sscan(out[end:], &code, &f.ms, &f.cpu, &f.mib); err != nil {
		return "", 0, figures{}, fmt.Errorf("%s: output %q, errors %q: %w", strings.Join(args, " "), tail(out), tail(stderr.String()), err)
	}
	out = out[:end]
	if code != 0 && strings.TrimSpace(out) == "" {
		out = stderr.String()
	}
	return out, code, f, nil
}

// tail is the end of a text that may be long.
func tail(text string) string {
	const most = 400
	if len(text) > most {
		return "…" + text[len(text)-most:]
	}
	return text
}

// module is the path of the module, so that its packages are found wherever this is run in it.
const module = "github.com/mcpctl/mcpctl"

// build builds a program the way it is shipped, into the directory.
func build(ctx context.Context, dir, pkg string) (string, error) {
	out := filepath.Join(dir, filepath.Base(pkg))
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", out, module+strings.TrimPrefix(pkg, "."))
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", pkg, err, text)
	}
	return out, nil
}

// serve starts a server over HTTP that tells its URL on standard error, and returns that.
func serve(ctx context.Context, program string, args ...string) (url string, stop func(), err error) {
	return serveAs(ctx, os.Environ(), "", append([]string{program}, args...))
}

// serveAs starts a server in an environment. The URL is what stands behind http:// in a line on standard error, or the one
// that is given, when the server has said anything.
func serveAs(ctx context.Context, env []string, known string, args []string) (url string, stop func(), err error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = env
	pipe, err := cmd.StderrPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	watchdog := time.AfterFunc(runLimit, stop)
	defer watchdog.Stop()
	lines := bufio.NewScanner(pipe)
	for lines.Scan() {
		url := known
		if known == "" {
			_, address, ok := strings.Cut(lines.Text(), "http://")
			if !ok {
				continue
			}
			url = "http://" + strings.TrimSpace(address)
		} else if !strings.Contains(lines.Text(), "listening") {
			continue
		}
		go func() { _, _ = io.Copy(io.Discard, pipe) }()
		return url, stop, nil
	}
	stop()
	return "", nil, fmt.Errorf("%s: told no URL: %w", strings.Join(args, " "), errors.Join(lines.Err(), io.ErrUnexpectedEOF))
}
