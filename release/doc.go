// Package release has the tests of what a release consists of: archives, packages, their signatures' base. They look at a
// directory that goreleaser has filled and need the build tag release; `make release-check` and `make snapshot` run them.
// The commands below it make what goreleaser packs beside the binary.
package release
