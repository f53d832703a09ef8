"""The bounds once more, written from their mathematics with scipy alone and without care for speed.

Nothing here imports the package's bounds. Settings are read through their fields only.
"""

from dataclasses import dataclass
from math import erfc, exp, inf, log, log1p, sqrt

import numpy as np
from scipy import optimize, special

# ---------------------------------------------------------------- section 1


def lipschitz(s, step):
    if s.regime == "non-convex":
        return 1 + step * s.M
    if s.regime == "convex":
        return 1.0 if step <= 2 / s.M else step * s.M - 1
    return 1 - step * s.m if step <= 1 / s.M else max(abs(1 - step * s.m), abs(1 - step * s.M))


def variances(s):
    """s1, s2: the step's noise along the directions (beside s2), and everywhere."""
    return s.eta**2 * s.beta * s.sigma**2 / s.K, s.eta**2 * (1 - s.beta) * s.sigma**2 / s.d


# ---------------------------------------------------------------- section 2


def log_gaussian_delta(rho, epsilon):
    mu = sqrt(2 * rho)
    first, second = (
        special.log_ndtr(mu / 2 - epsilon / mu),
        epsilon + special.log_ndtr(-mu / 2 - epsilon / mu),
    )
    return first + log1p(-exp(min(second - first, -1e-16)))


def epsilon_of(rho, delta, conversion):
    """By the book; a few digits suffice."""
    if not rho < inf or not delta > 0:
        return inf
    loose = rho + 2 * sqrt(rho * log(1 / delta))
    if conversion == "mironov" or rho == 0:
        return loose
    if conversion == "cks":

        def cost(log_u):
            u = exp(log_u)
            return (1 + u) * rho + (log(1 / delta) - log1p(u)) / u - log1p(1 / u)

        start = 0.5 * log(log(1 / delta) / rho)
        return max(0.0, optimize.minimize_scalar(cost, (start - 1, start + 1), tol=1e-12).fun)
    if 1 - erfc(sqrt(rho) / 2) <= delta:
        return 0.0
    return optimize.brentq(
        lambda e: log_gaussian_delta(rho, e) - log(delta), 0, loose, xtol=1e-300, rtol=1e-12
    )


# ---------------------------------------------------------------- sections 3, 4, 6, 8


def composition_rho(s):
    return s.T * (2 * s.clip / s.n) ** 2 / (2 * s.sigma**2 * (s.beta + (1 - s.beta) * s.K / s.d))


def output_perturbation_rho(s):
    """The worst angle between the distance 2R and the span, by brute force."""
    s1, s2 = variances(s)
    moved = 2 * s.eta * s.clip / sqrt(s.K)
    stretch = max(1.0, abs(1 - s.eta * s.ridge / s.K))  # the ridge's step, which is not clipped

    def cost(x):
        beside = (2 * s.R) ** 2 * (1 - x * x) / s2 if x < 1 else 0.0
        return 0.5 * ((2 * s.R * stretch * x + moved) ** 2 / (s1 + s2) + beside)

    if s.K == s.d:
        return cost(1.0)
    grid = np.linspace(0, 1, 2001)
    best = grid[int(np.argmax([cost(x) for x in grid]))]
    found = optimize.minimize_scalar(
        lambda x: -cost(x),
        bounds=(max(0, best - 1e-3), min(1, best + 1e-3)),
        method="bounded",
        options={"xatol": 1e-12},
    )
    return max(-found.fun, cost(best))


def tail(theta, K, d):
    return 2 * exp(-3 * theta**2 * d * K / (12 * (d - K) + 8 * theta * (d - 2 * K)))


def corollary_rho(s):
    """The least over every N that half of delta allows; inf where it allows none."""
    c = lipschitz(s, s.eta / s.K)
    p = tail((1 - c * c) / (1 + c * c), s.K, s.d)
    N = np.arange(1, s.T + 1)
    N = N[N * p <= s.delta / 2]
    if not len(N):
        return inf
    first = N * (2 * s.clip / s.n) ** 2 / (s.beta * s.sigma**2)
    return float(
        np.min(first + 2 * (2 * s.R) ** 2 * s.d / ((1 - s.beta) * N * s.eta**2 * s.sigma**2))
    )


def noisy_gd_step(s):
    """c, sensitivity and noise variance per coordinate."""
    return lipschitz(s, s.eta / s.d), 2 * s.clip * s.eta / s.d / s.n, s.eta**2 * s.sigma**2 / s.d


def shifted_interpolation_rho(s):
    """1/2 (B^2/S) (1 - c^T)(1 + c)/((1 + c^T)(1 - c)) of Bok, Su, Altschuler 2024, c < 1."""
    c, B, S = noisy_gd_step(s)
    return 0.5 * B**2 / S * (1 - c**s.T) * (1 + c) / ((1 + c**s.T) * (1 - c))


# ---------------------------------------------------------------- section 5


@dataclass(frozen=True)
class Program:
    """Shifts a_t >= 0 that bring z_0 = start to 0 by z_{t+1} = c1 z_t + c2 - a_t >= 0, at the least
    cost of N steps: sum of data/beta_t + shift a_t^2/(1 - beta_t); beta None is a free share in
    every step.
    """

    N: int
    c1: float
    start: float
    c2: float
    data: float
    shift: float
    beta: float | None

    def weights(self):
        """w_t with: z_N = 0 is sum w_t (a_t - c2) = start; scaled by c1^-N where that keeps them at
        most 1.
        """
        t = np.arange(self.N)
        if self.c1 <= 1:
            return self.c1 ** (self.N - 1.0 - t), self.start * self.c1**self.N
        return self.c1 ** (-1.0 - t), self.start

    def least(self):
        """The optimum by its conditions: shifts proportional to the weights, but for those held at
        their floor.
        """
        w, need = self.weights()
        if self.beta is not None:
            excess = water_filling(w, need, self.c2 if self.c1 > 1 else 0.0, self.c2)
            return self.N * self.data / self.beta + self.shift / (1 - self.beta) * float(
                np.sum(excess**2)
            )
        # for a given a the best share makes the cost data (1 + r a)^2
        r = sqrt(self.shift / self.data)
        x = water_filling(w, r * need, 1 + r * self.c2 if self.c1 > 1 else 1.0, 1 + r * self.c2)
        return self.data * float(np.sum(x**2))

    def least_by_solver(self):
        """The optimum by a solver that knows the constraints only: variables a (in units of cost)
        and shares.
        """
        N, r = self.N, sqrt(self.shift / self.data)
        z_unit = r * max(self.start, self.c2)
        free = self.beta is None

        def cost(v):
            a, b = v[:N], v[N : 2 * N] if free else self.beta
            return float(np.sum(1 / (b + np.zeros(N)) + a**2 / (1 - b)))

        def slope(v):
            a, b = v[:N], v[N : 2 * N] if free else self.beta
            by_a = 2 * a / (1 - b)
            return np.concatenate([by_a, -1 / b**2 + a**2 / (1 - b) ** 2]) if free else by_a

        # z_{t+1} is linear in a: rows of `carry` say how
        t = np.arange(N)
        carry = np.where(
            t[None, :] <= t[:, None], self.c1 ** np.maximum(t[:, None] - t[None, :], 0.0), 0.0
        )
        fixed = (self.start * self.c1 ** (t + 1.0) + self.c2 * carry.sum(axis=1)) * r
        unit = z_unit * max(1.0, self.c1) ** N

        def distances(v):
            return (fixed - carry @ v[:N]) / unit

        jacobian = np.hstack([-carry, np.zeros((N, N))] if free else [-carry]) / unit
        constraints = [
            {"type": "eq", "fun": lambda v: distances(v)[-1:], "jac": lambda v: jacobian[-1:]}
        ]
        if N > 1:
            constraints.append(
                {"type": "ineq", "fun": lambda v: distances(v)[:-1], "jac": lambda v: jacobian[:-1]}
            )
        even = (
            self.start * (self.c1 - 1) / (1 - self.c1**-N) if self.c1 > 1 else self.start / N
        ) + self.c2
        bounds = [(0, None)] * N + [(1e-9, 1 - 1e-9)] * (N if free else 0)
        start = (
            np.concatenate([np.full(N, even * r), np.full(N, 0.5)])
            if free
            else np.full(N, even * r)
        )
        found = optimize.minimize(
            cost,
            start,
            jac=slope,
            bounds=bounds,
            constraints=constraints,
            method="SLSQP",
            options={"maxiter": 2000, "ftol": 1e-14},
        )
        return self.data * found.fun


def water_filling(w, need, floor, base):
    """The x >= floor with the least sum of squares and sum w (x - base) = need: x = max(floor, nu
    w).
    """
    order = np.sort(w)[::-1]
    sums, squares = np.cumsum(order), np.cumsum(order**2)
    rest = sums[-1] - sums
    # if the m largest weights are above the floor
    nu = (need + base * sums[-1] - floor * rest) / squares
    following = np.append(order[1:], 0.0)
    m = int(np.argmax(nu * following <= floor * (1 + 1e-13)))
    return np.maximum(floor, nu[m] * w)


def theta_for(p, K, d):
    """The deviation that a step exceeds with probability p, by a root finder."""
    top = 1.0
    while tail(top, K, d) > p:
        top *= 2
    return optimize.brentq(
        lambda theta: log(tail(theta, K, d) or 5e-324) - log(p), 0, top, xtol=1e-15, rtol=1e-14
    )


def theta_by_formula(p, K, d):
    """The same, over arrays, as the larger root of 3 d K x^2 - 8 (d - 2K) L x - 12 (d - K) L = 0, L
    = ln(2/p).
    """
    L = np.log(2 / p)
    lin = 8 * (d - 2 * K) * L
    return (lin + np.sqrt(lin**2 + 4 * 3 * d * K * 12 * (d - K) * L)) / (6 * d * K)


def theorem_program(s, N, delta_f, schedule, theta=theta_by_formula):
    c = lipschitz(s, s.eta / s.K)
    ratio = s.K / s.d
    c1 = sqrt(1 - (1 - c * c) * ratio + theta(delta_f / N, s.K, s.d) * (1 + c * c) * ratio)
    return Program(
        N=N,
        c1=c1,
        start=min(2 * s.R, 2 * s.eta * s.clip * (s.T - N) / sqrt(s.K)),
        c2=s.eta * s.M * s.xi,
        data=(2 * s.clip / s.n) ** 2 / (2 * s.sigma**2),
        shift=s.d / (2 * s.eta**2 * s.sigma**2),
        beta=None if schedule == "optimal" else s.beta,
    )


def theorem_epsilon(s, accounting, splits, steps=None):
    """The least epsilon over every number of counted steps and a fine grid of splits of delta."""
    step = (2 * s.clip / s.n) ** 2 / (2 * s.sigma**2)
    free = accounting.schedule == "optimal"
    best = epsilon_of(s.T * step / (1.0 if free else s.beta), s.delta, accounting.conversion)
    if not free and s.beta == 1:
        return best
    for split in splits:
        delta_f = split * s.delta
        rho = inf
        for N in range(1, s.T) if steps is None else steps:
            if N * step / (1.0 if free else s.beta) >= rho:
                break
            rho = min(rho, theorem_program(s, N, delta_f, accounting.schedule).least())
        best = min(best, epsilon_of(rho, s.delta - delta_f, accounting.conversion))
    return best
