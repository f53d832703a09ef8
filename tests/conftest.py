"""One thread a process, nothing that stays is looked through for garbage, and hypothesis tries as hard as effort asks."""

import gc
import os

from hypothesis import settings

from tests.effort import USUAL, examples

# Before NumPy and PyTorch are loaded: every core has a test process of its own, and threads that share it take ten times as long.
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

settings.register_profile("effort", examples(USUAL))
settings.load_profile("effort")


def pytest_collection_finish():
    """A million objects of modules and tests stay to the end: a collection that goes through them takes most of a second."""
    gc.freeze()
