"""The sharper bound's recursion once more, step by step in NumPy and SciPy, from docs/sharp.md
alone: no blocks, no tables.

Lengths are in units of the noise of a step, eta sigma. Nothing here imports the package's bounds.
"""

from dataclasses import dataclass
from math import exp, inf, log, pi, sqrt

import numpy as np
from scipy import optimize, special

ORDERS = (4, 6, 8, 11, 14, 20, 28, 40, 60, 100)  # of norms


@dataclass(frozen=True)
class Step:
    """What a step does: r, and the range of eta/K times what is clipped's curvature; the record's
    part; the noise.
    """

    K: int
    d: int
    r: float
    low: float
    top: float
    acting: bool
    B: float
    e: float
    S: float
    s2: float

    @classmethod
    def of(cls, s):
        step = s.eta / s.K
        top = step * (s.M - s.ridge)
        low = {"non-convex": -top, "convex": 0.0, "strongly-convex": step * (s.m - s.ridge)}[
            s.regime
        ]
        B = (
            2
            * s.clip
            / (s.n * s.sigma * sqrt(s.K))
            * s.records_per_person
            * (0.5 if s.neighbours == "add-remove" else 1)
        )
        e = (top - low) * sqrt(s.K) * s.xi / (2 * s.eta * s.sigma)
        s2 = (1 - s.beta) / s.d
        acting = s.lipschitz is not None and s.lipschitz > s.clip
        return cls(s.K, s.d, 1 - step * s.ridge, low, top, acting, B, e, s.beta / s.K + s2, s2)

    @property
    def b(self):
        return self.B + self.e

    @property
    def k0(self):
        return abs(self.r - (self.top + self.low) / 2)

    @property
    def k1(self):
        return (self.top - self.low) / 2

    def kappa2(self, order):
        return (self.d - 1.5) / (self.d + 2 * order - 1.36)

    def c2(self, order):
        """c_lambda^2."""
        if self.d == 1:
            return self.c_certain**2
        kappa2 = self.kappa2(order)
        if not self.acting:
            if self.K == self.d or self.k0 >= self.k1 * (1 / kappa2 - 1):
                return (self.k0 + self.k1) ** 2
            return self.k1**2 / kappa2 + self.k0**2 / (1 - kappa2)
        at = np.linspace(0, pi, 2001)
        reach = self.k1 / np.cos(pi / 4000)  # a polygon around the circle
        q1, q2 = (
            self.r - (self.top + self.low) / 2 - reach * np.cos(at),
            reach * np.sin(at) / sqrt(kappa2),
        )
        squares, apart, across = (
            self.r**2 + q1**2 + q2**2,
            self.r**2 - q1**2 - q2**2,
            2 * np.abs(self.r * q2),
        )
        return np.max(0.5 * squares + (across + apart * np.arctan2(apart, across)) / pi)

    @property
    def c_certain(self):
        c = max(abs(self.r - self.low), abs(self.r - self.top))
        return max(c, abs(self.r)) if self.acting else c

    @property
    def c1(self):
        """What the drift's entries in all directions add up to, per sqrt(K) of them."""
        if self.d == 1:
            return self.c_certain
        if not self.acting:
            return self.k0 + self.k1
        at = np.linspace(0, pi, 2001)
        reach = self.k1 / np.cos(pi / 4000)
        h1, h2 = (self.top + self.low) / 2 + reach * np.cos(at), reach * np.sin(at)
        return 0.5 * np.max(np.hypot(2 * self.r - h1, h2) + np.hypot(h1, h2))

    # ------------------------------------------------------------ norms and moments

    def log_weights(self, order):
        """Of gamma^i (1-gamma)^(order-i) times the binomial, in expectation."""
        i = np.arange(order + 1)
        g = special.gammaln
        a, b = self.K / 2, (self.d - self.K) / 2
        binomial = g(order + 1) - g(i + 1) - g(order - i + 1)
        if self.K == self.d:
            return np.where(i == order, 0.0, -inf)
        return binomial + g(a + i) - g(a) + g(b + order - i) - g(b) + g(a + b) - g(a + b + order)

    def J(self, A, C, order):
        i = np.arange(order + 1)
        C = C * self.c2(order)
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = self.log_weights(order) + special.xlogy(order - i, A) + special.xlogy(i, C)
        return exp(special.logsumexp(terms) / order)

    def l1(self, order):
        """ell_lambda: what K entries of a random unit vector add up to; exact for few of them."""
        even = order + order % 2
        log_chi = (
            even / 2 * log(2) + special.gammaln((self.d + even) / 2) - special.gammaln(self.d / 2)
        )
        by_sum = inf
        if self.K <= 200 and even <= 60:
            i = np.arange(even + 1)
            one = np.exp(
                i / 2 * log(2)
                + special.gammaln((i + 1) / 2)
                - log(pi) / 2
                - special.gammaln(i + 1)
                - i * log(self.K)
            )
            power = np.eye(1, even + 1)[0]
            for _ in range(self.K):
                power = np.convolve(power, one)[: even + 1]
            by_sum = exp(
                (log(power[-1]) + special.gammaln(even + 1) - log_chi) / even + log(self.K)
            )
        u = np.geomspace(0.1, 10, 3000) * min(even / self.K, sqrt(even / self.K))
        costs = (
            even * (np.log(even / u) - 1)
            + self.K * (u * u / 2 + log(2) + special.log_ndtr(u))
            - log_chi
        )
        a, b = self.K / 2, self.d / 2
        seen = (
            special.gammaln(a + even / 2)
            - special.gammaln(a)
            + special.gammaln(b)
            - special.gammaln(b + even / 2)
        )
        return min(by_sum, exp(costs.min() / even), sqrt(self.K) * min(exp(seen / even), 1.0))


# ---------------------------------------------------------------- the plan


@dataclass(frozen=True)
class Plan:
    """Fractions and tau, from the first step to the last."""

    alpha: np.ndarray
    pi: np.ndarray
    tau: np.ndarray
    h: np.ndarray
    z0: float
    drift: np.ndarray | None = None


def plan(step, N, z0=0.0, start=1.0, order=None, rounds=8):
    """A Riccati recursion for the mean of the cost (or for its norm), tau carried forward; `start`
    times b^2 is the first h.
    """
    h = np.full(N, max(start * step.b**2, 1e-300 if not z0 else z0**2))
    for _ in range(rounds):
        alpha, pi_, o, g, cross = np.ones(N), np.ones(N), np.empty(N), np.empty(N), np.empty(N)
        v = 0.0
        tau = np.sqrt(h)
        for t in range(N - 1, -1, -1):
            if t < N - 1:
                alpha[t], pi_[t] = v / (v + 1 / step.s2) if step.s2 else 1.0, v / (v + 1 / step.S)
            A, C = (
                alpha[t] ** 2 / step.s2 + v * (1 - alpha[t]) ** 2,
                pi_[t] ** 2 / step.S + v * (1 - pi_[t]) ** 2,
            )
            if order is None:
                o[t], g[t] = 1 - step.K / step.d, step.c2(1) * step.K / step.d
                cross[t] = step.b * step.c1 * sqrt(2 * step.K / (pi * step.d))
            else:
                value, small = step.J(A, C, order), 1e-6
                o[t] = (step.J(A * (1 + small), C, order) - value) / (small * A)
                g[t] = (step.J(A, C * (1 + small), order) - value) / (small * C)
                cross[t] = step.b / sqrt(step.K) * step.c1 * step.l1(order)
            v = o[t] * A + g[t] * C + C * cross[t] / tau[t]
        new = np.empty(N)
        new[0] = z0**2
        for t in range(N - 1):
            kick = step.B if new[t] == 0 else step.b
            new[t + 1] = (1 - alpha[t]) ** 2 * o[t] * new[t] + (1 - pi_[t]) ** 2 * (
                g[t] * new[t] + 2 * cross[t] * sqrt(new[t]) + kick**2
            )
        new = np.maximum(new, 1e-6 * step.b**2)
        if not np.isfinite(new).all():
            break
        h = new
    return Plan(alpha, pi_, np.sqrt(h), h, z0, np.sqrt(g * h))


# ---------------------------------------------------------------- the recursion


def by_norm(step, p, order, times=1, splits=None):
    """(X, Y): the norm at the order of the cost beside what is certain; with a tilt, `splits`,
    squares of sums are split in place of what a cube allows.
    """
    v = w = Y = 0.0
    N = p.alpha.size
    beta = step.B / sqrt(step.K) * step.c1 * step.l1(order)
    for t in range(N - 1, -1, -1):
        A = (p.alpha[t] ** 2 / step.s2 if p.alpha[t] > 0 and step.K < step.d else 0.0) + v * (
            1 - p.alpha[t]
        ) ** 2
        C = p.pi[t] ** 2 / step.S + v * (1 - p.pi[t]) ** 2
        if t == 0 and p.z0 == 0:
            w, Y = w + v * (1 - p.pi[t]) ** 2 * step.B**2, Y + p.pi[t] ** 2 * step.B**2 / step.S
            v = 0.0
            break
        left, spent = v * (1 - p.pi[t]) ** 2, p.pi[t] ** 2 / step.S
        if splits is None:
            x = p.tau[t]
            psi = step.e / sqrt(p.drift[t] ** 2 + step.B**2) if step.e else 0.0
            b2 = (step.B + step.e) ** 2 + (step.e**2 / psi if step.e else 0.0)
            w += C * beta * x + left * b2
            Y += spent * b2
            v = step.J(A, C * (1 + psi), order) + C * beta / x
        else:
            x, f = p.drift[t], splits
            w += left * step.b * (step.b + x)
            Y += spent * step.b * (step.b + f * x)
            v = step.J(A, spent * (1 + step.b / (f * x)) + left * (1 + step.b / x), order)
    return times * (v * p.z0**2 + w), times * Y


# ---------------------------------------------------------------- delta


def delta_gaussian(epsilon, s):
    """The Gaussian profile at mu = sqrt(s)."""
    mu = np.sqrt(np.asarray(s, float))
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second = (
            special.log_ndtr(mu / 2 - epsilon / mu),
            epsilon + special.log_ndtr(-mu / 2 - epsilon / mu),
        )
        value = np.exp(first) * -np.expm1(np.minimum(second - first, 0.0))
    return np.where(mu > 0, value, 0.0)


def delta(epsilon, tails, cells=4000, least=1e-13):
    """The average of the profile over a tail, at most: `tails` are functions of levels, the s at
    which each falls to one.
    """
    levels = np.geomspace(1.0, least, cells + 1)
    s = np.min([tail(levels) for tail in tails], axis=0)
    return np.sum((levels[:-1] - levels[1:]) * delta_gaussian(epsilon, s[1:])) + levels[-1]


def power(X, Y, order):
    return lambda level: Y + X * level ** (-1 / order)


def epsilon(target, tails):
    if delta(0.0, tails) <= target:
        return 0.0
    high = 1.0
    while delta(high, tails) > target:
        high *= 2
    return optimize.brentq(
        lambda x: log(delta(x, tails)) - log(target), high / 2 if high > 1 else 0.0, high, rtol=1e-6
    )


def norm_form(s, N=None, z0=0.0, starts=(1.0, 900.0), plan_order=8, times=1):
    """epsilon of the norms."""
    step = Step.of(s)
    N = s.T if N is None else N
    best = inf
    for start in starts if not z0 else (1.0,):
        p = plan(step, N, z0, start, plan_order)
        best = min(
            best,
            epsilon(s.delta, [power(*by_norm(step, p, order, times), order) for order in ORDERS]),
        )
    return best
