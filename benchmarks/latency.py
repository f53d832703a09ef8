"""Key press to redraw: from an arrow key on a slider to the canvas strokes that follow, in headless Chromium.

"redrawn" is the end of the first burst of strokes: the figure shows the new values. "last stroke" counts repaints too,
which follow where a text beside the figure has changed. No value is visited twice, so that nothing is remembered. A bare Panel
page, which computes nothing (benchmarks/bare.py), is measured in the same browser.
"""

import math
import statistics
import time
from itertools import pairwise

import numpy as np
import psutil

from benchmarks.serving import served
from benchmarks.timing import table
from tools import chromium

FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
PRESSES, PAUSE = 20, 0.35  # of a slider, and seconds between them
DRAG, REPORTS = 4, 8  # seconds, and milliseconds between two reports of a mouse
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


def named(label):
    """The handle of the slider of that name."""
    return f'.noUi-handle[aria-label="{label}"]'


def presses(page, handle):
    """Milliseconds from each press of an arrow key to the end of the first burst of strokes, and to the last stroke."""
    handle = page.locator(handle)
    handle.focus()
    found = []
    for _ in range(PRESSES):
        handle.press("ArrowRight")
        page.wait_for_timeout(1000 * PAUSE)
        strokes = page.evaluate("window.zx.strokes.map(t => t - window.zx.pressed)")
        if strokes:
            gaps = (i for i, (a, b) in enumerate(pairwise(strokes)) if b - a > BURST)
            found.append((strokes[next(gaps, -1)], strokes[-1]))
    return found


def drag(page, handle, process):
    """Redraws a second while a slider is dragged to and fro, and what one of them takes: the server's and the page's processor
    milliseconds, of the page's those in scripts, styles and layout, and kilobytes on the wire.
    """
    browser, wire = page.context.new_cdp_session(page), []
    for command in ("Performance.enable", "Network.enable"):
        browser.send(command)
    browser.on("Network.webSocketFrameReceived", lambda frame: wire.append(len(frame["response"]["payloadData"])))
    parts = ("ProcessTime", "ScriptDuration", "RecalcStyleDuration", "LayoutDuration")

    def spent():
        found = {metric["name"]: metric["value"] for metric in browser.send("Performance.getMetrics")["metrics"]}
        return np.array([sum(process.cpu_times()[:2]), *(found[name] for name in parts)])

    at = page.locator(handle).bounding_box()
    x, y = at["x"] + at["width"] / 2, at["y"] + at["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.evaluate("window.zx.strokes = []")
    wire.clear()
    begun, before = time.monotonic(), spent()
    while (passed := time.monotonic() - begun) < DRAG:
        page.mouse.move(x + 50 * math.sin(2 * passed), y)
        page.wait_for_timeout(REPORTS)
    strokes = page.evaluate("window.zx.strokes")
    worked, sent = spent() - before, sum(wire)
    page.mouse.up()
    redrawn = max(sum(b - a > BURST / 2 for a, b in pairwise(strokes)) + bool(strokes), 1)
    browser.detach()
    return redrawn / passed, *(1000 * worked / redrawn), sent / redrawn / 1000


def row(tab, slider, found):
    """Medians and 95th percentiles of both times."""
    cells = []
    for times in zip(*found, strict=True):
        cells += [statistics.median(times), statistics.quantiles(times, n=20)[-1]]
    return tab, slider, *cells


def measure(page, other, url):
    """Rows for every tab that follows the sliders live, and for the curves while another reader's map is computed."""
    for i, tab in enumerate(TABS[:3]):
        alone(page, f"{url}?n={10_000 + i}&K=52", tab)
        for name, label in SLIDERS.items():
            yield row(tab, name, presses(page, named(label)))
    alone(page, f"{url}?n=30000", TABS[0])
    opened(other, url)
    show(other, "Map")
    yield row(f"{TABS[0]}, beside a map", "σ", presses(page, named(SLIDERS["σ"])))


def alone(page, url, tab):
    """A page on which all tabs have been shown, and one of them is."""
    opened(page, url)
    page.evaluate(WATCH)
    for shown in (*TABS, tab):
        show(page, shown)


def bare(page, url):
    """The same for a page that does nothing else."""
    page.goto(url)
    page.wait_for_function(IDLE)
    page.locator(".noUi-handle").first.wait_for()
    page.evaluate(WATCH)
    page.wait_for_timeout(1000)
    return row("bare Panel page", "", presses(page, ".noUi-handle"))


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
    """Serve app.py, press keys, print milliseconds; return rows of their medians over the bare page's."""
    path = chromium.find()
    if path is None:
        print("latency: no Chromium here")
        return []
    from playwright.sync_api import sync_playwright

    with served() as server, served(script="benchmarks/bare.py") as other, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        page, beside = (browser.new_page(viewport={"width": 1440, "height": 900}) for _ in range(2))
        print("latency: from key press, ms")
        rows = [*measure(page, beside, server.page), bare(page, other.page)]
        alone(page, f"{server.page}?n=40000", TABS[0])
        process = psutil.Process(server.process.pid)
        drags = [(name, *drag(page, named(label), process)) for name, label in SLIDERS.items()]
        browser.close()
    header = ("tab", "slider", "redrawn, median", "p95", "last stroke, median", "p95")
    table(header, [(tab, slider, *(f"{ms:.0f}" for ms in times)) for tab, slider, *times in rows])
    print("latency: while a slider is dragged")
    taken_by = ("for one: server, ms", "page, ms", "scripts", "styles", "layout", "kB")
    table(
        ("slider", "redraws a second", *taken_by),
        [(name, f"{rate:.1f}", *(f"{each:.0f}" for each in taken)) for name, rate, *taken in drags],
    )
    *ours, (_, _, peer, *_) = rows
    return [(f"key press to redraw, {tab}, {slider}", "bare Panel page", "", peer / median) for tab, slider, median, *_ in ours]
