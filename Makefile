# Every target sets up what it needs in .venv; all it takes is Python 3.11+, venv, make and git.
PYTHON ?= python3
ARENA_ARGS ?=
SCALING_ARGS ?=
STOCHASTIC_ARGS ?=
CLASSES_ARGS ?=
SELECTION_ARGS ?=
EVERYDAY_ARGS ?=
LARGE_ARGS ?=
COMPUTER_ARGS ?=
PYTEST_ARGS ?=
FUZZ_ARGS ?=
PYTHONS ?=
TRUTH_ARGS ?=
ENDS_ARGS ?=
HOSTILE_ARGS ?=
CACHE_ARGS ?=
THREADS_ARGS ?=
SIEGE_ARGS ?=
LIMITS_ARGS ?=
PROOFS_ARGS ?=
CLUSTER_ARGS ?=
AUDIT_ARGS ?=
RELEASE_ARGS ?=

ifeq ($(OS),Windows_NT)
BIN := .venv/Scripts
else
BIN := .venv/bin
endif
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test quick smoke fuzz truth truth-exact truth-psd truth-bounded truth-silent ends hostile extremes cache threads \
    siege audit limits proofs lint format arena everyday scaling stochastic classes selection large cluster computer wheel \
    release clean

demo: .venv/.cli             ## train on handwritten digits, print the certificate, write a page about it
	$(BIN)/python -m maxmargin train digits --out maxmargin-demo.mm --report maxmargin-demo.html

test: .venv/.test            ## the whole suite, one process for each core
	$(BIN)/python -m pytest -n auto --dist worksteal $(PYTEST_ARGS)

quick: .venv/.test           ## at most 90 s of it: one instance of every estimator, short laws, no browser, nothing compiled anew
	$(BIN)/python -m pytest -n auto --dist worksteal --hypothesis-profile=quick -m "not slow" \
	    tests/unit tests/smoke tests/contract $(PYTEST_ARGS)

smoke: .venv/.smoke          ## a short part of it on every other Python found, and with -OO: make smoke PYTHONS=/path/to/python
	PYTHONS="$(PYTHONS)" $(BIN)/python -m tests.smoke.interpreters

# Campaigns take --first, --count, --kinds, and --state FILE to go on where they were stopped.
fuzz: .venv/.test            ## a million mutated files for every reader and loader: make fuzz FUZZ_ARGS="--count 100 --first 7"
	$(BIN)/python -m tests.files.fuzzing $(FUZZ_ARGS)

hostile: .venv/.test         ## Ctrl-C, kill, full disks, no memory: make hostile HOSTILE_ARGS="--kinds saving --count 20"
	$(BIN)/python -m benchmarks.campaign.hostile $(HOSTILE_ARGS)

extremes: .venv/.test        ## fits at the ends of floating-point numbers, with compiled loops that check their indices
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=.venv/checked $(BIN)/python -m benchmarks.campaign.extremes $(HOSTILE_ARGS)

cache: .venv/.test           ## damaged compiled code on disk: make cache CACHE_ARGS="--count 20"
	$(BIN)/python -m benchmarks.campaign.cache $(CACHE_ARGS)

threads: .venv/.test         ## bits of fits in concurrent threads: make threads THREADS_ARGS="--count 20"
	$(BIN)/python -m benchmarks.campaign.threads $(THREADS_ARGS)

siege: .venv/.test           ## the playground under siege: make siege SIEGE_ARGS="--kinds tabs --count 100"
	$(BIN)/python -m benchmarks.campaign.siege $(SIEGE_ARGS)

audit: .venv/.test           ## known weaknesses, lowest and newest dependencies: make audit AUDIT_ARGS="--only lowest"
	$(BIN)/python -m benchmarks.campaign.audit $(AUDIT_ARGS)

truth: .venv/.test           ## are certificates true? make truth TRUTH_ARGS="--seed 0 --count 1000"
	$(BIN)/python -m tests.campaign truth $(TRUTH_ARGS)

truth-exact truth-psd truth-bounded truth-silent: .venv/.test
	$(BIN)/python -m tests.campaign $@ $(TRUTH_ARGS)

ends: .venv/.test            ## every fit ends, 20,000 small problems: make ends ENDS_ARGS="--first 20000 --count 1000"
	$(BIN)/python -m benchmarks.campaign.ends $(ENDS_ARGS)

limits: .venv/.test          ## time limits are kept, on an idle computer: make limits LIMITS_ARGS="--kinds SVC --count 1"
	$(BIN)/python -m benchmarks.campaign.limits $(LIMITS_ARGS)

proofs: .venv/.test          ## what the proof of a default fit costs: make proofs PROOFS_ARGS="--data DIR"
	$(BIN)/python -m benchmarks.proofs $(PROOFS_ARGS)

lint: .venv/.lint            ## ruff and mypy
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy

format: .venv/.lint          ## let ruff repair what it can
	$(BIN)/python -m ruff check --fix .
	$(BIN)/python -m ruff format .

arena: .venv/.arena          ## time and certify against other libraries: make arena ARENA_ARGS="--sets digits"
	$(BIN)/python -m benchmarks.arena $(ARENA_ARGS)

everyday: .venv/.arena       ## everyday sizes beside other libraries: make everyday EVERYDAY_ARGS="--data DIR"
	$(BIN)/python -m benchmarks.everyday $(EVERYDAY_ARGS)

scaling: .venv/.arena        ## time against rows and columns: make scaling SCALING_ARGS="--data DIR"
	$(BIN)/python -m benchmarks.scaling $(SCALING_ARGS)

stochastic: .venv/.arena     ## row updates per second of stochastic machines: make stochastic STOCHASTIC_ARGS="--data DIR"
	$(BIN)/python -m benchmarks.stochastic $(STOCHASTIC_ARGS)

classes: .venv/.arena        ## many classes and probabilities beside wrappers: make classes CLASSES_ARGS="--data DIR"
	$(BIN)/python -m benchmarks.classes $(CLASSES_ARGS)

selection: .venv/.arena      ## choosing C and gamma beside GridSearchCV: make selection SELECTION_ARGS="--data DIR"
	$(BIN)/python -m benchmarks.selection $(SELECTION_ARGS)

large: .venv/.arena          ## landmarks and budgets on many rows: make large LARGE_ARGS="--data DIR"
	$(BIN)/python -m benchmarks.large $(LARGE_ARGS)

cluster: .venv/.arena .venv/.dask  ## a Dask cluster on this computer: make cluster CLUSTER_ARGS="--data DIR"
	$(BIN)/python -m benchmarks.cluster $(CLUSTER_ARGS)

computer: .venv/.arena       ## measure what this computer can do
	$(BIN)/python -m benchmarks.computer $(COMPUTER_ARGS)

wheel: .venv/.base           ## dist/maxmargin-*.whl
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

release: .venv/.release      ## sdist and wheel: built, checked, and installed into clean environments; nothing is uploaded
	$(BIN)/python -m benchmarks.release $(RELEASE_ARGS)

clean:                       ## remove everything the other targets made
	rm -rf .venv .venv-* build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# One stamp per extra, so that a repeated run installs nothing.
.venv/.%: .venv/.base pyproject.toml
	$(INSTALL) --editable ".[$*]"
	touch $@

.venv/.base:
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'maxmargin needs Python 3.11 or newer; try make PYTHON=python3.12')"
	$(PYTHON) -m venv .venv
	touch $@

.PRECIOUS: .venv/.%
.NOTPARALLEL:
