"""Puts many readers on one process, and measures how soon their figures follow, what a session
costs, and what the process still holds when all have gone.

`python -m benchmarks.load` takes about a quarter of an hour; `--help` lists what can be changed.
"""

import argparse
import asyncio
import statistics
import time
from collections.abc import Iterator
from itertools import count, cycle
from math import nan

import psutil
from tornado.simple_httpclient import HTTPTimeoutError

from benchmarks.client import Reader
from benchmarks.serving import served
from benchmarks.timing import table
from zoexplore.run.fields import FIELDS

SLIDER, RECORDS, BATCH = (FIELDS[name].caption for name in ("sigma", "n", "batch"))
FOLD = "More settings"  # the fold in which the batch is set
EVERY = 2.0  # seconds between a reader's moves
AT_ONCE = 10  # sessions opened side by side when many are opened and closed
# seconds after which the server ends a session that was left; a client on a busy machine needs some
# to connect
LINGER = 20
ROOM = 1000  # readers that the server admits
SETTLE = LINGER + 10.0  # seconds until all sessions that were left have ended
OWN = 1000  # times the number of readers: how many records the first reader's run has
AGAIN = 15.0  # seconds after which the readers who train start once more


class Process:
    """The server's process, which tells what it holds: memory in MB, threads, open files and child
    processes.
    """

    NAMES = ("MB", "threads", "files", "processes")

    def __init__(self, pid: int) -> None:
        self.process = psutil.Process(pid)

    def holds(self) -> tuple[float, int, int, int]:
        with self.process.oneshot():
            memory = self.process.memory_info().rss / 2**20
            return (
                memory,
                self.process.num_threads(),
                self.process.num_fds(),
                len(self.process.children(recursive=True)),
            )


async def moves(reader: Reader, until: float, start: float, places: Iterator[int]) -> list[float]:
    """Move a reader's slider every few seconds, to each of the places in turn. Return the seconds
    until each redraw.
    """
    found: list[float] = []
    slider = reader.find("Slider", SLIDER)
    value = slider["attributes"]["value"]
    for i, place in enumerate(places):
        await asyncio.sleep(max(0.0, start + i * EVERY - time.monotonic()))
        if time.monotonic() > until:
            return found
        found.append(await reader.move(slider, value + place))
    return found


async def steady(
    origin: str,
    sessions: int,
    seconds: float,
    own: int = 0,
    field: str = RECORDS,
    process: Process | None = None,
) -> tuple[list[float], float]:
    """Return the seconds of all readers' redraws, and the MB of memory a session. With `own` each
    reader has a run of their own and moves the slider to new values, so that no answer is cached.
    """
    before = process.holds()[0] if process else 0.0
    readers = await opened(origin, sessions)
    try:
        for i, reader in enumerate(readers if own else ()):
            if field == BATCH:
                await reader.unfold(FOLD)
            reader.set(reader.find("TextInput", field), "value", str(own + i))
            await reader.redrawn()
        start = time.monotonic()
        waits = await asyncio.gather(
            *(
                moves(
                    reader,
                    start + seconds,
                    start + EVERY * i / sessions,
                    count(1) if own else cycle((1, 2, 3, 2)),
                )
                for i, reader in enumerate(readers)
            )
        )
        memory = (process.holds()[0] - before) / sessions if process else nan
    finally:  # a crowd that the server cannot keep up with must not go on taking its time
        for reader in readers:
            reader.close()
    return [wait for reader in waits for wait in reader], memory


def groups(number: int) -> Iterator[range]:
    """Yield ranges of at most `AT_ONCE` numbers, `number` numbers in all."""
    for start in range(0, number, AT_ONCE):
        yield range(start, min(number, start + AT_ONCE))


async def opened(origin: str, number: int) -> list[Reader]:
    """Open so many sessions, a few at a time."""
    readers: list[Reader] = []
    for part in groups(number):
        readers += await asyncio.gather(*(Reader.open(origin) for _ in part))
    return readers


async def once(reader: Reader) -> None:
    """Move the slider once."""
    slider = reader.find("Slider", SLIDER)
    await reader.move(slider, slider["attributes"]["value"] + 1)


async def come_and_go(origin: str, number: int) -> None:
    """Open so many sessions, move a slider in each, and leave."""
    for part in groups(number):
        readers = await asyncio.gather(*(Reader.open(origin) for _ in part))
        await asyncio.gather(*(once(reader) for reader in readers))
        for reader in readers:
            reader.close()


async def work(readers: list[Reader]) -> None:
    """Let two readers train again and again, and one look at map after map, until cancelled."""
    *trainers, mapper = readers
    for reader in trainers:
        await reader.show("train")
    await mapper.show("helps")
    slider = mapper.find("Slider", "T steps")
    for i in count():
        for reader in trainers:
            reader.press(reader.find("Button", "Train"))
        mapper.set(slider, "value", slider["attributes"]["value"] + 1 + i % 2)
        await asyncio.sleep(AGAIN)


def quantiles(name: str, waits: list[float]) -> tuple[str, ...]:
    """Return a row with the median, the 95th percentile and the longest of the redraws, in ms."""
    waits = sorted(1000 * wait for wait in waits)
    shown = (statistics.median(waits), statistics.quantiles(waits, n=20)[-1], waits[-1])
    return name, str(len(waits)), *(f"{x:.0f}" for x in shown)


async def crowds(
    origin: str, sizes: list[int], of_batches: list[int], seconds: float
) -> list[tuple[str, ...]]:
    """Return a row for each number of readers at values of their own, on the full batch and then on
    batches. Print each row at once, since a server that cannot keep up takes minutes. If a crowd
    does not even get in, its row says so.
    """
    rows = []
    for kind, field, numbers in (
        ("the full batch", RECORDS, sizes),
        ("batches", BATCH, of_batches),
    ):
        for size in numbers:
            name, began = f"{size} readers, values of their own, {kind}", time.perf_counter()
            try:
                waits, _ = await steady(origin, size, seconds, OWN * size, field)
                rows.append(quantiles(name, waits))
            except (HTTPTimeoutError, TimeoutError):
                rows.append((name, "not all came in", "", "", ""))
            took = time.perf_counter() - began - seconds
            print("load:", *rows[-1], f"({took:.0f} s to come in)", flush=True)
            await asyncio.sleep(SETTLE)
    return rows


def tell(rows: list[tuple[str, ...]]) -> None:
    """Print the redraws."""
    print(
        f"load: from a slider's move to the figure's data, ms; every reader moves once in {EVERY:g} s"
    )
    table(("", "moves", "median", "p95", "longest"), rows)


async def measure(
    sessions: int, seconds: float, visits: int, sizes: list[int], of_batches: list[int]
) -> None:
    """Serve the page, put readers on it, and print the figures."""
    with served(READERS=ROOM, LINGER_SECONDS=LINGER) as server:
        process = Process(server.process.pid)
        await come_and_go(server.origin, AT_ONCE)  # makes the server load what it loads once
        await asyncio.sleep(SETTLE)
        waits, memory = await steady(server.origin, sessions, seconds, process=process)
        rows = [quantiles(f"{sessions} readers, the same values", waits)]
        rows += await crowds(server.origin, sizes, of_batches, seconds / 3)
        others = await opened(server.origin, 3)
        at_work = asyncio.create_task(work(others))
        waits, _ = await steady(server.origin, sessions, seconds / 3)
        rows.append(quantiles(f"{sessions} readers, the same values, 2 trainings, 1 map", waits))
        at_work.cancel()
        for reader in others:
            reader.close()
        tell(rows)
        print(f"load: {memory:.2f} MB a session")
        await asyncio.sleep(SETTLE)
        before = process.holds()
        await come_and_go(server.origin, visits)
        await asyncio.sleep(SETTLE)
        held = {"before": before, "after": process.holds()}
        print(f"load: what the server holds before and after {visits} more sessions came and went")
        table(
            ("", *Process.NAMES),
            [(name, *(f"{x:.0f}" for x in values)) for name, values in held.items()],
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__)
    parser.add_argument("--sessions", type=int, default=50, help="readers at the same values")
    parser.add_argument(
        "--seconds",
        type=float,
        default=180.0,
        help="that they move sliders; crowds do for a third of it",
    )
    parser.add_argument(
        "--visits", type=int, default=500, help="sessions that come and go in the end"
    )
    parser.add_argument(
        "--crowds",
        type=int,
        nargs="+",
        default=[10, 25, 50, 100],
        help="readers at values of their own, on all records",
    )
    parser.add_argument(
        "--batches", type=int, nargs="+", default=[5, 10, 25], help="the same, with batches"
    )
    parser.add_argument(
        "--origin",
        help="HOST:PORT of a server that runs already, as behind a proxy: the crowds alone",
    )
    given = parser.parse_args()
    if given.origin:
        tell(asyncio.run(crowds(given.origin, given.crowds, given.batches, given.seconds / 3)))
    else:
        asyncio.run(
            measure(given.sessions, given.seconds, given.visits, given.crowds, given.batches)
        )


if __name__ == "__main__":
    main()
