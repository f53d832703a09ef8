"""Sliders step through round numbers, and every step changes the value."""

import pytest

from zoexplore.views.style.inputs import decades, interval

LADDERS = [
    decades(1, 10**6, whole=True),
    decades(1, 523, whole=True),
    decades(1e-6, 10.0),
    interval(0, 1, 0.01),
]


@pytest.mark.parametrize("ladder", LADDERS)
def test_values_ascend_and_every_value_is_on_its_own_rung(ladder):
    assert list(ladder.values) == sorted(set(ladder.values))
    assert [ladder.rung(value) for value in ladder.values] == list(range(len(ladder.values)))
    assert [ladder.value(rung) for rung in range(ladder.top + 1)] == list(ladder.values)


def test_both_ends_are_there():
    assert decades(1, 523, whole=True).values[-1] == 523
    assert decades(1e-6, 10.0).values[0] == 1e-6


def test_whole_numbers_are_integers_and_none_is_missing_at_the_low_end():
    values = decades(1, 10**6, whole=True).values
    assert all(isinstance(value, int) for value in values)
    assert values[:9] == (1, 2, 3, 4, 5, 6, 7, 8, 9)


def test_a_value_between_rungs_has_the_nearer_one_and_one_outside_has_the_last():
    ladder = decades(1, 1000, whole=True)
    assert ladder.value(ladder.rung(101)) == 100
    assert ladder.rung(10**9) == ladder.top
    assert ladder.rung(0.1) == 0


def test_a_single_value_still_makes_a_slider():
    ladder = decades(1, 1, whole=True)
    assert (ladder.values, ladder.top, ladder.value(1)) == ((1,), 1, 1)
