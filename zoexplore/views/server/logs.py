"""Logs: to the standard error, and what goes wrong again and again once a minute.

A visitor can make a callback fail as often as they like. Its traceback is worth reading once, and how often it came.
"""

import logging
import time
import traceback
from collections import Counter
from functools import cache
from types import TracebackType

AGAIN = 60.0  # seconds until the same is told again
MOST = 1000  # kinds of what goes wrong that are kept apart; what goes wrong depends on our code, and not on what visitors send
LONGEST = 20_000  # characters of one of them: part of it may be of a visitor's writing
FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
ELSEWHERE = "bokeh", "panel"  # which come with handlers of their own, and Panel with a level at which it tells whatever it does


@cache
def to_standard_error() -> None:
    """Have this process log there, sparingly."""
    handler = logging.StreamHandler()
    handler.setFormatter(Short(FORMAT))
    handler.addFilter(Sparing())
    logging.getLogger().addHandler(handler)
    for name in ELSEWHERE:
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
        logger.setLevel(logging.NOTSET)
    access = logging.getLogger("tornado.access")  # who asked for what is up to the proxy to write down, or not
    access.propagate = False
    access.addHandler(logging.NullHandler())


class Short(logging.Formatter):
    """Leaves out the middle of what is too long: a traceback is told by both its ends."""

    def format(self, record: logging.LogRecord) -> str:
        """The lines of a record."""
        text, half = super().format(record), LONGEST // 2
        return text if len(text) <= LONGEST else f"{text[:half]} [...] {text[-half:]}"


class Sparing(logging.Filter):
    """Lets what one line of code logs of one kind of error through once a minute, with how many more there were.

    Errors are of one kind if they are of one type and were raised by one line: what they say may be up to a visitor.
    """

    def __init__(self) -> None:
        super().__init__()
        self._told: dict[tuple, float] = {}  # when each kind was last told
        self._since: Counter[tuple] = Counter()  # how many of it have come since

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to log this."""
        kind, now = _kind(record), time.monotonic()
        if kind in self._told and now < self._told[kind] + AGAIN:
            self._since[kind] += 1
            return False
        if len(self._told) >= MOST:
            self._told.clear()
            self._since.clear()
        self._told[kind] = now
        if more := self._since.pop(kind, 0):
            record.msg, record.args = f"{record.getMessage()} ({more} times more since this was last told)", ()
        return True


def _kind(record: logging.LogRecord) -> tuple:
    """Which line of code logs, and of what: the type of an error and the line that raised it."""
    error = record.exc_info[1] if record.exc_info else None
    return record.name, record.pathname, record.lineno, type(error), _raised_at(error.__traceback__ if error else None)


def _raised_at(trace: TracebackType | None) -> tuple[str, int] | None:
    last = None
    for frame, line in traceback.walk_tb(trace):
        last = frame.f_code.co_filename, line
    return last
