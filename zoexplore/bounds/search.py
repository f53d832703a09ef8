"""Searches over many rows at once. They only look for the best: whatever they find is sound."""

from collections.abc import Callable

import numpy as np

from zoexplore.bounds.numbers import Numbers
from zoexplore.bounds.run_arrays import RunArrays

GOLDEN = (np.sqrt(5) - 1) / 2
# the shares of the noise along the directions that are tried first; below 1, so that some noise
# lies outside the span
BETAS = np.array([0.0, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.88, 0.96, 0.99, 1 - 1e-9])
HALVINGS = 3  # the rounds of refinement around the best of these shares
MOST_NODES = 9  # the number of runs along a curve for which a share is sought
# the range of shares of delta; outside it epsilon improves by less than 1e-4 of itself
LEAST_SHARE, MOST_SHARE = 1e-4, 0.98
SECTIONS = 9  # how often the range of their logarithms is cut to 0.618 of its length


def golden(
    value_at: Callable[[np.ndarray], np.ndarray], low: Numbers, high: Numbers, sections: int
) -> Numbers:
    """Find the argument with the least value in each row by golden sections of [low, high].

    Args:
        value_at: gives the values at an array of arguments, one per row.
        low, high: the ranges, in the shape of the rows.
        sections: how often to cut the ranges to 0.618 of their length.
    """
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = value_at(left), value_at(right)
    for _ in range(sections):
        down = at_left <= at_right
        low, high = np.where(down, low, left), np.where(down, right, high)
        new = np.where(down, high - GOLDEN * (high - low), low + GOLDEN * (high - low))
        at_new = value_at(new)
        left, right = np.where(down, new, right), np.where(down, left, new)
        at_left, at_right = np.where(down, at_new, at_right), np.where(down, at_left, at_new)
    return np.where(at_left <= at_right, left, right)


def spread(size: int, most: Numbers) -> Numbers:
    """Return at most `most` of `size` row numbers, shape (nodes,), evenly spread, the first and the
    last included.
    """
    return np.unique(np.linspace(0, size - 1, min(size, most)).round().astype(int))


def interpolated(found: Numbers, nodes: np.ndarray, size: int) -> Numbers:
    """Interpolate the values `found` at the `nodes`, of the same shape, to all rows, shape (size,)."""
    return np.interp(np.arange(size), nodes, found)


def best_share(epsilon_at: Callable[[np.ndarray], np.ndarray], shape: tuple[int, ...]) -> Numbers:
    """Find the share delta_f/delta, in (0, 1), with the least epsilon.

    Args:
        epsilon_at: gives the epsilons at an array of shares, of `shape`.
        shape: the shape of the rows.
    """
    low, high = np.full(shape, np.log(LEAST_SHARE)), np.full(shape, np.log(MOST_SHARE))
    return np.exp(golden(lambda x: epsilon_at(np.exp(x)), low, high, SECTIONS))


def best_noise(
    runs: RunArrays, epsilon_at: Callable[[RunArrays, np.ndarray], np.ndarray]
) -> Numbers:
    """Find the constant share of the noise along the directions with the least epsilon, in the
    runs' shape. The share is sought at nodes and interpolated between them.

    Args:
        runs: the runs along a curve, or a single run.
        epsilon_at: gives the epsilons of some of the runs, each at its own share.
    """
    size = int(np.prod(runs.shape))
    nodes, reach = spread(size, MOST_NODES), 0.15
    some, tried = runs.at(nodes) if runs.shape else runs, np.tile(BETAS, (nodes.size, 1))
    for _ in range(1 + HALVINGS):
        epsilons = [epsilon_at(some, beta.reshape(some.shape)).ravel() for beta in tried.T]
        best = tried[np.arange(nodes.size), np.argmin(epsilons, axis=0)]
        around = best[:, None] + reach * np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
        tried, reach = np.clip(around, 0.0, BETAS[-1]), reach / 3
    return interpolated(best, nodes, size).reshape(runs.shape)
