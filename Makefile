# The two commands of the README: `make demo` and `make test`. Everything else is for those who change allranks.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.made

.PHONY: help demo test test-fast check format venv bench bench-short clean

help:
	@echo "make demo       deploy the real SGLang to a host on this machine, look at it, tear it down (no GPU needed)"
	@echo "make test       all tests that this machine can run; test-fast: the everyday ones, without SGLang"
	@echo "make bench      time allranks beside ssh, Fabric, pyinfra and Ansible (minutes, a quiet machine); writes docs/performance.md"
	@echo "make check      formatting, lint, types"
	@echo "make clean      remove the virtual environment and the lab (inv lab.down first if it is up)"

venv: $(STAMP)

$(STAMP): requirements.txt requirements-dev.txt
	@scripts/venv.sh "$(PYTHON)" "$(VENV)"
	@touch $(STAMP)

demo:
	@scripts/demo.sh announce
	@$(MAKE) --no-print-directory --silent venv
	@PATH="$(CURDIR)/$(BIN):$$PATH" scripts/demo.sh

test: venv
	@PATH="$(CURDIR)/$(BIN):$$PATH" scripts/test.sh

test-fast: venv
	@$(BIN)/python -m pytest -n 2 -m "not sglang and not lxc and not slow" tests

check: venv
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy

bench: venv
	@$(BIN)/python -m tests.performance.bench

bench-short: venv
	@$(BIN)/python -m tests.performance.bench --short

format: venv
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

clean:
	@if [ -d .lab ] && [ -x $(BIN)/inv ]; then $(BIN)/inv lab.down; fi
	rm -rf $(VENV) .lab .pytest_cache .mypy_cache .ruff_cache .hypothesis
