"""`app.py` or another page served as a newcomer would, for as long as a benchmark needs it."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
START = 60  # seconds that a server may take to answer


@dataclass(frozen=True)
class Server:
    """Where it answers, and its process."""

    origin: str
    name: str
    process: subprocess.Popen

    @property
    def page(self) -> str:
        return f"http://{self.origin}/{self.name}"


@contextmanager
def served(*options: str, script: str = "app.py") -> Iterator[Server]:
    """`panel serve` a script of the project's with further options, on a free port; ended with the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    origin = f"127.0.0.1:{port}"
    command = [sys.executable, "-m", "panel", "serve", script, "--address", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(
        [*command, "--allow-websocket-origin", origin, *options], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
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
