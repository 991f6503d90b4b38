# Each target does its own set-up. `make league` and `make test` are all a newcomer needs.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: help setup league test test-slow check format lint types bench docs expert play watch report clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(READY)  ## the virtual environment .venv with every pinned dependency

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dond-marl needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

league: $(READY)  ## the default league, start to ladder
	$(BIN)/python scripts/league.py --config configs/league.yaml

play: $(READY)  ## a local web page: play, replay, compare
	$(BIN)/dond web

watch: $(READY)  ## a league in the same page, live: make watch RUN=runs/league/0001
	$(BIN)/dond web --run $(or $(RUN),runs/league)

report: $(READY)  ## one file about a league, to read or send: make report RUN=runs/league/0001
	$(BIN)/dond report --run $(or $(RUN),runs/league)

test: $(READY)  ## the test suite, without the slow ones
	$(BIN)/python -m pytest -n 2 -m "not slow"

test-slow: $(READY)  ## the slow tests alone
	$(BIN)/python -m pytest -n 2 -m slow

check: format lint types test  ## what CI runs

format: $(READY)
	$(BIN)/ruff format --check .

lint: $(READY)
	$(BIN)/ruff check .

types: $(READY)
	$(BIN)/mypy

bench: $(READY)  ## every speed figure of docs/RESULTS.md, side by side with its peers
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[bench]'
	$(BIN)/python scripts/benchmark.py --json benchmark.json

docs: $(READY)  ## the documentation as a site, in site/
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[docs]'
	$(BIN)/python -m scripts.docs_site.build

expert: $(READY)  ## train the shipped expert again and write its card (minutes)
	$(BIN)/dond train --config configs/expert.yaml
	$(BIN)/dond ship expert --run runs/expert

clean:  ## remove the virtual environment and caches, never runs/
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
