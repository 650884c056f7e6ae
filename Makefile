# Everything is built in release, in one tree (.build). Settings of `make run` are in Tools/LocalCluster/Settings.swift.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
SWIFT ?= swift
# One optimised build serves for running, testing and measuring; tests look inside modules, hence the flag.
FLAGS := -c release -Xswiftc -enable-testing
# Nothing is compiled before every Swift package was compared with deploy/packages.lock.
BUILD := ./deploy/lock-packages check && $(SWIFT) build $(FLAGS)
PROGRAMS := .build/release
SETTINGS := PORT OPS_PORT TURN_PORT ADMIN_TOKEN VIEWER_TOKEN RATE_LIMIT_SCALE ADDRESS_CONNECTIONS_MAX ADDRESS_CONNECTIONS_PER_MINUTE HAPROXY_THREADS GATEWAYS ROUTERS DATA_DIR LOG_LEVEL CHECK

# Hundreds of tests at once would starve each other of the processor, and of their patience.
TESTS_AT_ONCE ?= 6

# Says at the end again what failed: a log is often read from its end.
define run-tests
$(SWIFT) test $(FLAGS) --skip-build $(1) 2>&1 | tee .build/tests.log || { \
	printf '\n· what failed:\n'; grep -aE -A2 'recorded an issue|✘ Suite|error:|Fatal' .build/tests.log | cut -c1-1000 | tail -80; \
	exit 1; }
endef

# Runs the second command while the first, which installs, runs too. Fails if either does.
define while-installing
{ $(1); } & installing=$$!; { $(2); } || { wait $$installing || true; exit 1; }; wait $$installing
endef

.DEFAULT_GOAL := help
.PHONY: help run test unit check sanitize lint format bench project chaos simulate build documents admin backup restore clean \
	headers dependencies test-dependencies lock images compose-test

help:
	@echo 'make run      start the whole cluster on this machine, prove it, stay until Ctrl-C'
	@echo '              settings: $(SETTINGS)'
	@echo '              make run CHECK=1 ends after the proof, with status 0 or 1'
	@echo 'make test     all tests; they start the servers they need'
	@echo 'make unit     the quick tests, without root and network: under two minutes on a built tree'
	@echo 'make format   format all Swift files; make lint (in make test) says which are not formatted'
	@echo 'make check    build everything in debug, where each warning is an error'
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
	@echo 'make build    build everything'
	@echo 'make documents  write anew what is generated (docs/): from the contract and from the settings'
	@echo 'make lock     write deploy/packages.lock and the lists of Python packages anew, with their hashes'
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
	@$(BUILD)

# Servers are installed while the compiler works.
run: headers
	@echo '· building what runs (release); the first time takes a few minutes'
	@$(call while-installing,./deploy/install-dependencies.sh run,export WHISPER_BUILD=run; $(BUILD))
	@$(PROGRAMS)/whisper-local

SOURCES := Package.swift Services Shared Clients Tools TestSupport Tests

# The toolchain's own formatter, with .swift-format.
lint:
	@$(SWIFT) format lint --strict --parallel --recursive $(SOURCES)

format:
	@$(SWIFT) format format --in-place --parallel --recursive $(SOURCES)

# Without PyPI the tests that need Python tools say so.
test: headers lint
	@echo '· building with tests (release); the first time takes a few minutes'
	@$(call while-installing,./deploy/install-dependencies.sh test && { ./deploy/install-python-tools.sh || true; },$(BUILD) --build-tests)
	@SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=$(TESTS_AT_ONCE) \
	  $(call run-tests,--skip ClusterTests --skip ClusterSimulationTests)
	@echo '· playing the cluster from seeds'
	@$(call run-tests,--filter ClusterSimulationTests)
	@echo '· testing whole clusters, which want the machine for themselves'
	@$(call run-tests,--filter ClusterTests)
	@echo '· building what make run builds, which is less'
	@export WHISPER_BUILD=run; $(BUILD)

# Without root and network. What takes longer is left to `make test`: services with Postgres, whole clusters, the simulation.
UNIT := ContractTests|JobsTests|ServerCryptoTests|GatewayTests|ClientTests|SQLiteTests|SealedFileTests|ServiceRuntimeTests|ArchitectureTests|ContractDocumentTests

unit: lint
	@$(BUILD) --build-tests
	@$(call run-tests,--filter '$(UNIT)' --skip 'DeploymentTests|PartitionWorkerTests')

# In debug a warning is an error and an assertion ends the process.
check: test-dependencies
	@./deploy/lock-packages check
	@$(SWIFT) build --build-tests

# Debug, in a tree of its own: sanitized and other modules do not mix. Not in `make test`, because a test takes ten times as long.
SANITIZED := .build-sanitize
# Not those of documents and sources, and of whole clusters, whose programs have too little time for this.
SANITIZED_SUITES ?= $(filter-out ArchitectureTests ContractDocumentTests ChaosTests ClusterTests SimulationTests,$(notdir $(wildcard Tests/*Tests)))
# For build and tests together. Then the target ends, and fails.
SANITIZE_MINUTES ?= 60

sanitize: test-dependencies
	@SCRATCH=$(SANITIZED) ./deploy/lock-packages check
	@SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=$(TESTS_AT_ONCE) timeout --kill-after=10 $(SANITIZE_MINUTES)m \
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
	@$(BUILD) --product whisper-simulate
	@$(PROGRAMS)/whisper-simulate --seeds $${SEEDS:-10000} --first $${FIRST:-0} --jobs $$(nproc) $(ARGS)

# The token comes from ADMIN_TOKEN or VIEWER_TOKEN, the address from OPS_PORT if it is not the usual one.
admin: dependencies
	@$(BUILD) --product whisper-admin >/dev/null
	@WHISPER_OPS_URL=$${WHISPER_OPS_URL:-http://127.0.0.1:$${OPS_PORT:-8081}} $(PROGRAMS)/whisper-admin $(ARGS)

documents: test-dependencies
	@$(BUILD) --product whisper-contract
	@$(PROGRAMS)/whisper-contract documents docs
	@for service in gateway auth router push attachments calls; do $(BUILD) --product whisper-$$service; done
	@$(PROGRAMS)/whisper-contract settings $(PROGRAMS) docs
	@/usr/bin/python3 Tests/ContractDocumentTests/Independent/vectors.py docs/vectors

backup restore:
	@./deploy/backup/local $@ $${DATA_DIR:-data}

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
	@rm -rf .build
