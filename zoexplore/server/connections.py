"""Connections: how many one address may hold, before any of them has said anything."""

import logging
from typing import Any
from weakref import WeakSet

from tornado.httpserver import HTTPServer
from tornado.iostream import IOStream

from zoexplore.compute.address import UNKNOWN
from zoexplore.limits import CONNECTIONS_PER_ADDRESS

_LOG = logging.getLogger("zoexplore")
refused = 0  # connections


class CountingServer(HTTPServer):
    """Closes connections beyond those that an address may hold; behind a proxy, whose address all have, the proxy counts."""

    def initialize(self, *args: Any, **kwargs: Any) -> None:
        """Tornado's hook in place of a constructor."""
        self._behind_proxy = bool(kwargs.get("xheaders"))
        self._open: dict[str, WeakSet[IOStream]] = {}
        super().initialize(*args, **kwargs)

    def handle_stream(self, stream: IOStream, address: tuple) -> None:
        """Tornado's hook for a new connection."""
        global refused
        host = str(address[0]) if address else UNKNOWN  # a unix socket has none
        streams = self._open.setdefault(host, WeakSet())
        if not self._behind_proxy and len(streams) >= CONNECTIONS_PER_ADDRESS.value:
            self._open = {of: held for of, held in self._open.items() if any(not each.closed() for each in held)}
            streams = self._open[host] = WeakSet(each for each in streams if not each.closed())
            if len(streams) >= CONNECTIONS_PER_ADDRESS.value:
                refused += 1
                return stream.close()
        streams.add(stream)
        return super().handle_stream(stream, address)


def allow_open_files() -> None:
    """Let this process hold as many connections as the system lets it, in place of the thousand that it begins with."""
    try:
        import resource
    except ImportError:  # Windows
        return
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    except (OSError, ValueError) as error:  # where the most is said to be infinite and is not
        _LOG.info("the number of open files stays as it is: %s", error)
