"""The address that pays for what a reader has the server do."""

from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any

import panel as pn

UNKNOWN = "unknown"
HOUSEHOLD = 48  # bits of an IPv6 address that its owner does not choose


def counted_address(given: str) -> str:
    """An address as it is counted: whoever holds one IPv6 address may hold its whole /48 network, so that counts as one."""
    try:
        address = ip_address(given.partition("%")[0])
    except ValueError:  # a unix socket has none
        return UNKNOWN
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ip_network((address, HOUSEHOLD), strict=False))


def address_of(request: Any) -> str:
    """The address of a request; behind a proxy the proxy's word, if the server was started to believe it."""
    return counted_address(getattr(request, "remote_ip", None) or UNKNOWN)


def own_address() -> str | None:
    """The address of the session in which this is called; None outside of any."""
    context = pn.state.curdoc.session_context if pn.state.curdoc else None
    return address_of(context.request) if context and context.request else None
