"""Sum 1 - cos and sin over the multiples of many angles; small angles keep their digits."""

from math import cos, sin

from numpy import dot, empty, zeros

from zoexplore.bounds.kernels.compiling import kernel

HALF = 16  # the number of small multiples of an angle on either side of a large multiple
LARGE = 4  # large multiples per matrix product: so few that the product stays in one thread


@kernel()
def _turn(of, by, turned):
    """Fill `turned`, shape (2, angles), with 1 - cos and sin of sums of two angles, from 1 - cos and
    sin of each angle.
    """
    for k in range(of.shape[1]):
        d, s = of[0, k], of[1, k]
        turned[0, k] = d + by[0, k] - d * by[0, k] + s * by[1, k]
        turned[1, k] = s * (1.0 - by[0, k]) + (1.0 - d) * by[1, k]


@kernel()
def _small(angle):
    """Return 1 - cos and sin of 0, 1, .. HALF times each angle, shape (2, HALF + 1, angles)."""
    small = zeros((2, HALF + 1, angle.size))
    for k in range(angle.size):
        half = sin(0.5 * angle[k])
        small[0, 1, k], small[1, 1, k] = 2.0 * half * half, 2.0 * half * cos(0.5 * angle[k])
    for r in range(2, HALF + 1):
        _turn(small[:, r - 1], small[:, 1], small[:, r])
    return small


@kernel()
def transform(step, terms, v, weight, real, imaginary):
    """Fill `real` and `imaginary` with the weighted sums over nodes of 1 - cos(j step v) and sin(j
    step v), j = 0 .. `terms`. Every j is a multiple of 2 HALF + 1, plus or minus at most HALF.
    """
    small, span = _small(step * v), 2 * HALF + 1
    by, large, now = empty((2, v.size)), zeros((2, v.size)), empty((2, v.size))
    _turn(small[:, HALF], small[:, HALF], now)
    _turn(now, small[:, 1], by)
    table, rows = small.reshape((2 * HALF + 2, v.size)).T, empty((2 * LARGE, v.size))
    whole = empty((2, LARGE))
    for first in range(0, (terms + HALF) // span + 1, LARGE):
        for a in range(LARGE):
            D, S = large[0] * weight, large[1] * weight
            whole[0, a], whole[1, a] = D.sum(), S.sum()
            rows[a], rows[LARGE + a] = weight - D, S
            _turn(large, by, now)
            large, now = now, large
        sums = dot(rows, table)
        for a in range(LARGE):
            middle, rest, beside = (first + a) * span, sums[a], sums[LARGE + a]
            for r in range(HALF + 1):
                x, y = whole[0, a] + rest[r], whole[1, a] - beside[r]
                by_x, by_y = beside[HALF + 1 + r], rest[HALF + 1 + r]
                for j, sign in ((middle - r, -1.0), (middle + r, 1.0)):
                    if 0 <= j <= terms:
                        real[j], imaginary[j] = x + sign * by_x, y + sign * by_y


@kernel()
def rotated_sum(epsilon, step, terms, real, imaginary):
    """Return the sum of the terms from j = 1 on, each rotated by -j step epsilon, and the sum's
    slope in epsilon.
    """
    total, slope, along, beside = 0.0, 0.0, 1.0, 0.0
    c, s = cos(step * epsilon), sin(step * epsilon)
    for j in range(1, terms + 1):
        along, beside = along * c - beside * s, along * s + beside * c
        total += real[j] * along + imaginary[j] * beside
        slope += j * (imaginary[j] * along - real[j] * beside)
    return total, slope * step
