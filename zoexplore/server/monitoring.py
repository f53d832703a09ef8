"""Monitoring: what an operator sees. Logs go to the standard error; /liveness says that the process answers, and at /metrics, on
this machine only, are numbers for Prometheus.

A visitor can make a callback fail as often as they like. Its traceback is worth reading once, and how often it came: what goes
wrong again and again is logged once a minute.
"""

import asyncio
import logging
import time
import traceback
from collections import Counter, deque
from functools import cache
from ipaddress import ip_address

from prometheus_client import CollectorRegistry, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from tornado.web import HTTPError, RequestHandler

from zoexplore.compute.ask import pool
from zoexplore.compute.pool import LongWork
from zoexplore.limits import READERS
from zoexplore.server.sessions import admission, collect, taken
from zoexplore.server.websocket import pace

AGAIN = 60.0  # seconds until the same is told again
MOST_KINDS = 1000  # kinds of what goes wrong that are kept apart; they depend on our code, and not on what visitors send
LONGEST_ENTRY = 20_000  # characters of what is logged of one: part of it may be of a visitor's writing
FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
ELSEWHERE = "bokeh", "panel"  # which come with handlers of their own, and Panel with a level at which it tells whatever it does
LOOK = 0.1  # seconds between two looks at how late the event loop is

REGISTRY = CollectorRegistry()
LATE = Histogram(
    "zoexplore_loop_late_seconds",
    "How late the event loop comes to what is due: what a reader's move waits for before anything is computed",
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10), registry=REGISTRY,
)  # fmt: skip
ProcessCollector(registry=REGISTRY)
for _name, _words, _count in (
    ("readers", "Sessions", taken),
    ("readers_most", "Sessions that there is room for", lambda: READERS.value),
    ("pages_waiting", "Requests for a page that wait for their turn", admission.waiting),
    ("calls_running", "Computations that are going on in worker processes", lambda: pool().counts()[0]),
    ("calls_waiting", "Computations that wait for a worker process", lambda: pool().counts()[1]),
    ("trainings", "Training runs that are going on", lambda: LongWork.counts()[0]),
):
    Gauge(f"zoexplore_{_name}", _words, registry=REGISTRY).set_function(_count)


@cache  # so that it is done once a process
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
        text, half = super().format(record), LONGEST_ENTRY // 2
        return text if len(text) <= LONGEST_ENTRY else f"{text[:half]} [...] {text[-half:]}"


class Sparing(logging.Filter):
    """Lets what one line of code logs of one kind of error through once a minute, with how many more there were.

    Errors are of one kind if they are of one type and were raised by one line: what they say may be up to a visitor.
    """

    def __init__(self) -> None:
        super().__init__()
        self._told: dict[tuple, float] = {}  # when each kind was last told
        self._since: Counter[tuple] = Counter()  # how many of it have come since

    def filter(self, record: logging.LogRecord) -> bool:
        kind, now = _kind(record), time.monotonic()
        if kind in self._told and now < self._told[kind] + AGAIN:
            self._since[kind] += 1
            return False
        if len(self._told) >= MOST_KINDS:
            self._told.clear()
            self._since.clear()
        self._told[kind] = now
        if more := self._since.pop(kind, 0):
            record.msg, record.args = f"{record.getMessage()} ({more} times more since this was last told)", ()
        return True


def _kind(record: logging.LogRecord) -> tuple:
    """Which line of code logs, and of what: the type of an error and the line that raised it."""
    error = record.exc_info[1] if record.exc_info else None
    raised = deque(traceback.walk_tb(error.__traceback__ if error else None), 1)
    lines = [(frame.f_code.co_filename, line) for frame, line in raised]
    return record.name, record.pathname, record.lineno, type(error), *lines


class Alive(RequestHandler):
    """Whether the process answers at all; without making a session, as Panel's own can be asked to."""

    def get(self) -> None:
        self.set_header("Cache-Control", "no-store")
        self.write({"alive": True})

    head = get


class Metrics(RequestHandler):
    """The metrics, for whoever asks from this machine; for all others there is nothing here."""

    def get(self) -> None:
        if not _of_this_machine(self.request.remote_ip):
            raise HTTPError(404)
        self.set_header("Content-Type", CONTENT_TYPE_LATEST)
        self.write(generate_latest(REGISTRY))


def _of_this_machine(address: str | None) -> bool:
    try:
        return ip_address((address or "").partition("%")[0]).is_loopback
    except ValueError:  # a unix socket has none
        return False


PATHS = [("/liveness", Alive), ("/metrics", Metrics)]


async def watch() -> None:
    """Look again and again how late the event loop is, and whether it is time to collect memory."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + LOOK
        collect(loop.time())
        await asyncio.sleep(LOOK)
        late = max(loop.time() - due, 0.0)
        LATE.observe(late)
        pace.note(late)
