package config

import (
	"path"
	"slices"
	"strings"
)

// dangerWrappers are programs that run the command in their arguments.
func dangerWrappers() []string {
	return []string{"env", "nohup", "nice", "ionice", "timeout", "time", "xargs", "exec", "command", "builtin", "stdbuf", "setsid", "busybox", "wsl", "caffeinate", "unbuffer"}
}

// dangerSenders are programs that send what they are given to another machine.
func dangerSenders() []string {
	return []string{"curl", "wget", "nc", "ncat", "netcat", "socat", "scp", "rsync", "ftp", "sftp", "http", "https", "xh", "telnet", "invoke-webrequest", "iwr"}
}

// isShell reports whether a program runs text in the language of a shell.
func isShell(name string) bool {
	return slices.Contains([]string{"sh", "bash", "zsh", "dash", "ash", "ksh", "mksh", "fish"}, name)
}

// interpreterFlags returns the flags behind which an interpreter takes the text of a program, nil for what is none.
func interpreterFlags(name string) []string {
	base := strings.TrimRight(name, "0123456789.")
	switch base {
	case "python", "pypy", "py", "pythonw":
		return []string{"-c", "-uc", "-Sc", "-Ic"}
	case "node", "nodejs", "bun", "tsx":
		return []string{"-e", "--eval", "-p", "--print", "-pe"}
	case "deno":
		return []string{"eval"}
	case "ruby", "perl", "lua", "osascript":
		return []string{"-e", "-E", "-ne", "-pe"}
	case "php":
		return []string{"-r"}
	}
	return nil
}

// harmlessDevice reports whether writing to a device leaves no trace.
func harmlessDevice(device string) bool {
	return slices.Contains([]string{"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero"}, device) || strings.HasPrefix(device, "/dev/fd/") || strings.HasPrefix(device, "/dev/shm/")
}

// homeless returns a path without what stands for a home directory before it, and whether that was there.
func homeless(file string) (string, bool) {
	file = strings.ReplaceAll(file, `\`, "/")
	for _, home := range []string{"~", "$HOME", "${HOME}", "%USERPROFILE%", "$env:USERPROFILE", "$env:userprofile"} {
		if rest, ok := strings.CutPrefix(file, home); ok && (rest == "" || rest[0] == '/') {
			return strings.TrimPrefix(rest, "/"), true
		}
	}
	for _, homes := range []string{"/home/", "/Users/", "C:/Users/", "c:/users/"} {
		if rest, ok := strings.CutPrefix(file, homes); ok {
			if _, below, found := strings.Cut(rest, "/"); found {
				return below, true
			}
			return "", true
		}
	}
	if rest, ok := strings.CutPrefix(file, "/root"); ok && (rest == "" || rest[0] == '/') {
		return strings.TrimPrefix(rest, "/"), true
	}
	return file, false
}

// preciousPath returns what a path is when its removal is a disaster: a home directory, or a directory of the system.
func preciousPath(file string) string {
	trimmed := strings.TrimRight(strings.TrimSuffix(strings.TrimSuffix(file, "*"), "."), "/")
	if rest, home := homeless(trimmed); home && strings.Trim(rest, "/") == "" {
		return "a whole home directory"
	}
	if file == "/" || strings.HasPrefix(file, "/") && trimmed == "" {
		return "the whole file system"
	}
	switch strings.ToLower(strings.TrimRight(strings.ReplaceAll(trimmed, `\`, "/"), "/")) {
	case "/home", "/users", "c:/users":
		return "all home directories"
	case "/etc", "/usr", "/var", "/bin", "/sbin", "/lib", "/boot", "/opt", "/system", "/library", "/applications", "c:", "c:/windows":
		return "a directory of the system"
	}
	return ""
}

// startupFile returns what a file is that is run, or trusted, at each login, and why it matters; "" for all others.
func startupFile(file string) (what, why string) {
	const (
		runs = "what stands there runs at each login"
		lets = "who is named there can log in"
	)
	rest, home := homeless(file)
	base := path.Base(rest)
	switch base {
	case ".bashrc", ".bash_profile", ".bash_login", ".profile", ".zshrc", ".zprofile", ".zshenv", ".zlogin", ".bash_logout", ".xprofile", ".xinitrc":
		return base, runs
	case "authorized_keys":
		return base, lets
	case "config.fish":
		return base, runs
	}
	below := func(dirs ...string) bool {
		return slices.ContainsFunc(dirs, func(d string) bool { return strings.HasPrefix(rest, d) })
	}
	switch {
	case home && below(".config/systemd/user/", ".local/share/systemd/user/"), below("/etc/systemd/system/", "/lib/systemd/", "/usr/lib/systemd/"):
		return "a systemd unit", "what stands there is started by itself"
	case home && below(".config/autostart/"), below("/etc/xdg/autostart/"):
		return "an autostart file", runs
	case strings.Contains(rest, "Library/LaunchAgents/"), strings.Contains(rest, "Library/LaunchDaemons/"):
		return "a launch agent", "what stands there is started by itself"
	case below("/etc/cron", "/var/spool/cron"):
		return "a crontab", "what stands there is started by itself"
	case below("/etc/profile", "/etc/bash.bashrc", "/etc/zsh", "/etc/rc.local", "/etc/init.d/", "/etc/ld.so.preload"):
		return "a start-up file of the system", runs
	case below("/etc/sudoers"):
		return "the list of who may be root", "it holds"
	case strings.Contains(strings.ToLower(rest), "start menu/programs/startup"):
		return "the startup folder", runs
	}
	return "", ""
}

// credentialIn returns what credential a text names by its file, "" for none.
func credentialIn(text string) string {
	text = strings.ReplaceAll(text, `\`, "/")
	for _, c := range []struct{ part, what string }{
		{".ssh/id_", "an SSH key"},
		{".aws/credentials", "the AWS credentials"},
		{".netrc", "the passwords in .netrc"},
		{".git-credentials", "the passwords of Git"},
		{".docker/config.json", "the credentials of Docker"},
		{".kube/config", "the credentials of Kubernetes"},
		{".config/gcloud/", "the credentials of Google Cloud"},
		{"application_default_credentials", "the credentials of Google Cloud"},
		{".config/gh/hosts.yml", "the GitHub token"},
		{".npmrc", "the npm token"},
		{".pypirc", "the PyPI token"},
		{".gnupg/", "a GnuPG key"},
		{"/etc/shadow", "the password file"},
		{"Library/Keychains", "the keychain"},
		{".azure/", "the credentials of Azure"},
		{".pgpass", "the passwords of PostgreSQL"},
	} {
		i := strings.Index(text, c.part)
		if i < 0 {
			continue
		}
		name := text[i:]
		if end := strings.IndexAny(name, " \t\n'\"`)|;&,"); end >= 0 {
			name = name[:end]
		}
		if !strings.HasSuffix(name, ".pub") {
			return c.what
		}
	}
	return ""
}
