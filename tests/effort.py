"""How hard hypothesis tries: `ZOEXPLORE_EFFORT=20` draws twenty times the examples, and others in every run."""

import os

from hypothesis import HealthCheck, settings

EFFORT = float(os.environ.get("ZOEXPLORE_EFFORT", 1))
USUAL = 50  # examples of a test that asks for no number of its own


def times(count: int) -> int:
    """How often to repeat what needs `count` repetitions where no effort is asked for."""
    return max(1, round(count * EFFORT))


def examples(count: int) -> settings:
    """Settings for a test that draws `count` examples where no effort is asked for, the same in every run."""
    return settings(
        max_examples=times(count),
        deadline=None,  # a kernel may be compiled by its first call
        derandomize=EFFORT == 1,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
