# Everything a person or CI does here is one short command. Each target does its own set-up.
.PHONY: demo test check bench docs format clean

VENV := .venv
BIN := $(VENV)/bin

# The whole job on the shipped sample, from recordings to a report (no network after installation, no keys).
demo: $(VENV)/.demo
	$(BIN)/proctor demo demo

# All tests. Chromium and PostgreSQL are installed when the machine allows it; tests that lack them say so.
# Modules are compiled once for all workers and all processes that tests start, also where the environment says that
# nothing is to be kept. There is one worker more than processors: many tests wait for browsers and clocks. A worker computes in
# one thread: several would wait for each other, at the processor's expense. Assertions are not
# rewritten for the whole suite (half of what collecting costs). What fails is run once more, alone and with its values, and that
# decides. A test that passes then has met a race or a clock, in itself or in Proctor: it is named, and is to be looked at.
test: export PYTHONDONTWRITEBYTECODE =
test: export OMP_NUM_THREADS = 1
test: $(VENV)/.dev $(VENV)/.system
	$(BIN)/python -m compileall -q src tests
	$(BIN)/python -m pytest -n $$(($$(nproc) + 1)) --dist worksteal --assert=plain || { [ $$? -eq 1 ] && \
		echo "make: what failed runs once more, alone; tests named PASSED below have met a race or a clock" && \
		$(BIN)/python -m pytest -n 0 --maxfail=10 -rp --last-failed --last-failed-no-failures none; }

# Style, strict types, who may import whom.
check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Speed, measured side by side with the peer or the limit; writes docs/performance.md.
bench: $(VENV)/.dev
	$(BIN)/python benchmarks/run.py

# The site of docs/ with search, into site/; no network after installation.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "open it: $(BIN)/python -m http.server --bind 127.0.0.1 --directory site"

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) demo site build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(VENV)/.demo: pyproject.toml src/proctor_rehearsal/pyproject.toml scripts/make-venv
	scripts/make-venv $(VENV) "studio"
	touch $@

$(VENV)/.docs: pyproject.toml scripts/make-venv
	scripts/make-venv $(VENV) "docs"
	touch $@

$(VENV)/.dev: pyproject.toml src/proctor_rehearsal/pyproject.toml scripts/make-venv scripts/install-torch
	scripts/make-venv $(VENV) "dev"
	scripts/install-torch $(VENV)
	touch $@ $(VENV)/.demo $(VENV)/.docs

$(VENV)/.system: scripts/install-system
	scripts/install-system
	touch $@
