# Everything that is run on this repository, by people and by .ci/run. `make` lists it.

# The tools, pinned. They are built once for each version, into .bin.
GOLANGCI_VERSION   := v2.15.0
GORELEASER_VERSION := v2.15.1

GOLANGCI   := .bin/golangci-lint-$(GOLANGCI_VERSION)/golangci-lint
GORELEASER := .bin/goreleaser-$(GORELEASER_VERSION)/goreleaser

GO ?= go

# Flags for the tests. The race detector needs a C compiler: without one, make test TESTFLAGS=
TESTFLAGS ?= -race

# How many tests of a package run at once: many of them wait for servers most of the time.
PARALLEL ?= $(shell expr 2 '*' $$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2))

# How `make bench` measures: -quick for few runs, -only start,calls for some parts, -runs N, -strict to fail above an aim.
BENCHFLAGS ?=

# How `make conformance` runs: -runs 3 for three times in a row, -v for every scenario, -scenario 'auth/*' for some.
CONFORMANCEFLAGS ?=

# More flags for the chaos tests in `make soak`.
SOAKFLAGS ?=

# How long each fuzz test runs in `make fuzz`.
FUZZTIME ?= 10s

# What the binary says of itself. Empty values are left to the build information that Go records.
VERSION = $(patsubst v%,%,$(shell git describe --tags --dirty --match 'v*' 2>/dev/null))
COMMIT  = $(shell git rev-parse --short HEAD 2>/dev/null)
DATE    = $(shell git log -1 --format=%cI 2>/dev/null)
LDFLAGS = -s -w$(if $(VERSION), -X main.version=$(VERSION))$(if $(COMMIT), -X main.commit=$(COMMIT))$(if $(DATE), -X main.date=$(DATE))

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "%-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build build/mcpctl for this machine
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o build/mcpctl$(shell $(GO) env GOEXE) ./cmd/mcpctl

.PHONY: test
test: ## Run the tests (no Node, no network beyond this machine)
	$(GO) test -timeout 45m -parallel $(PARALLEL) $(TESTFLAGS) ./...

.PHONY: soak
soak: ## Kill sessions under load for minutes; SOAKFLAGS='-chaos.seed N' does a run again
	$(GO) test -timeout 30m -count=1 -v -run '^TestChaos' ./pkg/session -chaos.long $(SOAKFLAGS)

.PHONY: cover
cover: ## Run the tests and write build/coverage.html
	@mkdir -p build
	$(GO) test -coverpkg=./cmd/...,./pkg/...,./internal/... -coverprofile=build/coverage.out ./...
	$(GO) tool cover -html=build/coverage.out -o build/coverage.html
	$(GO) tool cover -func=build/coverage.out | tail -n 1

.PHONY: fuzz
fuzz: ## Run every fuzz test for FUZZTIME (10s)
	@set -e; for pkg in $$($(GO) list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./...); do \
		for name in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "$$pkg $$name"; \
			$(GO) test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) $$pkg; \
		done; \
	done

.PHONY: update
update: ## Write the golden files anew; read the difference before you commit it
	$(GO) test ./cmd/mcpctl ./internal/render -update

.PHONY: lint
lint: $(GOLANGCI) ## Check rules, formatting, other platforms and go.mod
	$(GOLANGCI) config verify
	$(GOLANGCI) run ./...
	GOOS=windows CGO_ENABLED=0 $(GO) vet -tags e2e ./...
	GOOS=darwin CGO_ENABLED=0 $(GO) vet -tags e2e ./...
	$(GO) mod tidy -diff
	$(GO) mod verify
	cd e2e/servers/mcp-go && $(GO) vet ./... && $(GO) mod tidy -diff && $(GO) mod verify

.PHONY: fmt
fmt: $(GOLANGCI) ## Format the code
	$(GOLANGCI) fmt ./...

.PHONY: e2e
e2e: e2e/node_modules/.package-lock.json ## Run the tests against servers and suites that others wrote (Node 20)
	$(GO) test -timeout 20m -tags e2e -count=1 ./e2e/...

.PHONY: conformance
conformance: e2e/node_modules/.package-lock.json ## Run the official conformance suite against mcpctl (jq, curl)
	$(GO) run ./e2e/conformance $(CONFORMANCEFLAGS)

# npm writes this file last; it is older than what it was made from when that has changed since.
%/node_modules/.package-lock.json: %/package.json %/package-lock.json
	npm ci --prefix $* --no-audit --no-fund
	@mkdir -p $(@D) && touch $@

# It has its own Node. With BENCHFLAGS='-quick' or '-only PART' bench/RESULTS.md stays as it is.
.PHONY: bench
bench: bench/node_modules/.package-lock.json ## Measure mcpctl beside other programs and write bench/RESULTS.md (npm; ten minutes)
	$(GO) run ./bench $(BENCHFLAGS)

.PHONY: release-check
release-check: $(GORELEASER) ## Check the release configuration and build this machine's binary with it
	$(GORELEASER) check
	$(GORELEASER) build --snapshot --clean --single-target --output build/mcpctl-snapshot
	build/mcpctl-snapshot --version

# syft and cosign are for the real release; see .goreleaser.yaml.
.PHONY: snapshot
snapshot: $(GORELEASER) ## Build everything a release has, into dist, without publishing it
	$(GORELEASER) release --snapshot --clean --skip=sbom,sign

.PHONY: check
check: test lint e2e conformance bench release-check ## Run all that has to pass before a change lands

$(GOLANGCI):
	GOBIN=$(CURDIR)/$(@D) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)

$(GORELEASER):
	GOBIN=$(CURDIR)/$(@D) $(GO) install github.com/goreleaser/goreleaser/v2@$(GORELEASER_VERSION)
