"""`panel serve app.py` is for one's own machine, and says so where it listens beyond it."""

import sys
import urllib.request
from pathlib import Path

import pytest

from tests.effort import proof
from tests.running import running, wait_until_served
from zoexplore.server.serving import free_port
from zoexplore.server.unguarded import listens_beyond

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("address, beyond", [proof("127.0.0.1", False), ("0.0.0.0", True)])
def test_the_page_and_the_log_say_where_others_reach_it(tmp_path, address, beyond):
    port = free_port()
    log, url = tmp_path / "log", f"http://127.0.0.1:{port}/app"
    command = [sys.executable, "-m", "panel", "serve", "app.py", "--address", address, "--port", str(port)]
    with running(command, log, cwd=ROOT) as process:
        wait_until_served(url, process, log)
        with urllib.request.urlopen(url, timeout=60) as page:
            assert b"token" in page.read()
    assert ("zoexplore serve" in log.read_text()) is beyond


@pytest.mark.parametrize(
    "arguments, beyond",
    [("--address=127.0.0.1", False), ("--port 80 --address localhost --dev", False), ("--address 0.0.0.0", True), ("", True)],
)
def test_panel_listens_everywhere_where_nothing_else_is_said(arguments, beyond):
    assert listens_beyond(["panel", "serve", "app.py", *arguments.split()]) is beyond
