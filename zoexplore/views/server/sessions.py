"""Sessions: how many readers a process serves at a time, and an address of them. One too many is told so and slows nobody down.

Whoever asks for a page and never connects to it has a seat for some seconds only.
"""

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from bokeh.document import Document

from zoexplore.views.server.limits import LOADING, LOADING_SECONDS, READERS, READERS_PER_ADDRESS
from zoexplore.views.server.visitors import UNKNOWN, address_of

ALL_TAKEN = "All seats of this server ({most}) are taken."
ADDRESS_TAKEN = "All seats that this server gives to one address ({most}) are taken."
LATER = "They are given back about a minute after a reader closes the page: please try again then."


@dataclass
class Seat:
    """What a session of this address holds; `connected` once its websocket has been there."""

    address: str
    connected: bool = False


_taken: WeakKeyDictionary[Document, Seat] = WeakKeyDictionary()


def taken(address: str | None = None) -> int:
    """How many readers there are now, or how many of one address."""
    return len(_of(address))


def loading(address: str) -> int:
    """How many pages of an address have been served and are not connected yet."""
    return sum(not seat.connected for seat in _of(address))


def _of(address: str | None) -> list[Seat]:
    return [seat for seat in _taken.values() if address in (None, seat.address)]


def full(address: str) -> str:
    """Why there is no seat for a reader from this address; empty where there is one."""
    if taken() >= READERS.value:
        return f"{ALL_TAKEN.format(most=READERS.value)} {LATER}"
    if address != UNKNOWN and taken(address) >= READERS_PER_ADDRESS.value:
        return f"{ADDRESS_TAKEN.format(most=READERS_PER_ADDRESS.value)} {LATER}"
    return ""


def crowded(address: str) -> bool:
    """Whether so many pages of this address are loading that the next one has to wait."""
    return loading(address) >= LOADING.value


def take(document: Document) -> str:
    """Give the session of this document a seat until it ends. Returns why there is none, or nothing."""
    context = document.session_context
    address = address_of(context.request) if context else UNKNOWN
    if why := full(address):
        return why
    _taken[document] = Seat(address)
    document.on_session_destroyed(_give_back)
    return ""


def connected(document: Document) -> None:
    """The websocket of this document's session is there: the page has loaded."""
    if seat := _taken.get(document):
        seat.connected = True


def _give_back(context: Any) -> None:
    _taken.pop(context._document, None)


def end_unless_connected(session: Any) -> None:
    """Have a session end if no websocket comes to it within seconds."""
    asyncio.get_running_loop().call_later(LOADING_SECONDS.value, partial(_end, session))


def _end(session: Any) -> None:
    if not session.destroyed and session.connection_count == 0 and not getattr(_taken.get(session.document), "connected", False):
        session.request_expiration()  # carried out when the server next looks for unused sessions
