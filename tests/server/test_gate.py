"""Whoever has spent more waits behind whoever has spent less, and nobody waits where nobody else does."""

import asyncio
import time

import pytest

from zoexplore.compute.fair import budget
from zoexplore.server.gate import FairLock, paid


def busy(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_a_reader_waits_for_one_thing_of_a_greedy_address_however_many_tabs_it_has():
    gate, order = FairLock(), []

    async def tab(address, times, cost):
        for _ in range(times):
            await gate.enter(address)
            order.append(address)
            budget.charge(address, cost)

    async def run():
        greedy = [asyncio.create_task(tab("greedy", 20, 0.02)) for _ in range(25)]
        await asyncio.sleep(0)
        await asyncio.gather(tab("reader", 10, 0.001), *greedy)

    asyncio.run(run())
    assert len(order) == 510
    places = [i for i, address in enumerate(order) if address == "reader"]
    assert places[0] <= 25 and places[-1] - places[0] <= 20  # each tab had one thing first, as the gate was open


def test_a_lock_has_one_holder_and_is_free_when_those_who_waited_have_left():
    async def run():
        lock, holders = FairLock(), []

        async def hold(name):
            await lock.acquire(name)
            holders.append(name)
            assert len(holders) == 1
            await asyncio.sleep(0.001)
            holders.remove(name)
            lock.release()

        await asyncio.gather(*map(hold, "abc"))
        assert not lock.held
        await lock.acquire("a")
        left, given = (asyncio.create_task(lock.acquire(name)) for name in "bc")
        await asyncio.sleep(0)
        left.cancel()
        lock.release()
        given.cancel()  # which has just been given the lock
        await asyncio.wait([given, left])
        assert not lock.held and not lock.waiting and lock.waited > 0

    asyncio.run(run())


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
        before = {address: budget.place(address) for address in ("payer", "other")}
        other = asyncio.create_task(asyncio.to_thread(busy, 0.1))
        assert await paid(steps(), "payer") == "late"
        await other
        return {address: budget.place(address) - place for address, place in before.items()}

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
