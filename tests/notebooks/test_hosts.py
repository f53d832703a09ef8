"""Other hosts than JupyterLab, each with a real kernel and browser: a slider in a cell moves the
figure beside it.
"""

import os
import sys
import time
import urllib.request
from contextlib import contextmanager

import nbformat
import pytest
from bokeh.settings import settings
from panel.io.resources import DIST_DIR

from benchmarks.serving import free_port
from tests.browser.acts import heard, steady
from tests.notebooks.lab import LOOK, PANEL, SECONDS, canvases
from tests.running import LEAN, running

CELL = """import panel as pn
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.views import Curves, Dial, State

pn.extension()
state = State(DEMONSTRATION.replace(K=52))
pn.Column(Dial(state, "T"), Curves(state))"""
MARIMO = """import marimo

app = marimo.App()


@app.cell
def _():
{cell}
    return


if __name__ == "__main__":
    app.run()
"""


@contextmanager
def served(home, command, port):
    """A host, from its start to its end; the address of its page."""
    private = {
        f"JUPYTER_{name}_DIR": str(home / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")
    }
    environment = (
        os.environ
        | private
        | {"PANEL_INLINE": "1", "PYTHONPATH": LEAN, "IPYTHONDIR": str(home / "ipython")}
    )
    log, deadline = home / "host.log", time.monotonic() + SECONDS
    with running([sys.executable, "-m", *command], log, env=environment, cwd=home) as server:
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5).close()
                break
            except OSError:
                assert server.poll() is None and time.monotonic() < deadline, log.read_text()[
                    -3000:
                ]
                time.sleep(0.3)
        yield f"http://127.0.0.1:{port}"


def from_here(page):
    """Answer from this machine what a host asks Panel's and Bokeh's own sites for."""
    scripts = settings.bokehjs_path()

    def answer(route):
        address = route.request.url.partition("?")[0].replace("%5E", "^")
        name = address.rpartition("/")[2]
        if "/dist/" in address and address.startswith(PANEL):
            return route.fulfill(path=DIST_DIR / address.partition("/dist/")[2])
        found = next(
            scripts.rglob(name.replace(f"-{name.split('-')[-1].partition('.min')[0]}", "")), None
        )
        return route.fulfill(path=found) if found else route.abort()

    page.route("https://**", answer)


def moves(page):
    """Move the slider, and wait until the number beside it and the figure have followed."""
    slider, field = (
        page.locator(".zx-slider .noUi-handle").first,
        page.locator(".zx-field input").first,
    )
    slider.wait_for(timeout=SECONDS * 1000)
    page.wait_for_function(
        f"() => ({canvases()})().length >= 1", polling=LOOK, timeout=SECONDS * 1000
    )
    before, was = steady(page, lambda: page.evaluate(canvases())), field.input_value()
    heard(page, lambda: slider.press("ArrowRight"), field.input_value)
    assert float(field.input_value()) > float(was)
    redrawn = f"before => ({canvases()})().some((c, i) => c != before[i])"
    page.wait_for_function(redrawn, arg=before, polling=LOOK, timeout=SECONDS * 1000)


@pytest.mark.proof
def test_marimo(page, console_errors, tmp_path):
    cell = "\n".join(f"    {line}" if line else "" for line in CELL.splitlines())
    (tmp_path / "run.py").write_text(MARIMO.format(cell=cell), encoding="utf-8")
    port = free_port()
    from_here(page)
    with served(
        tmp_path,
        ["marimo", "run", "run.py", "--headless", "--host", "127.0.0.1", "--port", str(port)],
        port,
    ) as host:
        page.goto(host)
        moves(page)
        page.goto("about:blank")  # before the host ends, which an open page would say is an error
    console_errors.clear()  # of the host's own fonts and statistics


@pytest.mark.proof
def test_notebook_7(page, console_errors, tmp_path):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(notebook, tmp_path / "run.ipynb")
    port = free_port()
    from_here(page)
    options = [
        "--no-browser",
        "--ip=127.0.0.1",
        f"--port={port}",
        "--allow-root",
        "--IdentityProvider.token=",
        "--ServerApp.disable_check_xsrf=True",
        "--JupyterNotebookApp.expose_app_in_browser=True",
    ]
    with served(tmp_path, ["notebook", *options], port) as host:
        page.goto(f"{host}/notebooks/run.ipynb")
        idle = "window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.status == 'idle'"
        page.wait_for_function(idle, polling=LOOK, timeout=SECONDS * 1000)
        page.evaluate("void jupyterapp.commands.execute('notebook:run-all-cells')")
        moves(page)
        page.goto("about:blank")  # before the host ends, which an open page would say is an error
    console_errors.clear()
