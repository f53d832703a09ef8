"""Nobody holds connections or seats that others wait for, and a server asked to end finishes what
is under way.
"""

import asyncio
import json
import signal
import socket
import time

import pytest

from benchmarks.client import PATIENCE, Reader
from tests.attacks.attacker import asked
from tests.attacks.conftest import guarded
from tests.effort import proof

LITTLE = "?show=sigma"  # a page where it does not matter what is on it


async def counted(origin):
    """What a server says of its seats."""
    return json.loads((await asked(origin, "/readiness")).body)


def half_open(origin, count):
    """Connections that say nothing."""
    host, port = origin.split(":")
    return [socket.create_connection((host, int(port)), PATIENCE) for _ in range(count)]


def closed(connection):
    connection.settimeout(0.2)
    try:
        return connection.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def test_half_open_connections_are_fewer_than_open_files_and_do_no_harm(tmp_path):
    """All 256 files were taken, and then not even the log could be written."""

    async def run(server, held):
        reader = await Reader.open(server.origin, f"{LITTLE},curves")
        held += half_open(server.origin, 300)
        slider = reader.find("Slider", "noise scale")
        await reader.move(slider, slider["attributes"]["value"] + 1)
        assert sum(closed(each) for each in held[-50:]) == 50 and not closed(held[0])
        for connection in held:
            connection.close()
        reader.close()

    with guarded(tmp_path, files=256) as server:
        asyncio.run(run(server, []))
        assert not server.tracebacks()


def test_who_holds_all_seats_and_does_nothing_gives_one_up_when_somebody_waits(small):
    async def run():
        async with asyncio.timeout(PATIENCE):  # until the page of another test has gone
            while (await counted(small.origin))["readers"]:
                await asyncio.sleep(0.2)
        held = []
        while (await asked(small.origin, "/readiness")).code == 200:
            held.append(await Reader.open(small.origin, LITTLE))
        first, *others = held
        await asyncio.sleep(1.5)
        for reader in others:  # who go on reading
            slider = reader.find("Slider", "noise scale")
            reader.set(slider, "value", slider["attributes"]["value"] + 1)
        full = await asked(small.origin, f"/app{LITTLE}")
        assert (
            full.code == 503
            and b"seats of this server (3) are taken" in full.body
            and int(full.headers["Retry-After"])
        )
        async with asyncio.timeout(PATIENCE):
            while (await asked(small.origin, f"/app{LITTLE}")).code != 200:
                await asyncio.sleep(0.5)
        with pytest.raises(ConnectionError, match="others waited for this seat"):
            while True:
                await first._part()
        for reader in others:
            reader.close()

    asyncio.run(run())


def test_the_path_with_a_slash_leads_to_the_page_and_makes_none(small):
    answer = asyncio.run(asked(small.origin, "/app/"))
    assert answer.code == 301 and answer.headers["Location"] == "/app"


def test_whoever_asks_for_the_head_of_the_page_takes_no_seat(small):
    before = asyncio.run(counted(small.origin))
    assert asyncio.run(asked(small.origin, method="HEAD")).code == 200
    assert asyncio.run(counted(small.origin))["readers"] == before["readers"]


@pytest.mark.parametrize("signalled", [signal.SIGTERM, proof(signal.SIGINT)])
def test_a_server_that_is_asked_to_end_does_once_pages_under_way_are_finished(tmp_path, signalled):
    """By a handler of its own, since the first process of a container has no other; readers who are
    there do not keep it.
    """

    async def run(server):
        reader = await Reader.open(server.origin, LITTLE)
        pages = [asyncio.create_task(asked(server.origin)) for _ in range(3)]
        async with asyncio.timeout(PATIENCE):
            while (await counted(server.origin))["waiting"] != 3:
                await asyncio.sleep(0.01)
        began = time.monotonic()
        server.process.send_signal(signalled)
        assert [page.code for page in await asyncio.gather(*pages)] == [200, 200, 200]
        assert (
            await asyncio.to_thread(server.process.wait, PATIENCE) == 0
            and time.monotonic() - began < PATIENCE / 2
        )
        reader.close()

    with guarded(tmp_path) as server:
        asyncio.run(run(server))
