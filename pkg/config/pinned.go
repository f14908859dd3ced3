package config

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	shell "mvdan.cc/sh/v3/syntax"
)

// Package is what an entry has a runner such as npx, uvx or docker fetch before it is started.
type Package struct {
	// Runner is what fetches it: "npx", "uvx", "docker".
	Runner string
	// Text is the package as it is written, with its version: "@scope/server@^1", "mcp/fetch:latest".
	Text string
	// Place is where it stands: "args[1]".
	Place string
	// Pinned reports whether it is the same each time it is fetched, as far as its name says: it has an exact version, a
	// digest, a commit, or the tag of an image that is not "latest".
	Pinned bool
	// Example shows how a version is written, "" for a pinned one.
	Example string
}

// Packages returns the packages that the entry's command fetches by name. What lies on this machine, is an archive at an
// address, or has a variable in it is left out: nothing can be said of it.
func (s Server) Packages() []Package {
	if s.Command == "" {
		return nil
	}
	words := []dangerWord{{text: s.Command, place: "command"}}
	for i, arg := range s.Args {
		words = append(words, dangerWord{text: arg, place: fmt.Sprintf("args[%d]", i)})
	}
	return packagesOf(words, 0)
}

// packagesOf returns the packages of one command.
func packagesOf(words []dangerWord, depth int) []Package {
	words = unwrapped(words)
	if len(words) == 0 || depth > deepestDanger {
		return nil
	}
	name, rest := programName(words[0].text), words[1:]
	sub := func(options ...string) bool { return len(rest) > 0 && slices.Contains(options, rest[0].text) }
	switch {
	case name == "cmd" && len(rest) > 1 && strings.EqualFold(rest[0].text, "/c"):
		return packagesOf(rest[1:], depth+1)
	case isShell(name):
		return scriptPackages(rest, depth)
	case name == "npx" || name == "pnpx" || name == "bunx":
		return nodePackages(name, rest)
	case name == "npm" && sub("exec", "x"), name == "pnpm" && sub("dlx"), name == "yarn" && sub("dlx"), name == "bun" && sub("x"):
		return nodePackages(name+" "+rest[0].text, rest[1:])
	case name == "uvx":
		return pythonPackages(name, rest, "--from")
	case name == "uv" && sub("tool") && len(rest) > 1 && rest[1].text == "run":
		return pythonPackages("uv tool run", rest[2:], "--from")
	case name == "pipx" && sub("run"):
		return pythonPackages("pipx run", rest[1:], "--spec")
	case (name == "docker" || name == "podman" || name == "nerdctl") && sub("run"):
		return images(name+" run", rest[1:])
	}
	return nil
}

// scriptPackages returns the packages of the commands in the script that a shell is given.
func scriptPackages(rest []dangerWord, depth int) []Package {
	for i, w := range rest {
		if !isShortFlag(w.text) || !strings.Contains(w.text, "c") || i+1 == len(rest) {
			continue
		}
		script := rest[i+1]
		if len(script.text) > longestDanger {
			return nil
		}
		file, err := shell.NewParser(shell.Variant(shell.LangBash)).Parse(strings.NewReader(dangerText(script.text)), "")
		if err != nil {
			return nil
		}
		var found []Package
		for _, words := range stageOf(file).calls {
			for i := range words {
				words[i].place = script.place
			}
			found = append(found, packagesOf(words, depth+1)...)
		}
		return found
	}
	return nil
}

// operands returns the values of a flag, and the first word that is no flag and no flag's value. The flags named have a
// value in the next word.
func operands(words []dangerWord, flags, valued []string) (values []dangerWord, first dangerWord, found bool) {
	for i := 0; i < len(words); i++ {
		text := words[i].text
		flag, value, assigned := strings.Cut(text, "=")
		switch {
		case slices.Contains(flags, flag) && assigned:
			values = append(values, dangerWord{text: value, place: words[i].place})
		case slices.Contains(flags, text) && i+1 < len(words):
			i++
			values = append(values, words[i])
		case slices.Contains(valued, text):
			i++
		case text == "--" && i+1 < len(words):
			return values, words[i+1], true
		case strings.HasPrefix(text, "-"):
		default:
			return values, words[i], true
		}
	}
	return values, dangerWord{}, false
}

func nodePackages(runner string, rest []dangerWord) []Package {
	values, first, found := operands(rest, []string{"-p", "--package"},
		[]string{"-c", "--call", "--registry", "--prefix", "--cache", "-w", "--workspace", "--userconfig", "--loglevel", "--node-options", "-C", "--dir", "--allow-build"})
	if len(values) == 0 && found {
		values = []dangerWord{first}
	}
	return specs(runner, values, nodePinned)
}

func pythonPackages(runner string, rest []dangerWord, flag string) []Package {
	valued := []string{
		"--with", "--with-editable", "--with-requirements", "-p", "--python", "--index", "--index-url", "-i", "--extra-index-url",
		"--default-index", "-f", "--find-links", "--refresh-package", "-P", "--upgrade-package", "--directory", "--project", "--config-file", "--env-file",
		"--prerelease", "--resolution", "--link-mode", "--cache-dir", "-C", "--config-setting", "--exclude-newer", "--color", "-c", "--constraints",
		"-b", "--build-constraints", "--overrides", "--allow-insecure-host", "--keyring-provider", "--index-strategy", "--python-platform", "--torch-backend", "--pip-args",
	}
	values, first, found := operands(rest, []string{flag}, valued)
	if len(values) == 0 && found {
		values = []dangerWord{first}
	}
	return specs(runner, values, pythonPinned)
}

// specs returns the packages that words name. pinned returns how a version is written, "" for a pinned one; false for a
// word of which nothing can be said.
func specs(runner string, words []dangerWord, pinned func(string) (example string, ok bool)) []Package {
	var found []Package
	for _, w := range words {
		if w.text == "" || strings.Contains(w.text, "$") || localPath(w.text) {
			continue
		}
		if example, ok := pinned(w.text); ok {
			found = append(found, Package{Runner: runner, Text: w.text, Place: w.place, Pinned: example == "", Example: example})
		}
	}
	return found
}

// localPath reports whether a word names a file or directory of this machine.
func localPath(word string) bool {
	return word == "." || word == ".." || strings.HasPrefix(word, "./") || strings.HasPrefix(word, "../") || strings.HasPrefix(word, "/") ||
		strings.HasPrefix(word, "~") || strings.HasPrefix(word, "file:") || strings.Contains(word, `\`)
}

// exampleVersion is the text that stands for a version in an example.
const exampleVersion = "VERSION"

// nodePinned judges the forms that npm knows: name@1.2.3, @scope/name@tag, github:user/repo#commit, user/repo, git+https://….
func nodePinned(spec string) (example string, ok bool) {
	if base, ref, isGit := gitSpec(spec, "#"); isGit {
		return pinnedOr(isCommit(ref), base+"#COMMIT"), true
	}
	if strings.Contains(spec, "://") {
		return "", false
	}
	i := strings.LastIndex(spec, "@")
	if at := strings.Index(spec, "@npm:"); at > 0 { // an alias: name@npm:other@1.2.3
		if i <= at {
			return spec + "@" + exampleVersion, true
		}
	}
	if i <= 0 {
		if !strings.HasPrefix(spec, "@") && strings.Contains(spec, "/") { // user/repo at GitHub
			base, ref, _ := strings.Cut(spec, "#")
			return pinnedOr(isCommit(ref), base+"#COMMIT"), true
		}
		return spec + "@" + exampleVersion, true
	}
	return pinnedOr(regexp.MustCompile(`^[v=]?\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]+)?$`).MatchString(spec[i+1:]), spec[:i]+"@"+exampleVersion), true
}

// pythonPinned judges the forms that Python's tools know: name==1.2, name[extra]>=1, name@latest, git+https://…@commit.
func pythonPinned(spec string) (example string, ok bool) {
	if _, address, direct := strings.Cut(spec, " @ "); direct {
		spec = strings.TrimSpace(address)
		if localPath(spec) {
			return "", false
		}
	}
	if base, ref, isGit := gitSpec(spec, "@"); isGit {
		return pinnedOr(isCommit(ref), base+"@COMMIT"), true
	}
	if strings.Contains(spec, "://") || strings.HasSuffix(spec, ".whl") || strings.HasSuffix(spec, ".py") {
		return "", false
	}
	name := before(spec, "=<>!~@; ")
	exact := regexp.MustCompile(`^(===?|@) *v?\d+[0-9A-Za-z.!+_-]*$`).MatchString(strings.TrimSpace(spec[len(name):]))
	return pinnedOr(exact, name+"=="+exampleVersion), true
}

func pinnedOr(pinned bool, example string) string {
	if pinned {
		return ""
	}
	return example
}

// gitSpec splits the address of a repository from what is taken of it.
func gitSpec(spec, separator string) (base, ref string, ok bool) {
	git := strings.HasPrefix(spec, "git+") || strings.HasPrefix(spec, "git://") || strings.HasPrefix(spec, "git@")
	for _, host := range []string{"github:", "gitlab:", "bitbucket:", "gist:"} {
		git = git || strings.HasPrefix(spec, host)
	}
	git = git || strings.Contains(spec, "://") && strings.Contains(spec, ".git")
	if !git {
		return "", "", false
	}
	if separator == "@" { // behind the path: before it is the user's
		spec, _, _ = strings.Cut(spec, "#")
		authority := spec
		if _, rest, found := strings.Cut(spec, "://"); found {
			authority = before(rest, "/")
		}
		path := spec[strings.Index(spec, authority)+len(authority):]
		_, ref, _ = strings.Cut(path, "@")
		return strings.TrimSuffix(spec, "@"+ref), ref, true
	}
	base, ref, _ = strings.Cut(spec, separator)
	return base, ref, true
}

// isCommit reports whether a reference is the full name of a commit, which no later one can have.
func isCommit(ref string) bool {
	return (len(ref) == 40 || len(ref) == 64) && strings.Trim(ref, "0123456789abcdefABCDEF") == ""
}

// images returns the image that a container is made of.
func images(runner string, rest []dangerWord) []Package {
	for i := 0; i < len(rest); i++ {
		text := rest[i].text
		switch {
		case strings.HasPrefix(text, "--"):
			if !strings.Contains(text, "=") && !slices.Contains(imageSwitches(), text) {
				i++ // its value
			}
			continue
		case isShortFlag(text):
			// Switches may stand together; what comes behind another letter is its value.
			if letters := strings.TrimLeft(text[1:], "ditPq"); len(letters) == 1 {
				i++
			}
			continue
		}
		if strings.Contains(text, "$") {
			return nil
		}
		digest := strings.Contains(text, "@sha256:")
		name, tag, tagged := strings.Cut(path.Base(text), ":")
		p := Package{Runner: runner, Text: text, Place: rest[i].place, Pinned: digest || tagged && tag != "latest"}
		if !p.Pinned {
			p.Example = strings.TrimSuffix(text, path.Base(text)) + name + ":" + exampleVersion
		}
		return []Package{p}
	}
	return nil
}

// imageSwitches are the long flags of docker run that have no value.
func imageSwitches() []string {
	return []string{
		"--rm", "--interactive", "--tty", "--detach", "--init", "--privileged", "--read-only", "--publish-all", "--quiet", "--no-healthcheck",
		"--oom-kill-disable", "--sig-proxy", "--disable-content-trust", "--use-api-socket", "--replace", "--rmi", "--no-hosts", "--env-host",
	}
}
