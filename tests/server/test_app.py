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
from bokeh.util.token import generate_jwt_token, generate_session_id
from panel.io.resources import CDN_DIST

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


def document_of(origin, token):
    """What a session's page is told to draw."""

    async def look():
        reader = await Reader.connect(origin, token)
        await reader.look()
        reader.close()
        return json.dumps(reader.document)

    return asyncio.run(look())


def test_a_session_that_another_process_made_the_page_of_names_no_other_host(served):
    """As under `--num-procs`: only the page's socket comes here."""
    drawn = document_of(served[0], generate_jwt_token(generate_session_id()))
    assert "static/extensions/panel/" in drawn and CDN_DIST not in drawn


@pytest.mark.parametrize(
    "address, warned", [("127.0.0.1", False), ("::1", False), ("198.51.100.7", True)]
)
def test_a_reader_from_another_machine_is_told_that_there_are_no_guards(served, address, warned):
    origin, log = served
    request = urllib.request.Request(f"http://{origin}/app", headers={"X-Forwarded-For": address})
    with urllib.request.urlopen(request, timeout=60) as page:
        token = re.search(r'"token":\s*"([^"]+)"', page.read().decode())[1]
    assert (UNGUARDED in document_of(origin, token)) is warned
    assert (UNGUARDED in log.read_text()) is warned
