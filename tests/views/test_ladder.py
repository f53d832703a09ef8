"""Sliders step through round numbers, and every step changes the value."""

import numpy as np
import pytest

from zoexplore.views.style.inputs import nearest, rungs

LADDERS = [rungs(1, 10**6, True), rungs(1, 523, True), rungs(1e-6, 10.0), rungs(0, 1, linear=True)]


@pytest.mark.parametrize("values", LADDERS)
def test_values_ascend_and_every_value_is_nearest_to_itself(values):
    assert (np.diff(values) > 0).all()
    assert [nearest(values, value) for value in values] == list(range(len(values)))


def test_both_ends_are_there():
    assert rungs(1, 523, True)[-1] == 523
    assert rungs(1e-6, 10.0)[0] == 1e-6


def test_no_whole_number_is_missing_at_the_low_end():
    values = rungs(1, 10**6, True)
    assert (values == values.round()).all()
    assert values[:9].tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9]


def test_a_value_between_rungs_has_the_nearer_one_and_one_outside_has_the_last():
    values = rungs(1, 1000, True)
    assert values[nearest(values, 101)] == 100
    assert nearest(values, 10**9) == len(values) - 1
    assert nearest(values, 0.1) == 0


def test_a_single_value_is_one():
    assert rungs(1, 1, True).tolist() == [1]
