"""Many at once, and slow questions: whoever is there already goes on undisturbed."""

import asyncio
import os
import signal
from contextlib import suppress
from itertools import count, takewhile

import psutil
import pytest

from benchmarks.client import PATIENCE, Reader, token_of
from tests.attacks.attacker import SLIDER, Attacker, asked, memory, waited, watched
from tests.attacks.conftest import guarded
from zoexplore.server.websocket import PERIOD

pytestmark = pytest.mark.proof
# Legal extremes, all on the full batch: many steps, and assumptions under which bounds are searched
# for.
SLOW = (
    "?T=9007199254740992&K=519&beta=0.999&sigma=1e-9",
    "?regime=convex&T=1000000&R=1e6&beta=1e-9",
    "?regime=strongly-convex&schedule=optimal&T=1000000&sigma=1e-6&M=1e6&m=1e-9&ridge=1e-9",
    "?T=100000&delta=1e-300&against=sigma",
)
PINS = "&".join(f"pin=T:{10**i},beta:0.{i}~p{i}" for i in range(1, 7))
TABS = 25  # of others, in each of which a slider is dragged
DRAG = 8  # seconds that they are
FEW = 30  # sessions, after which a server holds about what it will
# MB that it may grow by in three times as many: ended ones, of 5 MB each, stay until they are many
ROOM = 250


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One server for all of these, with seats for them."""
    with guarded(tmp_path_factory.mktemp("server"), READERS=300) as server:
        yield server


def test_sixty_pages_at_once(server):
    """All are answered, most of them with a page, and nobody who is there waits."""

    async def run():
        async with watched(server) as watch:
            answers = await asyncio.gather(
                *(asked(server.origin) for _ in range(60)), return_exceptions=True
            )
        codes = [getattr(answer, "code", 599) for answer in answers]
        assert set(codes) <= {200, 503, 599}
        return watch

    asyncio.run(run()).unharmed()


@pytest.mark.parametrize("query", [*SLOW, f"{SLOW[0]}&{PINS}"])
def test_slow_questions_in_an_address(server, query):
    async def run():
        async with watched(server) as watch:
            while not watch.enough:
                await asyncio.gather(*(asked(server.origin, f"/app{query}") for _ in range(3)))
        return watch

    asyncio.run(run()).unharmed()


def test_many_readers_who_drag_do_not_hold_up_another(server):

    async def drag(attacker, watch):
        slider = attacker.find("Slider", SLIDER)
        value = slider["attributes"]["value"]
        for i in takewhile(lambda i: i < DRAG / PERIOD or not watch.enough, count()):
            attacker.set(slider, "value", value + i % 20)
            await asyncio.sleep(PERIOD)
        attacker.close()

    async def run():
        tabs = [await Attacker.open(server.origin) for _ in range(TABS)]
        async with watched(server) as watch:
            await asyncio.gather(*(drag(tab, watch) for tab in tabs))
        return watch

    asyncio.run(run()).unharmed()


async def drags(attacker, steps=100):
    """Move a slider of a run on batches five times a second."""
    slider = attacker.find("Slider", SLIDER)
    value = slider["attributes"]["value"]
    for i in range(steps):
        attacker.set(slider, "value", value + i % 40)
        await asyncio.sleep(0.2)


@pytest.mark.parametrize("tabs", [4, 15])
def test_others_with_batches_do_not_hold_up_a_reader_with_batches(server, tabs):
    """A reader waited 19 s for four of them, and more than a minute for fifteen."""

    async def run():
        greedy = [await Attacker.open(server.origin, f"?batch={100 + i}") for i in range(tabs)]
        reader = await Reader.open(server.origin, f"?batch={50 + tabs}")
        slider = reader.find("Slider", SLIDER)
        value = slider["attributes"]["value"]
        before = [await waited(server, reader, slider, value + i) for i in (1, 2, 3, 4)]
        moving = [asyncio.create_task(drags(attacker)) for attacker in greedy]
        await asyncio.sleep(2)
        during = [await waited(server, reader, slider, value + i) for i in (5, 6, 7, 8, 9, 10)]
        print(
            f"{max(before):.2f} s before, {sorted(during)[-2]:.2f} s during, {max(during):.2f} s at most"
        )
        for task in moving:
            task.cancel()
        for one in (*greedy, reader):
            one.close()
        return before, during

    before, during = asyncio.run(run())
    assert max(during) < max(5.0, 5 * max(before))


def test_a_stopped_worker_is_replaced(server):
    """It neither answers nor ends; whoever asks is answered all the same, after the time that one
    call may take.
    """

    async def run():
        reader = await Reader.open(server.origin, "?batch=55")
        slider = reader.find("Slider", SLIDER)
        value = slider["attributes"]["value"]
        for worker in psutil.Process(server.process.pid).children():
            os.kill(worker.pid, signal.SIGSTOP)
        reader.set(slider, "value", value + 1)
        for _ in range(4):  # the first question is given up, and its process with it
            try:
                await reader.move(slider, value + 2)
                break
            except TimeoutError:
                value += 1
        else:
            pytest.fail("nobody noticed that the worker had stopped")
        reader.close()

    asyncio.run(run())


def used_by(process):
    """Seconds of a processor that it has used; none where it has ended."""
    try:
        return process.cpu_times().user
    except psutil.NoSuchProcess:
        return 0.0


def test_a_figure_whose_workers_are_killed_follows_all_the_same(server):
    """Without another move: the answer that a killed worker owed comes from the next one."""

    async def run():
        reader = await Reader.open(server.origin, "?batch=57")
        slider = reader.find("Slider", SLIDER)
        moved = asyncio.create_task(reader.move(slider, slider["attributes"]["value"] + 1))
        busy = []
        async with asyncio.timeout(PATIENCE):
            while not busy:
                workers = psutil.Process(server.process.pid).children()
                used = [used_by(worker) for worker in workers]
                await asyncio.sleep(0.05)
                busy = [
                    worker
                    for worker, before in zip(workers, used, strict=True)
                    if used_by(worker) > before
                ]
        for worker in busy:
            with suppress(psutil.NoSuchProcess):
                worker.kill()
        await moved
        reader.close()

    asyncio.run(run())


def test_hundreds_of_sessions_come_and_go(tmp_path):
    """Without a pause, in which what they leave would be collected anyway."""

    async def visit(origin):
        reader = await Reader.open(origin)
        slider = reader.find("Slider", SLIDER)
        await reader.move(slider, slider["attributes"]["value"] + 1)
        reader.close()

    async def visits(server, count):
        """The memory after so many more visits."""
        for _ in range(count // 3):
            await asyncio.gather(*(visit(server.origin) for _ in range(3)))
        return memory(server.process)

    async def run(server):
        first = await visits(server, FEW)
        second = await visits(server, 3 * FEW)
        print(f"{first:.0f} MB after {FEW} sessions, {second:.0f} MB after {3 * FEW} more")
        assert second - first < ROOM

    with guarded(tmp_path, LINGER_SECONDS=10) as server:
        asyncio.run(run(server))


def test_whoever_reloads_again_and_again_gets_no_more_than_a_share(server):
    async def run():
        async with watched(server) as watch:
            while not watch.enough:
                await asyncio.gather(
                    *(token_of(server.origin) for _ in range(4)), return_exceptions=True
                )
        return watch

    asyncio.run(run()).unharmed()
