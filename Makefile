# Everything goes through .venv, made from the locked, hashed requirements.
PYTHON ?= python3
BIN := .venv/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps

PYTEST := $(BIN)/python -m pytest -n auto --dist worksteal

TINY := .tiny/bin/python

.PHONY: run test check nightly format lock bench tiny-model clean

run: .venv/run.stamp
	@$(BIN)/python -m repl $(ARGS)

test: .venv/dev.stamp
	$(PYTEST)

check: .venv/dev.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(PYTEST) --cov --cov-report=term:skip-covered

nightly: .venv/dev.stamp  # every law on at least 20,000 generated histories; make nightly ARGS="-k hybrid"
	HYPOTHESIS_PROFILE=nightly $(PYTEST) tests/strategies tests/agent $(ARGS)

format: .venv/dev.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/dev.stamp
	$(BIN)/python benchmarks/startup.py --check
	$(BIN)/python benchmarks/prepare.py --check
	$(BIN)/python benchmarks/streaming.py --check

tiny-model: .tiny/stamp  # trains the tiny model of the server tests anew and measures it: some 20 minutes on two cores
	$(TINY) -m lab.tiny.training
	$(TINY) -m lab.tiny.evaluation

lock:  # needs uv; hashes and versions only, no addresses
	uv pip compile -q --universal --generate-hashes --no-header --no-annotate --python-version 3.11 \
		--group build pyproject.toml -o requirements.txt
	uv pip compile -q --universal --generate-hashes --no-header --no-annotate --python-version 3.11 \
		--group build --group dev pyproject.toml -o requirements-dev.txt
	echo 'dashscope>=1.20,<2' | uv pip compile -q --no-deps --generate-hashes --no-header --no-annotate - \
		| tee -a requirements.txt >> requirements-dev.txt
	uv pip compile -q --universal --generate-hashes --no-header --no-annotate --python-version 3.11 \
		--group tiny pyproject.toml -o requirements-tiny.txt

clean:
	rm -rf .venv .tiny

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "thimble needs Python 3.11 or newer: make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv

.venv/run.stamp: requirements.txt pyproject.toml | .venv/bin/python
	$(PIP_INSTALL) --require-hashes -r requirements.txt
	$(PIP_INSTALL) --no-build-isolation --editable .
	@touch $@

.venv/dev.stamp: requirements-dev.txt pyproject.toml | .venv/bin/python
	$(PIP_INSTALL) --require-hashes -r requirements-dev.txt
	$(PIP_INSTALL) --no-build-isolation --editable .
	@touch $@ .venv/run.stamp

# The tiny model has an environment of its own. pip is left to take the build of torch that the machine offers.
.tiny/bin/python:
	$(PYTHON) -m venv .tiny

.tiny/stamp: requirements-tiny.txt | .tiny/bin/python
	$(TINY) -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $<
	$(TINY) -m pip install --quiet --disable-pip-version-check --no-deps torch==2.13.0
	@touch $@
