# Python >= 3.11 with pip, make and git is all that is needed; the environment is created in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One thread of BLAS and OpenMP for each of the test processes, and of polars, whose threads spin between the queries of
# small tables. They share compiled modules: if the caller's environment disables bytecode, each would compile the package
# and rewrite the assertions of all tests.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
TEST_ENV := PYTHONDONTWRITEBYTECODE= POLARS_MAX_THREADS=1 $(ONE_THREAD)
# pip in an environment of its own finds the package through src/; each stamp is renewed when the dependencies change.
install = $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable

.PHONY: demo test test-long test-fast test-slow test-nightly test-built fuzz-files check format package bench docs doctest clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.cli $(VENV)/.test $(VENV)/.typing $(VENV)/.docs: pyproject.toml | $(BIN)/python
$(VENV)/.cli: ; $(install) '.[cli,plots]' && touch $@
$(VENV)/.test: ; $(install) '.[test]' && touch $@
$(VENV)/.typing: ; $(install) '.[typing]' && touch $@
$(VENV)/.docs: ; $(install) '.[docs]' && touch $@

# Learns handwritten digits from ambiguous labels and writes demo/report.html.
demo: $(VENV)/.cli
	$(ONE_THREAD) $(BIN)/oneof demo --out demo

# The tests of the code but the long and the slow ones: 6 minutes on two cores, with the compilation of the first run.
# Some read the data sets in $ONEOF_DATA, if it is set. Three processes use the time in which a test waits. `make docs`
# tests the pages, and `make check` the types that a user sees.
PAGE_TESTS := README.md docs/*.md docs/*/*.md tests/documentation tests/pages
CODE_TESTS := tests src --ignore=tests/documentation --ignore=tests/pages --ignore=tests/typed
test: $(VENV)/.test
	$(TEST_ENV) $(BIN)/python -m pytest -n 3 --dist worksteal $(CODE_TESTS)

# Simulations, kills, random calls, other processes and the labeling page in a browser: 4 minutes on two cores.
test-long: $(VENV)/.test
	$(TEST_ENV) $(BIN)/python -m pytest -n 3 --dist worksteal -m 'long and not slow' $(CODE_TESTS)

# The laws of the core, for the inner loop: under a minute on two cores.
FAST_TESTS := tests/candidates tests/graphs tests/solvers tests/io tests/datasets tests/test_kernels.py \
	tests/test_likelihoods.py tests/test_metrics.py tests/comparison tests/persistence
test-fast: $(VENV)/.test
	$(TEST_ENV) $(BIN)/python -m pytest -n 3 --dist worksteal -q $(FAST_TESTS)

test-slow: $(VENV)/.test
	$(BIN)/python -m pytest -m slow

# 100,000 random calls of the public functions, new ones each time: about 20 minutes of two cores.
test-nightly: $(VENV)/.test
	ONEOF_FUZZ_CASES=2400 $(TEST_ENV) $(BIN)/python -m pytest -n 3 --dist worksteal -m 'not slow' tests/fuzz

# Fuzzes every reader of files with atheris, FUZZ_SECONDS for each; crashes are stored in build/fuzz.
FUZZ_SECONDS ?= 600
fuzz-files: $(VENV)/.test
	$(install) '.[fuzz]'
	$(ONE_THREAD) $(BIN)/python -m tests.fuzz_files.guided $(FUZZ_SECONDS)

# The linter, the type checker, also of a user's script, and the import contracts.
check: $(VENV)/.typing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/typed
	$(BIN)/lint-imports

format: $(VENV)/.typing
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format .

# A checkout on the caller's path would be tested instead of the wheel.
package test-built: export PYTHONPATH :=

# The built wheel, without extras, in an environment of its own: it must import, fit, and say how to get the rest.
package:
	rm -rf build/package
	$(PYTHON) -m venv build/package
	build/package/bin/python -m pip wheel --quiet --no-deps --wheel-dir build/package/wheel .
	build/package/bin/python tests/packaging/wheel.py build/package/wheel/*.whl
	build/package/bin/python -m pip install --quiet build/package/wheel/*.whl
	cd build/package && bin/python -c "import oneof; print(oneof.CLPL().fit([[0.0], [1.0]], [['a'], ['b']]).predict([[2.0]]))"
	cd build/package && bin/oneof --help 2>&1 | grep -F "pip install 'oneof[cli]'"

# Wheel and sdist as users have them: the wheel, made from the sdist, in an environment of its own, and the tests of the sdist
# in a folder without src/. A part of them: make test-built TESTS="tests/candidates tests/cli".
BUILT := build/built
TESTS ?= tests README.md docs/*.md docs/*/*.md
test-built:
	rm -rf $(BUILT)
	$(PYTHON) -m venv $(BUILT)
	$(BUILT)/bin/python -m pip install --quiet build
	$(BUILT)/bin/python -m build --outdir $(BUILT)/dist . > $(BUILT)/build.log
	$(BUILT)/bin/python tests/packaging/wheel.py $(BUILT)/dist/*.whl
	$(BUILT)/bin/python -m pip install --quiet "$$(echo $(BUILT)/dist/*.whl)[test]"
	mkdir $(BUILT)/sdist
	tar -xzf $(BUILT)/dist/*.tar.gz -C $(BUILT)/sdist --strip-components=1
	rm -r $(BUILT)/sdist/src
	cd $(BUILT)/sdist && PATH="$(abspath $(BUILT))/bin:$$PATH" OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 \
		../bin/python -m pytest -n 3 --dist worksteal -m 'not slow' $(TESTS)

# Hours: all themes of `python -m benchmarks`. A single one: make bench THEMES="speed online".
THEMES ?= $(shell $(BIN)/python -m benchmarks | grep -E '^[a-z-]+$$' | grep -v equality)
bench: $(VENV)/.test
	for theme in $(THEMES); do $(BIN)/python -m benchmarks $$theme || exit 1; done

# Tests all pages, and builds the site in build/docs/: pages, API, and the gallery, whose examples are run; needs no
# network.
docs: $(VENV)/.docs
	$(TEST_ENV) $(BIN)/python -m pytest -q -n 3 --dist worksteal $(PAGE_TESTS)
	$(BIN)/sphinx-build --builder html --fail-on-warning --keep-going --quiet -d build/doctrees docs build/docs

# Every example in README.md, docs/ and the docstrings; `make docs` and `make test` run them too.
doctest: $(VENV)/.test
	$(BIN)/python -m pytest -q README.md docs/*.md docs/*/*.md src

clean:
	rm -rf $(VENV) build dist demo docs/gallery docs/api/names .pytest_cache .mypy_cache .ruff_cache
