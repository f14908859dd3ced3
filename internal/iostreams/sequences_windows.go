package iostreams

import (
	"os"

	"golang.org/x/sys/windows"
)

// enableSequences makes the console that f is obey escape sequences, and reports whether it does. Consoles before
// Windows 10, and those that were started without it, print them instead.
func enableSequences(f *os.File) bool {
	console := windows.Handle(f.Fd())
	var mode uint32
	if err := windows.GetConsoleMode(console, &mode); err != nil {
		return false
	}
	if mode&windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING != 0 {
		return true
	}
	return windows.SetConsoleMode(console, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
