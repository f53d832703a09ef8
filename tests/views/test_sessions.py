"""What a session leaves behind when its reader has gone: nothing."""

import asyncio
import gc
import json
import socket
import time
from math import inf
from weakref import WeakSet

import panel as pn
import pytest

from benchmarks.client import Reader
from tests.views import jobs
from zoexplore.views import Explorer, app
from zoexplore.views.compute.ask import pool
from zoexplore.views.server import sessions
from zoexplore.views.server.limits import READERS

LIFETIME = 200  # ms after which the server forgets a session that was left
PATIENCE = 60  # seconds until it must have


@pytest.fixture
def alive(monkeypatch):
    """The explorers of sessions that are still in memory."""
    made = WeakSet()

    def make(**given):
        explorer = Explorer(**given)
        made.add(explorer)
        return explorer

    monkeypatch.setattr(app, "Explorer", make)
    return made


@pytest.fixture
def origin():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    pn.serve(
        {"app": "app.py"}, port=port, address="127.0.0.1", threaded=True, show=False, verbose=False,
        websocket_origin=f"127.0.0.1:{port}", unused_session_lifetime_milliseconds=LIFETIME,
        check_unused_sessions_milliseconds=LIFETIME,
    )  # fmt: skip
    deadline = time.monotonic() + PATIENCE
    while socket.socket().connect_ex(("127.0.0.1", port)) and time.monotonic() < deadline:
        time.sleep(0.1)
    yield f"127.0.0.1:{port}"
    pn.state.kill_all_servers()
    gc.collect()  # the seats of readers that the server did not live to see go


async def visit(origin):
    """Load the page, move a slider, leave."""
    reader = await Reader.open(origin)
    slider = reader.find("Slider", "σ noise scale")
    await reader.move(slider, slider["attributes"]["value"] + 1)
    reader.close()


def test_a_closed_session_is_let_go(origin, alive):
    for _ in range(3):
        asyncio.run(visit(origin))
        assert alive
    deadline = time.monotonic() + PATIENCE
    while alive and time.monotonic() < deadline:
        time.sleep(LIFETIME / 1000)
        gc.collect()  # which Python does by itself, but late where a whole suite's objects are in memory
    assert not alive


def test_one_reader_too_many_is_told_so_and_a_seat_is_given_back(origin, monkeypatch):
    monkeypatch.setenv(READERS.variable, "1")

    async def readers():
        first, second = await Reader.open(origin), await Reader.open(origin)
        with pytest.raises(LookupError):
            second.find("Slider", "σ noise scale")
        assert "All seats of this server (1) are taken" in json.dumps(second.document)
        first.close()
        deadline = time.monotonic() + PATIENCE
        while sessions._taken and time.monotonic() < deadline:
            await asyncio.sleep(LIFETIME / 1000)
        third = await Reader.open(origin)
        assert third.find("Slider", "σ noise scale")
        second.close()
        third.close()

    asyncio.run(readers())


def test_who_waits_for_runs_with_batches_keeps_nobody_else_waiting(origin, monkeypatch):
    """However long one reader's curves take, and here they take until we let go, another's follow at once."""
    monkeypatch.setattr("zoexplore.views.compute.ask.REDRAW", inf)  # a busy machine's full batches are quick, too

    async def readers():
        slow, quick = await Reader.open(origin), await Reader.open(origin)
        line = [pool().submit(time.sleep, (600,), urgent=True) for _ in range(pool().count)]
        await slow.unfold("Everything else")
        slow.set(slow.find("TextInput", "b records per step"), "value", "100")
        redrawn = asyncio.create_task(slow.redrawn())
        slider = quick.find("Slider", "σ noise scale")
        for step in (1, 2, 1, 2):
            await quick.move(slider, slider["attributes"]["value"] + step)
        assert not redrawn.done() and not any(call.answer.done() for call in line)
        pool().grace = 0.0
        for call in line:
            pool().drop(call)
        await redrawn
        slow.close()
        quick.close()

    asyncio.run(readers())


def test_what_is_computed_for_a_reader_ends_when_the_reader_leaves(origin, monkeypatch):
    """Here a plan that takes minutes, in a process that all readers share."""
    monkeypatch.setattr("zoexplore.views.panels.planner.solved", jobs.endless_answer)
    pool().grace = 0.0

    async def leaves():
        reader = await Reader.open(origin)
        await reader.show("Plan")
        while '"Solve"' not in json.dumps(reader.document):
            await reader.look()
        reader.press(reader.find("Button", "Solve"))
        while not pool()._running:
            await asyncio.sleep(0.05)
        reader.close()

    asyncio.run(leaves())
    assert pool().submit(abs, (-1,)).answer.result(60) == 1


@pytest.mark.parametrize("given", ["0", "-1", "many", "1.5", ""])
def test_a_number_of_seats_that_cannot_be_is_refused(monkeypatch, given):
    monkeypatch.setenv(READERS.variable, given)
    with pytest.raises(ValueError, match=f"{READERS.variable} = '{given}' is not allowed"):
        _ = READERS.value
