"""A guarded server on this machine to attack. It takes us for its proxy, so that attackers can have addresses of their own."""

import os
import socket
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.running import running, wait_until_served

ROOT = Path(__file__).parents[2]
SERVE = "from zoexplore.server.serving import serve; serve(port={port}, origins=['127.0.0.1:{port}'], behind_proxy=True)"


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
        wait_until_served(f"http://127.0.0.1:{port}/liveness", process, log)
        yield Server(f"127.0.0.1:{port}", process, log)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One server for the attacks of a file."""
    with guarded(tmp_path_factory.mktemp("server")) as server:
        yield server
