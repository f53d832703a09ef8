"""Composition: T times the joint cost of K orthonormal directions."""

import numpy as np
import pytest
from hypothesis import given

from tests.bounds import reference
from tests.bounds.strategies import settings_of_runs
from tests.convention import DEMONSTRATION, Accounting, epsilon, guarantee
from zoexplore.bounds.conversion import delta_of

PAPER = DEMONSTRATION.replace(
    n=1000, d=1000, K=200, sigma=0.1, m=0.9, ridge=0, M=1, R=1, xi=0, delta=1e-5, T=1000, beta=0.5
)


@pytest.mark.parametrize(
    ("beta", "conversion", "paper"),
    [(0.5, "mironov", 4.25131), (1.0, "mironov", 3.23485), (0.5, "gaussian", 3.46682)],
)
def test_the_reference_point(beta, conversion, paper):
    ours = epsilon(PAPER.replace(beta=beta), "composition", Accounting(conversion=conversion))
    assert ours == pytest.approx(paper, abs=5.1e-6)


@given(settings_of_runs())
def test_the_budget_is_the_joint_cost_of_the_directions(run):
    g = guarantee(run, "composition")
    assert g.rho == pytest.approx(reference.composition_rho(run), rel=1e-12)
    assert (g.N, g.delta_f, g.start) == (run.T, 0, 0)


def test_one_step_is_a_gaussian_mechanism_with_the_noise_that_the_span_sees():
    """Within the span the update has noise (beta/K + (1-beta)/d) eta^2 sigma^2 a direction."""
    d, K, eta, sigma, beta, n = 7, 3, 0.7, 0.2, 0.3, 50
    U = np.linalg.qr(np.random.default_rng(0).normal(size=(d, K)))[0]
    noise = eta**2 * sigma**2 * (beta / K * U @ U.T + (1 - beta) / d * np.eye(d))
    shift = eta / K * U @ np.full(K, 2 / n)  # every quotient moves by 2 Delta/n
    run = DEMONSTRATION.replace(n=n, d=d, K=K, T=1, sigma=sigma, beta=beta, eta=eta)
    assert guarantee(run, "composition").rho == pytest.approx(
        0.5 * shift @ np.linalg.solve(noise, shift), rel=1e-12
    )


def test_moving_all_noise_off_the_directions_costs_d_over_K_times_more():
    along, across = (guarantee(PAPER.replace(beta=beta), "composition").rho for beta in (1.0, 0.0))
    assert across == pytest.approx(along * PAPER.d / PAPER.K, rel=1e-12)


def test_with_every_direction_probed_the_share_is_no_matter():
    assert (
        len(
            {
                round(guarantee(PAPER.replace(K=1000, beta=b), "composition").rho, 12)
                for b in (0, 0.3, 1)
            }
        )
        == 1
    )


def test_two_points_add_nothing_to_what_one_linear_form_gains():
    """Its quotients are at most L times what each direction sees of the form, so a longer run never
    costs less either.
    """
    run = DEMONSTRATION.replace(
        n=1000,
        d=100,
        K=100,
        T=20,
        sigma=0.03,
        regime="convex",
        m=0,
        ridge=0,
        lipschitz=1.0,
        linear=True,
    )
    least = Accounting(sensitivity="least")
    derivatives, near, wide = (
        epsilon(run.replace(xi=xi), "composition", least) for xi in (0, 0.01, 0.1)
    )
    assert (
        derivatives
        == near
        == wide
        < epsilon(run.replace(xi=0.1, linear=False), "composition", least)
    )
    steps = [
        epsilon(run.replace(xi=0.1, T=T, releases=10), "sharp", least) for T in (5, 10, 11, 20)
    ]
    assert steps == sorted(steps)
    supposed = [
        "".join(guarantee(run.replace(xi=xi), "composition", least).supposes) for xi in (0.1, 0.0)
    ]
    assert ["one linear form" in said for said in supposed] == [True, False]


def of_known_length(shape, sigma, known, delta):
    """A run whose records' gradients have a length, epsilon of it, and what a step costs of which
    the span sees all.
    """
    d, K, T = shape
    run = DEMONSTRATION.replace(n=100, d=d, K=K, T=T, sigma=sigma, lipschitz=known, delta=delta)
    run = run.replace(regime="convex", m=0.0, ridge=0.0, R=float("inf"))
    cost = (2 * known / run.n / K) ** 2 / (run.sigma**2 * (run.beta / K + (1 - run.beta) / d))
    return run, epsilon(run, "composition", Accounting(sensitivity="least")), cost


FEW_STEPS = {
    (2, 1, 1): 0.9,
    (2, 1, 30): 0.9,
    (10, 3, 1): 0.84,
    (10, 3, 7): 0.87,
    (1000, 5, 1): 0.78,
    (1000, 5, 100): 0.93,
}


@pytest.mark.parametrize(
    ("shape", "loss"), [*FEW_STEPS.items(), ((1000, 900, 3), 0.97), ((50, 49, 1), 0.97)]
)
@pytest.mark.parametrize("known", [0.5, 1.0])
def test_where_gradients_have_a_known_length_it_averages_over_what_spans_see(shape, loss, known):
    """Against the Gaussian profile averaged over drawn spans, all that an attacker who sees
    everything can do: above it, and by no more than exponential moments and norms lose of a tail,
    which is most where it is of few directions and steps.
    """
    d, K, T = shape
    run, found, cost = of_known_length(shape, 0.3 * np.sqrt(K / d), known, 1e-5)
    seen = np.random.default_rng(3).beta(K / 2, (d - K) / 2, (100_000, T)).sum(axis=1)
    rho = np.minimum(seen, T * K / known**2) * cost / 2  # a clip of 1 on each quotient

    def delta(at):
        values = delta_of(rho, at)
        return values.mean(), values.std() / np.sqrt(rho.size)

    mean, error = delta(found)
    assert 0 < mean - 4 * error <= run.delta
    mean, error = delta(found * loss)
    assert mean + 4 * error > run.delta or found == epsilon(run, "composition")


def test_it_asks_nothing_of_the_loss():
    run = PAPER.replace(regime="non-convex", R=float("inf"), xi=1e3, eta=1e6, m=0, K=999)
    assert guarantee(run, "composition").rho == guarantee(PAPER.replace(K=999), "composition").rho


def test_as_printed_it_is_four_times_too_small():
    assert guarantee(PAPER, "composition").rho == pytest.approx(
        4 * guarantee(PAPER, "composition", Accounting(printed=True)).rho, rel=1e-12
    )


STRATEGIES = {
    "always": lambda loss, epsilon: loss < np.inf,
    "while there is little": lambda loss, epsilon: loss < epsilon,
    "where it pays": lambda loss, epsilon: loss > -0.3 * epsilon,
    "in between": lambda loss, epsilon: np.abs(loss - 0.6 * epsilon) < epsilon,
}


@pytest.mark.parametrize("pushes", STRATEGIES.values(), ids=STRATEGIES)
@pytest.mark.parametrize("shape", [(2, 1, 12), (6, 2, 30)])
def test_a_loss_that_looks_at_the_privacy_loss_so_far_gains_nothing(shape, pushes):
    """Whether the record's gradient is long or 0 may depend on all iterates: drawn runs of such
    losses stay below delta.
    """
    d, K, T = shape
    run, at, cost = of_known_length(shape, 0.03 * np.sqrt(T * K / d), 1.0, 1e-2)
    rng, loss = np.random.default_rng(5), np.zeros(400_000)
    for _ in range(T):
        step = cost * rng.beta(K / 2, (d - K) / 2, loss.size) * pushes(loss, at)
        loss += step / 2 + np.sqrt(step) * rng.standard_normal(loss.size)
    failing = np.maximum(-np.expm1(at - loss), 0.0)
    assert 0 < failing.mean() - 4 * failing.std() / np.sqrt(loss.size) <= run.delta
