# Everything that is run on this repository, by people and by .ci/run. `make` lists it.

# The tools, pinned. They are built once for each version, into .bin.
GOLANGCI_VERSION   := v2.15.0
GORELEASER_VERSION := v2.15.1
SYFT_VERSION       := v1.57.1
COSIGN_VERSION     := v3.1.3
ACTIONLINT_VERSION := v1.7.12

GOLANGCI   := .bin/golangci-lint-$(GOLANGCI_VERSION)/golangci-lint
GORELEASER := .bin/goreleaser-$(GORELEASER_VERSION)/goreleaser
SYFT       := .bin/syft-$(SYFT_VERSION)/syft
COSIGN     := .bin/cosign-$(COSIGN_VERSION)/cosign
ACTIONLINT := .bin/actionlint-$(ACTIONLINT_VERSION)/actionlint

GO ?= go

# Flags for the tests. The race detector needs a C compiler: without one, make test TESTFLAGS=
TESTFLAGS ?= -race

# What has to pass before a change lands, in this order: that of .ci/run, which asks for it.
CHECKS := demo test lint readme e2e conformance release-check

# How many tests of a package run at once: many of them wait for servers most of the time.
PARALLEL ?= $(shell expr 4 '*' $$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2))

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
COMMIT  = $(shell git rev-parse --short=12 HEAD 2>/dev/null)
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

.PHONY: readme
readme: ## Follow the README, word by word, in a fresh clone with an empty home
	$(GO) test -count=1 -v -run '^TestReadmeInAFreshClone$$' ./docs -clone

.PHONY: test-raced
test-raced: ## Run the tests of the commands with every process under the race detector
	$(GO) test -timeout 60m -count=1 -parallel $(PARALLEL) -race ./cmd/mcpctl -all-raced

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
	$(GO) test ./cmd/mcpctl ./internal/render ./docs -update

# vet of another platform compiles all packages for what they export. Nobody runs that, so nothing is optimized.
VET = $(GO) vet -gcflags='-N -l' -tags e2e,release ./...

.PHONY: lint
lint: $(GOLANGCI) $(ACTIONLINT) ## Check rules, formatting, workflows, other platforms and go.mod
	$(GOLANGCI) config verify
	$(ACTIONLINT) -shellcheck= -pyflakes=
	$(GOLANGCI) run ./...
	GOOS=windows CGO_ENABLED=0 $(VET)
	GOOS=darwin CGO_ENABLED=0 $(VET)
	$(GO) mod tidy -diff
	$(GO) mod verify
	cd e2e/servers/mcp-go && $(GO) vet ./... && $(GO) mod tidy -diff && $(GO) mod verify

.PHONY: fmt
fmt: $(GOLANGCI) ## Format the code
	$(GOLANGCI) fmt ./...

.PHONY: e2e
e2e: e2e/node_modules/.package-lock.json ## Run the tests against servers and suites that others wrote (Node 20)
	$(GO) test -timeout 20m -parallel $(PARALLEL) -tags e2e -count=1 ./e2e/...

.PHONY: conformance
conformance: e2e/node_modules/.package-lock.json ## Run the official conformance suite against mcpctl (jq, curl)
	$(GO) run ./e2e/conformance $(CONFORMANCEFLAGS)

# npm writes this file last; it is older than what it was made from when that has changed since.
%/node_modules/.package-lock.json: %/package.json %/package-lock.json
	npm ci --prefix $* --no-audit --no-fund
	@mkdir -p $(@D) && touch $@

# One of the tools wants an optional package that not every registry has, and npm ci takes no lock without it. The versions are
# those of the lock all the same.
bench/node_modules/.package-lock.json: bench/package.json bench/package-lock.json
	npm install --prefix bench --no-save --no-audit --no-fund
	@mkdir -p $(@D) && touch $@

# It has its own Node. With BENCHFLAGS='-quick' or '-only PART' bench/RESULTS.md stays as it is.
.PHONY: bench
bench: bench/node_modules/.package-lock.json ## Measure mcpctl beside other programs and write bench/RESULTS.md (npm; ten minutes)
	$(GO) run ./bench $(BENCHFLAGS)

# goreleaser wants to know where the repository came from, and takes nothing from one that came from nowhere.
ORIGIN = $(if $(shell git remote 2>/dev/null),,GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=remote.origin.url \
	GIT_CONFIG_VALUE_0=https://github.com/mcpctl/mcpctl)

# The configuration for the platform of this machine alone: what it can run, and all that it can install.
ONE = build/goreleaser-one.yaml

.PHONY: release-check
release-check: $(GORELEASER) ## Check the release, and install this machine's packages and completions from it
	$(GORELEASER) check
	@mkdir -p build
	sed -e "s/goos: \[.*\]/goos: [$$($(GO) env GOOS)]/" -e "s/goarch: \[.*\]/goarch: [$$($(GO) env GOARCH)]/" .goreleaser.yaml >$(ONE)
	$(ORIGIN) $(GORELEASER) release --snapshot --clean --skip=sbom,sign --config $(ONE)
	$(GO) test -tags release -count=1 -timeout 10m ./release -args -dist $(CURDIR)/dist -one
	GORELEASER=$(GORELEASER) release/reproducible -config $(ONE) -skip sbom,sign -against dist

# Signing needs an identity, which the workflow of the release has.
.PHONY: snapshot
snapshot: $(GORELEASER) $(SYFT) ## Build everything a release has but the signature, into dist, and test it
	$(ORIGIN) PATH="$(CURDIR)/$(dir $(SYFT)):$$PATH" $(GORELEASER) release --snapshot --clean --skip=sign
	$(GO) test -tags release -count=1 -timeout 10m ./release -args -dist $(CURDIR)/dist

.PHONY: reproducible
reproducible: $(GORELEASER) $(SYFT) ## Build everything twice, in two places, and compare the bytes
	PATH="$(CURDIR)/$(dir $(SYFT)):$$PATH" GORELEASER=$(GORELEASER) release/reproducible -skip sign

.PHONY: release
release: $(GORELEASER) $(SYFT) $(COSIGN) ## Publish the tag that is checked out; .github/workflows/release.yml does
	PATH="$(CURDIR)/$(dir $(SYFT)):$(CURDIR)/$(dir $(COSIGN)):$$PATH" $(GORELEASER) release --clean

.PHONY: demo
demo: ## Let doctor examine the demonstration server, and kill its session
	$(GO) run ./cmd/mcpctl doctor demo --kill-session

.PHONY: check
check: $(CHECKS) ## Run all that has to pass before a change lands

.PHONY: checks
checks:
	@echo $(CHECKS)

$(GOLANGCI):
	GOBIN=$(CURDIR)/$(@D) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)

$(GORELEASER):
	GOBIN=$(CURDIR)/$(@D) $(GO) install github.com/goreleaser/goreleaser/v2@$(GORELEASER_VERSION)

$(SYFT):
	GOBIN=$(CURDIR)/$(@D) $(GO) install github.com/anchore/syft/cmd/syft@$(SYFT_VERSION)

$(COSIGN):
	GOBIN=$(CURDIR)/$(@D) $(GO) install github.com/sigstore/cosign/v3/cmd/cosign@$(COSIGN_VERSION)

$(ACTIONLINT):
	GOBIN=$(CURDIR)/$(@D) $(GO) install github.com/rhysd/actionlint/cmd/actionlint@$(ACTIONLINT_VERSION)
