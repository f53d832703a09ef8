"""What is sent before there is a session: at once, whatever else goes on, and errors after it are
told inside the page.
"""

import asyncio
import os
import re
import sys
import threading
import time
import urllib.error
import urllib.request
from html import unescape

import pytest
from tornado.httpclient import AsyncHTTPClient

from benchmarks.serving import free_port
from tests.running import running, wait_until_served
from tests.server.visits import PATIENCE, served
from zoexplore import guarantee
from zoexplore.run.formatting import format_number
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.server.page import FAILED, Page
from zoexplore.server.seats import seats
from zoexplore.views import first
from zoexplore.views.app import MARK
from zoexplore.views.explorer import QUESTION


@pytest.fixture(scope="module")
def origin():
    with served() as origin:
        yield origin


async def begun(origin, until=QUESTION, path="/app"):
    """All of a page that has come when some words are there; the rest goes on."""
    came = []
    there = asyncio.Event()

    def take(chunk):
        came.append(chunk.decode())
        if until in "".join(came):
            there.set()

    whole = asyncio.ensure_future(
        AsyncHTTPClient().fetch(
            f"http://{origin}{path}", streaming_callback=take, request_timeout=3600
        )
    )
    await asyncio.wait_for(there.wait(), PATIENCE)
    return "".join(came), whole, came


def test_the_first_words_do_not_wait_for_a_session(origin, monkeypatch):
    async def run():
        go = threading.Event()

        async def held(self):
            while not go.is_set():
                await asyncio.sleep(0.01)
            return await made(self)

        made = Page.get_session
        monkeypatch.setattr(Page, "get_session", held)
        words, whole, came = await begun(origin)
        assert "token" not in words and seats.waiting == 1  # a seat is taken before the first byte
        go.set()
        await whole
        page = "".join(came)
        assert (
            page.count("<html") == page.count("<title") == page.count("</body>") == 1
            and '"token"' in page
        )
        assert MARK not in page

    asyncio.run(run())


def test_scripts_of_both_parts_have_the_nonce_of_the_answer(origin):
    with urllib.request.urlopen(f"http://{origin}/app", timeout=PATIENCE) as answer:
        nonce = re.search(r"'nonce-([\w-]+)'", answer.headers["Content-Security-Policy"])[1]
        assert answer.headers["X-Accel-Buffering"] == "no"
        marks = re.findall(r"<script([^>]*)>", answer.read().decode())
    assert len(marks) > 5 and all(mark.startswith(f' nonce="{nonce}"') for mark in marks)


def test_an_error_after_the_first_words_is_told_inside_the_page(origin, monkeypatch, caplog):
    async def fails(self):
        raise OSError("no room in /secret")

    async def run():
        monkeypatch.setattr(Page, "get_session", fails)
        _, whole, came = await begun(origin, until="</html>")
        await whole
        return "".join(came)

    page = asyncio.run(run())
    assert FAILED in page and 'role="alert"' in page and "secret" not in page
    assert not seats.waiting and "Cannot send error response" not in caplog.text


def test_one_for_whom_there_is_no_seat_is_refused_before_any_words(origin, monkeypatch):
    monkeypatch.setattr(seats, "closed", True)
    with pytest.raises(urllib.error.HTTPError, match="503"):
        urllib.request.urlopen(f"http://{origin}/app", timeout=PATIENCE)


def shown(page):
    """The words of the still picture."""
    still = re.search(r'<div class="zx-first" inert>(.*)</div><noscript>', page, re.S)[1]
    return unescape(re.sub(r"<style>.*?</style>|<[^>]*>", " ", still, flags=re.S))


def test_an_address_has_its_own_numbers_once_its_page_has_been_made(origin):
    """Never another run's."""

    async def run():
        found = {}
        for _ in range(2):
            for query in ("", "?T=199&sigma=0.0017"):
                _, whole, came = await begun(origin, until="<noscript>", path=f"/app{query}")
                found.setdefault(query, []).append(shown("".join(came)))
                await whole
        return found

    found = asyncio.run(run())
    for query, run in (
        ("", DEMONSTRATION),
        ("?T=199&sigma=0.0017", DEMONSTRATION.replace(T=199, sigma=0.0017)),
    ):
        epsilon = format_number(guarantee(run, "best").epsilon)
        assert epsilon in found[query][1] and f"T = {run.T}" in found[query][1]
    assert "every step" in found[""][1] and not re.search(r"\d", found["?T=199&sigma=0.0017"][0])


@pytest.mark.parametrize(
    "query", ["?tab=theory", "?story=2", "?show=sigma,curves", "?say=hello", f"?T=9&x={'x' * 900}"]
)
def test_an_address_of_another_first_sight_has_the_question_alone(origin, query):
    async def run():
        for _ in range(2):
            _, whole, came = await begun(origin, until="<noscript>", path=f"/app{query}")
            await whole
        return "".join(came)

    page = asyncio.run(run())
    assert QUESTION in page and (not shown(page).strip() or "x=" in query)
    assert query not in first._pictures


@pytest.mark.proof  # it compiles everything, which takes a minute of two processors
def test_an_unprepared_server_compiles_beside_its_event_loop_and_says_so(tmp_path):
    """The first words come while it does, and the page follows."""
    port, log = free_port(), tmp_path / "log"
    command = [sys.executable, "-m", "zoexplore", "serve", "--port", str(port)]
    with running(
        command, log, env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    ) as process:
        wait_until_served(f"http://127.0.0.1:{port}/liveness", process, log)

        async def run():
            words, whole, came = await begun(f"127.0.0.1:{port}", until="<noscript>")
            assert "compiles its formulas once" in words
            answered = 0
            while not whole.done():
                began = time.monotonic()
                await AsyncHTTPClient().fetch(f"http://127.0.0.1:{port}/liveness")
                # where the loop compiles a kernel, tens of seconds
                answered += time.monotonic() - began < 5
                await asyncio.sleep(0.5)
            return "".join(came), answered

        page, answered = asyncio.run(run())
    assert '"token"' in page and answered > 10 and (list((tmp_path / "kernels").rglob("all")))
