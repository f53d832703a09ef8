"""Compute delta(epsilon) of a run whose random cost has a known tail, and its inverse
(docs/sharp.md, "From a tail to delta").

delta is the Gaussian profile, averaged over the cost. Between two levels a chord lies above the
tail. It lies above the profile too, if the profile is convex in the cost there.
"""

from math import exp, inf, log, sqrt

from numpy import empty

from zoexplore.bounds.kernels.compiling import kernel
from zoexplore.bounds.kernels.gaussian import CKS, GAUSSIAN, ROUND_UP, scalar_epsilon, shifted

LARGEST = 1e12  # larger costs hide nothing
NEAR, NEWTON = 1e-7, 60  # epsilon's relative error; the most steps of Newton's towards it
CELLS = 32  # cells between a tail's levels, whose logarithms are spaced quadratically
LEAST_LEVEL = 1e-4  # the lowest level, as a fraction of delta
SAVING = 0.9  # the search for the average's epsilon begins at this fraction of a budget's epsilon
LEAST_SHARE, MOST_SHARE = 1e-4, 0.98  # the fractions of delta that may lie beyond a budget
TURNS, NARROWER = 12, 0.6  # turns of the search for that fraction; the factor between its strides


@kernel(error_model="numpy")
def _by_tail(X, Y, power, norms, k, fall):
    """Return the cost that tail k exceeds with a probability of at most exp(-fall)."""
    return Y[k] + X[k] * exp(fall / power[k]) if k < norms else X[k] + fall / power[k]


@kernel(error_model="numpy")
def _least(X, Y, power, norms, fall):
    """Return (a tail's index, the cost) for the tail with the least cost that is exceeded with a
    probability of at most exp(-fall).
    """
    at, best = 0, inf
    for k in range(X.size):
        cost = _by_tail(X, Y, power, norms, k, fall)
        if cost < best:
            at, best = k, cost
    return at, best * ROUND_UP


@kernel(error_model="numpy")
def costs(X, Y, power, norms, levels, s):
    """Fill `s` with the costs that are exceeded with a probability of at most each level, by the
    least of several tails.

    Args:
        X, Y, power: the tails: Y + X level^(-1/power) for the first `norms`, X - ln(level)/power
            for the exponential moments.
        levels: from 1 downward. Between two levels one tail, which is convex, lies below the chord
            through the costs.
    """
    at, s[0] = _least(X, Y, power, norms, 0.0)
    for i in range(1, levels.size):
        fall = -log(levels[i])
        s[i] = _by_tail(X, Y, power, norms, at, fall) * ROUND_UP
        at, _ = _least(X, Y, power, norms, fall)


@kernel(error_model="numpy")
def _gaussian(epsilon, cost):
    """Return delta for a Gaussian shift of that cost, from above, and minus delta's slope in
    epsilon.
    """
    if cost <= 0.0:
        return 0.0, 0.0
    if not cost < LARGEST:
        return 1.0, 0.0
    mu = sqrt(cost)
    a = epsilon / mu - 0.5 * mu
    if abs(a) > 37.0:
        return (1.0, 0.0) if a < 0.0 else (1e-290, 0.0)
    delta, fall = shifted(epsilon, mu)
    return delta * (ROUND_UP + 4e-16 * abs(a) * (a + 1.5 * mu)), fall


@kernel(error_model="numpy")
def delta(epsilon, levels, s):
    """Return delta at epsilon >= 0, and minus delta's slope, for costs `s` at the `levels`."""
    # the largest cost up to which the profile is convex
    convex = 2.0 * epsilon * epsilon / (1.0 + sqrt(1.0 + epsilon * epsilon))
    last = levels.size - 1
    total, fall = levels[last], 0.0
    before, steep = _gaussian(epsilon, s[0])
    for i in range(last):
        share = levels[i] - levels[i + 1]
        here, slope = _gaussian(epsilon, s[i + 1])
        if s[i + 1] <= convex:
            total += 0.5 * share * (before + here)
            fall += 0.5 * share * (steep + slope)
        else:
            total += share * here
            fall += share * slope
        before, steep = here, slope
    return total * (1.0 + 1e-13), fall


@kernel(error_model="numpy")
def epsilon(target, levels, s, guess):
    """Return an epsilon at which delta is at most the target, within about a relative `NEAR` of the
    least; inf if there is none. Newton's steps come first, then steps to the right.
    """
    if not levels[levels.size - 1] < target or not s[0] < LARGEST:
        return inf
    if delta(0.0, levels, s)[0] <= target:
        return 0.0
    x = guess
    for _ in range(NEWTON):
        value, fall = delta(x, levels, s)
        step = log(value) - log(target)
        step *= value / fall if fall > 0.0 else x
        x += min(max(step, -0.5 * x), x)
        if abs(step) <= NEAR * x:
            break
    width = NEAR * x
    while x < inf and delta(x, levels, s)[0] > target:
        x, width = x + width, 2.0 * width
    return x


@kernel(error_model="numpy")
def _by_level(conversion, target, X, Y, power, norms, log_level):
    """Return epsilon for the budget that is exceeded with a probability of at most exp(log_level).
    The plainest conversion stands in for the exact one.
    """
    rho, left = 0.5 * _least(X, Y, power, norms, -log_level)[1], target - exp(log_level)
    if conversion == CKS and rho < LARGEST:
        return scalar_epsilon(conversion, rho, left)
    return rho + 2.0 * sqrt(-rho * log(left))


@kernel(error_model="numpy")
def budget(conversion, target, X, Y, power, norms):
    """Return (epsilon, twice rho, delta_f) for a budget near the best, which the cost exceeds with
    a probability of at most delta_f. The search takes strides that shrink.
    """
    low, high = log(LEAST_SHARE * target), log(MOST_SHARE * target)
    log_level, stride = 0.5 * (low + high), 0.25 * (high - low)
    best = _by_level(conversion, target, X, Y, power, norms, log_level)
    for _ in range(TURNS):
        for tried in (max(log_level - stride, low), min(log_level + stride, high)):
            found = _by_level(conversion, target, X, Y, power, norms, tried)
            if found < best:
                best, log_level = found, tried
        stride *= NARROWER
    level, cost = exp(log_level), _least(X, Y, power, norms, -log_level)[1]
    return (
        (scalar_epsilon(conversion, 0.5 * cost, target - level) if cost < LARGEST else inf),
        cost,
        level,
    )


@kernel(error_model="numpy")
def levels_of(delta):
    """Return the levels of a tail, from 1 down to far below delta: shape (CELLS + 1,)."""
    levels = empty(CELLS + 1)
    for i in range(CELLS + 1):
        levels[i] = exp(log(LEAST_LEVEL * delta) * (i / CELLS) ** 2)
    return levels


@kernel(error_model="numpy")
def convert(X, Y, power, norms, delta, conversion):
    """Return (epsilon, twice rho, delta_f) row by row, shape (rows, 3): the least epsilon that the
    tails give, and a budget rho that the cost exceeds with a probability of at most delta_f.

    Args:
        X, Y, power: the tails, shape (rows, tails), of which the first `norms` are by norms
            (`costs`).
        delta: the targets, shape (rows,).
    """
    found, s = empty((delta.size, 3)), empty(CELLS + 1)
    for i in range(delta.size):
        best, twice, beyond = budget(conversion, delta[i], X[i], Y[i], power[i], norms)
        if conversion == GAUSSIAN and 0.0 < best < inf:
            levels = levels_of(delta[i])
            costs(X[i], Y[i], power[i], norms, levels, s)
            best = min(best, epsilon(delta[i], levels, s, SAVING * best))
        found[i, 0], found[i, 1], found[i, 2] = best, twice, beyond
    return found
