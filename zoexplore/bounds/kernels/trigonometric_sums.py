"""Sum 1 - cos and sin over the multiples of many angles; small angles keep their digits."""

from math import cos

from numpy import dot, sin, zeros

from zoexplore.bounds.kernels.compiling import kernel

HALF = 16  # small multiples of an angle to either side of a large one


@kernel()
def _multiples(d, s, count):
    """Return 1 - cos and sin of 0, 1, ... times each angle, shape (count, angles), from `d` and
    `s`, those of the angles.
    """
    all_d, all_s = zeros((count, d.size)), zeros((count, d.size))
    for r in range(1, count):
        x, y = all_d[r - 1], all_s[r - 1]
        all_d[r] = x + d - x * d + y * s
        all_s[r] = y * (1.0 - d) + (1.0 - x) * s
    return all_d, all_s


@kernel()
def transform(step, terms, v, weight, real, imaginary):
    """Fill `real` and `imaginary` with the weighted sums over nodes of 1 - cos(j step v) and sin(j
    step v), j = 0 .. `terms`. Every j is a multiple of 2 HALF + 1, plus or minus at most HALF.
    """
    angle, span = step * v, 2 * HALF + 1
    d, s = _multiples(2.0 * sin(0.5 * angle) ** 2, sin(angle), span + 1)
    large_d, large_s = _multiples(d[span], s[span], (terms + HALF) // span + 1)
    for a in range(large_d.shape[0]):
        D, S = large_d[a] * weight, large_s[a] * weight
        of_D, of_S, rest = D.sum(), S.sum(), weight - D
        for r in range(HALF + 1):
            x, y = of_D + dot(rest, d[r]), of_S - dot(S, d[r])
            by_x, by_y = dot(S, s[r]), dot(rest, s[r])
            for j, sign in ((a * span - r, -1.0), (a * span + r, 1.0)):
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
