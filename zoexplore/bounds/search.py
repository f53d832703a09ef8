"""Searches over many rows at once. They only look for the best: whatever they return is sound."""

from collections.abc import Callable

import numpy as np

from zoexplore.bounds.numbers import Numbers
from zoexplore.bounds.run_arrays import RunArrays

GOLDEN = (np.sqrt(5) - 1) / 2
# shares of the noise along the directions, tried first: noise outside the span is needed
BETAS = np.array([0.0, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.88, 0.96, 0.99, 1 - 1e-9])
HALVINGS = 3  # rounds of refinement around the best of them
MOST_NODES = 9  # runs along a curve for which a share is sought
# of delta; outside, an improvement in epsilon is below 1e-4 of it
LEAST_SHARE, MOST_SHARE = 1e-4, 0.98
SECTIONS = 9  # of the logarithms between them, by 0.618


def golden(
    value_at: Callable[[np.ndarray], np.ndarray], low: Numbers, high: Numbers, sections: int
) -> Numbers:
    """The arguments with the least values, by golden sections of [low, high], one per row.

    Args:
        value_at: function of an array of arguments, shape of the rows, returning the values.
        low, high: the ranges, shape of the rows.
        sections: how often to cut the ranges by 0.618.
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
    """At most `most` of `size` row numbers, shape (nodes,), evenly spread, with the first and the
    last.
    """
    return np.unique(np.linspace(0, size - 1, min(size, most)).round().astype(int))


def interpolated(found: Numbers, nodes: np.ndarray, size: int) -> Numbers:
    """Values found at `nodes`, of their shape, interpolated at all rows, shape (size,)."""
    return np.interp(np.arange(size), nodes, found)


def best_share(epsilon_at: Callable[[np.ndarray], np.ndarray], shape: tuple[int, ...]) -> Numbers:
    """The share delta_f/delta, in (0, 1), with the least epsilon.

    Args:
        epsilon_at: function of an array of shares of `shape`, returning the epsilons.
        shape: shape of the rows.
    """
    low, high = np.full(shape, np.log(LEAST_SHARE)), np.full(shape, np.log(MOST_SHARE))
    return np.exp(golden(lambda x: epsilon_at(np.exp(x)), low, high, SECTIONS))


def best_noise(
    runs: RunArrays, epsilon_at: Callable[[RunArrays, np.ndarray], np.ndarray]
) -> Numbers:
    """The constant share of the noise along the directions with the least epsilon, in the runs'
    shape: sought at nodes, interpolated between them.

    Args:
        runs: along a curve, or a single one.
        epsilon_at: function of some of the runs and of a share for each, returning the epsilons.
    """
    size = int(np.prod(runs.shape))
    nodes, reach = spread(size, MOST_NODES), 0.15
    some, tried = runs.at(nodes) if runs.shape else runs, np.tile(BETAS, (nodes.size, 1))
    for _ in range(1 + HALVINGS):
        found = [epsilon_at(some, beta.reshape(some.shape)).ravel() for beta in tried.T]
        best = tried[np.arange(nodes.size), np.argmin(found, axis=0)]
        around = best[:, None] + reach * np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
        tried, reach = np.clip(around, 0.0, BETAS[-1]), reach / 3
    return interpolated(best, nodes, size).reshape(runs.shape)
