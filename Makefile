# Each target does its own set-up. `make league` and `make play` are all a newcomer needs.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
# A package index besides pip's own, for PyTorch: https://download.pytorch.org/whl/cpu has its build without CUDA.
TORCH_INDEX ?=
# Without a device of NVIDIA on Linux, where pip's own index has the build with CUDA, the first set-up takes that one.
CPU_INDEX := https://download.pytorch.org/whl/cpu
WITHOUT_CUDA := $(if $(TORCH_INDEX)$(wildcard /dev/nvidia* /dev/dxg),,$(filter Linux,$(shell uname)))

VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --progress-bar off --disable-pip-version-check --constraint constraints.txt \
          $(if $(TORCH_INDEX),--extra-index-url "$(TORCH_INDEX)")
# Of what pip says: each large file that it fetches, and that all are there. What fails stays a failure.
SHELL  := bash
.SHELLFLAGS := -o pipefail -c
FETCHED := (Downloading|cached) ([^-]+)-.*\((([3-9]|[0-9][0-9]+)(\.[0-9]+)? MB)\)
BRIEFLY := | while read -r line; do fetched='$(FETCHED)'; \
           [[ $$line == Collecting* ]] && (( ++n % 25 == 0 )) && echo "            $$n packages looked up"; \
           [[ $$line =~ $$fetched ]] && echo "            fetching $${BASH_REMATCH[2]}, $${BASH_REMATCH[3]}"; \
           [[ $$line == 'Installing collected'* ]] && echo '            unpacking'; :; done
# Ctrl-C is how a person stops these; make calls it no error.
STOPPABLE := trap : INT;
OR_STOPPED := || { code=$$?; [ $$code -eq 130 ] || exit $$code; }
NEEDED := $(VENV)/.user
READY  := $(VENV)/.ready

.PHONY: help setup league test test-slow check format lint types bench docs leaderboard expert play watch report lock clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(NEEDED)  ## what a user needs, pinned, in .venv; TORCH_INDEX=URL: an index for PyTorch
	@echo 'ready: make play opens a page, make league plays a league, $(BIN)/dond says what there is'

$(NEEDED): pyproject.toml constraints.txt
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dond-marl needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3.11")'
	@echo 'set-up 1/2: a virtual environment in $(VENV), a few seconds'
	@"$(PYTHON)" -m venv $(VENV)
	@echo 'set-up 2/2: what a user needs (PyTorch, transformers, SciPy, Matplotlib, Starlette), one to five minutes'
	@echo '            390 MB to fetch, 1.9 GB on disk with the CPU build of PyTorch; 5.6 GB with CUDA, PyPI'\''s default on Linux'
ifneq ($(WITHOUT_CUDA),)
	@echo '            no NVIDIA device here, so the CPU build of PyTorch: from $(CPU_INDEX)'
	@$(PIP) --no-deps --retries 1 --timeout 15 --index-url $(CPU_INDEX) torch 2>/dev/null $(BRIEFLY) || \
	  echo '            it cannot be reached: the default build (make setup TORCH_INDEX=URL names another index)'
endif
	@$(PIP) --editable '.[all]' $(BRIEFLY)
	@touch $@

$(READY): $(NEEDED)
	@echo 'set-up for development: tests, types, lint, documentation; 0.2 GB more, about a minute'
	@$(PIP) --editable '.[dev]' $(BRIEFLY)
	@touch $@

league: $(NEEDED)  ## the default league, start to ladder
	@$(STOPPABLE) $(BIN)/python scripts/league.py --config configs/league.yaml $(OR_STOPPED)

play: $(NEEDED)  ## a local web page: play, replay, compare
	@$(STOPPABLE) $(BIN)/dond web $(OR_STOPPED)

watch: $(NEEDED)  ## the newest league in the same page, live; or make watch RUN=runs/league/0001
	@$(STOPPABLE) $(BIN)/dond web --run $(or $(RUN),runs) $(OR_STOPPED)

report: $(NEEDED)  ## the newest league as one file, to read or send; or make report RUN=runs/league/0001
	$(BIN)/dond report --run $(or $(RUN),runs)

test: $(READY)  ## the test suite, without the slow ones
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow"

test-slow: $(READY)  ## the slow tests alone
	$(BIN)/python -m pytest -n 2 --dist worksteal -m slow

check: format lint types test  ## what CI runs

format: $(READY)
	$(BIN)/ruff format --check .

lint: $(READY)
	$(BIN)/ruff check .

types: $(READY)
	$(BIN)/mypy

bench: $(NEEDED)  ## every speed figure of docs/RESULTS.md, side by side with its peers
	@echo 'set-up for the benchmark: the peers that it measures, a minute or more'
	@$(PIP) --editable '.[bench]' $(BRIEFLY)
	$(BIN)/python scripts/benchmark.py --json benchmark.json

docs: $(NEEDED)  ## the documentation as a site, in site/
	@$(PIP) --editable '.[docs]' $(BRIEFLY)
	$(BIN)/python -m scripts.docs_site.build

leaderboard: $(NEEDED)  ## the leaderboard from the results and submissions: a page on GitHub, and one in build/
	@mkdir -p build
	$(BIN)/dond bench table --results docs/results/bench.jsonl --results leaderboard --page leaderboard/README.md
	$(BIN)/dond bench table --results docs/results/bench.jsonl --results leaderboard --format html --out build/leaderboard.html

expert: $(NEEDED)  ## train the shipped expert again and write its card (minutes)
	$(BIN)/dond league --config configs/expert.yaml
	$(BIN)/python -m experiments expert --run runs/expert

lock: $(NEEDED)  ## requirements.lock from pyproject.toml and constraints.txt: every version with its hashes
	@$(PIP) uv $(BRIEFLY)
	$(BIN)/uv pip compile pyproject.toml --extra all --constraint constraints.txt --universal --python-version 3.11 \
	  --generate-hashes --no-header --no-annotate --no-emit-index-url --output-file requirements.lock

clean:  ## remove the virtual environment and caches, never runs/
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
