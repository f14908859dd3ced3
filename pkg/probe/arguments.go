package probe

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// doubt is an argument that is probably not what was meant.
type doubt struct {
	// place is where it stands: "args[1]", "env.TOKEN".
	place     string
	said, fix string
}

// argumentRule is one form that an argument should not have.
type argumentRule struct {
	form *regexp.Regexp
	what string
	// file and line are what to do about it, in a configuration file and on a command line.
	file, line string
	// secret is set when the rule holds for the values of variables, too.
	secret bool
}

// argumentRules are the forms. Each is narrow: a normal argument has none of them.
var argumentRules = sync.OnceValue(func() []argumentRule {
	const own = "write the value itself"
	const quotes = "leave the quotes off there, or use double ones, so that your shell replaces it"
	rule := func(form, what, file, line string) argumentRule {
		return argumentRule{form: regexp.MustCompile(form), what: what, file: file, line: line}
	}
	placeholder := func(form string) argumentRule {
		return argumentRule{form: regexp.MustCompile(form), what: "a placeholder", file: "write your own value in its place", line: "write your own value in its place", secret: true}
	}
	return []argumentRule{
		rule(`^(?:[^'"\s]*=)?'[^']*'$|^(?:[^'"\s{]*=)?"[^"]*"$`, "it keeps its quotes, and the server gets them", "leave the quotes out", "leave the inner quotes out"),
		rule(`\$\{(?:workspaceFolder|workspaceRoot|userHome|input:|env:|file|pathSeparator|config:)[^}]*\}`, "a placeholder of another client, which is not replaced here", own, own),
		rule(`\$\{[A-Za-z_][A-Za-z0-9_]*(?::?[-?][^}]*)?\}`, "no shell replaces it", own, quotes),
		rule(`(?:^|[=:/,])\$[A-Z_][A-Z0-9_]*(?:$|[/:,.\\])`, "no shell replaces it", "write ${NAME} for $NAME", quotes),
		rule(`%[A-Z][A-Z0-9_()]{2,}%`, "no shell replaces it", "write ${NAME} for %NAME%", own),
		rule(`^\$\([a-z][^)]*\)|=\$\([a-z][^)]*\)|^`+"`[a-z][^`]*`$", "no shell runs it", own, quotes),
		rule(`^~[a-z_][a-z0-9_-]*(?:/|$)`, "~ with a name is not replaced", "write the whole path", "write the whole path"),
		rule(`^-[^=]*=~/`, "~ is replaced at the beginning of an argument only", "write the whole path, or ${HOME}", "write the whole path, or $HOME"),
		placeholder(`(?:^|=)<(?:[A-Z][A-Z0-9_-]{2,}|[A-Za-z]+[-_ ][A-Za-z_ -]+|[a-z]*(?:key|token|secret|password|path|dir|directory|url|host|id|name|user))>$`),
		placeholder(`(?i)(?:^|[=:/ ])<?(?:your|insert|enter|replace)[-_ ](?:own[-_ ]|the[-_ ]|with[-_ ]|actual[-_ ])?[a-z0-9_ -]*(?:key|token|secret|password|id|url|name|path|dir|directory|host|username|here)(?:$|[>/-])`),
		placeholder(`(?i)(?:^|[=/])path[/\\]to[/\\]`),
	}
})

// codeOptions are the options behind which a program takes text of its own language.
func codeOptions() []string {
	return []string{"-c", "-e", "--eval", "-p", "--print", "/c", "/C", "-Command", "-lc", "-ic"}
}

// takesCode are the programs that have such options.
var takesCode = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:(?:ba|z|da|k|fi|)sh|cmd|pwsh|powershell|node|deno|bun|ruby|perl|php|python3?(?:\.\d+)?)$`)
})

// doubtfulArguments looks at the arguments that a process gets, and at the values of its variables for placeholders. Of
// an entry in a file, meant reports the arguments in which a dollar sign is meant; it is nil for one that was typed.
func doubtfulArguments(s config.Server, meant func(int) bool) []doubt {
	var found []doubt
	rules := argumentRules()
	program := programName(s.Command)
	code := false
	for i, arg := range s.Args {
		if code {
			break
		}
		code = takesCode().MatchString(program) && slices.Contains(codeOptions(), arg)
		for _, r := range rules {
			if r.form.MatchString(arg) && (meant == nil || !meant(i)) {
				fix := r.file
				if meant == nil {
					fix = r.line
				}
				found = append(found, doubt{fmt.Sprintf("args[%d]", i), fmt.Sprintf("args[%d] is %s: %s", i, shown(arg), r.what), fix})
				break
			}
		}
		if pattern := unmatched(s, arg); pattern != "" {
			found = append(found, doubt{
				fmt.Sprintf("args[%d]", i), fmt.Sprintf("args[%d] is %s: no shell replaces it by the files that match", i, shown(arg)), "name the files, one argument each",
			})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		for _, r := range rules {
			if r.secret && r.form.MatchString(s.Env[name]) {
				found = append(found, doubt{"env." + name, "env." + name + " holds a placeholder", r.file})
				break
			}
		}
	}
	if i, path := missingScript(s); path != "" {
		found = append(found, doubt{
			fmt.Sprintf("args[%d]", i), fmt.Sprintf("args[%d]: the file %s does not exist", i, path),
			"build the server, correct the path, or set cwd: a relative path begins there",
		})
	}
	return found
}

// shown returns an argument in quotes, cut to what fits a line.
func shown(arg string) string {
	const most = 60
	if r := []rune(arg); len(r) > most {
		arg = string(r[:most]) + "…"
	}
	return fmt.Sprintf("%q", arg)
}

// programName returns the name of a command without its directory and the ending of Windows.
func programName(command string) string {
	return strings.TrimSuffix(filepath.Base(filepath.FromSlash(command)), ".exe")
}

// under returns a path as the process finds it.
func under(s config.Server, path string) string {
	if filepath.IsAbs(path) || s.Cwd == "" {
		return path
	}
	return filepath.Join(s.Cwd, path)
}

// unmatched returns an argument that a shell would have replaced by the names of files: a path with a * in it that stands
// for some, and is none itself. Patterns for the server's own use begin otherwise.
func unmatched(s config.Server, arg string) string {
	if strings.HasPrefix(arg, "-") || strings.Contains(arg, "**") || strings.Contains(arg, "=") || !strings.ContainsRune(arg, '*') {
		return ""
	}
	if !filepath.IsAbs(arg) && !strings.HasPrefix(arg, "./") {
		return ""
	}
	path := under(s, arg)
	if _, err := os.Lstat(path); err == nil {
		return ""
	}
	if matches, err := filepath.Glob(path); err != nil || len(matches) == 0 {
		return ""
	}
	return path
}

// scriptEndings are how files are called that are clearly meant to be run by a runtime.
var scriptEndings = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\.(?:js|mjs|cjs|ts|mts|py|jar|rb|php|dll)$`)
})

// missingScript returns the script that a runtime is to run, and its place, if it does not exist; else "".
func missingScript(s config.Server) (place int, path string) {
	program := programName(s.Command)
	first := 0
	switch {
	case regexp.MustCompile(`^(?:node|python3?(?:\.\d+)?|ruby|php|tsx|ts-node|dotnet)$`).MatchString(program):
	case (program == "bun" || program == "deno") && len(s.Args) > 0 && s.Args[0] == "run":
		first = 1
	case program == "java":
		if i := slices.Index(s.Args, "-jar"); i >= 0 && i+1 < len(s.Args) {
			return missingFile(s, i+1)
		}
		return 0, ""
	default:
		return 0, ""
	}
	for i := first; i < len(s.Args); i++ {
		arg := s.Args[i]
		switch {
		case arg == "-m" || arg == "-" || slices.Contains(codeOptions(), arg):
			return 0, ""
		case strings.HasPrefix(arg, "-"):
			continue
		case scriptEndings().MatchString(arg):
			return missingFile(s, i)
		case i > first && strings.HasPrefix(s.Args[i-1], "-"):
			continue // perhaps the value of that option
		}
		return 0, ""
	}
	return 0, ""
}

// missingFile returns an argument as a path if there is no such file.
func missingFile(s config.Server, i int) (int, string) {
	arg := s.Args[i]
	if strings.Contains(arg, "://") || strings.HasPrefix(arg, "jsr:") || strings.HasPrefix(arg, "npm:") || strings.ContainsAny(arg, "$%<>*") {
		return 0, ""
	}
	path := under(s, arg)
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		return 0, ""
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return i, cmp.Or(path, arg)
}
