"""The parent's side of a worker process: starts and ends the worker, and has it compute calls.

`multiprocessing` is not used, because its processes import the main module again, which may be any
script that shows a view.
"""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import BrokenExecutor
from contextlib import suppress
from typing import Any

from zoexplore.compute.worker import ERROR, ITEM

# Imported modules never become garbage, and scanning them would take a tenth of the start-up time.
BEGIN = "import gc; gc.disable(); from zoexplore.compute.worker import main; main()"


class Died(BrokenExecutor):
    """A process ended before its answer came: it was killed, or ran out of memory."""


def ignored(_: Any) -> None:
    """Do nothing with what a generator function yields."""


class Process(subprocess.Popen[bytes]):
    """A new Python process that computes calls one after another. It works the same on every
    system, and ends when its parent process ends, for whatever reason.
    """

    def __init__(self) -> None:
        paths = os.pathsep.join(path for path in sys.path if path)
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        super().__init__(
            [sys.executable, "-c", BEGIN], env={**os.environ, "PYTHONPATH": paths}, **pipes
        )

    def compute(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...] = (),
        item: Callable[[Any], None] = ignored,
    ) -> Any:
        """Return the answer of a module-level function whose module does not import Panel. Call
        `item` with each value that a generator function yields.

        Raises:
            Exception: what the function raised.
            Died: the process ended, or was killed by another thread.
        """
        kind, value = self._exchange(pickle.dumps((function, args)))
        while kind == ITEM:
            item(value)
            kind, value = self._exchange()
        if kind == ERROR:
            raise value
        return value

    def end(self) -> None:
        """Kill the process, and close its pipes."""
        self.kill()
        with suppress(OSError), self:  # closing sends what is left to send, which may fail
            pass

    def _exchange(self, given: bytes = b"") -> tuple[str, Any]:
        """Send a call, if one is given, and return what the process sends next."""
        assert self.stdin and self.stdout
        try:
            self.stdin.write(given)
            self.stdin.flush()
            kind, value = pickle.load(self.stdout)
            return kind, value
        except (EOFError, OSError, ValueError, pickle.UnpicklingError) as error:
            raise Died("the computing process ended unexpectedly") from error
