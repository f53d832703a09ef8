"""The sharper bound on full batches: its tails against the recursions step by step, its numbers against other programs'."""

from math import erf, exp, inf, log, sqrt

import mpmath as mp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import integrate, special

from tests.bounds import hidden_cost as slow
from tests.bounds.strategies import powers
from tests.convention import DEMONSTRATION, Accounting, Setting, curve, epsilon, guarantee
from tests.effort import proof
from zoexplore.axes import AXES
from zoexplore.bounds.kernels import budgets, moments, profiles

RUN = DEMONSTRATION.replace(K=52)
PAPER = Setting(n=1000, d=1000, K=200, T=1000, sigma=0.1, beta=0.5, regime="strongly-convex", R=1.0, clip=1.0, M=1.0, m=0.9)


def small(d, K, **changes):
    """A run in few dimensions."""
    run = Setting(n=1000, d=d, K=K, T=60, sigma=0.03 * sqrt(K / d), beta=0.5, regime="strongly-convex", M=1.0, m=0.5, ridge=0.5)
    return run.replace(**changes)


def clipped(ridge):
    return PAPER.replace(clip=3 / sqrt(1000), m=ridge, ridge=ridge, regime="convex", lipschitz=inf)


# epsilon by another program, without blocks
REFERENCES = [
    (RUN, 2.1241, 2e-3), (RUN.replace(delta=1e-3), 1.4460, 3e-3), (RUN.replace(delta=1e-8), 2.8846, 3e-3),
    (RUN.replace(xi=1e-5), 2.1538, 8e-3),  # which takes the remainder entry by entry, too
    (RUN.replace(neighbours="add-remove"), 0.98597, 3e-3),
    (RUN.replace(releases=2), 3.115, 3e-3), (RUN.replace(releases=5), 5.050, 3e-3), (RUN.replace(releases=20), 7.831, 5e-3),
    (DEMONSTRATION, 0.8024, 2e-3), (RUN.replace(lipschitz=inf), 2.203, 3e-3), (DEMONSTRATION.replace(lipschitz=inf), 0.836, 3e-3),
    (PAPER, 0.2084, 3e-3), (PAPER.replace(regime="convex", m=0.0), 1.812, 8e-3),
    (PAPER.replace(ridge=0.9, lipschitz=inf), 0.2102, 3e-3),
    (PAPER.replace(regime="non-convex", ridge=0.9, lipschitz=inf), 0.2209, 3e-3),
    (clipped(0.05), 0.1969, 2e-2), (clipped(0.1), 0.1106, 3e-3), (clipped(0.2), 0.0437, 1e-2), (clipped(0.5), 0.02237, 3e-3),
    (small(10, 8), 0.6096, 1e-2), (small(40, 8), 2.860, 1e-2),
]  # fmt: skip


@pytest.mark.parametrize(("run", "known", "within"), REFERENCES)
def test_reference_values(run, known, within):
    assert epsilon(run, "sharp") == pytest.approx(known, rel=within)


@pytest.mark.parametrize("run", [RUN, DEMONSTRATION.replace(T=40), proof(PAPER), RUN.replace(lipschitz=inf, T=60)])
def test_the_exponential_form_is_that_of_the_independent_implementation(run):
    ours, theirs = epsilon(run, "sharp"), slow.exponential_form(run)
    assert theirs * (1 - 1e-3) <= ours <= theirs * (1 + 3e-3)


def opened(run):
    """A guarantee with the independent implementation's step and plan, and its tails."""
    g = guarantee(run, "sharp")
    tails = g._solved.extra.get("tails", np.empty((), object)).item()
    if not isinstance(tails, tuple):
        return g, None, None, None
    inside, unit = g.trajectory, run.eta * run.sigma
    plan = slow.Plan(inside.alpha, inside.pi, inside.z[:-1] / unit, None, g.start / unit, inside.drift / unit)
    return g, slow.Step.of(run), plan, tails


RUNS = st.builds(
    lambda d, K, T, sigma, beta, regime, ridge, R, acting, xi, delta, alike: small(
        d, max(1, round(K * d)), T=T, sigma=sigma, beta=beta, regime=regime, m=max(ridge, 0.3), ridge=ridge, R=R,
        lipschitz=inf if acting else None, xi=xi, delta=delta, neighbours=alike,
    ),
    st.sampled_from([2, 3, 7, 30, 200]), st.floats(0, 1), st.integers(1, 70), powers(-3, -0.5), st.sampled_from([0.0, 0.3, 0.9]),
    st.sampled_from(["strongly-convex", "convex", "non-convex"]), st.sampled_from([0.05, 0.3, 0.8]),
    st.sampled_from([inf, 0.01, 0.3]), st.booleans(), st.sampled_from([0.0, 1e-5]), powers(-8, -1),
    st.sampled_from(["replace-one", "add-remove"]),
)  # fmt: skip


def check_tails(run):
    """Whether the bound was the plan's own (and not composition's), once its norms are no less than step by step."""
    g, step, plan, tails = opened(run)
    if tails is None:
        return False
    norms, X, Y, power = tails
    for k in range(norms):
        order, tilt = int(power[k]), exp(-log(budgets.TYPICAL * run.delta) / (2 * power[k]))
        if X[k] < 1e100:
            with np.errstate(over="ignore", invalid="ignore"):
                either = [slow.by_norm(step, plan, order), slow.by_norm(step, plan, order, splits=tilt)]
            assert any(x <= X[k] * (1 + 1e-6) and y <= Y[k] * (1 + 1e-9) for x, y in either), (order, either, X[k], Y[k])
            assert any(X[k] <= x * 1.02 for x, _ in either)
    forms = [slow.power(X[k], Y[k], power[k]) if k < norms else slow.exponential(X[k], power[k]) for k in range(power.size)]
    lost = budgets.LOST * run.delta if power.size > norms else 0.0
    assert slow.delta(g.epsilon, forms, lost, least=1e-6 * run.delta) <= run.delta * (1 + 1e-9)
    assert g.epsilon > 0 or slow.delta(0.0, forms, lost, least=1e-6 * run.delta) <= run.delta
    exceeded = min(
        (X[k] / max(2 * g.rho - Y[k], 1e-300)) ** power[k] if k < norms else exp(min(-power[k] * (2 * g.rho - X[k]), 700.0))
        for k in range(power.size)
    )
    assert min(exceeded, 1.0) + lost <= g.delta_f * (1 + 1e-6)
    return True


@given(RUNS)
@settings(max_examples=8, deadline=None)
def test_tails_are_those_of_the_recursions_step_by_step(run):
    assume(check_tails(run))


@pytest.mark.parametrize("T", [1, 2, 13, 40, proof(1000)])
def test_tails_of_runs_that_hide_much(T):
    assert check_tails(small(7, 3, T=T)) or T == 1
    assert check_tails(RUN.replace(T=T)) or T == 1


@pytest.mark.parametrize("z", [-300.0, -20.0, -1e-3, 1e-9, 0.5, 20.0, 300.0])
@pytest.mark.parametrize(("a", "b"), [(0.5, 1.0), (26.0, 260.0), (2.0, 46567.0), (5e7, 5e8), (3.0, 3.5)])
def test_kummers_function_is_rounded_up(a, b, z):
    with mp.workdps(60):
        exact = float(mp.log(mp.hyp1f1(a, b, z)))
    assert exact <= moments.series(a, b, z) <= exact + 1e-11 * max(1.0, abs(z))


def test_internals_of_another_program():
    assert moments.series(26.0, 260.0, -20.0) == pytest.approx(-1.93374, abs=1e-5)
    assert moments.absolute(1.0) == pytest.approx(1.02039, abs=1e-5)
    assert moments.sum_norm(52.0, 520.0, 10.0, 1.0) <= 1.90885  # by an inequality, where this is exact


@pytest.mark.parametrize(("K", "d", "order"), [(1, 4, 2), (2, 5, 8), (3, 10, 14), (8, 40, 20), (5, 5, 6)])
def test_the_sum_of_a_random_unit_vectors_entries(K, d, order):
    """Its norm against draws, and where it is bounded by Chernoff's inequality."""
    rng = np.random.default_rng(1)
    g = rng.standard_normal((400_000, d))
    sums = np.abs(g[:, :K]).sum(axis=1) / np.linalg.norm(g, axis=1)
    drawn = (sums**order).mean()
    error = (sums**order).std() / sqrt(sums.size)
    ours = moments.sum_norm(float(K), float(d), float(order), 1e9) ** order
    assert drawn - 5 * error <= ours <= drawn + 8 * error
    assert moments._log_sum_moment(float(K), float(order)) <= moments._log_sum_chernoff(float(K), float(order))


@pytest.mark.parametrize("d", [2.0, 3.0, 40.0, 299.0, 301.0, 1e6, 1e9])
def test_mean_lengths_are_rounded_down(d):
    with mp.workdps(60):
        exact = float(mp.sqrt(2) * mp.exp(mp.loggamma((mp.mpf(d) + 1) / 2) - mp.loggamma(mp.mpf(d) / 2)))
    assert exact * (1 - 1e-6) <= moments.mean_length(d) <= exact


@pytest.mark.parametrize("theta", [0.1, 1.0, 5.0])
@pytest.mark.parametrize(("K", "d"), [(1, 4), (3, 8), (20, 60)])
def test_exponential_moments_are_no_less_than_drawn(K, d, theta):
    """Of a step whose drift is at a corner of what curvatures allow, idle and clipped entry by entry."""
    rng = np.random.default_rng(3)
    U = np.linalg.qr(rng.standard_normal((20_000, d, K)))[0]
    x, beside = np.eye(d)[0], np.eye(d)[1]
    for acting in (False, True):
        run = small(d, K, ridge=0.2, m=0.2, lipschitz=inf if acting else None)
        step = slow.Step.of(run)
        for turn in (0.0, 1.0, 2.5):
            h = ((1 + np.cos(turn)) * x + np.sin(turn) * beside) * step.top / 2
            if acting:
                drift = np.maximum((step.r * U[:, 0]) ** 2, (step.r * U[:, 0] - np.einsum("sdk,d->sk", U, h)) ** 2).sum(axis=1)
            else:
                drift = (np.einsum("sdk,d->sk", U, step.r * x - h) ** 2).sum(axis=1)
            across = 1 - (U[:, 0] ** 2).sum(axis=1)
            for A, C in ((1.0, 0.5), (0.3, 2.0)):
                drawn = np.exp(theta * (A * across + C * drift))
                found = _exponential(run, theta, A, C)
                assert log(drawn.mean() - 5 * drawn.std() / sqrt(drawn.size)) <= found


def _exponential(run, theta, A, C):
    from zoexplore.bounds import hidden_cost
    from zoexplore.bounds.run_arrays import RunArrays

    columns, rows, _ = hidden_cost._columns(RunArrays.of(run), run.beta, Accounting())
    given_ = hidden_cost._rows_at(columns, rows, hidden_cost.QUICK, Accounting())
    row = budgets.row_of(*given_[:-2], 0)
    kind = moments.kind_of(row.run, theta, 1.0, A, C, row.tops, row.constants, row.k0, row.k1)
    return moments.moments(row.run, theta, 1.0, A, C, kind, row.tops, row.constants, row.k0, row.k1)


@pytest.mark.parametrize("rate", [3.0, 40.0])
@pytest.mark.parametrize("at", [0.0, 0.5, 2.0, 6.0])
def test_delta_of_a_tail_is_its_integral_from_above(rate, at):
    """An exponential tail beyond a start of .5."""
    X, Y, power, levels = np.array([0.5]), np.zeros(1), np.array([rate]), budgets.levels_of(1e-5)
    s = np.empty(levels.size)
    profiles.costs(X, Y, power, 0, 1, levels, s)
    found = profiles.delta(at, levels, s, 0.0)[0]
    exact = integrate.quad(lambda x: rate * exp(-rate * (x - 0.5)) * float(slow.delta_gaussian(at, x)), 0.5, 0.5 + 40 / rate)[0]
    assert exact <= found <= exact * 1.1 + 2e-9


@given(powers(-3, 2), powers(0, 4), powers(-10, -0.5))
@settings(max_examples=40, deadline=None)
def test_epsilon_of_a_tail_is_on_the_safe_side_of_its_delta(cost, rate, target):
    X, Y, power, levels = np.array([cost]), np.zeros(1), np.array([rate / cost]), budgets.levels_of(target)
    s = np.empty(levels.size)
    profiles.costs(X, Y, power, 0, 1, levels, s)
    found = profiles.converted(2, target, levels, s, 0.0)[0]
    assert profiles.delta(found, levels, s, 0.0)[0] <= target * (1 + 1e-9)
    assert found == 0 or profiles.delta(found * (1 - 1e-4), levels, s, 0.0)[0] > target


def test_where_luck_plays_no_part_it_is_the_gaussian_shift():
    X, Y, power, levels = np.array([0.25]), np.zeros(1), np.array([1e12]), budgets.levels_of(1e-5)
    s = np.empty(levels.size)
    profiles.costs(X, Y, power, 0, 1, levels, s)
    assert profiles.delta(0.0, levels, s, 0.0)[0] == pytest.approx(erf(0.5 / 2 / sqrt(2)), abs=1e-8)


def test_a_joint_clip_never_gets_the_cube():
    """Its kick is as long in any direction: with all directions seen a linear record attains what it is counted as."""
    run = small(10, 10, T=50, clip=0.5, ridge=0.5)
    joint = run.replace(clipping="joint", clip=0.5 * sqrt(10))
    c = abs(1 - run.eta / run.K * run.ridge)
    B, S = 2 * run.eta * joint.clip / (run.n * run.K), run.eta**2 * run.sigma**2 / run.d
    attained = B * (1 - c**50) / (1 - c) / sqrt(S * (1 - c**100) / (1 - c * c))
    found = epsilon(joint, "sharp")
    assert slow.delta_gaussian(found * 0.999, attained**2) <= joint.delta or found >= epsilon(run, "sharp")
    assert epsilon(run.replace(K=5), "sharp") < epsilon(joint.replace(K=5, clip=0.5 * sqrt(5)), "sharp")


def test_longer_runs_never_cost_less_and_one_alone_is_one_on_a_curve():
    T = np.unique(np.geomspace(1, 1e9, 60).round())
    for run in (RUN, small(7, 3), PAPER.replace(regime="convex", m=0.0)):
        found = curve(run, "T", T, ["sharp"])["sharp"]
        assert (np.diff(found) >= 0).all()
        alone = [epsilon(run.replace(T=int(t)), "sharp") for t in T[::7]]
        np.testing.assert_allclose(found[::7], alone, rtol=2e-3)


@pytest.mark.parametrize(
    "run",
    [
        RUN.replace(d=10**9, K=10**6), RUN.replace(T=10**9), RUN.replace(K=520), RUN.replace(K=520, lipschitz=inf),
        RUN.replace(K=1),
        RUN.replace(d=1, K=1), small(2, 1), small(2, 2, lipschitz=inf), RUN.replace(beta=0.0), RUN.replace(beta=1.0),
        RUN.replace(R=inf), RUN.replace(linear=True, lipschitz=inf), RUN.replace(releases=200), RUN.replace(clipping="joint"),
        RUN.replace(clipping="joint", clip=1.0, lipschitz=inf), RUN.replace(regime="non-convex"), RUN.replace(sigma=1e-9),
        RUN.replace(sigma=1e6), RUN.replace(delta=1e-200), RUN.replace(delta=0.9),
    ],
)  # fmt: skip
@pytest.mark.parametrize("sensitivity", ["clip", "least"])
def test_never_above_composition_at_the_edges(run, sensitivity):
    accounting = Accounting(sensitivity=sensitivity)
    assert epsilon(run, "sharp", accounting) <= epsilon(run, "composition", accounting) * (1 + 1e-9)


@pytest.mark.parametrize("field", ["M", "n", "R"])
def test_a_curve_is_the_same_whenever_it_is_asked_for(field):
    values = AXES[field].values(RUN)[::5]
    first, again = (curve(RUN, field, values, ["sharp"])["sharp"] for _ in range(2))
    np.testing.assert_array_equal(again, first)


def test_risk_is_of_one_plan():
    g = guarantee(RUN, "sharp")
    assert g.profile(g.epsilon) <= RUN.delta * (1 + 1e-9)
    for delta in (1e-7, 1e-3):
        assert g.profile(epsilon(RUN.replace(delta=delta), "sharp")) <= delta * 1.2
    assert g.advantage < special.erf(sqrt(g.rho) / 2) + g.delta_f
    assert float(g.true_positive_rate(0.01)) < 0.2
