"""Chromium, a served app.py, and a page that may neither log an error nor leave this machine."""

import os
import socket
import subprocess
import sys
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import psutil
import pytest

from tests.browser.acts import VIEWPORT, anew, opened
from tests.running import running, wait_until_served
from tools import chromium

ROOT = Path(__file__).parents[2]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
LOOPBACK = {"127.0.0.1", "localhost", "::1"}
NO_CHROMIUM = "NO CHROMIUM: install chromium or Chrome, or set CHROMIUM=/path/to/it"


def pytest_collection_modifyitems(items):
    """Mark everything here `browser`, and skip it where there is none. In CI a missing browser is a failure instead."""
    skip = chromium.find() is None and os.environ.get("CI") != "true"
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.browser)
            if skip:  # by a mark rather than in a fixture, so that the summary has a line a file and not a line a test
                item.add_marker(pytest.mark.skip(reason=NO_CHROMIUM))


# Module scope, not session: while plain Playwright runs, an event loop counts as running in this thread, and tests that come
# after and start one of their own would find it.
@pytest.fixture(scope="module")
def chromium_path():
    path = chromium.find()
    if path is None:
        pytest.fail(NO_CHROMIUM)
    return path


@pytest.fixture(scope="module")
def browser(chromium_path):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path, args=FLAGS)
        yield browser
        browser.close()


@dataclass(frozen=True)
class Server:
    """A script that is being served."""

    url: str
    process: subprocess.Popen
    log: Path

    def computing(self):
        """The processes that compute for it."""
        return psutil.Process(self.process.pid).children()

    @contextmanager
    def held(self):
        """Whatever is asked meanwhile is computed afterwards: a computation that takes as long as it must, and no processor."""
        processes = self.computing()
        for process in processes:
            process.suspend()
        yield
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.resume()


@contextmanager
def served(log, port=0, script=None, **limits):
    """What `make app` serves, with room for many, or a script in its place; on a free port if none is given."""
    with socket.socket() as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind(("127.0.0.1", port))
        port = free.getsockname()[1]
    origin, name = f"127.0.0.1:{port}", Path(script or "app").stem
    pages = {name: str(script)} if script else None
    command = f"from zoexplore.views.server import serve; serve({port}, origins=[{origin!r}], pages={pages})"
    room = {"READERS": 1000, "READERS_PER_ADDRESS": 1000, "LOADING": 100, **limits}
    environment = {**os.environ, **{f"ZOEXPLORE_{name}": str(limit) for name, limit in room.items()}}
    with running([sys.executable, "-c", command], log, cwd=ROOT, env=environment) as process:
        wait_until_served(f"http://{origin}/{name}", process, log)
        yield Server(f"http://{origin}/{name}", process, log)


@pytest.fixture(scope="session")
def usual(tmp_path_factory):
    """The explorer, served as `make app` serves it: one server for all that ask it for nothing unusual."""
    with served(tmp_path_factory.mktemp("server") / "panel.log") as server:
        yield server


@pytest.fixture(scope="module")
def app_url(usual):
    """Where the page is that tests share."""
    return usual.url


@pytest.fixture
def console_errors():
    """What went wrong in the page. A test that provokes an error on purpose looks at it here and clears the list."""
    errors = []
    yield errors
    assert not errors, "\n".join(errors)


@contextmanager
def new_page(browser, errors):
    """A page with its own cookies and session, which notes what goes wrong in it."""

    def check(url):
        parts = urlsplit(url)
        if parts.scheme in ("http", "https", "ws", "wss") and parts.hostname not in LOOPBACK:
            errors.append(f"request off this machine: {url}")

    context = browser.new_context(viewport=VIEWPORT)
    page = context.new_page()
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(f"uncaught: {error}\n{error.stack}"))
    page.on("request", lambda request: check(request.url))
    page.on("websocket", lambda websocket: check(websocket.url))
    yield page
    context.close()


@pytest.fixture
def page(browser, console_errors):
    """A fresh page: for what a page does as it is loaded, and what outlives going back to where it began."""
    with new_page(browser, console_errors) as page:
        yield page


@pytest.fixture(scope="module")
def pages(browser, app_url):
    """The pages that a module's tests take over from each other: one, and another after each test that failed."""
    with ExitStack() as open_pages:

        def load():
            errors = []
            return opened(open_pages.enter_context(new_page(browser, errors)), app_url), errors

        yield SimpleNamespace(load=load, kept=None)


@pytest.fixture
def explorer(pages, request):
    """The explorer as it is at first. Loading it takes seconds, so that a test goes on with the page of the one before."""
    failed = request.session.testsfailed
    if pages.kept:
        page, errors = pages.kept
        anew(page)
    else:
        page, errors = pages.load()
    pages.kept = None
    yield page
    assert not errors, "\n".join(errors)
    if request.session.testsfailed == failed:
        pages.kept = page, errors
