//go:build unix

package oauth

import (
	"io/fs"
	"os"
	"syscall"
)

// foreign reports whether a file belongs to another user, and to whom. The superuser may use everybody's.
func foreign(info fs.FileInfo) (uid int, other bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	me := os.Geteuid()
	return int(stat.Uid), me != 0 && int(stat.Uid) != me
}

// tooWide reports whether others may do something that the wanted mode does not allow.
func tooWide(mode, want fs.FileMode) bool { return mode&^want != 0 }

// inherit gives a file that the superuser writes into somebody's directory to that user, who could not read it else.
func inherit(f *os.File, dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || os.Geteuid() != 0 || stat.Uid == 0 {
		return nil
	}
	return f.Chown(int(stat.Uid), int(stat.Gid))
}
