"""Moments of a vector's part in a random span (docs/sharp.md, "Exponential moments"). Everything is rounded up."""

from math import cos, erf, exp, hypot, inf, lgamma, log, log1p, pi, sin, sqrt

from numpy import empty

from zoexplore.bounds.kernels.compiling import elementwise, kernel

CORNERS = 256
LEAST, RATIO, PLACES = 1e-3, 1.15, 96  # |z| at which ln 1F1 is tabled: geometric


@kernel(error_model="numpy")
def _series(a, b, z):
    """ln 1F1(a; b; z), z >= 0, from above: a series of positive terms."""
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
    """ln 1F1(K/2; d/2; z) = ln E exp(z gamma), from above: of z < 0 by Kummer's transformation."""
    if z < 0.0:
        return z + _series(0.5 * (d - K), 0.5 * d, -z) - 4e-16 * z
    return _series(0.5 * K, 0.5 * d, z)


@kernel(error_model="numpy")
def tabled_excess(K, d):
    """ln 1F1(K/2; d/2; z) - z K/d at z = -+ LEAST RATIO^k, shape (2, PLACES): it is convex, and 0 at 0."""
    table = empty((2, PLACES))
    for k in range(PLACES):
        z = LEAST * RATIO**k
        table[0, k] = max(log_1f1(K, d, -z) + z * K / d, 0.0)
        table[1, k] = max(log_1f1(K, d, z) - z * K / d, 0.0)
    return table


@kernel(error_model="numpy")
def excess(table, z):
    """ln 1F1(K/2; d/2; z) - z K/d on the chords of its table; inf beyond it."""
    side, size = (1 if z > 0.0 else 0), abs(z)
    if size <= LEAST:
        return table[side, 0] * (size / LEAST)
    k = int(log(size / LEAST) / log(RATIO))
    if k >= PLACES - 1:
        return inf
    low, high = LEAST * RATIO**k, LEAST * RATIO ** (k + 1)
    share = min(max((size - low) / (high - low), 0.0), 1.0)
    return (table[side, k] + share * (table[side, k + 1] - table[side, k])) * (1.0 + 1e-12)


@kernel(error_model="numpy")
def absolute(u):
    """Psi(u) = ln E exp(u |g|), g a standard Gaussian number, from above."""
    return (0.5 * u * u + log1p(erf(u / sqrt(2.0)))) * (1.0 + 1e-14)


@elementwise
def mean_length(d):
    """E chi_d, the mean length of d standard Gaussian numbers, from below: beyond a few by Watson's bound."""
    if d > 300.0:
        return sqrt(d - 0.5)
    return sqrt(2.0) * exp(lgamma(0.5 * (d + 1.0)) - lgamma(0.5 * d)) * (1.0 - 1e-12)


@kernel(error_model="numpy")
def _log_length_moment(d, order):
    """ln E chi_d^order for an even order: the product of d, d + 2, and so on."""
    total = 0.0
    for j in range(int(order) // 2):
        total += log(d + 2.0 * j)
    return total


@kernel(error_model="numpy")
def _log_sum_chernoff(K, order):
    """ln E (sum of K Gaussian |g|)^order, from above: z^order <= (order/(e u))^order e^(u z), at the best of many u."""
    best, u = inf, 0.3 * min(order / K, sqrt(order / K))
    while True:
        found = order * (log(order / u) - 1.0) + K * absolute(u)
        if not found < best:
            return best
        best, u = found, u * 1.02


@elementwise
def sum_norm(K, d, order, seen):
    """ell: the norm, at an even order, of the sum of the absolute values of K entries of a random unit vector in d dimensions.

    Args:
        seen: the norm at the order of the length of those entries, which sqrt(K) times bounds it too.
    """
    even = order + order % 2.0  # norms grow with their order
    by_sum = exp((_log_sum_chernoff(K, even) - _log_length_moment(d, even)) / even) * (1.0 + 1e-11)
    return min(by_sum, sqrt(K) * min(seen, 1.0))


@elementwise
def sum_constant(r, low, high, slowest, d, acting):
    """c_1: by how much the sum of a drift's entries can exceed that of a random unit vector's. It is convex in the step size,
    which is at least the part `slowest` of eta.
    """
    worst = 0.0
    for part in (1.0, slowest):
        q, least, most = 1.0 - part * (1.0 - r), part * low, part * high
        if not acting or d == 1.0:
            worst = max(worst, abs(q - 0.5 * (most + least)) + 0.5 * (most - least), abs(q) if acting else 0.0)
            continue
        reach = 0.5 * (most - least) / cos(0.5 * pi / CORNERS)  # a polygon around the circle bounds what is convex in it
        for k in range(CORNERS + 1):
            along = 0.5 * (most + least) + reach * cos(pi * k / CORNERS)
            across = reach * sin(pi * k / CORNERS)
            worst = max(worst, 0.5 * (hypot(2.0 * q - along, across) + hypot(along, across)))
    return worst * (1.0 + 1e-14)
