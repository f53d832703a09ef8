"""`panel serve app.py` is for one's own machine: a reader from another one is told so, and so is
the log.
"""

import asyncio
import json
import re
import sys
import urllib.request
from pathlib import Path

import pytest

from benchmarks.client import Reader
from benchmarks.serving import free_port
from tests.running import running, wait_until_served
from zoexplore.views.app import UNGUARDED

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Where `panel serve` serves it, which believes what a proxy says of addresses, and its log."""
    port, log = free_port(), tmp_path_factory.mktemp("panel") / "log"
    options = [
        "--address",
        "0.0.0.0",
        "--port",
        str(port),
        "--allow-websocket-origin",
        f"127.0.0.1:{port}",
        "--use-xheaders",
    ]
    with running(
        [sys.executable, "-m", "panel", "serve", "app.py", *options], log, cwd=ROOT
    ) as process:
        wait_until_served(f"http://127.0.0.1:{port}/app", process, log, 120)
        yield f"127.0.0.1:{port}", log


@pytest.mark.parametrize(
    "address, warned", [("127.0.0.1", False), ("::1", False), ("198.51.100.7", True)]
)
def test_a_reader_from_another_machine_is_told_that_there_are_no_guards(served, address, warned):
    origin, log = served
    request = urllib.request.Request(f"http://{origin}/app", headers={"X-Forwarded-For": address})
    with urllib.request.urlopen(request, timeout=60) as page:
        token = re.search(r'"token":\s*"([^"]+)"', page.read().decode())[1]

    async def look():
        reader = await Reader.connect(origin, token)
        await reader.look()
        reader.close()
        return json.dumps(reader.document)

    assert (UNGUARDED in asyncio.run(look())) is warned
    assert (UNGUARDED in log.read_text()) is warned
