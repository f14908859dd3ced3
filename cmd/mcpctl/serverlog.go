package main

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/mcpctl/mcpctl/internal/rawjson"
	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/pkg/session"
)

const (
	// logOff shows no log messages at all.
	logOff = "off"
	// unaskedLevel is from which level on messages are shown with -v that nobody has asked for.
	unaskedLevel = "warning"
	// mostLogged bounds a line for a log message, in characters: a server may send it megabytes.
	mostLogged = 2000
	// logLevelTime bounds the question for log messages: it must not keep anybody from what he wants to do.
	logLevelTime = 5 * time.Second
	// logMessage is the notification that carries a log message.
	logMessage = "notifications/message"
)

// logLevels are the levels of log messages, the least important first. See the MCP specification, 2025-11-25, "Logging",
// "Log Levels", and RFC 5424.
func logLevels() []string {
	return []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
}

// logFlags say which of a server's log messages are shown.
type logFlags struct{ level string }

func (f *logFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.level, "log-level", "", "show the server's log messages of this `level` and above: debug, info, warning, error …; or off")
}

// listen prepares for what the servers of this run say.
func (a *app) listen(f *logFlags) error {
	level := strings.ToLower(f.level)
	if level != "" && level != logOff && !slices.Contains(logLevels(), level) {
		return usagef("--log-level: %q is not one of %s, %s", f.level, strings.Join(logLevels(), ", "), logOff)
	}
	a.logLevel.Store(&level)
	a.logVerbose.Store(int32(a.global.verbose)) //nolint:gosec // nobody types so many
	if level != "" && level != logOff {
		a.listens = true // they may come at any time
	}
	return nil
}

// logsFrom is the level of --log-level, "" without it.
func (a *app) logsFrom() string {
	if level := a.logLevel.Load(); level != nil {
		return *level
	}
	return ""
}

// hears reports whether anybody wants to know of notifications.
func (a *app) hears() bool {
	return a.listens || a.global.verbose > 0 && a.logsFrom() != logOff
}

// notified shows a notification, if it is for people.
func (a *app) notified(server string, n session.Notification) {
	if n.Method == logMessage {
		a.showLog(server, n.Params)
	}
}

// askForLogs asks a server for the log messages that --log-level wants, now and on each session that replaces this one.
// That it cannot be had is no reason to fail; an error is that of the opening.
func (a *app) askForLogs(ctx context.Context, s *session.Supervisor) error {
	level := a.logsFrom()
	if level == "" || level == logOff {
		return nil
	}
	sess, err := s.Session(ctx)
	if err != nil {
		return err
	}
	name := render.OneLine(s.Server().Name)
	if sess.Info().Capabilities.Logging == nil { //nolint:staticcheck // deprecated in the modern era, and servers still have it
		a.note(name + ": the server does not announce logging, so --log-level " + level + " is not sent")
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, logLevelTime)
	defer cancel()
	err = s.SetLogLevel(bounded, level)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return err
	default:
		a.warn("mcpctl: warning: --log-level " + level + ": " + render.OneLine(err.Error()) + "\n")
	}
	return nil
}

// showsLog reports whether a message of a level is shown. One of a level that does not exist may be of any.
func (a *app) showsLog(level string) bool {
	from, verbose := a.logsFrom(), a.logVerbose.Load()
	switch {
	case from == logOff, from == "" && verbose == 0:
		return false
	case from == "" && verbose > 1:
		return true
	case from == "":
		from = unaskedLevel
	}
	at := slices.Index(logLevels(), strings.ToLower(level))
	return at < 0 || at >= slices.Index(logLevels(), from)
}

// showLog writes a log message to standard error: SERVER level logger: text.
func (a *app) showLog(server string, params json.RawMessage) {
	var m struct {
		Level, Logger json.RawMessage
		Data          json.RawMessage
	}
	if json.Unmarshal(params, &m) != nil {
		return
	}
	level := logText(m.Level)
	if !a.showsLog(level) {
		return
	}
	screen := render.Screen{Colour: a.io.ColorEnabled(false)}
	style := render.Plain
	switch at := slices.Index(logLevels(), strings.ToLower(level)); {
	case at == 0:
		style = render.Faint
	case at == slices.Index(logLevels(), unaskedLevel):
		style = render.Warning
	case at > slices.Index(logLevels(), unaskedLevel):
		style = render.Bad
	}
	if level == "" {
		level = "log"
	}
	line := render.OneLine(server) + " " + screen.Paint(style, level)
	if logger := logText(m.Logger); logger != "" {
		line += " " + logger
	}
	a.warn(line + ": " + logText(m.Data) + "\n")
}

// logText returns a value of a log message for a line: text as it is, everything else as compact JSON.
func logText(raw json.RawMessage) string {
	const most = 8 * mostLogged // bytes: of a longer text the beginning will do
	text, ok := rawjson.String(raw)
	if !ok {
		var compact bytes.Buffer
		if len(raw) > most || json.Compact(&compact, raw) != nil {
			compact.Write(raw[:min(len(raw), most)])
		}
		text = compact.String()
	}
	text = render.OneLine(text[:min(len(text), most)])
	if r := []rune(text); len(r) > mostLogged {
		text = string(r[:mostLogged]) + "…"
	}
	return text
}
