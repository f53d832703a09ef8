"""The sharper bound's search gives little away against one that takes its time, where it was once found to give much."""

from math import inf

import numpy as np
import pytest

from tests.convention import DEMONSTRATION, Accounting, curve, guarantee
from tests.effort import proof
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.bounds.sharp_search import ORDERS, Rows, first_guess, improve
from zoexplore.run.axes import AXES

BLOCKS = (64, 0.05)  # steps one by one at the end, and the share of its distance that a block takes
LOSS = 0.005
CASES = {
    "distances build up until the end": (
        DEMONSTRATION.replace(regime="convex", n=57195, d=244_857, K=35495, T=155_982, sigma=6e-3, beta=0.0, clip=0.2),
        Accounting(sensitivity="least", conversion="mironov"),
    ),
    "they are nearly built up": (
        DEMONSTRATION.replace(regime="convex", n=55523, d=10669, K=479, T=69099, sigma=6e-3, beta=0.0, R=0.02, xi=5e-8),
        Accounting(sensitivity="least"),
    ),
    "they build up under the clip": (
        DEMONSTRATION.replace(regime="convex", n=7000, d=9112, K=4431, T=26649, sigma=0.05, beta=0.0, R=inf),
        Accounting(),
    ),
    "from afar in two steps rather than one": (
        DEMONSTRATION.replace(
            regime="non-convex", n=395, d=97, K=45, T=68, sigma=0.0022788, R=0.18484, clip=5.9489, delta=3.0736e-4
        ),
        Accounting(conversion="mironov"),
    ),
    "from afar in three steps rather than two": (
        DEMONSTRATION.replace(
            regime="non-convex", n=209, d=221, K=21, T=1223, sigma=0.37849, beta=0.86393, R=0.015044, clip=1.3593
        ),
        Accounting(),
    ),
    "few orders to choose from": (
        DEMONSTRATION.replace(regime="convex", d=3838, K=3, T=767_092, sigma=1e-2, beta=0.0, R=1.0),
        Accounting(sensitivity="least"),
    ),
    "few orders, and the best between those tried first": (
        DEMONSTRATION.replace(
            regime="convex",
            n=474,
            d=8,
            K=6,
            T=611,
            sigma=0.0233,
            beta=0.0,
            R=1.318,
            clip=1.78,
            M=1.0,
            m=0.1,
            ridge=0.1,
            delta=5.32e-4,
        ),
        Accounting(sensitivity="least"),
    ),
    "the training default": (DEMONSTRATION, Accounting()),
}


def slowly(setting, accounting):
    """The least epsilon over many orders, from every start, in rounds without end."""
    best = inf
    for far in (False, True):
        for high in (False, True):
            rows = Rows.of(RunArrays.of(setting).counted_by(accounting), setting.beta, float(setting.T), far=far, high=high)
            rows = rows.at(np.zeros(ORDERS.size, int))._replace(order=ORDERS.copy())
            if np.isfinite(rows.z0).all():
                found = improve(rows, accounting, BLOCKS, first_guess(rows, accounting, BLOCKS), 30)
                best = min(best, found.epsilon.min())
    return best


# Those that take longest, of which others are variants.
SLOW = ("they are nearly built up", "few orders to choose from")


@pytest.mark.parametrize("case", [proof(case) if case in SLOW else case for case in CASES])
def test_little_is_left_on_the_table(case):
    setting, accounting = CASES[case]
    found = guarantee(setting, "sharp", accounting).epsilon
    assert found < guarantee(setting, "composition", accounting).epsilon
    assert found <= slowly(setting, accounting) * (1 + LOSS)


@pytest.mark.parametrize("field", ["M", "n", "R"])
def test_a_curve_is_the_same_whenever_it_is_asked_for(field):
    """Whatever the memory that a search takes held before it."""
    run = DEMONSTRATION.replace(xi=1e-9)
    first, *others = (curve(run, field, AXES[field].values(run), ["sharp"])["sharp"] for _ in range(6))
    for again in others:
        np.testing.assert_array_equal(again, first)
