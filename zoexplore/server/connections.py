"""Connections: how many one address may hold, counted before any data arrive."""

from typing import Any
from weakref import WeakKeyDictionary

from tornado.httpserver import HTTPServer
from tornado.iostream import IOStream

from zoexplore.compute.address import UNKNOWN, counted_address
from zoexplore.compute.limits import CONNECTIONS_PER_ADDRESS


class CountingServer(HTTPServer):
    """Closes connections beyond those that an address may hold; behind a proxy, whose address all have, the proxy counts."""

    refused = 0  # connections, by all such servers

    def initialize(self, *args: Any, **kwargs: Any) -> None:
        """Tornado's hook in place of a constructor."""
        self._addresses: WeakKeyDictionary[IOStream, str] = WeakKeyDictionary()
        super().initialize(*args, **kwargs)

    def handle_stream(self, stream: IOStream, address: tuple) -> None:
        """Tornado's hook for a new connection."""
        host = counted_address(address[0] if address else UNKNOWN)  # a unix socket has none
        held = sum(of == host and not each.closed() for each, of in self._addresses.items())
        if held >= CONNECTIONS_PER_ADDRESS.value and not self.xheaders:
            CountingServer.refused += 1
            return stream.close()
        self._addresses[stream] = host
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
    except (OSError, ValueError):  # where the most is said to be infinite and is not
        return
