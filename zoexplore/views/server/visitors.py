"""Visitors: which of them are one, as far as a server can tell."""

from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any

UNKNOWN = "unknown"


def address_of(request: Any) -> str:
    """The address that a request counts against.

    Whoever holds one IPv6 address holds its whole /64 network, so that counts as one. Behind a proxy this is the proxy's word, if
    the server was started to believe it.
    """
    given = getattr(request, "remote_ip", None) or UNKNOWN
    try:
        address = ip_address(given.partition("%")[0])
    except ValueError:  # a unix socket has none
        return UNKNOWN
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ip_network((address, 64), strict=False))
