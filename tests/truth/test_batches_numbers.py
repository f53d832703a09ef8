"""Fresh, secret batches: conversion, spans, limits and reference values of the sharper bound and of
composition.
"""

from dataclasses import replace
from itertools import product
from math import inf, sqrt

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import beta as beta_law
from scipy.stats import binom

from tests.effort import times
from tests.truth import membership
from tests.truth.batch_runs import EXACT, POISSON, choices, run, windows_of
from tests.truth.revealed import directions
from zoexplore import Setting, epsilon
from zoexplore.bounds import sharp_batches
from zoexplore.bounds.drifts import norms_of
from zoexplore.bounds.kernels import laws, windows
from zoexplore.bounds.kernels.norms import norm
from zoexplore.bounds.kernels.steps import STEP, fill_step
from zoexplore.bounds.loss_distribution import Part, composed, epsilon_of_steps
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.bounds.sharp_batches import Windows
from zoexplore.bounds.subsampling import Sampled
from zoexplore.run.presets import PRESETS

HEAD = PRESETS["linear-head"].setting.replace(batch=2000, sigma=2e-4, delta=1e-5)


# ---------------------------------------------------------------- conversion


def losses(kind, q, mu, h=1e-3, size=2**16):
    """A sampled step's losses on a grid around 0, each at the nearest place, as their Fourier
    transform.
    """
    x = np.linspace(-12, 14, 400_001)
    ratio = np.exp(mu * x - mu**2 / 2)
    law = np.exp(-0.5 * x**2) / sqrt(2 * np.pi) * (x[1] - x[0])
    loss = np.log1p(q * (ratio - 1))
    # the profile's part above 0, its mirror, and the rest at 0
    if kind == laws.WITHOUT_REPLACEMENT:
        up = ratio > 1
        return _on_grid([loss[up], -loss[up]], [(law * (1 - q + q * ratio))[up], law[up]], h, size)
    return (
        _on_grid([loss], [law * (1 - q + q * ratio)], h, size)
        if kind == laws.REMOVE
        else _on_grid([-loss], [law], h, size)
    )


def labelled(kind, roots, share, h=1e-3, size=2**16):
    """The losses of shifts by one of several roots: revealed where a record is replaced, else
    hidden.
    """
    x = np.linspace(-12, 14, 400_001)
    law, grown = (
        np.exp(-0.5 * x**2) / sqrt(2 * np.pi) * (x[1] - x[0]),
        roots[:, None] * x - roots[:, None] ** 2 / 2,
    )
    if kind == laws.WITHOUT_REPLACEMENT:
        return _on_grid(grown, share[:, None] * law * np.exp(grown), h, size)
    ratio = share @ np.exp(grown)
    return (
        _on_grid([np.log(ratio)], [law * ratio], h, size)
        if kind == laws.REMOVE
        else _on_grid([-np.log(ratio)], [law], h, size)
    )


def _on_grid(loss, mass, h, size):
    place = sum(
        np.bincount(np.round(x / h).astype(int) % size, m, size)
        for x, m in zip(loss, mass, strict=True)
    )
    place[0] += 1 - place.sum()
    return np.fft.rfft(place)


def delta_at(epsilon, transform, h=1e-3, size=2**16):
    loss = (np.arange(size) - size * (np.arange(size) >= size // 2)) * h
    return (
        np.fft.irfft(transform, size) * np.maximum(-np.expm1(np.minimum(epsilon - loss, 0)), 0)
    ).sum()


@pytest.mark.parametrize("kind", [laws.WITHOUT_REPLACEMENT, laws.REMOVE, laws.ADD])
def test_steps_and_labels_convert_to_no_less_and_hardly_more_than_by_convolution(kind):
    rng = np.random.default_rng(11)
    for _ in range(times(4)):
        q, mu, N = rng.choice([0.02, 0.1, 0.4]), rng.uniform(0.3, 1.5), int(rng.integers(1, 40))
        roots, share, twice = (
            rng.uniform(0, 2, 5),
            rng.dirichlet(np.ones(5)),
            int(rng.integers(1, 3)),
        )
        transform = losses(kind, q, mu) ** N * labelled(kind, roots, share) ** twice
        part = Part(np.array([float(N)]), np.array([q]), np.array([[mu]]), np.ones((1, 1)))
        drawn = Part.of(float(twice), 1.0, np.sort(roots), share[np.argsort(roots)])
        known = kind == laws.WITHOUT_REPLACEMENT
        for delta in (1e-2, 1e-4, 1e-7):
            parts, hidden = ([part, drawn], None) if known else ([part], drawn)
            found = composed(kind, parts, np.array([delta]), hidden=hidden)[0]
            assert (
                delta * 0.95 <= delta_at(found, transform) <= delta * (1 + 1e-3) + 1e-12
                or found == 0
            )


# ---------------------------------------------------------------- limits, and runs side by side


def test_a_batch_of_all_records_is_the_full_batch():
    """q = 1: the same number however the batch is said to be drawn; and just below, never less than
    the truth of q = 1.
    """
    r, B, T = 0.8, 0.6, 12
    shifted = B * (r ** np.arange(T)).sum() / sqrt((r ** (2 * np.arange(T))).sum())
    for replaced in (True, False):
        setting = run(r, 0.0, B, 1.0, 100, T, replaced)
        whole = setting.replace(batch=None, sampling="without-replacement")
        for delta in (1e-2, 1e-5):
            least = _epsilon_of_shift(shifted, delta)
            full = epsilon(setting.replace(delta=delta), "sharp")
            assert full == epsilon(whole.replace(delta=delta), "sharp") and full >= least * (
                1 - 1e-9
            )
        of = windows_of(run(r, 0.0, B, 0.5, 100, T, replaced), np.array([1e-2, 1e-5]))
        of = replace(of, rows=of.rows.changed(q=1 - 1e-9))
        for omega, N in product((0.3, 0.8), (1.0, 5.0, 12.0)):
            chosen = choices(8.0, np.full(2, N), omega, 0.0)
            assert (
                of.evaluate(chosen, EXACT).epsilon
                >= [_epsilon_of_shift(shifted, x) * 0.999 for x in (1e-2, 1e-5)]
            ).all()


def _epsilon_of_shift(mu, delta):
    low, high = 0.0, 60.0
    for _ in range(80):
        x = (low + high) / 2
        above = ndtr(mu / 2 - x / mu) - np.exp(x) * ndtr(-mu / 2 - x / mu) > delta
        low, high = (x, high) if above else (low, x)
    return high


@pytest.mark.parametrize("replaced", [True, False])
def test_all_steps_counted_with_all_the_noise_is_composition(replaced):
    """In a ball so small that nothing is to be worked off."""
    setting = run(0.9, 0.0, 0.5, 0.1, 100, 30, replaced, R=1e-12)
    of = windows_of(setting, np.array([1e-3, 1e-6]))
    found = of.evaluate(choices(8.0, np.full(2, 30.0), 1 - 1e-9, 0.0), EXACT).epsilon
    for x, delta in zip(found, (1e-3, 1e-6), strict=True):
        assert x == pytest.approx(epsilon(setting.replace(delta=delta), "composition"), rel=2e-3)


@pytest.mark.parametrize("replaced", [True, False])
def test_longer_runs_cost_more_and_more_noise_less(replaced):
    setting = run(0.8, 0.1, 0.5, 0.1, 100, 30, replaced, 6, 3)
    for field, sign, values in (
        ("T", 1, [1, 3, 10, 30, 100]),
        ("sigma", -1, setting.sigma * np.array([0.7, 1.0, 1.5, 3.0])),
    ):
        found = np.array(
            [
                epsilon(setting.replace(**{field: type(getattr(setting, field))(x)}), "sharp")
                for x in values
            ]
        )
        assert (np.diff(found) * sign >= -2e-3 * found[1:]).all(), (field, found)


@pytest.mark.parametrize(
    ("field", "values"), [("clip", [20.0, 10.0, 3.0, 1.0]), ("R", [0.2, inf, 1.0, inf])]
)
def test_runs_side_by_side_are_as_each_alone(field, values):
    """Along clips that fall in a ball, where each run's distances have its limit in units of their
    own; along balls, and none.
    """
    setting = run(0.975, 0.025, 1.0, 0.1, 100, 50, True, R=0.6)
    runs = RunArrays.along(setting, field, getattr(setting, field) * np.array(values))
    of = Windows.of(runs, runs.beta, EXACT)
    chosen = choices(36.0, np.full(4, 5.0), 0.8, 0.0)
    together = of.evaluate(chosen, EXACT).epsilon
    alone = [of.at(np.array([i])).evaluate(chosen[[i]], EXACT).epsilon[0] for i in range(4)]
    assert (together >= np.array(alone) * (1 - 1e-9)).all(), (together, alone)


def test_rare_failures_count_wherever_spans_are_random():
    """Along K up to all directions, where nothing is random, and 0 of delta is lost."""
    setting = Setting(
        n=1000,
        d=61,
        K=3,
        T=200,
        sigma=0.05,
        beta=0.5,
        R=inf,
        clip=1.0,
        M=1.0,
        m=0.5,
        ridge=0.5,
        regime="strongly-convex",
        eta=1.0,
        delta=1e-5,
        batch=100,
        lipschitz=1.0,
    )
    found = sharp_batches.solve(RunArrays.along(setting, "K", np.arange(1.0, 62.0)), EXACT)
    assert (found.delta_f[:-1] > 0).all() and found.delta_f[-1] == 0


@pytest.mark.parametrize(
    ("batch", "n", "T"), [(2000, 67349, 40_000), (200, 67349, 20_000), (30, 60, 25), (1, 9, 3)]
)
def test_larger_poisson_batches_are_paid_for(batch, n, T):
    """By as much more curvature, and by the chance that any step has a batch that is larger still."""
    setting = run(0.8, 0.1, 0.5, batch / n, batch, T, False).replace(n=n)
    of = windows_of(setting, np.array([1e-2, 1e-5, 1e-8]))
    larger = of.rows.high / 0.1
    # as many others, and the record
    chance = T * binom.sf(np.floor(larger * batch * (1 - 1e-12)) - 1, n, batch / n)
    spent = np.array([1e-2, 1e-5, 1e-8]) - of.rows.delta
    assert (
        (larger >= 1 - 1e-9) & ((chance <= spent * (1 + 1e-6) + 1e-24) | (larger * batch >= n + 1))
    ).all()
    assert (of.rows.low <= 0).all()


def test_nothing_hides_without_a_contraction_or_noise_across_the_last_span():
    for kw in (
        dict(r=1.0, a=0.5, d=4, K=2),
        dict(r=0.5, d=4, K=2, beta=1.0),
        dict(r=0.5, d=4, K=2, T=4, N=5),
    ):
        N = kw.pop("N", 3.0)
        of = windows_of(
            run(**dict(a=0.0, B=0.5, q=0.1, batch=100, T=20, replaced=True) | kw), np.array([1e-3])
        )
        assert of.evaluate(choices(8.0, N, 0.5, 0.05), EXACT).epsilon == inf


# ---------------------------------------------------------------- numbers from elsewhere


def near(number, most=1.005):
    """Between .98 and 1.005 of it, or as much as rounding labels up may cost."""
    return pytest.approx((0.98 + most) / 2 * number, rel=(most - 0.98) / (0.98 + most))


def head(**kw):
    runs = RunArrays.of(HEAD.replace(**kw)).counted_by_linear_norm()
    return Windows.of(runs, runs.beta, EXACT)


def test_norm_and_worth_of_a_distance_in_the_head_run():
    of = head(T=4000)
    norms, steps, near_0 = (
        norms_of(of.rows, np.array([[60.0]])),
        np.empty(1, STEP),
        of.rows.changed(diameter=sqrt(1e-9)),
    )
    fill_step(steps[0], of.rows[0], norms, 0, 0)
    assert steps[0].kick == pytest.approx(0.01609282, rel=1e-3)
    assert norm(norms.tables[0], 1.0, steps[0].c2).J == near(0.95222946)
    for N, v in {1: 2039.88, 10: 160.127, 45: 12.5347, 82: 1.855813}.items():
        chosen = choices(60.0, N, 0.93, 0.03)
        # so close that the history does not matter
        assert windows.evaluate(near_0, norms, chosen, np.array([sqrt(1e-9)]))[0, 0] == near(v)


HEADS = [
    ({}, 4000, 0.2326),
    (dict(lipschitz=inf), 4000, 1.052),
    (POISSON, 4000, 0.0998),
    (POISSON | dict(lipschitz=inf), 4000, 0.3699),
]


@pytest.mark.parametrize(("kw", "T", "expected"), HEADS)
def test_the_head_run_at_given_choices(kw, T, expected):
    found = head(T=T, **kw).evaluate(choices(60.0, 82.0, 0.93, 0.03), EXACT).epsilon[0]
    assert found == near(expected, 1.01)


@pytest.mark.parametrize(("T", "expected"), [(400, 0.4764), (4000, 1.6830), (40000, 6.265)])
def test_composition_of_the_head_run_by_spans(T, expected):
    assert epsilon(HEAD.replace(T=T), "composition") == near(expected)


def test_composition_of_the_head_run_by_the_clip():
    assert epsilon(HEAD.replace(T=4000, lipschitz=inf), "composition") == near(8.1559)
    assert epsilon(HEAD.replace(T=4000, lipschitz=inf, **POISSON), "composition") == near(2.6727)


# ---------------------------------------------------------------- spans


@pytest.mark.parametrize(("K", "poisson"), list(product([1, 3], [False, True])))
def test_the_average_over_drawn_frames_is_below_the_spans(K, poisson):
    """One step: the exact profile, averaged over frames, in both orders."""
    rng = np.random.default_rng(K)
    for d in (2, 4, 10):
        if K >= d:
            continue
        q, B, length = 0.2, 1.5, 1.5 * rng.choice([0.8, 1.4])
        setting = run(0.5, 0.0, B, q, 100, 1, not poisson, d, K)
        setting = setting.replace(lipschitz=setting.clip * sqrt(K) * length / B)
        runs = RunArrays.of(setting)
        sampled = Sampled.of(runs, runs.s1 + runs.s2, EXACT)
        seen = np.sqrt((directions(rng, 20_000, d, K)[:, 0, :] ** 2).sum(axis=-1))
        assert np.mean(seen**2) == pytest.approx(beta_law(K / 2, (d - K) / 2).mean(), abs=0.02)
        mu = np.minimum(B, length * seen) / sqrt(0.5 / K + 0.5 / d)
        for x in (0.0, 0.1, 0.3, 1.0):
            means = [
                each.mean() - 3 * each.std() / sqrt(each.size)
                for each in _profiles(q, mu, x, poisson)
            ]
            assert max(means) > 0
            assert float(
                epsilon_of_steps([sampled.steps(1.0)], 0.0, max(means), sampled.sampling)
            ) >= x * (1 - 1e-9)


def _profiles(q, mu, epsilon, poisson):
    """Both orders' exact divergences of a step, at every mu."""

    def gaussian(level):
        x = np.log(level) / mu
        return ndtr(mu / 2 - x) - level * ndtr(-mu / 2 - x)

    grown = np.exp(epsilon)
    first = q * gaussian(1 + (grown - 1) / q)
    if not poisson:
        return (first,)
    # E(1 - grown (1 - q + q L))+ = inside delta of the reversed pair
    inside = np.maximum(1 - grown * (1 - q), 0)
    level = np.divide(grown * q, inside, out=np.full_like(mu, inf), where=inside > 0)
    second = np.where(
        inside > 0,
        inside * np.where(level < inf, gaussian(np.where(level < inf, level, 1.0)), 0.0),
        0.0,
    )
    return first, second


@pytest.mark.parametrize(
    ("name", "draws"),
    [
        ("gradients at most ½ long, Poisson", 1),
        *(pytest.param(name, 20, marks=pytest.mark.proof) for name in membership.RUNS),
    ],
)
def test_an_attack_on_a_run_of_many_dimensions_finds_no_more_than_the_bound(name, draws):
    run = membership.RUNS[name]
    found = membership.attacked(run, draws)
    assert epsilon(run, "sharp") / 5 < found < epsilon(run, "sharp")
