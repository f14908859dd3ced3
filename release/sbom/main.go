// Command sbom has syft list what an archive contains, as SPDX JSON, and takes out of the list what differs from run to run:
// the time becomes the commit's, and the random part of the document's name a digest of what it says (SPDX 2.3, 6.5 and 6.9).
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

func main() {
	version := flag.String("version", "", "the `version` of the release")
	date := flag.String("date", "", "the `time` of the commit (RFC 3339)")
	flag.Parse()
	if err := describe(context.Background(), flag.Args(), *version, *date); err != nil {
		fmt.Fprintf(os.Stderr, "sbom: error: %v\n", err)
		os.Exit(1)
	}
}

// describe writes the document about an archive.
func describe(ctx context.Context, args []string, version, date string) error {
	if len(args) != 2 || version == "" || date == "" {
		return errors.New("usage: sbom -version VERSION -date TIME ARCHIVE DOCUMENT")
	}
	archive, document := args[0], args[1]
	cmd := exec.CommandContext(ctx, "syft", "scan", "file:"+archive, "--quiet", "--output", "spdx-json",
		"--source-name", "mcpctl", "--source-version", version)
	cmd.Env = append(os.Environ(),
		"SYFT_CHECK_FOR_APP_UPDATE=false",
		// Licences would be looked for in the module cache of whoever builds, or over the network, and the list would depend on
		// what is there; THIRD_PARTY_NOTICES has them all.
		"SYFT_GOLANG_SEARCH_LOCAL_MOD_CACHE_LICENSES=false",
		"SYFT_GOLANG_SEARCH_REMOTE_LICENSES=false",
	)
	var said bytes.Buffer
	cmd.Stderr = &said
	data, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("syft: %w\n%s", err, said.Bytes())
	}
	if data, err = settle(data, filepath.Base(archive), date); err != nil {
		return fmt.Errorf("%s: %w", document, err)
	}
	return os.WriteFile(document, data, 0o644)
}

// settle returns a document without time and chance.
func settle(data []byte, archive, date string) ([]byte, error) {
	var document, creation map[string]json.RawMessage
	if err := json.Unmarshal(data, &document); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(document["creationInfo"], &creation); err != nil {
		return nil, fmt.Errorf("creationInfo: %w", err)
	}
	if document["documentNamespace"] == nil || creation["created"] == nil {
		return nil, errors.New("it has no documentNamespace or no time: is it SPDX 2.3?")
	}
	var err error
	if creation["created"], err = json.Marshal(date); err != nil {
		return nil, err
	}
	if document["creationInfo"], err = json.Marshal(creation); err != nil {
		return nil, err
	}
	delete(document, "documentNamespace")
	rest, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("https://github.com/mcpctl/mcpctl/spdx/%s-%x", archive, sha256.Sum256(rest))
	if document["documentNamespace"], err = json.Marshal(name); err != nil {
		return nil, err
	}
	return json.MarshalIndent(document, "", " ")
}
