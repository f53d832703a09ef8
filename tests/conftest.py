"""A process more than cores, of one thread each, little garbage collection, and as many examples as effort asks for."""

import gc
import os
import sys

from hypothesis import settings

from tests.effort import USUAL, examples

# Before NumPy and PyTorch are loaded: every core has a test process of its own, and threads that share it take ten times as long.
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# jsonschema, with which notebooks are checked, would build a grammar of international addresses for two seconds in every process.
sys.modules["rfc3987_syntax"] = None

settings.register_profile("effort", examples(USUAL))
settings.load_profile("effort")


def pytest_collection_finish():
    """A million objects of modules and tests stay to the end: a collection that goes through them takes most of a second."""
    gc.freeze()


def pytest_xdist_auto_num_workers():
    """Tests that wait for a page or for another process leave a core to the rest."""
    return 1 + (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
