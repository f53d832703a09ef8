"""A joint clip that may act (docs/joint.md) from its text alone, and what it is held against. No
package code.

The norm of a step by its series, on a fine circle; the norm of the worst thing that the clip can do
in a step, by quadrature over frames; and exact divergences of linear dynamics whose directions are
revealed.
"""

from dataclasses import dataclass
from math import inf, pi, sqrt

import numpy as np
from scipy.special import roots_jacobi

from tests.truth.statement import Step, exact_moments, log_chances

# of the square, in units of |q|/|p|
SPLITS = np.concatenate([np.linspace(0.1, 1.2, 23), [1.6, 2.5, 5.0]])


def halves(r, low, top, angles, kappa=1.0):
    """p and q in the plane of x and h, shape (2, angles) each, their second parts over kappa; low
    and top times eta/K.
    """
    h = np.array(
        [(top + low) / 2 + (top - low) / 2 * np.cos(angles), (top - low) / 2 * np.sin(angles)]
    )
    stretch = np.array([[1.0], [1 / kappa]])
    return (np.array([[r], [0.0]]) - h / 2) * stretch, h / 2 * stretch


def eigenvalues(p, q, splits):
    """Of (1 + t) pp' + (1 + 1/t) qq', for each angle and each split t = splits |q|/|p|: shape (2,
    splits, angles).
    """
    t = splits[:, None] * np.maximum(np.linalg.norm(q, axis=0) / np.linalg.norm(p, axis=0), 1e-12)
    matrices = np.einsum("ta,ia,ja->taij", 1 + t, p, p) + np.einsum(
        "ta,ia,ja->taij", 1 + 1 / t, q, q
    )
    found = np.linalg.eigvalsh(matrices)
    return found[..., 1], np.maximum(found[..., 0], 0.0)


def rows(K, order, larger, smaller):
    """Logarithms of rho_0 .. rho_order, shape (order + 1, ...), by their recurrence, in units of
    the larger eigenvalue.
    """
    x = smaller / larger
    found = [np.ones_like(x), 1 + x]
    for i in range(2, order + 1):
        less = (i - 1) * (i - 2 + K) / ((K / 2 + i - 1) * (K / 2 + i - 2))
        found.append((1 + x) * found[-1] - x * less * found[-2])
    return np.log(np.array(found[: order + 1])) + np.arange(order + 1)[:, None, None] * np.log(
        larger
    )


def norm(K, d, order, A, C, r, low, top, angles=181, splits=SPLITS):
    """J(A, C): the largest over the circle of the least over the splits, and of both parts' norms
    added up.
    """
    if K == d:
        return C * constant(r, low, top) ** 2
    p, q = halves(r, low, top, np.linspace(0, pi, angles), sqrt((d - 1.5) / (d + 2 * order - 1.36)))
    larger, smaller = eigenvalues(p, q, splits)
    logs = log_chances(K, d, order)[:, None, None] + rows(K, order, larger, smaller)
    i = np.arange(order + 1)[:, None, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = (
            logs
            + np.where(i < order, (order - i) * np.log(A), 0.0)
            + np.where(i > 0, i * np.log(C), 0.0)
        )
    values = np.logaddexp.reduce(logs, axis=0) / order
    together = float(np.exp(values.min(axis=0).max()))
    o, g = exact_moments(K, d, order)
    return min(together, float(A * o**2 + C * constant(r, low, top) ** 2 * g**2))


def hull(K, d, order, A, C, *of_step):
    """The lower hull of `norm` over rays, at one of them; by lines between rays that are not the
    accountant's, so from above.
    """
    t = np.unique(np.concatenate([[0.0, 1.0], 1 / (1 + np.exp(np.linspace(-9, 9, 73)))]))
    values = np.array([norm(K, d, order, 1 - c, c, *of_step, angles=61) for c in t])
    at = C / (A + C)
    below, above = np.flatnonzero(t <= at), np.flatnonzero(t >= at)
    i, k = (x.ravel() for x in np.meshgrid(below, above, indexing="ij"))
    share = np.where(t[k] > t[i], (at - t[i]) / np.where(t[k] > t[i], t[k] - t[i], 1.0), 0.0)
    return (A + C) * float(((1 - share) * values[i] + share * values[k]).min())


def constant(r, low, top, angles=20001):
    """The largest |p| + |q|: what a step can do to a distance that all directions see."""
    p, q = halves(r, low, top, np.linspace(0, pi, angles))
    return float((np.linalg.norm(p, axis=0) + np.linalg.norm(q, axis=0)).max())


def frames(K, d, nodes=24):
    """Weights and what a K-dimensional random span sees of two orthonormal vectors: gamma, the
    square of the first one's part; and of the second the part along the first's, and the length of
    the rest.
    """
    gamma, by_gamma = _beta(K / 2, (d - K) / 2, nodes)
    if d == 2:
        along, by_along = np.array([-1.0, 1.0]), np.array([0.5, 0.5])
    else:
        along, by_along = roots_jacobi(nodes, (d - 4) / 2, (d - 4) / 2)
        by_along = by_along / by_along.sum()
    if K == 1 or d - K == 1:
        rest, by_rest = np.array([float(K > 1)]), np.ones(1)
    else:
        rest, by_rest = _beta((K - 1) / 2, (d - K - 1) / 2, nodes)
    gamma, along, rest = (x.ravel() for x in np.meshgrid(gamma, along, rest, indexing="ij"))
    weight = np.einsum("i,j,k->ijk", by_gamma, by_along, by_rest).ravel()
    return weight, gamma, along * np.sqrt(1 - gamma), np.sqrt((1 - along**2) * rest)


def _beta(a, b, nodes):
    """Gauss's nodes and weights for a Beta(a, b) variable."""
    x, w = roots_jacobi(nodes, b - 1, a - 1)
    return (1 + x) / 2, w / w.sum()


def worst_norm(K, d, order, A, C, r, low, top, angles=31):
    """The largest norm of A times what the span misses of x and C times the longest that a clip can
    make of what it sees.
    """
    weight, gamma, along, rest = frames(K, d)
    worst = 0.0
    for p, q in zip(*(x.T for x in halves(r, low, top, np.linspace(0, pi, angles))), strict=True):
        seen = [np.hypot(v[0] * np.sqrt(gamma) + v[1] * along, v[1] * rest) for v in (p, q)]
        worst = max(
            worst,
            float(weight @ (A * (1 - gamma) + C * (seen[0] + seen[1]) ** 2) ** order)
            ** (1 / order),
        )
    return worst


def worst_linear_norm(K, d, order, A, C, r, low, top, angles=31):
    """The same of a linear model: the clip lets through a share of the curvature that depends on
    how much the span sees of the form alone, so that for each such length one of two ends is the
    worst.
    """
    nodes = 24
    weight, gamma, along, rest = frames(K, d, nodes)
    worst = 0.0
    for x1, x2 in zip(
        np.cos(np.linspace(0, pi / 2, angles)), np.sin(np.linspace(0, pi / 2, angles)), strict=True
    ):
        missed = 1 - (x1 * np.sqrt(gamma) + x2 * along) ** 2 - (x2 * rest) ** 2
        ends = []
        for D in (low, top):
            span = ((r - D) * x1 * np.sqrt(gamma) + r * x2 * along) ** 2 + (r * x2 * rest) ** 2
            ends.append((weight * (A * missed + C * span) ** order).reshape(nodes, -1).sum(axis=1))
        worst = max(worst, float(np.maximum(*ends).sum()) ** (1 / order))
    return worst


@dataclass(frozen=True)
class JointStep(Step):
    """A step whose joint clip may act: its norm in place of that with a constant."""

    of_step: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def norm(self, A, C):
        """J; its slopes are not looked at."""
        return norm(self.K, self.d, self.order, A, C, *self.of_step), 0.0, 0.0

    @classmethod
    def of_run(cls, s, beta, order, delta_f):
        step, top = s.eta / s.K, s.M - s.ridge
        low = -top if s.regime == "non-convex" else 0.0
        remainder = s.eta * (top - low) * s.xi / (2 * sqrt(s.K))
        B, s2 = 2 * step * s.clip / s.n, s.eta**2 * (1 - beta) * s.sigma**2 / s.d
        S = s.eta**2 * beta * s.sigma**2 / s.K + s2
        f = delta_f ** (-1 / (2 * order)) if delta_f > 0 else 1.0
        sizes = (1 - step * s.ridge, step * low, step * top)
        return cls(
            s.K, s.d, order, 1.0, B + remainder, B + remainder, B, B, f, S, s2, of_step=sizes
        )


def mahalanobis(s, angle, count, seed):
    """Mahalanobis distances of the two means after the run, directions revealed, for `count` draws
    of all of them.

    A difference of gradients is at this angle on its circle; of it the clip lets through whatever
    makes the runs' difference longest, and the record pushes along that as far as the clip lets it.
    """
    rng, d, step = np.random.default_rng(seed), s.d, s.eta / s.K
    top = s.M - s.ridge
    low = -top if s.regime == "non-convex" else 0.0
    H = (top + low) / 2 * np.eye(d) + (top - low) / 2 * turn(d, angle)
    r, B = 1 - step * s.ridge, 2 * step * s.clip / s.n
    s1, s2 = s.eta**2 * s.beta * s.sigma**2 / s.K, s.eta**2 * (1 - s.beta) * s.sigma**2 / d
    x, spread = np.zeros((count, d)), np.zeros((count, d, d))
    for _ in range(s.T):
        U = np.linalg.qr(rng.standard_normal((count, d, s.K)))[0]
        seen, drifted = np.einsum("sdk,sd->sk", U, x), np.einsum("sdk,de,se->sk", U, H, x)
        away = _unit(r * seen - step / 2 * drifted)
        # on the ball, and as far back as it goes
        let = drifted / 2 - np.linalg.norm(drifted, axis=1, keepdims=True) / 2 * away
        along = (let * drifted).sum(axis=1)
        D = np.einsum("sk,sl->skl", let, let) / np.where(along > 1e-300, along, inf)[:, None, None]
        V = r * U.swapaxes(1, 2) - step * D @ U.swapaxes(1, 2) @ H
        map_ = np.eye(d) + U @ (V - U.swapaxes(1, 2))
        spread = map_ @ spread @ map_.swapaxes(1, 2) + s1 * (U @ U.swapaxes(1, 2)) + s2 * np.eye(d)
        y = np.einsum("skd,sd->sk", V, x)
        x = np.einsum("sde,se->sd", map_, x) + B * np.einsum("sdk,sk->sd", U, _unit(y))
    return np.sqrt(np.maximum(0.0, (x * np.linalg.solve(spread, x[..., None])[..., 0]).sum(axis=1)))


def turn(d, angle):
    """A rotation by the angle in every other plane of two coordinates; of a last one that is left,
    none.
    """
    R = np.eye(d)
    for i in range(0, d - 1, 2):
        R[i : i + 2, i : i + 2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    return R


def _unit(v):
    """At length 1; the first direction where there is none."""
    length = np.linalg.norm(v, axis=1, keepdims=True)
    return np.where(
        length > 1e-300, v / np.where(length > 1e-300, length, 1.0), np.eye(v.shape[1])[0]
    )
