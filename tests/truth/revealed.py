"""Linear dynamics with the directions revealed: both runs end in Gaussians of one covariance, an
exact divergence.

Given the directions the neighbours' last iterates are N(W, C) and N(W', C), and delta(epsilon) is
the Gaussian one at the Mahalanobis distance of W and W'. Whoever sees the directions beside w_T
distinguishes at least as well as whoever sees w_T alone, so these are truths for a stronger
release; the sharper bound's proof reveals them, and so must hold even here.

A run is `w <- (I - P) w + P Y w + r(w) + noise`, the other one the same and `b`: Y is the drift, a
multiple of the identity and anything linear of norm `radius` (what the gradients' range of
curvatures allows); b is the differing record's part and r the two-point remainder, both in the span
of the directions and chosen by an adversary who knows the past and the directions drawn so far. The
remainder is one function for both runs: values at two points differ, at equal points they do not (a
fixed vector for one run only would be the record's part, and too much of it). Where the runs may
be, but for a chance of `UNLIKELY` a step, it is taken to be linear and as steep as its size, eta M
xi/(2 sqrt(K)), allows. Nothing here imports the package's bounds.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf, sqrt

import numpy as np
from scipy.special import log_ndtr

# K standard Gaussians are longer than sqrt(K) + REACH with probability at most UNLIKELY
REACH = 7.0
UNLIKELY = float(np.exp(-(REACH**2) / 2))


def curvatures(s):
    """The least and the largest curvature of what is clipped, by the regime."""
    top = s.M - s.ridge
    return {"non-convex": -top, "convex": 0.0, "strongly-convex": s.m - s.ridge}[s.regime], top


@dataclass(frozen=True)
class Run:
    """One setting's numbers, from docs/bounds.md, "The mechanism", alone; c = centre + radius is
    the norm of the drift.
    """

    d: int
    K: int
    T: int
    centre: float
    radius: float
    B: float  # the differing record's part, in norm (in norm before the projection, if `before`)
    # the most that the two-point remainder, shared by both runs, can be at a point, in norm
    remainder: float
    own: float  # the differing record's share in the remainder, where B does not cover it
    # the record's part is a vector fixed before the directions: the "lipschitz" sensitivity
    before: bool
    s1: float
    s2: float
    # a joint clip: the differing record's part may point anywhere; else each entry of it is as
    # large
    ball: bool = False

    @property
    def c(self):
        return self.centre + self.radius

    @classmethod
    def of(cls, s, sensitivity="clip"):
        before = sensitivity == "least"
        low, top = curvatures(s)
        step = s.eta / s.K
        centre, radius = 1 - step * (s.ridge + (low + top) / 2), step * (top - low) / 2
        remainder = s.eta * (top - low) * s.xi / (4 * sqrt(s.K))
        of_two = s.records_per_person * (0.5 if s.neighbours == "add-remove" else 1.0)
        B = of_two * 2 * s.eta * s.clip / (s.n * (s.K if before else sqrt(s.K)))
        s1, s2 = s.eta**2 * s.beta * s.sigma**2 / s.K, s.eta**2 * (1 - s.beta) * s.sigma**2 / s.d
        own = 2 * remainder / s.n if before else 0.0
        return cls(
            s.d,
            s.K,
            s.T,
            abs(centre),
            radius,
            B,
            remainder * (1 - 1 / s.n if before else 1),
            own,
            before,
            s1,
            s2,
            s.clipping == "joint",
        )


@dataclass(frozen=True)
class Adversary:
    """How data and remainders are pointed.

    Args:
        drift: what is added to the centre, of norm `radius`: "shrink" (Y = c), "flip" (the centre
            less the radius), "turn" (a rotation) or "uneven" (symmetric, eigenvalues spread over
            both).
        power: vectors are pointed along C^-power times the drifted difference of the means: 0 to
            add to it, 1 to add to the Mahalanobis distance; no other.
        greedy: for so many steps at the end, along what makes the Mahalanobis distance after that
            step the largest.
        aim: "drift", "random" (a new vector every step) or "fixed" (the same vector always).
    """

    drift: str = "shrink"
    power: int = 0
    greedy: float = 0
    aim: str = "drift"


def directions(rng, count, d, K, axes=True):
    """Orthonormal bases of uniformly drawn K-dimensional spaces, shape (count, d, K); of the whole
    space the `axes`, which serve wherever it does not matter how they are turned.
    """
    if K == d and axes:
        return np.broadcast_to(np.eye(d), (count, d, d))
    if K == 1:
        u = rng.standard_normal((count, d, 1))
        return u / np.linalg.norm(u, axis=1, keepdims=True)
    return np.linalg.qr(rng.standard_normal((count, d, K)))[0]


@lru_cache(maxsize=2)
def drawn(count, d, K, steps, seed):
    """What each step draws, a Gaussian vector and directions: the same for whatever is let through
    and pushed.
    """
    rng = np.random.default_rng(seed)
    return [(rng.standard_normal((count, d)), directions(rng, count, d, K)) for _ in range(steps)]


def mahalanobis(run, adversary, count, seed, start=0.0, steps=None):
    """Mahalanobis distances of the two means after `steps`, for `count` draws of all directions.

    `start` is the distance at the first step (both points are known there).
    """
    rng, d = np.random.default_rng(seed), run.d
    Y = drift_map(run, adversary.drift)
    fixed = np.ones(d) / sqrt(d)
    x, C = np.zeros((count, d)), np.zeros((count, d, d))
    x[:, 0] = start
    steps = run.T if steps is None else steps
    for t in range(steps):
        U = directions(rng, count, d, run.K)
        y = x @ Y.T
        aim = _aim(run, adversary, rng, y, C, fixed, steps - t)
        steeper = 1 + _slope(run, U, y, Y, C) / run.c
        x_new, C_new = (
            x + _project(U, steeper[:, None] * y - x),
            _spread(run, U, steeper[:, None, None] * Y, C),
        )
        x = x_new + _push(run, adversary, U, aim, x_new, C_new, steps - t)
        C = C_new
    return np.sqrt(np.maximum(0.0, (x * _solve(C, x)).sum(axis=1)))


def clipped(s, adversary, count, seed, start=0.0, steps=None):
    """`mahalanobis` where the clip acts: along each direction it lets through a slope in [0, 1] of
    the data's part, and the adversary, who sees the direction, takes all of it or nothing,
    whichever leaves the runs further apart.
    """
    run, rng, d = Run.of(s), np.random.default_rng(seed), s.d
    low, top = curvatures(s)
    r, step = 1 - s.eta / s.K * s.ridge, s.eta / s.K
    half = replace(run, centre=(top + low) / 2, radius=(top - low) / 2)
    H, fixed = drift_map(half, adversary.drift), np.ones(d) / sqrt(d)
    x, C = np.zeros((count, d)), np.zeros((count, d, d))
    x[:, 0] = start
    steps = run.T if steps is None else steps
    for t in range(steps):
        U = directions(rng, count, d, run.K, axes=False)
        aim = _aim(run, adversary, rng, r * x, C, fixed, steps - t)
        seen, drifted = np.einsum("sdk,sd->sk", U, x), np.einsum("sdk,de,se->sk", U, H, x)
        through = np.abs(r * seen - step * drifted) > np.abs(r * seen)
        V = r * U.swapaxes(1, 2) - step * through[:, :, None] * np.einsum("sdk,de->ske", U, H)
        A = np.eye(d) + U @ (V - U.swapaxes(1, 2))
        C = A @ C @ A.swapaxes(1, 2) + run.s1 * (U @ U.swapaxes(1, 2)) + run.s2 * np.eye(d)
        x = np.einsum("sde,se->sd", A, x)
        x = x + _push(run, adversary, U, aim, x, C, steps - t)
    return np.sqrt(np.maximum(0.0, (x * _solve(C, x)).sum(axis=1)))


def of_one_form(s, adversary, turn, kept, count, seed):
    """`clipped` where a record's loss is of one linear form: of the data's part the clip lets
    through what is a function of how much a direction sees of the form, a unit vector at the angle
    `turn` from the difference of the means.

    Args:
        kept: of |<u, a>| sqrt(d), the share of the curvature that is let through, between low/top
            and 1.
    """
    run, d = Run.of(s), s.d
    top = curvatures(s)[1]
    r, step, fixed = 1 - s.eta / s.K * s.ridge, s.eta / s.K, np.ones(d) / sqrt(d)
    x, C = np.zeros((count, d)), np.zeros((count, d, d))
    for t, (beside, U) in enumerate(drawn(count, d, run.K, run.T, seed)):
        along = _unit(x, fixed)
        beside = _unit(beside - (beside * along).sum(axis=1, keepdims=True) * along, fixed)
        a = np.cos(turn) * along + np.sin(turn) * beside  # of the past alone
        aim = _aim(run, adversary, None, r * x, C, fixed, run.T - t)
        seen = np.einsum("sdk,sd->sk", U, a)
        through = step * top * kept(np.abs(seen) * sqrt(d)) * seen
        V = r * U.swapaxes(1, 2) - through[:, :, None] * a[:, None, :]
        A = np.eye(d) + U @ (V - U.swapaxes(1, 2))
        C = A @ C @ A.swapaxes(1, 2) + run.s1 * (U @ U.swapaxes(1, 2)) + run.s2 * np.eye(d)
        x = np.einsum("sde,se->sd", A, x)
        x = x + _push(run, adversary, U, aim, x, C, run.T - t)
    return np.sqrt(np.maximum(0.0, (x * _solve(C, x)).sum(axis=1)))


def drift_map(run, kind):
    d = run.d
    if kind == "shrink":
        added = np.eye(d)
    elif kind == "flip":
        added = -np.eye(d)
    elif kind == "uneven":
        added = np.diag(np.linspace(1, -1, d) if d > 1 else [1.0])
    else:
        added = np.linalg.qr(np.random.default_rng(5).standard_normal((d, d)))[0]
    return run.centre * np.eye(d) + run.radius * added


def _aim(run, adversary, rng, y, C, fixed, left):
    """Unit vectors to point along, chosen before the step's directions."""
    if adversary.aim == "random":
        return _unit(rng.standard_normal(y.shape), fixed)
    if adversary.aim == "fixed":
        return np.broadcast_to(fixed, y.shape)
    if left <= adversary.greedy and run.before:
        return _unit(_inverse(C + (run.s1 * run.K / run.d + run.s2) * np.eye(run.d), y), fixed)
    return _unit(_inverse(C, y) if adversary.power else y, fixed)


def _push(run, adversary, U, aim, x_new, C_new, left):
    """b of a step."""
    if run.before:
        return _project(U, run.B * aim) + run.own * _unit(_project(U, aim), U[:, :, 0])
    push = _furthest(run, U, aim)
    if left <= adversary.greedy:
        for _ in range(6):
            push = _furthest(run, U, _solve(C_new, x_new + push))
    return push


def _furthest(run, U, aim):
    """The record's part that reaches furthest along `aim`: a vector of length B in the span where
    the clip is joint, and else one whose entry along each direction is B/sqrt(K), with the sign of
    aim's.
    """
    if run.ball:
        return run.B * _unit(_project(U, aim), U[:, :, 0])
    signs = np.where(np.einsum("sdk,sd->sk", U, aim) < 0, -1.0, 1.0)
    return run.B / sqrt(run.K) * np.einsum("sdk,sk->sd", U, signs)


def _slope(run, U, y, Y, C):
    """The steepest that r may be along PY/c: run.remainder over the furthest that either run is
    from their midpoint.
    """
    if run.remainder == 0 or not C.any():
        return np.zeros(len(y))
    V = U.swapaxes(1, 2) @ Y
    spread = np.sqrt(np.linalg.eigvalsh(V @ C @ V.swapaxes(1, 2))[:, -1])
    reach = np.linalg.norm(np.einsum("sdk,sd->sk", U, y), axis=1) / 2 + spread * (
        sqrt(run.K) + REACH
    )
    return np.where(reach > 0, run.remainder * run.c / np.where(reach > 0, reach, 1.0), 0.0)


def _project(U, v):
    return np.einsum("sdk,sk->sd", U, np.einsum("sdk,sd->sk", U, v))


def _spread(run, U, Y, C):
    """Covariance after the step."""
    A = np.eye(run.d) + U @ (U.swapaxes(1, 2) @ (Y - np.eye(run.d)))  # one Y, or one for each draw
    return A @ C @ A.swapaxes(1, 2) + run.s1 * (U @ U.swapaxes(1, 2)) + run.s2 * np.eye(run.d)


def _unit(v, otherwise):
    """v at length 1; where it is zero, the other vector at length 1."""
    v = np.where((np.abs(v) > 0).any(axis=-1, keepdims=True), v, otherwise)
    v = v / np.abs(v).max(axis=-1, keepdims=True)
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


def _inverse(C, y):
    """Along C^-1 y, with as much noise added everywhere that C has an inverse."""
    noise = 1e-9 * np.trace(C, axis1=1, axis2=2)[:, None, None] * np.eye(y.shape[1])
    return _solve(C + noise, y) if C.any() else y


def _solve(C, x):
    return np.linalg.solve(C, x[..., None])[..., 0]


def gaussian_delta(mu, epsilon):
    """Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu), elementwise; 1 at epsilon = -inf, 0 where mu
    = 0.
    """
    mu = np.asarray(mu, float)
    if epsilon == inf:
        return np.zeros_like(mu)
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second = log_ndtr(mu / 2 - epsilon / mu), epsilon + log_ndtr(-mu / 2 - epsilon / mu)
        value = np.exp(first) * -np.expm1(np.minimum(second - first, 0.0))
    return np.where(mu > 0, value, 0.0)


@dataclass(frozen=True)
class Truth:
    """delta(epsilon) averaged over sampled directions, with the standard error of that average."""

    mu: np.ndarray

    def delta(self, epsilon):
        values = gaussian_delta(self.mu, epsilon)
        return values.mean(), values.std() / sqrt(values.size)

    def epsilon(self, delta, errors=0.0):
        """Where the average, moved by so many standard errors, meets delta."""
        low, high = 0.0, 1.0

        def excess(e):
            mean, error = self.delta(e)
            return mean + errors * error - delta

        if excess(0.0) <= 0:
            return 0.0
        while excess(high) > 0:
            low, high = high, 2 * high
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if excess(middle) > 0 else (low, middle)
        return (low + high) / 2
