"""Renyi divergences of a Gaussian step on a sampled batch (docs/batches.md).

With q = b/n, mu the sensitivity over the noise, phi the normal density and h(x) = 1 + q (exp(mu x -
mu^2/2) - 1), the hockey-stick profile q delta_G is that of (h phi, phi) at every gamma >= 1, and
its integral has no cancellation:

    exp((alpha-1) r_alpha) - 1 = integral over x > mu/2 of phi h (h^(alpha-1) - 1)(1 - h^-alpha)

Below y = x - mu/2 and v = ln h, a convex function of y.
"""

from math import exp, expm1, inf, log, log1p, sqrt

import numpy as np
from numpy import empty, int64

from zoexplore.bounds.kernels.compiling import elementwise, kernel

DEEP = 36.0  # parts below exp(-DEEP) of the largest are left out
# panels; their longest, where twelve nodes err by 2e-12 of a normal density
CELLS, LONGEST = 2048, 4.0
FAR = 1e12  # alpha mu beyond which the full batch's cost is returned, which is no less
UP = 1e-10  # relative error of the integral: quadrature, parts left out, rounding
# farther from 0 exp(x) - 1, and log(1 + x) above it, are as good as expm1 and log1p, and faster
NO_DIGITS_LOST = 0.7
ULPS = 1e-15  # the exponents' rounding, relative to their size
NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)
HALF_LOG_2PI = 0.9189385332046727


@kernel()
def put(rows, i, a, b, c, d):
    """Set a row number by number. Assigning a tuple or a slice takes numba a second or two to
    compile.
    """
    rows[i, 0], rows[i, 1], rows[i, 2], rows[i, 3] = a, b, c, d


@kernel()
def quick_expm1(x):
    """exp(x) - 1, to its last digits."""
    return exp(x) - 1.0 if abs(x) > NO_DIGITS_LOST else expm1(x)


@kernel()
def quick_log1p(x):
    """log(1 + x), to its last digits."""
    return log(1.0 + x) if x > NO_DIGITS_LOST else log1p(x)


@kernel()
def _log_ratio(y, q, mu):
    """v = ln h."""
    rise = mu * y
    if rise > 700.0:
        return rise + log(q)
    return quick_log1p(q * quick_expm1(rise))


@kernel()
def _log_edge(v, alpha):
    """Logarithm of (1 - h^-(alpha-1))(1 - h^-alpha), which grows with v."""
    if v <= 0.0:
        return -inf
    return log(-expm1((1.0 - alpha) * v)) + log(-expm1(-alpha * v))


@kernel(error_model="numpy")
def _ceiling(low, high, v_low, v_high, alpha, mu):
    """An upper bound on the logarithm of a cell's integral: v is at most its chord."""
    slope = alpha * (v_high - v_low) / (high - low)
    y = min(max(slope - 0.5 * mu, low), high)
    x = y + 0.5 * mu
    return (
        alpha * v_low + slope * (y - low) - 0.5 * x * x + _log_edge(v_high, alpha) + log(high - low)
    )


@kernel(error_model="numpy")
def _panels(alpha, q, mu, panels):
    """Cut the line into panels for the quadrature, (low, high, bound on log of the integral);
    returns (number, largest logarithm met).

    Cells are halved until they are short beside a normal's width and beside the bend of h, where
    h^alpha has a branch point at the height pi/mu. Negligible cells are left out. Beyond `end` the
    integrand falls faster than exp(-13 y).
    """
    turn, end = log((1.0 - q) / q) / mu, (alpha + 1.5) * mu + 14.0
    now, then = empty((CELLS, 4)), empty((CELLS, 4))
    v_end = _log_ratio(end, q, mu)
    count, kept, best = 1, 0, -inf
    put(now, int64(0), 0.0, end, 0.0, v_end)  # for a literal 0 it would be compiled once more
    if 0.0 < turn < end:
        v_turn = _log_ratio(turn, q, mu)
        put(now, int64(0), 0.0, turn, 0.0, v_turn)
        put(now, int64(1), turn, end, v_turn, v_end)
        count = 2
    while count > 0:
        halved = 0
        for i in range(count):
            low, high, v_low, v_high = now[i]
            ceiling = _ceiling(low, high, v_low, v_high, alpha, mu)
            if ceiling < best - DEEP:
                continue
            apart = max(low - turn, turn - high)
            if high - low <= min(LONGEST, max(3.0 / mu, apart)):
                if kept == CELLS:
                    return -1, best
                panels[kept, 0], panels[kept, 1], panels[kept, 2] = low, high, ceiling
                kept += 1
                continue
            if halved + 2 > CELLS:
                return -1, best
            middle = 0.5 * (low + high)
            v, x = _log_ratio(middle, q, mu), middle + 0.5 * mu
            best = max(best, alpha * v - 0.5 * x * x + _log_edge(v, alpha))
            put(then, halved, low, middle, v_low, v)
            put(then, halved + 1, middle, high, v, v_high)
            halved += 2
        now, then, count = then, now, halved
    return kept, best


@kernel(error_model="numpy")
def _cumulant(alpha, q, mu):
    """(alpha-1) r_alpha from above."""
    if mu == 0.0:
        return 0.0
    s = alpha - 1.0
    gaussian = 0.5 * alpha * s * mu * mu
    if not alpha * mu < FAR:
        return gaussian
    panels = empty((CELLS, 3))
    count, best = _panels(alpha, q, mu, panels)
    if count < 0:
        return gaussian
    total = size = 0.0
    for i in range(count):
        low, high, ceiling = panels[i]
        if ceiling < best - DEEP:
            continue
        half, middle = 0.5 * (high - low), 0.5 * (high + low)
        for j in range(NODES.size):
            y = middle + half * NODES[j]
            x, rise = y + 0.5 * mu, mu * y
            if rise > 700.0:
                v, once = rise + log(q), -1.0
            else:
                grown = q * quick_expm1(rise)
                v, once = quick_log1p(grown), -grown / (1.0 + grown)
            # expm1(-k v) for k = 1, s and their sum alpha; sums of one sign lose no digits
            by_s = quick_expm1(-s * v)
            weight = half * WEIGHTS[j] * exp(alpha * v - 0.5 * x * x - best)
            total += weight * by_s * (by_s + once + by_s * once)
            if weight > 0.0:
                size = max(size, alpha * v + 0.5 * x * x)
    log_integral = best + log(total) - HALF_LOG_2PI + UP + ULPS * size
    if log_integral > 40.0:
        return min(gaussian, log_integral + exp(-log_integral))
    return min(gaussian, log1p(exp(log_integral)))


@elementwise
def sampled_divergence(alpha, q, mu):
    """r_alpha(q, mu), from above: one step's cost on a batch at the order alpha > 1, in either
    order of the neighbours. It is never above its value at q = 1, alpha mu^2/2.
    """
    return _cumulant(alpha, q, mu) / (alpha - 1.0)


@kernel()
def _log_printed(x, s, q, mu):
    """Logarithm of phi h^-s times sqrt(2 pi), whose integral is the exponential of the printed
    cost.
    """
    rise = mu * (x - 0.5 * mu)
    v = rise + log(q) if rise > 700.0 else log1p(q * expm1(rise))
    return -s * v - 0.5 * x * x


@elementwise
def printed_divergence(alpha, q, mu):
    """The paper's S_alpha(q, 1/mu) = D_alpha(N(0,1) || (1-q) N(0,1) + q N(mu,1)): no bound
    (docs/batches.md, "As printed"). (h^-s
    - 1 + s (h - 1)) phi is nowhere negative and has the same integral as h^-s phi - phi. It is
    integrated unless phi h^-s is a peak by itself.
    """
    s = alpha - 1.0
    left, right = -s * mu - 1.0, 1.0
    # phi h^-s is log-concave: its peak, where x = -s mu q e/(1 - q + q e)
    while right - left > 1e-9 * (1.0 + abs(left)):
        x = 0.5 * (left + right)
        e = exp(mu * (x - 0.5 * mu))
        if x < -s * mu * q * e / (1.0 - q + q * e):
            left = x
        else:
            right = x
    peak = 0.5 * (left + right)
    e = q * exp(mu * (peak - 0.5 * mu))
    share = e / (1.0 - q + e)
    width = 1.0 / sqrt(1.0 + s * mu * mu * share * (1.0 - share))
    top = _log_printed(peak, s, q, mu)
    step, total = width / 8.0, 0.0
    if top > 3.0:
        for i in range(-80, 81):
            total += exp(_log_printed(peak + i * step, s, q, mu) - top)
        return (top + log(step * total) - HALF_LOG_2PI) / s
    low, high = peak - 9.0, max(mu, 0.0) + 9.0
    count = int(min((high - low) / min(step, 0.25 / mu), 4000.0)) + 1
    step = (high - low) / count
    for i in range(count + 1):
        x = low + i * step
        v = log1p(q * expm1(min(mu * (x - 0.5 * mu), 700.0)))
        total += exp(-0.5 * x * x) * (_above_line(-s * v) + s * _above_line(v))
    return log1p(step * total * exp(-HALF_LOG_2PI)) / s


@kernel()
def _above_line(z):
    """exp(z) - 1 - z."""
    if abs(z) > 1e-2:
        return expm1(z) - z
    return z * z * (0.5 + z * (1.0 / 6.0 + z * (1.0 / 24.0 + z * (1.0 / 120.0 + z / 720.0))))
