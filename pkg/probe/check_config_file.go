package probe

import (
	"context"
	"fmt"
	"os"
	"runtime"
)

func configFile() Check {
	return Check{
		ID: "config.file", Title: "file is private",
		Why:    "A configuration that contains secrets should not be readable by other users of the machine.",
		Remedy: "chmod 600 FILE.",
		Applies: func(t *Target) bool {
			return t.ConfigPath != "" && t.ConfigPath != "-" && runtime.GOOS != "windows"
		},
		Run: func(_ context.Context, t *Target) Finding {
			info, err := os.Stat(t.ConfigPath)
			if err != nil {
				return Finding{Status: Unknown, Message: err.Error()}
			}
			mode := info.Mode().Perm()
			if mode&0o077 != 0 && len(writtenSecrets(t)) == 0 {
				return pass(fmt.Sprintf("mode %04o, and no secret of this entry in it", mode))
			}
			if mode&0o077 != 0 {
				return warn(fmt.Sprintf("%s has mode %04o", t.ConfigPath, mode), "chmod 600 "+t.ConfigPath)
			}
			return pass("only you can read it")
		},
	}
}
