"""An attack on hidden runs on fresh batches: a test of the last iterate along one gradient, where
losses are linear and the directions known.

A ridge pulls along each step's directions, the record pushes along its own gradient, and nobody
else moves. What the test sees is then Gaussian but for the steps that had the record, whose law is
convolved exactly. A better test would see more: no sound bound that reveals the directions says
less.
"""

from math import exp, inf, sqrt

import numpy as np
from scipy.optimize import brentq

from zoexplore import Setting
from zoexplore.run.presets import PRESETS

HEAD = PRESETS["linear-head"].setting.replace(
    d=256, K=32, batch=2000, sigma=2e-4, T=4000, regime="convex"
)
POISSON = {"sampling": "poisson", "neighbours": "add-remove"}
RUNS = {
    "gradients at most ½ long": HEAD.replace(lipschitz=0.5),
    "nothing known of gradients": HEAD.replace(lipschitz=inf),
    "gradients at most ½ long, Poisson": HEAD.replace(lipschitz=0.5, **POISSON),
    "nothing known of gradients, Poisson": HEAD.replace(lipschitz=inf, **POISSON),
}
PLACES, FADED = 2**14, 1e-4  # places of the grid; the length of an aim that has faded


def attacked(s: Setting, draws: int) -> float:
    """The epsilon at s.delta that the test shows to be needed."""
    rng, paths = np.random.default_rng(11), []
    for _ in range(draws):
        paths.append(path(s, rng))
    # the widest statistic of all, and all pushes at once, fit the grid
    width = 12 * max(sqrt(v) for _, v in paths) + 40 * max(g.max() for g, _ in paths)
    x = np.linspace(-width, width, PLACES, endpoint=False)
    both = s.neighbours == "replace-one"
    with_record = np.array([density(s, x, g, v, +1) for g, v in paths])
    without = np.array([density(s, x, g, v, -1 if both else 0) for g, v in paths])
    spacing = x[1] - x[0]

    def excess(eps: float, p: np.ndarray, q: np.ndarray) -> float:
        return float(np.maximum(p - exp(eps) * q, 0.0).sum() * spacing / draws) - s.delta

    pairs = (with_record, without), (without, with_record)
    return max(
        brentq(excess, 0.0, 50.0, args=pair) if excess(0.0, *pair) > 0 else 0.0 for pair in pairs
    )


def path(s: Setting, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """What the record would add to the statistic in each step, from the last one back, and the
    variance of all noise, for one draw of directions; in units of the rate by direction.
    """
    v = np.eye(s.d)[0]
    aim, pushes, variance = v.copy(), [], 0.0
    noise = s.K * s.sigma**2
    share_along, share_all = noise * s.beta, noise * (1 - s.beta) * s.K / s.d
    # of a batch's mean: one that is replaced counts half on either side of the middle
    entry = 1 / s.batch
    while len(pushes) < s.T and aim @ aim > FADED**2:
        U = np.linalg.qr(rng.standard_normal((s.d, s.K)))[0]
        along, quotients = U.T @ aim, U.T @ v
        seen = np.sign(quotients) * s.clip if s.lipschitz == inf else quotients * s.lipschitz
        pushes.append(entry * along @ np.clip(seen, -s.clip, s.clip))
        variance += share_along * along @ along + share_all * aim @ aim
        aim -= s.eta / s.K * s.ridge * U @ along
    return np.array(pushes), variance


def density(
    s: Setting, x: np.ndarray, pushes: np.ndarray, variance: float, sign: int
) -> np.ndarray:
    """Of the statistic, on the grid: noise, and every step's push if its batch has the record."""
    spacing = x[1] - x[0]
    w = 2 * np.pi * np.fft.fftfreq(x.size, spacing)
    log = -0.5 * variance * w**2 - 1j * w * x[0]
    q = s.batch / s.n
    for push in pushes * sign:
        log = log + np.log1p(q * np.expm1(-1j * w * push))
    return np.maximum(np.fft.ifft(np.exp(log)).real / spacing, 0.0)
