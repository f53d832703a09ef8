"""Key press to redraw: from an arrow key on a slider to the canvas strokes that follow, in headless Chromium.

"redrawn" is the end of the first burst of strokes: the figure shows the new values. "last stroke" counts repaints too,
which follow where a text beside the figure has changed.
"""

import socket
import statistics
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

from benchmarks.timing import table
from tools import chromium

ROOT = Path(__file__).parents[1]
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
PRESSES, PAUSE = 20, 0.35  # of a slider, and seconds between them
SLIDERS = {"σ": "σ noise scale", "T": "T steps", "K": "K directions per step"}
TABS = ("Curves", "δ against ε", "Inside the bound", "Theory")
IDLE = "() => window.Bokeh && Bokeh.documents.length > 0 && Bokeh.documents[0].is_idle"

BURST = 20  # ms without a stroke end a burst
# Every stroke on any canvas notes when it happened.
WATCH = """() => {
  window.zx = {strokes: []};
  for (const method of ["stroke", "fill", "fillText", "clearRect", "drawImage"]) {
    const plain = CanvasRenderingContext2D.prototype[method];
    CanvasRenderingContext2D.prototype[method] = function(...args) {
      window.zx.strokes.push(performance.now());
      return plain.apply(this, args);
    };
  }
  addEventListener("keydown", () => { window.zx.pressed = performance.now(); window.zx.strokes = []; }, true);
}"""


def presses(page, label):
    """Milliseconds from each press of an arrow key to the end of the first burst of strokes, and to the last stroke."""
    handle = page.locator(f'.noUi-handle[aria-label="{label}"]')
    handle.focus()
    found = []
    for i in range(PRESSES):
        handle.press("ArrowRight" if i % 8 < 4 else "ArrowLeft")
        page.wait_for_timeout(1000 * PAUSE)
        strokes = page.evaluate("window.zx.strokes.map(t => t - window.zx.pressed)")
        if strokes:
            gaps = (i for i, (a, b) in enumerate(pairwise(strokes)) if b - a > BURST)
            found.append((strokes[next(gaps, -1)], strokes[-1]))
    return found


def row(tab, slider, found):
    """Medians and 95th percentiles of both times."""
    cells = []
    for times in zip(*found, strict=True):
        cells += [f"{statistics.median(times):.0f}", f"{statistics.quantiles(times, n=20)[-1]:.0f}"]
    return tab, slider, *cells


def measure(page, other, url):
    """Rows for every tab that follows the sliders live, and for the curves while another reader's map is computed."""
    opened(page, url)
    page.evaluate(WATCH)
    for tab in (*TABS, TABS[0]):  # all built once, so that those that sleep are there
        show(page, tab)
    for tab in TABS[:3]:
        show(page, tab)
        for name, label in SLIDERS.items():
            yield row(tab, name, presses(page, label))
    show(page, TABS[0])
    opened(other, url)
    show(other, "Map")
    yield row(f"{TABS[0]}, beside a map", "σ", presses(page, SLIDERS["σ"]))


def opened(page, url):
    """Open the page and wait until it can be used."""
    page.goto(url)
    page.wait_for_function(IDLE)
    page.locator(".noUi-handle[aria-label]").first.wait_for()


def show(page, tab):
    """Select a tab."""
    page.locator(".zx-tabs").get_by_text(tab, exact=True).click()
    page.wait_for_timeout(1000)


def run():
    """Serve app.py, press keys, print milliseconds."""
    path = chromium.find()
    if path is None:
        print("latency: no Chromium here")
        return
    from playwright.sync_api import sync_playwright

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    origin = f"127.0.0.1:{port}"
    serve = [sys.executable, "-m", "panel", "serve", "app.py", "--address", "127.0.0.1", "--port", str(port)]
    server = subprocess.Popen(
        [*serve, "--allow-websocket-origin", origin], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait(port)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
            pages = [browser.new_page(viewport={"width": 1440, "height": 900}) for _ in range(2)]
            print("latency: from key press, ms")
            header = ("tab", "slider", "redrawn, median", "p95", "last stroke, median", "p95")
            table(header, list(measure(*pages, f"http://{origin}/app")))
            browser.close()
    finally:
        server.terminate()
        server.wait()


def _wait(port, seconds=60):
    deadline = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
