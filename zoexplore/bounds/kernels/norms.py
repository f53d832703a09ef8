"""Compute the norm J and the drift's constant c, which say how a step changes the distance between
two runs in the sharper bound.

gamma ~ Beta(K/2, (d-K)/2) is the share of a vector's squared length that lies in a random span.
Everything is rounded up.
"""

from math import atan2, cos, exp, inf, log, log1p, pi, sin, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy import empty, ndarray

from zoexplore.bounds.kernels.compiling import elementwise, kernel
from zoexplore.bounds.kernels.rounding import UP

MOMENT_UP = 1.0 + 1e-14  # pays for the rounding of summed logarithms
# the exact terms of a moment; later terms are bounded in blocks of an eighth of their index
SINGLES = 16
AT_ONCE = 16  # factors multiplied before a logarithm is taken
# c is raised by this: a c near 1 that is rounded down would count as a contraction in all T steps
ROUNDING = 2.0**-51
# what a clip may do: never act, act on each quotient, act jointly, act jointly on a linear model
IDLE, EACH, JOINT, JOINT_LINEAR = 0.0, 1.0, 2.0, 3.0
HALF = 80  # the number of rays on either side of the ray A = C
# ARCS: a polygon's corners at first. SPLITS: the most corners that are added. CLOSE: the relative
# error at which no more are added.
ARCS, SPLITS, CLOSE = 12, 200, 1e-8


@kernel()
def _log_mean(part, d, order):
    """Bound the mean over j < order of log((part/2 + j)/(d/2 + j)), for moments of a Beta(part/2,
    (d - part)/2) variable. The summand is concave in j, so the sum over a block is at most its
    length times the summand at its middle (Jensen).
    """
    total, j = 0.0, 0.0
    while j < order:
        length = 1.0 if j < SINGLES else float(min(order - j, j // 8.0))
        middle = 2.0 * j + length - 1.0
        ratio = (part + middle) / (d + middle)
        total += length * (log(ratio) if ratio < 0.5 else log1p(-(d - part) / (d + middle)))
        j += length
    return total / order


@kernel()
def moment(part, d, order):
    """Bound from above the square root of E[x^order]^(1/order), x ~ Beta(part/2, (d - part)/2)."""
    return exp(0.5 * _log_mean(part, d, order)) * MOMENT_UP


# ---------------------------------------------------------------- the norm J


def _rays():
    """Return the rays A : C on which J is tabled, as (t, 1 - t), t = C/(A + C): shape (2, 2
    HALF + 1), denser around A = C.
    """
    u = np.arange(-HALF, 1) / HALF
    x = np.exp(u * (4 + 14 * u**6))
    x[0] = 0.0
    t, rest = x / (1 + x), 1 / (1 + x)
    return np.array([np.append(t, rest[-2::-1]), np.append(rest, t[-2::-1])])


RAYS = _rays()


class Span(NamedTuple):
    """A random span, and the order of the norm of what the span sees."""

    K: float
    d: float
    order: float


class Work(NamedTuple):
    """Scratch arrays, and the unit 1/scale of C."""

    scale: float
    terms: ndarray  # shape (8, rays)
    logs: ndarray  # shape (rays,)


@kernel(error_model="numpy")
def log_moments(span, e1, e2, at, logs):
    """Fill `logs`, ray by ray, with upper bounds on log E[(A X + C e1 Y + C e2 Z)^order]^(1/order),
    minus the same expression for a chi-square variable with d degrees of freedom.

    X, Y, Z are chi-square of d - K, K and K degrees of freedom. The power series of a product of
    (1 - a z)^-n has the coefficients f_i = sum_j n_j a_j u_j / i with u_j <- a_j u_j + f_i, all
    positive. Their unit is 2^-i (d/2)_i/i!, renewed against overflow.
    """
    K, d, work, size = span.K, span.d, at.terms, RAYS.shape[1]
    for k in range(size):
        work[0, k] = work[1, k] = work[2, k] = work[3, k] = 1.0
        work[5, k], work[6, k], work[7, k] = (
            RAYS[1, k],
            RAYS[0, k] / at.scale * e1,
            RAYS[0, k] / at.scale * e2,
        )
        logs[k] = work[4, k] = 0.0
    count = int(span.order)
    for i in range(1, count + 1):
        per = 1.0 / (d + 2.0 * (i - 1))
        grown = 2.0 * i * per
        for k in range(size):
            a, b, c = work[5, k] * work[0, k], work[6, k] * work[1, k], work[7, k] * work[2, k]
            f = ((d - K) * a + K * (b + c)) * per
            work[0, k], work[1, k], work[2, k], work[3, k] = (
                a * grown + f,
                b * grown + f,
                c * grown + f,
                f,
            )
        if i % AT_ONCE == 0 or i == count:
            for k in range(size):
                x, f = log(work[3, k]), 1.0 / work[3, k]
                logs[k] += x
                work[4, k] += abs(x)
                work[0, k], work[1, k], work[2, k] = work[0, k] * f, work[1, k] * f, work[2, k] * f
    for k in range(size):
        logs[k] = logs[k] / count + 1e-14 + 1e-17 * work[4, k]


@kernel(error_model="numpy")
def tabled_norm(K, d, order):
    """Return J(1 - t, t) = E[((1-t)(1-gamma) + t gamma)^order]^(1/order), shape (rays,), from
    above.
    """
    if K == d:
        return RAYS[0].copy()
    size = RAYS.shape[1]
    logs = empty(size)
    log_moments(Span(K, d, order), 1.0, 0.0, Work(1.0, empty((8, size)), logs), logs)
    return np.exp(logs) * MOMENT_UP


class Norm(NamedTuple):
    """J, and its slopes in A and in C."""

    J: float
    in_A: float
    in_C: float


@kernel(error_model="numpy")
def norm(table, A, C):
    """Return J and its slopes at A, C >= 0, from above. J is convex, so it lies below its chords
    between rays.
    """
    total = A + C
    mirrored = C > A
    small = (A if mirrored else C) / total
    k, after = 0, HALF
    while after - k > 1:
        middle = (k + after) // 2
        if RAYS[0, middle] > small:
            after = middle
        else:
            k = middle
    here, there = (2 * HALF - k, 2 * HALF - k - 1) if mirrored else (k, k + 1)
    slope = (table[there] - table[here]) / (RAYS[0, k + 1] - RAYS[0, k])
    value = table[here] + slope * (small - RAYS[0, k])
    if mirrored:
        return Norm(total * value * UP, value + slope * (1.0 - small), value - slope * small)
    return Norm(total * value * UP, value - slope * small, value + slope * (1.0 - small))


# ---------------------------------------------------------------- the drift's constant


@kernel()
def _clipped(r, q1, q2):
    """Return c^2 for a drift q against r if the clip may act: twice the mean over angles of max((r
    cos)^2, (q cos)^2).

    This mean is convex in q. For r = 1 it is (1 + |q|^2)/2 + [2 |q2| + (1 - |q|^2) atan2(1 - |q|^2, 2
    |q2|)]/pi.
    """
    squares, apart, across = r * r + q1 * q1 + q2 * q2, r * r - q1 * q1 - q2 * q2, 2.0 * abs(r * q2)
    return 0.5 * squares + (across + apart * atan2(apart, across)) / pi


@kernel()
def _together(r, q1, q2):
    """Return c^2 for a drift q against r if a joint clip may act. The clip may change the step by
    (r - q)/2 plus any vector of at most the same length.
    """
    return 0.25 * (sqrt((r + q1) ** 2 + q2 * q2) + sqrt((r - q1) ** 2 + q2 * q2)) ** 2


@kernel()
def _square(acting, r, q1, q2):
    return _together(r, q1, q2) if acting == JOINT else _clipped(r, q1, q2)


@kernel()
def _worst_clipped(acting, r, middle, radius, per_shrink):
    """Return the largest `_square` over drifts r - h, where h is on the circle with that middle and
    radius, and its second part is multiplied by per_shrink. By convexity the corners of a polygon
    around the ellipse bound it; the polygon is refined where it is largest.
    """
    begin, end, corner = empty(ARCS + SPLITS), empty(ARCS + SPLITS), empty(ARCS + SPLITS)
    best = 0.0
    for k in range(ARCS):
        begin[k], end[k] = pi * k / ARCS, pi * (k + 1) / ARCS
        corner[k] = -1.0
    arcs, most = ARCS, 0
    while True:
        worst = -1.0
        for k in range(arcs):
            if corner[k] < 0.0:
                half = 0.5 * (begin[k] + end[k])
                reach = radius / cos(0.5 * (end[k] - begin[k]))
                corner[k] = _square(
                    acting, r, r - middle - reach * cos(half), reach * sin(half) * per_shrink
                )
                best = max(
                    best,
                    _square(
                        acting, r, r - middle - radius * cos(half), radius * sin(half) * per_shrink
                    ),
                )
            if corner[k] > worst:
                worst, most = corner[k], k
        if worst <= best * (1.0 + CLOSE) or arcs == ARCS + SPLITS:
            return worst * MOMENT_UP
        half = 0.5 * (begin[most] + end[most])
        begin[arcs], end[arcs], corner[arcs], corner[most] = half, end[most], -1.0, -1.0
        end[most] = half
        arcs += 1


class Change(NamedTuple):
    """What a step does to a distance, in numbers or in arrays of them.

    Args:
        r: the factor 1 - eta ridge/K by which the ridge changes the distance, of any sign.
        low, high: eta/K times the least and the largest curvature of the clipped loss; high >= 0,
            low >= -high.
    """

    r: Any
    low: Any
    high: Any


@kernel()
def joint_constant(change, shrink):
    """Return c^2 if a joint clip may act. The second column of the directions keeps at least the
    share `shrink` <= 1 of its squared length.
    """
    r, low, high = change
    return (
        _worst_clipped(JOINT, r, 0.5 * (high + low), 0.5 * (high - low), 1.0 / sqrt(shrink))
        + ROUNDING
    )


@kernel()
def _linear_constant(change):
    """Return c for a function of one linear form if a joint clip may act."""
    r, low, high = change
    return max(abs(r - 0.5 * low) + 0.5 * abs(low), abs(r - 0.5 * high) + 0.5 * abs(high))


@kernel(error_model="numpy")
def second_column(d, order):
    """Bound from below how much of its square a random frame's second column keeps."""
    return (d - 1.5) / (d + 2.0 * order - 1.36)


@kernel(error_model="numpy")
def drift_constant(change, d, order, clip, certain):
    """Return c_lambda^2: the largest squared ratio of a step's component in the span to the part of
    the distance that a random span sees.

    Args:
        change: a `Change`.
        order: the order of the norm.
        clip: the kind of the clip (`IDLE` and others). For an idle clip the constant is often that
            of the first-order step. For a joint clip it is that of all directions; the tables of J
            (`kernels.joint`) account for the rest.
        certain: whether the step sees all directions and its clip is idle, so that nothing is
            random.
    """
    r, low, high = change
    middle, radius = 0.5 * (high + low), 0.5 * (high - low)
    if not (high < inf and abs(r) < inf):
        return inf
    if d == 1.0:
        edges = max(abs(r - high), abs(r - low))
        c = max(abs(r), edges) if clip != IDLE else edges
        return (c + ROUNDING) ** 2
    if clip == JOINT:
        return joint_constant(change, 1.0)
    if clip == JOINT_LINEAR:
        return (_linear_constant(change) + ROUNDING) ** 2
    shrink = second_column(d, order)
    if clip == EACH:
        return _worst_clipped(EACH, r, middle, radius, 1.0 / sqrt(shrink)) + ROUNDING
    centre = abs(r - middle)
    if certain or centre * shrink >= radius * (1.0 - shrink):
        return (centre + radius + ROUNDING) ** 2
    return (radius * radius / shrink + centre * centre / (1.0 - shrink)) * UP + ROUNDING


@kernel(error_model="numpy")
def slower(change, part):
    """Return the change of a step whose size is `part` times as large."""
    return Change(1.0 - part * (1.0 - change.r), part * change.low, part * change.high)


@kernel(error_model="numpy")
def largest_drift_constant(change, slowest, d, order, clip, certain):
    """Return the largest `drift_constant` of steps of any size from the fraction `slowest` to 1.
    The constant is convex in the size, so it is largest at one of the ends.
    """
    c2 = drift_constant(change, d, order, clip, certain)
    if slowest < 1.0:
        c2 = max(c2, drift_constant(slower(change, slowest), d, order, clip, certain))
    return c2


@kernel()
def _certain(change, clip):
    if clip == JOINT:
        return sqrt(joint_constant(change, 1.0))
    if clip == JOINT_LINEAR:
        return _linear_constant(change)
    c = max(abs(change.r - change.high), abs(change.r - change.low))
    return max(c, abs(change.r)) if clip != IDLE else c


@elementwise
def certain_constant(change: Change, slowest, clip):
    """Bound the factor by which a step multiplies a distance in the span if nothing is random. The
    step's size is between the fraction `slowest` and 1.
    """
    c = _certain(change, clip)
    if slowest < 1.0:
        c = max(c, _certain(slower(change, slowest), clip))
    return c + ROUNDING
