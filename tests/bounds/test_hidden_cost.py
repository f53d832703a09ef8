"""The sharper bound on full batches: its tails against the recursions step by step, its numbers
against other programs'.
"""

from math import erf, exp, inf, sqrt

import mpmath as mp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import integrate

from tests.bounds import hidden_cost as slow
from tests.bounds.strategies import powers
from tests.convention import DEMONSTRATION, Accounting, Setting, curve, epsilon
from tests.effort import proof
from tests.truth.tails import check_tails, opened
from zoexplore.bounds import hidden_cost
from zoexplore.bounds.drifts import norms_of
from zoexplore.bounds.kernels import moments, profiles
from zoexplore.bounds.kernels.gaussian import GAUSSIAN
from zoexplore.bounds.kernels.sharp_plans import run_of
from zoexplore.bounds.run_arrays import RunArrays

RUN = DEMONSTRATION.replace(K=52)
PAPER = Setting(
    n=1000,
    d=1000,
    K=200,
    T=1000,
    sigma=0.1,
    beta=0.5,
    regime="strongly-convex",
    R=1.0,
    clip=1.0,
    M=1.0,
    m=0.9,
)


def small(d, K, **changes):
    """A run in few dimensions."""
    run = Setting(
        n=1000,
        d=d,
        K=K,
        T=60,
        sigma=0.03 * sqrt(K / d),
        beta=0.5,
        regime="strongly-convex",
        M=1.0,
        m=0.5,
        ridge=0.5,
    )
    return run.replace(**changes)


def clipped(ridge):
    return PAPER.replace(clip=3 / sqrt(1000), m=ridge, ridge=ridge, regime="convex", lipschitz=inf)


# epsilon by other programs, without blocks, which also take exponential moments; the second is how
# far above it this may be
REFERENCES = [
    (RUN, 2.1241, 0.022),
    (RUN.replace(delta=1e-3), 1.4460, 0.023),
    (RUN.replace(delta=1e-8), 2.8846, 0.023),
    (RUN.replace(xi=1e-5), 2.1538, 0.026),  # which takes the remainder entry by entry, too
    (RUN.replace(neighbours="add-remove"), 0.98597, 0.021),
    (RUN.replace(releases=2), 3.115, 0.03),
    (RUN.replace(releases=5), 5.050, 0.033),
    (RUN.replace(releases=20), 7.831, 0.013),
    (DEMONSTRATION, 0.8024, 0.007),
    (RUN.replace(lipschitz=inf), 2.204, 0.022),
    (DEMONSTRATION.replace(lipschitz=inf), 0.836, 0.005),
    (PAPER, 0.2084, 0.008),
    (PAPER.replace(regime="convex", m=0.0), 1.824, 0.021),
    (PAPER.replace(ridge=0.9, lipschitz=inf), 0.2102, 0.007),
    (clipped(0.05), 0.1969, 0.047),
    (clipped(0.1), 0.1106, 0.01),
    (clipped(0.2), 0.0437, 0.003),
    (clipped(0.5), 0.02237, 0.01),
    (small(2, 1), 3.248, 0.002),
    (small(5, 2), 1.604, 0.002),
    (small(10, 3), 1.926, 0.005),
    (small(10, 8), 0.580, 0.01),
    (small(20, 5), 2.25, 0.005),
    (small(40, 8), 2.82, 0.01),
]


@pytest.mark.parametrize(("run", "known", "above"), REFERENCES)
def test_reference_values(run, known, above):
    assert 0.8 * known <= epsilon(run, "sharp") <= known * (1 + above)


@pytest.mark.parametrize(
    "run",
    [
        RUN.replace(T=60),
        DEMONSTRATION.replace(T=40),
        proof(PAPER),
        proof(RUN.replace(lipschitz=inf)),
    ],
)
def test_epsilon_is_that_of_the_independent_implementation(run):
    ours, theirs = epsilon(run, "sharp"), slow.norm_form(run)
    assert theirs * (1 - 2e-2) <= ours <= theirs * (1 + 3e-3)


# ---------------------------------------------------------------- the tails of a plan


RUNS = st.builds(
    lambda d, K, T, sigma, beta, regime, ridge, R, acting, xi, delta, linear: small(
        d,
        max(1, round(K * d)),
        T=T,
        sigma=sigma,
        beta=beta,
        regime=regime,
        m=max(ridge, 0.3),
        ridge=ridge,
        R=R,
        lipschitz=inf if acting else None,
        xi=xi,
        delta=delta,
        linear=linear,
    ),
    st.sampled_from([2, 3, 7, 30, 200]),
    st.floats(0, 1),
    st.integers(1, 70),
    powers(-3, -0.5),
    st.sampled_from([0.0, 0.3, 0.9]),
    st.sampled_from(["strongly-convex", "convex", "non-convex"]),
    st.sampled_from([0.05, 0.3, 0.8]),
    st.sampled_from([inf, 0.01, 0.3]),
    st.booleans(),
    st.sampled_from([0.0, 1e-5]),
    powers(-8, -1),
    st.booleans(),
)


@given(RUNS, st.sampled_from(["clip", "least"]), st.sampled_from(["gaussian", "cks", "mironov"]))
@settings(max_examples=15, deadline=None)
def test_tails_are_those_of_the_recursions_step_by_step(run, sensitivity, conversion):
    assume(check_tails(run, Accounting(sensitivity=sensitivity, conversion=conversion)))


HIDING = [small(7, 3), RUN, clipped(0.1), RUN.replace(d=60, K=8, clipping="joint", lipschitz=inf)]


@pytest.mark.parametrize("run", HIDING)
@pytest.mark.parametrize("T", [2, 13, 40, proof(1000)])
def test_tails_of_runs_that_hide_much(run, T):
    assert check_tails(run.replace(T=T))


# ---------------------------------------------------------------- their parts


@pytest.mark.parametrize("z", [-300.0, -20.0, -1e-3, 1e-9, 0.5, 20.0, 300.0])
@pytest.mark.parametrize(("K", "d"), [(1, 2), (52, 520), (4, 93134), (10**8, 10**9), (6, 7)])
def test_kummers_function_is_rounded_up(K, d, z):
    with mp.workdps(60):
        exact = float(mp.log(mp.hyp1f1(mp.mpf(K) / 2, mp.mpf(d) / 2, z)))
        assert (
            exact
            <= moments.log_1f1(float(K), float(d), z)
            <= exact + 1e-11 * max(1.0, abs(z)) + 1e-15
        )


@pytest.mark.parametrize("part", [0.6, 0.95])
@pytest.mark.parametrize("K", [1, 100])
def test_its_series_is_short_for_any_model_size(K, part):
    """Nearly (1 - z/b)^-a where b is large. With as many terms as b, this would not end today."""
    a, b = K / 2, 2e13
    assert moments.log_1f1(float(K), 2 * b, part * b) == pytest.approx(
        -a * np.log1p(-part), rel=1e-3
    )


def test_internals_of_another_program():
    assert moments.log_1f1(52.0, 520.0, -20.0) == pytest.approx(-1.93374, abs=1e-5)
    assert moments.absolute(1.0) == pytest.approx(1.02039, abs=1e-5)
    # by an inequality, where that is exact
    assert 1.90885 <= moments.sum_norm(52.0, 520.0, 10.0, 1.0) <= 1.90885 * 1.01


@pytest.mark.parametrize(
    ("K", "d", "order"), [(1, 4, 2), (2, 5, 8), (3, 10, 14), (8, 40, 20), (5, 5, 6)]
)
def test_the_sum_of_a_random_unit_vectors_entries(K, d, order):
    rng = np.random.default_rng(1)
    g = rng.standard_normal((400_000, d))
    sums = np.abs(g[:, :K]).sum(axis=1) / np.linalg.norm(g, axis=1)
    drawn, error = (sums**order).mean(), (sums**order).std() / sqrt(sums.size)
    assert drawn - 5 * error <= moments.sum_norm(float(K), float(d), float(order), 1e9) ** order


# ---------------------------------------------------------------- from a tail to epsilon


def levels_and_costs(X, rate, target):
    """The cells of an exponential tail beyond X."""
    levels = profiles.levels_of(target)
    s = np.empty(levels.size)
    profiles.costs(np.array([X]), np.zeros(1), np.array([rate]), 0, levels, s)
    return levels, s


@pytest.mark.parametrize("rate", [3.0, 40.0])
@pytest.mark.parametrize("at", [0.0, 0.5, 2.0, 6.0])
def test_delta_of_a_tail_is_its_integral_from_above(rate, at):
    found = profiles.delta(at, *levels_and_costs(0.5, rate, 1e-5))[0]
    exact = integrate.quad(
        lambda x: rate * exp(-rate * (x - 0.5)) * float(slow.delta_gaussian(at, x)),
        0.5,
        0.5 + 40 / rate,
    )[0]
    assert exact <= found <= exact * 1.1 + 2e-9


@given(powers(-3, 2), powers(0, 4), powers(-10, -0.5))
@settings(max_examples=40, deadline=None)
def test_epsilon_of_a_tail_is_on_the_safe_side_of_its_delta(cost, rate, target):
    levels, s = levels_and_costs(cost, rate / cost, target)
    X, power = np.array([[cost]]), np.array([[rate / cost]])
    found = profiles.convert(X, np.zeros((1, 1)), power, 0, np.array([target]), 2)[0, 0]
    by_budget = profiles.budget(2, target, X[0], np.zeros(1), power[0], 0)[0]
    assert profiles.delta(found, levels, s)[0] <= target * (1 + 1e-9) or found == by_budget
    assert (
        found == 0
        or profiles.delta(found * (1 - 1e-4), levels, s)[0] > target
        or found == by_budget
    )


def test_where_luck_plays_no_part_it_is_the_gaussian_shift():
    found = profiles.delta(0.0, *levels_and_costs(0.25, 1e12, 1e-5))[0]
    assert found == pytest.approx(erf(0.5 / 2 / sqrt(2)), abs=1e-8)


# ---------------------------------------------------------------- what must hold of the whole


@pytest.mark.parametrize(("d", "c"), [(10, 0.5), (200, 0.8)])
def test_a_joint_clip_never_gets_the_cube(d, c):
    """With all directions seen a linear record attains what its joint clip allows, and may not be
    said to attain less.
    """
    joint = small(
        d,
        d,
        T=50,
        m=1 - c,
        ridge=1 - c,
        regime="convex",
        lipschitz=inf,
        linear=True,
        sigma=2e-3,
        clipping="joint",
    )
    B, S = 2 * joint.eta * joint.clip / (joint.n * joint.K), joint.eta**2 * joint.sigma**2 / d
    attained = B * (1 - c**50) / (1 - c) / sqrt(S * (1 - c**100) / (1 - c * c))
    assert slow.delta_gaussian(epsilon(joint, "sharp"), attained**2) <= joint.delta
    each = joint.replace(clipping="each", clip=joint.clip / sqrt(d))
    rows = hidden_cost._rows(RunArrays.of(joint.replace(K=d // 2)), 0.5, GAUSSIAN)[0]
    assert (
        rows.cube.max()
        == 0
        < hidden_cost._rows(RunArrays.of(each.replace(K=d // 2)), 0.5, GAUSSIAN)[0].cube.max()
    )


@pytest.mark.parametrize("changes", [{"linear": True, "regime": "non-convex"}, {"xi": 1e-3}])
def test_a_remainder_is_known_by_its_length_alone(changes):
    """Frames may be streamed, whose quotients mix: the cube is the clip's, and what two points add
    to it is a ball.
    """
    run = RUN.replace(lipschitz=inf, **{"xi": 1e-4} | changes)
    g, tails, _ = opened(run, Accounting())
    rows = hidden_cost._chosen(RunArrays.of(run).counted_by(Accounting()), Accounting(), g._solved)[
        0
    ]
    run_of_steps = run_of(rows, norms_of(rows, rows.order[:, None].copy()), 0, 1, 99)
    # of the cube's entries: no remainder among them
    assert run_of_steps.steps["b"][0] == float(RunArrays.of(run).B_clip)
    assert tails is not None and g.epsilon > epsilon(run.replace(xi=0.0), "sharp")


def test_longer_runs_never_cost_less_and_one_alone_is_one_on_a_curve():
    T = np.unique(np.geomspace(1, 1e9, 60).round())
    for run in (RUN, small(7, 3), PAPER.replace(regime="convex", m=0.0)):
        found = curve(run, "T", T, ["sharp"])["sharp"]
        assert (np.diff(found) >= 0).all()
        alone = [epsilon(run.replace(T=int(t)), "sharp") for t in T[::7]]
        np.testing.assert_allclose(found[::7], alone, rtol=5e-3)


@pytest.mark.parametrize(
    "run",
    [
        RUN.replace(d=10**9, K=10**6),
        RUN.replace(T=10**9),
        RUN.replace(K=520),
        RUN.replace(K=520, lipschitz=inf),
        RUN.replace(K=1),
        RUN.replace(d=1, K=1),
        small(2, 1),
        small(2, 2, lipschitz=inf),
        RUN.replace(beta=0.0),
        RUN.replace(beta=1.0),
        RUN.replace(R=inf),
        RUN.replace(linear=True, lipschitz=inf),
        RUN.replace(releases=200),
        RUN.replace(clipping="joint"),
        RUN.replace(clipping="joint", clip=1.0, lipschitz=inf),
        RUN.replace(regime="non-convex"),
        RUN.replace(sigma=1e-9),
        RUN.replace(sigma=1e6),
        RUN.replace(delta=1e-200),
        RUN.replace(delta=0.9),
    ],
)
@pytest.mark.parametrize("sensitivity", ["clip", "least"])
def test_never_above_composition_at_the_edges(run, sensitivity):
    accounting = Accounting(sensitivity=sensitivity)
    assert epsilon(run, "sharp", accounting) <= epsilon(run, "composition", accounting) * (1 + 1e-9)


def test_luck_is_counted_at_every_level():
    """What a plan says of one delta it says of all: between two of them epsilon is what the tails
    come to.
    """
    g, tails, _ = opened(RUN, Accounting())
    for delta in (1e-7, 1e-3):
        again = profiles.convert(*tails, tails.X.shape[1], np.array([delta]), 2)[0, 0]
        assert epsilon(RUN.replace(delta=delta), "sharp") <= again * (1 + 2e-3)
        assert again <= epsilon(RUN.replace(delta=delta), "sharp") * 1.02
    assert 0 < g.delta_f < RUN.delta


def test_a_longer_run_never_costs_less_where_the_share_is_free():
    """The best share is sought at some runs of a curve and interpolated; by these, 285 steps cost
    more than 1000.
    """
    run = Setting(
        n=100,
        d=3162,
        K=1,
        T=1,
        sigma=1.0,
        beta=0.0,
        regime="strongly-convex",
        R=0.1,
        clip=10.0,
        M=1.0,
        m=0.1,
        ridge=0.1,
        eta=1.0,
        delta=0.1,
        lipschitz=inf,
    )
    line = curve(
        run,
        "T",
        [1, 2, 4, 7, 12, 23, 43, 81, 152, 285, 534, 1000],
        ["sharp"],
        Accounting(schedule="optimal"),
    )["sharp"]
    assert (np.diff(line) >= 0).all() and line[-1] < inf
