"""How near the sharper bound is to the truth, and how far below the paper's bounds.

The truth is that of linear dynamics with the directions revealed (tests/truth), by the best adversary found,
a lower bound on what any proof that reveals the directions can give.
"""

from math import inf

from benchmarks.timing import table
from tests.truth.revealed import Run, Truth, mahalanobis
from tests.truth.test_revealed import CANDIDATES, run_of
from zoexplore import Accounting, epsilon
from zoexplore.presets import DEMONSTRATION

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
]
PAPER = DEMONSTRATION.replace(n=1000, d=1000, K=200, sigma=0.1, m=0.9, ridge=0, M=1, R=1, delta=1e-5, beta=0.5)
LARGE = DEMONSTRATION.replace(
    n=100_000, d=10**6, K=20_000, sigma=1e-3, m=0.5, ridge=0.5, M=1, R=1, delta=1e-6, beta=0.5, T=10_000
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


def run(draws=1000, delta=1e-3):
    print(f"Sharper bound over truth, directions revealed: epsilon at delta = {delta:g}, truth +- two standard errors")
    rows = [against_truth(*parameters, draws, delta) for parameters in SETTINGS]
    header = ("drift, size, steps, share", "sharp", "truth", "+-", "sharp/truth", "lipschitz", "truth", "sharp/truth")
    table(header, rows)
    print("\nepsilon, exact conversion; sharp' counts each record's part as Lipschitz")
    header = ("run", "composition", "corollary", "theorem", "sharp", "sharp'", "theorem/sharp")
    table(header, [compared(name, setting) for name, setting in COMPARED.items()])


def against_truth(c, d, K, T, beta, spread, draws, delta):
    s = run_of(c, d, K, T, beta, spread, delta=delta)
    bound, lowest, error = sharp_and_truth(s, c, "clip", draws)
    other, other_lowest, _ = sharp_and_truth(s, c, "lipschitz", draws)
    columns = (bound, lowest, error, bound / lowest, other, other_lowest, other / other_lowest if other_lowest else inf)
    return f"c = {c:g}, K = {K} of {d}, T = {T}, beta = {beta:g}", *(f"{x:.4g}" for x in columns)


def sharp_and_truth(s, c, sensitivity, draws):
    """The bound's epsilon; the truth's by the best adversary, chosen on other draws; twice its standard error."""
    run = Run.of(s, sensitivity)
    draws = draws if s.d <= 20 else draws // 10
    best = max(CANDIDATES, key=lambda adversary: Truth(mahalanobis(run, adversary, draws // 10, 2)).epsilon(s.delta))
    truth = Truth(mahalanobis(run, best, draws, 3))
    lowest = truth.epsilon(s.delta)
    return epsilon(s, "sharp", Accounting(sensitivity=sensitivity)), lowest, truth.epsilon(s.delta, 2) - lowest


def compared(name, setting):
    values = [epsilon(setting, bound) for bound in ("composition", "corollary", "theorem", "sharp")]
    lipschitz = epsilon(setting, "sharp", Accounting(sensitivity="lipschitz"))
    return name, *(f"{x:.4g}" for x in (*values, lipschitz, values[2] / values[3]))
