"""From rho to (epsilon, delta): against sixty digits at the extremes, on the safe side, in the
right order.
"""

from math import inf, nextafter, sqrt
from sys import float_info

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bounds.exact import EXACT, delta_at
from tests.bounds.strategies import powers
from tests.effort import proof, usually
from zoexplore.bounds.conversion import delta_of, epsilon_of
from zoexplore.bounds.tradeoff import TradeOff
from zoexplore.run.setting import CONVERSIONS

RHOS = [
    1e-12,
    3e-10,
    1e-8,
    1e-6,
    1e-4,
    1e-3,
    0.01,
    0.019,
    0.021,
    0.3,
    1.0,
    2.1,
    8.0,
    31.0,
    100.0,
    1e3,
    1e4,
    1e5,
    1e6,
]
ENDS = RHOS[0], 1e-6, 0.01, 0.019, 0.021, 1.0, 31.0, 1e3, RHOS[-1]  # and next to 0.02
DELTAS = [1e-15, 1e-12, 1e-9, 1e-7, 1e-5, 1e-3, 0.05, 0.3, 0.5]

rhos, deltas = powers(-12, 6), powers(-15, -0.302)
conversions = st.sampled_from(CONVERSIONS)


def rounding(rho):
    """What double precision leaves of an epsilon near 0: some units in the last place of mu."""
    return 3e-14 * sqrt(2 * rho)


@pytest.mark.parametrize("conversion", CONVERSIONS)
@pytest.mark.parametrize("rho", usually(ENDS, of=RHOS))
def test_epsilon_is_the_true_one_rounded_up(conversion, rho):
    for delta in DELTAS:
        true, ours = EXACT[conversion](rho, delta), float(epsilon_of(rho, delta, conversion))
        assert true <= ours <= true * (1 + 1e-9) + rounding(rho), (
            f"{delta=}: {ours} for {float(true)}"
        )


@pytest.mark.parametrize("distance", [1e-1, 1e-3, 1e-5, 1e-7, 1e-9, 1e-11, 1e-13])
@pytest.mark.parametrize("rho", [1e-12, 1e-6, 1e-2, 0.1])
def test_epsilon_next_to_the_delta_that_needs_none(rho, distance):
    delta = float(delta_at(rho, 0)) * (1 - distance)
    true, ours = EXACT["gaussian"](rho, delta), float(epsilon_of(rho, delta))
    assert true <= ours <= true * (1 + 1e-9) + rounding(rho), f"{ours} for {float(true)}"


@pytest.mark.parametrize("rho", [1.0, proof(30.0), 234.0, proof(359.0), 465.0])
def test_epsilon_is_never_below_the_true_one_for_a_delta_near_one(rho):
    for missing in np.geomspace(1e-2, 1e-12, 15):
        delta = 1 - float(missing)
        assert EXACT["gaussian"](rho, delta) <= float(epsilon_of(rho, delta)), f"{missing=}"


@pytest.mark.parametrize("rho", RHOS)
def test_delta_is_the_true_one_rounded_up(rho):
    for epsilon in (
        0.0,
        1e-9,
        1e-3,
        0.1,
        1.0,
        5.0,
        30.0,
        rho,
        rho + sqrt(rho),
        rho + 8 * sqrt(rho),
    ):
        true, ours = delta_at(rho, epsilon), float(delta_of(rho, epsilon))
        if true > 1e-290:  # below, double precision has no relative accuracy left
            assert true <= ours <= true * (1 + 1e-9), f"{epsilon=}: {ours} for {float(true)}"


@pytest.mark.parametrize(
    "rho, epsilon",
    [
        (538863.0686453049, 569221.1063967033),
        (540336.6853397075, 567527.5538107923),
        (986414.9485016684, 1021677.8509596051),
    ],
)
def test_delta_of_a_large_budget_is_rounded_up_by_what_its_tail_rounds(rho, epsilon):
    true, ours = delta_at(rho, epsilon), float(delta_of(rho, epsilon))
    assert true <= ours <= true * (1 + 1e-9)


@given(powers(9, 20), st.floats(-4, 12))
def test_delta_of_a_huge_budget_is_rounded_up_next_to_one_half_too(rho, deviations):
    epsilon = rho + deviations * sqrt(2 * rho)
    assert delta_at(rho, epsilon) <= float(delta_of(rho, epsilon))


def test_delta_at_the_argument_whose_rounding_alone_moves_the_tail():
    rho, epsilon = 57187092650615.164, 57187091874782.17
    assert float(delta_of(rho, epsilon)) >= delta_at(rho, epsilon)  # 0.528915649447172206


@pytest.mark.parametrize(
    "rho, epsilon",
    [(0.5, 37.5), (0.5, 38.2), (0.5, 100.0), (1e-6, 0.1), (1e-12, 1.0), (1e4, 1e5), (1.0, 1e300)],
)
def test_a_delta_that_doubles_cannot_hold_is_the_least_positive_number(rho, epsilon):
    least = float_info.min
    found = float(delta_of(rho, epsilon))
    assert least <= found and (found > least or epsilon == 1e300 or delta_at(rho, epsilon) <= least)
    assert TradeOff(rho=rho).profile(epsilon) == found


def test_nothing_is_left_of_delta_only_at_an_infinite_epsilon_or_without_a_shift():
    assert (delta_of([0.5, 0.0], [inf, 1.0]) == 0).all()


@given(rhos, deltas)
def test_delta_of_and_epsilon_of_are_inverse(rho, delta):
    epsilon = float(epsilon_of(rho, delta))
    back = float(delta_of(rho, epsilon))
    if epsilon > 0:
        assert back == pytest.approx(delta, rel=1e-7)
    assert back <= delta * (1 + 1e-9)


@given(rhos, deltas)
def test_the_exact_conversion_is_the_smallest_and_mironovs_the_largest(rho, delta):
    gaussian, cks, mironov = (
        float(epsilon_of(rho, delta, c)) for c in ("gaussian", "cks", "mironov")
    )
    assert 0 <= gaussian <= cks * (1 + 1e-11) + rounding(rho)
    assert cks <= mironov * (1 + 1e-11)


@given(conversions, rhos, deltas, st.floats(1, 1e3), st.floats(1e-3, 1))
def test_epsilon_grows_with_rho_and_falls_with_delta(conversion, rho, delta, more, less):
    epsilon = float(epsilon_of(rho, delta, conversion))
    slack = 1e-11 * epsilon + rounding(rho * more)
    assert float(epsilon_of(rho * more, delta, conversion)) >= epsilon - slack
    assert float(epsilon_of(rho, delta * less, conversion)) >= epsilon - slack


@given(conversions, st.floats(0, 1e300), st.floats(5e-324, nextafter(1, 0)))
def test_epsilon_is_a_number_that_is_not_negative_for_any_floats(conversion, rho, delta):
    with np.errstate(all="ignore"):
        assert epsilon_of(rho, delta, conversion) >= 0


@given(st.floats(0, 1e300), st.floats(0, 1e300))
def test_delta_is_a_probability_for_any_floats(rho, epsilon):
    with np.errstate(all="ignore"):
        assert 0 <= delta_of(rho, epsilon) <= 1


@pytest.mark.parametrize("conversion", CONVERSIONS)
def test_the_ends(conversion):
    assert epsilon_of(0.0, 1e-5, conversion) == 0
    assert epsilon_of(inf, 1e-5, conversion) == inf
    assert epsilon_of(1.0, 0.0, conversion) == inf
    assert epsilon_of(1.0, -1e-9, conversion) == inf
    assert epsilon_of(np.nan, 1e-5, conversion) == inf


@pytest.mark.parametrize("conversion", CONVERSIONS)
def test_arrays_broadcast_and_agree_with_numbers(conversion):
    table = epsilon_of(np.array(RHOS)[:, None], np.array(DELTAS), conversion)
    assert table.shape == (len(RHOS), len(DELTAS))
    assert table.tolist() == [
        [float(epsilon_of(rho, delta, conversion)) for delta in DELTAS] for rho in RHOS
    ]
