"""Bound moments of a vector's component in a random span (docs/sharp.md, "One step with a cube").
Every bound is rounded up.
"""

from math import cos, erf, exp, hypot, inf, log, log1p, pi, sin, sqrt

from zoexplore.bounds.kernels.compiling import kernel
from zoexplore.bounds.kernels.norms import slower

CORNERS = 256


@kernel(error_model="numpy")
def _series(a, b, z):
    """Return ln 1F1(a; b; z), z >= 0, from above, by a series of positive terms."""
    term, total, j = 1.0, 0.0, 0.0
    while True:
        ratio = (a + j) / (b + j) * z / (j + 1.0)
        term *= ratio
        total += term
        j += 1.0
        if not total < inf:
            return inf
        if term == 0.0:
            return log1p(total * (1.0 + 4e-16 * (j + 4.0)))
        if ratio < 1.0:
            most = z / (b + j) * max(1.0, (a + j) / (1.0 + j))  # no later ratio is larger
            rest = term * most / (1.0 - most) if most < 1.0 else inf
            if rest < 1e-17 * total:
                return log1p((total + rest) * (1.0 + 4e-16 * (j + 4.0)))


@kernel(error_model="numpy")
def log_1f1(K, d, z):
    """Return ln 1F1(K/2; d/2; z) = ln E exp(z gamma), from above; by Kummer's transformation if
    z < 0.
    """
    if z < 0.0:
        return z + _series(0.5 * (d - K), 0.5 * d, -z) - 4e-16 * z
    return _series(0.5 * K, 0.5 * d, z)


@kernel(error_model="numpy")
def absolute(u):
    """Return Psi(u) = ln E exp(u |g|), from above; g is a standard Gaussian number."""
    return (0.5 * u * u + log1p(erf(u / sqrt(2.0)))) * (1.0 + 1e-14)


@kernel(error_model="numpy")
def _log_length_moment(d, order):
    """Return ln E chi_d^order for an even order: the summed logarithms of d, d + 2, and so on."""
    total = 0.0
    for j in range(int(order) // 2):
        total += log(d + 2.0 * j)
    return total


@kernel(error_model="numpy")
def _log_sum_chernoff(K, order):
    """Return ln E (sum of K Gaussian |g|)^order, from above, by z^order <= (order/(e u))^order
    e^(u z) at the best of many u.
    """
    best, u = inf, 0.3 * min(order / K, sqrt(order / K))
    while True:
        found = order * (log(order / u) - 1.0) + K * absolute(u)
        if not found < best:
            return best
        best, u = found, u * 1.02


@kernel(error_model="numpy")
def sum_norm(K, d, order, seen):
    """Return ell: the norm, at an even order, of the sum of the absolute values of K entries of a
    random unit vector in d dimensions.

    Args:
        seen: the norm, at `order`, of the length of those entries; sqrt(K) times `seen` bounds ell
            too.
    """
    even = order + order % 2.0  # norms grow with their order
    by_sum = exp((_log_sum_chernoff(K, even) - _log_length_moment(d, even)) / even) * (1.0 + 1e-11)
    return min(by_sum, sqrt(K) * min(seen, 1.0))


@kernel(error_model="numpy")
def sum_constant(change, slowest, d, acting):
    """Return c_1, the factor by which the sum of a drift's entries can exceed the sum of a random
    unit vector's entries. The step size is at least the fraction `slowest` of eta, and c_1 is
    convex in it.
    """
    worst = 0.0
    for part in (1.0, slowest):
        q, least, most = slower(change, part)
        if not acting or d == 1.0:
            worst = max(
                worst,
                abs(q - 0.5 * (most + least)) + 0.5 * (most - least),
                abs(q) if acting else 0.0,
            )
            continue
        # a convex function on the circle is at most its largest value at a surrounding polygon's
        # corners
        reach = 0.5 * (most - least) / cos(0.5 * pi / CORNERS)
        for k in range(CORNERS + 1):
            along = 0.5 * (most + least) + reach * cos(pi * k / CORNERS)
            across = reach * sin(pi * k / CORNERS)
            worst = max(worst, 0.5 * (hypot(2.0 * q - along, across) + hypot(along, across)))
    return worst * (1.0 + 1e-14)
