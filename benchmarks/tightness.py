"""Measures how near the sharper bound is to the truth, and how far below the paper's bounds.

The truth is the exact divergence of linear dynamics with the directions revealed (tests/truth), by
the best adversary found. It bounds from below what any proof that reveals the directions can give.
On batches the truth is that of a whole run on a line, by quadrature.
"""

from itertools import product
from math import inf
from typing import Any

import numpy as np

import zoexplore
from benchmarks.timing import table
from tests.convention import DEMONSTRATION, Accounting, Setting, epsilon
from tests.properties.test_truth import Batched
from tests.truth import membership
from tests.truth.hidden import Linear
from tests.truth.revealed import Run, Truth, clipped, mahalanobis, of_one_form
from tests.truth.test_linear_models import ANGLES, KEPT, PUSHES
from tests.truth.test_revealed import CANDIDATES, run_of
from tests.truth.test_runs_as_made import acting

SETTINGS = [  # c, d, K, T, beta, spread
    (0.5, 10, 10, 50, 0.5, 1.0),
    (0.7, 6, 3, 2, 0.95, 1.0),
    (0.5, 10, 8, 50, 0.5, 1.0),
    (0.5, 10, 3, 50, 0.2, 0.5),
    (0.9, 3, 1, 60, 0.2, 1.0),
    (1.0, 8, 4, 20, 0.5, 1.0),
    (1.1, 8, 4, 10, 0.2, 1.0),
    (0.3, 40, 20, 30, 0.5, 0.5),
    (0.3, 60, 12, 60, 0.3, 0.3),
    (0.6, 20, 10, 30, 0.4, 1.0),
    (0.8, 100, 50, 30, 0.5, 1.0),
    (0.9, 40, 8, 100, 0.5, 0.5),
]
ACTING = [  # regime, d, K, T, beta, step, ridge
    ("convex", 1, 1, 10, 0.3, 0.8, 0.3),
    ("convex", 3, 2, 40, 0.2, 0.7, 0.4),
    ("convex", 4, 4, 15, 0.5, 0.8, 0.3),
    ("convex", 5, 2, 10, 0.3, 2.5, 0.5),
    ("strongly-convex", 6, 3, 12, 0.9, 1.2, 0.5),
    ("non-convex", 8, 2, 20, 0.2, 0.9, 0.6),
    ("convex", 10, 5, 30, 0.5, 1.0, 0.2),
    ("convex", 20, 5, 30, 0.3, 1.0, 0.5),
    ("convex", 30, 10, 20, 0.5, 0.8, 0.4),
    ("convex", 60, 30, 20, 0.5, 1.0, 0.9),
    ("non-convex", 60, 30, 20, 0.5, 0.5, 0.8),
    ("convex", 100, 20, 20, 0.3, 1.0, 0.7),
]
# c, d, K, T, beta
RUNS_RELEASED = (0.5, 10, 8, 48, 0.5), (0.7, 20, 5, 48, 0.3), (1.0, 8, 4, 24, 0.5)
RELEASED = [(*numbers, releases) for numbers in RUNS_RELEASED for releases in (2, 4, 8, 24)]
# n, batch, T, ridge step, sigma, R: first with a ball as small as the noise, which hides most, then
# with a wide one
LINES = [
    (10, 1, 20, 0.5, 1.0, 1.0),
    (10, 2, 20, 0.5, 1.0, 1.0),
    (10, 5, 20, 0.5, 1.0, 1.0),
    (6, 3, 40, 0.7, 2.0, 0.5),
    (4, 2, 20, 0.5, 3.0, 3.0),
    (4, 3, 20, 0.0, 3.0, 0.5),
    (10, 1, 5, 0.5, 1.0, 6.0),
    (10, 2, 20, 0.5, 1.0, 6.0),
    (10, 5, 3, 0.5, 1.0, 6.0),
    (10, 5, 20, 0.9, 0.5, 4.0),
    (6, 3, 40, 0.3, 1.0, 8.0),
    (4, 3, 20, 0.5, 3.0, 15.0),
]
PAPER = DEMONSTRATION.replace(
    n=1000, d=1000, K=200, sigma=0.1, m=0.9, ridge=0, M=1, R=1, delta=1e-5, beta=0.5
)
LARGE = DEMONSTRATION.replace(
    n=100_000,
    d=10**6,
    K=20_000,
    sigma=1e-3,
    m=0.5,
    ridge=0.5,
    M=1,
    R=1,
    delta=1e-6,
    beta=0.5,
    T=10_000,
)
COMPARED = {
    "paper's figure, T = 10": PAPER.replace(T=10),
    "paper's figure, T = 100": PAPER.replace(T=100),
    "paper's figure, T = 1000": PAPER.replace(T=1000),
    "paper's figure, T = 100000": PAPER.replace(T=100_000),
    "paper's figure, K = 500": PAPER.replace(T=1000, K=500),
    "paper's figure, K = 20": PAPER.replace(T=1000, K=20),
    "paper's figure, perturbed": PAPER.replace(T=1000, xi=1e-5),
    "paper's figure, convex": PAPER.replace(T=1000, regime="convex"),
    "paper's figure, non-convex, small steps": PAPER.replace(T=1000, regime="non-convex", eta=2.0),
    "two classes, K = 52": DEMONSTRATION.replace(K=52),
    "two classes, K = 260": DEMONSTRATION,
    "two classes, no ball": DEMONSTRATION.replace(R=inf),
    "a million parameters": LARGE,
    "a million parameters, T = 100": LARGE.replace(T=100),
}


def run(draws: int = 1000, delta: float = 1e-3) -> None:
    print(
        f"Sharper bound over truth, directions revealed: epsilon at delta = {delta:g}, truth +- two standard errors"
    )
    rows = [against_truth(*parameters, draws=draws, delta=delta) for parameters in SETTINGS]
    table(
        (
            "drift, size, steps, share",
            "sharp",
            "truth",
            "+-",
            "sharp/truth",
            "lipschitz",
            "truth",
            "sharp/truth",
        ),
        rows,
    )
    header = ("run", "composition", "sharp", "truth", "+-", "sharp/truth")
    print("\nThe same where the clip acts")
    table(header, [with_clip(*parameters, draws=draws, delta=delta) for parameters in ACTING])
    print("\nThe same where it is known that losses are of one linear form")
    linear = [
        of_linear_models(*parameters, draws=draws, delta=delta)
        for parameters in ACTING
        if parameters[1] > 1
    ]
    table(("run", "any loss", *header[2:]), linear)
    print("\nThe same with released checkpoints")
    table(header, [with_releases(*parameters, draws=draws, delta=delta) for parameters in RELEASED])
    print("\nHidden batches on a line")
    table(header, [with_batches(*parameters, delta) for parameters in LINES])
    print(
        f"\nFresh batches, a test of the last iterate along one gradient: delta = {membership.HEAD.delta:g}"
    )
    rows = [(name, *against_attack(s, draws // 25)) for name, s in membership.RUNS.items()]
    table(("run", "composition", "sharp", "attacked", "sharp/attacked"), rows)
    print("\nepsilon, exact conversion; sharp' counts each record's part as Lipschitz")
    bounds = ("composition", "corollary", "theorem", "sharp", "sharp'", "theorem/sharp")
    table(("run", *bounds), [compared(name, setting) for name, setting in COMPARED.items()])


def against_attack(s: Any, draws: int) -> Any:
    """Return both bounds, what the attack finds over so many draws of directions, and the ratio of
    the sharper bound to it.
    """
    public, sharp = (zoexplore.epsilon(s, bound) for bound in ("composition", "sharp"))
    found = membership.attacked(s, draws)
    return tuple(f"{x:.3g}" for x in (public, sharp, found, sharp / found))


def with_clip(
    regime: str,
    d: int,
    K: int,
    T: int,
    beta: float,
    step: Any,
    ridge: float,
    *,
    draws: int,
    delta: float,
) -> Any:
    s = acting(regime, d, K, T, beta, step, ridge).replace(delta=delta)
    draws = draws if d <= 10 else draws // 10
    best = max(
        CANDIDATES,
        key=lambda adversary: Truth(clipped(s, adversary, draws // 10, 2)).epsilon(delta),
    )
    return row(
        f"{regime}, K = {K} of {d}, T = {T}, ridge = {ridge:g}",
        s,
        Truth(clipped(s, best, draws, 3)),
    )


def of_linear_models(
    regime: str,
    d: int,
    K: int,
    T: int,
    beta: float,
    step: Any,
    ridge: float,
    *,
    draws: int,
    delta: float,
) -> Any:
    s = acting(regime, d, K, T, beta, step, ridge).replace(delta=delta, linear=True)
    draws = draws if d <= 10 else draws // 10

    def truth(case: Any, count: int, seed: int) -> Any:
        return Truth(of_one_form(s, *case, count, seed))

    best = max(
        product(PUSHES.values(), ANGLES, KEPT.values()),
        key=lambda case: truth(case, draws // 10, 2).epsilon(delta),
    )
    name, _, *others = row(
        f"{regime}, K = {K} of {d}, T = {T}, ridge = {ridge:g}", s, truth(best, draws, 3)
    )
    return name, f"{epsilon(s.replace(linear=False), 'sharp'):.4g}", *others


def with_releases(
    c: float, d: int, K: int, T: int, beta: float, releases: Any, *, draws: int, delta: float
) -> Any:
    s = run_of(c, d, K, T, beta, delta=delta).replace(releases=releases)
    run, steps = Run.of(s), -(-T // releases)
    best = max(
        CANDIDATES,
        key=lambda adversary: Truth(
            mahalanobis(run, adversary, draws // 10, 2, 0.0, steps)
        ).epsilon(delta),
    )
    stretches = [mahalanobis(run, best, draws, seed, 0.0, steps) for seed in range(releases)]
    return row(
        f"c = {c:g}, K = {K} of {d}, T = {T}, {releases} released",
        s,
        Truth(np.sqrt(np.square(stretches).sum(axis=0))),
    )


def with_batches(
    n: int, batch: Any, T: int, ridge: float, sigma: float, R: float, delta: float
) -> Any:
    s = Setting(
        n=n,
        d=1,
        K=1,
        T=T,
        sigma=sigma,
        beta=0.0,
        regime="strongly-convex",
        R=R,
        M=1e-3 + ridge,
        m=ridge,
        ridge=ridge,
        eta=1.0,
        delta=delta,
        batch=batch,
    )
    truth = Batched(s, [[Linear(0)] * (n - 1) + [Linear(slope)] for slope in (1, -1)])
    return row(
        f"{batch} of {n}, T = {T}, ridge = {ridge:g}, sigma = {sigma:g}, R = {R:g}", s, truth
    )


def row(name: str, s: Any, truth: Any) -> Any:
    """Return a row that compares a run's bounds with the exact divergence. A divergence that is
    averaged over directions has a standard error.
    """
    bound = epsilon(s, "sharp")
    lowest = truth.epsilon(s.delta) if isinstance(truth, Truth) else root(truth, s.delta)
    error = truth.epsilon(s.delta, 2) - lowest if isinstance(truth, Truth) else 0.0
    return name, *(
        f"{x:.4g}" for x in (epsilon(s, "composition"), bound, lowest, error, bound / lowest)
    )


def root(truth: Any, delta: float) -> Any:
    """Return the least epsilon at which a divergence is at most delta."""
    low, high = 0.0, 60.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if truth.delta(middle) > delta else (low, middle)
    return high


def against_truth(
    c: float, d: int, K: int, T: int, beta: float, spread: Any, *, draws: int, delta: float
) -> Any:
    s = run_of(c, d, K, T, beta, spread, delta=delta)
    bound, lowest, error = sharp_and_truth(s, c, "clip", draws)
    other, other_lowest, _ = sharp_and_truth(s, c, "least", draws)
    columns = (
        bound,
        lowest,
        error,
        bound / lowest,
        other,
        other_lowest,
        other / other_lowest if other_lowest else inf,
    )
    return f"c = {c:g}, K = {K} of {d}, T = {T}, beta = {beta:g}", *(f"{x:.4g}" for x in columns)


def sharp_and_truth(s: Any, c: float, sensitivity: Any, draws: int) -> Any:
    """Return (bound, truth, error): the bound's epsilon, the truth's by the best adversary, which
    is chosen on other draws, and twice the truth's standard error.
    """
    run = Run.of(s, sensitivity)
    draws = draws if s.d <= 20 else draws // 10
    best = max(
        CANDIDATES,
        key=lambda adversary: Truth(mahalanobis(run, adversary, draws // 10, 2)).epsilon(s.delta),
    )
    truth = Truth(mahalanobis(run, best, draws, 3))
    lowest = truth.epsilon(s.delta)
    return (
        epsilon(s, "sharp", Accounting(sensitivity=sensitivity)),
        lowest,
        truth.epsilon(s.delta, 2) - lowest,
    )


def compared(name: str, setting: Any) -> Any:
    values = [epsilon(setting, bound) for bound in ("composition", "corollary", "theorem", "sharp")]
    lipschitz = epsilon(setting, "sharp", Accounting(sensitivity="least"))
    return name, *(f"{x:.4g}" for x in (*values, lipschitz, values[2] / values[3]))
