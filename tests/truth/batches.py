"""Runs on fresh, secret batches whose pairs of laws are known: on a line by quadrature, and with
revealed frames as mixtures of Gaussians over all memberships. And the law of how far apart two runs
are, from below. No package code.
"""

from dataclasses import dataclass
from functools import cache
from itertools import product
from math import ceil, exp, inf, lgamma, log, sqrt

import numpy as np
from scipy.special import logsumexp, ndtr

from tests.truth.revealed import directions


@dataclass(frozen=True)
class Pair:
    """Masses of both data sets' w_T at quadrature points."""

    one: np.ndarray
    other: np.ndarray

    def deltas(self, epsilon):
        """Both orders' divergences."""
        grown = exp(min(epsilon, 700.0))
        return np.array(
            [
                np.maximum(p - grown * q, 0).sum()
                for p, q in ((self.one, self.other), (self.other, self.one))
            ]
        )


@dataclass(frozen=True)
class Map:
    """A step on a line without the record, slope r - a (middle + width tanh((x - at)/wide)), and
    what the record adds to it, between 0 and B: B (1 + tanh(steep (x - turn)))/2.
    """

    r: float
    a: float
    middle: float
    width: float
    at: float
    wide: float
    B: float
    steep: float
    turn: float

    @classmethod
    def drawn(cls, rng, r, a, B):
        """Slopes are between r - a and r with the record and without."""
        steep = 0.4 * a / B * rng.choice([-1.0, 0.0, 1.0])
        at, turn = rng.normal(0, 2, 2)
        return cls(
            r,
            a,
            rng.choice([0.5, 0.5, 0.2]),
            0.3 * (a > 0),
            at,
            rng.uniform(0.3, 2.0),
            B,
            steep,
            turn,
        )

    def without(self, x):
        width = self.width if self.middle == 0.5 else 0.0
        y = np.abs((x - self.at) / self.wide)
        kinked = self.wide * (y + np.log1p(np.exp(-2 * y)) - log(2))
        return (self.r - self.a * self.middle) * x - self.a * width * kinked

    def push(self, x):
        return (
            self.B * (0.5 + 0.5 * np.tanh(self.steep * (x - self.turn)))
            if self.steep
            else np.full_like(x, self.B)
        )


def on_a_line(rng, maps, T, q, replace, R=inf, nodes=360):
    """Both laws of w_T after T of the maps, noise of variance 1, from 0. A replaced record pushes
    one run up, the other down.
    """
    r = maps[0].r
    B, c = max(m.B for m in maps), max(abs(r), abs(r - maps[0].a))
    span = (
        R
        if R < inf
        else 8.0 * sqrt((1 - c ** (2 * T)) / (1 - c * c))
        + (B + abs(maps[0].at)) * (1 - c**T) / (1 - c)
    )
    x, weight = np.polynomial.legendre.leggauss(nodes)
    places, weight = np.concatenate([[-span], span * x, [span]]), span * weight / sqrt(2 * np.pi)

    def kernel(to):
        inside = np.exp(-0.5 * (places[1:-1] - to[:, None]) ** 2) * weight
        return np.column_stack([ndtr(-span - to), inside, ndtr(to - span)])

    steps = []
    for each in maps:
        to, push = each.without(places), each.push(places)
        lower = kernel(to + push - each.B) if replace else kernel(to)
        steps.append((kernel(to), kernel(to + push), lower))
    one = other = (places == 0).astype(float) if (places == 0).any() else None
    for t in range(T):
        which = rng.integers(len(maps))
        if t == 0 and one is None:
            zero = np.zeros(1)
            each = maps[which]
            first = [each.without(zero), each.without(zero) + each.push(zero)]
            first.append(first[1] - each.B if replace else first[0])
            quiet, met, met_other = (kernel(to)[0] for to in first)
            one, other = (1 - q) * quiet + q * met, (1 - q) * quiet + q * met_other
            continue
        quiet, met, met_other = steps[which]
        one, other = one @ ((1 - q) * quiet + q * met), other @ ((1 - q) * quiet + q * met_other)
    assert abs(one.sum() - 1) < 1e-7 and abs(other.sum() - 1) < 1e-7
    return Pair(one, other)


def in_frames(rng, d, K, T, q, push, shrink, S, s2, replace, paths, draws):
    """Of linear losses with revealed frames: the logarithm of the laws' ratio and both sides'
    chances, shape (paths, draws): `up` drawn from the first law, `down` from the second. `push(U,
    aim)` is what the record adds, along the frame.

    A step multiplies the span by `shrink`. Whoever pushes aims at what all pushes together lead to.
    """
    members = np.array(list(product([0.0, 1.0], repeat=T)))
    chance = members.sum(axis=1) * log(q) + (T - members.sum(axis=1)) * log(1 - q)
    frames = directions(rng, paths * T, d, K).reshape(paths, T, d, K)
    P = frames @ frames.transpose(0, 1, 3, 2)
    eye = np.eye(d)
    cov, pushed = np.zeros((paths, d, d)), np.zeros((paths, T, d))
    aim = np.tile(eye[0], (paths, 1))
    for t in range(T):
        move = eye - (1 - shrink) * P[:, t]
        cov = move @ cov @ move.transpose(0, 2, 1) + S * P[:, t] + s2 * (eye - P[:, t])
        pushed = np.einsum("pij,ptj->pti", move, pushed)
        pushed[:, t] = push(frames[:, t], aim)
        total = pushed.sum(axis=1)
        aim = np.where((total**2).sum(axis=1, keepdims=True) > 0, total, aim)
    # (paths, T, d)
    white = np.linalg.solve(np.linalg.cholesky(cov), pushed.transpose(0, 2, 1)).transpose(0, 2, 1)
    means = np.einsum("mt,ptd->pmd", members, white)
    sides = np.array([1.0, -1.0 if replace else 0.0])

    def log_law(x, side):
        quadratic = -0.5 * (
            (x**2).sum(-1, keepdims=True) - 2 * side * np.einsum("pxd,pmd->pxm", x, means)
        )
        return logsumexp(
            chance + quadratic - 0.5 * side**2 * (means**2).sum(-1)[:, None, :], axis=-1
        )

    found = []
    for side in sides:
        which = rng.choice(len(chance), (paths, draws), p=np.exp(chance))
        x = side * np.take_along_axis(means, which[:, :, None], axis=1) + rng.standard_normal(
            (paths, draws, d)
        )
        found.append(log_law(x, sides[0]) - log_law(x, sides[1]))
    return found[0], -found[1]


@cache
def norm(K, d, order, A, C):
    """J(A, C) with C to include the drift's constant, by log-gammas: E[(A (1 - gamma) + C
    gamma)^order]^(1/order).
    """
    if K == d:
        return C
    i, a, b = np.arange(order + 1), K / 2, (d - K) / 2
    gamma = np.vectorize(lgamma)
    logs = (
        gamma(order + 1)
        - gamma(i + 1)
        - gamma(order - i + 1)
        + gamma(b + order - i)
        - gamma(b)
        + gamma(a + i)
        - gamma(a)
    )
    return exp(
        logsumexp(logs - lgamma(d / 2 + order) + lgamma(d / 2) + (order - i) * log(A) + i * log(C))
        / order
    )


def history_from_below(K, d, order, c2, kick, e, q, T):
    """(Places, chances) of a law that the squared distance's after T steps exceeds: the exact
    recursion, rounded down.
    """
    thetas = np.exp(np.linspace(-12, 12, 1201 if K == d else 241))
    lines = np.array([norm(K, d, order, 1.0, (1 + x) * c2) for x in thetas])

    def after(h, kappa):
        if K == d:
            return (np.sqrt(c2 * h) + kappa) ** 2
        if kappa == 0:
            return norm(K, d, order, 1.0, c2) * h
        lowest = np.min(lines[:, None] * h + (1 + 1 / thetas[:, None]) * kappa**2, axis=0)
        return lowest * (1 - 3e-3)  # lines at other slopes between these may be as much lower

    top = kick**2
    for _ in range(min(T, 100_000)):
        above = after(np.array([top]), kick)[0]
        if above <= top * (1 + 1e-9):
            break
        top = above
    shrinks = norm(K, d, order, 1.0, c2)
    # so that quiet steps lose nothing if e = 0
    fall = -log(shrinks) / max(8 if e > 0 else 1, ceil(-log(shrinks) / 0.004))
    grid = np.append(0.0, top * 1.01 * np.exp(-fall * np.arange(ceil(20 / fall))[::-1]))
    places = grid.size
    to = [
        np.searchsorted(grid, after(grid, kappa) * (1 + 1e-12), side="right") - 1
        for kappa in (e, kick)
    ]
    law = np.eye(1, places)[0]
    for _ in range(T):
        law = np.bincount(to[0], (1 - q) * law, places) + np.bincount(
            np.minimum(to[1], places - 1), q * law, places
        )
    return grid, law
