package main

import (
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/mcpctl/mcpctl/internal/iostreams"
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
	return a, newRootCmd(a)
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
		for i, line := range strings.Split(topic.text, "\n") {
			if n := len([]rune(line)); n > helpWidth {
				t.Errorf("help %s: line %d has %d columns: %q", topic.name, i+1, n, line)
			}
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

func TestHelpTopicsTellOfEveryExitCode(t *testing.T) {
	for _, class := range []string{
		classFailed, classUsage, classConfig, classConnect, classProtocol, classSession, classBusy, classAuth, classTool,
		classTimeout, classUnknownOutcome, classInterrupted,
	} {
		if !strings.Contains(topicExitCodes, class) {
			t.Errorf("help exit-codes does not tell of %q", class)
		}
	}
}
