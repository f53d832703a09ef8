"""A guarded server on this machine to attack."""

import os
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmarks.serving import free_port
from tests.running import running, wait_until_served

ROOT = Path(__file__).parents[2]
MOST = 200  # readers


@dataclass(frozen=True)
class Server:
    """Where it answers, its process, and what it has logged."""

    origin: str
    process: subprocess.Popen
    log: Path

    def tracebacks(self):
        """How many it has logged, for any test so far: some provoke one on purpose."""
        return self.log.read_text().count("Traceback")


@contextmanager
def guarded(folder, options=(), files=None, **settings):
    """The explorer as `zoexplore serve` serves it, with at most so many open files. The settings
    are environment variables without their prefix.
    """
    port = free_port()
    origin, log = f"127.0.0.1:{port}", Path(folder) / "server.log"
    command = [
        sys.executable,
        "-m",
        "zoexplore",
        "serve",
        "--port",
        str(port),
        "--origin",
        origin,
        *options,
    ]
    if files:
        command = ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh", *command]
    environment = {
        **os.environ,
        **{f"ZOEXPLORE_{name}": str(value) for name, value in settings.items()},
    }
    with running(command, log, cwd=ROOT, env=environment) as process:
        wait_until_served(f"http://{origin}/liveness", process, log)
        yield Server(origin, process, log)


@pytest.fixture(scope="package")
def server(tmp_path_factory):
    """One server for all of these, with room for them."""
    with guarded(tmp_path_factory.mktemp("server"), READERS=MOST, LINGER_SECONDS=20) as server:
        yield server


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A server that readers reach themselves, with three seats that are soon given up."""
    few = {"READERS": 3, "IDLE_SECONDS": 1, "LINGER_SECONDS": 20}
    with guarded(tmp_path_factory.mktemp("small"), **few) as server:
        yield server


@pytest.fixture
def unbroken(server):
    """Nothing fails in the server meanwhile."""
    before = server.tracebacks()
    yield
    assert server.tracebacks() == before, server.log.read_text()[-3000:]
