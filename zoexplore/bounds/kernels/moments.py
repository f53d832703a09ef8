"""Exponential moments of what a random span sees of a step (docs/sharp.md, "Exponential moments"). Everything is rounded up."""

from math import cos, erf, exp, hypot, inf, lgamma, log, log1p, pi, sin, sqrt

from numpy import empty

from zoexplore.bounds.kernels.compiling import kernel

SERIES = 600.0  # the largest argument of Kummer's series
ENOUGH, FEWEST = 2.9, 20.0  # moments, by the largest exponent: then the remainder is small
FEW_DIMENSIONS = 200.0  # a drift's two parts are looked at apart below
CORNERS = 256
CONVOLVED, MOST_MOMENTS = 200.0, 60.0  # directions, and moments, up to which sums of absolute values have exact ones


@kernel(error_model="numpy")
def series(a, b, z):
    """ln 1F1(a; b; z) for b >= a > 0, from above: of z < 0 by Kummer's transformation."""
    if z < 0.0:
        return z + _series(b - a, b, -z) + 4e-16 * -z
    return _series(a, b, z)


@kernel(error_model="numpy")
def _series(a, b, z):
    """The same for z >= 0: a series of positive terms."""
    if not z < SERIES:
        return z
    term, total, j = 1.0, 0.0, 0.0
    while True:
        ratio = (a + j) / (b + j) * z / (j + 1.0)
        term *= ratio
        total += term
        j += 1.0
        if (ratio < 0.5 and term < 1e-17 * total) or term == 0.0:
            break
    return log1p((total + 2.0 * term) * (1.0 + 4e-16 * (j + 4.0)))


@kernel(error_model="numpy")
def absolute(u):
    """Psi(u) = ln E exp(u |g|), g a standard Gaussian number, from above."""
    return (0.5 * u * u + log1p(erf(u / sqrt(2.0)))) * (1.0 + 1e-14)


@kernel(error_model="numpy")
def moments(run, theta, h, A, C, form, tops, constants, k0, k1):
    """A bound on ln E exp(theta (A |x across|^2 + C |drift|^2)) given |x|^2 <= h, of one of several kinds: by as many moments
    as tops[form] says, as if there were no remainder to them; with no luck at all (form = -1); by both parts of a drift (-2).
    """
    a, b = 0.5 * run.K, 0.5 * run.d
    A = 0.0 if run.K == run.d else A
    if form == -1:
        return theta * h * (A + C * run.reach)
    if form == -2:
        c = k0 + k1
        C *= c * c
        if run.K == run.d:
            return theta * h * C
        first = theta * h * A + series(a, b, theta * h * (C - A))
        other = theta * h * A + 0.5 * series(a, b, -2.0 * theta * h * A) + 0.5 * series(a, b, 2.0 * theta * h * C)
        low, high = min(first, other), max(first, other)
        part = k1 / c if other == high else k0 / c
        return high + log(part + (1.0 - part) * exp(low - high)) if part > 0.0 else low
    w, top = theta * h * (A + C * run.reach), tops[form]
    if not w < 0.9 * top:
        return inf
    rest = exp((top + 1.0) * log(w) - lgamma(top + 2.0)) / (1.0 - w / (top + 2.0)) if w > 0.0 else 0.0
    mean = theta * h * (C * constants[form] - A)
    return theta * h * A + (mean if run.K == run.d else series(a, b, mean)) + rest


@kernel(error_model="numpy")
def kind_of(run, theta, h, A, C, tops, constants, k0, k1):
    """Which kind of a bound on exponential moments to take: as few moments as leave next to no remainder, or less."""
    best, least = -1, moments(run, theta, h, A, C, -1, tops, constants, k0, k1)
    w, form = theta * h * (A + C * run.reach), 0
    while form < tops.size - 1 and tops[form] < ENOUGH * w + FEWEST:
        form += 1
    tried = moments(run, theta, h, A, C, form, tops, constants, k0, k1)
    if tried < least:
        best, least = form, tried
    if k0 + k1 > 0.0 and run.d < FEW_DIMENSIONS:
        tried = moments(run, theta, h, A, C, -2, tops, constants, k0, k1)
        if tried < least:
            best = -2
    return best


@kernel(error_model="numpy")
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
def _log_sum_moment(K, order):
    """ln E (|g_1| + ... + |g_K|)^order, g standard Gaussian numbers: a power of their generating function, by squaring."""
    count = int(order) + 1
    total, square, product = empty(count), empty(count), empty(count)
    scale = log(0.8 * K)
    for i in range(count):
        square[i] = exp(0.5 * i * log(2.0) + lgamma(0.5 * (i + 1.0)) - lgamma(0.5) - lgamma(i + 1.0) - i * scale)
        total[i] = 1.0 if i == 0 else 0.0
    left = int(K)
    while left > 0:
        if left % 2 == 1:
            for i in range(count):
                product[i] = 0.0
                for j in range(i + 1):
                    product[i] += total[j] * square[i - j]
            for i in range(count):
                total[i] = product[i]
        left //= 2
        for i in range(count if left > 0 else 0):
            product[i] = 0.0
            for j in range(i + 1):
                product[i] += square[j] * square[i - j]
        for i in range(count if left > 0 else 0):
            square[i] = product[i]
    return log(total[count - 1]) + lgamma(order + 1.0) + order * scale


@kernel(error_model="numpy")
def _log_sum_chernoff(K, order):
    """The same at most: z^order <= (order/(e u))^order e^(u z), at the best of many u."""
    best, u = inf, 0.3 * min(order / K, sqrt(order / K))
    while True:
        found = order * (log(order / u) - 1.0) + K * absolute(u)
        if not found < best:
            return best
        best, u = found, u * 1.02


@kernel(error_model="numpy")
def sum_norm(K, d, order, seen):
    """ell: what K entries of a random unit vector in d dimensions add up to in absolute value, in the norm of an even order.

    Args:
        seen: the norm at the order of the length of those entries, which sqrt(K) times bounds it too.
    """
    whole = _log_sum_moment(K, order) if K <= CONVOLVED and order <= MOST_MOMENTS else _log_sum_chernoff(K, order)
    by_sum = exp((whole - _log_length_moment(d, order)) / order) * (1.0 + 1e-11)
    return min(by_sum, sqrt(K) * min(seen, 1.0))


@kernel(error_model="numpy")
def sum_constant(r, low, high, slowest, d, acting):
    """c_1: by how much the sum of a drift's entries can exceed that of a random unit vector's; of steps of any size from the part
    `slowest` on, in which it is convex.
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
