"""Bounds for few steps on batches (docs/batches.md, "Few steps that rarely hold the record")."""

from math import sqrt

import numpy as np
import scipy  # loads its parts when they are used: the accountant starts sooner

from zoexplore.bounds.kernels.laws import ADD

MOST_STEPS = 32  # beyond them the other losses are too many for each to count as the largest
CELLS = 128  # of the largest of the other losses
REACH = 9.0  # standard deviations beyond mu at which the last cell ends; two losses beyond it have a chance of 1e-37
SLACK = 1e-9  # of delta, for roundings
ROUNDED = 1e-15  # of a probability
HALVINGS = 50


def epsilon_at(kind: int, N, q, mu, delta, most) -> np.ndarray:
    """The least epsilon found at which `delta_at` is at most delta, or `most` where that is less; arrays of shape (P,)."""
    if kind == ADD:
        largest, share = largest_of_addition(N, q), np.minimum(delta / _at_0(N, q, mu), 1.0)
        return np.clip((largest + np.log1p(share * np.expm1(-largest))) * (1 + SLACK), 0.0, most)
    high = np.where(_at_0(N, q, mu) <= delta, 0.0, most)
    few = np.flatnonzero((N <= MOST_STEPS) & np.isfinite(most))
    better = few[delta_at(kind, N[few], q[few], mu[few], most[few]) <= delta[few]]
    N, q, mu, delta = (x[better] for x in (N, q, mu, delta))
    low = np.zeros(better.size)
    for _ in range(HALVINGS if better.size else 0):
        middle = 0.5 * (low + high[better])
        enough = delta_at(kind, N, q, mu, middle) <= delta
        high[better] = np.where(enough, middle, high[better])
        low = np.where(enough, low, middle)
    return high


def delta_at(kind: int, N, q, mu, epsilon) -> np.ndarray:
    """An upper bound, at most 1, on delta at `epsilon` >= 0, arrays of shape (P,); beyond `MOST_STEPS` 1 unless a record is
    added. For an added record it is the chord of a convex function of exp(epsilon), from epsilon 0 to the largest loss.
    """
    if kind == ADD:
        largest = largest_of_addition(N, q)
        return _at_0(N, q, mu) * np.expm1(np.minimum(epsilon - largest, 0)) / np.expm1(-largest) * (1 + SLACK)
    few, found = N <= MOST_STEPS, np.ones(N.shape)
    found[few] = np.minimum(_by_the_largest(*(x[few, None] for x in (N, q, mu, epsilon))), 1.0)
    return found


def _by_the_largest(N, q, mu, epsilon) -> np.ndarray:
    """The bound on delta as a sum over cells of the largest other loss, for arrays of shape (P, 1)."""
    x = 0.5 * mu + (0.5 * mu + REACH) * np.linspace(0, 1, CELLS)  # the cells' upper ends; below the first no loss is positive
    loss = np.log1p(q * np.expm1(mu * x - 0.5 * mu**2))
    loss[:, 0] = 0.0
    below = (1 - beyond(x, q, mu)) ** (N - 1)
    likely = np.diff(below, axis=1, prepend=0.0) + ROUNDED
    shifted = epsilon - (N - 1) * loss
    own = np.log1p(np.expm1(np.maximum(shifted, 0)) / q) / mu + 0.5 * mu  # where one loss is as large as `shifted`
    own[:, 1:] = np.maximum(own[:, 1:], x[:, :-1])
    ndtr = scipy.special.ndtr
    exceeds = q * (ndtr(mu - own) - ndtr(-own)) - np.expm1(shifted) * ndtr(-own) + ROUNDED * q * ndtr(mu - own)
    far = (1 - below[:, -1:] + ROUNDED) * beyond(x[:, -1:], q, mu)
    return N[:, 0] * (np.sum(likely * exceeds, axis=1) + far[:, 0]) * (1 + SLACK)


def beyond(x, q, mu):
    """The probability of N(0, 1), or of N(mu, 1) with a chance q, beyond x: at x >= mu/2, of a loss that exceeds that of x."""
    return (1 - q) * scipy.special.ndtr(-x) + q * scipy.special.ndtr(mu - x)


def _at_0(N, q, mu):
    """An upper bound on delta at epsilon 0, shape (P,): the sum of the steps' total variations."""
    return np.minimum(N * q * scipy.special.erf(mu / sqrt(8)), 1.0) * (1 + SLACK)


def largest_of_addition(N, q):
    """An upper bound on the summed losses of N steps that add a record: each is at most -log(1 - q)."""
    return -N * np.log1p(-q) * (1 + SLACK)
