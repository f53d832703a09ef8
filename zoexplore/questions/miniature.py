"""Two coupled runs of Noisy-ZOGD in miniature, simulated: what one record does to the last iterate, and what noise hides of it.

A miniature has few enough parameters and records that its runs can be made a thousand times over and that one record is seen.
It keeps the share of directions K/d, the noise scale sigma and its share beta, the contraction of a step and the ball, counted in
steps' noises. It is a run of its own, with an epsilon of its own.
"""

from dataclasses import dataclass
from math import inf, sqrt

import numpy as np
from scipy.special import ndtr

from zoexplore.run.setting import Setting

PARAMETERS = 16  # d of a miniature
FEWER, FRACTION = 10, "tenth"  # how many times fewer its records are
STEPS, RUNS, DRAWN = 40, 1000, 220
SEED = 20260
_LEAST = 1e-30  # of what is drawn in single precision; the most is as far away


def miniature(setting: Setting) -> Setting | None:
    """The miniature of a run; None where no step size is known.

    >>> from zoexplore.run.presets import DEMONSTRATION
    >>> small = miniature(DEMONSTRATION)
    >>> small.d, small.K, small.n, small.T
    (16, 8, 2000, 40)
    """
    s = setting
    if s.eta is None:
        return None
    d = min(PARAMETERS, s.d)
    K = min(max(1, round(d * s.K / s.d)), d)
    scale = K / s.K
    return s.replace(
        d=d, K=K, n=max(2, round(s.n / FEWER)), T=min(s.T, STEPS), eta=s.eta * scale, R=s.R * scale,
        batch=None, xi=0.0, releases=1, records_per_person=1, sampling="without-replacement", neighbours="replace-one",
    )  # fmt: skip


@dataclass(frozen=True)
class Motion:
    """Pairs of coupled runs, step by step, in the plane of the record's pull (first) and one direction across it.

    Args:
        places: of the pairs that are drawn, shape (T + 1, 2 runs of a pair, DRAWN, 2 coordinates).
        directions: of the first pair, every step's directions as seen in the plane, shape (T, K, 2).
        noise: of the first pair, every step's noise, shape (T, 2).
        overlap: how far the two clouds of iterates overlap after each step, by the better half of the plane, shape (T + 1,).
        public: how far the two runs overlap for somebody who sees every step, shape (T + 1,).
    """

    places: np.ndarray
    directions: np.ndarray
    noise: np.ndarray
    overlap: np.ndarray
    public: np.ndarray


def simulate(run: Setting, apart: bool = False, runs: int = RUNS, seed: int = SEED) -> Motion:
    """Pairs of runs on neighbouring data, which share directions and noise.

    The loss is the mildest that the run's assumptions allow: quadratic with curvature m (0 where it is not strongly convex). The
    record that is replaced pulls one run one way and the other run the other way, as hard as its slope may be.

    Args:
        run: a miniature; every step uses all records.
        apart: whether the pairs start as far apart as the ball allows rather than together.
        runs: how many pairs.
        seed: of the generator; the same runs for the same seed.

    Raises:
        FloatingPointError: the runs leave the range of numbers that can be drawn.
    """
    s, rng = run, np.random.default_rng(seed)
    curvature, slope = _loss(s)
    if not all(_LEAST < size < 1 / _LEAST for size in (s.eta, s.eta * s.sigma, s.eta * s.clip / s.n)):
        raise FloatingPointError("a step or its noise is too large or too small for a picture")
    start = s.R if apart and s.R < inf else 0.0
    x = np.zeros((2, runs, s.d))
    x[0, :, 0], x[1, :, 0] = start, -start
    across, along = s.eta * s.sigma * sqrt((1 - s.beta) / s.d), s.eta * s.sigma * sqrt(s.beta / s.K)
    seen = np.zeros(runs)  # what somebody who sees every step has: the squared mean of the log-likelihood ratio's Gaussian
    places, directions, noises, overlap, public = [x[:, :DRAWN, :2].copy()], [], [], [_overlap(x)], [1.0]
    for _ in range(s.T):
        U = frames(rng, runs, s.d, s.K)
        pull = _clipped(s, slope * U[:, 0, :]) / s.n
        noise = along * _spanned(U, rng.standard_normal((runs, s.K))) + across * rng.standard_normal((runs, s.d))
        for side, sign in ((0, 1.0), (1, -1.0)):
            slopes = curvature * np.einsum("rdk,rd->rk", U, x[side]) - sign * pull
            x[side] += noise - s.eta / s.K * _spanned(U, slopes)
        if s.R < inf:
            x *= np.minimum(1.0, s.R / np.maximum(np.linalg.norm(x, axis=2, keepdims=True), 1e-300))
        with np.errstate(divide="ignore", invalid="ignore"):
            seen += np.where(pull.any(axis=1), (2 * s.eta / s.K) ** 2 * (pull**2).sum(axis=1) / (along**2 + across**2), 0.0)
        places.append(x[:, :DRAWN, :2].copy())
        directions.append(U[0, :2, :].T)
        noises.append(noise[0, :2])
        overlap.append(_overlap(x))
        public.append(float(2 * ndtr(-np.sqrt(seen) / 2).mean()))
    return Motion(np.array(places, np.float32), np.array(directions), np.array(noises), np.array(overlap), np.array(public))


def frames(rng: np.random.Generator, runs: int, d: int, K: int) -> np.ndarray:
    """Uniform orthonormal frames, shape (runs, d, K), by Gram and Schmidt, all runs at once and twice for rounding's sake."""
    U = rng.standard_normal((runs, d, K))
    for k in range(K):
        for _ in range(2):
            if k:
                U[:, :, k] -= _spanned(U[:, :, :k], np.einsum("rdk,rd->rk", U[:, :, :k], U[:, :, k]))
            U[:, :, k] /= np.linalg.norm(U[:, :, k], axis=1, keepdims=True)
    return U


def _spanned(U: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return np.einsum("rdk,rk->rd", U, weights)


def _clipped(s: Setting, quotients: np.ndarray) -> np.ndarray:
    """A record's quotients, shape (runs, K), as the run clips them."""
    if s.clipping == "each":
        return np.clip(quotients, -s.clip, s.clip)
    return quotients * np.minimum(1.0, s.clip / np.maximum(np.linalg.norm(quotients, axis=1, keepdims=True), 1e-300))


def _loss(s: Setting) -> tuple[float, float]:
    """Curvature, and the record's slope along its pull before the clip: what is Lipschitz is pull and curvature together."""
    curvature = s.m if s.regime == "strongly-convex" else 0.0
    most = s.clip if s.lipschitz is None else s.lipschitz
    inside = (curvature - s.ridge) * s.R if curvature > s.ridge else 0.0
    return curvature, max(most - inside, 0.0) if most < inf else 1e6 * s.clip


def _overlap(x: np.ndarray) -> float:
    """One minus the advantage of whoever says which run it was by the side of the middle that the iterate is on."""
    right = (x[:, :, 0] > 0).mean(axis=1)
    return float(1 - abs(right[0] - right[1]))
