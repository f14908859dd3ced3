package config

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// What an entry starts runs with the rights of whoever uses it, and entries are copied from pages and other people's files.
// Most commands start a program and no more; the few that hand text to a shell or an interpreter can do anything. These are
// taken apart as a shell does it, and what is found are forms that no server needs: a download that is run unseen, a write
// to a file that is run at each login. A command is never judged by the name of the package that it starts.

// DangerKind says what a dangerous command does.
type DangerKind string

// The kinds of dangers.
const (
	// DangerDownload is a download that is run at once.
	DangerDownload DangerKind = "download"
	// DangerHidden is a command that cannot be read: it is encoded.
	DangerHidden DangerKind = "hidden"
	// DangerStartup is a write to what runs at each login, or lets somebody log in.
	DangerStartup DangerKind = "startup"
	// DangerDelete is the removal of a home directory or of the system.
	DangerDelete DangerKind = "delete"
	// DangerCredentials is a credential that is sent elsewhere.
	DangerCredentials DangerKind = "credentials"
	// DangerHost is a container that is given the whole machine.
	DangerHost DangerKind = "host"
	// DangerRoot is a server that runs as root.
	DangerRoot DangerKind = "root"
)

// Danger is something in the command of an entry that a person should have seen before it is started.
type Danger struct {
	Kind DangerKind
	// Place is "command" or "args[2]".
	Place string
	// Message says what the command does and why that matters. It holds no text of the entry, which may be secret.
	Message string
}

// Dangers returns what looks dangerous in the command of the entry, in the order in which it stands there. Nothing found is
// no proof of anything: only forms that are known are.
func (s Server) Dangers() []Danger {
	if s.Command == "" {
		return nil
	}
	e := &examiner{place: "command"}
	words := []dangerWord{{text: dangerText(s.Command), place: "command"}}
	for i, arg := range s.Args {
		words = append(words, dangerWord{text: dangerText(arg), place: fmt.Sprintf("args[%d]", i)})
	}
	if len(words) == 1 && strings.ContainsAny(words[0].text, " \t\n;|&") {
		// A whole command line, which other clients give to a shell.
		e.script(words[0].text, "command", 0)
	}
	e.command(words, nil, 0)
	return e.found
}

// dangerText returns a value as a shell would see it: references stay, in the shell's own form, and $$ is a dollar.
func dangerText(value string) string {
	parts, err := parseTemplate(value)
	if err != nil {
		return value
	}
	var b strings.Builder
	for _, p := range parts {
		switch {
		case p.name == "HOME" || p.name == "userHome":
			b.WriteString("$HOME")
		case p.name != "" && p.fallback != "":
			b.WriteString(p.fallback)
		case p.name != "":
			b.WriteString("$REFERENCE")
		}
		b.WriteString(p.text)
	}
	return b.String()
}

const (
	// deepestDanger bounds scripts within scripts, and longestDanger their length: what is longer was not written by hand.
	deepestDanger = 6
	longestDanger = 256 << 10
)

// examiner collects what is found in one entry.
type examiner struct {
	// place is that of the script that is looked at.
	place string
	found []Danger
}

func (e *examiner) add(kind DangerKind, place, format string, args ...any) {
	d := Danger{Kind: kind, Place: place, Message: fmt.Sprintf(format, args...)}
	if place == "" {
		d.Place = e.place
	}
	same := func(o Danger) bool { return o.Kind == d.Kind && o.Message == d.Message }
	if !slices.ContainsFunc(e.found, same) {
		e.found = append(e.found, d)
	}
}

// dangerWord is a word of a command.
type dangerWord struct {
	// text is the word without its quotes; what a shell would put in is in its place as it is written.
	text string
	// place is where it stands in the entry, "" for a word of a script.
	place string
	// runs is what a shell would run to make the word.
	runs []*stage
}

// command looks at one command: a program and its arguments. input are the stages of a pipe before it.
func (e *examiner) command(words []dangerWord, input []*stage, depth int) {
	if len(words) == 0 || depth > deepestDanger {
		return
	}
	name, rest := programName(words[0].text), words[1:]
	switch {
	case name == "sudo" || name == "doas" || name == "pkexec" || name == "gsudo" || name == "runas":
		e.add(DangerRoot, words[0].place, "%s: what follows, and all that it loads, runs with the rights of the administrator", name)
		e.command(skipFlags(rest, "-u", "-g", "-C", "-h", "-p", "-r", "-t", "-T", "-U"), input, depth+1)
	case name == "su":
		if script, ok := flagValue(rest, "-c", "--command"); ok {
			e.add(DangerRoot, words[0].place, "su: the server, and all that it loads, runs with the rights of another user")
			e.inner(script, depth)
		}
	case slices.Contains(dangerWrappers(), name):
		e.command(skipFlags(rest, "-n", "-k", "-s", "-I", "-P", "-L", "-u", "-C", "-S", "-d", "--distribution", "-o", "-e"), input, depth+1)
	case name == "cmd":
		e.cmd(rest, depth)
	case name == "powershell" || name == "pwsh":
		e.powershell(rest)
	case isShell(name):
		e.fromInput(name, rest, []string{"-c"}, input)
		e.shell(name, rest, depth)
	case interpreterFlags(name) != nil:
		e.fromInput(name, rest, interpreterFlags(name), input)
		e.interpreter(name, rest)
	case name == "npx" || name == "npm" || name == "pnpm" || name == "bunx":
		if script, ok := flagValue(rest, "-c", "--call"); ok && name != "pnpm" {
			e.inner(script, depth)
		}
	case name == "nix-shell" || name == "nix":
		if script, ok := flagValue(rest, "--run", "--command"); ok {
			e.inner(script, depth)
		}
	case name == "uv" || name == "poetry" || name == "pixi" || name == "conda" || name == "pipenv" || name == "mise" || name == "direnv":
		// They run what follows, behind flags of their own.
		for i, w := range rest {
			if p := programName(w.text); isShell(p) || interpreterFlags(p) != nil {
				e.command(rest[i:], input, depth+1)
				break
			}
		}
	case name == "docker" || name == "podman" || name == "nerdctl":
		e.container(rest)
	case name == "rm" || name == "rmdir" || name == "shred" || name == "find":
		e.remove(name, rest)
	case name == "dd" || strings.HasPrefix(name, "mkfs"):
		for _, w := range rest {
			if device := strings.TrimPrefix(w.text, "of="); strings.HasPrefix(device, "/dev/") && !harmlessDevice(device) {
				e.add(DangerDelete, w.place, "%s writes over a disk", name)
			}
		}
	default:
		e.startupCommand(name, rest, words[0].place, input)
	}
	e.writes(name, rest)
	e.sends(name, words, input)
}

// inner looks at the script in a word.
func (e *examiner) inner(w dangerWord, depth int) {
	e.runsDownload("a shell", w)
	e.script(w.text, w.place, depth+1)
}

// shell looks at a shell and what it is given to run.
func (e *examiner) shell(name string, rest []dangerWord, depth int) {
	for i, w := range rest {
		switch {
		case isShortFlag(w.text) && strings.Contains(w.text, "c") && !strings.Contains(w.text, "="):
			for _, script := range rest[i+1:] {
				if isShortFlag(script.text) || strings.HasPrefix(script.text, "+") {
					continue
				}
				e.runsDownload(name, script)
				e.script(script.text, script.place, depth+1)
				break
			}
			return
		case w.text == "--init-file" || w.text == "--rcfile":
		case strings.HasPrefix(w.text, "-") && w.text != "-":
		default:
			e.runsDownload(name, w)
			return
		}
	}
}

// fromInput complains of a program that runs what a pipe gives it. It does when no argument names or holds what it runs.
func (e *examiner) fromInput(name string, rest []dangerWord, code []string, input []*stage) {
	for _, w := range rest {
		text := w.text
		switch {
		case text == "-" || text == "/dev/stdin" || text == "-s":
		case slices.Contains(code, text) || text == "-m" || isShell(name) && isShortFlag(text) && strings.HasSuffix(text, "c"):
			return
		case isShortFlag(text) && strings.Contains(text, "s") && isShell(name):
		case !strings.HasPrefix(text, "-"):
			return
		default:
			continue
		}
		break // it is told to read its input
	}
	for _, s := range input {
		e.runsStage(name, s, "")
	}
}

// runsDownload looks for a word that a shell makes of a download, or of what is encoded, for a program that runs it.
func (e *examiner) runsDownload(name string, w dangerWord) {
	for _, s := range w.runs {
		e.runsStage(name, s, w.place)
	}
}

// runsStage complains of a program that runs what a stage writes.
func (e *examiner) runsStage(name string, s *stage, place string) {
	switch {
	case s.downloads():
		e.add(DangerDownload, place, "what %s downloads is run by %s, unseen: whoever holds that address decides what runs here", s.name(), name)
	case s.decodes():
		e.add(DangerHidden, place, "%s decodes what %s then runs: what it does cannot be read here", s.name(), name)
	}
}

// cmd looks at what cmd /c runs: the rest of the line.
func (e *examiner) cmd(rest []dangerWord, depth int) {
	for i, w := range rest {
		if flag := strings.ToLower(w.text); flag == "/c" || flag == "/k" || flag == "/r" {
			rest = rest[i+1:]
			if len(rest) == 1 && strings.ContainsAny(rest[0].text, " |&") {
				// Its own grammar is another one, but its pipes look the same. A backslash is none that quotes.
				e.script(strings.ReplaceAll(rest[0].text, `\`, `/`), rest[0].place, depth+1)
				return
			}
			e.command(rest, nil, depth+1)
			return
		}
	}
}

// powershell looks at what PowerShell is given to run. Its flags may be cut short, and are the same in capitals.
func (e *examiner) powershell(rest []dangerWord) {
	for i, w := range rest {
		flag := strings.ToLower(strings.TrimLeft(w.text, "-/"))
		switch isFlag := strings.HasPrefix(w.text, "-"); {
		case isFlag && (flag == "ec" || strings.HasPrefix("encodedcommand", flag) && flag != "") && i+1 < len(rest):
			e.add(DangerHidden, w.place, "powershell is given an encoded command: what it does cannot be read here")
			return
		case isFlag && strings.HasPrefix("command", flag) && flag != "", !isFlag:
			var text strings.Builder
			for _, part := range rest[i:] {
				text.WriteString(strings.ToLower(part.text) + " ")
			}
			e.powershellText(text.String(), w.place)
			return
		}
	}
}

func (e *examiner) powershellText(text, place string) {
	has := wordsIn(text)
	runs := has("iex", "invoke-expression", "scriptblock")
	switch {
	case runs && has("iwr", "irm", "curl", "wget", "invoke-webrequest", "invoke-restmethod", "downloadstring", "downloadfile", "net.webclient", "webclient", "start-bitstransfer"):
		e.add(DangerDownload, place, "what powershell downloads is run at once, unseen: whoever holds that address decides what runs here")
	case runs && has("frombase64string"):
		e.add(DangerHidden, place, "powershell decodes what it then runs: what it does cannot be read here")
	}
	writes := has("set-content", "add-content", "out-file", "copy-item", "set-itemproperty", "new-itemproperty") || strings.Contains(text, ">")
	if writes && (strings.Contains(text, "$profile") || strings.Contains(text, `start menu\programs\startup`) || strings.Contains(text, `currentversion\run`)) ||
		has("register-scheduledtask", "new-service") {
		e.add(DangerStartup, place, "powershell changes what runs at each login, which outlasts the server")
	}
	if has("remove-item", "rm", "del", "rd") && has("-recurse", "-r") {
		for w := range strings.FieldsSeq(text) {
			if what := preciousPath(strings.Trim(w, `"';,`)); what != "" {
				e.add(DangerDelete, place, "powershell removes %s", what)
			}
		}
	}
}

// interpreter looks at the program text that an interpreter is given on its command line.
func (e *examiner) interpreter(name string, rest []dangerWord) {
	code, ok := flagValue(rest, interpreterFlags(name)...)
	if !ok {
		for _, w := range rest {
			if !strings.HasPrefix(w.text, "-") {
				e.runsDownload(name, w) // python <(curl …)
				return
			}
		}
		return
	}
	place := code.place
	e.runsDownload(name, code)
	text := strings.ToLower(code.text)
	contains := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
	}
	has := wordsIn(text)
	runs := has("exec", "eval", "popen", "subprocess", "child_process", "compile", "instance_eval", "function", "runpy", "vm", "spawn", "execsync", "runinthiscontext", "shell_exec", "passthru") || contains("os.system", "`")
	switch {
	case runs && (has("urlopen", "urlretrieve", "fetch", "httpx", "open-uri", "lwp", "file_get_contents", "curl", "wget") ||
		contains("requests.get", "requests.post", "http.get", "https.get", "net::http", "axios", "uri.open", "http.client", "open('http", `open("http`)):
		e.add(DangerDownload, place, "what %s downloads is run at once, unseen: whoever holds that address decides what runs here", name)
	case runs && (has("b64decode", "atob", "decode_base64", "base64_decode", "decode64", "fromhex", "unhexlify") || contains("'base64'", `"base64"`, "codecs.decode")):
		e.add(DangerHidden, place, "%s decodes what it then runs: what it does cannot be read here", name)
	}
	if what := credentialIn(code.text); what != "" &&
		(has("urlopen", "fetch", "httpx", "socket", "axios") || contains("requests.", "http.", "https.", "net::http")) {
		e.add(DangerCredentials, place, "%s reads %s and talks to the network: it is as good as given away", name, what)
	}
	if contains("rmtree", "rmsync", "rm_rf", "fs.rm") && contains("expanduser('~')", `expanduser("~")`, "path.home()", "homedir())", "homedir(),", "dir.home)", "'/')", `"/")`) {
		e.add(DangerDelete, place, "%s removes a whole home directory, or the system", name)
	}
}

// container looks at what a container is given of the machine.
func (e *examiner) container(rest []dangerWord) {
	if len(rest) > 0 && rest[0].text == "container" {
		rest = rest[1:]
	}
	if len(rest) == 0 || rest[0].text != "run" && rest[0].text != "create" && rest[0].text != "exec" {
		return
	}
	for i, w := range rest {
		flag, value, assigned := strings.Cut(w.text, "=")
		next := ""
		if i+1 < len(rest) {
			next = rest[i+1].text
		}
		if assigned {
			next = value
		}
		switch flag {
		case "--privileged":
			if !assigned || value != "false" {
				e.add(DangerHost, w.place, "--privileged: the container can do to this machine what root can")
			}
		case "-v", "--volume":
			if strings.HasPrefix(next, "/:") {
				e.add(DangerHost, w.place, "the container is given the whole file system of this machine")
			}
		case "--mount":
			for field := range strings.SplitSeq(next, ",") {
				if field == "src=/" || field == "source=/" {
					e.add(DangerHost, w.place, "the container is given the whole file system of this machine")
				}
			}
		default:
			if strings.HasPrefix(w.text, "-v/:") {
				e.add(DangerHost, w.place, "the container is given the whole file system of this machine")
			}
		}
	}
}

// remove looks at what is removed, with everything below it.
func (e *examiner) remove(name string, rest []dangerWord) {
	recursive := name == "find"
	for _, w := range rest {
		if w.text == "--recursive" || isShortFlag(w.text) && strings.ContainsAny(w.text, "rR") && name == "rm" {
			recursive = true
		}
	}
	if name == "find" && !slices.ContainsFunc(rest, func(w dangerWord) bool { return w.text == "-delete" }) || !recursive {
		return
	}
	for _, w := range rest {
		if name == "find" && strings.HasPrefix(w.text, "-") {
			return // what comes now chooses among the files
		}
		if what := preciousPath(w.text); what != "" {
			e.add(DangerDelete, w.place, "%s removes %s", name, what)
		}
	}
}

// writes looks at the files that a command writes because its arguments say so.
func (e *examiner) writes(name string, rest []dangerWord) {
	var targets []dangerWord
	var operands []dangerWord
	for _, w := range rest {
		if !strings.HasPrefix(w.text, "-") {
			operands = append(operands, w)
		}
	}
	switch name {
	case "tee":
		targets = operands
	case "cp", "mv", "ln", "install", "rsync", "copy", "move":
		if len(operands) > 1 {
			targets = operands[len(operands)-1:]
		}
	case "sed", "perl":
		if slices.ContainsFunc(rest, func(w dangerWord) bool { return strings.HasPrefix(w.text, "-i") || w.text == "--in-place" }) {
			targets = operands
		}
	case "dd":
		for _, w := range rest {
			if file, ok := strings.CutPrefix(w.text, "of="); ok {
				targets = append(targets, dangerWord{text: file, place: w.place})
			}
		}
	case "curl", "wget":
		if file, ok := flagValue(rest, "-o", "-O", "--output", "--output-document"); ok {
			targets = append(targets, file)
		}
	}
	for _, w := range targets {
		e.writesTo(w.text, w.place)
	}
}

// writesTo complains of a write to a file that is run at each login.
func (e *examiner) writesTo(file, place string) {
	if what, why := startupFile(file); what != "" {
		e.add(DangerStartup, place, "%s is written: %s, also when the server is long gone", what, why)
	}
}

// startupCommand looks at commands whose purpose is to have something run later.
func (e *examiner) startupCommand(name string, rest []dangerWord, place string, input []*stage) {
	first := func(words ...string) bool {
		for _, w := range rest {
			if !strings.HasPrefix(w.text, "-") {
				return slices.Contains(words, strings.ToLower(w.text))
			}
		}
		return false
	}
	has := func(words ...string) bool {
		return slices.ContainsFunc(rest, func(w dangerWord) bool { return slices.Contains(words, strings.ToLower(w.text)) })
	}
	switch {
	case name == "crontab" && len(rest) > 0 && !has("-l"),
		name == "systemctl" && first("enable"),
		name == "launchctl" && first("load", "bootstrap", "enable", "submit"),
		name == "schtasks" && has("/create"),
		name == "reg" && first("add") && slices.ContainsFunc(rest, func(w dangerWord) bool {
			return strings.Contains(strings.ToLower(strings.ReplaceAll(w.text, `\`, "/")), "currentversion/run")
		}):
		e.add(DangerStartup, place, "%s has something run later by itself, also when the server is long gone", name)
	case name == "eval":
		for _, w := range rest {
			e.runsDownload("eval", w)
		}
	case name == "source" || name == ".":
		if len(rest) > 0 {
			e.runsDownload("this shell", rest[0])
			e.fromInput("this shell", rest, nil, input)
		}
	}
}

// sends looks for credentials in what a command sends elsewhere.
func (e *examiner) sends(name string, words []dangerWord, input []*stage) {
	if !slices.Contains(dangerSenders(), name) {
		return
	}
	complain := func(what, place string) {
		e.add(DangerCredentials, place, "%s is sent elsewhere by %s: whoever gets it can act in your name", what, name)
	}
	for _, s := range input {
		if what := s.credential(); what != "" {
			complain(what, "")
		}
	}
	for i, w := range words[1:] {
		for _, s := range w.runs {
			if what := s.credential(); what != "" {
				complain(what, w.place)
			}
		}
		before := words[i].text
		at := strings.Contains(w.text, "@") || strings.HasPrefix(w.text, "--post-file=") || strings.HasPrefix(w.text, "--body-file=") || strings.HasPrefix(w.text, "--upload-file=")
		sent := at || before == "-T" || before == "--upload-file" || before == "--post-file"
		if name == "scp" || name == "rsync" || name == "ftp" || name == "sftp" {
			// With -i and -e a key is used, and not sent.
			sent = before != "-i" && before != "-o" && before != "-e" && before != "-F" && !strings.HasPrefix(w.text, "-")
		}
		if what := credentialIn(w.text); sent && what != "" {
			complain(what, w.place)
		}
	}
}

// programName returns the name of a program without its directory and the ending that Windows gives it.
func programName(word string) string {
	name := strings.ToLower(path.Base(strings.ReplaceAll(word, `\`, "/")))
	for _, ending := range []string{".exe", ".cmd", ".bat", ".ps1"} {
		name = strings.TrimSuffix(name, ending)
	}
	return name
}

// isShortFlag reports whether a word is one or several short flags: -c, -lc.
func isShortFlag(word string) bool {
	return len(word) > 1 && word[0] == '-' && word[1] != '-'
}

// skipFlags returns the words from the program on, without flags and assignments before it. The flags named have a value in
// the next word.
func skipFlags(words []dangerWord, valued ...string) []dangerWord {
	for i := 0; i < len(words); i++ {
		text := words[i].text
		name, _, assigned := strings.Cut(text, "=")
		switch {
		case slices.Contains(valued, text):
			i++
		case strings.HasPrefix(text, "-"), assigned && validVariable(name), text != "" && text[0] >= '0' && text[0] <= '9' && strings.Trim(text, "0123456789.smhd") == "":
			// The last is a duration, of timeout.
		default:
			return words[i:]
		}
	}
	return nil
}

// flagValue returns the word behind the first of the flags, or what it is assigned.
func flagValue(words []dangerWord, flags ...string) (value dangerWord, ok bool) {
	for i, w := range words {
		for _, flag := range flags {
			if w.text == flag && i+1 < len(words) {
				return words[i+1], true
			}
			if rest, found := strings.CutPrefix(w.text, flag+"="); found && strings.HasPrefix(flag, "--") {
				w.text = rest
				return w, true
			}
		}
	}
	return dangerWord{}, false
}

// wordsIn returns a function that tells whether one of its words stands in a program's text as a word of its own.
func wordsIn(text string) func(words ...string) bool {
	fields := strings.FieldsFunc(text, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
		return !letter && r != '_' && r != '-'
	})
	return func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(fields, w) })
	}
}
