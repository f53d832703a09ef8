"""Computes five bounds the plain way: one point at a time, with scipy's optimisers, and with closed
forms of sums where there are any.

The paper's formulas are written out directly. This module shares no code with the package.
"""

from math import ceil, erfc, exp, expm1, floor, inf, log, log1p, sqrt
from typing import Any

from scipy.optimize import brentq, minimize_scalar
from scipy.special import log_ndtr


def epsilon(s: Any, bound: str, schedule: str = "constant") -> Any:
    """Return epsilon by the exact Gaussian conversion."""
    return BOUNDS[bound](s, schedule)


def gaussian(rho: float, delta: float) -> Any:
    """Return the epsilon at which the Gaussian trade-off meets delta (Balle and Wang 2018)."""
    if not rho < inf:
        return inf
    if 1 - erfc(sqrt(rho) / 2) <= delta:
        return 0.0
    mu = sqrt(2 * rho)

    def excess(eps: float) -> Any:
        first, second = log_ndtr(mu / 2 - eps / mu), eps + log_ndtr(-mu / 2 - eps / mu)
        return first + log1p(-exp(min(second - first, -1e-16))) - log(delta)

    return brentq(excess, 0, rho + 2 * sqrt(rho * log(1 / delta)), xtol=1e-300, rtol=1e-10)


def least_whole(cost: Any, most: Any) -> Any:
    """Return (cost, N): the least cost over whole numbers N from 1 to `most`. A bounded search in
    log N finds a number, whose neighbours are then tried.
    """
    if most <= 2:
        return min((cost(N), N) for N in range(1, int(most) + 1))
    found = minimize_scalar(
        lambda x: cost(exp(x)), bounds=(0, log(most)), method="bounded", options={"xatol": 1e-4}
    ).x
    near = {min(most, max(1, N)) for N in (floor(exp(found)), ceil(exp(found)))} | {1, most}
    return min((cost(N), N) for N in near)


def lipschitz(s: Any, step: Any) -> Any:
    if s.regime == "non-convex":
        return 1 + step * s.M
    if s.regime == "convex":
        return max(1.0, step * s.M - 1)
    return max(abs(1 - step * s.m), abs(1 - step * s.M))


def clip_acts(s: Any) -> Any:
    return (
        s.regime == "strongly-convex" and s.m > s.ridge and (s.m - s.ridge) * (s.R + s.xi) > s.clip
    )


def data_cost(s: Any) -> Any:
    return (2 * s.clip / s.n) ** 2 / (2 * s.sigma**2)


def composition(s: Any, schedule: str) -> Any:
    return gaussian(s.T * data_cost(s) / (s.beta + (1 - s.beta) * s.K / s.d), s.delta)


def output_perturbation(s: Any, schedule: str) -> Any:
    if s.R == inf or (s.beta == 1 and s.K < s.d):
        return inf
    S = s.eta**2 * s.sigma**2 * (s.beta / s.K + (1 - s.beta) / s.d)
    s2 = s.eta**2 * s.sigma**2 * (1 - s.beta) / s.d
    moved = 2 * s.eta * s.clip / sqrt(s.K)

    def cost(x: float) -> Any:
        return 0.5 * (
            (2 * s.R * x + moved) ** 2 / S + (4 * s.R**2 * (1 - x * x) / s2 if x < 1 else 0)
        )

    worst = minimize_scalar(
        lambda x: -cost(x), bounds=(0, 1), method="bounded", options={"xatol": 1e-12}
    )
    return gaussian(cost(1) if s.K == s.d else max(-worst.fun, cost(1)), s.delta)


def corollary(s: Any, schedule: str) -> Any:
    c = lipschitz(s, s.eta / s.K)
    if clip_acts(s) or 2 * s.K > s.d or c >= 1 or s.R == inf or not 0 < s.beta < 1:
        return inf
    if s.xi > sqrt((1 - s.beta) / s.beta) * 2 * s.clip / (s.n * s.M * sqrt(2 * s.d)):
        return inf
    theta = (1 - c * c) / (1 + c * c)
    exponent = 3 * theta**2 * s.d * s.K / (12 * (s.d - s.K) + 8 * theta * (s.d - 2 * s.K))
    most = min(s.T, floor(s.delta / 4 * exp(min(exponent, 700))))
    if most < 1:
        return inf
    start = 2 * (2 * s.R) ** 2 * s.d / ((1 - s.beta) * s.eta**2 * s.sigma**2)
    return gaussian(
        least_whole(lambda N: 2 * N * data_cost(s) / s.beta + start / N, most)[0], s.delta / 2
    )


def geometric(kappa: float, count: int) -> Any:
    """Return 1 + q + ... + q^(count-1), where q = exp(kappa) <= 1."""
    return expm1(kappa * count) / expm1(kappa) if kappa < 0 else count


def squares(need: Any, kappa: float, N: int) -> Any:
    """Return the least sum of x_i^2 with x_i >= 1 and sum q^i (x_i - 1) = need. It is reached at
    x_i = max(1, nu q^i); a root finder finds nu.
    """

    def above(nu: float) -> Any:
        return N if kappa == 0 else min(N, max(1, ceil(log(nu) / -kappa)))

    def excess(nu: float) -> Any:
        m = above(nu)
        return nu * geometric(2 * kappa, m) - geometric(kappa, m) - need

    top = 2.0 + need
    while excess(top) < 0:
        top *= 2
    nu = brentq(excess, 1, top, rtol=1e-12) if need > 0 else 1.0
    m = above(nu)
    return (N - m) + nu**2 * geometric(2 * kappa, m)


def shifts(kappa: float, N: int, z: float, drift: Any) -> Any:
    """Return the least sum of a_t^2 that brings a distance z to 0 in N steps z <- exp(kappa) z +
    drift - a_t >= 0.
    """
    if kappa <= 0:
        return (z * exp(kappa * N) + drift * geometric(kappa, N)) ** 2 / geometric(2 * kappa, N)
    if drift == 0:
        return (z * exp(kappa)) ** 2 / geometric(-2 * kappa, N)
    return drift**2 * squares(z * exp(kappa) / drift, -kappa, N)


def both(kappa: float, N: int, z: float, drift: Any, ratio: Any) -> Any:
    """Return the same with the noise's shares free and the data's cost included: the least sum of
    (1 + sqrt(ratio) a_t)^2.
    """
    r = sqrt(ratio)
    if kappa <= 0:
        return squares(r * (z * exp(kappa * N) + drift * geometric(kappa, N)), kappa, N)
    unit = 1 + r * drift
    return unit**2 * squares(r * z * exp(kappa) / unit, -kappa, N)


def theorem(s: Any, schedule: str) -> Any:
    free = schedule == "optimal"
    if clip_acts(s) or 2 * s.K > s.d or (s.beta == 0 and not free):
        return inf
    data, shift = data_cost(s), s.d / (2 * s.eta**2 * s.sigma**2)
    best = gaussian(s.T * data / (1 if free else s.beta), s.delta)
    if s.T == 1 or (s.beta == 1 and not free):
        return best
    c, kick, drift = lipschitz(s, s.eta / s.K), 2 * s.eta * s.clip / sqrt(s.K), s.eta * s.M * s.xi

    def rho(N: int, delta_f: float) -> Any:
        z = min(2 * s.R, kick * (s.T - N))
        L = log(2 * N / delta_f)
        lin, const = 8 * (s.d - 2 * s.K) * L, 12 * (s.d - s.K) * L
        theta = (lin + sqrt(lin**2 + 12 * s.d * s.K * const)) / (6 * s.d * s.K)
        kappa = 0.5 * log1p((theta * (1 + c * c) - (1 - c * c)) * s.K / s.d)
        if free:
            return data * both(kappa, N, z, drift, shift / data)
        return N * data / s.beta + shift / (1 - s.beta) * shifts(kappa, N, z, drift)

    def at(share: float) -> Any:
        delta_f = share * s.delta
        ends = [least_whole(lambda N: rho(N, delta_f), s.T - 1)[0]]
        # the other end of the run: few steps uncounted
        if kick * (s.T - 1) < 2 * s.R or s.R == inf:
            ends.append(least_whole(lambda x: rho(s.T - x, delta_f), s.T - 1)[0])
        return gaussian(min(ends), s.delta - delta_f)

    split = minimize_scalar(
        lambda x: at(exp(x)),
        bounds=(log(1e-4), log(0.95)),
        method="bounded",
        options={"xatol": 1e-2},
    )
    return min(best, split.fun)


def noisy_gd(s: Any, schedule: str) -> Any:
    if clip_acts(s):
        return inf
    step = s.eta / s.d
    c, B, S = lipschitz(s, step), 2 * s.clip * step / s.n, s.eta**2 * s.sigma**2 / s.d
    kappa = log(c) if c > 0 else -700.0
    best = shifts(kappa, s.T, 0.0, B)
    if s.R < inf:
        best = min(best, least_whole(lambda N: shifts(kappa, N, 2 * s.R, B), s.T)[0])
    return gaussian(best / (2 * S), s.delta)


BOUNDS = {
    "composition": composition,
    "output-perturbation": output_perturbation,
    "corollary": corollary,
    "theorem": theorem,
    "noisy-gd": noisy_gd,
}
