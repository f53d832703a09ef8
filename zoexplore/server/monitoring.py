"""Monitoring: what an operator sees. Logs go to the standard error; /liveness says that the process answers, /readiness
that it has room, and at /metrics, for this machine and networks that are named, are numbers for Prometheus.

A visitor can make a callback fail as often as they like. Its traceback is worth reading once, and how often it came: what goes
wrong again and again is logged once a minute.
"""

import asyncio
import logging
import os
import re
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterator
from functools import cache
from ipaddress import ip_address, ip_network

from prometheus_client import CollectorRegistry, Histogram, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from tornado.web import HTTPError, RequestHandler

from zoexplore.compute.ask import pool
from zoexplore.compute.pool import LongWork
from zoexplore.limits import PREFIX, READERS
from zoexplore.server import connections
from zoexplore.server.gate import gate
from zoexplore.server.sessions import admission, collect, taken

AGAIN = 60.0  # seconds until the same is told again
MOST_KINDS = 1000  # kinds of what goes wrong that are kept apart; they depend on our code, and not on what visitors send
LONGEST_ENTRY = 20_000  # characters of what is logged of one: part of it may be of a visitor's writing
FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
ELSEWHERE = "bokeh", "panel"  # which come with handlers of their own, and Panel with a level at which it tells whatever it does
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]")
ACCESS_LOG = PREFIX + "ACCESS_LOG"  # any text: requests are logged, with the addresses of readers
METRICS_FROM = PREFIX + "METRICS_FROM"  # networks that may read the metrics beside this machine, as in "10.0.0.0/8 fd00::/8"
LOOK = 0.1  # seconds between two looks at how late the event loop is

REGISTRY = CollectorRegistry()
LATE = Histogram(
    "zoexplore_loop_late_seconds",
    "How late the event loop comes to what is due: what a reader's move waits for before anything is computed",
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10), registry=REGISTRY,
)  # fmt: skip
ProcessCollector(registry=REGISTRY)
_LATELY: dict[str, tuple[str, Callable[[], float]]] = {
    "readers": ("Sessions", taken),
    "readers_most": ("Sessions that there is room for", lambda: READERS.value),
    "pages_waiting": ("Requests for a page that wait for their turn", admission.waiting),
    "calls_running": ("Computations that are going on in worker processes", lambda: pool().counts()[0]),
    "calls_waiting": ("Computations that wait for a worker process", lambda: pool().counts()[1]),
    "trainings": ("Training runs that are going on", lambda: LongWork.counts()[0]),
    "trainings_waiting": ("Training runs that wait for a place", lambda: LongWork.counts()[1]),
}
_EVER: dict[str, tuple[str, Callable[[], float]]] = {
    "pages_refused": ("Requests for a page that were told to come back", lambda: admission.refused),
    "connections_refused": ("Connections beyond those of one address", lambda: connections.refused),
    "messages": ("Messages of readers, and stages of pages, that the event loop has taken up", lambda: gate.passed),
    "messages_waited_seconds": ("Seconds that they waited for their turn", lambda: gate.waited),
    "calls": ("Computations that worker processes have begun", lambda: pool().begun),
    "calls_waited_seconds": ("Seconds that they waited for their turn", lambda: pool().waited),
    "worker_deaths": ("Worker processes that ended, or were ended, at their work", lambda: pool().deaths),
}


class Numbers:
    """What is read of the parts of the server whenever somebody asks."""

    def collect(self) -> Iterator[Metric]:
        """Prometheus's hook."""
        for name, (words, read) in _LATELY.items():
            yield GaugeMetricFamily(f"zoexplore_{name}", words, read())
        for name, (words, read) in _EVER.items():
            yield CounterMetricFamily(f"zoexplore_{name}", words, read())


REGISTRY.register(Numbers())


def at_work() -> bool:
    """Whether pages or computations have begun and not ended."""
    return bool(pool().counts()[0] or admission.making)


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
    access = logging.getLogger("tornado.access")  # who asked for what: up to a proxy to write down, unless this is asked to
    access.propagate = False
    if os.environ.get(ACCESS_LOG):
        access.setLevel(logging.INFO)
        plain = logging.StreamHandler()
        plain.setFormatter(Short(FORMAT))
        access.addHandler(plain)
    else:
        access.addHandler(logging.NullHandler())


class Short(logging.Formatter):
    """Leaves out the middle of what is too long: a traceback is told by both its ends. What a visitor may have written begins no
    line of its own and commands no terminal: all lines of an entry but the first are indented, and control characters written
    out.
    """

    def format(self, record: logging.LogRecord) -> str:
        text, half = super().format(record), LONGEST_ENTRY // 2
        text = text if len(text) <= LONGEST_ENTRY else f"{text[:half]} [...] {text[-half:]}"
        return CONTROL.sub(lambda found: repr(found[0])[1:-1], text).replace("\n", "\n    ")


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


class Ready(Alive):
    """Whether somebody who came now would get a page: 503 where all seats are taken, many wait, or the process ends."""

    def get(self) -> None:
        ready = admission.ready()
        self.set_status(200 if ready else 503)
        self.set_header("Cache-Control", "no-store")
        self.write({"ready": ready})

    head = get


class Metrics(RequestHandler):
    """The metrics, for whoever asks from this machine or a network that is named; for all others there is nothing here."""

    def get(self) -> None:
        if not _may_read(self.request.remote_ip):
            raise HTTPError(404)
        self.set_header("Content-Type", CONTENT_TYPE_LATEST)
        self.write(generate_latest(REGISTRY))


def _may_read(given: str | None) -> bool:
    try:
        address = ip_address((given or "").partition("%")[0])
    except ValueError:  # a unix socket has none
        return False
    networks = map(ip_network, os.environ.get(METRICS_FROM, "").split())
    return address.is_loopback or any(address in network for network in networks)


PATHS = [("/liveness", Alive), ("/readiness", Ready), ("/metrics", Metrics)]


async def watch() -> None:
    """Look again and again how late the event loop is, and whether it is time to collect memory."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + LOOK
        collect(loop.time())
        await asyncio.sleep(LOOK)
        late = max(loop.time() - due, 0.0)
        LATE.observe(late)
