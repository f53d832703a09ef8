"""Composed privacy losses of steps on batches: against densities convolved on a grid, quadrature,
and dp-accounting.
"""

import mpmath
import numpy as np
import pytest
from dp_accounting import (
    GaussianDpEvent,
    NeighboringRelation,
    PoissonSampledDpEvent,
    SelfComposedDpEvent,
)
from dp_accounting.pld import PLDAccountant
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.signal import fftconvolve
from scipy.stats import norm

from tests.bounds.exact import least_delta
from tests.bounds.strategies import powers
from tests.effort import examples, proof
from zoexplore.bounds import curve
from zoexplore.bounds.conversion import best_order, delta_of, epsilon_at_order, epsilon_of
from zoexplore.bounds.kernels import laws, products, subsampled_renyi, trigonometric_sums
from zoexplore.bounds.loss_distribution import Losses, Part, composed
from zoexplore.run.presets import DEMONSTRATION

RARELY = 0.2  # times that batches hold the record, below which some sums are looser than others
PAPER_RATES = [  # q, mu, T, by Renyi divergence and cks, exactly: at delta = 1e-5
    (0.0032, 0.625, 200, 0.279, 0.121),
    (0.0128, 0.78, 200, 0.958, 0.787),
    (0.1, 0.5, 200, 4.05, 3.72),
    (0.0032, 0.625, 5000, 0.751, 0.685),
    (0.016, 0.125, 1000, 0.242, 0.219),
]


def in_order(kind, N, rho, q, mu, delta):
    """epsilon of one order of the neighbours, arrays of shape (P,)."""
    part = Part(N, q, mu[:, None], np.ones((N.size, 1)))
    return composed(kind, [part], delta, rho)


def by_order(N, budget, q, mu, delta):
    """epsilon by the best Renyi order."""

    def divergence(alpha):
        return N * subsampled_renyi.sampled_divergence(alpha, q, mu) + alpha * budget

    alpha = best_order(divergence, delta, "cks")
    return float(epsilon_at_order(divergence(alpha), alpha, delta, "cks"))


def law(pair, q, mu, step, most):
    """The privacy loss of a pair in steps: masses at multiples of `step` from -most to most, each
    rounded to the nearest two so that the mean stays; from normal probabilities alone.
    """
    k = np.arange(-round(most / step), round(most / step) + 1)
    edges = (k[:-1] + 0.5) * step

    def x_at(loss):  # where the likelihood ratio 1 + q (exp(mu x - mu^2/2) - 1) has that logarithm
        with np.errstate(all="ignore"):
            return np.where(
                np.expm1(loss) > -q,
                np.log1p(np.maximum(np.expm1(loss) / q, -1)) / mu + mu / 2,
                -np.inf,
            )

    if pair == "remove":
        x = x_at(edges)
        below = (1 - q) * norm.cdf(x) + q * norm.cdf(x - mu)
    elif pair == "add":
        below = norm.sf(x_at(-edges))
    else:  # losses v of density phi h at h > 1, -v of density phi, the rest at 0
        x = x_at(np.abs(edges))
        below = np.where(edges > 0, 1 - (1 - q) * norm.sf(x) - q * norm.sf(x - mu), norm.sf(x))
    return np.diff(np.concatenate([[0.0], below, [1.0]])), k * step


def convolved(pair, q, mu, N, epsilons, step, most):
    """delta at each epsilon, of N steps, by repeated convolution of the densities on a grid."""
    base, grid = law(pair, q, mu, step, most)
    total, power = None, base
    while N:
        if N % 2:
            total = power if total is None else fftconvolve(total, power, "same")
        power, N = fftconvolve(power, power, "same"), N // 2
    return [
        float(np.sum(np.maximum(total, 0) * np.maximum(-np.expm1(epsilon - grid), 0)))
        for epsilon in epsilons
    ]


@pytest.mark.parametrize(("q", "mu", "T", "renyi_epsilon", "exact"), PAPER_RATES)
def test_reference_values(q, mu, T, renyi_epsilon, exact):
    assert float(Losses(T, 0.0, q, mu).epsilon(1e-5)) == pytest.approx(exact, rel=5e-3)
    assert by_order(T, 0.0, q, mu, 1e-5) == pytest.approx(renyi_epsilon, rel=5e-3)


@pytest.mark.parametrize("pair", ["without", "remove", "add"])
@pytest.mark.parametrize(
    ("q", "mu", "N", "step"),
    [(0.1, 0.5, 20, 2e-4), proof(0.1, 0.5, 200, 2e-4), (0.02, 1.5, 50, 4e-4)],
)
def test_densities_convolved_on_a_grid_agree(pair, q, mu, N, step):
    kind = {"without": laws.WITHOUT_REPLACEMENT, "remove": laws.REMOVE, "add": laws.ADD}[pair]
    rows = [np.array([x], float) for x in (N, 0.0, q, mu)]
    (start,) = in_order(kind, *rows, np.array([1e-4]))
    asked = 0.5 * start, start
    for epsilon, grid in zip(asked, convolved(pair, q, mu, N, asked, step, 12.0), strict=True):
        ours = least_delta(epsilon, lambda delta: in_order(kind, *rows, np.array([delta]))[0])
        assert grid * (1 - 5e-4) < ours < grid * (1 + 2e-2)


@pytest.mark.parametrize(
    ("q", "mu", "T", "delta"),
    [
        (0.2, 0.3, 50, 1e-5),
        proof(0.01, 1, 100, 1e-5),
        proof(0.0416, 0.5, 1000, 1e-5),
        proof(0.008, 0.6, 2000, 1e-6),
    ],
)
def test_poisson_is_the_accountant_of_others_to_three_digits(q, mu, T, delta):
    accountant = PLDAccountant(
        NeighboringRelation.ADD_OR_REMOVE_ONE, value_discretization_interval=5e-5
    )
    event = SelfComposedDpEvent(PoissonSampledDpEvent(q, GaussianDpEvent(1 / mu)), T)
    theirs = accountant.compose(event).get_epsilon(delta)
    assert float(Losses(T, 0.0, q, mu, "poisson").epsilon(delta)) == pytest.approx(theirs, rel=2e-3)


@pytest.mark.parametrize(
    ("q", "mu", "N", "delta", "most"),
    [
        (8.9e-5, 1.6, 3, 1e-7, 1.5),
        (1e-3, 1.0, 2, 1e-6, 1.02),
    ],
)
@pytest.mark.parametrize("sampling", ["poisson", "without-replacement"])
def test_few_steps_that_hardly_ever_hold_the_record(q, mu, N, delta, most, sampling):
    """Epsilon is near that of densities convolved on a grid much finer than it, and not below."""
    epsilon = float(Losses(N, 0.0, q, mu, sampling).epsilon(delta))
    step = epsilon / 200
    pair = "remove" if sampling == "poisson" else "without"
    on_grid, below = convolved(pair, q, mu, N, (epsilon, epsilon / most), step, 1000 * step + 1.5)
    assert on_grid * (1 - 1e-3) <= delta < below


@pytest.mark.parametrize(
    ("q", "mu", "N", "delta"),
    [
        (8.9e-5, 1.6, 3, 1e-5),
        (8.9e-5, 1.6, 60, 8e-6),
        (0.01, 1.0, 100, 1e-5),
        (0.2, 4.0, 300, 1e-9),
    ],
)
@pytest.mark.parametrize("sampling", ["poisson", "without-replacement"])
def test_exact_conversion_is_never_above_one_order(q, mu, N, delta, sampling):
    assert float(Losses(N, 0.0, q, mu, sampling).epsilon(delta)) <= by_order(N, 0.0, q, mu, delta)


@pytest.mark.parametrize("budget", [0.0, 0.01, 1.0])
# where epsilon is next to 0, the sum of an added record's losses is less precise
@example(2.0, 0.0107, 1.0, 0.0075)
@example(6.0, 0.001, 3.16, 0.01)
@example(2.0, 0.00163, 1.7, 0.00166)
@given(powers(0, 4), powers(-3, -0.1), powers(-1.5, 0.5), powers(-9, -2))
def test_never_above_any_order_nor_below_poisson(budget, N, q, mu, delta):
    N = np.round(N)
    ours = float(Losses(N, budget, q, mu).epsilon(delta))
    assert 0 <= ours <= by_order(N, budget, q, mu, delta) * (1 + 1e-3) + 1e-9
    apart = 0.2 if N * q < RARELY else 0.02
    assert float(Losses(N, budget, q, mu, "poisson").epsilon(delta)) <= ours * (1 + apart) + 1e-9
    assert ours >= float(epsilon_of(budget, delta)) * (1 - 1e-9)


@given(powers(-4, -0.05), powers(-1, 1), powers(-8, -1))
def test_one_step_is_the_closed_form(q, mu, delta):
    """q delta_G at gamma, where gamma' = 1 + q (gamma - 1)."""
    if delta < q:
        closed = np.log1p(q * np.expm1(float(epsilon_of(mu**2 / 2, delta / q))))
        assert (
            closed * (1 - 1e-9)
            <= float(Losses(1, 0.0, q, mu).epsilon(delta))
            <= closed * (1 + 1e-9) + 1e-15
        )


@given(powers(0, 3), powers(-3, -0.1), powers(-1, 0.5), powers(-2, 0.5), powers(-9, -2))
def test_all_records_and_no_steps_are_gaussian(N, q, mu, rho, delta):
    N = np.round(N)
    assert float(Losses(N, rho, 1.0, mu).epsilon(delta)) == float(
        epsilon_of(rho + N * mu**2 / 2, delta)
    )
    assert float(Losses(0.0, rho, q, mu).epsilon(delta)) == float(epsilon_of(rho, delta))
    hardly = float(Losses(1, rho, 1e-12, mu).epsilon(delta))  # the sum itself
    assert hardly == pytest.approx(float(epsilon_of(rho, delta)), rel=1e-3, abs=1e-6)


def exact_sum(q, mu, N, rho, epsilon, t, period):
    """The trapezoidal sum of the transform, by quadrature on an even grid, over all of its terms
    that matter.
    """
    x = np.linspace(mu / 2, 16, 40_001)
    h = 1 + q * np.expm1(mu * x - mu * mu / 2)
    total, j, term = 0.0, 0, np.inf
    while abs(term) > 1e-9 * abs(total):
        z = t + 2j * np.pi * j / period
        log_moment = np.log(1 + np.trapezoid(norm.pdf(x) * (h ** (1 + z) + h ** (-z) - h - 1), x))
        term = np.exp(N * log_moment + rho * z * (1 + z) - z * epsilon) / (z * (1 + z))
        total += term.real * (1 if j == 0 else 2)
        j += 1
    return total / period


def test_what_wraps_around_only_adds():
    """With a period far too short the sum is still no less than delta: it is delta here, one period
    on, two, and so on.
    """
    q, mu, N, rho, epsilon, t = 0.1, 0.5, 20, 0.05, 0.5, 6.0
    run = Losses(N, rho, q, mu)
    true, before = least_delta(epsilon, run.epsilon), 0.0
    for period in (8.0, 2.0, 1.0, 0.5):
        folded = exact_sum(q, mu, N, rho, epsilon, t, period)
        at = epsilon + period * np.arange(-12 if period < 8 else -3, 12)
        expected = sum(
            np.exp(t * (e - epsilon)) * least_delta(e, run.epsilon) for e in at if 0 < e < 9
        )
        assert folded >= true * (1 - 5e-3) and folded >= before and folded >= expected * (1 - 1e-2)
        before = folded
    assert before > 1.5 * true


@pytest.mark.parametrize("epsilon", [0.2, 0.8])
def test_the_transform_is_summed_to_its_digits(epsilon):
    q, mu, N, rho = 0.1, 0.5, 20, 0.05
    exact = exact_sum(q, mu, N, rho, epsilon, 6.0, 12.0)
    assert float(Losses(N, rho, q, mu).epsilon(exact)) == pytest.approx(epsilon, rel=1e-3)


@given(st.integers(1, 300), powers(-3, 1), st.floats(-1, 1))
def test_sums_over_many_angles_are_those_of_each(terms, step, lean):
    """1 - cos and sin of every multiple of every node's angle, weighed and summed, small ones with
    all of their digits.
    """
    v = np.geomspace(1e-9, 5, 301) * np.where(np.arange(301) % 2, 1, lean)
    weight = np.linspace(1, 2, v.size)
    real, imaginary = np.empty(terms + 1), np.empty(terms + 1)
    for many in (1, 127, 128, v.size):
        trigonometric_sums.transform(step, terms, v[:many], weight[:many], real, imaginary)
        angles = np.arange(1, terms + 1)[:, None] * step * v[:many]
        np.testing.assert_allclose(
            real[1:], 2 * np.sin(angles / 2) ** 2 @ weight[:many], rtol=1e-11, atol=1e-300
        )
        sizes = np.minimum(np.abs(angles), 1) @ weight[:many]
        assert (np.abs(imaginary[1:] - np.sin(angles) @ weight[:many]) <= 1e-12 * sizes).all()


@given(st.integers(1, 200), st.floats(0, 30), powers(-3, 0))
def test_terms_rotated_one_after_the_other_are_each(terms, epsilon, step):
    j = np.arange(1, terms + 1)
    real, imaginary = np.append(np.nan, 1 / j), np.append(np.nan, -1 / (j + 3) ** 2)
    turned = (real + 1j * imaginary)[1:] * np.exp(-1j * j * step * epsilon)
    total, slope = trigonometric_sums.rotated_sum(epsilon, step, terms, real, imaginary)
    assert total == pytest.approx(turned.real.sum(), abs=1e-11)
    assert slope == pytest.approx((j * step * turned.imag).sum(), abs=1e-11 * terms)


PAIRS = [laws.WITHOUT_REPLACEMENT, laws.REMOVE, laws.ADD]


@pytest.mark.parametrize("kind", PAIRS[:2])
def test_losses_beyond_a_narrow_window_still_count(kind, monkeypatch):
    """Atoms that leave out what matters are paid for with what they leave out: else the answers
    would be below the truth. (What a record's addition leaves out is losses of at most -log(1 -
    q).)
    """
    run = [np.array([x]) for x in (50.0, 0.0, 0.02, 1.5)]
    delta, made = np.array([1e-4]), laws.all_sampled
    epsilon = in_order(kind, *run, delta)
    for cut, counted in ((3.0, True), (1000.0, False)):
        monkeypatch.setattr(laws, "CUT", cut)
        monkeypatch.setattr(
            laws,
            "all_sampled",
            lambda *given, counted=counted: (*made(*given)[:3], counted * made(*given)[3]),
        )
        found = in_order(kind, *run, delta) / epsilon
        assert found > 1 if counted else found < 0.9


def one_law(kind, N, q, mu, rho=0.0):
    """A run of one law, with room to work in."""
    v, mass, size, _ = laws.all_sampled(
        kind, np.array([q]), np.array([[mu]]), np.ones((1, 1)), np.full(1, 40.0)
    )
    members = products.Members(np.zeros((1, 1), int), np.full((1, 1), N), np.full(1, rho))
    return products.Laws(v, mass, size), members, products.workspace(v.shape[1])


def test_what_wraps_around_a_short_period_is_counted(monkeypatch):
    """The code's own sum over a period far too short is delta here and at every period on, each
    with its weight.
    """
    N, rho, q, mu, epsilon, t = 20.0, 0.05, 0.1, 0.5, 0.5, 11.0
    run = Losses(N, rho, q, mu)
    of_laws, members, work = one_law(laws.WITHOUT_REPLACEMENT, N, q, mu, rho)
    monkeypatch.setattr(products, "ALIAS", np.inf)  # the first period is taken as it is
    monkeypatch.setattr(products, "DEVIATIONS", 0.0)
    at = products._tilted(of_laws, members, 0, t)
    line = products._line.py_func(of_laws, members, 0, t, at, epsilon, 1.0, work)
    total = trigonometric_sums.rotated_sum(
        epsilon, line.step, line.terms, work.real, work.imaginary
    )[0]
    ours = (
        np.exp(line.level - t * epsilon)
        * line.step
        / (2 * np.pi)
        * (line.at_0 + 2 * (total + line.added))
    )
    period = 2 * np.pi / line.step
    wrapped = sum(
        np.exp(t * k * period) * least_delta(epsilon + k * period, run.epsilon) for k in range(4)
    )
    assert wrapped > 10 * least_delta(epsilon, run.epsilon)
    assert ours == pytest.approx(wrapped, rel=2e-2)


@given(
    st.sampled_from(PAIRS),
    powers(0, 3),
    powers(-3, -0.1),
    powers(-1, 0.5),
    st.sampled_from([0.0, 0.01]),
)
def test_terms_left_out_are_within_their_bound(kind, N, q, mu, rho):
    """Each term beyond a height, computed, against the bound on their sum there."""
    t, terms, pad = 2.0, 60, 1e-3
    of_laws, members, work = one_law(kind, np.round(N), q, mu, rho)
    at = products._tilted(of_laws, members, 0, t)
    step = 0.3 / np.sqrt(at.variance)
    products._terms(of_laws, members, 0, t, pad, step, terms, work)
    size = np.hypot(work.real, work.imaginary)[1 : terms + 1]
    for k in range(1, 40, 3):
        assert size[k:].sum() <= products._left_out(step, pad, k * step) + 1e-13


@given(
    st.lists(powers(-3, 1.7), min_size=1, max_size=6, unique=True),
    powers(-6, 0),
    st.floats(12, 200),
    st.sampled_from([1.0, -1.0]),
)
@examples(20)
def test_cells_have_their_masses_within_their_errors(mus, rare, each, sign):
    """Sums over nodes against normal probabilities, computed to forty digits."""
    mus = np.sort(mus)
    shares = rare ** np.arange(mus.size) / (rare ** np.arange(mus.size)).sum()
    up, down = np.empty(mus.size), np.empty(mus.size)
    fine = laws._reach(0.1, mus, shares, each, up, down)
    reach = up if sign > 0 else down
    cells = laws._cells(mus, shares, reach, fine, sign)
    ends = np.append(0.0, cells.end)
    assert (
        cells.end.size <= laws.MOST
        and (np.diff(ends) > 0).all()
        and ends[-1] == pytest.approx(reach[-1])
    )
    for k in np.linspace(0, cells.end.size - 1, 7).astype(int):
        for lean, mass, error in zip((-1, 1), cells.masses[:, k], cells.errors[:, k], strict=True):
            exact = sum(
                share * between(ends[k] / mu, ends[k + 1] / mu, lean * sign * mu / 2)
                for mu, share, end in zip(mus, shares, reach, strict=True)
                if end >= ends[k + 1] * (1 - 1e-12)
            )
            assert abs(mass - exact) <= error * exact + 1e-290


def between(low, high, mean):
    """The chance that a normal number about `mean` lies between two others."""
    with mpmath.workdps(40):
        left, right = (mpmath.mpf(float(x)) - mpmath.mpf(float(mean)) for x in (low, high))
        if left > 0:
            left, right = -right, -left
        return float(mpmath.ncdf(right) - mpmath.ncdf(left))


@given(st.sampled_from(PAIRS), powers(-4, -0.05), powers(-2, 1.5), powers(-1, 4), powers(-9, -2))
def test_a_tilt_s_moments_are_those_at_its_order(kind, q, mu, N, delta):
    """Whether or not the search for the order ends well."""
    of_laws, members, _ = one_law(kind, np.round(N), q, mu)
    t, at = products._tilt(of_laws, members, 0, delta)
    assert at == products._tilted(of_laws, members, 0, t)


def test_a_search_that_jumps_over_the_best_order_says_no_less():
    """At the middle noise the moments once belonged to another order than the sum, and epsilon was
    0 between 1.2 and 1.18.
    """
    run = DEMONSTRATION.replace(
        n=20000,
        d=302,
        K=205,
        T=48266,
        beta=0.5,
        R=np.inf,
        clip=1.0,
        M=0.75,
        m=0.5,
        ridge=0.5,
        regime="strongly-convex",
        eta=33.4524021957229,
        xi=0.0,
        delta=3.7000911266504507e-06,
        batch=3550,
        lipschitz=np.inf,
        sampling="without-replacement",
        sigma=0.0026888354444080656,
    )
    found = curve(run, "sigma", run.sigma * np.array([0.99, 1.0, 1.01]), ["sharp"])["sharp"]
    assert found[0] > found[1] > found[2] > 0.97 * found[0]


@given(powers(-4, -0.3), st.floats(0.05, 3.0), st.sampled_from(PAIRS), st.floats(0.0, 2.0))
def test_atoms_dominate_their_pair(q, mu, kind, at):
    """Their profile is nowhere below the pair's, and near it."""
    v, mass, size, off = laws.all_sampled(
        kind, np.array([q]), np.array([[mu]]), np.ones((1, 1)), np.full(1, 30.0)
    )
    v, mass = v[0, : size[0]], mass[0, : size[0]]
    epsilon = at * q * mu
    ours = float((mass * np.maximum(-np.expm1(epsilon - v), 0)).sum() + off[0])
    closed = q * float(delta_of(mu**2 / 2, np.log1p(np.expm1(epsilon) / q)))
    if kind == laws.ADD:  # E_gamma(P, Q) = 1 - gamma + gamma E_(1/gamma)(Q, P)
        x = (
            (np.log1p(np.expm1(-epsilon) / q) + mu**2 / 2) / mu
            if np.expm1(-epsilon) > -q
            else -np.inf
        )
        closed = norm.cdf(x) - np.exp(epsilon) * ((1 - q) * norm.cdf(x) + q * norm.cdf(x - mu))
    assert closed * (1 - 1e-9) - 1e-15 <= ours <= closed * 1.02 + 2e-4 * q * mu


@pytest.mark.parametrize("sampling", ["without-replacement", "poisson"])
@pytest.mark.parametrize("mu", [1e-98, 1e-50, 1e-20, 1e-14, 1e-9, 1e-8, 1e-4])
def test_the_smallest_shift_still_costs(mu, sampling):
    """A single step's total variation is q mu/sqrt(2 pi) or more: below it no delta comes with an
    epsilon of 0.
    """
    for q in (1e-6, 0.01, 0.5):
        for N in (1.0, 2.0, 200.0):
            delta = 0.39 * q * mu * np.array([1e-2, 1e-8, 1e-100])
            assert (Losses(N=N, rho=0.0, q=q, mu=mu, sampling=sampling).epsilon(delta) > 0).all()


@given(powers(0, 3), powers(-4, -0.5), powers(-1, 0.5), powers(-8, -3))
@examples(20)
def test_poisson_is_the_worse_order(N, q, mu, delta):
    """Also where an added record can tell little."""
    N, rho, q, mu, delta = row = [np.array([x]) for x in (np.round(N) + 1, 0.0, q, mu, delta)]
    remove, add = (in_order(kind, *row) for kind in (laws.REMOVE, laws.ADD))
    found = Losses(N, rho, q, mu, "poisson").epsilon(delta)
    assert remove * (1 - 1e-12) <= found <= max(remove, add)
    assert found <= remove or N * q < RARELY


def test_rare_large_losses_make_no_jump():
    """Near 56 steps the first line's sum is too long, and a line further off was once worse than a
    single Renyi order.
    """
    steps = np.array([50.0, 56.0, 60.0])
    found = Losses(steps, 0.0, 1 / 831, 1.2987).epsilon(1e-12)
    assert found[0] < found[1] < found[2] < 1.02 * found[0]


@pytest.mark.parametrize("sampling", ["poisson", "without-replacement"])
def test_steps_that_hide_nothing_cost_what_one_order_says(sampling):
    """Shifts of more deviations than any sum could follow: far beyond use, and asked for by every
    search for a noise.
    """
    mu = np.array([900.0, 1e4, 1e58])
    found = Losses(50.0, 0.0, 0.1, mu, sampling).epsilon(1e-5)
    assert (found <= 50 * mu**2 / 2 * (1 + 1e-2)).all() and (found >= 5 * mu**2 / 2).all()
