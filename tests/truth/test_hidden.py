"""Where w_T alone is released, on a line and on a plane, its exact divergence is below the sharper
bound.
"""

from math import inf

import numpy as np
import pytest

from tests.convention import DEMONSTRATION, Accounting, epsilon
from tests.effort import usually
from tests.truth.hidden import Linear, Soft, Wave, on_a_line, on_a_plane
from zoexplore.run.setting import SENSITIVITIES

DELTAS = (0.5, 0.2, 0.05, 1e-2, 1e-3, 1e-5)
GRID = 1e-3  # of delta, that quadrature may be off by, beside 1e-7

ENDS = (Linear(1), Linear(-1))  # the differing record: the two furthest apart
SOFT = (Soft(0.02, 0.05), Soft(-0.03, 0.05))
FAR = (Soft(0.5, 0.05), Soft(-0.5, 0.05))
WAVES = (Wave(0.03, 0.05), Wave(-0.08, 0.05))


def neighbours(shared, pair):
    return tuple([*shared, record] for record in pair)


def setting(shared, pair, regime, **kw):
    """Smoothness and n as the losses have them; the ridge is shared."""
    steepest = max(loss.smoothness for loss in [*shared, *pair])
    ridge = kw.pop("ridge", 0.0)
    M = max(steepest, 1e-3) + ridge
    return DEMONSTRATION.replace(
        n=len(shared) + 1, clip=1.0, M=M, m=ridge, ridge=ridge, regime=regime, **kw
    )


LINES = {
    "linear": (
        [Linear(0)] * 3,
        ENDS,
        "strongly-convex",
        dict(T=6, ridge=1.0, eta=0.4, sigma=1.2, R=inf),
    ),
    "linear, in a ball": (
        [Linear(0)] * 3,
        ENDS,
        "strongly-convex",
        dict(T=30, ridge=1.0, eta=0.4, sigma=1.2, R=0.3),
    ),
    "soft": (
        [Soft(0.1, 0.05)] * 2,
        SOFT,
        "strongly-convex",
        dict(T=9, ridge=1.0, eta=0.02, sigma=1.5, R=inf, xi=0.01),
    ),
    "soft, far": ([Soft(0, 0.05)] * 4, FAR, "convex", dict(T=25, eta=0.05, sigma=0.8, R=inf)),
    "soft, in a ball": (
        [Soft(0, 0.05)] * 4,
        FAR,
        "convex",
        dict(T=60, eta=0.05, sigma=0.8, R=0.05, xi=0.02),
    ),
    "waves": ([Wave(0, 0.05)] * 3, WAVES, "non-convex", dict(T=8, eta=0.02, sigma=1.2, R=inf)),
    "waves, in a ball": (
        [Wave(0, 0.05)] * 3,
        WAVES,
        "non-convex",
        dict(T=40, eta=0.03, sigma=1.0, R=0.03, xi=0.01),
    ),
    "ends among waves": (
        [Wave(0, 0.2)] * 3,
        ENDS,
        "non-convex",
        dict(T=4, eta=0.05, sigma=1.2, R=inf, xi=0.05),
    ),
}
PLANES = {
    "linear": (
        [Linear(0)] * 3,
        ENDS,
        "strongly-convex",
        dict(T=3, ridge=1.0, eta=0.5, sigma=0.8, beta=0.3),
    ),
    "linear, beta = 0": (
        [Linear(0)] * 3,
        ENDS,
        "strongly-convex",
        dict(T=3, ridge=1.0, eta=0.7, sigma=0.8, beta=0.0),
    ),
    "soft": (
        [Soft(0, 0.3)] * 2,
        FAR,
        "strongly-convex",
        dict(T=2, ridge=1.0, eta=0.2, sigma=0.9, beta=0.2, xi=0.05),
    ),
    "waves": ([Wave(0, 0.3)] * 2, ENDS, "non-convex", dict(T=2, eta=0.3, sigma=0.9, beta=0.5)),
}


def check(s, density):
    assert density.one.sum() == pytest.approx(1, abs=1e-7) and density.other.sum() == pytest.approx(
        1, abs=1e-7
    )
    for sensitivity in SENSITIVITIES:
        for delta in DELTAS:
            bound = epsilon(s.replace(delta=delta), "sharp", Accounting(sensitivity=sensitivity))
            assert bound < inf
            assert density.delta(bound) <= delta * (1 + GRID) + 1e-7, (sensitivity, delta, bound)


# By default the sharpest (linear records, with and without a ball), and convex and non-convex
# records with two points and a ball.
LINEAR_OR_ALL = (
    "linear",
    "linear, in a ball",
    "soft, in a ball",
    "waves, in a ball",
    "ends among waves",
)


@pytest.mark.parametrize("name", usually(LINEAR_OR_ALL, of=LINES))
def test_on_a_line(name):
    shared, pair, regime, kw = LINES[name]
    s = setting(shared, pair, regime, d=1, K=1, beta=0.5, **kw)
    check(s, on_a_line(s, neighbours(shared, pair)))


def test_the_line_is_exact_where_the_bound_is():
    """Linear losses without a ball meet the shifted-interpolation bound: so the grid is right, and
    the bound tight.
    """
    shared, pair, regime, kw = LINES["linear"]
    s = setting(shared, pair, regime, d=1, K=1, beta=0.5, **kw)
    density = on_a_line(s, neighbours(shared, pair))
    for delta in DELTAS[1:]:
        assert density.delta(epsilon(s.replace(delta=delta), "sharp")) == pytest.approx(
            delta, rel=GRID
        )


@pytest.mark.parametrize("name", usually(["soft"], of=PLANES))
def test_on_a_plane(name):
    shared, pair, regime, kw = PLANES[name]
    s = setting(shared, pair, regime, d=2, K=1, R=inf, **kw)
    density = on_a_plane(s, neighbours(shared, pair))
    check(s, density)
    assert density.delta(0.0) > 0.01  # there is something to hide


def test_one_step_on_a_plane_is_its_mixture_of_gaussians():
    s = setting([Linear(0)] * 3, ENDS, "convex", d=2, K=1, T=1, eta=0.5, sigma=0.8, beta=0.3, R=inf)
    density = on_a_plane(s, neighbours([Linear(0)] * 3, ENDS))
    assert density.one.sum() == pytest.approx(1, abs=1e-9)
    check(s, density)
    np.testing.assert_allclose(
        density.one.reshape(80, 80), density.other.reshape(80, 80)[::-1], atol=1e-12
    )
