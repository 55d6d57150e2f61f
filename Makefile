# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
# `make demo` and `make test` do all set-up themselves. PRESET chooses the build (CMakePresets.json).
PRESET ?= release
BUILD := build/$(PRESET)
PY := .venv/bin/python
PYTHON_FILES := python tools bench examples tests/*.py tests/python tests/authoring tests/mutants tests/lowering
# A build of many files swaps on small machines: at most four at once unless told otherwise.
JOBS ?= $(shell n=$$(nproc); [ $$n -gt 4 ] && echo 4 || echo $$n)
# Asked by the shell and not by make, which would ask before set-up has installed it.
LAUNCHER := $$(command -v ccache >/dev/null && echo -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
export SHARDPROOF := $(abspath $(BUILD)/shardproof)

.PHONY: all setup configure build commands demo test test-cpp test-python test-frameworks bench wheel format lint docs clean
all: build

setup:
	@tools/setup.sh --python

configure: | build-folder
	@tools/setup.sh
	@command -v cmake >/dev/null || { echo 'make: no cmake: see what setup says above'; exit 1; }
	@cmake --preset $(PRESET) $(LAUNCHER) >$(BUILD).configure.log 2>&1 || { cat $(BUILD).configure.log; exit 1; }

build: configure
	@cmake --build --preset $(PRESET) -j $(JOBS)

# The commands alone, without their tests: half of the compilation.
commands: configure
	@cmake --build --preset $(PRESET) -j $(JOBS) --target shardproof shardproof-check

demo: commands
	@examples/demo.sh

test: build test-cpp test-python

test-cpp: build
	@ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS) --output-junit junit.xml

test-python: build
	@tools/setup.sh --capture
	@cmake --build --preset $(PRESET) -j $(JOBS) --target lower-dump
	@$(PY) -m pytest -q --junitxml=$(BUILD)/pytest.xml tests

# Transformers, torchtitan, Megatron-core and TensorFlow: their examples and pages of the guide. Not a part of `test`, since they are gigabytes.
test-frameworks: commands
	@tools/setup.sh --frameworks
	@SHARDPROOF_FRAMEWORKS=1 .venv-frameworks/bin/python -m pytest -q --junitxml=$(BUILD)/frameworks.xml \
	  -k 'torchtitan or megatron or transformers or tensorflow' tests/test_examples.py tests/test_docs.py

bench: build setup
	@$(PY) bench/published.py --json $(BUILD)/published.json

# A wheel in dist/ that machines with this one's glibc, or a later one, install without a compiler.
wheel:
	@tools/wheel.sh

format:
	@git ls-files '*.h' '*.cpp' | xargs -r clang-format -i
	@$(PY) -m ruff format $(PYTHON_FILES)
	@$(PY) -m ruff check -q --fix $(PYTHON_FILES)

lint: setup
	@$(PY) tools/check_includes.py
	@$(PY) tools/check_files.py
	@$(PY) tools/rule_table.py --names
	@if command -v clang-format >/dev/null; then git ls-files '*.h' '*.cpp' | xargs clang-format --dry-run -Werror; else echo 'no clang-format: the C++ format is not checked'; fi
	@$(PY) -m ruff check $(PYTHON_FILES)
	@$(PY) -m ruff format --check -q $(PYTHON_FILES)
	@$(PY) -m mypy

docs: setup
	@$(PY) -m sphinx -q -W --keep-going -b html docs build/site

.PHONY: build-folder
build-folder:
	@mkdir -p build

clean:
	rm -rf build
