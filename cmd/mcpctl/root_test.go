package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpctl/mcpctl/internal/iostreams"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// newTestApp returns the commands over buffers.
func newTestApp(t *testing.T, args ...string) (*app, *cobra.Command) {
	t.Helper()
	ios, _, _, _ := iostreams.Test()
	a := newApp(process{
		args:   args,
		io:     ios,
		lookup: func(name string) (string, bool) { return t.TempDir(), name == "HOME" },
	})
	return a, newWholeRootCmd(a)
}

// walk calls visit with a command and all below it, but for those that cobra makes.
func walk(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, c := range cmd.Commands() {
		if !strings.HasPrefix(c.Name(), "__") {
			walk(c, visit)
		}
	}
}

func TestEveryCommandIsExplained(t *testing.T) {
	t.Parallel()
	a, root := newTestApp(t)
	root.InitDefaultHelpCmd()
	verbPhrase := regexp.MustCompile(`^[A-Z][^.]*$`)
	walk(root, func(cmd *cobra.Command) {
		name := cmd.CommandPath()
		if !verbPhrase.MatchString(cmd.Short) {
			t.Errorf("%s: Short is not a capitalised phrase without full stop: %q", name, cmd.Short)
		}
		if n := len(cmd.Short); n > 60 {
			t.Errorf("%s: Short has %d columns", name, n)
		}
		if cmd.Example == "" {
			t.Errorf("%s: no Example", name)
		}
		for example := range strings.Lines(cmd.Example) {
			if !strings.Contains(cmd.Example, "mcpctl") {
				t.Errorf("%s: the example %q does not call mcpctl", name, example)
			}
		}
		for i, line := range strings.Split(helpText(cmd), "\n") {
			if n := len([]rune(line)); n > helpWidth {
				t.Errorf("%s: line %d of the help has %d columns: %q", name, i+1, n, line)
			}
			if strings.TrimRight(line, " ") != line {
				t.Errorf("%s: line %d of the help ends in spaces: %q", name, i+1, line)
			}
		}
	})
	for _, topic := range topics() {
		for i, line := range strings.Split(topic.text(), "\n") {
			if n := len([]rune(line)); n > helpWidth {
				t.Errorf("help %s: line %d has %d columns: %q", topic.name, i+1, n, line)
			}
		}
		if help, _, err := root.Find([]string{"help"}); err != nil || !regexp.MustCompile(`(?m)(^|, )`+topic.name+`[,.]`).MatchString(help.Long) {
			t.Errorf("help help does not name %s", topic.name)
		}
		if topic.short == "" || !unicode.IsUpper(rune(topic.short[0])) {
			t.Errorf("help %s: says %q of itself", topic.name, topic.short)
		}
	}
	if a.global.verbose != 0 {
		t.Error("walking the commands set a flag")
	}
}

func TestEveryFlagIsExplained(t *testing.T) {
	t.Parallel()
	_, root := newTestApp(t)
	walk(root, func(cmd *cobra.Command) {
		cmd.InitDefaultHelpFlag()
		for line := range strings.Lines(cmd.LocalFlags().FlagUsages()) {
			if regexp.MustCompile(`^ +(-\w, )?--\S+( \S+)?\s*$`).MatchString(line) {
				t.Errorf("%s: a flag without a word of help: %q", cmd.CommandPath(), line)
			}
		}
	})
}

func TestPlaceholdersInHelpAreNoValues(t *testing.T) {
	t.Parallel()
	_, root := newTestApp(t)
	root.InitDefaultHelpCmd()
	for _, finished := range []bool{false, true, true} {
		if finished {
			finishFlags(root)
		}
		call, _, err := root.Find([]string{"call"})
		if err != nil {
			t.Fatal(err)
		}
		doctor, _, err := root.Find([]string{"doctor"})
		if err != nil {
			t.Fatal(err)
		}
		list, _, err := root.Find([]string{"list"})
		if err != nil {
			t.Fatal(err)
		}
		help := helpText(root) + helpText(call) + helpText(doctor) + helpText(list) + topicConnecting()
		for _, want := range []string{
			"\n  -t, --transport KIND     how to reach the server (auto, http, sse, stdio)\n",
			"\n      --color WHEN      when to use colours (auto, always, never)\n",
			"\n  -v, --verbose         print more",
			"\n      --inherit-env[=NAMES]   pass on",
			"\n      --kill-session[=N]      kill",
			"\n  -e, --env NAME=value        set",
			"\n      --cwd DIR ",
			"\n  -t, --transport TRANSPORT   show only servers with this transport; repeatable\n",
			"\n      --parallel N            check at most N servers at a time",
		} {
			if !strings.Contains(help, want) {
				t.Errorf("finished %v: no %q in\n%s", finished, want, help)
			}
		}
		if strings.ContainsAny(help, "`") || strings.Contains(help, "count") {
			t.Errorf("finished %v:\n%s", finished, help)
		}
	}
	// A finished flag is still read as what it is.
	if err := root.PersistentFlags().Parse([]string{"-vv", "-o", "json"}); err != nil {
		t.Error(err)
	}
}

func TestFlagsAreCompleted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		words []string
		want  []string
	}{
		{[]string{"list", "-o", ""}, []string{"text", "json", "name"}},
		{[]string{"call", "--output", ""}, []string{"text", "json"}},
		{[]string{"--color", ""}, []string{"auto", "always", "never"}},
		{[]string{"tools", "--transport", ""}, []string{"auto", "http", "sse", "stdio"}},
		{[]string{"add", "-t", ""}, []string{"auto", "http", "sse", "stdio"}},
	} {
		ios, _, out, _ := iostreams.Test()
		words := append([]string{cobra.ShellCompNoDescRequestCmd}, c.words...)
		a := newApp(process{args: words, io: ios, lookup: func(string) (string, bool) { return t.TempDir(), true }})
		root := newRootCmd(a)
		root.SetArgs(words)
		if err := root.Execute(); err != nil {
			t.Fatal(err)
		}
		lines := strings.Fields(out.String())
		if len(lines) == 0 || !slices.Equal(lines[:len(lines)-1], c.want) {
			t.Errorf("%q: %q, want %q", c.words, lines, c.want)
		}
	}
}

func TestNoMarksInCompletions(t *testing.T) {
	t.Parallel()
	_, root := newTestApp(t)
	finishFlags(root)
	walk(root, func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if strings.Contains(f.Usage, "`") {
				t.Errorf("%s --%s: %s", cmd.CommandPath(), f.Name, f.Usage)
			}
		})
	})
}

func TestHelpTopicsTellOfEveryExitCode(t *testing.T) {
	t.Parallel()
	for _, class := range []string{
		classFailed, classUsage, classConfig, classConnect, classProtocol, classSession, classBusy, classAuth, classTool,
		classTimeout, classUnknownOutcome, classInterrupted,
	} {
		if !strings.Contains(topicExitCodes, class) {
			t.Errorf("help exit-codes does not tell of %q", class)
		}
	}
}

// TestTopicsExplainSharedFlags holds that each flag which the help of a command only names is explained by the topic that
// it points to.
func TestTopicsExplainSharedFlags(t *testing.T) {
	t.Parallel()
	_, root := newTestApp(t)
	walk(root, func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			text := ""
			switch about := f.Annotations[sharedKey]; {
			case f.Annotations[askedKey] != nil:
				text = topicQuestions()
			case about != nil && about[0] == authUsage:
				text = topicAuthorization()
			case about != nil && about[0] != ownUsage:
				text = topicConnecting()
			default:
				return
			}
			if !regexp.MustCompile(`(?m)^ +(-\w, )?--` + f.Name + `[ \[]`).MatchString(text) {
				t.Errorf("%s: no topic explains --%s", cmd.CommandPath(), f.Name)
			}
			if known := connectingFlags().Lookup(f.Name); known != nil && explained(known).Usage != explained(f).Usage {
				t.Errorf("%s: --%s says %q here, and %q in the topic", cmd.CommandPath(), f.Name, explained(f).Usage, explained(known).Usage)
			}
		})
	})
}

// TestHelpIsInTheOrderOfUse holds that what people need first comes first, in the shell, too.
func TestHelpIsInTheOrderOfUse(t *testing.T) {
	t.Parallel()
	_, root := newTestApp(t)
	text := helpText(root)
	last := -1
	for _, name := range []string{"add", "list", "tools", "call", "resources", "read", "prompts", "prompt", "tasks", "task", "shell", "doctor", "logs", "version"} {
		at := strings.Index(text, "\n  "+name+" ")
		if at <= last {
			t.Errorf("%s is not in its place:\n%s", name, text)
		}
		last = at
	}
}

// TestTopicsFit shows that no line of a help topic is wider than a terminal.
func TestTopicsFit(t *testing.T) {
	t.Parallel()
	const columns = 80
	for _, topic := range topics() {
		for line := range strings.Lines(topic.text()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > columns {
				t.Errorf("help %s: %d columns: %s", topic.name, n, line)
			}
		}
	}
}

// TestTopicNamesEachClient holds that no client is read in silence.
func TestTopicNamesEachClient(t *testing.T) {
	t.Parallel()
	words := strings.Join(strings.Fields(topicConfig), " ")
	for _, f := range config.Clients() {
		if !strings.Contains(words, f.Title) {
			t.Errorf("mcpctl help config does not name %s", f.Title)
		}
	}
}
