"""Trigonometric sums, over nodes at every multiple of an angle and over terms at one angle, in
blocks that fit the cache.
"""

from math import cos, sin

from numpy import empty, zeros

from zoexplore.bounds.kernels.compiling import kernel

# small steps to either side of a large one; nodes, and terms, that are summed together
HALF, FEW, BLOCK = 8, 128, 32


@kernel(fastmath={"reassoc", "contract", "nsz"})
def _turn(d, s, by_d, by_s):
    """(1 - cos, sin) of the sum of two angles, from those of each, where small ones keep their
    digits.
    """
    return d + by_d - d * by_d + s * by_s, s * (1.0 - by_d) + (1.0 - d) * by_s


@kernel(fastmath={"reassoc", "contract", "nsz"})
def transform(step, terms, v, weight, real, imaginary):
    """Weighed sums over nodes of 1 - cos(j step v) and sin(j step v) for j = 1 .. `terms`. Every
    angle is a multiple of a large step plus or minus up to HALF small ones.
    """
    span = 2 * HALF + 1
    real[: terms + 1] = 0.0
    imaginary[: terms + 1] = 0.0
    # of the angles of 0, 1, .. `span` small steps, and of the large ones so far
    d, s, small = zeros((span + 1, FEW)), zeros((span + 1, FEW)), zeros((HALF + 1, 2))
    large_d, large_s, by_d, by_s = empty(FEW), empty(FEW), empty(FEW), empty(FEW)
    for first in range(0, v.size, FEW):
        count, w = min(FEW, v.size - first), weight[first : first + FEW]
        for i in range(count):
            angle = step * v[first + i]
            d[1, i], s[1, i] = 2.0 * sin(0.5 * angle) ** 2, sin(angle)
        for r in range(2, span + 1):
            for i in range(count):
                d[r, i], s[r, i] = _turn(d[r - 1, i], s[r - 1, i], d[1, i], s[1, i])
        for r in range(1, HALF + 1):
            x = y = 0.0
            for i in range(count):
                x += w[i] * d[r, i]
                y += w[i] * s[r, i]
            small[r, 0], small[r, 1] = x, y
            if r <= terms:
                real[r] += x
                imaginary[r] += y
        large_d[:], large_s[:] = d[span], s[span]
        for middle in range(span, terms + HALF + 1, span):
            x = y = 0.0
            for i in range(count):
                by_d[i], by_s[i] = w[i] * large_d[i], w[i] * large_s[i]
                x += by_d[i]
                y += by_s[i]
                large_d[i], large_s[i] = _turn(large_d[i], large_s[i], d[span, i], s[span, i])
            for r in range(HALF + 1):
                a = b = c = e = 0.0
                for i in range(count):
                    a += by_d[i] * d[r, i]
                    b += by_s[i] * s[r, i]
                    c += by_s[i] * d[r, i]
                    e += by_d[i] * s[r, i]
                for side in (-1, 1):
                    j = middle + side * r
                    if j <= terms and (r > 0 or side > 0):  # the middle once
                        real[j] += x + small[r, 0] - a + side * b
                        imaginary[j] += y - c + side * (small[r, 1] - e)


@kernel(fastmath={"reassoc", "contract", "nsz"})
def _rotated(real, imaginary, c, s, before, found):
    """Fill `found` with the sums of a block's terms rotated by its angles, plain and times their
    index; both parts.
    """
    a, b, later_a, later_b = 0.0, 0.0, 0.0, 0.0
    for r in range(real.size):
        x = real[r] * c[r] + imaginary[r] * s[r]
        y = imaginary[r] * c[r] - real[r] * s[r]
        a += x
        b += y
        later_a += (before + r) * x
        later_b += (before + r) * y
    found[0], found[1], found[2], found[3] = a, b, later_a, later_b


@kernel()
def rotated_sum(epsilon, step, terms, real, imaginary):
    """The sum of the terms from j = 1 on, each rotated by -j step epsilon, and its slope in
    epsilon.
    """
    total, slope = 0.0, 0.0
    c, s, found = empty(BLOCK), empty(BLOCK), empty(4)
    angle = step * epsilon
    for r in range(BLOCK):
        c[r], s[r] = cos(r * angle), sin(r * angle)
    for first in range(1, terms + 1, BLOCK):
        end = min(first + BLOCK, terms + 1)
        _rotated(real[first:end], imaginary[first:end], c, s, float(first), found)
        along, beside = cos(first * angle), sin(first * angle)
        total += found[0] * along + found[1] * beside
        slope += found[3] * along - found[2] * beside
    return total, slope * step
