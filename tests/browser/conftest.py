"""Chromium, a served app.py, and a page that may neither log an error nor leave this machine."""

import os
import subprocess
import sys
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from benchmarks.serving import free_port
from tests.browser.acts import VIEWPORT, anew, opened
from tests.browser.axe import packed
from tests.browser.line import Line
from tests.running import running, wait_until_served
from tests.waiting import PATIENCE
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
# seconds that a session waits for its page: one that a busy machine loads more slowly finds none
LINGER = PATIENCE
LOOPBACK = {"127.0.0.1", "localhost", "::1"}
NO_CHROMIUM = "NO CHROMIUM: install chromium or Chrome, or set CHROMIUM=/path/to/it"


def pytest_collection_modifyitems(items):
    """Mark everything here `browser`, and skip it where there is none. In CI a missing browser is a
    failure instead.
    """
    skip = chromium.find() is None and os.environ.get("CI") != "true"
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.browser)
            # by a mark rather than in a fixture, so that the summary has a line a file and not a
            # line a test
            if skip:
                item.add_marker(pytest.mark.skip(reason=NO_CHROMIUM))


@pytest.fixture(scope="session")
def chromium_path():
    path = chromium.find()
    if path is None:
        pytest.fail(NO_CHROMIUM)
    return path


def launched(chromium_path):
    """Chromium. No fixture of it may outlive the tests that use it: while plain Playwright runs, an
    event loop counts as running in this thread, and tests that come after and start one of their
    own would find it.
    """
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path, args=FLAGS)
        yield browser
        browser.close()


browser = pytest.fixture(launched, scope="package")


@dataclass
class Server:
    """What `make app` serves, a page beside it whose callbacks fail, and a line to them that a test
    may cut.
    """

    url: str
    faulty_url: str
    log: Path
    line: Line
    process: subprocess.Popen

    def computing(self):
        """The processes that compute for it."""
        return psutil.Process(self.process.pid).children(recursive=True)

    @contextmanager
    def held(self):
        """Whatever is asked meanwhile is computed afterwards: a computation that takes as long as
        it must, and no processor.
        """
        processes = self.computing()
        for process in processes:
            process.suspend()
        try:
            yield
        finally:
            for process in processes:
                with suppress(psutil.NoSuchProcess):
                    process.resume()


@contextmanager
def served(log, linger=LINGER):
    """What `make app` serves, with room for many; a session outlives its page by so many seconds."""
    port = free_port()
    line, origin = Line(port), f"127.0.0.1:{port}"
    origins = [origin, f"127.0.0.1:{line.port}"]
    imports = "from zoexplore.server.serving import run, serve; from zoexplore.views import app; from tests.browser import faulty"
    command = f'{imports}; run(serve({{"app": app, "faulty": faulty}}, {port}, origins={origins}))'
    room = {"READERS": 1000, "LINGER_SECONDS": linger}
    environment = {
        **os.environ,
        **{f"ZOEXPLORE_{name}": str(limit) for name, limit in room.items()},
    }
    with running([sys.executable, "-c", command], log, cwd=ROOT, env=environment) as process:
        wait_until_served(f"http://{origin}/liveness", process, log)
        yield Server(f"http://{origin}/app", f"http://{origin}/faulty", log, line, process)
        process.terminate()
        process.wait(20)  # it ends when asked to, whatever readers it had
    line.cut()


@pytest.fixture(scope="session")
def usual(tmp_path_factory):
    """The explorer, served as `make app` serves it: one server for all tests here."""
    with served(tmp_path_factory.mktemp("server") / "panel.log") as server:
        yield server


@pytest.fixture(scope="session")
def app_url(usual):
    """Where the page is that tests share."""
    return usual.url


@pytest.fixture
def console_errors():
    """What went wrong in the page. A test that provokes an error on purpose looks at it here and
    clears the list.
    """
    errors = []
    yield errors
    assert not errors, "\n".join(errors)


@contextmanager
def new_page(browser, errors, **screen):
    """A page with its own cookies and session, which notes what goes wrong in it."""

    def check(url):
        parts = urlsplit(url)
        if parts.scheme in ("http", "https", "ws", "wss") and parts.hostname not in LOOPBACK:
            errors.append(f"request off this machine: {url}")

    screen = {"viewport": VIEWPORT, **screen}
    # what moves while it waits costs a processor
    context = browser.new_context(reduced_motion="reduce", **screen)
    page = context.new_page()
    page.on(
        "console", lambda message: errors.append(message.text) if message.type == "error" else None
    )
    page.on("pageerror", lambda error: errors.append(f"uncaught: {error}\n{error.stack}"))
    page.on("request", lambda request: check(request.url))
    page.on("websocket", lambda websocket: check(websocket.url))
    yield page
    context.close()


@pytest.fixture
def page(browser, console_errors):
    """A fresh page: for what a page does as it is loaded, and what outlives going back to where it
    began.
    """
    with new_page(browser, console_errors) as page:
        yield page


class Pages:
    """The pages that tests take over from each other: one of each address, and another after each
    test that failed.
    """

    def __init__(self, browser, open_pages):
        self._browser, self._open_pages, self._kept = browser, open_pages, {}

    @contextmanager
    def lent(self, url, session):
        """A page as it is at first. Loading it takes seconds, so that a test goes on with the page
        of the one before.
        """
        failed = session.testsfailed
        if url in self._kept:
            page, errors = self._kept.pop(url)
            anew(page)
        else:
            errors = []
            page = opened(self._open_pages.enter_context(new_page(self._browser, errors)), url)
        yield page
        assert not errors, "\n".join(errors)
        if session.testsfailed == failed:
            self._kept[url] = page, errors


@pytest.fixture(scope="package")
def pages(browser):
    with ExitStack() as open_pages:
        yield Pages(browser, open_pages)


@pytest.fixture
def explorer(pages, app_url, request):
    """The explorer as it is at first."""
    with pages.lent(app_url, request.session) as page:
        yield page


@pytest.fixture(scope="session")
def packed_axe(tmp_path_factory):
    return packed(tmp_path_factory.mktemp("axe"))


@pytest.fixture
def axe_if_any(packed_axe):
    """axe-core's source; empty where there is none. In CI it must be there."""
    source, why = packed_axe
    if why and os.environ.get("CI") == "true":
        pytest.fail(why)
    return source


@pytest.fixture
def axe(axe_if_any, packed_axe):
    """axe-core's source; without it the test is skipped."""
    if not axe_if_any:
        pytest.skip(packed_axe[1])
    return axe_if_any
