# make demo   compare our model of tables with SVMs and boosted trees, in a minute
# make test   lint, types and the tests to run before every commit
# make test-all   the same, then the slow tests: Spark, a browser, killed commands, full disks, sanitizers
# make test-gpu the tests of the CUDA back end on an NVIDIA GPU, with the Python that has CuPy: PYTHON=...
# make test-wheel the sdist and the wheel, installed in a clean environment and used there
# make docs   the documentation, in docs/_build/html
# make bench  the benchmarks, results in benchmarks/results
# make fuzz   broken files against the parsers, with sanitizers, for about ten minutes
# make soak   random work against plain models of it, for an hour or SECONDS=...
# make reproduce-quick  every experiment of the paper at small scale, and the report; results in build/reproduce
# Each makes the environment that it needs in .venv.

PYTHON ?= python3
BIN := .venv/bin
STAMPS := .venv/stamps
SOURCES := pyproject.toml CMakeLists.txt $(shell find native -type f)

.PHONY: demo test test-all test-gpu test-wheel lint docs bench fuzz soak reproduce-quick clean
.DELETE_ON_ERROR:

demo: $(STAMPS)/cli
	@$(BIN)/python -m kernelsketch demo

test: lint
	@$(BIN)/python -m pytest -n auto --dist loadgroup -m "not slow and not gpu"

test-all: test
	@$(BIN)/python -m pytest -n auto --dist loadgroup -m "slow and not gpu"

# CuPy and the tests run in the given Python, whose CUDA is that of the machine.
test-gpu:
	@$(PYTHON) -m pytest -m gpu tests/backends/cuda

test-wheel: $(STAMPS)/dev
	@$(BIN)/python tests/wheel/check.py

lint: $(STAMPS)/dev
	@$(BIN)/python -m ruff check .
	@$(BIN)/python -m ruff format --check .
	@$(BIN)/python -m mypy

docs: $(STAMPS)/docs
	@$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

bench: $(STAMPS)/dev
	@$(BIN)/python benchmarks/run.py

fuzz: $(STAMPS)/dev
	@$(BIN)/python tests/native/fuzz.py

soak: $(STAMPS)/dev
	@$(BIN)/python tests/soak/run.py --seconds $(or $(SECONDS),3600)

reproduce-quick: $(STAMPS)/paper
	@$(BIN)/python -m kernelsketch reproduce all --quick --out build/reproduce
	@$(BIN)/python -m kernelsketch report --results build/reproduce --out build/reproduce --figures

clean:
	rm -rf .venv build dist docs/_build docs/auto_examples docs/reference/generated

# One environment. Each set of extras is installed once, and again when the native code or pyproject.toml changes.
$(STAMPS)/venv:
	@echo "making the environment in .venv"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --upgrade pip
	@mkdir -p $(STAMPS)
	@touch $@

# The tests, the docs and the paper's experiments also need kernelsketch-paper.
$(STAMPS)/dev $(STAMPS)/docs: $(STAMPS)/%: $(STAMPS)/venv $(SOURCES) paper/pyproject.toml
	@echo "installing kernelsketch[$*] and kernelsketch-paper: a few minutes the first time"
	@$(BIN)/python -m pip install --quiet --editable ".[$*]" --editable ./paper
	@touch $@

$(STAMPS)/paper: $(STAMPS)/venv $(SOURCES) paper/pyproject.toml
	@echo "installing kernelsketch[cli] and kernelsketch-paper: a few minutes the first time"
	@$(BIN)/python -m pip install --quiet --editable ".[cli]" --editable ./paper
	@touch $@

$(STAMPS)/cli: $(STAMPS)/venv $(SOURCES)
	@echo "installing kernelsketch[cli]: a minute or two the first time"
	@$(BIN)/python -m pip install --quiet --editable ".[cli]"
	@touch $@
