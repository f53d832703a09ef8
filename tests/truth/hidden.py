"""Exact divergences of w_T alone, directions hidden, by quadrature over the whole space: one and
two dimensions.

A step is w <- project(w - (eta/K) (estimate and shared quadratic) + noise): real losses, real
two-point estimates, real clip. No package code.
"""

from dataclasses import dataclass
from math import cos, log, pi, sin, sqrt

import numpy as np
from scipy.special import ndtr


@dataclass(frozen=True)
class Linear:
    """A record whose loss is slope * <w, e_1>."""

    slope: float = 1.0
    smoothness = 0.0

    def __call__(self, x):
        return self.slope * x


@dataclass(frozen=True)
class Soft:
    """A convex loss of <w, e_1> whose slopes run from -1 to 1: width log cosh((x - at)/width)."""

    at: float
    width: float

    @property
    def smoothness(self):
        return 1 / self.width

    def __call__(self, x):
        y = np.abs((x - self.at) / self.width)
        return self.width * (y + np.log1p(np.exp(-2 * y)) - log(2))


@dataclass(frozen=True)
class Wave:
    """A non-convex loss of <w, e_1> whose slopes run from -1 to 1: width sin((x - at)/width)."""

    at: float
    width: float

    @property
    def smoothness(self):
        return 1 / self.width

    def __call__(self, x):
        return self.width * np.sin((x - self.at) / self.width)


def mean_quotient(records, x, along, xi, clip):
    """The clipped difference quotients' mean at <w, e_1> = x, for a direction with <u, e_1> =
    along.
    """
    total = 0.0
    for loss in records:
        h = max(xi, 1e-6)  # a directional derivative to 1e-12
        total = total + np.clip((loss(x + h * along) - loss(x - h * along)) / (2 * h), -clip, clip)
    return total / len(records)


def variances(s):
    s2 = s.eta**2 * (1 - s.beta) * s.sigma**2 / s.d
    return s.eta**2 * s.beta * s.sigma**2 / s.K + s2, s2


@dataclass(frozen=True)
class Density:
    """Masses at quadrature points, of both datasets' w_T."""

    one: np.ndarray
    other: np.ndarray

    def delta(self, epsilon):
        """The larger of the two divergences."""
        grown = np.exp(epsilon)
        return max(
            np.maximum(p - grown * q, 0).sum()
            for p, q in ((self.one, self.other), (self.other, self.one))
        )


def on_a_line(s, datasets, nodes=1000):
    """w_T for d = K = 1, from w_0 = 0, projected onto [-R, R]; R = inf becomes an interval that is
    never left.
    """
    S = variances(s)[0]
    kept = (1 - s.eta * s.ridge) ** np.arange(s.T)
    span = (
        s.R if np.isfinite(s.R) else 8.5 * sqrt(S * (kept**2).sum()) + s.eta * s.clip * kept.sum()
    )
    x, weight = np.polynomial.legendre.leggauss(nodes)
    places, weight = np.concatenate([[-span], span * x, [span]]), span * weight
    results = []
    for records in datasets:
        moved = places - s.eta * (
            mean_quotient(records, places, 1.0, s.xi, s.clip) + s.ridge * places
        )
        inside = (
            np.exp(-((places[1:-1] - moved[:, None]) ** 2) / (2 * S)) / sqrt(2 * pi * S) * weight
        )
        kernel = np.column_stack(
            [ndtr((-span - moved) / sqrt(S)), inside, ndtr((moved - span) / sqrt(S))]
        )
        zero = -s.eta * mean_quotient(records, np.zeros(1), 1.0, s.xi, s.clip)
        mass = np.exp(-((places[1:-1] - zero) ** 2) / (2 * S)) / sqrt(2 * pi * S) * weight
        mass = np.concatenate([ndtr((-span - zero) / sqrt(S)), mass, ndtr((zero - span) / sqrt(S))])
        for _ in range(s.T - 1):
            mass = mass @ kernel
        results.append(mass)
    return Density(*results)


def on_a_plane(s, datasets, angles=12, cells=40, last_cells=80):
    """w_T for d = 2, K = 1, from w_0 = 0 without a ball: the direction's angle by Gauss-Legendre, w
    by equal cells.
    """
    reach = 6.5 * sqrt(s.T * (s.eta * s.sigma) ** 2) + s.eta * s.clip
    x, weights = np.polynomial.legendre.leggauss(angles)
    rotations = [(cos(a), sin(a), w / 2) for a, w in zip(x * pi / 2, weights, strict=True)]
    grid, last = _grid(reach, cells), _grid(reach, last_cells)
    results = []
    for records in datasets:
        places, mass = np.zeros((1, 2)), np.ones(1)
        for t in range(s.T):
            to = last if t == s.T - 1 else grid
            mass, places = (
                sum(w * _step(s, records, places, mass, to, cu, su) for cu, su, w in rotations),
                to,
            )
            mass = mass * (to[1, 1] - to[0, 1]) ** 2
        results.append(mass)
    return Density(*results)


def _grid(reach, cells):
    x = np.linspace(-reach, reach, cells)
    return np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1).reshape(-1, 2)


def _step(s, records, places, mass, to, cu, su):
    """The density at `to` after one step along (cu, su)."""
    S, s2 = variances(s)
    along, across = places @ (cu, su), places @ (-su, cu)
    along = along - s.eta * (
        mean_quotient(records, places[:, 0], cu, s.xi, s.clip) + s.ridge * along
    )
    to_along, to_across = to @ (cu, su), to @ (-su, cu)
    kernel = np.subtract.outer(to_along, along) ** 2 / (-2 * S)
    kernel -= np.subtract.outer(to_across, across) ** 2 / (2 * s2)
    return np.exp(kernel, out=kernel) @ mass / (2 * pi * sqrt(S * s2))
