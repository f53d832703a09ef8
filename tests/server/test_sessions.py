"""What a session leaves behind when its reader has gone: nothing."""

import asyncio
import socket
import subprocess
import sys
import time
from itertools import pairwise
from math import inf
from pathlib import Path

import pytest
from tornado.httpclient import HTTPClientError

from benchmarks.client import Reader
from tests.compute import jobs
from tests.server.visits import PATIENCE, served
from zoexplore.compute.ask import pool
from zoexplore.compute.computations import curve_set
from zoexplore.compute.limits import READERS
from zoexplore.server.seats import seats
from zoexplore.server.websocket import Socket

ROOT = Path(__file__).parents[2]
LITTLE = "?show=sigma,curves"  # all of a page that is needed here


@pytest.fixture
def origin():
    with served() as origin:
        yield origin


def test_a_closed_session_is_let_go():
    """Of a process of its own, as a server is: what other tests leave behind here may hold on to
    whatever runs beside it.
    """
    ended = subprocess.run(
        [sys.executable, "-m", "tests.server.visits"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ended.returncode == 0, f"{ended.returncode} explorers are left\n{ended.stderr[-3000:]}"


def test_one_reader_too_many_is_refused_and_a_seat_is_given_back(origin, monkeypatch):
    monkeypatch.setenv(READERS.variable, "1")

    async def readers():
        first = await Reader.open(origin, LITTLE)
        with pytest.raises(HTTPClientError) as refused:
            await Reader.open(origin, LITTLE)
        assert (
            refused.value.code == 503
            and b"All seats of this server (1) are taken" in refused.value.response.body
        )
        first.close()
        deadline = time.monotonic() + PATIENCE
        while seats.taken and time.monotonic() < deadline:
            await asyncio.sleep(0.2)
        third = await Reader.open(origin, LITTLE)
        assert third.find("Slider", "σ noise scale")
        third.close()

    asyncio.run(readers())


def test_a_connection_that_a_ping_finds_closed_is_closed_without_an_error(origin, caplog):
    """Bokeh has taken the session from it by then."""

    async def visit():
        reader = await Reader.open(origin, LITTLE)
        (seat,) = seats.taken
        seat.socket.application.client_lost(seat.socket.connection)
        reader.close()
        while seat.socket:
            await asyncio.sleep(0.05)

    asyncio.run(asyncio.wait_for(visit(), PATIENCE))
    assert not [record for record in caplog.records if record.exc_info]


def test_no_part_of_a_message_waits_until_the_browser_has_confirmed_the_one_before(origin):
    async def visit():
        reader = await Reader.open(origin, LITTLE)
        (seat,) = seats.taken
        connection = seat.socket.ws_connection.stream.socket
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        reader.close()

    asyncio.run(visit())


def test_a_session_that_nobody_is_beside_rests_little_between_its_changes(origin, monkeypatch):
    """Thirty redraws a second under a slider that is held, of 30 ms each."""
    # loops of other tests ended in the middle of their sessions' changes
    monkeypatch.setattr("zoexplore.server.websocket._busy", set())
    applied = []

    async def apply(self, patch):
        time.sleep(0.03)
        applied.append(time.monotonic())

    async def drag():
        reader = await Reader.open(origin, LITTLE)
        monkeypatch.setattr(Socket, "_apply", apply)
        slider = reader.find("Slider", "σ noise scale")
        while len(applied) < 10:
            reader.set(slider, "value", slider["attributes"]["value"] + len(applied) % 2)
            await asyncio.sleep(0.01)
        reader.close()

    asyncio.run(asyncio.wait_for(drag(), PATIENCE))
    assert min(b - a for a, b in pairwise(applied)) < 0.03 * 1.5


def test_who_waits_for_runs_with_batches_keeps_nobody_else_waiting(origin, monkeypatch):
    """However long one reader's curves take, and here they take until we let go, another's follow
    at once.
    """
    # a busy machine's full batches are quick, too
    monkeypatch.setattr("zoexplore.compute.ask.REDRAW", inf)
    monkeypatch.setattr(pool(), "grace", 0.0)

    async def readers():
        slow, quick = await Reader.open(origin), await Reader.open(origin, LITTLE)
        line = [
            pool().submit(time.sleep, (600,), address, urgent=True)
            for address in range(pool().count)
        ]
        await slow.unfold("More settings")
        slow.set(slow.find("TextInput", "b records per step"), "value", "100")
        redrawn = asyncio.create_task(slow.redrawn())
        slider = quick.find("Slider", "σ noise scale")
        for step in (1, 2, 1, 2):
            await quick.move(slider, slider["attributes"]["value"] + step)
        assert not redrawn.done() and not any(call.answer.done() for call in line)
        for call in line:
            pool().drop(call)
        redrawn.cancel()
        slow.close()
        quick.close()

    asyncio.run(readers())


@pytest.mark.parametrize("query", ["", LITTLE], ids=["first sight", "all bounds"])
def test_a_move_does_not_wait_for_the_whole_curve_of_the_one_before(origin, monkeypatch, query):
    """In a full hall it takes seconds, and here until we let go."""
    monkeypatch.setattr(
        "zoexplore.compute.ask.quick", lambda function, *_: function is not curve_set
    )
    monkeypatch.setattr(pool(), "grace", 0.0)

    async def moves():
        reader = await Reader.open(origin, query)
        calls = [
            pool().submit(time.sleep, (600,), address, urgent=True)
            for address in range(pool().count)
        ]
        slider = reader.find("Slider", "σ noise scale")
        for step in (1, 2, 3):
            await reader.move(slider, slider["attributes"]["value"] + step)
        assert pool().counts()[1] > 0  # whole curves, which wait
        for call in calls:
            pool().drop(call)
        reader.close()

    asyncio.run(asyncio.wait_for(moves(), PATIENCE))


def test_what_is_computed_for_a_reader_ends_when_the_reader_leaves(origin, monkeypatch):
    """Here a plan that takes minutes, in a process that all readers share."""
    monkeypatch.setattr("zoexplore.views.panels.planner.solved", jobs.endless_answer)
    monkeypatch.setattr(pool(), "grace", 0.0)

    async def leaves():
        reader = await Reader.open(origin)
        await reader.show("plan")
        while not any(jobs.endless_answer in call.args for call in pool()._running):
            await asyncio.sleep(0.05)
        reader.close()

    asyncio.run(asyncio.wait_for(leaves(), PATIENCE))
    assert pool().submit(abs, (-1,)).answer.result(PATIENCE) == 1


@pytest.mark.parametrize("given", ["0", "-1", "many", "1.5", ""])
def test_a_number_of_seats_that_cannot_be_is_refused(monkeypatch, given):
    monkeypatch.setenv(READERS.variable, given)
    with pytest.raises(ValueError, match=f"{READERS.variable} = '{given}' is not allowed"):
        _ = READERS.value
