"""Processes of one thread each, patience with a busy machine, as many examples as effort asks for,
and what begins first.
"""

import gc
import os
from pathlib import Path

import pytest
from hypothesis import settings

from tests.effort import USUAL, examples, halve

# Before NumPy and PyTorch are loaded: every core has a test process of its own, and threads that
# share it take ten times as long.
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# nothing of what is imported goes: each process would look through it all again and again
gc.disable()

settings.register_profile("effort", examples(USUAL))
settings.load_profile("effort")

TESTS = Path(__file__).parent
# Folders whose tests take long or wait for pages and other processes: they begin first, so that
# nothing long is left for the end.
FIRST = ("browser", "notebooks", "attacks", "training", "server", "compute", "views", "truth")
# Claims about numbers, each with up to a hundred cases that differ in numbers alone.
OF_NUMBERS = (
    "truth",
    "bounds",
    "properties",
    "mechanism/test_paths.py",
    "mechanism/test_sampling.py",
    "mechanism/test_mid_run.py",
    "mechanism/test_scale.py",
    "mechanism/test_varied_losses.py",
    "training/test_law.py",
    "training/test_engine.py",
    "training/test_dpsgd.py",
    "test_export.py",
    "test_planning.py",
    "test_hiding.py",
    "test_several.py",
    "training/test_models.py",
)
# Of the browser's: after these a page has every view, and whatever is done there takes longer.
LAST = ("test_accessible.py", "test_center.py")


@pytest.fixture(scope="session", autouse=True)
def patient():
    """The processes that compute for figures stand back for all else: on a busy machine a call may
    take as long as it does.
    """
    from zoexplore.compute.ask import pool

    pool().longest = 3600.0  # seconds


def pytest_collection_finish():
    gc.freeze()
    gc.enable()
    gc.set_threshold(
        2000, 10, 50
    )  # a page's models outlive many a look, and each takes a tenth of a second


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Put what is to begin first first; what shares a server stays together in one process."""
    places = {TESTS / folder: place for place, folder in enumerate(FIRST)}
    items.sort(
        key=lambda item: (
            places.get(item.path.parent, len(FIRST)),
            item.path.name in LAST,
            item.path,
        )
    )
    files = dict.fromkeys(item.path for item in items)  # thousands of tests are in some hundred
    of_numbers = {
        path for path in files if any(path.is_relative_to(TESTS / part) for part in OF_NUMBERS)
    }
    halve([item for item in items if item.path in of_numbers])
    groups = {path: pytest.mark.xdist_group(group_of(path)) for path in files}
    for item in items:
        item.add_marker(groups[item.path])


def group_of(path):
    """Attacks share a server, the browser's tests that and their page, and others what their file
    has.
    """
    return (
        path.parent.name
        if path.parent.name in ("attacks", "browser")
        else str(path.relative_to(TESTS))
    )
