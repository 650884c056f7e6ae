# Everything is built in release, in one tree (.build). Settings of `make run` are in Tests/LocalCluster/Settings.swift.

SWIFT ?= swift
BUILD := $(SWIFT) build -c release
PROGRAMS := .build/release
SETTINGS := PORT OPS_PORT ADMIN_TOKEN VIEWER_TOKEN RATE_LIMIT_SCALE GATEWAYS ROUTERS DATA_DIR LOG_LEVEL CHECK

.DEFAULT_GOAL := help
.PHONY: help run test bench build clean dependencies

help:
	@echo 'make run      start the whole cluster on this machine, prove it, stay until Ctrl-C'
	@echo '              settings: $(SETTINGS)'
	@echo '              make run CHECK=1 ends after the proof, with status 0 or 1'
	@echo 'make test     all tests; they start the servers they need'
	@echo 'make bench    measure: CPU per message, latency, memory per connection'
	@echo 'make build    build everything'
	@echo 'make clean    remove what was built (data is kept)'

dependencies:
	@./deploy/install-dependencies.sh

build: dependencies
	@echo '· building (release); the first time takes a few minutes'
	@$(BUILD)

run: build
	@$(PROGRAMS)/whisper-local

test: dependencies
	@echo '· building with tests (release); the first time takes a few minutes'
	@$(BUILD) --build-tests
	@$(SWIFT) test -c release --skip-build --parallel

bench: build
	@$(PROGRAMS)/whisper-load $(ARGUMENTS)

clean:
	@rm -rf .build
