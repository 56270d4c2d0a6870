# Short names for what people do here. `make` alone lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= /usr/bin/python3
JOBS ?= $(shell nproc)
SEEDS ?= 20000
SOAK_MINUTES ?= 480
PYTEST := $(PYTHON) -m pytest -q

.PHONY: help demo test lint sim sim-mutants test-full soak bench build clean-up packages \
        test-cpp test-python test-tsan

help:  ## this list
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|'

demo: packages build/release/build.ninja  ## jobs go through their whole lives on a simulated cloud; ends by itself
	@cmake --build --preset release --target falcon -- -j$(JOBS)
	@$(PYTHON) tools/demo

build: packages build/release/build.ninja  ## the release build: build/release/falcon
	@cmake --build --preset release -- -j$(JOBS)

test: test-cpp test-python  ## everything that proves the build, up to 10 minutes once built

lint: packages build/test/build.ninja  ## format, clang-tidy, architecture
	@$(PYTHON) tools/lint --jobs $(JOBS)
	@$(PYTEST) tests/architecture

sim: build  ## seeded histories of the core: SEEDS=20000, or replay one: SEED=17
	@build/release/falcon-simulation $(if $(SEED),--seed $(SEED),--seeds $(SEEDS))

sim-mutants: build  ## planted mistakes; the simulation must catch each
	@build/release/falcon-simulation-mutants --mutants

test-full: test  ## what CI runs: also the release build, histories, mutants, all of e2e
	@$(MAKE) --no-print-directory sim SEEDS=2000
	@$(MAKE) --no-print-directory sim-mutants
	@FALCON_BINARY=build/release/falcon $(PYTEST) tests/e2e

soak: build  ## a night of histories on every core: SOAK_MINUTES=480
	@tools/soak $(SOAK_MINUTES) $(JOBS)

bench: build  ## speed of the release build; also writes build/bench/results.json
	@$(PYTHON) bench/run

clean-up:  ## removes everything that was built or written here (only build/)
	@rm -rf build

packages:
	@tools/install-packages

# Ninja runs CMake again by itself when a CMake file has changed.
build/%/build.ninja: | packages
	@cmake --preset $*

test-cpp: packages build/test/build.ninja
	@cmake --build --preset test -- -j$(JOBS)
	@ctest --preset test --parallel $(JOBS)

test-python: test-cpp
	@FALCON_BINARY=build/test/falcon $(PYTEST) -m "not slow" tests

# The suites of folders that use threads, under ThreadSanitizer.
test-tsan: packages build/tsan/build.ninja
	@suites=$$(tools/threaded-suites) && \
	  cmake --build --preset tsan --target $$(printf '%s_test ' $$suites) -- -j$(JOBS) && \
	  ctest --preset tsan --parallel $(JOBS) -R "^($${suites// /|})$$"
