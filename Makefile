# `make demo` and `make test` need Python >= 3.11 with pip, make and git; everything else is set up in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Tests and benchmarks read the field's data sets where they lie beside the checkout.
ifneq ($(wildcard ../shared/data),)
export ONEOF_DATA ?= $(abspath ../shared/data)
endif

.PHONY: demo test test-slow check bench docs clean

# The stamp is renewed whenever the project's dependencies change.
$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

demo: $(VENV)/.installed
	$(BIN)/oneof demo --out demo

test: $(VENV)/.installed
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal

test-slow: $(VENV)/.installed
	$(BIN)/python -m pytest -m slow

check: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.installed
	$(BIN)/python benchmarks/candidates.py
	$(BIN)/python benchmarks/online.py
	$(BIN)/python benchmarks/lost.py
	$(BIN)/python benchmarks/choosing.py

# The documentation is README.md, docs/ and the docstrings: every example in them is run.
docs: $(VENV)/.installed
	$(BIN)/python -m pytest -q README.md docs src --doctest-glob='*.md'

clean:
	rm -rf $(VENV) build dist demo .pytest_cache .mypy_cache .ruff_cache
