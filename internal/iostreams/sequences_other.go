//go:build !windows

package iostreams

import "os"

// enableSequences reports whether the terminal that f is obeys escape sequences. Outside Windows all do, or say through
// TERM that they do not.
func enableSequences(*os.File) bool { return true }
