"""Connections: fewer than the files that this process may open, so that it can always answer, log
and begin others.
"""

from contextlib import suppress
from typing import Any
from weakref import WeakSet

from tornado.httpserver import HTTPServer
from tornado.iostream import IOStream

from zoexplore.compute.limits import CONNECTIONS

RESERVE = 100  # open files for all else


def most() -> int:
    """The most connections at a time: `CONNECTIONS`, or what this process's limit on open files
    leaves, which is raised to the
    most that the system allows: a thousand at first.
    """
    files = -1
    with suppress(ImportError):  # Windows
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        with suppress(OSError, ValueError):  # where the most is stored as inf, not as this number
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files < 0:  # without a limit
        return CONNECTIONS.value
    return max(min(CONNECTIONS.value, files - RESERVE), 1)


class BoundedServer(HTTPServer):
    """Closes connections beyond the most before any data arrive. Those of one address are the
    proxy's to count.
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
