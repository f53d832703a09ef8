"""Metrics: what an operator watches, for Prometheus, at /metrics. Only this machine may read them."""

import asyncio
from collections.abc import Iterator
from ipaddress import ip_address

from prometheus_client import CollectorRegistry, Histogram, ProcessCollector
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector
from tornado.web import HTTPError, RequestHandler

from zoexplore.views.compute import long
from zoexplore.views.compute.ask import pool
from zoexplore.views.server import sessions
from zoexplore.views.server.handlers import admission
from zoexplore.views.server.limits import READERS

LOOK = 0.5  # seconds between two looks at how late the event loop is

REGISTRY = CollectorRegistry()
LATE = Histogram(
    "zoexplore_loop_late_seconds",
    "How late the event loop comes to what is due: what a reader's move waits for before anything is computed",
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10), registry=REGISTRY,
)  # fmt: skip


class Counts(Collector):
    """How many of what there are, counted when Prometheus asks."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """One gauge after another."""
        running, waiting = pool().counts()
        for name, words, value in (
            ("readers", "Sessions", sessions.taken()),
            ("readers_most", "Sessions that there is room for", READERS.value),
            ("pages_waiting", "Requests for a page that wait for their turn", admission.waiting()),
            ("calls_running", "Computations that are going on in worker processes", running),
            ("calls_waiting", "Computations that wait for a worker process", waiting),
            ("trainings", "Training runs that are going on", long.going_on()),
        ):
            yield GaugeMetricFamily(f"zoexplore_{name}", words, value=value)


class Metrics(RequestHandler):
    """The metrics, for whoever asks from this machine; for all others there is nothing here."""

    def get(self) -> None:
        """All of them, as text."""
        if not _of_this_machine(self.request.remote_ip):
            raise HTTPError(404)
        self.set_header("Content-Type", CONTENT_TYPE_LATEST)
        self.write(generate_latest(REGISTRY))


REGISTRY.register(Counts())
ProcessCollector(registry=REGISTRY)


def _of_this_machine(address: str | None) -> bool:
    try:
        return ip_address((address or "").partition("%")[0]).is_loopback
    except ValueError:  # a unix socket has none
        return False


async def watch() -> None:
    """Measure again and again how late the event loop is."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + LOOK
        await asyncio.sleep(LOOK)
        LATE.observe(max(loop.time() - due, 0.0))
