"""Fresh, secret batches: what w_T alone says of a record, exactly, is below the sharper bound,
whatever its choices.
"""

from itertools import product
from math import inf, sqrt

import numpy as np
import pytest

from tests.effort import times
from tests.truth.batch_runs import DELTAS, EXACT, drawn_choices, run, windows_of
from tests.truth.batches import Map, Pair, history_from_below, in_frames, norm, on_a_line
from zoexplore import epsilon
from zoexplore.bounds import sharp_batches
from zoexplore.bounds.drifts import norms_of
from zoexplore.bounds.kernels import laws
from zoexplore.bounds.kernels.steps import STEP, fill_step

GRID = 2e-3  # of delta, that quadrature may be off by, beside 1e-8


# ---------------------------------------------------------------- on a line


def line(rng, replaced):
    """(A setting, its pair) with maps drawn at random."""
    r, q, T = (
        rng.choice([0.3, 0.6, 0.85, 0.95]),
        rng.choice([0.03, 0.1, 0.3, 0.5, 0.8]),
        int(rng.integers(2, 26)),
    )
    a, B = rng.choice([0.0, 0.3, 0.9]) * r, rng.choice([0.1, 0.4, 1.0, 2.0])
    R = rng.choice([inf, inf, 2.0])
    setting = run(r, a, B, q, int(rng.integers(60, 200)), T, replaced, R=R)
    maps = [Map.drawn(rng, r, a, B) for _ in range(2)]
    return setting, on_a_line(rng, maps, T, setting.batch / setting.n, replaced, R)


def least(rng, setting, deltas, tried):
    """The least epsilon that so many choices claim at each delta."""
    of = windows_of(setting, np.repeat(deltas, tried))
    return (
        of.evaluate(drawn_choices(rng, of, setting.T, False), EXACT)
        .epsilon.reshape(-1, tried)
        .min(axis=1)
    )


def over(pair, found, deltas):
    """How far the truth at the epsilons is above each delta, in the worse order."""
    some = [(x, delta) for x, delta in zip(found, deltas, strict=True) if x < inf]
    return [pair.deltas(x).max() / (delta * (1 + GRID) + 1e-8) for x, delta in some]


def lines(seed, count, replaced, tried=8):
    rng, ratios = np.random.default_rng(seed), []
    for _ in range(count):
        setting, pair = line(rng, replaced)
        ratios += over(pair, least(rng, setting, DELTAS[::2], tried), DELTAS[::2])
    return np.array(ratios)


@pytest.mark.parametrize("replaced", [False, True])
def test_no_choice_is_below_the_truth_on_a_line(replaced):
    ratios = lines(1, times(14), replaced)
    assert ratios.size > 40 and ratios.max() <= 1


@pytest.mark.proof
@pytest.mark.parametrize(("seed", "replaced"), list(product(range(2, 8), (False, True))))
def test_no_choice_is_below_the_truth_on_many_lines(seed, replaced):
    assert lines(seed, times(60), replaced).max() <= 1


def straight(r, B, q, T, replaced):
    """A line where the record pushes one way wherever the run is: the hardest to hide."""
    setting = run(r, 0.0, B, q, 100, T, replaced)
    always = Map(r, 0.0, 0.5, 0.0, 0.0, 1.0, B, 0.0, 0.0)
    return setting, on_a_line(
        np.random.default_rng(0), [always], T, setting.batch / setting.n, replaced
    )


STRAIGHT = [
    (0.5, 1.0, 0.5, 8),
    (0.9, 0.3, 0.2, 25),
    (0.8, 0.8, 0.05, 20),
    (0.7, 0.5, 0.8, 12),
    (0.5, 2.0, 0.9, 8),
]


def over_straight_lines(rng, tried):
    """How far the truth is above delta at the least epsilon that `tried` choices claim, over all
    straight lines.
    """
    worst = []
    for case, replaced in product(STRAIGHT, (False, True)):
        setting, pair = straight(*case, replaced)
        worst += over(pair, least(rng, setting, DELTAS[::3], tried), DELTAS[::3])
    return np.array(worst)


def test_straight_lines_are_below_the_least_of_many_choices():
    assert over_straight_lines(np.random.default_rng(3), times(24)).max() <= 1


def test_budgets_by_half_would_be_noticed(monkeypatch):
    """The lines above have the power to refute a bound that pays half of every label's budget."""
    evaluate = sharp_batches.windows.evaluate

    def half(*arguments):
        return 0.5 * evaluate(*arguments)

    monkeypatch.setattr(sharp_batches.windows, "evaluate", half)
    assert over_straight_lines(np.random.default_rng(3), 24).max() > 1.02


@pytest.mark.parametrize(
    ("case", "replaced"),
    [(STRAIGHT[0], False), (STRAIGHT[0], True), (STRAIGHT[2], False), (STRAIGHT[4], True)],
)
def test_what_is_reported_is_above_the_truth_on_a_line(case, replaced):
    setting, pair = straight(*case, replaced)
    for delta in DELTAS[1::3]:
        assert (
            pair.deltas(epsilon(setting.replace(delta=delta), "sharp")).max()
            <= delta * (1 + GRID) + 1e-8
        )


@pytest.mark.parametrize("replaced", [True, False])
def test_a_released_iterate_costs_a_run_of_its_own(replaced):
    """Where a push does not depend on the place, two stretches are two independent runs."""
    r, B, q, T = STRAIGHT[0]
    setting, pair = straight(r, B, q, T, replaced)
    twice = [np.outer(x, x) for x in (pair.one, pair.other)]
    found = least(np.random.default_rng(7), setting.replace(T=2 * T, releases=2), DELTAS[1::3], 24)
    assert max(over(Pair(*twice), found, DELTAS[1::3])) <= 1


# ---------------------------------------------------------------- in frames


def frames(seed, count, paths=40, draws=300):
    """How far the mean over frames of the exact divergence, less three standard errors, is above
    delta.
    """
    rng, ratios = np.random.default_rng(seed), []
    for _ in range(count):
        d = int(rng.integers(2, 5))
        K, T, replaced, by_length = (
            int(rng.integers(1, d + 1)),
            int(rng.integers(2, 7)),
            rng.random() < 0.5,
            rng.random() < 0.5,
        )
        r, q, B, share = (
            rng.choice([0.2, 0.5, 0.8]),
            rng.choice([0.1, 0.3, 0.6]),
            rng.choice([0.3, 0.8, 1.5]),
            rng.choice([0, 0.4]),
        )
        setting = run(r, 0.0, B, q, 100, T, replaced, d, K, beta=share)
        if by_length:  # the clip is wide, gradients have length L
            length = rng.choice([0.5, 0.8, 1.2])
            setting = setting.replace(lipschitz=length * setting.clip * sqrt(K))
        # of a replaced record's effect: it pushes one run up, the other down
        half = B / 2 if replaced else B
        push = _by_length(length * half, half / sqrt(K)) if by_length else _by_signs(half / sqrt(K))
        S, s2 = share / K + (1 - share) / d, (1 - share) / d
        up, down = in_frames(
            rng, d, K, T, setting.batch / setting.n, push, r, S, s2, replaced, paths, draws
        )
        of = windows_of(setting, DELTAS[:5])
        found = of.evaluate(drawn_choices(rng, of, T, True), EXACT).epsilon
        for x, delta in zip(found, DELTAS, strict=False):
            for ratio in (up, down) if x < inf else ():
                each = np.maximum(-np.expm1(np.minimum(x - ratio, 0.0)), 0.0).mean(axis=1)
                ratios.append((each.mean() - 3 * each.std(ddof=1) / sqrt(paths)) / delta)
    return np.array(ratios)


def _by_signs(most):
    """A clip on each quotient: the corner of the cube nearest the aim."""

    def push(U, aim):
        seen = np.einsum("pdk,pd->pk", U, aim)
        return np.einsum("pdk,pk->pd", U, np.where(seen >= 0, most, -most))

    return push


def _by_length(length, most):
    """A gradient of that length along the aim, each of its quotients clipped."""

    def push(U, aim):
        seen = np.einsum("pdk,pd->pk", U, length * aim / np.linalg.norm(aim, axis=1, keepdims=True))
        return np.einsum("pdk,pk->pd", U, np.clip(seen, -most, most))

    return push


def test_no_choice_is_below_the_truth_in_frames():
    ratios = frames(5, times(14))
    assert ratios.size > 60 and ratios.max() <= 1


@pytest.mark.proof
@pytest.mark.parametrize("seed", range(6, 12))
def test_no_choice_is_below_the_truth_in_many_frames(seed):
    assert frames(seed, times(60), paths=100, draws=4000).max() <= 1


# ---------------------------------------------------------------- hidden labels

SMOOTH = {
    "square": lambda x: x**2,
    "entropy": lambda x: x * np.log(np.maximum(x, 1e-300)),
    "bend at 1": lambda x: np.sqrt((x - 1) ** 2 + 0.05),
    "bend at 3": lambda x: x - 3 + np.sqrt((x - 3) ** 2 + 0.3),
}


def game(rng, nodes=60):
    """By how much E f of two steps' ratio exceeds the lemma's bound, at the worst f: labels with
    budgets of their own; memberships, the public outcome of each step and the noise so far steer
    all later shifts.
    """
    x, weight = np.polynomial.hermite_e.hermegauss(nodes)
    weight = weight / weight.sum()
    labels, q = int(rng.integers(2, 4)), rng.uniform(0.05, 0.6)
    p, budget = rng.dirichlet(np.ones(labels)), rng.choice([0.0, 0.3, 1.0, 2.0], labels)
    # chances of each step's outcomes, without the record and with it
    base, met = rng.dirichlet(np.ones(2), (2, 2))
    chances = np.array([1 - q, q])
    tilt, part = rng.normal(0, 1.5, (labels, 2, 2, 2, 2)), rng.uniform(0, 1, (labels, 2, 2))
    sign, turn = rng.choice([-1.0, 1.0], (labels, 2, 2)), rng.normal(0, 1, (labels, 2, 2, 2, 2))
    held = rng.random() < 0.3  # nothing steers: then the lemma is an equality
    # their ratio, by membership and outcome
    outcomes = [np.stack([np.ones(2), met[t] / base[t]]) for t in (0, 1)]
    left = dict.fromkeys(SMOOTH, 0.0)
    right = dict.fromkeys(SMOOTH, 0.0)
    for v, w in product(range(2), range(2)):
        ratio = np.zeros((nodes, nodes))
        for k, chi, psi in product(range(labels), range(2), range(2)):
            first = sqrt(budget[k]) * (1 if held else sqrt(part[k, chi, v]) * sign[k, chi, v])
            rest = sqrt(max(budget[k] - first**2, 0.0))
            second = rest * np.sin(tilt[k, chi, psi, v, w] * x + turn[k, chi, psi, v, w])[:, None]
            weigh = p[k] * chances[chi] * chances[psi] * outcomes[0][chi, v] * outcomes[1][psi, w]
            ratio += weigh * np.exp(
                first * x[:, None] - first**2 / 2 + second * x[None, :] - second**2 / 2
            )
        known = np.prod([chances @ outcomes[0][:, v], chances @ outcomes[1][:, w]])
        one = known * (p * np.exp(np.sqrt(budget) * x[:, None] - budget / 2)).sum(axis=1)
        seen = base[0, v] * base[1, w]
        for name, f in SMOOTH.items():
            left[name] += seen * (weight @ f(ratio) @ weight)
            right[name] += seen * (weight @ f(one))
    return max(left[name] - right[name] for name in SMOOTH)


def test_no_steering_beats_the_mixture_of_budgets():
    rng = np.random.default_rng(8)
    assert max(game(rng) for _ in range(times(60))) <= 1e-7


@pytest.mark.parametrize("order", ["remove", "add"])
def test_atoms_of_hidden_budgets_dominate_them_closely(order):
    """The profile of the atoms is nowhere below the mixture's, by quadrature, and hardly above it."""
    rng, fine = np.random.default_rng(4), np.linspace(-12, 20, 200_001)
    for _ in range(times(5)):
        roots, share = (
            rng.uniform(0, 2.5, 6) * (rng.random(6) < 0.8),
            rng.dirichlet(np.full(6, 0.5)),
        )
        kind = laws.REMOVE if order == "remove" else laws.ADD
        v, mass, size, off = laws.all_hidden(kind, roots[None], share[None], np.array([35.0]))
        v, mass = v[0, : size[0]], mass[0, : size[0]]
        logs = np.log((share * np.exp(roots * fine[:, None] - roots**2 / 2)).sum(axis=1))
        density = np.exp(-0.5 * fine**2) / sqrt(2 * np.pi) * (fine[1] - fine[0])
        for x in (0.0, 0.2, 1.0, 3.0):
            exact = (density * np.maximum(np.exp(logs) - np.exp(x), 0)).sum()
            if order == "add":
                exact = (density * np.maximum(1 - np.exp(x + logs), 0)).sum()
            claimed = (mass * np.maximum(-np.expm1(np.minimum(x - v, 0.0)), 0)).sum() + off[0]
            assert exact * (1 - 1e-6) - 1e-13 <= claimed <= exact * 1.01 + 1e-9


# ---------------------------------------------------------------- what came before the counted steps


def labels_of(setting, order):
    """(The labels' squared distances, their chances; the step's own constant, kick and remainder)."""
    of = windows_of(setting, np.array([1e-5]))
    norms, steps = norms_of(of.rows, np.array([[order]])), np.empty(1, STEP)
    (h,), (share,) = of._distances(norms)
    fill_step(steps[0], of.rows[0], norms, 0, 0)
    return h, share, steps[0]


HISTORIES = [  # r, a, B, q, d, K, xi, order
    (0.5, 0.0, 1.0, 0.5, 1, 1, 0.0, 2),
    (0.9, 0.0, 0.3, 0.5, 1, 1, 0.0, 2),
    (0.9, 0.2, 0.3, 0.1, 1, 1, 0.02, 2),
    (0.95, 0.0, 0.3, 0.03, 1, 1, 0.0, 2),
    (0.99, 0.0, 0.1, 0.01, 1, 1, 0.0, 2),
    (0.97, 0.1, 0.5, 0.001, 1, 1, 0.01, 2),
    (0.3, 0.0, 1.0, 0.3, 6, 3, 0.0, 3),
    (0.5, 0.1, 1.0, 0.2, 20, 10, 0.01, 12),
    (0.5, 0.0, 0.5, 0.05, 4, 2, 0.0, 6),
]


@pytest.mark.parametrize("case", HISTORIES)
def test_labels_are_above_the_law_of_the_distance(case):
    """At every quantile, for short and long runs."""
    r, a, B, q, d, K, xi, order = case
    setting = run(r, a, B, q, 40 if q < 0.01 else 100, 500, True, d, K, xi=xi)
    h, share, s = labels_of(setting, float(order))
    assert h.max() < inf
    for T in (1, 7, min(int(12 / (1 - norm(K, d, order, 1.0, s["c2"]))), 4000)):
        at, law = history_from_below(
            K,
            d,
            order,
            float(s["c2"]),
            float(s["kick"]),
            float(s["e"]),
            setting.batch / setting.n,
            T,
        )
        beyond = np.cumsum(law[::-1])[::-1]
        claimed = np.array([share[h >= x * (1 - 1e-9)].sum() for x in at])
        some = beyond > 1e-11
        assert (claimed[some] >= beyond[some] * (1 - 1e-9) - 1e-12).all(), (
            T,
            (beyond[some] / claimed[some]).max(),
        )


def test_kicks_and_constants_of_the_history_are_the_theorems():
    for r, a, B, q, d, K, xi, order in HISTORIES:
        s = labels_of(
            run(r, a, B, q, 40 if q < 0.01 else 100, 500, True, d, K, xi=xi), float(order)
        )[2]
        e = a * sqrt(K) * xi / 2
        assert s["kick"] == pytest.approx(B + e, rel=1e-9) and s["e"] == pytest.approx(e, abs=1e-12)
        assert s["c2"] >= (max(r, abs(r - a)) if d == 1 else r) ** 2
