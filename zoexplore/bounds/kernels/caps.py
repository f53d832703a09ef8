"""The sharper bound's recursion where every shift keeps within a cap (docs/minibatch.md, "The sharper bound: caps").

Steps are counted from the end of the run, one by one and then in blocks that grow with their distance to it. Within a block
the fractions are constant and (u z + e)^2 is bounded by a line in z^2 that touches it at a typical distance, sound anywhere.
"""

from math import inf, sqrt

from numba import njit, vectorize
from numpy import empty

from zoexplore.bounds.kernels.rounding import SUMS_UP, UP

SINGLES, GROWTH = 12.0, 0.14  # steps one by one, then blocks of this share of their distance to the end
MOST_BLOCKS = 512


@njit(cache=True)
def _repeat(A, C, x, L):
    """After L steps of x <- A x + C: (x, the sum of x over the steps' starts). By doubling, so that nothing cancels."""
    a, c, p, r = A, C, 1.0, 0.0  # after 1, 2, 4, ... steps x is a x + c, and the sum p x + r
    total = 0.0
    while L >= 1.0:
        if L % 2.0 == 1.0:
            total += p * x + r
            x = a * x + c
        L = L // 2.0
        a, c, p, r = a * a, a * c + c, p + p * a, r + p * c + r
    return x, total


@njit(cache=True, error_model="numpy")
def _lines(alpha, pi, z, o, u, e, f, per_S, per_s2):
    """The step's square of the distance, A h + C, and twice its cost, D h + E, as lines in h = z^2 that touch at z."""
    keep, left = (1.0 - alpha) * o, 1.0 - pi
    A = (keep * keep + left * left * u * (u + e / z)) * UP
    C = left * left * e * (e + u * z)
    D = (alpha * o * f) ** 2 * per_s2 + pi * pi * f * u * (f * u + e / z) * per_S
    E = pi * pi * e * (e + f * u * z) * per_S
    return A, C, D, E


@njit(cache=True, error_model="numpy")
def _fractions(kappa, z, u, e, f, per_S, per_s2, every):
    """The best fractions (alpha, pi) of a step after which z^2 is worth kappa; pi = 0 unless `every` step buys one."""
    alpha = 1.0 / (1.0 + f * f * per_s2 / kappa)
    if not every:
        return alpha, 0.0
    q, q_f = u * z + e, f * u * z + e
    return alpha, 1.0 / (1.0 + q_f * q_f * per_S / (q * q) / kappa)


@njit(cache=True, error_model="numpy")
def _backward(N, z0, typical, squares, o, u, e, f, per_S, per_s2, every):
    """(twice the cost of N steps from z0, their number of blocks); `squares` becomes the blocks' lengths and lines A, C."""
    kappa, rest, at, b = 0.0, 0.0, 0.0, 0
    while at < N:
        L = 1.0 if at < SINGLES else min(float(GROWTH * at // 1.0), N - at)
        z = typical[b]
        alpha, pi = (1.0, 1.0) if at == 0.0 else _fractions(kappa, z, u, e, f, per_S, per_s2, every)
        A, C, D, E = _lines(alpha, pi, z, o, u, e, f, per_S, per_s2)
        if L > 1.0:  # fractions between those that suit the block's end and its mean
            between = sqrt(kappa * _repeat(A, D, kappa, L)[1] / L)
            alpha, pi = _fractions(between, z, u, e, f, per_S, per_s2, every)
            A, C, D, E = _lines(alpha, pi, z, o, u, e, f, per_S, per_s2)
        kappa, total = _repeat(A, D, kappa, L)
        rest += L * E + C * total
        squares[b] = (L, A, C)
        at += L
        b += 1
    return kappa * z0 * z0 + rest, b


@vectorize(cache=True)
def cap_cost(N, z0, o, u, e, f, per_S, per_s2, every):
    """Half of sum p_t^2/S + a_t^2/s2 over N steps from the distance z0, the caps' cost under nearly the best fractions.

    z <- sqrt(((1-alpha) o z)^2 + (1-pi)^2 (u z + e)^2), a = alpha o f z, p = pi (f u z + e); alpha = pi = 1 at the last.

    Args:
        o, u, e: the complement's factor, the span's (c g), and what two-point estimates add.
        f: the caps over the moments.
        per_S, per_s2: one over the noise variances left for the drift in the span and in the complement.
        every: whether span shifts are bought at every step; else (0) at the last one only.
    """
    if not (z0 < inf and f < inf and per_S < inf and (per_s2 < inf or o == 0.0)):
        return inf
    if o == 0.0:
        per_s2 = 0.0
    typical, squares = empty(MOST_BLOCKS), empty((MOST_BLOCKS, 3))
    typical[:] = z0
    best = inf
    for _ in range(1 if e == 0.0 else 4):  # with e = 0 the lines are exact wherever they touch
        cost, blocks = _backward(N, z0, typical, squares, o, u, e, f, per_S, per_s2, every != 0.0)
        best = min(best, cost)
        h = z0 * z0
        for b in range(blocks - 1, -1, -1):  # the distances met, where the next round's lines touch
            L, A, C = squares[b]
            after, total = _repeat(A, C, h, L)
            typical[b] = max(sqrt(total / L), 1e-3 * e)
            h = after
    return 0.5 * best * SUMS_UP
