"""Keeps the number of connections below the number of files that this process may open, so that the
process can always answer, log and start other processes.
"""

from contextlib import suppress
from typing import Any
from weakref import WeakSet

from tornado.httpserver import HTTPServer
from tornado.iostream import IOStream

from zoexplore.compute.limits import CONNECTIONS

RESERVE = 100  # open files that are reserved for everything but connections


def most() -> int:
    """Return how many connections may be open at a time: `CONNECTIONS`, or fewer if the limit on
    open files leaves room for fewer. First raise that limit to the most that the system allows.
    """
    files = -1
    with suppress(ImportError):  # Windows
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        # a system may report that there is no limit, and still refuse to set none
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files < 0:  # there is no limit
        return CONNECTIONS.value
    return max(min(CONNECTIONS.value, files - RESERVE), 1)


class BoundedServer(HTTPServer):
    """Closes connections beyond the limit before any data arrive. Limiting the connections of one
    address is left to the proxy.
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
