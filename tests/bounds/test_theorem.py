"""The hidden-state theorem is optimised to the hair, and what it returns is a certificate that can
be checked.

Three routes to the same number: the package; the conditions of optimality in
`reference.Program.least`, over every N and a grid of splits; and a general solver (SLSQP) that is
given the constraints and nothing else.
"""

from math import inf, log, sqrt

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.bounds import reference
from tests.bounds.strategies import accountings, powers, settings_of_runs, whole_powers
from tests.convention import DEMONSTRATION, Accounting, curve, epsilon, guarantee
from tests.effort import examples, proof, times
from zoexplore.bounds.kernels.shifted_divergence import Program, theorem_rho

PAPER = DEMONSTRATION.replace(
    n=1000, d=1000, K=200, sigma=0.1, m=0.9, ridge=0, M=1, R=1, xi=0, delta=1e-5, T=1000, beta=0.5
)
WIDE = DEMONSTRATION.replace(
    n=5000, d=4000, K=100, sigma=0.05, M=1, m=0.2, ridge=0.2, R=2, T=1500, delta=1e-6
)

RUNS = {
    "paper": PAPER,
    "paper, short": PAPER.replace(T=12),
    "paper, one step": PAPER.replace(T=1),
    "paper, two steps": PAPER.replace(T=2),
    "little directional noise": PAPER.replace(beta=0.05),
    "much directional noise": PAPER.replace(beta=0.97),
    "few directions: distances grow": WIDE.replace(K=10),
    "perturbed": PAPER.replace(xi=1e-5),
    "much perturbed": PAPER.replace(xi=2e-3),
    "perturbed, distances grow": WIDE.replace(K=10, xi=1e-5),
    "much perturbed, distances grow": WIDE.replace(K=10, xi=1e-2),
    "convex": WIDE.replace(regime="convex", eta=60.0),
    "non-convex": WIDE.replace(regime="non-convex", eta=5.0),
    "non-convex, growing fast": WIDE.replace(regime="non-convex", K=1000, T=300),
    "forward tracking, infinite ball": PAPER.replace(R=inf, ridge=0.9, eta=0.5, T=400, n=100),
    "forward tracking, perturbed": PAPER.replace(R=inf, ridge=0.9, eta=0.5, T=400, n=100, xi=1e-6),
    "forward tracking, small step": PAPER.replace(eta=0.01, R=1, T=1000, n=50),
    "forward tracking, non-convex": WIDE.replace(regime="non-convex", R=inf, eta=0.1, T=500, n=30),
    "half of the directions": PAPER.replace(K=500, M=1, m=0.3, sigma=1e-3),
    "two dimensions": DEMONSTRATION.replace(
        n=100, d=2, K=1, M=1, m=1, ridge=1, R=0.5, sigma=0.5, T=50
    ),
    "large noise, tiny ball": PAPER.replace(R=1e-3, sigma=5.0),
    "every step contracts completely": PAPER.replace(m=1.0, M=1.0, ridge=1.0, R=10),
}
SCHEDULES = ["constant", "optimal"]
each_run = pytest.mark.parametrize("run", RUNS.values(), ids=RUNS.keys())
each_schedule = pytest.mark.parametrize("schedule", SCHEDULES)


def gap_of(run):
    c = reference.lipschitz(run, run.eta / run.K)
    return (1 - c) * (1 + c)


def program_of(g):
    return reference.theorem_program(g.setting, int(g.N), g.delta_f, g.accounting.schedule)


def candidates(T):
    """Numbers of counted steps, dense at both ends of the run."""
    near_end = np.unique(np.geomspace(1, max(1, T - 1), 70).astype(int))
    return np.unique(np.concatenate([near_end, T - near_end]))[: T - 1] if T > 1 else []


@pytest.mark.parametrize(
    ("conversion", "schedule", "paper"),
    [
        ("mironov", "constant", 1.2340),
        ("mironov", "optimal", 1.0073),
        ("gaussian", "constant", 0.93529),
        ("gaussian", "optimal", 0.75346),
    ],
)
def test_the_reference_point(conversion, schedule, paper):
    ours = epsilon(PAPER, "theorem", Accounting(conversion=conversion, schedule=schedule))
    assert paper * 0.999 <= ours <= paper * 1.001


@pytest.mark.parametrize("beta", [None, 0.3])
@pytest.mark.parametrize("c2", [0.0, 0.04, 2.0])
@pytest.mark.parametrize("c1", [0.5, 0.97, 1.0, 1.05, 2.0])
@pytest.mark.parametrize("N", [1, 2, 7])
def test_the_reference_agrees_with_a_general_solver(N, c1, c2, beta):
    program = reference.Program(N=N, c1=c1, start=1.3, c2=c2, data=1.7, shift=0.9, beta=beta)
    assert program.least() == pytest.approx(program.least_by_solver(), rel=1e-6)


@each_schedule
@each_run
def test_no_number_of_steps_and_no_split_does_better(run, schedule):
    accounting = Accounting(schedule=schedule)
    true = reference.theorem_epsilon(
        run, accounting, np.geomspace(1e-4, 0.9, times(8)), candidates(run.T)
    )
    assert epsilon(run, "theorem", accounting) <= true * 1.001


@each_schedule
@each_run
def test_no_other_number_of_steps_does_better_at_the_same_split(run, schedule):
    g = guarantee(run, "theorem", Accounting(schedule=schedule))
    delta_f = g.delta_f or 0.1 * run.delta
    rho = inf
    for N in range(1, run.T):
        program = reference.theorem_program(run, N, delta_f, schedule)
        if N * program.data / (program.beta or 1.0) >= rho:
            break
        rho = min(rho, program.least())
    assert g.epsilon <= reference.epsilon_of(rho, run.delta - delta_f, "gaussian") * 1.0002


@each_schedule
@each_run
def test_the_budget_is_the_optimum_for_its_own_steps_and_split(run, schedule):
    g = guarantee(run, "theorem", Accounting(schedule=schedule))
    if g.delta_f:
        assert g.rho == pytest.approx(program_of(g).least(), rel=1e-7)
    assert g.epsilon == pytest.approx(
        reference.epsilon_of(g.rho, run.delta - g.delta_f, "gaussian"), rel=1e-8
    )


def check_certificate(g):
    """The trajectory satisfies every condition of the theorem, and costs what the guarantee says."""
    s, path, N = g.setting, g.trajectory, int(g.N)
    assert (path.tau, len(path.z), len(path.a), len(path.beta)) == (s.T - N, N + 1, N, N)
    assert np.all(path.a >= 0) and np.all(path.z >= 0) and path.z[-1] <= 1e-8 * path.z.max()
    assert np.all(path.beta >= 0) and np.all(path.beta <= 1)
    if g.accounting.schedule == "constant":
        assert np.all(path.beta == s.beta)
    if g.delta_f == 0:  # composition of the directional part: nothing to work off, nothing to fail
        assert path.tau == 0 and not path.a.any() and not path.z.any()
    else:
        program = program_of(g)
        assert path.z[0] >= min(2 * s.R, 2 * s.eta * s.clip * path.tau / sqrt(s.K)) * (1 - 1e-8)
        forward = program.c1 * path.z[:-1] + program.c2 - path.a
        size = program.c1 * path.z[:-1] + program.c2 + path.a
        assert np.all(np.abs(path.z[1:] - forward) <= 1e-7 * size.max())
        # in whole, without the rounding of single steps: the weighted shifts pay for the start
        w, need = program.weights()
        assert np.sum(w * path.a) == pytest.approx(need + program.c2 * np.sum(w), rel=1e-7)
    data, shift = (2 * s.clip / s.n) ** 2 / (2 * s.sigma**2), s.d / (2 * s.eta**2 * s.sigma**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        cost = data / path.beta + np.where(path.a > 0, shift * path.a**2 / (1 - path.beta), 0.0)
    assert np.allclose(path.rho, cost, rtol=1e-9, atol=0)
    assert g.rho == pytest.approx(float(np.sum(cost)), rel=1e-6)
    true = reference.epsilon_of(g.rho, s.delta - g.delta_f, g.accounting.conversion)
    assert g.epsilon == pytest.approx(true, rel=1e-7, abs=1e-12)


@each_schedule
@each_run
def test_the_trajectory_is_a_certificate(run, schedule):
    check_certificate(guarantee(run, "theorem", Accounting(schedule=schedule)))


strong = settings_of_runs(
    d=st.integers(2, 3000),
    T=whole_powers(0, 3.5),
    beta=st.floats(0.01, 0.99),
    sigma=powers(-3, 1),
    clip=st.just(1.0),
    ridge=st.just(1.0),
    xi=st.one_of(st.just(0.0), powers(-9, -3)),
)


@given(strong, accountings())
@examples(80)
def test_any_trajectory_is_a_certificate(run, accounting):
    g = guarantee(run, "theorem", accounting)
    assume(g.valid and g.epsilon > 1e-9)
    check_certificate(g)


@given(strong, accountings(), whole_powers(0, 1.6))
@examples(40)
def test_short_runs_are_optimal_over_every_number_of_steps(run, accounting, T):
    run = run.replace(T=T)
    g = guarantee(run, "theorem", accounting)
    assume(g.valid and g.epsilon > 1e-9)
    assert (
        g.epsilon <= reference.theorem_epsilon(run, accounting, np.geomspace(1e-4, 0.9, 20)) * 1.001
    )


def test_the_deviation_is_the_smallest_that_the_split_allows():
    for K, d, p in [
        (1, 2, 1e-3),
        (50, 1000, 1e-8),
        (500, 1000, 1e-8),
        (3, 10**6, 1e-15),
        (10**5, 10**6, 1e-300),
    ]:
        assert reference.theta_by_formula(p, K, d) == pytest.approx(
            reference.theta_for(p, K, d), rel=1e-9
        )


@each_schedule
@pytest.mark.parametrize("xi", [0.0, proof(1e-12)])
@pytest.mark.parametrize(
    "run",
    [
        PAPER.replace(m=1, ridge=1),
        proof(PAPER),
        WIDE.replace(regime="convex", K=2000, eta=1e-3),
        proof(WIDE.replace(K=10)),
        WIDE.replace(regime="non-convex", K=1000),
    ],
    ids=["far below", "below", "one", "above", "far above"],
)
def test_a_million_steps_with_factors_from_far_below_to_far_above_one(run, xi, schedule):
    run = run.replace(T=10**6, xi=xi)
    g = guarantee(run, "theorem", Accounting(schedule=schedule))
    assert g.epsilon < inf
    if g.delta_f:
        assert g.rho == pytest.approx(program_of(g).least(), rel=1e-6)
    check_certificate(g)
    for N in (10**6 - 1, 10**5):  # and the budgets of many steps are the right ones, chosen or not
        program = reference.theorem_program(run, N, 0.1 * run.delta, schedule)
        asked = Program(
            run.K,
            run.d,
            gap_of(run),
            program.start,
            inf,
            program.c2,
            program.beta or -1.0,
            program.data,
            program.shift,
        )
        rho = theorem_rho(N, inf, log(0.1 * run.delta), asked)
        assert rho == pytest.approx(program.least(), rel=1e-6)


@each_schedule
def test_it_grows_with_T_and_then_stands_still(schedule):
    T = np.unique(np.geomspace(1, 1e9, 300).astype(int))
    for run in (PAPER, PAPER.replace(xi=1e-5), WIDE.replace(K=1000)):
        values = curve(run, "T", T, ["theorem"], Accounting(schedule=schedule))["theorem"]
        assert np.all(np.diff(values) >= -1e-3 * values[:-1])
        assert values[-1] == values[-20]  # far below composition, for any number of steps more


@each_schedule
@each_run
def test_it_is_never_above_composition_of_the_directional_part(run, schedule):
    accounting = Accounting(schedule=schedule)
    public = run.replace(
        beta=1.0, sigma=run.sigma * (1.0 if schedule == "optimal" else sqrt(run.beta))
    )
    assert epsilon(run, "theorem", accounting) <= epsilon(public, "composition", accounting) * (
        1 + 1e-12
    )


@each_run
def test_free_shares_are_never_worse_than_constant_ones(run):
    free = epsilon(run, "theorem", Accounting(schedule="optimal"))
    for beta in (0.01, 0.2, 0.5, 0.8, 0.99, 1.0):
        assert free <= epsilon(run.replace(beta=beta), "theorem") * (1 + 1e-3)


@each_run
def test_the_run_s_own_share_is_no_matter_where_shares_are_free(run):
    free = Accounting(schedule="optimal")
    assert {epsilon(run.replace(beta=beta), "theorem", free) for beta in (0.0, 0.3, 1.0)} == {
        epsilon(run, "theorem", free)
    }


def test_without_contraction_and_ball_it_counts_every_step():
    run = WIDE.replace(regime="non-convex", R=inf, n=10**6)
    g = guarantee(run, "theorem")
    assert (g.N, g.delta_f, g.start) == (run.T, 0, 0)
    assert g.rho == pytest.approx(
        run.T * (2 / 10**6) ** 2 / (2 * run.beta * run.sigma**2), rel=1e-12
    )


@pytest.mark.parametrize(("stretch", "forward"), [(1.0, True), (1.001, False)])
def test_distances_are_not_tracked_forward_where_the_ridge_s_step_overshoots(stretch, forward):
    """|1 - eta ridge/K| > 1 lets distances in the span grow by more than the clipped updates do."""
    eta = 20_000 * (1 + stretch) / 0.9
    run = PAPER.replace(d=100_000, K=20_000, R=inf, ridge=0.9, m=0.9, M=0.9, eta=eta, T=12, n=1)
    g = guarantee(run, "theorem")
    assert (g.start > 0) == forward
    assert g.N == 12 or forward


@each_schedule
@pytest.mark.parametrize("xi", [1e-300, 1e-160, 1e-100, 1e-20])
@pytest.mark.parametrize(
    "run",
    [PAPER, DEMONSTRATION.replace(n=1, d=10, K=1, T=100, sigma=1, m=0, ridge=0, R=1, delta=0.1)],
)
def test_a_perturbation_too_small_to_matter_does_not(run, xi, schedule):
    accounting = Accounting(schedule=schedule)
    assert epsilon(run.replace(xi=xi), "theorem", accounting) == pytest.approx(
        epsilon(run, "theorem", accounting), rel=1e-6
    )


def test_a_tail_is_a_tail():
    """The lemma's probability is above what the lower and the upper tail of Beta(K/2, (d-K)/2) have
    together.
    """
    for K, d in [(1, 2), (1, 50), (5, 40), (100, 1000), (500, 1000)]:
        for theta in (0.1, 0.5, 1.0, 2.0, 5.0):
            law = reference.special
            below = law.betainc(K / 2, (d - K) / 2, max(0.0, K / d * (1 - theta)))
            above = law.betaincc(K / 2, (d - K) / 2, min(1.0, K / d * (1 + theta)))
            assert below + above <= reference.tail(theta, K, d) or below + above < 1e-300
