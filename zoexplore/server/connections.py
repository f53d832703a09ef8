"""Keeps connections fewer than the files that this process may open, so that it can always answer,
log and begin other processes.
"""

from contextlib import suppress
from typing import Any
from weakref import WeakSet

from tornado.httpserver import HTTPServer
from tornado.iostream import IOStream

from zoexplore.compute.limits import CONNECTIONS

RESERVE = 100  # open files that are kept for all else


def most() -> int:
    """Return the most connections at a time: `CONNECTIONS`, or what the limit on open files leaves.
    First raise that limit, which begins at a thousand, to the most that the system allows.
    """
    files = -1
    with suppress(ImportError):  # Windows
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        with suppress(OSError, ValueError):  # if the most is stored as inf, not as this number
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files < 0:  # there is no limit
        return CONNECTIONS.value
    return max(min(CONNECTIONS.value, files - RESERVE), 1)


class BoundedServer(HTTPServer):
    """Closes connections beyond the most before any data arrive. The proxy counts those of one
    address.
    """

    def initialize(self, *args: Any, **kwargs: Any) -> None:
        """Tornado's hook in place of a constructor."""
        self.streams, self.most = WeakSet[IOStream](), most()
        super().initialize(*args, **kwargs)

    def handle_stream(self, stream: IOStream, address: tuple[Any, ...]) -> None:
        """Tornado's hook for a new connection."""
        if sum(not each.closed() for each in self.streams) >= self.most:
            return stream.close()
        self.streams.add(stream)
        return super().handle_stream(stream, address)
