"""The coupled processes of the sharper bound's proof, simulated under the accountant's fractions
and budget.

Vectorised over runs. Two kinds: the difference of the coupled runs alone, its data and remainders
pointed by an adversary, and whole runs with real losses, noise, clip and ball. No package code.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from tests.truth.revealed import _furthest, directions, drift_map


@dataclass(frozen=True)
class Plan:
    """What the accountant promises: fractions step by step, and the budget."""

    alpha: np.ndarray
    pi: np.ndarray
    rho: float
    start: float


@dataclass(frozen=True)
class Outcome:
    """Per run: whether the budget stopped the shifts, the cost spent, the final difference, the
    log-likelihood ratio of the shifted process's transcript to the neighbour's.
    """

    stopped: np.ndarray
    cost: np.ndarray
    apart: np.ndarray
    ratio: np.ndarray


class Ledger:
    """The running cost and the stop."""

    def __init__(self, plan, step, count):
        self.plan, self.step = plan, step
        self.stopped, self.cost = np.zeros(count, bool), np.zeros(count)

    def shift(self, t, U, x, q):
        """The step's shift, in the complement and in the span: none where the budget would be, or
        was, exceeded.

        q is the whole span part.
        """
        step, a, p = self.step, self.plan.alpha[t], self.plan.pi[t]
        outside = x - _project(U, x)
        price = 0.5 * (
            p**2 * _squares(q) / step.S + (a**2 * _squares(outside) / step.s2 if a > 0 else 0)
        )
        self.stopped |= self.cost + price > self.plan.rho
        self.cost += np.where(self.stopped, 0.0, price)
        going = ~self.stopped
        return going[:, None] * a * outside, going[:, None] * p * q


def difference(run, plan, step, drift, count, seed, aligned=True):
    """Differences alone: x <- (I - P) x + P Y x + b + e, with b and e at their largest, along Y x
    (b as far as a clip on each quotient lets it) or at random.
    """
    rng, Y = np.random.default_rng(seed), drift_map(run, drift)
    ledger, x = Ledger(plan, step, count), np.zeros((count, run.d))
    x[:, 0] = plan.start
    for t in range(len(plan.pi)):
        y = x @ Y.T
        aim = _at_zero(y if aligned else rng.standard_normal(y.shape))
        aim /= np.sqrt(_squares(aim))[:, None]
        U = directions(rng, count, run.d, run.K)
        moved = y + run.B * aim if run.before else y
        toward = _project(U, aim)
        toward /= np.sqrt(_squares(toward))[:, None]
        remainder = np.where(_squares(x) > 0, 2 * run.remainder + run.own, run.own)
        own = np.zeros_like(x) if run.before else _furthest(run, U, aim)
        q = _project(U, moved) + own + remainder[:, None] * toward
        outside, inside = ledger.shift(t, U, x, q)
        x = x - _project(U, x) - outside + q - inside
    return Outcome(ledger.stopped, ledger.cost, np.sqrt(_squares(x)), np.zeros(count))


def whole_runs(s, plan, step, quotients, count, seed):
    """Whole runs W on one dataset and W~ on the other: noise, projection and all.

    `quotients(w, U)` gives both datasets' clipped mean difference quotients along the columns of U,
    shape (count, K); the shared ridge is added outside the clip. A start apart is at opposite ends
    of the ball.
    """
    rng = np.random.default_rng(seed)
    W, V = np.zeros((count, s.d)), np.zeros((count, s.d))
    W[:, 0], V[:, 0] = plan.start / 2, -plan.start / 2
    ledger, ratio = Ledger(plan, step, count), np.zeros(count)
    s1 = step.S - step.s2
    for t in range(len(plan.pi)):
        U = directions(rng, count, s.d, s.K)
        along = rng.standard_normal((count, s.K)) * sqrt(s1)
        noise = np.einsum("sdk,sk->sd", U, along) + rng.standard_normal(W.shape) * sqrt(step.s2)
        x, moves = W - V, [_update(s, w, U, which, quotients) for which, w in enumerate((W, V))]
        q = _project(U, x) + moves[0] - moves[1]
        outside, inside = ledger.shift(t, U, x, q)
        in_span = _project(U, noise)
        ratio += (inside * (in_span + inside / 2)).sum(axis=1) / step.S
        ratio += (outside * (noise - in_span + outside / 2)).sum(axis=1) / step.s2
        W = _ball(W + moves[0] + noise, s.R)
        V = _ball(V + moves[1] + noise + outside + inside, s.R)
    return Outcome(ledger.stopped, ledger.cost, np.sqrt(_squares(W - V)), ratio)


def _update(s, w, U, which, quotients):
    """-(eta/K) of the estimate, in the span, ridge included."""
    estimate = quotients(w, U)[which] + s.ridge * np.einsum("sdk,sd->sk", U, w)
    return -s.eta / s.K * np.einsum("sdk,sk->sd", U, estimate)


def _ball(w, R):
    if not np.isfinite(R):
        return w
    return w * np.minimum(1, R / np.maximum(np.linalg.norm(w, axis=1, keepdims=True), 1e-300))


def _project(U, v):
    return np.einsum("sdk,sk->sd", U, np.einsum("sdk,sd->sk", U, v))


def _squares(v):
    return (v * v).sum(axis=-1)


def _at_zero(v):
    """v, or a fixed unit vector where v is 0."""
    return np.where(_squares(v)[:, None] > 0, v, np.eye(v.shape[1])[0])
