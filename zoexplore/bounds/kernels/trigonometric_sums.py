"""Trigonometric sums, over nodes at every multiple of an angle and over terms at one angle, in
blocks that fit the cache.
"""

from math import cos, sin

from numpy import empty, zeros

from zoexplore.bounds.kernels.compiling import kernel

# small steps to either side of a large one; nodes, and terms, that are summed together
HALF, FEW, BLOCK = 8, 128, 32


@kernel()
def _add_pair(real, imaginary, middle, r, terms, a, b, c, e):
    """Add the parts of the angles r small steps before and after a large one's, unless they are
    beyond the last.
    """
    if middle - r <= terms:
        real[middle - r] += a - b
        imaginary[middle - r] += c - e
    if middle + r <= terms:
        real[middle + r] += a + b
        imaginary[middle + r] += c + e


@kernel(fastmath={"reassoc", "contract", "nsz"})
def transform(step, terms, v, both, odd, real, imaginary):
    """Sums over nodes of both (1 - cos(j step v)) and odd sin(j step v) for j = 1 .. `terms`. Every
    angle is a multiple of a large step plus or minus up to HALF small ones. 1 - cos and sin of sums
    are sums of products, in which small angles keep their digits.
    """
    span = 2 * HALF + 1
    real[: terms + 1] = 0.0
    imaginary[: terms + 1] = 0.0
    # of the angles of 1, 2, .. `span` small steps; 0: of the large one's
    d, s = zeros((span + 1, FEW)), zeros((span + 1, FEW))
    weights, by_both, by_odd = zeros((2, FEW)), zeros((2, FEW)), zeros((2, FEW))
    small = zeros((HALF + 1, 2))
    for first in range(0, v.size, FEW):
        for i in range(FEW):
            k, d[1, i], s[1, i], weights[0, i], weights[1, i] = first + i, 0.0, 0.0, 0.0, 0.0
            if k < v.size:
                half = sin(0.5 * step * v[k])
                d[1, i], s[1, i], weights[0, i], weights[1, i] = (
                    2.0 * half * half,
                    sin(step * v[k]),
                    both[k],
                    odd[k],
                )
        for r in range(2, span + 1):
            for i in range(FEW):
                d[r, i] = d[r - 1, i] + d[1, i] - d[r - 1, i] * d[1, i] + s[r - 1, i] * s[1, i]
                s[r, i] = s[r - 1, i] * (1.0 - d[1, i]) + (1.0 - d[r - 1, i]) * s[1, i]
        for r in range(1, HALF + 1):
            x = y = 0.0
            for i in range(FEW):
                x += weights[0, i] * d[r, i]
                y += weights[1, i] * s[r, i]
            small[r, 0], small[r, 1] = x, y
            if r <= terms:
                real[r] += x
                imaginary[r] += y
        for i in range(FEW):
            d[0, i], s[0, i] = d[span, i], s[span, i]
        for middle in range(span, terms + HALF + 1, span):
            x = y = 0.0
            for i in range(FEW):
                by_both[0, i], by_both[1, i] = weights[0, i] * d[0, i], weights[0, i] * s[0, i]
                by_odd[0, i], by_odd[1, i] = weights[1, i] * d[0, i], weights[1, i] * s[0, i]
                x += by_both[0, i]
                y += by_odd[1, i]
            if middle <= terms:
                real[middle] += x
                imaginary[middle] += y
            for r in range(1, HALF, 2):
                a = b = c = e = a_2 = b_2 = c_2 = e_2 = 0.0
                for i in range(FEW):
                    a += by_both[0, i] * d[r, i]
                    b += by_both[1, i] * s[r, i]
                    c += by_odd[1, i] * d[r, i]
                    e += by_odd[0, i] * s[r, i]
                    a_2 += by_both[0, i] * d[r + 1, i]
                    b_2 += by_both[1, i] * s[r + 1, i]
                    c_2 += by_odd[1, i] * d[r + 1, i]
                    e_2 += by_odd[0, i] * s[r + 1, i]
                _add_pair(
                    real,
                    imaginary,
                    middle,
                    r,
                    terms,
                    x + small[r, 0] - a,
                    b,
                    y - c,
                    small[r, 1] - e,
                )
                _add_pair(
                    real,
                    imaginary,
                    middle,
                    r + 1,
                    terms,
                    x + small[r + 1, 0] - a_2,
                    b_2,
                    y - c_2,
                    small[r + 1, 1] - e_2,
                )
            for i in range(FEW):
                turned = d[0, i] + d[span, i] - d[0, i] * d[span, i] + s[0, i] * s[span, i]
                s[0, i] = s[0, i] * (1.0 - d[span, i]) + (1.0 - d[0, i]) * s[span, i]
                d[0, i] = turned


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
