"""Independent against orthonormal directions: how one step contracts, simulated (docs/concepts.md).

The factor of one step is |(I - U U') x + c U U' y|: the unit vector x is the distance before it, c y what a gradient step
makes of it (c its Lipschitz constant), and U has the directions as columns. Only lengths and angles matter, so nothing of
size d is drawn: orthonormal directions take a handful of random numbers a sample, independent ones a few for each of the K
directions. The laws are exact for every d.
"""

from math import exp, inf, log, sqrt

import numpy as np

from zoexplore.bounds.contraction import gap
from zoexplore.bounds.kernels import norms, shifted_divergence


def one_step_factors(
    d: int, K: int, c: float, samples: int, seed: int, orthonormal: bool = True, cosine: float = 1.0
) -> np.ndarray:
    """Independent samples of the one-step factor |(I - U U') x + c U U' y|, shape (samples,).

    Args:
        d: dimension, at least 1.
        K: directions, 1 to d.
        c: Lipschitz constant of the gradient step, at least 0.
        samples: how many.
        seed: of the generator.
        orthonormal: directions uniform on the Stiefel manifold; else independent, each uniform on the sphere.
        cosine: of the angle between x and y, in [-1, 1]; 1 or -1 where d = 1.

    Raises:
        ValueError: a value is out of range.

    >>> one_step_factors(520, 260, 0.5, samples=3, seed=1).round(3)
    array([0.793, 0.784, 0.778])
    """
    _check(d, K, c)
    if samples < 1 or not -1 <= cosine <= 1 or (d == 1 and abs(cosine) < 1):
        allowed = "samples of at least 1, and a cosine from -1 to 1 (±1 where d = 1)"
        raise ValueError(f"samples = {samples!r} with cosine = {cosine!r} is not allowed: give {allowed}")
    rng, sine = np.random.default_rng(seed), sqrt(1 - cosine**2)
    return (_orthonormal if orthonormal else _independent)(d, K, c, samples, rng, cosine, sine)


def tail_factor(d: int, K: int, c: float, failure: float) -> float:
    """The theorem's c1: a step's factor (orthonormal, xi = 0) exceeds it with probability at most `failure`.

    inf where 2K > d, which its tail bound does not cover. Source: docs/bounds.md, "The hidden-state theorem".

    Raises:
        ValueError: a value is out of range.

    >>> round(tail_factor(520, 260, 0.5, 1e-7), 3)
    0.922
    """
    _check(d, K, c)
    if not 0 < failure < 1:
        raise ValueError(f"failure = {failure!r} is not allowed: give a number above 0 and below 1")
    return exp(float(shifted_divergence.theorem_growth(1.0, log(failure), float(K), float(d), gap(c)))) if 2 * K <= d else inf


def moment_factor(d: int, K: int, c: float, order: int) -> float:
    """sqrt(o^2 + c^2 g^2), a bound on E[factor^(2 order)]^(1/(2 order)) of orthonormal directions at any angle of x and y.

    Exact for order 1. Source: docs/sharp.md, "How it is computed".

    Raises:
        ValueError: a value is out of range.

    >>> round(moment_factor(520, 260, 0.5, 1), 3)
    0.791
    """
    _check(d, K, c)
    if order < 1 or order != int(order):
        raise ValueError(f"order = {order!r} is not allowed: give a whole number from 1 on")
    with np.errstate(divide="ignore"):  # the logarithm of 0, where K = d leaves no complement
        return float(np.hypot(norms.complement_moment(K, d, order), c * norms.span_moment(K, d, order)))


def _orthonormal(d, K, c, samples, rng, cosine, sine):
    """|x|^2 - |Px|^2 + c^2 |Py|^2 with a fixed projector P onto K coordinates and random orthonormal vectors.

    These are two Gaussian vectors made orthonormal (Gram, Schmidt), of which only the inner products inside and outside the
    K coordinates are needed: of each block, lengths are chi and what they share is normal (Bartlett).
    """
    inside, outside = _gram(K, samples, rng), _gram(d - K, samples, rng)
    aa, ab, bb = inside[0] + outside[0], inside[1] + outside[1], inside[2] + outside[2]
    rest = np.maximum(bb - ab**2 / aa, np.finfo(float).tiny)
    slope = ab / aa
    first = inside[0] / aa
    cross = (inside[1] - slope * inside[0]) / np.sqrt(aa * rest)
    second = (inside[2] - 2 * slope * inside[1] + slope**2 * inside[0]) / rest
    span = cosine**2 * first + 2 * cosine * sine * cross + sine**2 * second
    return np.sqrt(np.maximum(outside[0] / aa + c**2 * span, 0.0))


def _gram(k, samples, rng):
    """Inner products (a.a, a.b, b.b) of two Gaussian vectors of k coordinates."""
    if k == 0:
        return (np.zeros(samples),) * 3
    aa, along = rng.chisquare(k, samples), rng.standard_normal(samples)
    return aa, np.sqrt(aa) * along, along**2 + 2 * rng.standard_gamma((k - 1) / 2, samples)


def _independent(d, K, c, samples, rng, cosine, sine):
    """x - sum_k s_k u_k with s_k = u_k'(x - c y), summed direction by direction.

    Coordinates along x and along the part of y across it are kept as they are; of the rest only the squared length is, to
    which each u_k adds a vector whose direction is uniform among the remaining d - 2 dimensions.
    """
    along, across, rest = np.ones(samples), np.zeros(samples), np.zeros(samples)
    for _ in range(K):
        first, second = rng.standard_normal(samples), rng.standard_normal(samples) if d > 1 else np.zeros(samples)
        others = 2 * rng.standard_gamma(max(d - 2, 0) / 2, samples)
        length = np.sqrt(first**2 + second**2 + others)
        first, second, others = first / length, second / length, np.sqrt(others) / length
        weight = first - c * (cosine * first + sine * second)
        along -= weight * first
        across -= weight * second
        added = weight * others
        rest = np.maximum(rest + added**2 - 2 * np.sqrt(rest) * added * _cosines(d - 2, samples, rng), 0.0)
    return np.sqrt(along**2 + across**2 + rest)


def _cosines(k, samples, rng):
    """Cosines of the angle between a fixed and a uniform direction of k dimensions; 0 where there are none."""
    if k < 1:
        return np.zeros(samples)
    one = rng.standard_normal(samples)
    return one / np.sqrt(one**2 + 2 * rng.standard_gamma((k - 1) / 2, samples))


def _check(d: int, K: int, c: float) -> None:
    if not 1 <= K <= d:
        raise ValueError(f"K = {K!r} is not allowed: give a whole number from 1 to d = {d!r}")
    if not 0 <= c < inf:
        raise ValueError(f"c = {c!r} is not allowed: give a finite number of at least 0")
