"""Visits to the page. As a script: one, in a process that does nothing else; its exit code is how many explorers are left."""

import asyncio
import gc
import socket
import sys
import time
from contextlib import contextmanager
from weakref import WeakSet

import panel as pn

from benchmarks.client import Reader
from zoexplore.server import serving
from zoexplore.views import Explorer, app

LIFETIME = 200  # ms after which the server forgets a session that was left
PATIENCE = 60  # seconds until it must have


@contextmanager
def served():
    """The explorer, served by a thread of this process: its host and port."""
    serving.keep_defaults()  # as a server does
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


def left():
    """How many explorers are still in memory after a visit, and had to be there during it."""
    alive = WeakSet()

    def make(**given):
        explorer = Explorer(**given)
        alive.add(explorer)
        return explorer

    app.Explorer = make
    serving.freeze_startup_objects()  # as a server does before its first session
    with served() as origin:
        asyncio.run(visit(origin))
        assert alive
        deadline = time.monotonic() + PATIENCE
        while alive and time.monotonic() < deadline:
            time.sleep(LIFETIME / 1000)
            gc.collect()  # which Python does by itself, but late
        return len(alive)


if __name__ == "__main__":
    sys.exit(left())
