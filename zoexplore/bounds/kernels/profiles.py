"""delta(epsilon) of a run whose random cost has a known tail, and its inverse (docs/sharp.md, "From a tail to delta").

The Gaussian profile, averaged over the cost. Between two levels of the tail a chord lies above it, and above the profile too
wherever that is convex in the cost.
"""

from math import erfc, exp, inf, isfinite, log, sqrt

from zoexplore.bounds.kernels.compiling import kernel
from zoexplore.bounds.kernels.gaussian import GAUSSIAN, ROUND_UP, SQRT_2, SQRT_2PI, _mills, _mills_drop, scalar_epsilon

LARGEST = 1e12  # costs beyond it hide nothing
NEAR = 1e-7  # relative, of epsilon


@kernel(error_model="numpy")
def costs(X, Y, power, norms, count, levels, s):
    """Fill `s`: what the cost exceeds with a probability of at most each level, by the least of some tails.

    Args:
        X, Y, power: tails, Y + X level^(-1/power) of the first so many, `norms`, and X - ln(level)/power of exponential moments.
        levels: from 1 downward. Between two of them one tail, which is convex, is below the chord through the costs.
    """
    at = 0
    for i in range(levels.size):
        best, which = inf, 0
        fall = -log(levels[i])
        for k in range(count):
            found = Y[k] + X[k] * exp(fall / power[k]) if k < norms else X[k] + fall / power[k]
            if i > 0 and k == at:
                s[i] = found
            if found < best:
                best, which = found, k
        if i == 0:
            s[0] = best
        at = which
        s[i] *= ROUND_UP


@kernel(error_model="numpy")
def _gaussian(epsilon, cost):
    """(delta, by how much it falls with epsilon) of a Gaussian shift of that cost, from above."""
    if cost <= 0.0:
        return 0.0, 0.0
    if not cost < LARGEST:
        return 1.0, 0.0
    mu = sqrt(cost)
    a = epsilon / mu - 0.5 * mu
    if abs(a) > 37.0:
        return (1.0, 0.0) if a < 0.0 else (1e-290, 0.0)
    density = exp(-0.5 * a * a) / SQRT_2PI
    beyond = density * _mills(a + mu)
    delta = 0.5 * erfc(a / SQRT_2) - beyond if a < -1.0 else density * _mills_drop(a, mu)
    return delta * (ROUND_UP + 4e-16 * abs(a) * (a + 1.5 * mu)), beyond


@kernel(error_model="numpy")
def delta(epsilon, levels, s, lost):
    """(delta at epsilon >= 0, by how much it falls with it) of a cost whose levels those are, but for a probability `lost`."""
    convex = 2.0 * epsilon * epsilon / (1.0 + sqrt(1.0 + epsilon * epsilon))  # below it the profile is convex in the cost
    last = levels.size - 1
    total, fall = levels[last] + lost, 0.0
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
def epsilon(target, levels, s, lost, guess):
    """Where delta(epsilon) is at most the target, as near to where it meets it as `NEAR`; inf where it never is."""
    if not levels[levels.size - 1] + lost < target or not s[0] < LARGEST:
        return inf
    if delta(0.0, levels, s, lost)[0] <= target:
        return 0.0
    low, high, x = 0.0, inf, guess
    for _ in range(200):
        value, fall = delta(x, levels, s, lost)
        if value <= target:
            high = min(high, x)
        else:
            low = max(low, x)
        if high - low <= NEAR * high:
            return high
        step = (log(value) - log(target)) * value / fall if fall > 0.0 else inf
        x += step
        if abs(step) < 0.3 * NEAR * x:  # at the root: to its right, and then to its left
            x += 0.4 * NEAR * x if not high < inf or high - x > 0.5 * NEAR * x else -0.4 * NEAR * x
        if not low < x < high:
            x = 0.5 * (low + high) if high < inf else 2.0 * low + 1.0
    return high


@kernel(error_model="numpy")
def budget(conversion, target, levels, s, lost):
    """(epsilon, twice rho, delta_f) of the best budget that the cost keeps within but for a probability delta_f."""
    best, at, first, last = inf, 0, 0, levels.size - 1
    while first < last - 1 and not levels[first] + lost < target:
        first += 1
    step = max(1, (last - first) // 6)
    low, high = first, last
    while True:
        for i in range(low, high + 1, step):
            found = scalar_epsilon(conversion, 0.5 * s[i], target - levels[i] - lost) if s[i] < LARGEST else inf
            if found < best:
                best, at = found, i
        if step == 1:
            return best, s[at], levels[at] + lost
        low, high, step = max(first, at - step), min(last, at + step), max(1, step // 3)


@kernel(error_model="numpy")
def converted(conversion, target, levels, s, lost):
    """(epsilon, twice rho, delta_f): the tail's least epsilon, and a budget with which the run is Gaussian but for delta_f."""
    found, twice, beyond = budget(conversion, target, levels, s, lost)
    if conversion == GAUSSIAN and isfinite(found) and found > 0.0:
        found = min(found, epsilon(target, levels, s, lost, found))
    return found, twice, beyond
