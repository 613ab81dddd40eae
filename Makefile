# Mirrorwatch: what a developer or a newcomer types. Each target sets up what it needs.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

export PYTHON ?= python3
# Modules are compiled once, not by each of the many processes that tests start.
unexport PYTHONDONTWRITEBYTECODE
BIN := .venv/bin
READY := .venv/.ready
INSTALL := deploy/local/install.sh
PIP := $(BIN)/python -m pip install -q --disable-pip-version-check
COMPILE := $(BIN)/uv pip compile -q --generate-hashes --no-emit-index-url --no-emit-find-links --universal \
	--python-version 3.11 --no-header
ARGS ?=

.PHONY: help demo test trials bench check audit docs drills lock release clean java spark browser monitoring database lint

help:  ## Show this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/make \1\t\2/' | expand -t 14

demo: $(READY) java  ## Run two Kafka clusters, a mirror, traffic and the service, and break them (Ctrl-C ends it)
	@$(INSTALL) --optional prometheus alertmanager
	@exec $(BIN)/python -m deploy.local.demo $(ARGS)

test: $(READY) java spark browser monitoring database lint  ## Run the tests, on real Kafka clusters (ARGS="-k word" for some)
	@deploy/local/test.sh $(ARGS)

trials: $(READY) java spark database  ## Run the tests that take long, and properties with new examples (an hour)
	@deploy/local/test.sh -m "not real" -n "$$(nproc)" --dist worksteal --hypothesis-profile=wild
	@deploy/local/test.sh -m long $(ARGS)

bench: $(READY) java spark  ## Measure
	@$(BIN)/python -m bench $(ARGS)

check: $(READY) spark monitoring lint docs  ## Check style, types, the house rules and the links of the docs
	@echo "ruff check"; $(BIN)/ruff check -q --output-format=concise .
	@echo "ruff format"; $(BIN)/ruff format -q --check .
	@echo "mypy"; $(BIN)/mypy --no-error-summary
	@echo "house rules"; $(BIN)/python -m pytest -q --no-header --durations=0 tests/house

audit: $(READY)  ## Look up the pinned dependencies in a database of known vulnerabilities
	@deploy/local/audit.sh $(ARGS)

docs: $(READY)  ## Build the documentation into dist/docs; a broken link or anchor fails
	@echo "docs"; $(BIN)/mkdocs build --strict 2>&1 | sed '/^INFO/d'

drills: $(READY) java spark monitoring  ## Make every fault happen and compare the verdicts (takes long)
	@$(BIN)/python -m deploy.drills $(ARGS)

lock: $(READY)  ## Compile the requirements again from pyproject.toml
	@echo "requirements/run.txt"; $(COMPILE) pyproject.toml -o requirements/run.txt >/dev/null
	@echo "requirements/dev.txt"; $(COMPILE) pyproject.toml --group dev --group docs -c requirements/run.txt -o requirements/dev.txt >/dev/null
	@echo "requirements/build.txt"; $(COMPILE) --group build -o requirements/build.txt >/dev/null
	@for extra in render checksum msk postgresql; do echo "requirements/$$extra.txt"; \
	$(COMPILE) pyproject.toml --extra $$extra -c requirements/run.txt -o requirements/$$extra.txt >/dev/null; done

release: $(READY)  ## Build a release into dist/release, from the last commit (ARGS="--trial" without a date)
	@$(BIN)/python -m deploy.release $(ARGS)

clean:  ## Remove what was made in this folder (not the cache of jars outside it)
	@rm -rf .venv .demo dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): pyproject.toml requirements/build.txt requirements/dev.txt
	@$(INSTALL) venv
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; name it: make PYTHON=python3.11 ...")'
	@echo "Setting up .venv"
	@$(PYTHON) -m venv .venv
	@$(PIP) --require-hashes -r requirements/build.txt
	@$(PIP) --require-hashes -r requirements/dev.txt
	@$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

java: $(READY)
	@$(INSTALL) java maven
	@$(BIN)/python -m deploy.local.classes

spark: $(READY)
	@$(BIN)/python -m deploy.local.pyspark

browser:
	@$(INSTALL) chromium

monitoring:
	@$(INSTALL) prometheus alertmanager

database:
	@$(INSTALL) postgresql

lint:
	@$(INSTALL) systemd
