# `make demo` and `make test` need Python >= 3.11 with pip, make and git; everything else is set up in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Tests and benchmarks read the field's data sets where they lie beside the checkout.
ifneq ($(wildcard ../shared/data),)
export ONEOF_DATA ?= $(abspath ../shared/data)
endif

.PHONY: demo test test-slow test-nightly test-built fuzz-files check package bench docs doctest clean

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

# 100,000 calls with whatever a caller may have, others each time: some 20 minutes of two cores.
test-nightly: $(VENV)/.installed
	ONEOF_FUZZ_CASES=2400 OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal tests/fuzz

# Every reader of files against files that atheris makes, FUZZ_SECONDS for each; what it finds lies in build/fuzz.
FUZZ_SECONDS ?= 600
fuzz-files: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --editable '.[fuzz]'
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz_files.guided $(FUZZ_SECONDS)

check: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

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
	$(BUILT)/bin/python -m pip install --quiet "$$(echo $(BUILT)/dist/*.whl)[dev]"
	mkdir $(BUILT)/sdist
	tar -xzf $(BUILT)/dist/*.tar.gz -C $(BUILT)/sdist --strip-components=1
	rm -r $(BUILT)/sdist/src
	cd $(BUILT)/sdist && PATH="$(abspath $(BUILT))/bin:$$PATH" OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 \
		../bin/python -m pytest -n 2 --dist worksteal $(TESTS)

# All themes of the benchmarks, which take many hours; `python -m benchmarks` lists them.
THEMES ?= speed online svm gaussian-process semi-supervised accuracy loo-ridge text graph-logistic active parallel peers hardware reliability
bench: $(VENV)/.installed
	for theme in $(THEMES); do $(BIN)/python -m benchmarks $$theme || exit 1; done

# The site, in build/docs/: pages, API, and the gallery, whose examples are run; needs no network.
docs: $(VENV)/.installed
	$(BIN)/sphinx-build --builder html --fail-on-warning --keep-going --quiet -d build/doctrees docs build/docs

# Every example in README.md, docs/ and the docstrings; `make test` runs them too.
doctest: $(VENV)/.installed
	$(BIN)/python -m pytest -q README.md docs/*.md docs/*/*.md src

clean:
	rm -rf $(VENV) build dist demo docs/gallery docs/api/names .pytest_cache .mypy_cache .ruff_cache
