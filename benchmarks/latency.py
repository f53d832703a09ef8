"""Measures the time from key press to redraw: from an arrow key on a slider to the strokes that
follow, in headless Chromium. A stroke is one on a canvas, or a figure's SVG written anew.

"redrawn" is the end of the first burst of strokes, when the figure shows the new values. "last
stroke" counts later repaints too, which happen when a text beside the figure has changed. No value
is visited twice, so that no answer is cached. A bare Panel page, which computes nothing
(benchmarks/bare.py), is measured in the same browser.
"""

import math
import statistics
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import psutil

from benchmarks.serving import served
from benchmarks.timing import table
from tools import chromium

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-sync",
]
PRESSES, PAUSE = 20, 0.35  # how many key presses on a slider, and the seconds between them
DRAG, REPORTS = 4, 8  # seconds of a drag, and milliseconds between two reports of the mouse
SLIDERS = {"σ": "σ noise scale", "T": "T steps", "K": "K directions per step"}
# the views, by their names in an address; the first three are measured
VIEWS = ("curves", "publish", "attack", "inside", "theory")
IDLE = "() => window.Bokeh && Bokeh.documents.length > 0 && Bokeh.documents[0].is_idle"

GO = "search => { history.replaceState({}, '', search); dispatchEvent(new PopStateEvent('popstate')); }"
BURST = 20  # the milliseconds without a stroke that end a burst
# notes the time of every stroke on a canvas and of every drawing in SVG
WATCH = """() => {
  window.zx = {strokes: []};
  for (const method of ["stroke", "fill", "fillText", "clearRect", "drawImage"]) {
    const plain = CanvasRenderingContext2D.prototype[method];
    CanvasRenderingContext2D.prototype[method] = function(...args) {
      window.zx.strokes.push(performance.now());
      return plain.apply(this, args);
    };
  }
  const plain = Object.getOwnPropertyDescriptor(Element.prototype, "innerHTML");
  Object.defineProperty(Element.prototype, "innerHTML", {...plain, set(text) {
    plain.set.call(this, text);
    if (this.tagName === "svg") window.zx.strokes.push(performance.now());
  }});
  addEventListener("keydown", () => { window.zx.pressed = performance.now(); window.zx.strokes = []; }, true);
}"""


def named(label: str) -> str:
    """Return the CSS selector of the handle of a slider, by the slider's label."""
    return f'.noUi-handle[aria-label="{label}"]'


def presses(page: Any, handle: Any) -> Any:
    """Press an arrow key again and again. Return the milliseconds from each press to the end of the
    first burst of strokes, and to the last stroke.
    """
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


def drag(page: Any, handle: Any, process: Any) -> Any:
    """Drag a slider to and fro. Return the redraws a second, and what one redraw takes: processor
    milliseconds of the server and of the page, those of the page in scripts, styles and layout, and
    kilobytes by the websocket.
    """
    browser, wire = page.context.new_cdp_session(page), []
    for command in ("Performance.enable", "Network.enable"):
        browser.send(command)
    browser.on(
        "Network.webSocketFrameReceived",
        lambda frame: wire.append(len(frame["response"]["payloadData"])),
    )
    parts = ("ProcessTime", "ScriptDuration", "RecalcStyleDuration", "LayoutDuration")

    def spent() -> Any:
        found = {
            metric["name"]: metric["value"]
            for metric in browser.send("Performance.getMetrics")["metrics"]
        }
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


def row(view: Any, slider: str, found: Any) -> Any:
    """Return a row with the medians and 95th percentiles of both times."""
    cells = []
    for times in zip(*found, strict=True):
        cells += [statistics.median(times), statistics.quantiles(times, n=20)[-1]]
    return view, slider, *cells


def measure(page: Any, other: Any, url: str) -> Iterator[Any]:
    """Yield a row for each view that follows the sliders live, and one for the curves while another
    reader's map is computed.
    """
    for i, view in enumerate(VIEWS[:3]):
        alone(page, url, f"n={10_000 + i}&K=52", view)
        for name, label in SLIDERS.items():
            yield row(view, name, presses(page, named(label)))
    alone(page, url, "n=30000", VIEWS[0])
    opened(other, f"{url}?tab=helps")
    yield row(f"{VIEWS[0]}, beside a map", "σ", presses(page, named(SLIDERS["σ"])))


def alone(page: Any, url: str, run: Any, view: Any) -> None:
    """Open a page, show all views once, and end at `view`."""
    run = f"sensitivity=least&{run}"
    opened(page, f"{url}?{run}")
    page.evaluate(WATCH)
    for shown in (*VIEWS, view):
        page.evaluate(GO, f"?tab={shown}&{run}")
        page.wait_for_timeout(1000)


def bare(page: Any, url: str) -> Any:
    """Return the row of a page that does nothing but redraw."""
    page.goto(url)
    page.wait_for_function(IDLE)
    page.locator(".noUi-handle").first.wait_for()
    page.evaluate(WATCH)
    page.wait_for_timeout(1000)
    return row("bare Panel page", "", presses(page, ".noUi-handle"))


def opened(page: Any, url: str) -> None:
    """Open the page and wait until it can be used."""
    page.goto(url)
    page.wait_for_function(IDLE)
    page.locator(".noUi-handle[aria-label]").first.wait_for()


def run() -> Any:
    """Serve app.py, press keys, and print milliseconds. Return rows of how many times faster than
    the bare page a redraw is.
    """
    path = chromium.find()
    if path is None:
        print("latency: no Chromium here")
        return []
    from playwright.sync_api import sync_playwright

    with (
        served() as server,
        served(script="benchmarks/bare.py") as other,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        page, beside = (
            browser.new_page(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
            for _ in range(2)
        )
        print("latency: from key press, ms")
        rows = [*measure(page, beside, server.page), bare(page, other.page)]
        alone(page, server.page, "n=40000", VIEWS[0])
        process = psutil.Process(server.process.pid)
        drags = [(name, *drag(page, named(label), process)) for name, label in SLIDERS.items()]
        browser.close()
    header = ("view", "slider", "redrawn, median", "p95", "last stroke, median", "p95")
    table(header, [(view, slider, *(f"{ms:.0f}" for ms in times)) for view, slider, *times in rows])
    print("latency: while a slider is dragged")
    taken_by = ("for one: server, ms", "page, ms", "scripts", "styles", "layout", "kB")
    table(
        ("slider", "redraws a second", *taken_by),
        [(name, f"{rate:.1f}", *(f"{each:.0f}" for each in taken)) for name, rate, *taken in drags],
    )
    *ours, (_, _, peer, *_) = rows
    return [
        (f"key press to redraw, {view}, {slider}", "bare Panel page", "", peer / median)
        for view, slider, median, *_ in ours
    ]
