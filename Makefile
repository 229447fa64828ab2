# make demo   compare our model of tables with SVMs and boosted trees, in a minute
# make env    the environment for development, and how to run one test in it
# make test   lint, types and the tests to run before every commit
# make test-all   the same, then the slow tests: Spark, a browser, killed commands, full disks, sanitizers
# make test-gpu the tests of the CUDA back end on an NVIDIA GPU, with the Python that has CuPy: PYTHON=...
# make test-wheel the sdist and the wheel, installed in a clean environment and used there
# make test-clients the tests with the libraries that work with ours, from SHAP to FastAPI, in .venv-clients
# make docs   the documentation, in docs/_build/html
# make bench  the benchmarks, results in benchmarks/results
# make fuzz   broken files against the parsers, with sanitizers, for about ten minutes
# make soak   random work against plain models of it, for an hour or SECONDS=...
# make reproduce-quick  every experiment of the paper at small scale, and the report; results in build/reproduce
# Each makes the environment that it needs, in .venv if nothing else is said.

PYTHON ?= python3
BIN := .venv/bin
CLIENTS := .venv-clients
STAMPS := .venv/stamps
BUILD_TOOLS := 'scikit-build-core>=0.10' 'nanobind>=2.2' 'cmake>=3.22' ninja
SOURCES := pyproject.toml CMakeLists.txt $(shell find native -type f)

.PHONY: demo env test test-all test-gpu test-wheel test-clients lint docs bench fuzz soak reproduce-quick clean
.DELETE_ON_ERROR:

demo: $(STAMPS)/cli
	@$(BIN)/python -m kernelsketch demo

env: $(STAMPS)/dev
	@echo "The environment is in .venv. To run the tests of one file, or one test:"
	@echo "  $(BIN)/python -m pytest tests/kernels/test_minmax.py"
	@echo "  $(BIN)/python -m pytest tests/kernels/test_minmax.py -k NAME"

test: lint
	@$(BIN)/python -m pytest -n auto --dist loadgroup -m "not slow and not gpu"

test-all: test
	@$(BIN)/python -m pytest -n auto --dist loadgroup -m "slow and not gpu"

# CuPy and the tests run in the given Python, whose CUDA is that of the machine.
test-gpu:
	@$(PYTHON) -m pytest -m gpu tests/backends/cuda

test-wheel: $(STAMPS)/dev
	@$(BIN)/python tests/wheel/check.py

# The wheel comes from the build folder of the editable installation, so nothing is compiled again.
test-clients: $(STAMPS)/native $(CLIENTS)/made
	@rm -rf build/wheel
	@$(BIN)/python -m pip wheel --quiet --no-build-isolation --no-deps --wheel-dir build/wheel .
	@$(CLIENTS)/bin/python -m pip install --quiet --force-reinstall --no-deps build/wheel/kernelsketch-*.whl
	@echo "installing the packages of kernelsketch[clients]: about 2 minutes the first time"
	@$(CLIENTS)/bin/python -m pip install --quiet "kernelsketch[clients]"
	@$(CLIENTS)/bin/python -m pytest tests/clients

lint: $(STAMPS)/dev
	@$(BIN)/python -m ruff check .
	@$(BIN)/python -m ruff format --check .
	@$(BIN)/python -m mypy
	@find native src tests benchmarks -name '*.cpp' -o -name '*.h' -o -name '*.cu' | xargs $(BIN)/clang-format --dry-run -Werror

docs: $(STAMPS)/docs
	@$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

bench: $(STAMPS)/dev
	@$(BIN)/python benchmarks/run.py

fuzz: $(STAMPS)/dev
	@PYTHONPATH=tests $(BIN)/python tests/native/fuzz.py

soak: $(STAMPS)/dev
	@$(BIN)/python tests/soak/run.py --seconds $(or $(SECONDS),3600)

reproduce-quick: $(STAMPS)/paper
	@$(BIN)/python -m kernelsketch reproduce all --quick --out build/reproduce
	@$(BIN)/python -m kernelsketch report --results build/reproduce --out build/reproduce --figures

clean:
	rm -rf .venv .venv-clients build dist docs/_build docs/auto_examples docs/reference/generated

# One environment and one build. The native code is compiled when it or pyproject.toml has changed, and then only the
# files that changed, because the tools of the build stay in the environment; extras only add packages.
$(STAMPS)/venv:
	@echo "making the environment in .venv, with the tools of the build: about half a minute"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --upgrade pip
	@$(BIN)/python -m pip install --quiet $(BUILD_TOOLS)
	@mkdir -p $(STAMPS)
	@touch $@

$(CLIENTS)/made:
	@$(PYTHON) -m venv $(CLIENTS)
	@$(CLIENTS)/bin/python -m pip install --quiet --upgrade pip
	@touch $@

$(STAMPS)/native: $(STAMPS)/venv $(SOURCES)
	@echo "compiling and installing kernelsketch: 2 minutes on two cores the first time"
	@$(BIN)/python -m pip install --quiet --no-build-isolation --editable .
	@touch $@

# kernelsketch is installed already, so pip adds the packages of an extra and builds nothing.
$(STAMPS)/cli-extra $(STAMPS)/dev-extra $(STAMPS)/docs-extra: $(STAMPS)/%-extra: pyproject.toml | $(STAMPS)/native
	@echo "installing the packages of kernelsketch[$*]: up to 2 minutes the first time"
	@$(BIN)/python -m pip install --quiet "kernelsketch[$*]"
	@touch $@

$(STAMPS)/paper-package: paper/pyproject.toml | $(STAMPS)/cli-extra
	@echo "installing kernelsketch-paper: up to a minute the first time"
	@$(BIN)/python -m pip install --quiet --editable ./paper
	@touch $@

# The tests and the docs also need kernelsketch-paper.
$(STAMPS)/dev $(STAMPS)/docs: $(STAMPS)/%: $(STAMPS)/native $(STAMPS)/%-extra $(STAMPS)/paper-package
	@touch $@

$(STAMPS)/paper: $(STAMPS)/native $(STAMPS)/paper-package
	@touch $@

$(STAMPS)/cli: $(STAMPS)/native $(STAMPS)/cli-extra
	@touch $@
