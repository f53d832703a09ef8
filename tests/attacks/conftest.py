"""A guarded server on this machine to attack. It takes us for its proxy, so that attackers can have addresses of their own."""

import http.client
import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.running import running

ROOT = Path(__file__).parents[2]
SERVE = "from zoexplore.views.server import serve; serve(port={port}, origins=['127.0.0.1:{port}'], behind_proxy=True)"
START = 120  # seconds that a server may take to answer


@dataclass(frozen=True)
class Server:
    """Where it answers, its process, and what it has logged."""

    origin: str
    process: subprocess.Popen
    log: Path


@contextmanager
def guarded(folder, **settings):
    """The explorer as `zoexplore serve` serves it; the settings are environment variables without their prefix."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = Path(folder) / "server.log"
    environment = {**os.environ, **{f"ZOEXPLORE_{name}": str(value) for name, value in settings.items()}}
    with running([sys.executable, "-c", SERVE.format(port=port)], log, cwd=ROOT, env=environment) as process:
        _wait_until_served(process, port, log)
        yield Server(f"127.0.0.1:{port}", process, log)


def _wait_until_served(process, port, log):
    deadline = time.monotonic() + START
    while time.monotonic() < deadline and process.poll() is None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=START)
        try:
            connection.request("GET", "/liveness")
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
        finally:
            connection.close()
        time.sleep(0.2)
    pytest.fail(f"the explorer was not served within {START} s:\n{log.read_text()[-3000:]}")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One server for the attacks of a file."""
    with guarded(tmp_path_factory.mktemp("server")) as server:
        yield server
