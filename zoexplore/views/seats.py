"""Seats: how many readers one process serves at a time, so that one too many is told so and does not slow down all others."""

import os
from typing import Any
from weakref import WeakSet

from bokeh.document import Document

VARIABLE = "ZOEXPLORE_READERS"
DEFAULT = 200  # a slider's move takes a core some 40 ms, and 10 where its values are remembered
FULL = (
    "<h1>zoexplore</h1><p>All seats of this server ({most}) are taken. They are given back about a minute after a reader "
    "closes the page: please try again then.</p>"
)

_taken: WeakSet[Document] = WeakSet()


def most() -> int:
    """How many readers at a time, from the environment variable ZOEXPLORE_READERS.

    Raises:
        ValueError: it is set to something else than a whole number above 0.
    """
    given = os.environ.get(VARIABLE, str(DEFAULT))
    if not (given.isascii() and given.isdigit() and int(given)):
        raise ValueError(f"{VARIABLE} = {given!r} is not allowed: give a whole number above 0")
    return int(given)


def taken() -> int:
    """How many readers there are now."""
    return len(_taken)


def take(document: Document) -> bool:
    """Whether there is a seat for the session of this document, which then has it until it ends."""
    if taken() >= most():
        return False
    _taken.add(document)
    document.on_session_destroyed(_give_back)
    return True


def _give_back(context: Any) -> None:
    _taken.discard(context._document)
