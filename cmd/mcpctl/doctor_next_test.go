package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestArguments(t *testing.T) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.StringP("output", "o", "", "")
	flags.CountP("verbose", "v", "")
	flags.Int("kills", 0, "")
	flags.Lookup("kills").NoOptDefVal = "1"
	for line, want := range map[string]string{
		"doctor a b":                    "doctor a b",
		"-o json doctor a --output x b": "doctor a b",
		"doctor -ojson a -v b":          "doctor a b",
		"doctor -vo json a":             "doctor a",
		"doctor -vojson a":              "doctor a",
		"doctor --kills a --output=x -": "doctor a -",
	} {
		words := strings.Fields(line)
		var got []string
		for _, i := range arguments(flags, words) {
			got = append(got, words[i])
		}
		if !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s: %q", line, got)
		}
	}
}

// TestTheNextLineWritesNoFiles shows that a report about all servers is not to be replaced by one about the first that failed.
func TestTheNextLineWritesNoFiles(t *testing.T) {
	t.Parallel()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.StringArray("report", nil, "")
	flags.String("write-baseline", "", "")
	flags.StringP("output", "o", "", "")
	flags.String("config", "", "")
	flags.Bool("strict", false, "")
	for line, want := range map[string]string{
		"doctor --report junit=r.xml a":                            "doctor a",
		"doctor --report=junit=r.xml --strict --report json=r a b": "doctor --strict a b",
		"doctor --write-baseline b.json -o text a":                 "doctor -o text a",
		"doctor --config --report a":                               "doctor --config --report a", // a file with an odd name
		"doctor --config=c a --report":                             "doctor --config=c a",
		"doctor report -- x":                                       "doctor report -- x",
	} {
		if got := strings.Join(withoutFiles(flags, strings.Fields(line)), " "); got != want {
			t.Errorf("%s: %s", line, got)
		}
	}
}
