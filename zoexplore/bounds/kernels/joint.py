"""Bound from above, on the tabled rays, the norm J of a step whose clip is joint and may act
(docs/joint.md).

For the worst record the span sees at most |U'p| + |U'q|, where the past fixes p and q. The vectors
p and q lie in a plane and depend on the difference h of two gradients, which lies on a circle. The
norm is convex in h, so it is at most its largest value at the corners of a polygon around the
circle.
"""

from math import cos, exp, log1p, pi, sin, sqrt

from numpy import empty, maximum, minimum

from zoexplore.bounds.kernels.compiling import kernel
from zoexplore.bounds.kernels.hulls import linear_growth, lower_hull
from zoexplore.bounds.kernels.norms import (
    IDLE,
    MOMENT_UP,
    RAYS,
    Change,
    Work,
    drift_constant,
    joint_constant,
    log_moments,
    moment,
    norm,
    second_column,
    slower,
)
from zoexplore.bounds.kernels.rounding import UP

# ARCS: the number of arcs of the half circle at first. FINEST: their number if all are refined.
ARCS, FINEST = 6, 48
# further ratios t at which to split the square of |U'p| + |U'q|, in tenths of the usual |q|/|p|
SPLITS = 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0


@kernel(error_model="numpy")
def _eigenvalues(p1, p2, q1, q2, t):
    """Return the eigenvalues of (1 + t) pp' + (1 + 1/t) qq', the larger one first."""
    p, q = (p1 * p1 + p2 * p2) * (1.0 + t), (q1 * q1 + q2 * q2) * (1.0 + 1.0 / t)
    both = (1.0 + t) * (1.0 + 1.0 / t)
    larger = 0.5 * (p + q + sqrt((p - q) ** 2 + 4.0 * both * (p1 * q1 + p2 * q2) ** 2))
    return larger * UP, both * (p1 * q2 - p2 * q1) ** 2 / larger * UP


@kernel(error_model="numpy")
def _at_corner(span, change, begin, end, finest, at, found):
    """Fill `found`, ray by ray, with the logarithm of the norm at the corner over one arc of the
    circle of h. The square is split in one way or, if the arc is one of the `finest`, in the best
    of several ways.
    """
    r, low, high = change
    shrink = 1.0 / sqrt(second_column(span.d, span.order))
    half = 0.5 * (begin + end)
    reach = 0.25 * (high - low) / cos(0.5 * (end - begin))
    q1, q2 = 0.25 * (high + low) + reach * cos(half), reach * sin(half) * shrink
    p1, p2 = r - q1, -q2
    p, q = p1 * p1 + p2 * p2, q1 * q1 + q2 * q2
    if p == 0.0 or q == 0.0:
        log_moments(span, (p + q) * UP, 0.0, at, found)
        return
    t = sqrt(q / p)
    e1, e2 = _eigenvalues(p1, p2, q1, q2, t)
    log_moments(span, e1, e2, at, found)
    for tenths in SPLITS:
        if not finest:
            break
        e1, e2 = _eigenvalues(p1, p2, q1, q2, t * 0.1 * tenths)
        log_moments(span, e1, e2, at, at.logs)
        if not (at.logs < found).any():  # a smaller split would gain less
            break
        found[:] = minimum(found, at.logs)


@kernel(error_model="numpy")
def _worst(span, change, scale):
    """Return the logarithms of the norm on all rays for one step size: the largest over a polygon's
    corners. The polygon is refined where the norm of any ray is largest.
    """
    size = RAYS.shape[1]
    begin, end, values = empty(FINEST), empty(FINEST), empty((FINEST, size))
    at, found = Work(scale, empty((8, size)), empty(size)), empty(size)
    for a in range(ARCS):
        begin[a], end[a] = pi * a / ARCS, pi * (a + 1) / ARCS
        _at_corner(span, change, begin[a], end[a], False, at, values[a])
    arcs, fine = ARCS, 1.01 * pi / FINEST
    while True:
        coarse = -1
        for k in range(size):
            worst = values[:arcs, k].argmax()
            found[k] = values[worst, k]
            if end[worst] - begin[worst] > fine:
                coarse = int(worst)
        if coarse < 0:
            return found
        half = 0.5 * (begin[coarse] + end[coarse])
        begin[arcs], end[arcs], end[coarse] = half, end[coarse], half
        for a in (coarse, arcs):
            _at_corner(span, change, begin[a], end[a], end[a] - begin[a] <= fine, at, values[a])
        arcs += 1


@kernel(error_model="numpy")
def _of_one_size(span, change, scale):
    """Return the norm on all rays for one step size: the smaller of the norm of both parts together
    and the sum of their norms. The sum is smaller if the order is large against d.
    """
    K, d, order = span
    values = _worst(span, change, scale)
    apart, c2 = moment(d - K, d, order) ** 2, joint_constant(change, 1.0) * moment(K, d, order) ** 2
    for k in range(values.size):
        values[k] = min(
            exp(values[k]) * MOMENT_UP, (RAYS[1, k] * apart + RAYS[0, k] / scale * c2) * MOMENT_UP
        )
    return values


@kernel(error_model="numpy")
def joint_norm(span, change, slowest, scale):
    """Return J, shape (rays,), with C in units of 1/scale, for every step size from the fraction
    `slowest` to 1. The norm is convex in the size, so both ends bound it. It is also convex in (A,
    C), so the lower hull of these bounds is a bound, too.
    """
    values = _of_one_size(span, change, scale)
    if slowest < 1.0:
        values = maximum(values, _of_one_size(span, slower(change, slowest), scale))
    return lower_hull(values)


@kernel(error_model="numpy")
def _linear_part(table, span, change, A, C):
    """Bound the norm with a record's clip factor at one end of its range, where no clip acts."""
    K, d, order = span
    apart, seen = moment(d - K, d, order) ** 2 * MOMENT_UP, moment(K, d, order) ** 2 * MOMENT_UP
    both = norm(table, A, C * drift_constant(change, d, order, IDLE, False)).J
    return min(both, A * apart + C * seen * drift_constant(change, d, order, IDLE, True))


@kernel(error_model="numpy")
def _linear_of_one_size(table, span, change, scale):
    r, low, high = change
    growth, widest = (
        linear_growth(span.d, span.order),
        max(abs(r), max(abs(r - low), abs(r - high))) ** 2 * UP,
    )
    values = empty(RAYS.shape[1])
    for k in range(values.size):
        A, C = RAYS[1, k], RAYS[0, k] / scale
        first = _linear_part(table, span, Change(r, low, 0.0), A, C)
        second = _linear_part(table, span, Change(r, 0.0, high), A, C)
        larger, smaller = max(first, second), min(first, second)
        both = larger * exp(log1p((smaller / larger) ** span.order) / span.order) * MOMENT_UP
        values[k] = min(both, growth * norm(table, A, C * widest).J)
    return values


@kernel(error_model="numpy")
def joint_linear_norm(table, span, change, slowest, scale):
    """Return `joint_norm` for linear models, from the table of J for an idle clip. Both ends of the
    range of a record's clip factor are bounded.
    """
    values = _linear_of_one_size(table, span, change, scale)
    if slowest < 1.0:
        values = maximum(values, _linear_of_one_size(table, span, slower(change, slowest), scale))
    return lower_hull(values)
