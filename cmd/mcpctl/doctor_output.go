package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// formatGitHub is the format that also writes the summary of a workflow's step, to the file that stepSummary names.
const (
	formatGitHub = "github"
	stepSummary  = "GITHUB_STEP_SUMMARY"
)

// doctorOutputs are the formats and files that a run of doctor is written to, beside standard output.
type doctorOutputs struct {
	words []string
	files []reportFile
}

// reportFile is a file that gets the run in one format.
type reportFile struct {
	format render.DoctorFormat
	// word is what the user wrote, and path the file behind it.
	word, path string
}

func (o *doctorOutputs) register(flags *pflag.FlagSet) {
	listVar(flags, &o.words, "report", "also write a report, `FORMAT=FILE`, such as junit=r.xml; repeatable")
}

// doctorFormatNames are the values of --output that doctor has.
func doctorFormatNames() []string {
	var names []string
	for _, f := range render.DoctorFormats() {
		names = append(names, f.Name)
	}
	return names
}

// doctorFormats are the formats of doctor for its annotations.
func doctorFormats() map[string]string {
	return map[string]string{formatsKey: strings.Join(doctorFormatNames(), ",")}
}

// completeReport completes the format of a report, and then the name of its file.
func completeReport(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if strings.Contains(word, "=") {
		return nil, cobra.ShellCompDirectiveDefault // names of files
	}
	var words []cobra.Completion
	for _, name := range doctorFormatNames() {
		words = append(words, name+"=")
	}
	return words, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

// open checks the files before anything is contacted. What only tells of the checks has no run to report.
func (o *doctorOutputs) open(a *app, flags *pflag.FlagSet, tellsOnly bool) error {
	if tellsOnly {
		switch f := a.global.output; {
		case len(o.words) > 0:
			return usagef("--report is for an examination, and --list-checks and --explain make none")
		case f != "" && f != formatText && f != formatJSON:
			return usagef("-o %s: --list-checks and --explain have the formats %s, %s", f, formatText, formatJSON)
		}
		return nil
	}
	files, err := parseReports(o.words)
	if err != nil {
		return err
	}
	for _, f := range files {
		if a.isConfig(f.path) {
			return usagef("--report %s: that is the configuration", f.word)
		}
		for _, name := range runFiles() {
			if file := flags.Lookup(name).Value.String(); sameFile(f.path, file) {
				return usagef("--report %s: that is the file of --%s", f.word, name)
			}
		}
	}
	o.files = files
	return nil
}

// isConfig reports whether path is the configuration file, which no report may replace.
func (a *app) isConfig(path string) bool {
	config, err := a.configPath()
	if err != nil {
		return false
	}
	one, err := os.Stat(config)
	if err != nil {
		return false
	}
	other, err := os.Stat(path)
	return err == nil && os.SameFile(one, other)
}

// runFiles are the flags that name the other files of a run. No report may replace them.
func runFiles() []string { return []string{"smoke", "baseline", "write-baseline", "trace"} }

// sameFile reports whether a report's path, behind links, is the file of that name, which need not be there yet.
func sameFile(path, name string) bool {
	if name == "" || name == "-" {
		return false
	}
	if behind, err := behindLinks(name); err == nil && behind == path {
		return true
	}
	one, err := os.Stat(path)
	if err != nil {
		return false
	}
	other, err := os.Stat(name)
	return err == nil && os.SameFile(one, other)
}

// parseReports returns the files of --report that can be written, and the first error.
func parseReports(words []string) ([]reportFile, error) {
	var files []reportFile
	var first error
	for _, word := range words {
		f, err := parseReport(word)
		if err == nil && slices.ContainsFunc(files, func(g reportFile) bool { return g.path == f.path }) {
			err = usagef("--report %s: another report goes to the same file", word)
		}
		if err == nil {
			files = append(files, f)
		}
		first = firstError(first, err)
	}
	return files, first
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func parseReport(word string) (reportFile, error) {
	name, file, ok := strings.Cut(word, "=")
	format, known := render.FindDoctorFormat(name)
	switch {
	case !ok:
		return reportFile{}, usagef("--report %s: write FORMAT=FILE", word).hint("--report junit=report.xml")
	case !known:
		names := doctorFormatNames()
		e := usagef("--report %s: the formats are %s", word, strings.Join(names, ", "))
		if near := config.Near(name, names); len(near) > 0 {
			return reportFile{}, e.hint("--report %s=%s", near[0], file)
		}
		return reportFile{}, e
	case file == "":
		return reportFile{}, usagef("--report %s: the name of the file is empty", word)
	case file == "-":
		return reportFile{}, usagef("--report %s: for standard output there is -o", word).hint("-o %s", name)
	}
	path, err := writable(file)
	if err != nil {
		return reportFile{}, usagef("--report %s: %s", word, reason(err))
	}
	return reportFile{format: format, word: word, path: path}, nil
}

// reason returns what is wrong with a file, without the path, which the message has.
func reason(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		if dir := filepath.Dir(e.Path); errors.Is(err, fs.ErrNotExist) {
			return "there is no directory " + dir
		}
		return e.Err.Error()
	}
	return err.Error()
}

// writable returns the file that a report to name replaces, behind links, after seeing that it can be done.
func writable(name string) (string, error) {
	if throughDevice(name) {
		return "", errors.New("it is no regular file")
	}
	path, err := behindLinks(name)
	if err != nil {
		return "", err
	}
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return "", err
	case info.IsDir():
		return "", errors.New("it is a directory")
	case !info.Mode().IsRegular():
		return "", errors.New("it is no regular file") // a file takes its place, which would be the end of a device
	default:
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return "", err
		}
		_ = f.Close()
	}
	f, err := os.CreateTemp(filepath.Dir(path), tempPattern(path))
	if err != nil {
		return "", err
	}
	_ = f.Close()
	return path, os.Remove(f.Name())
}

// behindLinks returns the whole path of a file, which need not be there, with no links in it.
func behindLinks(name string) (string, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	if behind, err := filepath.EvalSymlinks(path); err == nil {
		return behind, nil
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(dir, filepath.Base(path))
	}
	return path, nil
}

// throughDevice reports whether the links behind a name lead through the system's own directories. What is found through
// /dev/stdout may be a file, and it is one that somebody else is writing to.
func throughDevice(name string) bool {
	const mostLinks = 40
	path, err := filepath.Abs(name)
	for n := 0; err == nil && n < mostLinks; n++ {
		if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
			if systems(path) {
				return true
			}
			path = filepath.Join(dir, filepath.Base(path))
		}
		if systems(path) {
			return true
		}
		var target string
		if target, err = os.Readlink(path); err == nil && !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = target
	}
	return false
}

// systems reports whether a path is in one of the directories whose files are the system's. /dev/shm holds usual ones.
func systems(path string) bool {
	path = filepath.ToSlash(path)
	return strings.HasPrefix(path, "/proc/") || strings.HasPrefix(path, "/dev/") && !strings.HasPrefix(path, "/dev/shm/")
}

// tempPattern names temporary files beside a file. Collectors of *.prom and *.xml do not look at them.
func tempPattern(path string) string { return "." + filepath.Base(path) + ".*.tmp" }

// replaceFile writes a file in one step: nobody sees half of it, and it stays as it was if the disk is full. Its mode stays,
// and a new one has that of files that are made here.
func replaceFile(path string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), tempPattern(path))
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if err = write(f); err != nil {
		return err
	}
	mode := fs.FileMode(0o644) // a collector, or an upload, may run as somebody else
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	if err = os.Chmod(f.Name(), mode); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// write writes the run to the files, and to standard output in the format of -o. A file that cannot be written does not
// keep the others from it.
func (o *doctorOutputs) write(ctx context.Context, a *app, run render.DoctorRun) error {
	a.reported = true
	run.Mask = a.redact.String
	failed := o.writeFiles(run)
	format := a.global.output
	if a.json() {
		format = formatJSON
	}
	var err error
	switch format {
	case "", formatText:
		run.Screen, run.Failure = a.screen(), nil // standard error has it
		err = a.writeFormat(ctx, formatText, run)
	case formatJSON:
		err = o.print(ctx, a, run)
	default:
		err = a.writeFormat(ctx, format, run)
	}
	return firstError(err, failed)
}

// print writes the JSON document, through the filter of --jq if there is one.
func (o *doctorOutputs) print(ctx context.Context, a *app, run render.DoctorRun) error {
	if a.filter == nil {
		return render.DoctorJSON(a.io.Out, a.screen(), run)
	}
	json, _ := render.FindDoctorFormat(formatJSON)
	doc, err := json.Document(run)
	if err != nil {
		return err
	}
	err = a.printData(ctx, rawDocument(doc))
	filter, ok := errors.AsType[*filterError](err)
	if !ok {
		return err
	}
	// The servers have been examined: what came of it must not be lost.
	f := newFailure(classFailed, filter.Error()+"; the whole report is on stdout")
	run.Failure = doctorFailure(f)
	if doc, err = json.Document(run); err != nil {
		return err
	}
	if err := render.JSON(a.io.Out, a.screen(), rawDocument(doc)); err != nil {
		return err
	}
	a.warn(f.text(false, a.errWidth()))
	return reportedError(codeFailed)
}

// writeFormat writes the run to standard output in a format for programs.
func (a *app) writeFormat(ctx context.Context, name string, run render.DoctorRun) error {
	format, ok := render.FindDoctorFormat(name)
	if !ok {
		return nil // an error says so
	}
	if name == formatGitHub {
		a.writeSummary(ctx, run)
	}
	return format.Write(a.io.Out, run)
}

// writeFiles writes the files of --report.
func (o *doctorOutputs) writeFiles(run render.DoctorRun) error {
	var first error
	for _, f := range o.files {
		err := replaceFile(f.path, func(w io.Writer) error { return f.format.Write(w, run) })
		if err != nil {
			first = firstError(first, fmt.Errorf("--report %s: %w", f.word, err))
		}
	}
	return first
}

// writeSummary appends the run to the summary of the workflow's step, if there is one. It is an extra: what it says is in
// the annotations, too.
func (a *app) writeSummary(ctx context.Context, run render.DoctorRun) {
	path, _ := a.lookup(stepSummary)
	markdown, ok := render.FindDoctorFormat("markdown")
	if path == "" || !ok {
		return
	}
	if err := appendFile(path, func(w io.Writer) error { return markdown.Write(w, run) }); err != nil {
		a.note(fmt.Sprintf("the summary of the step was not written: %s", render.OneLine(err.Error())))
		a.logger.InfoContext(ctx, "step summary not written", "error", err)
	}
}

func appendFile(path string, write func(io.Writer) error) (err error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = firstError(err, f.Close()) }()
	if err = write(f); err != nil {
		return err
	}
	_, err = f.WriteString("\n")
	return err
}

// doctorFailure returns a failure of the process as that of a run of doctor.
func doctorFailure(f failure) *render.DoctorFailure {
	return &render.DoctorFailure{
		Class: f.Class, Message: f.said, Server: f.Server, Evidence: f.evidence, Hints: f.hints, Body: f.body(),
	}
}

// reportFailure writes the formats of a doctor that failed before it examined anything: whoever reads them later must not
// find those of yesterday. The words of the command line are looked at themselves, because the flags may be what is wrong.
func (a *app) reportFailure(ctx context.Context, root *cobra.Command, err error) {
	if a.reported || isBrokenPipe(err) {
		return
	}
	f, failed := classify(err, ctx.Err() != nil)
	if cmd, _, findErr := root.Find(words(a.args)); !failed || f.reported || findErr != nil || cmd.Name() != "doctor" {
		return
	}
	outputs := doctorOutputs{}
	outputs.files, _ = parseReports(flagValues(a.args, "--report", ""))
	outputs.files = slices.DeleteFunc(outputs.files, func(f reportFile) bool {
		return a.isConfig(f.path) || slices.ContainsFunc(runFiles(), func(name string) bool {
			return slices.ContainsFunc(flagValues(a.args, "--"+name, ""), func(file string) bool { return sameFile(f.path, file) })
		})
	})
	run := render.DoctorRun{Begin: time.Now(), Failure: doctorFailure(f), Mask: a.redact.String}
	if err := outputs.writeFiles(run); err != nil {
		a.warn("mcpctl: error: " + oneLine(err.Error()) + "\n")
	}
	formats := flagValues(a.args, "--output", "-o")
	if len(formats) == 0 || a.json() {
		return
	}
	format := formats[len(formats)-1]
	if format == formatText {
		return // standard error has it
	}
	if err := a.writeFormat(ctx, format, run); err != nil {
		a.logger.InfoContext(ctx, "failure not written", "error", err)
	}
}

// flagValues returns the values that the words give a flag.
func flagValues(args []string, long, short string) []string {
	var values []string
	for i, word := range args {
		switch {
		case word == "--":
			return values
		case (word == long || short != "" && word == short) && i+1 < len(args):
			values = append(values, args[i+1])
		case strings.HasPrefix(word, long+"="):
			values = append(values, word[len(long)+1:])
		case short != "" && strings.HasPrefix(word, short) && len(word) > len(short):
			values = append(values, strings.TrimPrefix(word[len(short):], "="))
		}
	}
	return values
}
