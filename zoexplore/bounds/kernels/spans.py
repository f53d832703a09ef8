"""Bound the tail of a sum over many steps: the squared lengths that random spans see of a vector
(docs/bounds.md, "Composition").
"""

from math import exp, inf, log, log1p

from numpy import full

from zoexplore.bounds.kernels.compiling import kernel
from zoexplore.bounds.kernels.moments import log_1f1
from zoexplore.bounds.kernels.norms import moment
from zoexplore.bounds.kernels.rounding import SUMS_UP

# exponents of delta: a tail should be tight at the chances delta^LUCK
LUCK = (0.03, 0.1, 0.25, 0.45, 0.7, 1.0)
NORMS = len(LUCK)  # the number of tails by norms, which are tighter for few steps
FARTHEST, HALVINGS = -50.0, 20


@kernel(error_model="numpy")
def _tilt(a, b, fall):
    """Return (slope, x): a Beta(a, b) variable exceeds x with a chance of about exp(-fall), and
    `slope` is the slope of that chance's logarithm at x.
    """
    mean, low, high = a / (a + b), FARTHEST, 0.0
    for _ in range(HALVINGS):  # bisects the logarithm of (x - mean)/(1 - mean)
        share = exp(0.5 * (low + high))
        if -a * log1p(share * b / a) - b * log1p(-share) < fall:
            low = log(share)
        else:
            high = log(share)
    share = exp(low)
    x = mean + share * (1.0 - mean)
    return share * (a + b) / x / (1.0 - share), x


@kernel(error_model="numpy")
def span_tails(K, d, count, unit, certain, delta):
    """Return the tails X, Y and power as in `profiles.costs`, shape (rows, tails): the first
    `NORMS` by norms, then exponential moments.

    Args:
        K, d: the dimensions of span and space, row by row, like all that follows.
        count: the number of steps.
        unit: what a step costs if the span sees the whole vector.
        certain: what all steps cost for certain.
        delta: the delta at whose powers tails are tight; any is sound.
    """
    tails = K.size, NORMS + len(LUCK)
    X, Y, power = full(tails, inf), full(tails, 0.0), full(tails, 1.0)
    for i in range(K.size):
        if K[i] == d[i] or not unit[i] < inf:
            continue
        for j in range(len(LUCK)):
            z, x = _tilt(0.5 * K[i], 0.5 * (d[i] - K[i]), -LUCK[j] * log(delta[i]) / count[i])
            k = NORMS + j
            power[i, j], power[i, k] = x * z // 1.0 + 1.0, z / unit[i]
            X[i, j] = count[i] * unit[i] * moment(K[i], d[i], power[i, j]) ** 2 * SUMS_UP
            Y[i, j] = certain[i] * SUMS_UP
            X[i, k] = (count[i] * unit[i] * (log_1f1(K[i], d[i], z) / z) + certain[i]) * SUMS_UP
    return X, Y, power
