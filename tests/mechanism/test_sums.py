"""Sums of clipped numbers are exact, whoever adds them in whatever order."""

from fractions import Fraction
from math import ldexp

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.effort import examples
from zoexplore.mechanism import clipping


@examples(60)
@given(st.integers(1, 50), st.integers(-900, 900), st.integers(0, 2**32 - 1))
def test_they_are_those_of_fractions_and_do_not_depend_on_the_order(b, exponent, seed):
    draw = np.random.default_rng(seed)
    clip = ldexp(0.5 + draw.random() / 2, exponent)
    values = clip * draw.uniform(-1, 1, (b, 3)) * 2.0 ** -draw.integers(0, 60, (b, 3)).astype(float)
    found = clipping.join(clipping.split(torch.from_numpy(values), clip), clip)
    for k in range(3):
        exact = sum(map(Fraction, values[:, k].tolist()))
        assert abs(Fraction(float(found[k])) - exact) <= b * Fraction(clip) / 2**74 + abs(exact) / 2**53
    order = draw.permutation(b)
    parts = [clipping.split(torch.from_numpy(values[some]), clip) for some in np.array_split(order, 4)]
    assert torch.equal(clipping.join(sum(parts), clip), found)


def test_numbers_of_usual_size_are_added_without_any_rounding():
    values = torch.tensor([[1e-3], [1.0], [-1.0], [2.0**-60]], dtype=torch.float64)
    assert clipping.join(clipping.split(values, 1.0), 1.0).item() == float(Fraction(1e-3) + Fraction(2.0**-60))


def test_no_record_says_more_than_it_is_allowed():
    """Not even by what is rounded when a sum is made: a tenth in doubles is more than that, and so is a float64 sum of three."""
    high, low = clipping.split(torch.full((3, 1), 0.1, dtype=torch.float64), 0.1)[:, 0].tolist()
    assert Fraction((high << clipping.BITS) + low, 2 ** (2 * clipping.BITS + 3)) <= 3 * Fraction(0.1) < Fraction(0.1 + 0.1 + 0.1)
    with pytest.raises(ValueError, match="a step on 16777217 records is not allowed"):
        clipping.split(torch.empty(2**24 + 1, 1), 1.0)
