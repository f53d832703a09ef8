"""Splitting delta: how much of it to keep for the coupling to fail. Any split is sound; this finds the best one."""

import numpy as np

GOLDEN = (np.sqrt(5) - 1) / 2
LEAST_SHARE, MOST_SHARE = 1e-4, 0.98  # outside, an improvement in epsilon is below 1e-4 of it


def best_share(epsilon_at, shape, near=None, sections=9):
    """The share delta_f/delta in (0, 1) with the least epsilon, by golden sections in its logarithm, all rows at once.

    Args:
        epsilon_at: function of an array of shares of `shape`, returning the epsilons.
        shape: shape of the rows.
        near: shares to search around, up to a factor of two; the whole range where None.
        sections: how often to cut the range by 0.618.
    """
    low, high = np.full(shape, np.log(LEAST_SHARE)), np.full(shape, np.log(MOST_SHARE))
    if near is not None:
        middle = np.log(near)
        low, high = np.maximum(low, middle - np.log(2)), np.minimum(high, middle + np.log(2))
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = epsilon_at(np.exp(left)), epsilon_at(np.exp(right))
    for _ in range(sections):
        down = at_left <= at_right
        low, high = np.where(down, low, left), np.where(down, right, high)
        new = np.where(down, high - GOLDEN * (high - low), low + GOLDEN * (high - low))
        at_new = epsilon_at(np.exp(new))
        left, right = np.where(down, new, right), np.where(down, left, new)
        at_left, at_right = np.where(down, at_new, at_right), np.where(down, at_left, at_new)
    return np.exp(np.where(at_left <= at_right, left, right))
