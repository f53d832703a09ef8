"""Monitors the server: logs go to standard error, /liveness says that the process answers, and
/readiness says whether the process has room.
"""

import logging
import re
from functools import cache
from typing import Any

from tornado.web import RequestHandler
from tornado.websocket import WebSocketClosedError

from zoexplore.server.seats import seats

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
# loggers with handlers of their own; Panel's logger also has a level that lets everything pass
ELSEWHERE = "bokeh", "panel"
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]")


class Health(RequestHandler):
    """Tells at /liveness that the process answers, and at /readiness whether a new reader would get
    a page: the answer is 503 if all seats are taken or the process is ending. Both answers also
    give the number of readers, and of those whose page is not made yet.
    """

    def get(self, asked: str) -> None:
        """Answer /liveness or /readiness."""
        ready = seats.free
        self.set_status(200 if ready or asked == "liveness" else 503)
        self.write({"ready": ready, "readers": len(seats.taken), "waiting": seats.waiting})

    head = get


PATHS: list[tuple[Any, ...]] = [("/(liveness|readiness)", Health)]


@cache  # so that a process does this once
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
    """Keeps visitors from forging a line of the log or sending commands to a terminal. It indents
    all lines of a message but the first, and escapes control characters.
    """

    def format(self, record: logging.LogRecord) -> str:
        return CONTROL.sub(lambda found: repr(found[0])[1:-1], super().format(record)).replace(
            "\n", "\n    "
        )


def discreet(record: logging.LogRecord) -> bool:
    """Keep the contents of requests out of the log. Tornado's message about a request is cut to the
    words that are always the same; the error and its traceback stay. A reader who leaves during a
    transfer is not logged.
    """
    if record.name.startswith("tornado") and record.args:
        record.msg, record.args = (
            re.sub(r"\s*%\S+\s*", " ", record.msg).strip(" :") or "a request failed",
            (),
        )
    return not (record.exc_info and isinstance(record.exc_info[1], WebSocketClosedError))
