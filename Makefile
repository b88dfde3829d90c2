# Every target sets up what it needs in .venv; all it takes is Python 3.11+, venv, make and git.
PYTHON ?= python3
ARENA_ARGS ?=
SCALING_ARGS ?=
STOCHASTIC_ARGS ?=
CLASSES_ARGS ?=
SELECTION_ARGS ?=
LARGE_ARGS ?=
MACHINE_ARGS ?=
PYTEST_ARGS ?=
FUZZ_ARGS ?=

ifeq ($(OS),Windows_NT)
BIN := .venv/Scripts
else
BIN := .venv/bin
endif
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test fuzz lint format arena scaling stochastic classes selection large machine wheel clean

demo: .venv/.cli             ## train on handwritten digits, print the certificate, write a page about it
	$(BIN)/python -m maxmargin train digits --out maxmargin-demo.mm --report maxmargin-demo.html

test: .venv/.test            ## the whole suite
	$(BIN)/python -m pytest $(PYTEST_ARGS)

fuzz: .venv/.test            ## mutated files for every reader and loader: make fuzz FUZZ_ARGS="--inputs 1000000 --seed 1"
	$(BIN)/python -m tests.files.fuzzing $(FUZZ_ARGS)
	$(BIN)/python -m tests.cli.fuzz_tables $(FUZZ_ARGS)

lint: .venv/.lint            ## ruff and mypy
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy

format: .venv/.lint          ## let ruff repair what it can
	$(BIN)/python -m ruff check --fix .
	$(BIN)/python -m ruff format .

arena: .venv/.arena          ## time and certify against other libraries: make arena ARENA_ARGS="--sets digits"
	$(BIN)/python -m benchmarks.arena $(ARENA_ARGS)

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

machine: .venv/.arena        ## measure what this machine can do
	$(BIN)/python -m benchmarks.machine $(MACHINE_ARGS)

wheel: .venv/.base           ## dist/maxmargin-*.whl
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

clean:                       ## remove everything the other targets made
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
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
