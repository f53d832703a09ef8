"""The sharper bound's theorem (docs/sharp.md) step by step, for whatever fractions it is given. No
package code.

It evaluates, and does not look for anything: what the accountant found must be no better than this
says.
"""

from dataclasses import dataclass
from functools import cache
from math import inf, log, nextafter, pi, sqrt

import numpy as np
from mpmath import mp, mpf
from scipy.optimize import minimize_scalar


@cache
def moments(K, d, order):
    """(o, g), rounded up: E[(1-gamma)^order] and E[gamma^order] of Beta(K/2, (d-K)/2), to the power
    1/(2 order).
    """
    return tuple(nextafter(float(x), inf) for x in exact_moments(K, d, order))


def exact_moments(K, d, order):
    """o and g from log-gammas with digits to spare."""
    with mp.workdps(60):
        K, d, order = mpf(K), mpf(d), mpf(order)

        def moment(a):  # of Beta(a, d/2 - a)
            return (
                mp.loggamma(a + order)
                - mp.loggamma(a)
                + mp.loggamma(d / 2)
                - mp.loggamma(d / 2 + order)
            )

        return mp.exp(moment((d - K) / 2) / (2 * order)) if K < d else mpf(0), mp.exp(
            moment(K / 2) / (2 * order)
        )


def log_chance_of_spans(K, d, T, total):
    """Of T shares of vectors' squares, each seen by a span of its own, to add up to `total` or
    more: the least bound on the logarithm by exponential moments or by norms.
    """
    a, b, x = K / 2, (d - K) / 2, total / T
    if x <= K / d:
        return 0.0

    def exponential(log_z):
        with mp.workdps(30):
            return float(
                T * mp.log(mp.hyp1f1(a, d / 2, mp.exp(log_z), maxterms=10**7))
                - mp.exp(log_z) * total
            )

    def norm(order):
        return 2 * order * (log(exact_moments(K, d, order)[1]) - log(x) / 2)

    if x >= 1:
        return -inf
    z = log(b / (1 - x) - a / x)  # about where the first is least
    orders = np.unique(np.geomspace(x * np.exp(z) / 5, x * np.exp(z) * 5, 80).round())
    by_norms = min(norm(int(order)) for order in orders if order > 0)
    return min(
        0.0, by_norms, minimize_scalar(exponential, bounds=(z - 2, z + 2), method="bounded").fun
    )


@cache
def log_chances(K, d, order):
    """Logarithms of the chances of a Beta-binomial variable, order trials, Beta(K/2, (d-K)/2); K <
    d.
    """
    with mp.workdps(40):
        a, b = mpf(K) / 2, mpf(d - K) / 2
        # of none
        chance = mp.exp(
            mp.loggamma(b + order)
            - mp.loggamma(b)
            + mp.loggamma(a + b)
            - mp.loggamma(a + b + order)
        )
        logs = [float(mp.log(chance))]
        for i in range(order):
            chance *= (order - i) * (a + i) / ((i + 1) * (b + order - i - 1))
            logs.append(float(mp.log(chance)))
        return np.array(logs)


def norm(K, d, order, A, C):
    """(J, its slopes in A and C): E[(A (1-gamma) + C gamma)^order]^(1/order), C to include the
    drift's constant.
    """
    if K == d:
        return C, 0.0, 1.0
    i = np.arange(order + 1)
    if A == 0 and C == 0:
        return 0.0, 0.0, 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second = (
            np.where(i < order, (order - i) * np.log(A), 0.0),
            np.where(i > 0, i * np.log(C), 0.0),
        )
    logs = log_chances(K, d, order) + first + second
    top = logs.max()
    terms = np.exp(logs - top)
    J = float(np.exp((np.log(terms.sum()) + top) / order))
    share = float((terms * i).sum() / terms.sum() / order)  # C J_C/J
    return J, (1 - share) * J / A if A > 0 else 0.0, share * J / C if C > 0 else 0.0


# the accountant's and more between them: its lines are not below those between neighbours here
RAYS = np.linspace(-1, 1, 641)


@cache
def hull(K, d, order, ratio, apart):
    """At rays (1 - t, t): t, and the lower hull of J and of another bound at (1 - t, ratio t): of J
    times its growth for linear models, and of the norms of both parts added up for an idle clip,
    `apart`.
    """
    with mp.workdps(40):
        half, many = mpf(d - 1) / 2, mpf(order)
        product = (
            mp.loggamma(half + many)
            - mp.loggamma(half)
            + mp.loggamma(2 * half)
            - mp.loggamma(2 * half + many)
        )
        kappa = mp.exp(2 * mp.loggamma(mpf(d) / 2) - mp.loggamma(half) - mp.loggamma(half + 1))
        growth = float(2 * mp.exp(product / many) / kappa**2)
    x = np.exp(RAYS * (4 + 14 * RAYS**6))
    t = np.concatenate([[0.0], x[1:-1] / (1 + x[1:-1]), [1.0]])
    o, g = moments(K, d, order)
    other = [
        (1 - c) * o**2 + ratio * c * g**2
        if apart
        else growth * norm(K, d, order, 1 - c, ratio * c)[0]
        for c in t
    ]
    values = [
        min(norm(K, d, order, 1 - c, c)[0], second) for c, second in zip(t, other, strict=True)
    ]
    kept = []
    for k in range(t.size):
        while len(kept) > 1 and values[kept[-1]] >= np.interp(
            t[kept[-1]], t[[kept[-2], k]], [values[kept[-2]], values[k]]
        ):
            kept.pop()
        kept.append(k)
    return t[kept], np.array(values)[kept]


def hull_norm(K, d, order, ratio, apart, A, C):
    """`norm` for linear models whose clip may act, C to include the constant of any such clip;
    `apart` for an idle one.
    """
    t, values = hull(K, d, order, ratio, apart)
    k = min(max(int(np.searchsorted(t, C / (A + C))), 1), t.size - 1)
    slope = (values[k] - values[k - 1]) / (t[k] - t[k - 1])
    of_A = values[k - 1] - slope * t[k - 1]
    J, J_A, J_C = norm(K, d, order, A, C)
    line = A * of_A + C * (of_A + slope)
    return (line, of_A, of_A + slope) if line < J else (J, J_A, J_C)


def curvatures(s):
    """The least and the largest curvature of what is clipped."""
    top = s.M - s.ridge
    return {"non-convex": -top, "convex": 0.0, "strongly-convex": s.m - s.ridge}[s.regime], top


def drift_constant(s, order, acting=False, points=20001):
    """c^2 of the span's drift: by brute force over the circle of difference quotients, and the disc
    of drifts.
    """
    step, (low, top) = s.eta / s.K, curvatures(s)
    r, middle, radius = 1 - step * s.ridge, step * (top + low) / 2, step * (top - low) / 2
    if s.d == 1:
        return max(abs(r) if acting else 0.0, abs(r - step * top), abs(r - step * low)) ** 2
    if s.K == s.d and not acting:
        return (abs(r - middle) + radius) ** 2
    kappa = sqrt((s.d - 1.5) / (s.d + 2 * order - 1.36))
    angle = np.linspace(0, pi, points)
    q1, q2 = r - middle - radius * np.cos(angle), radius * np.sin(angle) / kappa
    squares = q1 * q1 + q2 * q2
    apart, across = r * r - squares, 2 * np.abs(r * q2)
    clipped = (r * r + squares) / 2 + (across + apart * np.arctan2(apart, across)) / pi
    return float(np.max(clipped if acting else squares))


@dataclass(frozen=True)
class Step:
    """One step's numbers: norm and drift's constant; what record and remainder add, w to the
    distance and w_f to the cost, w_0 and w_0f at distance 0; the tail's factor; the noise
    variances.
    """

    K: int
    d: int
    order: int
    c2: float
    w: float
    w_f: float
    w_0: float
    w_0f: float
    f: float
    S: float
    s2: float
    # of linear models: their constant's square over c2; or of an idle clip, the one that is certain
    ratio: float | None = None
    apart: bool = False

    def norm(self, A, C):
        """J and its slopes, C to include c2."""
        if self.ratio is None:
            return norm(self.K, self.d, self.order, A, C)
        return hull_norm(self.K, self.d, self.order, self.ratio, self.apart, A, C)

    @classmethod
    def of(cls, s, beta, order, delta_f, sensitivity="clip", acting=False, by_form=False):
        f = delta_f ** (-1 / (2 * order)) if delta_f > 0 else 1.0
        s2 = s.eta**2 * (1 - beta) * s.sigma**2 / s.d
        S = s.eta**2 * beta * s.sigma**2 / s.K + s2
        low, top = curvatures(s)
        remainder = s.eta * (top - low) / 2 * s.xi / sqrt(s.K)
        if s.linear and low <= 0 and s.d > 1:
            remainder = 0.0 if acting and low == 0 else remainder / sqrt(s.K)
        B = 2 * s.eta * s.clip / (s.n * sqrt(s.K))
        c2 = drift_constant(s, order, acting)
        w = w_f = B + remainder
        w_0 = w_0f = B
        if sensitivity == "least":
            data, own, g = (
                2 * s.eta * s.clip / (s.n * s.K),
                remainder / s.n,
                moments(s.K, s.d, order)[1],
            )
            tail = min(f * g, 1.0)  # a projection shortens by g in the moment, and never lengthens
            w, w_f = min(g * data, B) + remainder, min(tail * data, B) + remainder
            w_0, w_0f = min(g * data + own, B), min(tail * data + own, B)
        r, step = 1 - s.eta / s.K * s.ridge, s.eta / s.K
        certain = max(abs(r) if acting else 0.0, abs(r - step * top), abs(r - step * low)) ** 2
        apart = not acting and 1 < s.d > s.K and certain < c2 * (1 - 1e-9)
        return cls(
            s.K,
            s.d,
            order,
            c2,
            w,
            w_f,
            w_0,
            w_0f,
            f,
            S,
            s2,
            certain / c2 if by_form or apart else None,
            apart,
        )


def backward(step, start, alpha, pi, drift):
    """(rho, slopes of J at every step) of the theorem, the splits of (drift + w)^2 made for these
    drifts.
    """
    v, worth, paid, slopes = 0.0, 0.0, 0.0, []
    for t in range(len(pi) - 1, -1, -1):
        a, p, x = alpha[t], pi[t], drift[t]
        if t == 0 and start == 0:
            worth += v * ((1 - p) * step.w_0) ** 2
            paid += (p * step.w_0f) ** 2 / step.S
            slopes.append((0.0, 0.0))
            continue
        worth += v * (1 - p) ** 2 * step.w * (step.w + x)
        paid += p * p * step.w_f * (step.w_f + step.f * x) / step.S
        A = (a * a / step.s2 if a > 0 and step.K < step.d else 0.0) + v * (1 - a) ** 2
        C = p * p / step.S * (1 + step.w_f / (step.f * x)) + v * (1 - p) ** 2 * (1 + step.w / x)
        v, J_A, J_C = step.norm(A, C * step.c2)
        slopes.append((J_A, J_C * step.c2))
    return 0.5 * (step.f**2 * (v * start**2 + worth) + paid), slopes[::-1]


def budget(step, start, alpha, pi, rounds=30):
    """(rho, distances) of the theorem under the fractions; the last step's must both be 1. The
    splits come from rounds over the distances that J's slopes lead to: any would do, these are
    stationary.
    """
    least, best = inf, None
    drift = np.full(len(pi), max(start, step.w) * sqrt(step.c2 * step.K / step.d))
    for _ in range(rounds):
        rho, slopes = backward(step, start, alpha, pi, drift)
        z = [start]
        for t, (J_A, G) in enumerate(slopes):
            x, w = sqrt(G) * z[t], step.w_0 if z[t] == 0 else step.w
            drift[t] = max(x, 1e-6 * step.w)
            z.append(sqrt((1 - alpha[t]) ** 2 * J_A * z[t] ** 2 + (1 - pi[t]) ** 2 * (x + w) ** 2))
        if rho < least:
            least, best = rho, z
    return least, best
