"""The sharper bound's theorem (BOUNDS section 7) step by step, for whatever fractions it is given. No package code.

It evaluates, and does not look for anything: what the accountant found must be no better than this says.
"""

from dataclasses import dataclass
from functools import cache
from math import inf, nextafter, sqrt

import numpy as np
from mpmath import mp, mpf
from scipy.optimize import minimize


@cache
def moments(K, d, order):
    """(o, g), rounded up: E[(1-upsilon)^order] and E[gamma^order] of Beta(K/2, (d-K)/2), to the power 1/(2 order)."""
    return tuple(nextafter(float(x), inf) for x in exact_moments(K, d, order))


def exact_moments(K, d, order):
    """o and g from log-gammas with digits to spare."""
    with mp.workdps(60):
        K, d, order = mpf(K), mpf(d), mpf(order)

        def moment(a):  # of Beta(a, d/2 - a)
            return mp.loggamma(a + order) - mp.loggamma(a) + mp.loggamma(d / 2) - mp.loggamma(d / 2 + order)

        return mp.exp(moment((d - K) / 2) / (2 * order)) if K < d else mpf(0), mp.exp(moment(K / 2) / (2 * order))


def order_for_data(s, delta_f):
    """The order that makes a step's data least where they alone are random: composition, "lipschitz" sensitivity."""
    orders = {round(1.25**k) for k in range(48)}
    return min(orders, key=lambda order: delta_f ** (-1 / (2 * order)) * moments(s.K, s.d, order)[1])


def lipschitz(s):
    """The Lipschitz constant of w - (eta/K) grad L(w)."""
    step = s.eta / s.K
    if s.regime == "non-convex":
        return 1 + step * s.M
    m = s.m if s.regime == "strongly-convex" else 0.0
    return max(abs(1 - step * m), abs(1 - step * s.M))


@dataclass(frozen=True)
class Step:
    """One step's numbers: the span part is at most u z + w, in the tail f u z + w_f; w_0 and w_0f at z = 0."""

    o: float
    u: float
    w: float
    w_f: float
    w_0: float
    w_0f: float
    f: float
    S: float
    s2: float

    @classmethod
    def of(cls, s, beta, order, delta_f, sensitivity="clip"):
        o, g = moments(s.K, s.d, order)
        f = delta_f ** (-1 / (2 * order))
        s2 = s.eta**2 * (1 - beta) * s.sigma**2 / s.d
        S = s.eta**2 * beta * s.sigma**2 / s.K + s2
        remainder = s.eta * s.M * s.xi / sqrt(s.K)
        B = 2 * s.eta * s.clip / (s.n * sqrt(s.K))
        if sensitivity == "lipschitz":
            data, own = 2 * s.eta * s.clip / (s.n * s.K), remainder / s.n
            usual, in_tail = g * data, min(f * g, 1.0) * data  # a projection shortens by g in the moment, and never lengthens
            return cls(
                o, lipschitz(s) * g, usual + remainder, in_tail + remainder, min(usual + own, B), min(in_tail + own, B), f, S, s2
            )
        return cls(o, lipschitz(s) * g, B + remainder, B + remainder, B, B, f, S, s2)


def budget(step, start, alpha, pi):
    """(rho, distances) of the theorem under the fractions; the last step's must both be 1."""
    z, cost, distances = start, 0.0, [start]
    for a, p in zip(alpha, pi, strict=True):
        w, w_f = (step.w_0, step.w_0f) if z == 0 else (step.w, step.w_f)
        cost += (p * (step.f * step.u * z + w_f)) ** 2 / step.S
        cost += (a * step.o * step.f * z) ** 2 / step.s2 if a * z > 0 else 0.0
        z = sqrt(((1 - a) * step.o * z) ** 2 + ((1 - p) * (step.u * z + w)) ** 2)
        distances.append(z)
    return cost / 2, distances


def slopes(step, start, alpha, pi):
    """(rho, d rho/d alpha, d rho/d pi), by going back through the distances' squares."""
    rho, z = budget(step, start, alpha, pi)
    of_alpha, of_pi, kappa = np.zeros(len(pi)), np.zeros(len(pi)), 0.0  # kappa: d rho/d z_{t+1}^2
    for t in range(len(pi) - 1, -1, -1):
        w, w_f = (step.w_0, step.w_0f) if z[t] == 0 else (step.w, step.w_f)
        o2, q, q_f = (step.o * z[t]) ** 2, step.u * z[t] + w, step.f * step.u * z[t] + w_f
        a, p, per_s2 = alpha[t], pi[t], step.f**2 / step.s2 if step.s2 > 0 else 0.0
        of_alpha[t] = a * o2 * per_s2 - 2 * kappa * (1 - a) * o2
        of_pi[t] = p * q_f**2 / step.S - 2 * kappa * (1 - p) * q**2
        if z[t] > 0:  # d/d z^2 = (d/dz)/(2z)
            own = 0.5 * (a * step.o) ** 2 * per_s2 + 0.5 * p**2 * q_f * step.f * step.u / (step.S * z[t])
            kappa = own + kappa * ((1 - a) ** 2 * step.o**2 + (1 - p) ** 2 * q * step.u / z[t])
    return rho, of_alpha, of_pi


def polished(step, start, alpha, pi, rounds=2000):
    """The least budget that a general optimiser finds from these fractions: a certificate, as any fractions are."""
    N = len(pi)
    if N == 1:
        return budget(step, start, alpha, pi)[0]
    unit = budget(step, start, alpha, pi)[0]

    def value(x):
        a, p = np.append(x[: N - 1], 1.0), np.append(x[N - 1 :], 1.0)
        rho, of_alpha, of_pi = slopes(step, start, a, p)
        return rho / unit, np.concatenate([of_alpha[:-1], of_pi[:-1]]) / unit

    x = np.concatenate([alpha[:-1], pi[:-1]])
    options = {"maxiter": rounds, "ftol": 1e-14, "gtol": 1e-12}
    found = minimize(value, x, jac=True, method="L-BFGS-B", bounds=[(0, 1)] * x.size, options=options)
    return min(found.fun, 1.0) * unit
