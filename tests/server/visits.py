"""Visits to the page. As a script: one, in a process that does nothing else; its exit code is how
much of it is left.
"""

import asyncio
import gc
import os
import sys
import threading
import time
from contextlib import contextmanager
from queue import Queue
from unittest.mock import patch
from weakref import WeakSet

from panel.widgets import Widget

from benchmarks.client import Reader
from benchmarks.serving import free_port
from zoexplore.compute import limits
from zoexplore.server import serving
from zoexplore.server.seats import seats
from zoexplore.views import Explorer, app

LIFETIME = 1  # s after which the server forgets a session that was left
PATIENCE = 60  # seconds until it must have


@contextmanager
def served(**options):
    """The explorer, served by a thread of this process: its host and port."""
    port = free_port()
    begun = Queue()

    def run():
        asyncio.set_event_loop(asyncio.new_event_loop())
        server = serving.serve({"app": app}, port, **options)
        server.start()
        begun.put(server)
        server.io_loop.start()
        server.io_loop.close()

    settings = {limits.LINGER_SECONDS.variable: str(LIFETIME)}
    with (
        patch.dict(os.environ, settings),
        patch.object(serving, "CHECK", 200),
        patch.object(serving.monitoring, "to_standard_error"),  # which is for a process of its own
    ):
        thread = threading.Thread(target=run)
        thread.start()
        server = begun.get(timeout=PATIENCE)
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.io_loop.add_callback(server.stop)
        server.io_loop.add_callback(server.io_loop.stop)
        thread.join(PATIENCE)
        seats.__init__()  # as they are in a new process


async def visit(origin):
    """Load the page, move a slider, leave."""
    reader = await Reader.open(origin)
    slider = reader.find("Slider", "σ noise scale")
    await reader.move(slider, slider["attributes"]["value"] + 1)
    reader.close()


def left():
    """How many explorers and widgets are still in memory after a visit; the explorer had to be
    there during it.
    """
    alive: WeakSet = WeakSet()

    def make(**given):
        explorer = Explorer(**given)
        alive.add(explorer)
        return explorer

    app.Explorer = make
    with served() as origin:
        asyncio.run(visit(origin))
        assert alive
        deadline = time.monotonic() + PATIENCE
        while (
            held := len(alive) + sum(isinstance(each, Widget) for each in gc.get_objects())
        ) and time.monotonic() < deadline:
            time.sleep(0.2)
            gc.collect()  # which Python does by itself, but late
        return held


if __name__ == "__main__":
    sys.exit(left())
