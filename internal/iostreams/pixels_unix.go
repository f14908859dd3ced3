//go:build unix

package iostreams

import (
	"os"

	"golang.org/x/sys/unix"
)

// terminalPixels returns the size of a terminal in pixels, 0 if its driver does not know.
func terminalPixels(f *os.File) (width, height int) {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0
	}
	return int(size.Xpixel), int(size.Ypixel)
}
