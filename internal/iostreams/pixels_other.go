//go:build !unix

package iostreams

import "os"

// terminalPixels returns 0: this system does not tell.
func terminalPixels(*os.File) (width, height int) { return 0, 0 }
