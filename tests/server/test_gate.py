"""Whoever has spent more waits behind whoever has spent less, and nobody waits where nobody else does."""

import asyncio
import time

import pytest

from zoexplore.compute.fair import FairQueue, event_loop
from zoexplore.server.gate import Gate, paid


def busy(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_a_reader_waits_for_one_thing_of_a_greedy_address_however_many_tabs_it_has():
    queue, order = FairQueue(), []
    gate = Gate(queue)

    async def tab(address, times, cost):
        for _ in range(times):
            await gate.turn(address)
            order.append(address)
            queue.charge(address, cost)

    async def run():
        greedy = [asyncio.create_task(tab("greedy", 20, 0.02)) for _ in range(25)]
        await asyncio.sleep(0)
        await asyncio.gather(tab("reader", 10, 0.001), *greedy)

    asyncio.run(run())
    assert len(order) == 510
    places = [i for i, address in enumerate(order) if address == "reader"]
    assert places[0] <= 25 and places[-1] - places[0] <= 20  # each tab had one thing first, as the gate was open


def test_an_open_gate_holds_nobody_up_and_one_of_a_loop_that_was_stopped_is_open_again():
    queue = FairQueue()
    gate = Gate(queue)

    asyncio.run(gate.turn("a"))
    stopped = asyncio.new_event_loop()
    gate._loop, gate._open = stopped, False
    queue.add("b", stopped.create_future())
    stopped.close()
    asyncio.run(asyncio.wait_for(gate.turn("c"), 1))
    assert gate.passed == 2 and gate.waited == 0 and len(queue) == 0


def test_an_address_pays_for_every_step_and_for_nothing_of_others():
    async def steps():
        busy(0.05)
        await asyncio.sleep(0.2)
        busy(0.05)
        try:
            await asyncio.wait_for(asyncio.sleep(10), 0.01)
        except TimeoutError:
            return "late"

    async def run():
        before = {address: event_loop.due(address) for address in ("payer", "other")}
        other = asyncio.create_task(asyncio.to_thread(busy, 0.1))
        assert await paid(steps(), "payer") == "late"
        await other
        return {address: event_loop.due(address) - due for address, due in before.items()}

    spent = asyncio.run(run())
    assert 0.1 <= spent["payer"] < 0.2 and spent["other"] == 0


def test_what_a_paid_coroutine_raises_is_raised_and_its_cancelling_reaches_it():
    async def wrong():
        await asyncio.sleep(0)
        raise ValueError("wrong")

    seen = []

    async def waits():
        try:
            await asyncio.sleep(10)
        finally:
            seen.append("ended")

    async def run():
        with pytest.raises(ValueError, match="wrong"):
            await paid(wrong(), "a")

        async def pays():
            await paid(waits(), "a")

        task = asyncio.create_task(pays())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert seen == ["ended"]
