# querytap: every target does its own set-up. ARGS goes to pytest: make test ARGS="-k handshake"

PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=
ROUNDS ?= 10

SOURCES := $(shell find collector workers -name '*.py' -o -name '*.pxd')

# The installed package is the compiled one. A safe path keeps the sources in this folder from hiding it.
COMPILED := QUERYTAP_HOTPATH=compiled PYTHONSAFEPATH=1 PYTHONPATH=
INTERPRETED := QUERYTAP_HOTPATH=interpreted PYTHONSAFEPATH=1 PYTHONPATH=$(CURDIR)

# One process has all tests that want the host to themselves, the others the rest.
PARALLEL := -n logical

export PYTHON
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore

.PHONY: help build demo test test-interpreted test-system explore fuzz bench budget monitoring reading idle micro lint clean

help:
	@echo "make demo              record a real server's traffic for ten seconds and show what was collected"
	@echo "make test              every test but those of test-system's own, against the compiled build"
	@echo "make test-interpreted  the same, against the uncompiled sources, but for what is alike in both builds"
	@echo "make test-system       real servers, processes and namespaces, and the matrix of clients it fetches"
	@echo "make explore           the property tests on examples that no run had before, ten times; ROUNDS=N times"
	@echo "make fuzz              hostile bytes, a minute for each target; ARGS=--help tells more"
	@echo "make bench             CPU a statement of the whole process tree, beside tcpdump (about 8 minutes, wants root)"
	@echo "make idle              CPU and wake-ups of each process while no statement comes (about 3 minutes)"
	@echo "make monitoring        CPU and memory of mode monitor, beside Debian's exporters with ARGS=--beside (about 6 minutes)"
	@echo "make budget            CPU, levels and coverage under a load of several times the cap (about 7 minutes, wants root)"
	@echo "make reading           CPU of digest and search over a generated archive, beside grep and pt-query-digest"
	@echo "make micro             CPU of one compiled module at a time"
	@echo "make lint              ruff, and mypy --strict"
	@echo "make build             the virtual environment with querytap compiled into it: $(BIN)/querytap"
	@echo "make clean             remove all of what the others made"

build: $(VENV)/.compiled

demo: build
	@packaging/build/debian-packages server
	@$(COMPILED) $(BIN)/python bench/demo.py

test: build
	@packaging/build/debian-packages server
	$(COMPILED) $(BIN)/python -m pytest $(PARALLEL) --ignore=tests/system $(ARGS)

test-interpreted: $(VENV)/.installed
	@packaging/build/debian-packages server
	$(INTERPRETED) $(BIN)/python -m pytest $(PARALLEL) --ignore=tests/system -m "not either_build" $(ARGS)

test-system: build
	@packaging/build/debian-packages server guest clouds
	$(COMPILED) $(BIN)/python -m pytest tests/integration tests/system $(ARGS)

explore: build
	@for round in $$(seq $(ROUNDS)); do $(COMPILED) $(BIN)/python -m pytest -q --hypothesis-profile=explore \
		tests/property tests/parity tests/unit $(ARGS) || exit; done

fuzz: build
	$(COMPILED) $(BIN)/python tests/fuzz/run.py $(ARGS)

bench: build
	@packaging/build/debian-packages server
	$(COMPILED) $(BIN)/python bench/pipeline $(ARGS)

idle: build
	$(COMPILED) $(BIN)/python bench/idle.py $(ARGS)

monitoring: build
	@packaging/build/debian-packages server
	$(COMPILED) $(BIN)/python bench/monitoring.py $(ARGS)

budget: build
	$(COMPILED) $(BIN)/python bench/budget $(ARGS)

reading: build
	$(COMPILED) $(BIN)/python bench/reading $(ARGS)

micro: build
	$(COMPILED) $(BIN)/python bench/micro $(ARGS)

lint: $(VENV)/.installed
	$(BIN)/ruff check
	$(BIN)/mypy --strict

clean:
	rm -rf $(VENV) build dist demo querytap.egg-info .mypy_cache .ruff_cache .hypothesis .coverage
	find collector workers tests bench packaging -name __pycache__ -type d -exec rm -rf {} +

# What is needed to build, run and test, without querytap itself.
$(VENV)/.installed: pyproject.toml packaging/build/requirements.py
	@packaging/build/debian-packages build
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python packaging/build/requirements.py > $(VENV)/requirements.txt
	$(BIN)/pip install -qq -r $(VENV)/requirements.txt
	@touch $@

# Requirements are there already, so the build is not isolated: the same pinned versions, without fetching them again.
$(VENV)/.compiled: $(VENV)/.installed $(SOURCES) packaging/build/hotpath.py README.md
	QUERYTAP_HOTPATH=compiled $(BIN)/pip install -qq --no-build-isolation --no-deps --force-reinstall .
	@rm -rf build/lib build/bdist.* querytap.egg-info
	@touch $@
