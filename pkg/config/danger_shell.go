package config

import (
	"path"
	"slices"
	"strings"

	shell "mvdan.cc/sh/v3/syntax"
)

// stage is one command of a pipe, or what a shell runs to make a word, with all that runs within it.
type stage struct {
	calls [][]dangerWord
	// files are what it reads by redirection.
	files []string
}

// script looks at text in the language of a shell. Bash's is parsed, which has nearly all that the others have; a text that
// is in none of it is cut at what divides commands everywhere.
func (e *examiner) script(text, place string, depth int) {
	if depth > deepestDanger || len(text) > longestDanger {
		return
	}
	outer := e.place
	if place != "" {
		e.place = place
	}
	defer func() { e.place = outer }()
	s := &scriptExaminer{examiner: e, depth: depth, downloaded: map[string]string{}}
	file, err := shell.NewParser(shell.Variant(shell.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		s.roughly(text)
		return
	}
	for _, stmt := range file.Stmts {
		s.stmt(stmt, nil)
	}
}

// scriptExaminer looks at one script.
type scriptExaminer struct {
	*examiner
	depth int
	// downloaded are the files that the script has downloaded until here, with the program that did.
	downloaded map[string]string
}

// stmt looks at a statement, behind the stages of a pipe.
func (s *scriptExaminer) stmt(stmt *shell.Stmt, input []*stage) {
	for _, r := range stmt.Redirs {
		input = s.redirect(r, stmt, input)
	}
	switch cmd := stmt.Cmd.(type) {
	case nil:
	case *shell.CallExpr:
		for _, a := range cmd.Assigns {
			s.within(a)
		}
		var words []dangerWord
		for _, w := range cmd.Args {
			words = append(words, shellWord(w))
			s.within(w)
		}
		s.call(words, input)
	case *shell.BinaryCmd:
		if cmd.Op != shell.Pipe && cmd.Op != shell.PipeAll {
			s.stmt(cmd.X, input)
			s.stmt(cmd.Y, input)
			return
		}
		s.stmt(cmd.X, input)
		s.stmt(cmd.Y, append(slices.Clone(input), stageOf(cmd.X)))
	default:
		shell.Walk(cmd, func(n shell.Node) bool {
			inner, ok := n.(*shell.Stmt)
			if ok {
				s.stmt(inner, input)
			}
			return !ok
		})
	}
}

// within looks at what a shell runs to make a word.
func (s *scriptExaminer) within(n shell.Node) {
	shell.Walk(n, func(n shell.Node) bool {
		inner, ok := n.(*shell.Stmt)
		if ok {
			s.stmt(inner, nil)
		}
		return !ok
	})
}

// redirect looks at where a statement's output goes, and returns its input with what it reads.
func (s *scriptExaminer) redirect(r *shell.Redirect, stmt *shell.Stmt, input []*stage) []*stage {
	if r.Word == nil {
		return input
	}
	w := shellWord(r.Word)
	s.within(r.Word)
	switch r.Op {
	case shell.RdrOut, shell.AppOut, shell.RdrClob, shell.AppClob, shell.RdrAll, shell.AppAll, shell.RdrAllClob, shell.AppAllClob, shell.RdrInOut:
		s.writesTo(w.text, "")
		if strings.HasPrefix(w.text, "/dev/sd") || strings.HasPrefix(w.text, "/dev/nvme") || strings.HasPrefix(w.text, "/dev/disk") {
			s.add(DangerDelete, "", "a disk is written over")
		}
		if from := stageOf(stmt); from.downloads() {
			s.downloaded[path.Clean(w.text)] = from.name()
		}
		if strings.HasPrefix(w.text, "/dev/tcp/") || strings.HasPrefix(w.text, "/dev/udp/") {
			if what := stageOf(stmt).credential(); what != "" {
				s.add(DangerCredentials, "", "%s is sent elsewhere: whoever gets it can act in your name", what)
			}
		}
	case shell.RdrIn:
		return append(slices.Clone(input), append(w.runs, &stage{files: []string{w.text}})...)
	case shell.WordHdoc, shell.Hdoc, shell.DashHdoc:
		return append(slices.Clone(input), w.runs...)
	default: // a descriptor is doubled
	}
	return input
}

// call looks at one command of a script.
func (s *scriptExaminer) call(words []dangerWord, input []*stage) {
	if len(words) == 0 {
		return
	}
	for _, run := range words[0].runs {
		s.runsStage("this shell", run, "")
	}
	s.runsFile(words)
	s.command(words, input, s.depth)
	s.remember(words)
}

// runsFile complains of a program that the script has downloaded before.
func (s *scriptExaminer) runsFile(words []dangerWord) {
	name := programName(words[0].text)
	run := words[0].text
	if isShell(name) || interpreterFlags(name) != nil || name == "source" || name == "." || name == "sudo" || slices.Contains(dangerWrappers(), name) {
		run = ""
		for i, w := range words[1:] {
			if !strings.HasPrefix(w.text, "-") {
				if name == "sudo" || slices.Contains(dangerWrappers(), name) {
					s.runsFile(words[i+1:])
					return
				}
				run = w.text
				break
			}
		}
	}
	if by, ok := s.downloaded[path.Clean(run)]; ok && run != "" {
		s.add(DangerDownload, "", "what %s downloads is run at once, unseen: whoever holds that address decides what runs here", by)
	}
}

// remember takes down what a command downloads into a file.
func (s *scriptExaminer) remember(words []dangerWord) {
	words = unwrapped(words)
	if len(words) == 0 || !isDownloader(programName(words[0].text)) {
		return
	}
	name, rest := programName(words[0].text), words[1:]
	if file, ok := flagValue(rest, "-o", "--output", "--output-document"); ok {
		s.downloaded[path.Clean(file.text)] = name
	}
	byName := name == "wget"
	for i, w := range rest {
		switch {
		case !isShortFlag(w.text) && w.text != "--remote-name":
		case name == "curl" && strings.Contains(w.text, "o") && strings.HasSuffix(w.text, "o") && i+1 < len(rest):
			s.downloaded[path.Clean(rest[i+1].text)] = name // -fsSLo FILE
		case strings.Contains(w.text, "O") || w.text == "--remote-name":
			byName = name == "curl"
			if name == "wget" && strings.HasSuffix(w.text, "O") && i+1 < len(rest) {
				s.downloaded[path.Clean(rest[i+1].text)] = name // -qO FILE
			}
		}
	}
	for _, w := range rest {
		if byName && strings.Contains(w.text, "://") {
			file, _, _ := strings.Cut(w.text, "?")
			s.downloaded[path.Base(file)] = name
		}
	}
}

// roughly looks at a text that is in no grammar that is known here.
func (s *scriptExaminer) roughly(text string) {
	text = strings.NewReplacer("&&", "\n", "||", "\n", ";", "\n", "&", "\n").Replace(text)
	for line := range strings.Lines(text) {
		var input []*stage
		for part := range strings.SplitSeq(line, "|") {
			var words []dangerWord
			for w := range strings.FieldsSeq(part) {
				words = append(words, dangerWord{text: strings.Trim(w, `"'()`)})
			}
			s.call(words, input)
			input = append(input, &stage{calls: [][]dangerWord{words}})
		}
	}
}

// shellWord returns a word of a script as the shell makes it, as far as that can be known.
func shellWord(w *shell.Word) dangerWord {
	var b strings.Builder
	word := dangerWord{}
	var write func(parts []shell.WordPart)
	write = func(parts []shell.WordPart) {
		for _, part := range parts {
			switch p := part.(type) {
			case *shell.Lit:
				b.WriteString(unescaped(p.Value))
			case *shell.SglQuoted:
				b.WriteString(p.Value)
			case *shell.DblQuoted:
				write(p.Parts)
			case *shell.ParamExp:
				if p.Param != nil {
					b.WriteString("$" + p.Param.Value)
				}
			case *shell.CmdSubst:
				word.runs = append(word.runs, stageOf(p))
				b.WriteString("$()")
			case *shell.ProcSubst:
				word.runs = append(word.runs, stageOf(p))
				b.WriteString("<()")
			}
		}
	}
	write(w.Parts)
	word.text = b.String()
	return word
}

// unescaped returns text without the backslashes that quote.
func unescaped(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			if i++; text[i] == '\n' {
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// stageOf returns all that runs within a node.
func stageOf(n shell.Node) *stage {
	s := &stage{}
	shell.Walk(n, func(n shell.Node) bool {
		switch n := n.(type) {
		case *shell.CallExpr:
			var words []dangerWord
			for _, w := range n.Args {
				words = append(words, shellWord(w))
			}
			s.calls = append(s.calls, words)
		case *shell.Redirect:
			if n.Op == shell.RdrIn && n.Word != nil {
				s.files = append(s.files, shellWord(n.Word).text)
			}
		}
		return true
	})
	return s
}

// unwrapped returns a command without the programs before it that only run it.
func unwrapped(words []dangerWord) []dangerWord {
	for len(words) > 0 {
		name := programName(words[0].text)
		if name != "sudo" && !slices.Contains(dangerWrappers(), name) {
			break
		}
		words = skipFlags(words[1:])
	}
	return words
}

// isDownloader reports whether a program writes to its output what it downloads.
func isDownloader(name string) bool {
	return slices.Contains([]string{"curl", "wget", "fetch", "aria2c", "http", "https", "xh", "lwp-request"}, name)
}

// downloads reports whether something within the stage downloads.
func (s *stage) downloads() bool { return s.downloader() != "" }

func (s *stage) downloader() string {
	for _, words := range s.calls {
		if words = unwrapped(words); len(words) > 0 && isDownloader(programName(words[0].text)) {
			return programName(words[0].text)
		}
	}
	return ""
}

// decodes reports whether something within the stage decodes what nobody can read.
func (s *stage) decodes() bool { return s.decoder() != "" }

func (s *stage) decoder() string {
	for _, words := range s.calls {
		if words = unwrapped(words); len(words) == 0 {
			continue
		}
		name, rest := programName(words[0].text), words[1:]
		has := func(flags ...string) bool {
			return slices.ContainsFunc(rest, func(w dangerWord) bool { return slices.Contains(flags, w.text) })
		}
		switch {
		case (name == "base64" || name == "base32" || name == "gbase64") && has("-d", "-D", "-di", "--decode", "-decode"),
			name == "openssl" && has("-d"), name == "xxd" && has("-r", "-rp", "-r-p"), name == "uudecode":
			return name
		}
	}
	return ""
}

// name returns what downloads or decodes.
func (s *stage) name() string {
	if name := s.downloader(); name != "" {
		return name
	}
	return s.decoder()
}

// credential returns what credential the stage reads, "" for none.
func (s *stage) credential() string {
	for _, file := range s.files {
		if what := credentialIn(file); what != "" {
			return what
		}
	}
	for _, words := range s.calls {
		words = unwrappedEnv(words)
		if len(words) == 1 && (words[0].text == "env" || words[0].text == "printenv") {
			return "the whole environment, with all tokens in it,"
		}
		for _, w := range words {
			if what := credentialIn(w.text); what != "" {
				return what
			}
		}
	}
	return ""
}

// unwrappedEnv is unwrapped for all but a bare env, which runs nothing and shows everything.
func unwrappedEnv(words []dangerWord) []dangerWord {
	if len(words) == 1 {
		return words
	}
	return unwrapped(words)
}
