"""How hard hypothesis tries: `ZOEXPLORE_EFFORT=20` draws twenty times the examples, and others in every run."""

import os

from hypothesis import HealthCheck, settings

EFFORT = float(os.environ.get("ZOEXPLORE_EFFORT", 1))
USUAL = 50  # examples of a test that asks for no number of its own


def examples(count: int) -> settings:
    """Settings for a test that draws `count` examples where no effort is asked for, the same in every run."""
    return settings(
        max_examples=max(1, round(count * EFFORT)),
        deadline=None,  # a kernel may be compiled by its first call
        derandomize=EFFORT == 1,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
