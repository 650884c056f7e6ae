# Two builds: .build/debug is what runs here and is tested, .build/release is what is measured and shipped. Settings of `make run` are in
# Tools/LocalCluster/Settings.swift.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
SWIFT ?= swift
# Nothing is compiled before every Swift package was compared with deploy/packages.lock.
LOCKED := ./deploy/lock-packages check
# Debug information costs a sixth of the compiler's time. What failed says its file and line without it. The package manager finds
# tests by the compiler's index, which need not have the system's modules.
LEAN := -debug-info-format none -Xswiftc -index-ignore-system-modules
BUILD := $(LOCKED) && $(SWIFT) build -c release $(LEAN)
PROGRAMS := .build/release
# In debug assertions are evaluated, a warning is an error, and a changed line is built in half a minute.
# The compiler's statistics, which are written in CI, need their folder.
TEST_BUILD := mkdir -p .build/times/compiler && $(LOCKED) && $(SWIFT) build --build-tests $(LEAN) $(if $(CI),-Xswiftc -stats-output-dir -Xswiftc $(CURDIR)/.build/times/compiler)
# Optimised, but with assertions, and open to tests: the simulation, and tests once more. A tree of its own, because flags differ.
PROVE := .build-prove
PROVE_FLAGS := -c release $(LEAN) --scratch-path $(PROVE) -Xswiftc -enable-testing -Xswiftc -assert-config -Xswiftc Debug
PROVE_BUILD := SCRATCH=$(PROVE) $(LOCKED) && $(SWIFT) build $(PROVE_FLAGS)
SETTINGS := PORT OPS_PORT TURN_PORT ADMIN_TOKEN VIEWER_TOKEN RATE_LIMIT_SCALE ADDRESS_CONNECTIONS_MAX ADDRESS_CONNECTIONS_PER_MINUTE HAPROXY_THREADS GATEWAYS ROUTERS DATA_DIR LOG_LEVEL CHECK

# Hundreds of tests at once would starve each other of the processor, and of their patience. Suites of clusters have bounds of their
# own (Tests/Times/tests).
TESTS_AT_ONCE ?= 6
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH = $(TESTS_AT_ONCE)

# Runs both commands at the same time, the first one out of sight. Waits for both, and fails if either fails.
define beside
{ $(1); } & first=$$!; { $(2); } || { wait $$first || true; exit 1; }; wait $$first
endef

.DEFAULT_GOAL := help
.PHONY: help run test unit check sanitize lint format bench project chaos simulate build documents admin backup restore clean \
	headers dependencies test-dependencies lock images compose-test prove test-tools wheel library packages try-packages release

help:
	@echo 'make run      start the whole cluster on this machine, prove it, stay until Ctrl-C'
	@echo '              settings: $(SETTINGS)'
	@echo '              make run CHECK=1 ends after the proof, with status 0 or 1'
	@echo 'make test     tests of every kind; they start the servers they need'
	@echo 'make unit     the quick tests, without root and network: three minutes on a built tree'
	@echo 'make prove    everything there is, for hours: all tests, also optimised, races, chaos, simulation, containers (root)'
	@echo 'make format   format all Swift files; make lint (in make test) says which are not formatted'
	@echo 'make check    build everything in debug, where a warning is an error and assertions are evaluated'
	@echo 'make sanitize look for data races: tests under the Thread Sanitizer, at most an hour; SANITIZED_SUITES="BusTests RouterTests"'
	@echo 'make bench    measure: CPU per message, latency, offline mail, memory per connection, groups, presence'
	@echo '              ARGUMENTS="storm" and others measure more (docs/benchmarks.md)'
	@echo 'make project  what a size needs, by the figures measured: CONNECTIONS=1000000 MESSAGES=20000'
	@echo 'make chaos    mistreat a cluster under traffic and judge it; SEED=42 FAULTS=100 CLIENTS=200 RUNS=1'
	@echo '              make chaos PLAN=clocks starts some processes ten years ahead or behind'
	@echo '              make chaos PLAN=rolling restarts every service in order and measures what clients notice'
	@echo '              make chaos PLAN=masters kills, freezes and moves masters of a Redis Cluster, beside other faults'
	@echo '              make chaos PLAN=failover takes the primary of three Postgres away in seven ways (root)'
	@echo 'make simulate SEEDS=100000   play a cluster in one thread, from seeds, through every kind of failure'
	@echo 'make admin ARGS="stats"   ask a running cluster as an operator; ARGS="help" says what'
	@echo 'make backup   a base backup of the running cluster, into DATA_DIR/backup; make restore takes a stopped one back to it'
	@echo '              people who were erased since stay erased; with make restore WITHOUT_ERASURES=1 they come back'
	@echo 'make build    build everything'
	@echo 'make documents  write anew what is generated (docs/): from the contract and from the settings'
	@echo 'make lock     write deploy/packages.lock and the lists of Python packages anew, with their hashes'
	@echo 'make wheel    build the Python package with the library inside, into dist; make library the archive for hosts in C'
	@echo 'make packages the Debian packages, into dist; make try-packages tries them in a fresh Debian (root)'
	@echo 'make release VERSION=1.2.3  every artefact with checksums, SBOM and notes, into dist; CHECK=0 leaves the tests out'
	@echo 'make images   build the container images of compose.yaml'
	@echo 'make compose-test  build them, run compose.yaml here with podman, prove it, take it down (root)'
	@echo 'make clean    remove what was built (data is kept)'

# What the compiler needs, what a cluster here needs too, and what tests need besides.
headers:
	@./deploy/install-dependencies.sh build

dependencies:
	@./deploy/install-dependencies.sh run

test-dependencies:
	@./deploy/install-dependencies.sh test

build: dependencies
	@echo '· building (release); the first time takes a few minutes'
	@export WHISPER_BUILD=measure; $(BUILD)

# Servers are installed while the compiler works.
run: headers
	@echo '· building what runs; the first time takes a few minutes'
	@$(call beside,./deploy/install-dependencies.sh run,export WHISPER_BUILD=run; $(LOCKED) && $(SWIFT) build $(LEAN))
	@.build/debug/whisper-local

SOURCES := Package.swift Services Shared Clients Tools TestSupport Tests

# The toolchain's own formatter, with .swift-format.
lint:
	@$(SWIFT) format lint --strict --parallel --recursive $(SOURCES)

format:
	@$(SWIFT) format format --in-place --parallel --recursive $(SOURCES)

# The load tool is not built, long tests are left to `make prove`.
test unit: export WHISPER_BUILD = test
test: headers
	@rm -rf .build/times
	@Tests/Times/phase lint $(MAKE) -s lint
	@echo '· building with tests (debug); the first time takes a few minutes'
	@$(call beside,Tests/Times/phase install $(MAKE) -s test-tools,Tests/Times/phase build bash -euc '$(TEST_BUILD)')
	@echo '· testing whole clusters, which mostly wait, and beside them everything else'
	@$(call beside,QUIET=1 nice -n 5 Tests/Times/tests unit --skip ClusterTests,Tests/Times/tests clusters --filter ClusterTests)
	@Tests/Times/report $(if $(CI),check)

# Without PyPI the tests that need Python tools say so.
test-tools: test-dependencies
	@./deploy/install-python-tools.sh || true

# Without root and network. What takes longer is left to `make test`: services with Postgres, whole clusters, the simulation.
UNIT := ContractTests|JobsTests|ServerCryptoTests|GatewayTests|ClientTests|SQLiteTests|SealedFileTests|ServiceRuntimeTests|WebPagesTests|ArchitectureTests|ContractDocumentTests

unit:
	@$(call beside,$(MAKE) -s lint,$(TEST_BUILD))
	@Tests/Times/tests unit --filter '^($(UNIT))[.]' --skip 'DeploymentTests|PartitionWorkerTests'

# Everything there is, for some hours (root): all tests, in debug and optimised, data races, all plans of chaos, all mutations of the
# simulation, containers. Goes on after a phase that fails, says at its end what ran and what failed, and fails then.
prove: export WHISPER_PROVE = 1
prove: test-tools
	@rm -rf .build/times
	@Tests/Times/phase lint $(MAKE) -s lint || true
	@Tests/Times/phase debug-build bash -euc '$(TEST_BUILD)' || true
	@Tests/Times/tests debug-unit --skip ClusterTests --skip ClusterSimulationTests || true
	@Tests/Times/phase optimised-build bash -euc '$(PROVE_BUILD) --build-tests' || true
	@export BUILT=$(PROVE)/release; \
	  Tests/Times/tests optimised-unit --skip ClusterTests --skip ClusterSimulationTests || true; \
	  Tests/Times/tests simulation --filter ClusterSimulationTests || true; \
	  WHISPER_FAILOVER=1 Tests/Times/tests clusters --filter ClusterTests || true
	@Tests/Times/phase run $(MAKE) -s run CHECK=1 || true
	@for plan in random clocks rolling masters failover; do \
	  Tests/Times/phase chaos-$$plan $(MAKE) -s chaos PLAN=$$plan SEED=1 CLIENTS=60 || true; done
	@Tests/Times/phase sanitize $(MAKE) -s sanitize || true
	@Tests/Times/phase compose $(MAKE) -s compose-test || true
	@Tests/Times/phase packages bash -ec '$(MAKE) -s packages && $(MAKE) -s try-packages' || true
	@Tests/Times/report

# Everything in debug, also the load tool, which `make test` leaves out.
check: test-dependencies
	@$(TEST_BUILD)

# Debug, in a tree of its own: sanitized and other modules do not mix. Not in `make test`, because a test takes ten times as long.
SANITIZED := .build-sanitize
# Not those of documents and sources, and of whole clusters, whose programs have too little time for this.
SANITIZED_SUITES ?= $(filter-out ArchitectureTests ContractDocumentTests PackageTests ChaosTests ClusterTests SimulationTests,$(notdir $(wildcard Tests/*Tests)))
# For build and tests together. Then the target ends, and fails.
SANITIZE_MINUTES ?= 60

sanitize: test-dependencies
	@SCRATCH=$(SANITIZED) $(LOCKED)
	@timeout --kill-after=10 $(SANITIZE_MINUTES)m \
	  Tests/Sanitizer/run $(SANITIZED) $(SANITIZED_SUITES)

bench: build
	@$(PROGRAMS)/whisper-load $(ARGUMENTS)

project:
	@Tools/Projection/project --connections $${CONNECTIONS:-1000000} --messages $${MESSAGES:-20000} $(ARGUMENTS)

chaos: test-dependencies build
	@$(PROGRAMS)/whisper-chaos $(if $(SEED),--seed $(SEED)) $(if $(FAULTS),--faults $(FAULTS)) $(if $(CLIENTS),--clients $(CLIENTS)) \
	  $(if $(RUNS),--runs $(RUNS)) $(if $(PLAN),--plan $(PLAN)) $(ARGUMENTS)

# Each seed is one course of events. FIRST=5000 begins elsewhere; ARGS="--mutation sendsOnce" puts a bug in, to see it found;
# ARGS=--live has whisperers and listeners instead of mail; ARGS=--mutations every bug in turn, with the time until it is found.
simulate: dependencies
	@$(PROVE_BUILD) --product whisper-simulate
	@$(PROVE)/release/whisper-simulate --seeds $${SEEDS:-10000} --first $${FIRST:-0} --jobs $$(nproc) $(ARGS)

# The token comes from ADMIN_TOKEN or VIEWER_TOKEN, the address from OPS_PORT if it is not the usual one.
admin: dependencies
	@$(LOCKED) && $(SWIFT) build $(LEAN) --product whisper-admin >/dev/null
	@WHISPER_OPS_URL=$${WHISPER_OPS_URL:-http://127.0.0.1:$${OPS_PORT:-8081}} .build/debug/whisper-admin $(ARGS)

documents: test-dependencies
	@$(LOCKED) && $(SWIFT) build $(LEAN)
	@.build/debug/whisper-contract documents docs
	@.build/debug/whisper-contract settings .build/debug docs
	@/usr/bin/python3 Tests/ContractDocumentTests/Independent/vectors.py docs/vectors

backup restore:
	@./deploy/backup/local $@ $${DATA_DIR:-data}

# The number stands in one place, and tests compare all others with it.
RELEASE := $(shell sed -n 's/.*static let version = "\(.*\)"/\1/p' Shared/Contract/Types/Release.swift)

wheel library: headers
	@$(BUILD) --product whispercore
	@$(MAKE) -s dist-$@

dist-wheel: test-dependencies
	@./deploy/install-python-tools.sh wheel-tools
	@./deploy/make-wheel $(PROGRAMS)/libwhispercore.so dist repair && ls -l dist/*.whl

dist-library:
	@rm -rf .build/library && name=libwhispercore-$(RELEASE)-linux-x86_64 && ./deploy/stage-library $(PROGRAMS)/libwhispercore.so .build/library/$$name && \
	  mkdir -p dist && tar -C .build/library --sort=name --owner=0 --group=0 --numeric-owner --mtime=@315532800 -czf dist/$$name.tar.gz $$name && ls -l dist/$$name.tar.gz

# With Swift's library inside, in a tree of its own. Foundation's HTTP client, which whisper-admin uses, needs curl.
PACKAGED := .build-packages
# Programs look for libraries where the system has them, not beside themselves.
PACKAGE_BUILD = $(SWIFT) build -c release $(LEAN) --disable-local-rpath --scratch-path $(PACKAGED)
PACKAGED_PROGRAMS := whisper-gateway whisper-auth whisper-router whisper-push whisper-attachments whisper-calls whisper whisper-admin

packages:
	@./deploy/install-dependencies.sh package
	@SCRATCH=$(PACKAGED) $(LOCKED)
	@export WHISPER_BUILD=measure WHISPER_REVISION=$$(git describe --always --dirty --exclude='*' 2>/dev/null || true); for program in $(PACKAGED_PROGRAMS); do \
	  $(PACKAGE_BUILD) --static-swift-stdlib --product $$program $$([ $$program != whisper-admin ] || echo -Xlinker -lcurl); done; \
	  $(PACKAGE_BUILD) --product whispercore
	@$(MAKE) -s dist-packages

# From executables that are there; PACKAGED names their tree.
dist-packages:
	@./deploy/make-packages $(PACKAGED)/release dist && lintian --fail-on error,warning dist/*.deb && ls -l dist/*.deb

# CHECK=0 leaves the tests out, and the notes say so. The artefacts are made twice: their bytes are the same.
release:
	@[ "$(CHECK)" = 0 ] || $(MAKE) -s test
	@$(MAKE) -s packages
	@./deploy/install-python-tools.sh wheel-tools
	@for number in 1 2; do CHECK=$(CHECK) ./deploy/make-release "$(VERSION)" $(PACKAGED)/release dist/$(VERSION); \
	  [ $$number = 2 ] || mv dist/$(VERSION)/SHA256SUMS $(PACKAGED)/SHA256SUMS; done; \
	  cmp dist/$(VERSION)/SHA256SUMS $(PACKAGED)/SHA256SUMS

try-packages:
	@[ "$$(id -u)" = 0 ] || { echo 'error: try-packages needs root' >&2; exit 1; }
	@./deploy/install-dependencies.sh package
	@$(MAKE) -s dist-wheel PROGRAMS=$(PACKAGED)/release
	@Tests/PackageTests/machine dist

images:
	@./deploy/build-images

compose-test: test-dependencies lint
	@$(BUILD) --product whisper
	@./deploy/compose-test

# What is compiled and installed from elsewhere, with the hash of each: read the difference before it is committed.
lock:
	@./deploy/lock-packages write
	@./deploy/lock-python

clean:
	@rm -rf .build $(PROVE) $(SANITIZED) $(PACKAGED)
