"""A JupyterLab on a copy of the series, and what a test does in it."""

import os
import shutil
import sys
from contextlib import contextmanager
from mimetypes import guess_type
from pathlib import Path
from urllib.parse import unquote, urlsplit

from benchmarks.serving import free_port
from tests.running import LEAN, running, wait_until_served

SECONDS = 600  # a page that waits for a kernel on a busy machine
# ms between two looks at what is waited for: a look at every frame, as is usual, takes the
# processor from the kernel
LOOK = 200
# Parts of the server that no test here needs; that of Panel's previews imports all of Panel.
UNUSED = ("panel.io.jupyter_server_extension", "jupyterlab_jupytext", "notebook")
PANEL = "https://cdn.holoviz.org/panel/"
_CELLS = (
    "[...jupyterapp.shell.currentWidget.content.model.cells].filter(cell => cell.type == 'code')"
)
_KERNEL = (
    "window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.status == 'idle'"
)


def canvases(within="document"):
    """A script for the pictures of all figures, through every shadow root, since they are drawn
    inside them.
    """
    return f"""() => {{
      const found = [], walk = root => root.querySelectorAll("*").forEach(e => {{
        if (e.tagName == "CANVAS" && e.width > 50) found.push(e.toDataURL());
        if (e.matches(".frame > svg")) found.push(e.innerHTML);
        if (e.shadowRoot) walk(e.shadowRoot);
      }});
      walk({within});
      return found;
    }}"""


@contextmanager
def served(folder, home):
    """The address of a JupyterLab on a copy of a folder, with settings of its own: it is dark."""
    shutil.copytree(folder, home / "notebooks", ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    private = {
        f"JUPYTER_{name}_DIR": str(home / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")
    }
    environment = (
        os.environ
        | private
        | {"PANEL_INLINE": "1", "PYTHONPATH": LEAN, "IPYTHONDIR": str(home / "ipython")}
    )
    # without Node.js, which is asked twice how Lab would be built anew
    environment["PATH"] = str(Path(sys.executable).parent)
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        "--no-browser",
        "--ip=127.0.0.1",
        f"--port={port}",
        "--allow-root",
        "--IdentityProvider.token=",
        "--ServerApp.disable_check_xsrf=True",
        "--LabApp.expose_app_in_browser=True",
        "--LabApp.news_url=None",
        f"--ServerApp.root_dir={home / 'notebooks'}",
        f"--ServerApp.jpserver_extensions={dict.fromkeys(UNUSED, False)}",
    ]
    themes = (
        home / "config/lab/user-settings/@jupyterlab/apputils-extension/themes.jupyterlab-settings"
    )
    themes.parent.mkdir(parents=True)
    themes.write_text('{"theme": "JupyterLab Dark"}')
    startup = home / "ipython/profile_default/startup/garbage.py"
    startup.parent.mkdir(parents=True)
    # to look through all that is imported takes a second
    startup.write_text("import gc; gc.disable()")
    log = home / "lab.log"
    with running(command, log, env=environment, cwd=home) as server:
        wait_until_served(f"http://127.0.0.1:{port}/api/status", server, log, SECONDS)
        yield f"http://127.0.0.1:{port}/lab"


def run_all(page, lab, name):
    """Open a notebook, run all of its cells in order, and see that none failed."""
    page.goto(f"{lab}/tree/{name}?reset")
    # before that, running asks for a kernel in a dialog
    page.wait_for_function(_KERNEL, polling=LOOK, timeout=SECONDS * 1000)
    # not awaited, which would have no limit
    page.evaluate("void jupyterapp.commands.execute('notebook:run-all-cells')")
    # the rest is not run
    failed = f"{_CELLS}.some(cell => cell.outputs.toJSON().some(output => output.output_type == 'error'))"
    done = f"({_CELLS}.every(cell => cell.executionCount) || {failed}) && {_KERNEL}"
    page.wait_for_function(done, polling=LOOK, timeout=SECONDS * 1000)
    kinds = page.evaluate(
        f"{_CELLS}.flatMap(cell => cell.outputs.toJSON()).map(o => o.output_type + (o.name || ''))"
    )
    assert "error" not in kinds and "streamstderr" not in kinds


def serve_panel_here(page, folder):
    """Answer from this machine what Panel asks its own site for: style sheets, with every change of
    a text, and a module.
    """

    def answer(route):
        path = folder / unquote(urlsplit(route.request.url).path.partition("/dist/")[2])
        route.fulfill(path=path, content_type=guess_type(path.name)[0])

    page.route(f"{PANEL}**", answer)
    # A notebook's layout of previews, as the part of Panel that is off here gives it where there is
    # none.
    page.route("**/panel-preview/layout/**", lambda route: route.fulfill(json={}))
