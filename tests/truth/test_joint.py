"""A joint clip that may act: what the accountant reports is what docs/joint.md says, and no exact
divergence is above it.
"""

from math import inf, pi, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bounds.strategies import powers
from tests.convention import Setting, epsilon, guarantee
from tests.effort import examples, proof, usually
from tests.truth.joint import JointStep, mahalanobis
from tests.truth.revealed import Truth
from tests.truth.tails import check_tails

RUN = Setting(
    n=20_000,
    d=520,
    K=260,
    T=200,
    sigma=1e-3,
    beta=0.5,
    regime="convex",
    R=0.31,
    M=0.75,
    m=0.5,
    ridge=0.5,
    clip=sqrt(260),
    clipping="joint",
    lipschitz=inf,
)
TABLE = {  # K, T, ridge: composition, a joint clip, and one of a linear model
    (260, 200, 0.5): (7.809, 0.883, 0.846),
    (260, 200, 0.2): (7.809, 2.056, 1.491),
    (260, 200, 0.1): (7.809, 7.040, 2.222),
    (260, 200, 0.05): (7.809, 7.507, 3.345),
    (52, 200, 0.5): (9.429, 2.323, 2.321),
    (52, 200, 0.2): (9.429, 5.014, 3.931),
    (52, 200, 0.1): (9.429, 7.487, 5.477),
    (52, 200, 0.05): (9.429, 8.070, 6.660),
    (260, 2000, 0.5): (34.63, 0.883, 0.846),
    (260, 2000, 0.1): (34.63, 30.59, 2.222),
    (52, 2000, 0.5): (43.15, 2.320, 2.319),
    (52, 2000, 0.1): (43.15, 31.24, 6.074),
}
# by ridge
ALL_DIRECTIONS = {
    0.5: (0.5301, 0.4970),
    0.3: (0.8646, 0.7255),
    0.2: (1.3295, 0.9465),
    0.1: (6.573, 1.4442),
}


def of(K, T, ridge, **changes):
    return RUN.replace(**{"K": K, "T": T, "m": ridge, "ridge": ridge, "clip": sqrt(K)} | changes)


@pytest.mark.parametrize(
    "row", usually([(260, 200, 0.5), (260, 2000, 0.1), (52, 200, 0.2)], of=TABLE), ids=str
)
def test_the_page_s_numbers(row):
    run, (composed, joint, linear) = of(*row), TABLE[row]
    assert epsilon(run, "composition") == pytest.approx(composed, rel=1e-4 * 2)
    assert epsilon(run, "sharp") == pytest.approx(joint, rel=4e-3)
    assert epsilon(run.replace(linear=True), "sharp") == pytest.approx(linear, rel=4e-3)


@pytest.mark.parametrize("ridge", ALL_DIRECTIONS)
def test_with_all_directions_nothing_is_random(ridge):
    joint, linear = ALL_DIRECTIONS[ridge]
    run = of(520, 200, ridge)
    g = guarantee(run, "sharp")
    assert g.epsilon == pytest.approx(joint, rel=2e-4) and g.delta_f == 0
    assert epsilon(run.replace(linear=True), "sharp") == pytest.approx(linear, rel=2e-4)
    step = JointStep.of_run(run, 0.5, 1, 0.0)
    gap = 1 - step.norm(0.0, 1.0)[0]
    if gap > 0:  # by T equal contractions, in closed form
        c = sqrt(1 - gap)
        rho = step.w**2 / (2 * step.S) * (1 - c**200) * (1 + c) / ((1 + c**200) * gap / (1 + c))
        assert g.rho == pytest.approx(rho, rel=1e-6)


def test_other_runs_of_the_page():
    assert epsilon(of(52, 200, 0.5, regime="non-convex"), "sharp") == pytest.approx(3.287, rel=4e-3)
    assert epsilon(of(260, 200, 0.5, clip=3 * sqrt(0.5)), "sharp") == pytest.approx(
        0.0966, rel=4e-3
    )


@pytest.mark.parametrize(
    "changes",
    [{}, {"regime": "non-convex"}, {"linear": True}, {"beta": 0.0}, {"d": 260}, {"xi": 1e-3}],
    ids=str,
)
def test_one_step_is_composition(changes):
    run = of(260, 1, 0.3, **changes)
    assert epsilon(run, "sharp") == pytest.approx(epsilon(run, "composition"), rel=1e-12)


CERTIFIED = [
    of(52, 12, 0.3),
    of(260, 25, 0.5, xi=1e-5),
    of(40, 15, 0.6, d=60, regime="non-convex", M=0.9, xi=1e-4),
    of(8, 10, 0.4, d=40, sigma=2e-3),
    proof(of(260, 200, 0.2)),
]


@pytest.mark.parametrize("run", CERTIFIED)
def test_the_tails_are_the_page_s_for_the_fractions_shown(run):
    """By the independent norm. It is not the hull of itself, so that it may be a little above the
    accountant's.
    """
    assert check_tails(run, within=1e-3)


@given(
    st.sampled_from([(2, 2), (5, 3), (60, 60), (520, 4), (10**4, 900)]),
    st.sampled_from(["convex", "non-convex"]),
    st.floats(0, 0.95),
    powers(-1.3, 0.4),
    powers(-4, -1),
    st.sampled_from([1, 7, 400, 10**9]),
    st.booleans(),
    st.sampled_from(
        [
            {},
            {"xi": 1e-6},
            {"beta": 0.0},
            {"beta": 1.0},
            {"releases": 3},
            {"R": inf},
            {"neighbours": "add-remove"},
        ]
    ),
)
@examples(12)
def test_never_above_composition(size, regime, ridge, step, sigma, T, linear, changes):
    d, K = size
    sizes = {
        "d": d,
        "K": K,
        "n": 100,
        "T": T,
        "eta": K * step,
        "clip": 1.0,
        "sigma": sigma,
        "R": 1.0,
    }
    run = RUN.replace(
        **{"regime": regime, "M": 1.0, "m": ridge, "ridge": ridge, "linear": linear}
        | sizes
        | changes
    )
    composed, found = epsilon(run, "composition"), epsilon(run, "sharp")
    assert 0 < found <= composed * (1 + 1e-9)
    if run.beta == 1 and K < d:
        assert found == composed


def small(d, K, T, **changes):
    """A run whose noise is a few times what a record moves in all steps together."""
    fields = {
        "regime": "convex",
        "M": 1.0,
        "m": 0.4,
        "ridge": 0.4,
        "beta": 0.4,
        "eta": K * 1.0,
    } | changes
    return Setting(
        n=50,
        d=d,
        K=K,
        T=T,
        sigma=0.03 * sqrt(T * K) / K,
        clip=1.0,
        clipping="joint",
        lipschitz=inf,
        **fields,
    )


GAMES = {
    "K = 1 of 2": small(2, 1, 6),
    "K = 2 of 3": small(3, 2, 8),
    "K = 3 of 6": small(6, 3, 8, beta=0.8),
    "K = 5 of 6, long": small(6, 5, 40),
    "all of 4": small(4, 4, 30),
    "all of 2, little ridge": small(2, 2, 8, m=0.1, ridge=0.1),
    "non-convex": small(4, 2, 8, regime="non-convex", M=1.3, m=0.9, ridge=0.9),
    "overshooting": small(4, 3, 8, eta=4.5),
    "K = 10 of 12": small(12, 10, 12),
}


@pytest.mark.parametrize("angle", usually([1.9, pi], of=[0.0, 1.2, 1.9, 2.4, pi]))
@pytest.mark.parametrize("name", GAMES)
def test_no_clip_and_no_record_get_past_the_bound(name, angle):
    """Directions revealed, kicks anywhere in the ball; delta is taken four standard errors above
    its average over directions.
    """
    run = GAMES[name]
    truth, said = Truth(mahalanobis(run, angle, 400, 1)), False
    for delta in (0.3, 0.05, 1e-2, 1e-3, 1e-5):
        bound = epsilon(run.replace(delta=delta), "sharp")
        mean, error = truth.delta(bound)
        assert mean + 4 * error <= delta * (1 + 1e-9), (delta, bound)
        said = said or 0 < bound < inf
    assert said


def test_at_all_directions_the_worst_clip_attains_the_bound():
    """Revealed directions mean nothing there, and a clip that is chosen anew at each step comes to
    the page's constant.
    """
    run = small(2, 2, 30, delta=1e-3)
    nearest = max(
        Truth(mahalanobis(run, angle, 2, 1)).epsilon(1e-3) for angle in np.linspace(1.4, 2.4, 21)
    )
    assert 0.99 * epsilon(run, "sharp") <= nearest <= epsilon(run, "sharp") * (1 + 1e-9)


def test_a_clip_counted_on_each_quotient_would_be_found_out():
    """The per-quotient bound for C/sqrt(K) on each, at all directions: below what a joint clip
    attains.
    """
    run = small(2, 2, 30, delta=1e-3)
    each = epsilon(run.replace(clipping="each", clip=1 / sqrt(2)), "sharp")
    assert each > 0
    wrong = epsilon(run.replace(clipping="joint", lipschitz=None), "sharp")  # as if it were idle
    nearest = max(
        Truth(mahalanobis(run, angle, 2, 1)).epsilon(1e-3) for angle in np.linspace(1.4, 2.4, 21)
    )
    assert wrong < nearest


@pytest.mark.parametrize("lipschitz", [inf, None])
@pytest.mark.parametrize("d, T, c", [(10, 50, 0.5), (200, 50, 0.8)])
def test_a_linear_record_attains_what_a_joint_clip_allows(d, T, c, lipschitz):
    """All directions seen, it pushes the same way at every step, as far as the ball reaches. On
    each quotient a clip of C/sqrt(K) confines the push to a cube, which is worth less: what is
    proved of cubes would say too little here, idle or acting.
    """
    run = Setting(
        n=10,
        d=d,
        K=d,
        T=T,
        sigma=0.1 * sqrt(T) / sqrt(d),
        beta=0.5,
        regime="convex",
        M=1 - c + 1e-9,
        m=1 - c,
        ridge=1 - c,
        eta=d * 1.0,
        clip=1.0,
        clipping="joint",
        lipschitz=lipschitz,
    )
    B, S = 2 / 10, (run.eta * run.sigma) ** 2 / d
    moved, noise = B * (1 - c**T) / (1 - c), S * (1 - c ** (2 * T)) / (1 - c * c)
    attained = Truth(np.array([moved / sqrt(noise)])).epsilon(run.delta)
    assert attained * (1 - 1e-9) <= epsilon(run, "sharp") <= attained * (1 + 1e-5)
