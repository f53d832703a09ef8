"""How hard tests try: `ZOEXPLORE_EFFORT=20` draws twenty times the examples, others in every run;
and which cases can wait.
"""

import os
from collections import defaultdict
from math import ceil
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

EFFORT = float(os.environ.get("ZOEXPLORE_EFFORT", 1))
USUAL = 50  # examples of a test that asks for no number of its own
# share of the examples where they are the same in every run, which finds little after its first
# time
REPEATED = 0.1


def times(count: int) -> int:
    """How often to repeat what needs `count` repetitions where no effort is asked for."""
    return max(1, round(count * EFFORT))


def examples(count: int) -> settings:
    """Settings for a test that draws `count` examples; where no effort is asked for, a share of
    them, the same in every run.
    """
    return settings(
        max_examples=max(2, round(count * (REPEATED if EFFORT == 1 else EFFORT))),
        deadline=None,  # a kernel may be compiled by its first call
        derandomize=EFFORT == 1,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )


def proof(*values, id=None):
    """A case that takes long, or of which others are variants: `make proof` runs it."""
    return pytest.param(*values, id=id, marks=pytest.mark.proof)


def usually(few, of):
    """The cases `of` which a few are run each time, and the rest by `make proof`."""
    assert all(case in of for case in few)
    return [case if case in few else proof(case) for case in of]


MANY, DOZEN = 4, 12  # cases of one claim


def halve(items):
    """Of a claim with many cases, half of them are run each time, as if drawn by lot, a third of a
    dozen or more, and the rest by `make proof`.
    """
    claims = defaultdict(list)
    for item in items:
        if not item.get_closest_marker("proof"):
            claims[item.path, item.cls, item.originalname].append(item)
    for cases in claims.values():
        if len(cases) >= MANY:
            for case in sorted(cases, key=lambda case: crc32(case.name.encode()))[
                ceil(len(cases) / (2 if len(cases) < DOZEN else 3)) :
            ]:
                case.add_marker(pytest.mark.proof)
