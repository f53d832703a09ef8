"""Where the clip bites in every step and w_T alone is seen, its exact divergence is below every
bound that is finite.
"""

from itertools import product
from math import inf, pi

import pytest

from tests.convention import Accounting, Setting, curve
from tests.effort import usually
from tests.truth.clipped import Hinged, Huber, Logistic, Quadratic, Record, Sine, run
from zoexplore.bounds.registry import BOUNDS
from zoexplore.run.setting import CONVERSIONS

OF_THE_RUN = [bound for bound in BOUNDS if bound != "noisy-gd"]  # which is about another mechanism
DELTAS = (0.3, 0.1, 1e-2, 1e-3, 1e-5)
# of delta, that the grid may be off by (what is clipped has kinks), beside 1e-7
GRID = {1: 1e-2, 2: 0.15}
CELLS = {1: 400, 2: 48}
# clipped along all but a few directions, wherever runs come to
PAIR = Huber(9.0, 3.0, 3.0), Huber(9.0, -3.0, 3.0)
LOGISTIC, HUBER, ABSOLUTE = Logistic(3.4), Huber(3.0, 0.6, 1.0), Huber(3.0, 0.1)
QUADRATIC, HINGED, SINE = Quadratic(3.0, -1.0), Hinged(3.0), Sine(2.0, 0.2, 0.8)


def made(loss, **kw):
    """The run, and its two datasets: smoothness as the losses have it, the shared ones along
    different directions.
    """
    numbers = {
        "d": 1,
        "K": 1,
        "n": 3,
        "T": 30,
        "sigma": 1.5,
        "beta": 0.1,
        "regime": "convex",
        "eta": 0.3,
        "ridge": 0.6,
    } | kw
    ridge, n, removed = numbers.pop("ridge"), numbers["n"], kw.get("neighbours") == "add-remove"
    apart = pi if numbers["d"] == 1 else pi / (n - 1)  # a line has two directions
    shared = [Record(loss, k * apart) for k in range(n - 1)]
    smooth = max(loss.smoothness, PAIR[0].smoothness) + ridge
    s = Setting(M=smooth, m=ridge, ridge=ridge, lipschitz=inf, **numbers)
    return s, [[Record(None if removed and other is PAIR[1] else other), *shared] for other in PAIR]


ALL = dict(d=2, K=2, sigma=2.0)
LINES = {
    "logistic": (LOGISTIC, {}),
    "Huber": (HUBER, {"T": 12}),
    "quadratic": (QUADRATIC, {"n": 6}),
    "absolute": (ABSOLUTE, {"xi": 0.01}),
    "hinged": (HINGED, {}),
    "hinged, beyond the noise": (Hinged(3.0, 1.0), {"sigma": 0.8}),
    "sine": (SINE, {"regime": "non-convex", "ridge": 3.5, "eta": 0.2}),
    "two points": (HUBER, {"xi": 0.05}),
    "one is missing": (LOGISTIC, {"neighbours": "add-remove"}),
    "batches": (LOGISTIC, {"batch": 1}),
    "batches of two": (QUADRATIC, {"batch": 2, "T": 12}),
    "Poisson": (HUBER, {"batch": 1, "sampling": "poisson", "neighbours": "add-remove"}),
    "cyclic": (LOGISTIC, {"batch": 1, "sampling": "cyclic"}),
}
PLANES = {
    "logistic": (LOGISTIC, {}),
    "Huber": (HUBER, {"beta": 0.0}),
    "quadratic": (QUADRATIC, {"T": 12, "n": 5}),
    "absolute": (ABSOLUTE, {"xi": 0.01}),
    "sine": (SINE, {"regime": "non-convex", "ridge": 3.5, "eta": 0.2}),
    "hinged": (HINGED, {}),
    "together, hinged": (HINGED, ALL | {"clipping": "joint"}),
    "all directions": (HUBER, ALL),
    "together": (HUBER, ALL | {"clipping": "joint"}),
    "together, logistic": (LOGISTIC, ALL | {"clipping": "joint", "T": 12}),
    "together, sine": (
        SINE,
        ALL | {"clipping": "joint", "regime": "non-convex", "ridge": 3.5, "eta": 0.4},
    ),
    "together, two points": (ABSOLUTE, ALL | {"clipping": "joint", "xi": 0.05}),
    "together, one is missing": (LOGISTIC, ALL | {"clipping": "joint", "neighbours": "add-remove"}),
    "together, batches": (LOGISTIC, ALL | {"clipping": "joint", "batch": 1}),
    "together, cyclic": (
        QUADRATIC,
        ALL | {"clipping": "joint", "batch": 1, "sampling": "cyclic", "T": 12},
    ),
    "all directions, logistic": (LOGISTIC, ALL | {"T": 12}),
    "one is missing": (LOGISTIC, {"neighbours": "add-remove"}),
    "batches": (LOGISTIC, {"batch": 1}),
    "cyclic": (QUADRATIC, {"batch": 1, "sampling": "cyclic", "T": 12}),
}


def check(loss, **kw):
    """The truth is below every bound, and there is something to hide."""
    s, datasets = made(loss, **kw)
    density, acting = run(s, datasets, CELLS[s.d])
    assert density.one.sum() == pytest.approx(1, abs=1e-5) and density.other.sum() == pytest.approx(
        1, abs=1e-5
    )
    assert acting > 0.05 and density.delta(0.0) > 0.05
    finite = set()  # every record here is of one linear form
    for linear, conversion in product((False, True), CONVERSIONS):
        found = curve(
            s.replace(linear=linear), "delta", DELTAS, OF_THE_RUN, Accounting(conversion=conversion)
        )
        for bound, losses in found.items():
            for delta, epsilon in zip(DELTAS, losses, strict=True):
                if epsilon < inf:
                    finite.add(bound)
                    assert density.delta(epsilon) <= delta * (1 + GRID[s.d]) + 1e-7, (
                        bound,
                        conversion,
                        delta,
                        epsilon,
                    )
    assert finite >= (
        {"composition"} if s.M == inf or s.sampling == "poisson" else {"composition", "sharp"}
    )


@pytest.mark.parametrize("name", usually(["logistic", "hinged", "cyclic"], of=LINES))
def test_on_a_line(name):
    loss, kw = LINES[name]
    check(loss, **kw)


@pytest.mark.parametrize("name", usually(["logistic"], of=PLANES))
def test_on_a_plane(name):
    loss, kw = PLANES[name]
    check(loss, **({"d": 2} | kw))


@pytest.mark.proof
def test_a_finer_grid_says_the_same():
    """What the grid is off by is within what is allowed for it, and a few percent where the
    divergence is not small.
    """
    s, datasets = made(LOGISTIC, d=2, T=12)
    coarse, fine = run(s, datasets, CELLS[2])[0], run(s, datasets, 60, 24)[0]
    for epsilon in (0.0, 0.5, 1.0, 2.0, 4.0):
        off = 0.03 if epsilon < 4 else GRID[2]
        assert coarse.delta(epsilon) == pytest.approx(fine.delta(epsilon), rel=off)
