package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"time"
)

// visitTime bounds the browser of the tests. It is less than what a login waits.
const visitTime = 20 * time.Second

// visit is the browser of the tests: it goes to the URL that is its last argument, and where that leads.
func visit() {
	ctx, cancel := context.WithTimeout(context.Background(), visitTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, os.Args[len(os.Args)-1], nil)
	if err != nil {
		os.Exit(1)
	}
	resp, err := (&http.Client{}).Do(req)
	if err != nil {
		os.Exit(1)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
}
