"""Many readers on one process: how soon their figures follow, what a session costs, and what is left when all have gone.

`python -m benchmarks.load` takes about a quarter of an hour; `--help` lists what can be changed.
"""

import argparse
import asyncio
import statistics
import time
from collections.abc import Iterator
from itertools import count, cycle

import psutil

from benchmarks.client import Reader
from benchmarks.serving import served
from benchmarks.timing import table

SLIDER, RECORDS = "σ noise scale", "n records"
EVERY = 2.0  # seconds between a reader's moves
AT_ONCE = 10  # sessions opened side by side when many are opened and closed
LINGER = 1  # seconds after which the server forgets a session that was left
ROOM = 1000  # readers, all of one address
SETTLE = 5.0  # seconds for that
OWN = 1000  # records, times the readers: the first of the readers' runs
CROWDS = (10, 25)  # readers at values of their own, before all of them
AGAIN = 15.0  # seconds after which those who train start once more


class Process:
    """What the server holds: MB of memory, threads, open files, child processes."""

    NAMES = ("MB", "threads", "files", "processes")

    def __init__(self, pid: int) -> None:
        self.process = psutil.Process(pid)

    def holds(self) -> tuple[float, int, int, int]:
        with self.process.oneshot():
            memory = self.process.memory_info().rss / 2**20
            return memory, self.process.num_threads(), self.process.num_fds(), len(self.process.children(recursive=True))


async def moves(reader: Reader, until: float, start: float, places: Iterator[int]) -> list[float]:
    """A reader who moves a slider every few seconds, by so many places from where it is: seconds to each redraw."""
    slider, found = reader.find("Slider", SLIDER), []
    value = slider["attributes"]["value"]
    for i, place in enumerate(places):
        await asyncio.sleep(max(0.0, start + i * EVERY - time.monotonic()))
        if time.monotonic() > until:
            return found
        found.append(await reader.move(slider, value + place))
    return found


async def steady(origin: str, process: Process, sessions: int, seconds: float, own: int = 0) -> tuple[list[float], float]:
    """All readers' redraws, and MB a session. With `own` every reader has a run that nobody else has, of that many records
    or a few more, and moves the slider to where it has not been: nothing is remembered.
    """
    before = process.holds()[0]
    readers = await opened(origin, sessions)
    for i, reader in enumerate(readers if own else ()):
        reader.set(reader.find("TextInput", RECORDS), "value", str(own + i))
        await reader.redrawn()
    start = time.monotonic()
    waits = await asyncio.gather(
        *(
            moves(reader, start + seconds, start + EVERY * i / sessions, count(1) if own else cycle((1, 2, 3, 2)))
            for i, reader in enumerate(readers)
        )
    )
    memory = (process.holds()[0] - before) / sessions
    for reader in readers:
        reader.close()
    return [wait for reader in waits for wait in reader], memory


def groups(number: int) -> Iterator[range]:
    """That many places, a few at a time."""
    for start in range(0, number, AT_ONCE):
        yield range(start, min(number, start + AT_ONCE))


async def opened(origin: str, number: int) -> list[Reader]:
    """That many sessions, a few at a time."""
    readers: list[Reader] = []
    for part in groups(number):
        readers += await asyncio.gather(*(Reader.open(origin) for _ in part))
    return readers


async def once(reader: Reader) -> None:
    """One move of the slider."""
    slider = reader.find("Slider", SLIDER)
    await reader.move(slider, slider["attributes"]["value"] + 1)


async def come_and_go(origin: str, number: int) -> None:
    """Open that many sessions, move a slider in each, and leave."""
    for part in groups(number):
        readers = await asyncio.gather(*(Reader.open(origin) for _ in part))
        await asyncio.gather(*(once(reader) for reader in readers))
        for reader in readers:
            reader.close()


async def work(readers: list[Reader]) -> None:
    """Two readers who train, again and again, and one who looks at map after map; until cancelled."""
    *trainers, mapper = readers
    for reader in trainers:
        await reader.show("Train")
    await mapper.show("Map")
    slider = mapper.find("Slider", "T steps")
    for i in count():
        for reader in trainers:
            reader.press(reader.find("Button", "Train"))
        mapper.set(slider, "value", slider["attributes"]["value"] + 1 + i % 2)
        await asyncio.sleep(AGAIN)


def quantiles(name: str, waits: list[float]) -> tuple[str, ...]:
    """A row: median, 95th percentile and longest of the redraws in ms."""
    waits = sorted(1000 * wait for wait in waits)
    shown = (statistics.median(waits), statistics.quantiles(waits, n=20)[-1], waits[-1])
    return name, str(len(waits)), *(f"{x:.0f}" for x in shown)


async def measure(sessions: int, seconds: float, visits: int) -> None:
    """Serve, load, print."""
    with served(READERS=ROOM, READERS_PER_ADDRESS=ROOM, LOADING=AT_ONCE, LINGER_SECONDS=LINGER) as server:
        process = Process(server.process.pid)
        await come_and_go(server.origin, AT_ONCE)  # what every server loads once
        await asyncio.sleep(SETTLE)
        waits, memory = await steady(server.origin, process, sessions, seconds)
        rows = [quantiles(f"{sessions} readers, the same values", waits)]
        for some in (*CROWDS, sessions):
            began = time.perf_counter()
            waits, _ = await steady(server.origin, process, some, seconds / 3, OWN * some)
            rows.append(quantiles(f"{some} readers, values of their own", waits))
            print(f"load: {some} readers took {time.perf_counter() - began - seconds / 3:.1f} s to come in")
        others = await opened(server.origin, 3)
        at_work = asyncio.create_task(work(others))
        waits, _ = await steady(server.origin, process, sessions, seconds / 3)
        rows.append(quantiles(f"{sessions} readers, the same values, 2 trainings, 1 map", waits))
        at_work.cancel()
        for reader in others:
            reader.close()
        print(f"load: from a slider's move to the figure's data, ms; every reader moves once in {EVERY:g} s")
        table(("", "moves", "median", "p95", "longest"), rows)
        print(f"load: {memory:.2f} MB a session")
        await asyncio.sleep(SETTLE)
        before = process.holds()
        await come_and_go(server.origin, visits)
        await asyncio.sleep(SETTLE)
        held = {"before": before, "after": process.holds()}
        print(f"load: what the server holds before and after {visits} more sessions came and went")
        table(("", *Process.NAMES), [(name, *(f"{x:.0f}" for x in values)) for name, values in held.items()])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__)
    parser.add_argument("--sessions", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=180.0)
    parser.add_argument("--visits", type=int, default=500)
    given = parser.parse_args()
    asyncio.run(measure(given.sessions, given.seconds, given.visits))


if __name__ == "__main__":
    main()
