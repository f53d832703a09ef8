"""Somebody who sends what no browser would, and an honest reader to see whether that hurts."""

import asyncio
import json
import statistics
from contextlib import asynccontextmanager, suppress
from uuid import uuid4

import psutil
from tornado.httpclient import AsyncHTTPClient
from tornado.websocket import WebSocketClosedError

from benchmarks.client import PATIENCE, Reader

SLIDER = "σ noise scale"
EVERY = 0.5  # seconds between two moves of the honest reader
ENOUGH = 12  # moves during an attack, for a 95th percentile


async def asked(origin, path="/app", **options):
    """The server's answer to a request, whatever its status."""
    return await AsyncHTTPClient(max_clients=500).fetch(
        f"http://{origin}{path}",
        raise_error=False,
        follow_redirects=False,
        request_timeout=PATIENCE,
        connect_timeout=PATIENCE,
        **options,
    )


class Attacker(Reader):
    """A reader who can send anything."""

    def patch(self, *events):
        """Events of the attacker's own making."""
        self._send("PATCH-DOC", {"events": list(events)})

    def change(self, model, attribute, value):
        """A change of any property of any model."""
        self.patch(
            {"kind": "ModelChanged", "model": {"id": model["id"]}, "attr": attribute, "new": value}
        )

    def send(self, kind, content):
        """A message of any kind."""
        self._send(kind, content)

    def parts(self, *parts):
        """Anything at all, for as long as the server takes it."""
        with suppress(WebSocketClosedError):
            for part in parts:
                self.socket.write_message(part, binary=isinstance(part, bytes))

    @classmethod
    async def again(cls, origin, token):
        """Come back to a session: the server takes a moment to see that somebody has left it."""
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    return await cls.connect(origin, token)
                except ConnectionError:
                    await asyncio.sleep(0.1)

    async def closed(self):
        """Wait for the server to close the connection; with which code."""
        while await asyncio.wait_for(self.socket.read_message(), PATIENCE) is not None:
            pass
        return self.socket.close_code


def patch(*events):
    """The parts of a message."""
    return [
        json.dumps(part)
        for part in ({"msgid": uuid4().hex, "msgtype": "PATCH-DOC"}, {}, {"events": list(events)})
    ]


class Watch:
    """What an honest reader waits for figures, in seconds, before an attack and during it."""

    def __init__(self, server, reader):
        self.server, self.reader, self.before, self.during = server, reader, [], []

    @property
    def enough(self):
        """Whether the reader has moved so often that an attack may end."""
        return len(self.during) >= ENOUGH

    async def _moves(self, into, ended):
        slider = self.reader.find("Slider", SLIDER)
        value = slider["attributes"]["value"]
        while not ended():
            for step in (1, 2, 1, 0):
                into.append(await waited(self.server, self.reader, slider, value + step))
                await asyncio.sleep(EVERY)

    def unharmed(self):
        """Assert that p95 was under half a second, or what the machine gave this reader when there
        was no attack.
        """
        assert self.enough, f"{len(self.during)} moves tell nothing"
        before, during = (
            statistics.quantiles(waits, n=20, method="inclusive")[-1]
            for waits in (self.before, self.during)
        )
        said = f"p95 {1000 * before:.0f} ms before, {1000 * during:.0f} ms during {len(self.during)} moves"
        print(said)
        assert during < max(0.5, 5 * before), said
        return during


async def waited(server, reader, slider, value):
    """Move a slider; seconds until the figure is redrawn that the server took, or that the machine
    had nothing else to do in.
    """
    began = used_or_idle(server.process)
    seconds = await reader.move(slider, value)
    return min(seconds, used_or_idle(server.process) - began)


@asynccontextmanager
async def watched(server):
    """An honest reader, who goes on moving a slider within the block."""
    reader = await Reader.open(server.origin)
    watch = Watch(server, reader)
    await watch._moves(watch.before, lambda: len(watch.before) >= 8)
    ended = asyncio.Event()
    going = asyncio.create_task(watch._moves(watch.during, ended.is_set))
    try:
        yield watch
    finally:
        ended.set()
        await going
        reader.close()


def memory(process):
    """MB that a server and all its processes hold."""
    return sum(one.memory_info().rss for one in family(process)) / 2**20


def used_or_idle(process):
    """Seconds of the machine's processors that a server and all its processes have used, or that
    nobody has.
    """
    used = 0.0
    for one in family(process):
        with suppress(psutil.NoSuchProcess):
            used += sum(one.cpu_times()[:4])  # and what its children that have ended had used
    return used + psutil.cpu_times().idle


def family(process):
    """A server and all its processes."""
    server = psutil.Process(process.pid)
    return [server, *server.children(recursive=True)]


def spent(server):
    """Seconds of a processor that the serving process has used: a measure that others on this
    machine change little.
    """
    return sum(psutil.Process(server.process.pid).cpu_times()[:2])
