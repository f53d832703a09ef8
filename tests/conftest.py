"""Processes of one thread each, little garbage collection, kernels compiled once, and as many examples as effort asks for."""

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from tests.effort import USUAL, examples

# Before NumPy and PyTorch are loaded: every core has a test process of its own, and threads that share it take ten times as long.
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# jsonschema, with which notebooks are checked, would build a grammar of international addresses for two seconds in every process.
sys.modules["rfc3987_syntax"] = None

settings.register_profile("effort", examples(USUAL))
settings.load_profile("effort")

# While modules are imported and tests are collected nothing becomes garbage that is worth a look: a quarter of the time goes by.
gc.disable()

TESTS = Path(__file__).parent
# Folders whose tests take long or wait for pages and other processes: they begin first, so that nothing long is left for the end.
FIRST = ("browser", "notebooks", "attacks", "training", "server", "compute", "views", "truth")
LAST = (
    "test_accessible.py",
    "test_center.py",
)  # of the browser's: after them a page has every view, and whatever is done there takes longer
BROWSER = sorted(path.name for path in (TESTS / "browser").glob("test_*.py"))
COMPILING = pytest.StashKey[subprocess.Popen]()


@pytest.fixture(scope="session", autouse=True)
def patient():
    """The processes that compute for figures stand back for all else: on a busy machine a call may take as long as it does."""
    from zoexplore.compute.ask import pool

    pool().longest = 3600.0  # seconds


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Each process begins with other folders, and finds the rest compiled by the others: assertions are rewritten once."""
    report = yield
    if collector.path == TESTS and (worker := os.environ.get("PYTEST_XDIST_WORKER", "gw0")) != "gw0":
        first = len(report.result) * int(worker[2:]) // int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
        report.result = report.result[first:] + report.result[:first]
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Put what is to begin first first; what shares a file, and its servers with it, stays together."""
    places = {TESTS / folder: place for place, folder in enumerate(FIRST)}
    items.sort(key=lambda item: (places.get(item.path.parent, len(FIRST)), item.path.name in LAST, item.path))


def pytest_collection_finish():
    """A million objects of modules and tests stay to the end: a collection that goes through them takes most of a second."""
    gc.freeze()
    gc.enable()


def pytest_xdist_auto_num_workers():
    """Two more than cores: tests that wait for a page or for another process leave theirs to the rest."""
    return 2 + (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def pytest_xdist_make_scheduler(config, log):
    """Files are shared out, but for the browser's and the attacks': a process that takes one of them starts what they share."""
    from xdist.scheduler import LoadFileScheduling

    class Halves(LoadFileScheduling):
        def _split_scope(self, nodeid):
            file = super()._split_scope(nodeid)
            if file.startswith("tests/attacks/"):
                return "the attacks"
            if file.startswith("tests/browser/"):
                return f"half {BROWSER.index(Path(file).name) // 2 % 2} of the browser's"  # which take as long as each other
            return file

    return Halves(config, log) if config.option.dist == "loadfile" else None


def pytest_xdist_setupnodes(config):
    """Compile while the test processes collect."""
    config.stash[COMPILING] = subprocess.Popen([sys.executable, "-m", "tests.compiled"], cwd=TESTS.parent)


def pytest_xdist_node_collection_finished(node):
    """Nothing begins before it is compiled: whatever does would compile the same."""
    if node.config.stash[COMPILING].wait():
        pytest.exit("python -m tests.compiled has failed: see above", returncode=1)
