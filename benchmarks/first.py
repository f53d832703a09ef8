"""Measures the first second of a visit: when the first byte, the first words and the live page
arrive, and how much is sent, with an empty and with a filled browser cache.

The same browser also visits a bare Panel page (benchmarks/bare.py).
"""

from statistics import median
from typing import Any

from benchmarks.latency import FLAGS, IDLE
from benchmarks.serving import served
from benchmarks.timing import table
from tools import chromium

VISITS = 3  # how often each kind of visit is made; medians are shown
WORDS = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN"
BYTE = "() => performance.getEntriesByType('navigation')[0].responseStart"
AT_REST = f"() => ({IDLE})() && !document.querySelector('.zx-first') && performance.now()"


def visit(context: Any, url: str) -> Any:
    """Return the milliseconds to the first byte, the first words and the live page, the kilobytes
    by HTTP and by the websocket, and the number of requests.
    """
    page = context.new_page()
    wire, sent, told = context.new_cdp_session(page), {}, []
    wire.send("Network.enable")
    wire.on(
        "Network.loadingFinished",
        lambda event: sent.update({event["requestId"]: event["encodedDataLength"]}),
    )
    wire.on(
        "Network.webSocketFrameReceived",
        lambda event: told.append(len(event["response"]["payloadData"])),
    )
    page.goto(url)
    live = page.wait_for_function(AT_REST, timeout=120_000).json_value()
    found = (
        page.evaluate(BYTE),
        page.evaluate(WORDS),
        live,
        sum(sent.values()) / 1000,
        sum(told) / 1000,
        len(sent),
    )
    page.close()
    return found


def visits(browser: Any, url: str) -> Any:
    """Return the medians of visits by browsers that come for the first time, and by one that comes
    again.
    """
    cold = []
    for _ in range(VISITS):
        context = browser.new_context()
        cold.append(visit(context, url))
        warm = [visit(context, url) for _ in range(VISITS)]
        context.close()
    return [tuple(median(column) for column in zip(*kind, strict=True)) for kind in (cold, warm)]


def run() -> Any:
    """Serve both pages, visit them, and print the figures. Return rows of how many times sooner the
    first words are there than the bare page's.
    """
    path = chromium.find()
    if path is None:
        print("first: no Chromium here")
        return []
    from playwright.sync_api import sync_playwright

    with (
        served() as server,
        served(script="benchmarks/bare.py") as other,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        ours, bare = visits(browser, server.page), visits(browser, other.page)
        browser.close()
    print(f"first: medians of {VISITS} visits, ms and kB")
    kinds = [("explorer", *kind) for kind in zip(("cold", "warm"), ours, strict=True)]
    kinds += [("bare Panel page", *kind) for kind in zip(("cold", "warm"), bare, strict=True)]
    header = (
        "page",
        "browser",
        "first byte",
        "first words",
        "live",
        "kB",
        "kB by websocket",
        "requests",
    )
    table(header, [(page, kind, *(f"{x:.0f}" for x in found)) for page, kind, found in kinds])
    return [
        (f"first words, {kind} browser", "bare Panel page", "", theirs[1] / mine[1])
        for kind, mine, theirs in zip(("cold", "warm"), ours, bare, strict=True)
    ]
