# Every target but `clean` starts from nothing but Python 3.11 or newer; tools/setup.sh does the rest, once.
PORT ?= 5006
ARGS ?=
BIN := .venv/bin
# Dozens of processes are begun, which would all compile their modules anew if none were kept. A file's tests share servers and pages.
# One more than cores: tests that wait for a page or for another process leave theirs to the rest.
PROCESSES = $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
PYTEST = env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest --numprocesses $(PROCESSES) --dist loadgroup --no-loadscope-reorder
READY := .venv/.ready
READY_APP := .venv/.ready-app

.PHONY: app lab handouts answers slides site test coverage proof versions lint bench setup clean

app: $(READY_APP)
	@$(BIN)/python -m zoexplore serve --port $(PORT) $(ARGS)

lab: setup
	@if [ "$$(id -u)" = 0 ] && [ "$(findstring allow-root,$(ARGS))" = "" ]; then \
		echo "lab: JupyterLab does not run as root, since who reaches it could then do anything here."; \
		echo "lab: use another account; or, where that is no danger, as in a container: make lab ARGS=--allow-root"; exit 1; fi
	@PANEL_INLINE=1 $(BIN)/python -m jupyterlab --ip=127.0.0.1 --LabApp.default_url=/lab/tree/notebooks $(ARGS)

# Pages of the notebooks that need no kernel and no network, in build/: all of them, or those of ARGS="0 4".
handouts answers slides: setup
	@$(BIN)/python -m tools.handouts $@ $(ARGS)

site: setup
	@$(BIN)/python -m tools.site $(ARGS)

test: setup
	@$(BIN)/python -m tools.chromium
	@$(BIN)/python -m tests.compiled
	@$(PYTEST) -m "not proof" $(ARGS)

# As test, and which lines were not run; those of compiled kernels are never seen.
coverage: setup
	@$(PYTEST) -m "not proof" --cov --cov-report=term:skip-covered $(ARGS)

# Everything: the comparisons that take long too, and six times the random cases, other ones in every run.
proof: setup
	@$(BIN)/python -m tools.chromium
	@$(BIN)/python -m tests.compiled
	@ZOEXPLORE_EFFORT=$${ZOEXPLORE_EFFORT:-6} $(PYTEST) --timeout 3600 $(ARGS)

# The accountant's tests with Python 3.12, 3.13 and 3.14, where they are found.
versions:
	@sh tools/versions.sh $(ARGS)

lint: setup
	@$(BIN)/ruff check .
	@$(BIN)/mypy

bench: setup
	@$(BIN)/python -m benchmarks $(ARGS)

setup: $(READY)

$(READY): pyproject.toml constraints.txt tools/setup.sh
	@sh tools/setup.sh
	@touch $@ $(READY_APP)

# The page alone needs half as much.
$(READY_APP): pyproject.toml constraints.txt tools/setup.sh
	@sh tools/setup.sh app
	@touch $@

clean:
	rm -rf .venv .venv-* build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
