"""Sums of clipped numbers are exact but for one rounding, whoever adds them in whatever order."""

from fractions import Fraction
from math import ldexp

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.effort import examples
from tests.mechanism.problems import SETTING
from tests.mechanism.test_report import step_of
from zoexplore.mechanism.slopes import Slopes
from zoexplore.mechanism.step import clipped, estimated


def summed(values, step, parts=1):
    """The sum of all records' clipped numbers, which some processes have found."""
    found = [
        clipped(Slopes(torch.from_numpy(some), 0.0), step) for some in np.array_split(values, parts)
    ]
    return estimated(found, step, 1, 0.0).values


@examples(60)
@given(st.integers(1, 50), st.integers(-900, 900), st.integers(0, 2**32 - 1))
def test_they_are_those_of_fractions_and_do_not_depend_on_the_order(b, exponent, seed):
    draw = np.random.default_rng(seed)
    clip = ldexp(0.5 + draw.random() / 2, exponent)
    step = step_of(SETTING, clip=clip, K=3, batch=1)
    values = clip * draw.uniform(-1, 1, (b, 3)) * 2.0 ** -draw.integers(0, 60, (b, 3)).astype(float)
    found = summed(values, step)
    assert found.tolist() == [float(sum(map(Fraction, values[:, k].tolist()))) for k in range(3)]
    assert torch.equal(summed(draw.permutation(values), step, parts=4), found)


def test_no_record_says_more_than_it_is_allowed():
    """Not even by what is rounded when a sum is made."""
    step = step_of(SETTING, clip=0.1, K=1, batch=1)
    assert all(
        float(summed(np.full((b, 1), 7.0), step)) == float(b * Fraction(0.1)) for b in range(1, 60)
    )
