"""Monitoring: logs and metrics for an operator. Logs go to the standard error; /liveness says that
the process answers, /readiness that it has room, and /metrics gives numbers to Prometheus.
"""

import logging
import re
from collections.abc import Callable
from functools import cache
from typing import Any

from tornado.web import RequestHandler
from tornado.websocket import WebSocketClosedError

from zoexplore.compute.ask import pool
from zoexplore.compute.limits import READERS
from zoexplore.compute.pool import trainings
from zoexplore.server.seats import seats

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
# come with handlers of their own, and Panel with a level at which it logs all that it does
ELSEWHERE = "bokeh", "panel"
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]")

# By the name after `zoexplore_`; values whose name ends in `_total` only grow.
METRICS: dict[str, Callable[[], float]] = {
    "readers": lambda: len(seats.taken),
    "readers_most": lambda: READERS.value,
    "readers_refused_total": lambda: seats.refused,
    "pages_waiting": lambda: seats.waiting,
    "calls_running": lambda: pool().counts()[0],
    "calls_waiting": lambda: pool().counts()[1],
    "calls_waited_seconds_total": lambda: pool().waited,
    "trainings_running": lambda: trainings().counts()[0],
    "trainings_waiting": lambda: trainings().counts()[1],
    "worker_deaths_total": lambda: pool().deaths,
}


class Health(RequestHandler):
    """Whether the process answers, and whether a new reader would get a page: 503 if all seats are
    taken or the process is ending.
    """

    def initialize(self, name: str, holds: Callable[[], bool]) -> None:
        """Tornado's hook for the arguments of a path."""
        self.name, self.holds = name, holds

    def get(self) -> None:
        held = self.holds()
        self.set_status(200 if held else 503)
        self.write({self.name: held})

    head = get


class Metrics(RequestHandler):
    """The metrics, counts of no reader in particular; a proxy keeps them from visitors."""

    def get(self) -> None:
        self.set_header("Content-Type", "text/plain; version=0.0.4")
        for name, read in METRICS.items():
            kind = "counter" if name.endswith("_total") else "gauge"
            self.write(f"# TYPE zoexplore_{name} {kind}\nzoexplore_{name} {read()}\n")


PATHS: list[tuple[Any, ...]] = [
    ("/liveness", Health, {"name": "alive", "holds": lambda: True}),
    ("/readiness", Health, {"name": "ready", "holds": lambda: seats.free}),
    ("/metrics", Metrics),
]


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
