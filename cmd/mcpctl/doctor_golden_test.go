//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpctl/mcpctl/internal/faultlab"
)

// goldenFindings is the table of what doctor finds, for people.
const goldenFindings = "../../docs/findings.md"

// finding is what doctor has to find in one case.
type finding struct {
	name string
	over faultlab.Transport // 0 means all that the case is served over
	// flags are further words of the command line, with the same places to fill as in faultRun.do.
	flags  string
	config string        // see faultRun
	args   string        // see faultCase
	env    string        // see faultRun
	delay  time.Duration // see faultRun

	// cause is "CHECK CLASS" of the one failing row, "" if nothing fails.
	cause string
	// says are expressions for the message, the evidence and the fix of the cause together.
	says []string
	// warns are the ids of all checks that warn.
	warns []string
	// within bounds the time; 0 means soon.
	within time.Duration
	// undeleted is set for a case that does not let its sessions be deleted.
	undeleted bool
}

// findingResult is a row of the table.
type findingResult struct {
	finding
	fault faultlab.Case
	over  faultlab.Transport
	doc   doctorReport
	text  string
}
