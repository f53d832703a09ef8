"""Compute Renyi divergences of a Gaussian step on a sampled batch (docs/batches.md).

Let q be b/n, mu the sensitivity over the noise, phi the normal density and h(x) = 1 + q
(exp(mu x - mu^2/2) - 1). At every gamma >= 1 the hockey-stick profile q delta_G is that of the pair
(h phi, phi). This form of its integral loses no digits:

    exp((alpha-1) r_alpha) - 1 = integral over x > mu/2 of phi h (h^(alpha-1) - 1)(1 - h^-alpha)

The code has y = x - mu/2 and v = ln h, a convex function of y.
"""

from math import exp, expm1, inf, log, log1p, pi, sqrt

import numpy as np
from numpy import empty

from zoexplore.bounds.kernels.compiling import elementwise, kernel

DEEP = 36.0  # parts below exp(-DEEP) of the largest are left out
# the greatest length of a panel: twelve nodes then err by 2e-12 of a normal density
LONGEST = 4.0
DEPTH = 4096  # the most panels that may wait to be summed
FAR = 1e6  # beyond this alpha mu, the full batch's cost is returned, which is an upper bound
UP = 1e-10  # the relative error of the integral: quadrature, parts left out, rounding
ULPS = 1e-15  # the rounding of the exponents, relative to their size
NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)
# for the printed cost: nodes to a normal's width, the most nodes, the reach beyond the peaks
PLACES, MOST, REACH = 8.0, 4000.0, 9.0


@kernel(error_model="numpy")
def _log_ratio(y, q, mu):
    """Return v = ln h."""
    rise = mu * y
    return rise + log(q) if rise > 700.0 else log1p(q * expm1(rise))


@kernel(error_model="numpy")
def _log_height(y, v, steepest, alpha, mu):
    """Return the logarithm of phi h (h^(alpha-1) - 1)(1 - h^-alpha) times sqrt(2 pi). In the last
    two factors `steepest` stands for v.
    """
    if steepest <= 0.0:
        return -inf
    x = y + 0.5 * mu
    edges = log(-expm1((1.0 - alpha) * steepest)) + log(-expm1(-alpha * steepest))
    return alpha * v - 0.5 * x * x + edges


@kernel(error_model="numpy")
def _ceiling(low, high, q, alpha, mu):
    """Bound the logarithm of a panel's integral from above: v is at most its chord."""
    v, v_high = _log_ratio(low, q, mu), _log_ratio(high, q, mu)
    slope = (v_high - v) / (high - low)
    y = min(max(alpha * slope - 0.5 * mu, low), high)
    return _log_height(y, v + slope * (y - low), v_high, alpha, mu) + log(high - low)


@kernel(error_model="numpy")
def _panel(low, high, q, alpha, mu, best):
    """Return (a panel's integral by quadrature, over exp(best), and the largest exponent in the
    panel).
    """
    total = size = 0.0
    for j in range(NODES.size):
        y = 0.5 * (high + low) + 0.5 * (high - low) * NODES[j]
        v, x = _log_ratio(y, q, mu), y + 0.5 * mu
        edges = expm1((1.0 - alpha) * v) * expm1(-alpha * v)
        total += WEIGHTS[j] * exp(alpha * v - 0.5 * x * x - best) * edges
        size = max(size, alpha * v + 0.5 * x * x)
    return 0.5 * (high - low) * total, size


@kernel(error_model="numpy")
def _log_integral(alpha, q, mu):
    """Return the logarithm of the integral, from above; infinite if it has too many panels.

    The line is halved until each panel is short compared with a normal's width and with the bend of
    h, where h^alpha has a branch point at the height pi/mu. Negligible panels are left out. Beyond
    the end of the line the integrand falls faster than exp(-13 y).
    """
    turn, end = log((1.0 - q) / q) / mu, (alpha + 1.5) * mu + 14.0
    lows, highs, count, best, total, size = empty(DEPTH), empty(DEPTH), 1, -inf, 0.0, 0.0
    lows[0], highs[0] = 0.0, end
    if 0.0 < turn < end:
        lows[1], highs[1], highs[0], count = turn, end, turn, 2
    for y in (min(1.0, end), max((alpha - 0.5) * mu, 0.0), turn):
        if 0.0 < y < end:
            v = _log_ratio(y, q, mu)
            best = max(best, _log_height(y, v, v, alpha, mu))
    while count > 0:
        count -= 1
        low, high = lows[count], highs[count]
        if _ceiling(low, high, q, alpha, mu) < best - DEEP:
            continue
        apart, middle = max(low - turn, turn - high), 0.5 * (high + low)
        if high - low <= min(LONGEST, max(3.0 / mu, apart)):
            part, largest = _panel(low, high, q, alpha, mu, best)
            total, size = total + part, max(size, largest)
            continue
        if count + 2 > DEPTH:
            return inf
        v = _log_ratio(middle, q, mu)
        found = _log_height(middle, v, v, alpha, mu)
        if found > best:
            total, best = total * exp(best - found), found
        lows[count], highs[count], lows[count + 1], highs[count + 1] = low, middle, middle, high
        count += 2
    return best + log(total / sqrt(2.0 * pi)) + UP + ULPS * size


@kernel(error_model="numpy")
def _cumulant(alpha, q, mu):
    """Return (alpha-1) r_alpha, from above."""
    gaussian = 0.5 * alpha * (alpha - 1.0) * mu * mu
    if not 0.0 < alpha * mu < FAR or q == 1.0:
        return gaussian
    log_integral = _log_integral(alpha, q, mu)
    if log_integral > 40.0:
        return min(gaussian, log_integral + exp(-log_integral))
    return min(gaussian, log1p(exp(log_integral)))


@elementwise
def sampled_divergence(alpha, q, mu):
    """Return r_alpha(q, mu), from above: one step's cost on a batch at the order alpha > 1, for
    either order of the neighbours. It is never above its value at q = 1, alpha mu^2/2.
    """
    return _cumulant(alpha, q, mu) / (alpha - 1.0)


@kernel(error_model="numpy")
def _log_above_line(z):
    """Return the logarithm of exp(z) - 1 - z."""
    if abs(z) < 1e-2:
        return log(z * z * (0.5 + z * (1.0 / 6.0 + z / 24.0)))
    return log(expm1(z) - z) if z < 40.0 else z


@elementwise
def printed_divergence(alpha, q, mu):
    """Return the paper's S_alpha(q, 1/mu) = D_alpha(N(0,1) || (1-q) N(0,1) + q N(mu,1)), which is
    no bound (docs/batches.md, "As printed").

    (h^-s - 1 + s (h - 1)) phi, s = alpha - 1, is nowhere negative and has the same integral as h^-s
    phi - phi. The peak of h^-s phi is above -s mu, and above -W/mu for Lambert's W at s mu^2
    q/(1 - q).
    """
    s, top, total = alpha - 1.0, -inf, 0.0
    low = -REACH - min(s * mu, log1p(s * mu * mu * q / (1.0 - q)) / mu)  # W(x) < log(1 + x)
    places = min((mu + REACH - low) * max(PLACES, mu) // 1.0, MOST)
    step = (mu + REACH - low) / places
    for i in range(int(places) + 1):
        x = low + i * step
        v = _log_ratio(x - 0.5 * mu, q, mu)
        if v != 0.0:
            first, second = _log_above_line(-s * v), log(s) + _log_above_line(v)
            here = max(first, second) + log1p(exp(-abs(first - second))) - 0.5 * x * x
            total = total * exp(min(top - here, 0.0)) + exp(min(here - top, 0.0))
            top = max(top, here)
    log_integral = top + log(total * step / sqrt(2.0 * pi))
    return max(log_integral, 0.0) / s + log1p(exp(-abs(log_integral))) / s
