# Everything a newcomer needs: `make train` and `make test` set up the environment themselves.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NATIVE := CMakeLists.txt pyproject.toml constraints.txt $(wildcard native/*.cpp native/*.hpp)
INSTALLED := $(VENV)/.installed
SANITIZED := build/sanitize

.DEFAULT_GOAL := help
.PHONY: help train test check format bench sanitize soak docs clean

help:  ## Show these targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

# torch comes first and alone: the constraints pin the CPU build, and nothing else may pull another one.
$(INSTALLED): $(BIN)/python $(NATIVE)
	$(BIN)/python -m pip install --quiet -c constraints.txt torch
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[dev]"
	@touch $@

train: $(INSTALLED)  ## Set up and train a player with configs/default.yaml
	$(BIN)/keisei train --config configs/default.yaml

test: $(INSTALLED)  ## Set up and run the tests
	$(BIN)/python -m pytest -n auto -m "not soak"

check: $(INSTALLED)  ## Formatting, lints, types and the import contract
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/clang-format --dry-run --Werror native/*.cpp native/*.hpp
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(INSTALLED)  ## Rewrite the sources in house style
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/clang-format -i native/*.cpp native/*.hpp

bench: $(INSTALLED)  ## Measure the engine beside every installed rival
	$(BIN)/keisei bench engine

sanitize: $(INSTALLED)  ## Run the native tests under ASan + UBSan, then under TSan
	./tests/sanitize.sh address,undefined
	./tests/sanitize.sh thread

soak: $(INSTALLED)  ## Hours: perft 6, millions of positions and of damaged inputs
	$(BIN)/python -m pytest -m soak --timeout 0

docs: $(INSTALLED)  ## Regenerate what is generated: configuration pages, native stub
	$(BIN)/python -m nanobind.stubgen -q -m keisei.shogi._native -o keisei/shogi/_native.pyi
	$(BIN)/python -m keisei.config_docs

clean:  ## Remove the environment and build products
	rm -rf $(VENV) build
