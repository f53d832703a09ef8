"""Normal numbers made of a key and a counter alone, so that any stretch of them can be made by itself: Philox 4x32-10 (Salmon
et al. 2011, doi:10.1145/2063384.2063405), and pairs of normal numbers of its words.

Nothing but sums, products, quotients and square roots of single precision is used, so that every processor makes the same bits.
"""

from math import factorial, log, tau

import numpy as np

from zoexplore.bounds.kernels.compiling import kernel

AT_ONCE = 2**12  # numbers that stay in a processor's nearest cache
ROUNDS = 10
MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
WEYL = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
LOW, WIDTH = np.uint64(2**32 - 1), np.uint64(32)

# ln x = 2 artanh((x - 1)/(x + 1)) for x from sqrt(1/2) to sqrt(2), where the next term is 2e-9 of the first; sin(pi x/2) by its
# Taylor polynomial, the next term of which is 6e-8 where x = 1.
ARTANH = tuple(np.float32(2 / k) for k in (1, 3, 5, 7, 9))
SINE = tuple(np.float32((-1) ** (k // 2) * (tau / 4) ** k / factorial(k)) for k in (1, 3, 5, 7, 9, 11))
LN2, ROOT_OF_HALF = np.float32(log(2)), np.int32(0x3F3504F3)  # the latter by its bits
ONE, TWO, MANTISSA = np.float32(1), np.float32(2), np.int32(23)
TO_UNIT, HALF, TO_QUARTERS = np.float32(2.0**-31), np.float32(0.5), np.float32(2.0**-30)


@kernel
def normals(out, key, stretch):
    """Normal numbers in place of those in `out`, single precision. The greatest are 6.7.

    Args:
        key: four words of 32 bits, as uint64.
        stretch: which of the key's stretches, a number below 2^32 as uint64.
    """
    bits, last = np.empty(AT_ONCE, np.uint32), np.empty(AT_ONCE, np.float32)
    for start in range(0, len(out), AT_ONCE):
        left = len(out) - start
        part = out[start : start + AT_ONCE] if left >= AT_ONCE else last
        _words(bits, np.uint64(start // 4), stretch, key)
        radius, angle = part[: AT_ONCE // 2], part[AT_ONCE // 2 :]
        for i in range(AT_ONCE // 2):
            radius[i] = (np.float32(np.int32(bits[i] >> 1)) + HALF) * TO_UNIT
            angle[i] = np.float32(np.int32(bits[AT_ONCE // 2 + i]))
        box_muller(radius, angle)
        if left < AT_ONCE:
            out[start:] = last[:left]


@kernel(error_model="numpy")
def box_muller(radius, angle):
    """Pairs of normal numbers in place (Box and Muller 1958, doi:10.1214/aoms/1177706645), of uniform numbers in (0, 1] and of
    angles in turns over 2^32.
    """
    for i in range(len(radius)):
        bits = np.float32(radius[i]).view(np.int32)
        exponent = np.int32(np.int32(bits - ROOT_OF_HALF) >> MANTISSA)
        x = np.int32(bits - np.int32(exponent << MANTISSA)).view(np.float32)
        s = (x - ONE) / (x + ONE)
        z = s * s
        series = ARTANH[0] + z * (ARTANH[1] + z * (ARTANH[2] + z * (ARTANH[3] + z * ARTANH[4])))
        length = np.sqrt(-TWO * (np.float32(exponent) * LN2 + s * series))
        turned = angle[i] * TO_QUARTERS
        x = ONE - abs(turned)  # the cosine of so many quarter turns is the sine of this
        radius[i] = length * _sine(x)
        y = ONE - abs(x)
        angle[i] = length * _sine(y if turned > 0 else -y)


@kernel
def _sine(x):
    """Of so many quarter turns, -1 to 1."""
    z = x * x
    return x * (SINE[0] + z * (SINE[1] + z * (SINE[2] + z * (SINE[3] + z * (SINE[4] + z * SINE[5])))))


@kernel
def _words(bits, first, stretch, key):
    """Philox's words for a quarter as many counters, one after the other."""
    quarter = len(bits) // 4
    a, b, c, d = bits[:quarter], bits[quarter : 2 * quarter], bits[2 * quarter : 3 * quarter], bits[3 * quarter :]
    for i in range(quarter):
        x, y, z, w = first + np.uint64(i), stretch, key[2], key[3]
        left, right = key[0], key[1]
        for _ in range(ROUNDS):
            p, q = MULTIPLIERS[0] * x, MULTIPLIERS[1] * z
            x, y, z, w = (q >> WIDTH) ^ y ^ left, q & LOW, (p >> WIDTH) ^ w ^ right, p & LOW
            left, right = (left + WEYL[0]) & LOW, (right + WEYL[1]) & LOW
        a[i], b[i], c[i], d[i] = x, y, z, w
