# Every target but `clean` starts from nothing but Python 3.11 or newer; tools/setup.sh does the rest, once.
PORT ?= 5006
ARGS ?=
BIN := .venv/bin
READY := .venv/.ready

.PHONY: app lab lesson test lint bench setup clean

app: setup
	@echo "Serving http://127.0.0.1:$(PORT)/app (Ctrl-C stops it)"
	@$(BIN)/python -m panel serve app.py --address 127.0.0.1 --port $(PORT) \
	  --allow-websocket-origin 127.0.0.1:$(PORT) --allow-websocket-origin localhost:$(PORT)

lab: setup
	@PANEL_INLINE=1 $(BIN)/python -m jupyterlab --ip=127.0.0.1 --LabApp.default_url=/lab/tree/notebooks $(ARGS)

lesson: setup
	@$(BIN)/python -m tools.lesson $(ARGS)

test: setup
	@$(BIN)/python -m tools.chromium
	@$(BIN)/python -m pytest --numprocesses logical --dist loadfile --no-loadscope-reorder $(ARGS)

lint: setup
	@$(BIN)/ruff check .
	@$(BIN)/mypy

bench: setup
	@$(BIN)/python -m benchmarks $(ARGS)

setup: $(READY)

$(READY): pyproject.toml constraints.txt tools/setup.sh
	@sh tools/setup.sh
	@touch $@

clean:
	rm -rf .venv build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
