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
