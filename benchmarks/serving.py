"""Serves the explorer or another page by its usual command, as long as a benchmark needs it."""

import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
START = 120  # seconds that a server may take to answer


@dataclass(frozen=True)
class Server:
    """A server's address, the name of its page, and its process."""

    origin: str
    name: str
    process: subprocess.Popen[bytes]

    @property
    def page(self) -> str:
        return f"http://{self.origin}/{self.name}"


def free_port() -> int:
    """Return a free port below those that systems hand out, so that no other process gets it by
    chance before the server listens on it.
    """
    while True:
        with socket.socket() as tried, suppress(OSError):
            tried.bind(("127.0.0.1", random.randrange(20_000, 32_000)))
            return int(tried.getsockname()[1])


@contextmanager
def served(
    script: str = "app.py",
    options: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    **limits: int,
) -> Iterator[Server]:
    """Serve the explorer by `zoexplore serve`, or another script by `panel serve`, on a free port
    until the block ends. `limits` are those of `zoexplore.compute.limits`, by name.
    """
    port = free_port()
    origin = f"127.0.0.1:{port}"
    command = ["zoexplore", "serve", "--origin", origin]
    if script != "app.py":
        command = [
            "panel",
            "serve",
            script,
            "--address",
            "127.0.0.1",
            "--allow-websocket-origin",
            origin,
        ]
    process = subprocess.Popen(
        [sys.executable, "-m", *command, *options, "--port", str(port)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={
            **os.environ,
            **(environment or {}),
            **{f"ZOEXPLORE_{name}": str(limit) for name, limit in limits.items()},
        },
    )
    try:
        _wait(port)
        yield Server(origin, Path(script).stem, process)
    finally:
        process.terminate()
        process.wait()


def _wait(port: int) -> None:
    deadline = time.monotonic() + START
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
