"""Exact divergences of w_T alone where the clip acts: real losses, all directions averaged, in one
and two dimensions.

A step is w <- w - (eta/K) sum_k (mean clipped quotient along u_k + ridge <u_k, w>) u_k + noise.
What it does to every point of a grid is one matrix, so that long runs are cheap. Batches are hidden
(the mean of their steps) or cyclic. No package code.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from math import log, pi, sqrt

import numpy as np

from tests.truth.hidden import Density, variances

REACH = 6.5  # standard deviations beyond where drift alone leads to


@dataclass(frozen=True)
class Logistic:
    """log(1 + exp(-slope (x - at))): slopes from -slope to 0."""

    slope: float
    at: float = 0.0

    @property
    def smoothness(self):
        return self.slope**2 / 4

    def __call__(self, x):
        return np.logaddexp(0.0, -self.slope * (x - self.at))


@dataclass(frozen=True)
class Huber:
    """A parabola within `width` of `at`, lines of this slope beyond; of no width, the absolute
    loss.
    """

    slope: float
    at: float = 0.0
    width: float = 0.0

    @property
    def smoothness(self):
        return self.slope / self.width if self.width else np.inf

    def __call__(self, x):
        far = np.abs(x - self.at)
        if self.width == 0:
            return self.slope * far
        return self.slope * np.where(
            far < self.width, far**2 / (2 * self.width), far - self.width / 2
        )


@dataclass(frozen=True)
class Quadratic:
    """Half of smoothness (x - at)^2: slopes without end."""

    smoothness: float
    at: float = 0.0

    def __call__(self, x):
        return self.smoothness * (x - self.at) ** 2 / 2


@dataclass(frozen=True)
class Hinged:
    """A parabola beyond `at`, nothing before it: runs are pulled together on one side alone,
    according to how likely the one dataset is by now.
    """

    smoothness: float
    at: float = 0.0

    def __call__(self, x):
        return self.smoothness * np.maximum(x - self.at, 0.0) ** 2 / 2


@dataclass(frozen=True)
class Sine:
    """A non-convex loss, slope width sin((x - at)/width)."""

    slope: float
    at: float
    width: float

    @property
    def smoothness(self):
        return self.slope / self.width

    def __call__(self, x):
        return self.slope * self.width * np.sin((x - self.at) / self.width)


@dataclass(frozen=True)
class Record:
    """A record's loss: of <w, a>, a at this angle in the plane; of a loss None, 0, as of a record
    that is missing.
    """

    loss: Callable | None
    angle: float = 0.0

    @property
    def smoothness(self):
        return self.loss.smoothness if self.loss else 0.0

    def quotient(self, w, u, xi):
        """The difference quotient along u at the points w, shape (points, dimension)."""
        if self.loss is None:
            return np.zeros(len(w))
        a = np.array([np.cos(self.angle), np.sin(self.angle)])[: w.shape[1]]
        h, x, along = max(xi, 1e-6), w @ a, u @ a
        return (self.loss(x + h * along) - self.loss(x - h * along)) / (2 * h)


@dataclass(frozen=True)
class Grid:
    """Cells of w: their middles, shape (cells, d), and the volume of one."""

    points: np.ndarray
    volume: float

    @classmethod
    def around(cls, s, cells):
        """As far as w_T comes from 0, but for a chance that is seen in the masses' sum: the clip
        bounds every drift, a ridge what it and the noise add up to.
        """
        strength = s.eta / s.K * s.ridge
        lasting = min(s.T, s.d / s.K / (1 - (1 - strength) ** 2))
        reach = REACH * sqrt(variances(s)[0] * lasting) + min(
            s.T * s.eta * s.clip / sqrt(s.K), s.clip / s.ridge * sqrt(s.K)
        )
        x, width = np.linspace(-reach, reach, cells, retstep=True)
        return cls(
            np.stack(np.meshgrid(*[x] * s.d, indexing="ij"), axis=-1).reshape(-1, s.d), width**s.d
        )


def bases(s, angles):
    """Orthonormal directions, shape (d, K), each as likely as any other; what a sign or the order
    changes is left out.
    """
    if s.d == 1:
        return [np.ones((1, 1))]
    rotations = (np.arange(angles) + 0.5) * pi / s.K / angles
    return [
        np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]])[:, : s.K] for a in rotations
    ]


def lots(s, records):
    """Step by step what may be in a batch, with its chance: [(chance, batch)], for each of an
    epoch's steps.
    """
    if s.batch is None:
        return [[(1.0, records)]]
    if s.sampling == "cyclic":
        return [[(1.0, records[i : i + s.batch])] for i in range(0, s.n, s.batch)]
    if s.sampling == "poisson":
        chosen = [batch for size in range(s.n + 1) for batch in combinations(records, size)]
        return [
            [((s.batch / s.n) ** len(b) * (1 - s.batch / s.n) ** (s.n - len(b)), b) for b in chosen]
        ]
    batches = list(combinations(records, s.batch))
    return [[(1 / len(batches), batch) for batch in batches]]


def moved(s, batch, w, basis):
    """Where a step takes the points w before its noise; and the share of the quotients, or of the
    records, that is clipped.
    """
    raw = np.array([[record.quotient(w, u, s.xi) for record in batch] for u in basis.T]).reshape(
        s.K, -1, len(w)
    )
    size = np.abs(raw) if s.clipping == "each" else np.linalg.norm(raw, axis=0, keepdims=True)
    means = (raw * np.minimum(1.0, s.clip / np.maximum(size, 1e-300))).sum(axis=1) / (
        s.batch or s.n
    )
    to = w - s.eta / s.K * (means + s.ridge * (w @ basis).T).T @ basis.T
    return to, (size > s.clip).sum(axis=(0, 1)) / max(1, size.shape[0] * len(batch))


def step(s, lot, w, grid, angles):
    """Masses on the grid after a step from each point w, shape (points, cells); and the share of
    quotients that are clipped.
    """
    (S, s2), total, acting, found = variances(s), 0.0, 0.0, bases(s, angles)
    for basis in found:
        P = basis @ basis.T
        inverse = P / S + (np.eye(s.d) - P) / s2 if s.K < s.d else P / S
        peak = grid.volume / sqrt((2 * pi) ** s.d * S**s.K * s2 ** (s.d - s.K)) / len(found)
        own = 0.5 * np.einsum("pi,ij,pj->p", grid.points, inverse, grid.points)
        for chance, batch in lot:
            to, acts = moved(s, batch, w, basis)
            exponent = (to @ inverse) @ grid.points.T
            exponent -= (
                own
                + (0.5 * np.einsum("pi,ij,pj->p", to, inverse, to) - log(peak * chance))[:, None]
            )
            total = total + np.exp(exponent, out=exponent)
            acting = acting + chance * acts / len(found)
    return total, acting


def run(s, datasets, cells, angles=16):
    """The densities of w_T from w_0 = 0 without a ball, and the least share of quotients that is
    clipped in a step.
    """
    grid, results, least = Grid.around(s, cells), [], 1.0
    for records in datasets:
        epoch = lots(s, records)
        kernels = [step(s, lot, grid.points, grid, angles) for lot in epoch]
        mass, acting = step(s, epoch[0], np.zeros((1, s.d)), grid, angles)
        mass, least = mass[0], min(least, acting[0])
        for t in range(1, s.T):
            kernel, acting = kernels[t % len(epoch)]
            least, mass = min(least, mass @ acting), mass @ kernel
        results.append(mass)
    return Density(*results), least
