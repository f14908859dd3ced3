package session

import "io"

// chaosChild is played on Unix only.
func chaosChild([]string, io.Reader, io.Writer) int { return 2 }
