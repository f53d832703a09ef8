"""What a constant of their own would give linear models whose clip acts: the statement in docs/sharp.md, and its figure."""

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

from tests.bounds.reference import epsilon_of
from zoexplore import Accounting, Setting, guarantee


def log_growth(d, order):
    """Logarithm of f_lambda, from the moments of one coordinate of a uniform direction, at the worst of many angles."""
    j = np.arange(order // 2 + 1)
    moment = gammaln(0.5 + j) - gammaln(0.5) - gammaln(d / 2 + j) + gammaln(d / 2)
    choose = gammaln(order + 1) - gammaln(2 * j + 1) - gammaln(order - 2 * j + 1)
    kappa = np.exp(2 * gammaln(d / 2) - gammaln((d - 1) / 2) - gammaln((d + 1) / 2))
    angle = np.linspace(0, np.pi / 2, 401)[1:-1, None]
    even = np.cos(angle) ** 2 + np.sin(angle) ** 2 / kappa**2
    terms = choose + moment + (order - 2 * j) * np.log(even) + 2 * j * np.log(np.sin(2 * angle) / kappa)
    return float(logsumexp(terms, axis=1).max()) / order


class Norm:
    """J, its slope in C, and the growth of distance alone, for a constant c^2 and a factor on all of it."""

    def __init__(self, K, d, order, square, factor=1.0):
        i = np.arange(order + 1)
        self.order, self.i, self.square, self.factor = order, i, square, factor
        choose = gammaln(order + 1) - gammaln(i + 1) - gammaln(order - i + 1)
        complement = gammaln((d - K) / 2 + order - i) - gammaln((d - K) / 2)
        self.weights = choose + complement + gammaln(K / 2 + i) - gammaln(K / 2) - gammaln(d / 2 + order) + gammaln(d / 2)

    def __call__(self, A, C):
        with np.errstate(divide="ignore"):
            terms = self.weights + (self.order - self.i) * np.log(A) + self.i * np.log(max(C * self.square, 1e-300))
        total = logsumexp(terms)
        return self.factor * np.exp(total / self.order)

    def of(self, i):
        return np.sqrt(self.factor * np.exp(self.weights[i] / self.order))


def convex_square(r, step, top, d, order):
    """c_lambda^2 of convex losses whose clip acts: the largest of C on a fine grid of the ellipse."""
    theta = np.linspace(0, 2 * np.pi, 8001)
    q = r - step * top / 2 * (1 + np.cos(theta)), step * top / 2 * np.sin(theta) * np.sqrt((d + 2 * order - 1.36) / (d - 1.5))
    square, cross = q[0] ** 2 + q[1] ** 2, 2 * np.abs(r * q[1])
    return np.max(0.5 * (r**2 + square) + (cross + (r**2 - square) * np.arctan2(r**2 - square, cross)) / np.pi)


def least_rho(norm, s, f, rounds=10):
    """The theorem's rho from distance 0, lengths in units of eta; each round's fractions suit the trajectory before."""
    b, S, s2 = (
        2 * s.clip / (s.n * np.sqrt(s.K)),
        s.sigma**2 * (s.beta / s.K + (1 - s.beta) / s.d),
        s.sigma**2 * (1 - s.beta) / s.d,
    )
    across, along = norm.of(0), np.sqrt(norm.square) * norm.of(-1)
    z, best = np.full(s.T, b), np.inf
    for _ in range(rounds):
        v = w = certain = 0.0
        alpha, pi = np.ones(s.T), np.ones(s.T)
        for t in reversed(range(s.T)):
            x = max(along * z[t], 1e-9 * b)
            if t < s.T - 1:
                gain = v * (x + b) ** 2 * f**2
                alpha[t], pi[t] = v / (v + 1 / s2), gain / (gain + (f * x + b) ** 2 / S)
            w += v * (1 - pi[t]) ** 2 * (1 + x / b) * b**2 if t else v * (1 - pi[t]) ** 2 * b**2
            certain += pi[t] ** 2 * (1 + f * x / b) * b**2 / S
            v = norm(
                alpha[t] ** 2 / s2 + v * (1 - alpha[t]) ** 2,
                pi[t] ** 2 * (1 + b / (f * x)) / S + v * (1 - pi[t]) ** 2 * (1 + b / x),
            )
        best = min(best, 0.5 * (f**2 * w + certain))
        z[0] = 0.0
        for t in range(s.T - 1):
            z[t + 1] = np.hypot((1 - alpha[t]) * across * z[t], (1 - pi[t]) * (along * z[t] + b))
    return best


def epsilon(s, linear, order):
    step = s.eta / s.K
    r, top, share = 1 - step * s.ridge, s.M - s.ridge, 0.1
    if linear:
        norm = Norm(s.K, s.d, order, r**2, np.exp(log_growth(s.d, order)))
    else:
        norm = Norm(s.K, s.d, order, convex_square(r, step, top, s.d, order))
    rho = least_rho(norm, s, (share * s.delta) ** (-1 / (2 * order)))
    return float(epsilon_of(rho, (1 - share) * s.delta, "gaussian"))


def test_the_gain_is_what_is_stated():
    """A quarter, where the ridge is a tenth of the clipped part's smoothness; on convex losses this recursion is the code's."""
    run = dict(n=1000, d=520, K=260, T=150, sigma=0.1, beta=0.5, lipschitz=np.inf)
    s = Setting(**run, regime="strongly-convex", M=1.1, m=0.1, ridge=0.1)
    sharp = guarantee(s, "sharp", Accounting()).epsilon
    assert sharp * (1 - 1e-4) <= epsilon(s, False, 100) <= sharp * 1.01
    assert epsilon(s, True, 50) / sharp == pytest.approx(0.74, abs=0.01)


@pytest.mark.parametrize(("A", "C"), [(1.0, 1.0), (1.0, 0.3), (0.3, 1.0)])
@pytest.mark.parametrize(("d", "K", "order"), [(4, 1, 2), (6, 3, 4), (20, 5, 6)])
def test_no_clip_exceeds_the_constant(d, K, order, A, C):
    """Frames drawn uniformly, several angles, and shares of the curvature that depend on |a.u| in ways that hurt."""
    generator = np.random.default_rng(1)
    first = generator.standard_normal((50_000, d))
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    second = generator.standard_normal(first.shape)
    second -= np.sum(first * second, axis=1, keepdims=True) * first
    second /= np.linalg.norm(second, axis=1, keepdims=True)
    limit = np.exp(log_growth(d, order)) * Norm(K, d, order, 1.0)(A, C)
    weight = np.where(np.arange(d) < K, C, A)
    large = np.abs(first) > 1 / np.sqrt(d)
    for angle in np.linspace(0, np.pi / 2, 7):
        for kept in (1.0, 0.0, -1.0, np.where(large, 0.0, 1.0), np.where(large, -1.0, 1.0), np.where(large, 1.0, 0.0)):
            kept = np.where(np.arange(d) < K, kept, 1.0)
            drawn = np.sum(weight * (kept * np.cos(angle) * first + np.sin(angle) * second) ** 2, axis=1) ** order
            chance = 5 * np.std(drawn) / np.sqrt(drawn.size)
            assert np.mean(drawn) <= limit**order + chance
