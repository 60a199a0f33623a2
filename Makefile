# Everything runs in .venv, which the first target that needs it makes: Python 3.11 or newer, make and a package
# index are all it takes. `make PYTHON=/path/to/python …` chooses another Python.
.DEFAULT_GOAL := help
.PHONY: help demo quick test test-full test-share frameworks test-frameworks examples-frameworks bench-frameworks bench bench-quick \
	bench-checkpoint bench-compile bench-inputs bench-languages bench-sparse bench-threads remarks runtime lint clean

# Hundreds of tests start Python: without its caches of compiled modules each of them compiles all of llgrad.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13 python3.14; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
FRAMEWORKS := .venv-frameworks
FRAMEWORKS_READY := $(FRAMEWORKS)/.ready
BENCH_READY := $(VENV)/.bench-ready
# The benchmark compares with JAX and PyTorch where `make test-frameworks` or `bench-frameworks` has installed them.
BENCH_PYTHON = $(if $(wildcard $(FRAMEWORKS_READY)),$(FRAMEWORKS),$(VENV))/bin/python

help:
	@echo "make demo         three C programs of ADBench: derivatives, checked and timed"
	@echo "make quick        a first answer in a minute: ruff on what changed, rules, interpreter, thirty programs"
	@echo "make test         ruff, mypy and the tests"
	@echo "make test-full    the same with the slow sets"
	@echo "make test-share   one share of the slow sets: SHARE=3/24"
	@echo "make test-frameworks  SciPy, PyTorch, JAX and TensorFlow, in an environment of their own"
	@echo "make examples-frameworks  a network, a terrain, the Sun's mass, a bundle adjustment: with C code, to build/examples"
	@echo "make bench        gradients against Enzyme, the objective and others, with plots (bench-quick: one size)"
	@echo "make bench-checkpoint  a million steps within budgets of memory, beside the theory"
	@echo "make bench-compile  what differentiating costs, against Enzyme and clang"
	@echo "make bench-frameworks  what a call of a foreign function costs in each framework, and a layer's gradient"
	@echo "make bench-inputs  gradients of what clang makes at -O0 to -O3, -Os and with Enzyme's flags: no cliffs"
	@echo "make bench-languages  what a gradient costs in each language, in units of the function itself"
	@echo "make bench-order  small loops, differentiated after LLVM's optimisation and before it"
	@echo "make bench-sparse  sparse Jacobians and Hessians, in units of the function"
	@echo "make bench-threads  how batches of gradients scale over cores"
	@echo "make remarks      which loops of the sweeps LLVM vectorises"
	@echo "make runtime      the tape's arena, from C to the bitcode that llgrad ships"
	@echo "make lint         ruff and mypy alone"
	@echo "make clean        removes .venv and everything built"

$(READY): pyproject.toml
	@test -n "$(PYTHON)" || { echo "llgrad needs Python 3.11 or newer; name one: make PYTHON=/path/to/python3.11"; exit 1; }
	@echo "Making $(VENV) with $(PYTHON) and installing llgrad and what it depends on (once; a minute or two)"
	@$(PYTHON) -m venv $(VENV) || { echo "$(PYTHON) cannot make a virtual environment (Debian: apt install python3-venv)"; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@

$(FRAMEWORKS_READY): pyproject.toml
	@test -n "$(PYTHON)" || { echo "llgrad needs Python 3.11 or newer; name one: make PYTHON=/path/to/python3.11"; exit 1; }
	@echo "Making $(FRAMEWORKS) and installing PyTorch, JAX and TensorFlow there (once; a few minutes)"
	@$(PYTHON) -m venv $(FRAMEWORKS) || { echo "$(PYTHON) cannot make a virtual environment (Debian: apt install python3-venv)"; exit 1; }
	@$(FRAMEWORKS)/bin/python -m pip install --quiet --disable-pip-version-check --retries 2 --timeout 20 \
		--editable '.[test,frameworks]' || { echo "PyTorch, JAX and TensorFlow could not be installed: is a package index within reach?"; exit 1; }
	@touch $@

demo: $(READY)
	@$(BIN)/python -m examples.adbench.demo

lint: $(READY)
	@echo "ruff"
	@$(BIN)/ruff check --quiet .
	@echo "mypy"
	@$(BIN)/mypy --no-error-summary

QUICK := tests/test_quick.py tests/test_floors.py tests/rules/test_rule_expression.py tests/rules/test_rule_library.py tests/rules/test_rule_partials.py \
	tests/interpret/test_interpret_opcodes.py tests/interpret/test_interpret_undefined.py

quick: $(READY)
	@git diff --name-only --diff-filter=d HEAD -- '*.py' 2>/dev/null | xargs -r $(BIN)/ruff check --quiet
	@$(BIN)/python -m pytest -q -n 2 -m "not full" $(QUICK)

test: lint
	@$(BIN)/python -m pytest -n 2 -m "not full" tests

test-full: lint
	@$(BIN)/python -m pytest -n 2 tests

# A part of the slow sets, `make test-share SHARE=3/24`: CI takes another one for each tree.
test-share: $(READY)
	@$(BIN)/python -m pytest -q -n 2 -m full --share $(SHARE) --durations 10 tests

frameworks: $(FRAMEWORKS_READY)

# A process each: frameworks are not asked to bear each other's threads.
test-frameworks: $(FRAMEWORKS_READY)
	@for name in foreign scipy torch torch_use jax implicit_frameworks stablehlo tensorflow; do \
		$(FRAMEWORKS)/bin/python -m pytest -q -n 2 tests/frameworks/test_$$name.py || exit 1; \
	done

examples-frameworks: $(FRAMEWORKS_READY)
	@for name in network terrain orbits bundle diffusion; do \
		$(FRAMEWORKS)/bin/python -m examples.frameworks.$$name || exit 1; \
	done

$(BENCH_READY): $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	@if test -x $(FRAMEWORKS)/bin/python; then $(FRAMEWORKS)/bin/python -m pip install --quiet --editable '.[bench]'; fi
	@touch $@

bench: $(BENCH_READY)
	@$(BENCH_PYTHON) -m benchmarks.bench
	@TF_CPP_MIN_LOG_LEVEL=3 $(BENCH_PYTHON) -m benchmarks.overhead

bench-frameworks: $(FRAMEWORKS_READY)
	@TF_CPP_MIN_LOG_LEVEL=3 $(FRAMEWORKS)/bin/python -m benchmarks.overhead
	@TF_CPP_MIN_LOG_LEVEL=3 $(FRAMEWORKS)/bin/python -m benchmarks.layers

bench-inputs: $(BENCH_READY)
	@$(BENCH_PYTHON) -m benchmarks.inputs

bench-languages: $(READY)
	@$(BIN)/python -m benchmarks.languages

bench-quick: $(BENCH_READY)
	@$(BENCH_PYTHON) -m benchmarks.bench --quick

bench-checkpoint: $(BENCH_READY)
	@$(BENCH_PYTHON) -m benchmarks.checkpointing

bench-compile: $(READY)
	@$(BIN)/python -m benchmarks.compile_time

bench-order: $(READY)
	@$(BIN)/python -m benchmarks.order

bench-sparse: $(READY)
	@$(BIN)/python -m benchmarks.sparse

bench-threads: $(READY)
	@$(BIN)/python -m benchmarks.threads

remarks: $(READY)
	@$(BIN)/python -m benchmarks.remarks

runtime: $(READY)
	@$(BIN)/python -m llgrad.autodiff.emit.arena_build

clean:
	rm -rf $(VENV) $(FRAMEWORKS) build dist .pytest_cache .mypy_cache .ruff_cache src/*.egg-info
	find src tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
