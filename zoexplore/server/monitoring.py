"""Monitoring: logs go to the standard error; /liveness says that the process answers, /readiness
that it has room.
"""

import logging
import re
from functools import cache
from typing import Any

from tornado.web import RequestHandler
from tornado.websocket import WebSocketClosedError

from zoexplore.server.seats import seats

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
# come with handlers of their own, and Panel with a level at which it logs all that it does
ELSEWHERE = "bokeh", "panel"
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]")


class Health(RequestHandler):
    """Whether the process answers, or whether a new reader would get a page: 503 if all seats are
    taken or the process is ending. It counts readers, and those whose page is not made yet.
    """

    def get(self, asked: str) -> None:
        """Answer /liveness or /readiness."""
        ready = seats.free
        self.set_status(200 if ready or asked == "liveness" else 503)
        self.write({"ready": ready, "readers": len(seats.taken), "waiting": seats.waiting})

    head = get


PATHS: list[tuple[Any, ...]] = [("/(liveness|readiness)", Health)]


@cache  # so that it is done once a process
def to_standard_error() -> None:
    """Log to standard error; access logs are left to a proxy."""
    handler = logging.StreamHandler()
    handler.setFormatter(Harmless(FORMAT))
    handler.addFilter(discreet)
    logging.getLogger().addHandler(handler)
    for name in ELSEWHERE:
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
        logger.setLevel(logging.NOTSET)
    logging.getLogger("tornado.access").setLevel(logging.CRITICAL)


class Harmless(logging.Formatter):
    """Keeps visitors from starting a line or commanding a terminal: it indents all lines but the
    first, and writes control characters out.
    """

    def format(self, record: logging.LogRecord) -> str:
        return CONTROL.sub(lambda found: repr(found[0])[1:-1], super().format(record)).replace(
            "\n", "\n    "
        )


def discreet(record: logging.LogRecord) -> bool:
    """Log no request: of what Tornado says of one only the error, where it was raised, and words
    that are always the same. And nothing of a reader who leaves during a transfer.
    """
    if record.name.startswith("tornado") and record.args:
        record.msg, record.args = (
            re.sub(r"\s*%\S+\s*", " ", record.msg).strip(" :") or "a request failed",
            (),
        )
    return not (record.exc_info and isinstance(record.exc_info[1], WebSocketClosedError))
