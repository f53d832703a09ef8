"""`panel serve app.py` is for one's own machine, and says so where it listens beyond it."""

import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.running import running, wait_until_served
from zoexplore.server.unguarded import listening_beyond

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("address, beyond", [("127.0.0.1", False), ("0.0.0.0", True)])
def test_the_page_and_the_log_say_where_others_reach_it(tmp_path, address, beyond):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log, url = tmp_path / "log", f"http://127.0.0.1:{port}/app"
    command = [sys.executable, "-m", "panel", "serve", "app.py", "--address", address, "--port", str(port)]
    with running(command, log, cwd=ROOT) as process:
        wait_until_served(url, process, log)
        with urllib.request.urlopen(url, timeout=60) as page:
            assert b"token" in page.read()
    assert ("0.0.0.0, where others reach it" in log.read_text()) is beyond
    assert ("zoexplore serve" in log.read_text()) is beyond


def test_what_listens_is_told_apart():
    code = "import socket; from zoexplore.server.unguarded import listening_beyond as l; print(l()); "
    code += "s = socket.create_server(('0.0.0.0', 0)); o = socket.create_server(('127.0.0.1', 0)); print(l())"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert told.stdout.splitlines() == ["[]", "['0.0.0.0']"] and listening_beyond() == []
