"""Convert a Gaussian shift budget into epsilon and delta (docs/bounds.md, "From a budget")."""

import sys
from math import erf, erfc, exp, expm1, inf, log, log1p, sqrt

from zoexplore.bounds.kernels.compiling import elementwise, kernel

SQRT_2, SQRT_PI_2, SQRT_2PI = (
    sqrt(2.0),
    sqrt(3.141592653589793 / 2.0),
    sqrt(2.0 * 3.141592653589793),
)

# pays for the rounding of Newton's last step and of the sums before it, a few units in the last
# place
ROUND_UP = 1.0 + 1e-12
LEAST_DELTA = 1e-290  # below this delta, densities lose digits, and Mironov's form is used
LEAST_POSITIVE = sys.float_info.min  # replaces smaller positive numbers, which lose digits
MIRONOV, CKS, GAUSSIAN = 0, 1, 2  # indices of the conversions


@kernel()
def _mills(x):
    """Return Mills' ratio Phi(-x)/phi(x)."""
    if x < 8.0:
        return SQRT_PI_2 * exp(0.5 * x * x) * erfc(x / SQRT_2)
    tail = x
    # Laplace's continued fraction, with enough terms for the last digits
    for j in range(13 if x < 16.0 else 8, 0, -1):
        tail = x + j / tail
    return 1.0 / tail


@kernel()
def _mills_drop(a, mu):
    """Return Mills' ratio at a minus the ratio at a + mu, without losing digits for small mu."""
    # Taylor's series at the middle: the ratio's derivative is -f, f = 1 - x mills(x), with
    # f' = x f - mills and f^(k) = k f^(k-2) + x f^(k-1)
    h = 0.5 * mu
    x = a + h
    ratio = _mills(x)
    f = 1.0 - x * ratio
    before, now = f, x * f - ratio
    total, power = f, 1.0
    for k in range(2, 9):
        before, now = now, k * before + x * now
        power *= h / k
        if k % 2 == 0:
            total += power * h / (k + 1) * now
    return mu * total


@kernel()
def shifted(epsilon, mu):
    """Return delta at epsilon for a Gaussian shift by mu deviations, and minus delta's slope in
    epsilon.
    """
    a = epsilon / mu - 0.5 * mu
    density, far = exp(-0.5 * a * a) / SQRT_2PI, _mills(a + mu)
    if a < -1.0:  # here mu > 2 and the second term is small: no cancellation, and no overflow
        return 0.5 * erfc(a / SQRT_2) - density * far, density * far
    return density * (_mills(a) - far if mu > 0.2 else _mills_drop(a, mu)), density * far


@elementwise
def gaussian_delta(rho, epsilon):
    """Return the exact delta at epsilon for a Gaussian shift budget rho, rounded up (Balle and Wang
    2018).
    """
    if rho <= 0.0 or epsilon == inf:
        return 0.0
    mu = sqrt(2.0 * rho)
    delta, _ = shifted(epsilon, mu)
    if delta < LEAST_POSITIVE:
        return LEAST_POSITIVE
    # The argument a of the normal tails has an error of about 1e-16 (epsilon/mu + mu). The relative
    # error of a tail is max(|a|, 1) times as large.
    far = max(abs(epsilon / mu - 0.5 * mu), 1.0) * (epsilon / mu + mu)
    return min(1.0, delta * (ROUND_UP + 4e-16 * far))


@kernel()
def _mironov(rho, delta):
    """Return the least epsilon over real orders by the Renyi conversion of Mironov 2017."""
    return (rho + 2.0 * sqrt(-rho * log(delta))) * ROUND_UP


@kernel()
def _gaussian(rho, delta):
    """Return the exact epsilon at delta for a Gaussian shift budget rho, from above (Balle and Wang
    2018).

    delta(epsilon) = E[(1 - exp(epsilon - L))_+], L Gaussian, is log-concave (Prekopa). Every
    tangent of log delta lies above log delta, so each Newton step ends at the root or to its right,
    which is safe, whatever the start.
    """
    if 0.0 < rho and delta < LEAST_DELTA:
        return _mironov(rho, delta)
    mu = sqrt(2.0 * rho)
    if rho <= 0.0 or erf(mu / (2.0 * SQRT_2)) * ROUND_UP <= delta:
        return 0.0
    # a rational guess at the normal quantile (Abramowitz, Stegun 26.2.23)
    t = sqrt(-2.0 * log(min(delta, 0.5)))
    quantile = t - (2.515517 + t * (0.802853 + t * 0.010328)) / (
        1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308))
    )
    epsilon = max(0.0, mu * (quantile + 0.5 * mu))
    target = log(delta)
    for _ in range(60):
        value, fall = shifted(epsilon, mu)
        if value <= 0.0:  # epsilon is so large that delta underflows
            epsilon *= 0.5
            continue
        slope = fall / value
        step = (log(value) - target) / slope
        epsilon = max(0.0, epsilon + step)
        noise = 1e-14 / slope  # how far a rounding error of delta moves the root
        # Newton converges quadratically: the remaining error is below the rounding
        if abs(step) <= 1e-8 * epsilon + noise:
            return (epsilon + noise) * ROUND_UP
    return _mironov(rho, delta)  # Newton did not converge; this looser form is sound


@kernel()
def _cks_excess(rho, delta):
    """Return u = alpha - 1 for the best order in Canonne, Kamath, Steinke 2020, Proposition 12;
    rho > 0.

    The derivative is rho - (ln(1/delta) - log1p(u))/u^2, so the best order solves the increasing
    equation rho u^2 + log1p(u) = ln(1/delta). Every order is sound, so the root need not be exact.
    """
    loss = -log(delta)
    low, high = 0.0, min(sqrt(loss / rho), expm1(min(loss, 700.0)))
    u = high
    for _ in range(100):
        excess = rho * u * u + log1p(u) - loss
        if excess > 0.0:
            high = u
        else:
            low = u
        newton = u - excess / (2.0 * rho * u + 1.0 / (1.0 + u))
        newton = newton if low < newton < high else 0.5 * (low + high)
        if abs(newton - u) <= 1e-12 * u:
            break
        u = newton
    return u


@kernel()
def _cks(rho, delta):
    """Return the least epsilon over real orders by Canonne, Kamath, Steinke 2020, Proposition 12,
    never below 0.
    """
    if rho <= 0.0:
        return 0.0
    u = _cks_excess(rho, delta)
    gain = log1p(1.0 / u)
    cost = rho * (1.0 + u) + (-log(delta) - log1p(u)) / u
    return max(0.0, cost * ROUND_UP - gain / ROUND_UP)


@kernel()
def scalar_epsilon(conversion, rho, delta):
    """Return epsilon at delta for a Gaussian budget rho, by the conversion of that index."""
    if not (rho < inf and delta > 0.0):
        return inf
    if conversion == MIRONOV:
        return _mironov(rho, delta)
    return _cks(rho, delta) if conversion == CKS else _gaussian(rho, delta)


@elementwise
def epsilon(conversion, rho, delta):
    """Apply `scalar_epsilon` to arrays."""
    return scalar_epsilon(int(conversion), rho, delta)
