# Each target builds what it needs. Start with `make up` and `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/pip install -qq --disable-pip-version-check
STEP   := scripts/step
# Starting a worker costs as much as a hundred tests; one more than cores keeps them busy.
WORKERS := $(shell n=$$(($$(nproc) + 1)); echo $$((n < 8 ? n : 8)))
# Tests start hundreds of programs: keep compiled bytecode.
export PYTHONDONTWRITEBYTECODE :=

WEB := $(shell find web -type f -not -path '*/node_modules/*' 2>/dev/null)

.PHONY: up test check bench docs lock clean format screenshots

$(VENV)/.up: pyproject.toml requirements.lock
	@$(STEP) "create $(VENV)" $(PYTHON) -m venv $(VENV)
	@$(STEP) "install dependencies" $(PIP) --require-hashes -r requirements.lock
	@touch $@

$(VENV)/.page: $(VENV)/.up hatch_build.py scripts/page.py $(WEB)
	@$(STEP) "install vigie and build the web UI" $(PIP) --no-deps --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.page requirements-dev.lock
	@$(STEP) "install development tools" $(PIP) --require-hashes -r requirements-dev.lock
	@touch $@

up: $(VENV)/.page ## monitor this machine
	@$(BIN)/vigie up

test: $(VENV)/.dev ## all tests, with real peers
	@$(STEP) "real peers" scripts/peers
	@$(STEP) "unit tests" $(BIN)/pytest -q -n $(WORKERS) --dist worksteal -m "not process" --ignore=tests/real --ignore=tests/web
	@$(STEP) "process and real-peer tests" $(BIN)/pytest -q -m "real or process"

check: $(VENV)/.dev ## checks that CI runs before the tests
	@$(STEP) "format" $(BIN)/ruff format --check --quiet .
	@$(STEP) "lint" $(BIN)/ruff check --quiet .
	@$(STEP) "types of the package" $(BIN)/mypy --strict --package vigie
	@$(STEP) "types of the tests" $(BIN)/mypy tests bench scripts
	@$(STEP) "import layers" $(BIN)/lint-imports
	@$(STEP) "Python 3.9 compatibility" $(BIN)/vermin --quiet --no-tips --violations -t=3.9- --eval-annotations src/vigie/model src/vigie/sources src/vigie/workload
	@$(STEP) "types and style of the web UI" $(BIN)/python scripts/page.py --check
	@$(STEP) "generated files are fresh" $(BIN)/python scripts/docs.py --check

bench: $(VENV)/.dev ## benchmarks against real peers
	@$(STEP) "real peers" scripts/peers
	@$(BIN)/python bench/agent/run.py
	@$(BIN)/python bench/gpu/run.py
	@$(BIN)/python bench/store/side_by_side.py --nodes 50 --hours 1
	@$(BIN)/python bench/store/thousand.py --nodes 100 --hours 0.2
	@$(BIN)/python bench/store/lookups.py --nodes 200
	@$(BIN)/python bench/store/churn.py
	@$(BIN)/python bench/store/remote_write.py
	@$(BIN)/python bench/server/scrape.py
	@$(BIN)/python bench/page/run.py

docs: $(VENV)/.dev ## regenerate docs/reference
	@$(BIN)/python scripts/docs.py

screenshots: $(VENV)/.dev ## screenshots of every page
	@$(STEP) "real peers" scripts/peers
	@$(BIN)/python scripts/screenshots.py

format: $(VENV)/.dev
	@$(BIN)/ruff format --quiet . && $(BIN)/ruff check --quiet --fix .

LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header pyproject.toml
lock: $(VENV)/.dev ## pin all dependencies
	@$(PIP) uv
	@$(LOCK) --output-file requirements.lock
	@$(LOCK) --group dev --output-file requirements-dev.lock

clean:
	rm -rf $(VENV) build dist web/node_modules src/vigie/page .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
